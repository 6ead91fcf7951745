"""The trees that a command goes by: those given, those proven with the overlay, or new ones."""

from pathlib import Path
from typing import TYPE_CHECKING

from weft.errors import WeftError

if TYPE_CHECKING:
    from weft.model.instance import Instance
    from weft.model.overlay import Overlay
    from weft.model.tree import Trees

WOVEN = "woven now"


def trees_of(
    given: Path | None,
    folder: Path,
    instance: "Instance",
    overlay: "Overlay",
    latency: str | None = None,
    seed: int = 1,
    fan_out: int | None = None,
    *,
    draw_hosts: bool = False,
) -> tuple["Trees", str]:
    """Trees, and where they are from. New ones are woven where options for them are given, or none are there."""
    from weft.model.latency import latency_for
    from weft.model.tree import read_trees, trees_beside
    from weft.trees.weave import FAN_OUT, weave

    if given is not None and latency is not None:
        raise WeftError("--latency is for trees that are woven here, and --trees gives them: leave one out.")
    if given is None and latency is None and fan_out is None:
        given = trees_beside(folder, instance, overlay)
    if given is not None:
        return read_trees(given, instance, overlay), str(given)
    names = instance.node_names
    placed = None if latency is None else latency_for(overlay, latency, seed, names, draw_hosts=draw_hosts)
    made = weave(instance, overlay, fan_out=FAN_OUT if fan_out is None else fan_out, latency=placed)
    by = overlay.meta.get("parameters", {}).get("latency") if latency is None else None
    return made, WOVEN if by is None else f"{WOVEN}, by hops: the overlay was designed by {by}, give --latency"
