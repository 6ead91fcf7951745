"""weft inspect"""

from pathlib import Path
from typing import Annotated, Any

import typer

from weft.cli import options as o
from weft.cli.output import ConsoleProgress, print_result
from weft.errors import WeftError

EXAMPLE = "weft inspect twitter-10k-sl --instance twitter-10k"


def inspect(
    folder: Annotated[Path, typer.Argument(metavar="INSTANCE|OVERLAY", help="Folder of either.", show_default=False)],
    instance: Annotated[Path | None, typer.Option(help="The instance that the overlay is for.")] = None,
    json: o.Json = False,
) -> None:
    """Describe an instance or an overlay; of an overlay, prove its ring and its topic-connectivity."""
    from weft.model.storage import read_meta

    if "algorithm" in read_meta(folder, "an instance or an overlay"):
        print_result(_overlay_figures(folder, instance), json)
    elif instance is not None:
        raise WeftError(f"--instance goes with an overlay, and {folder} is an instance.")
    else:
        print_result(_instance_figures(folder), json)


def _instance_figures(folder: Path) -> dict[str, Any]:
    from weft.model.instance import read_instance
    from weft.model.profile import profile

    return profile(read_instance(folder))


def _overlay_figures(folder: Path, instance: Path | None) -> dict[str, Any]:
    from weft.model.instance import read_instance
    from weft.model.overlay import read_overlay
    from weft.overlays.quality import SHOWN, design_figures, quality
    from weft.overlays.verify import topic_violations

    if instance is None:
        raise WeftError(f"{folder} is an overlay: tell with --instance which instance it is for.")
    overlay, given = read_overlay(folder), read_instance(instance)
    about = {name: overlay.meta.get(name) for name in ("algorithm", "parameters", "seed")}
    with ConsoleProgress().step("Measuring"):
        figures = {**about, "nodes": overlay.nodes, "links": overlay.links, **quality(given, overlay)}
    if overlay.ring_ids is None:
        # Without a ring it was made to be topic-connected; scipy proves whether it is.
        figures.pop("ring_violations")
        figures |= {**design_figures(overlay), "topic_violations": topic_violations(given, overlay)[:SHOWN]}
    return figures
