"""weft join"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from weft.cli import options as o
from weft.cli.output import ConsoleProgress, print_result
from weft.errors import WeftError

if TYPE_CHECKING:
    from weft.model.instance import Instance
    from weft.model.overlay import Overlay

EXAMPLE = "weft join east-gm west-gm --instance east --instance west --union both --out both-tco"


def join(
    overlays: Annotated[list[Path], typer.Argument(metavar="OVERLAY...", help="Folders of overlays.")],
    instance: Annotated[
        list[Path], typer.Option("--instance", help="The instance of each overlay, in their order.", show_default=False)
    ],
    union: Annotated[Path, typer.Option(help="Folder for the instance of all nodes.", show_default=False)],
    out: o.OutOverlay,
    method: Annotated[
        Literal["star", "naive"],
        typer.Option("--join", metavar="star|naive", help="Link star sets only (SM), or any two nodes (NM)."),
    ] = "star",
    seed: o.Seed = 1,
    force: o.Force = False,
    json: o.Json = False,
) -> None:
    """Join topic-connected overlays of disjoint nodes to one, by links between them. All links that they have stay."""
    from weft.model.instance import read_instance
    from weft.model.output import claimed
    from weft.model.overlay import read_overlay
    from weft.model.storage import new_folder
    from weft.overlays.join import join as join_here

    if len(instance) != len(overlays):
        raise WeftError(f"{len(overlays)} overlays need {len(overlays)} times --instance, in their order.")
    with claimed(union, out, inputs=[*instance, *overlays], force=force):
        given, built = [read_instance(path) for path in instance], [read_overlay(path) for path in overlays]
        _require_in_order(overlays, built, given)
        with ConsoleProgress().step("Joining"):
            whole, result = join_here(built, given, seed=seed, method=method)
        result = result.with_meta(of=[str(path) for path in overlays])
        with new_folder(union, force=force) as instance_folder, new_folder(out, force=force) as overlay_folder:
            whole.write_into(instance_folder)  # both appear, or neither
            result.write_into(overlay_folder, whole.node_names)
    figures = {"overlay": str(out), "instance": str(union), "nodes": result.nodes, "links": result.links}
    print_result({**figures, "links_across": result.meta["links_across"]}, json)


def _require_in_order(paths: list[Path], overlays: "list[Overlay]", instances: "list[Instance]") -> None:
    for path, overlay, instance in zip(paths, overlays, instances, strict=True):
        if overlay.meta.get("instance", instance.fingerprint) != instance.fingerprint:
            raise WeftError(f"{path} was made for another instance than the one given: give --instance in their order.")
