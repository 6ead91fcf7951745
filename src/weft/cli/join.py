"""weft join"""

from pathlib import Path
from typing import Annotated, Literal

import typer

from weft.cli import options as o
from weft.cli.output import ConsoleProgress, print_result
from weft.errors import WeftError

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
    from weft.model.overlay import read_overlay
    from weft.model.storage import require_absent
    from weft.model.union import union as united
    from weft.overlays.join import join as joined

    if len(instance) != len(overlays):
        raise WeftError(f"{len(overlays)} overlays need {len(overlays)} times --instance, in their order.")
    for path in (union, out):
        require_absent(path, force)
    given, built = [read_instance(path) for path in instance], [read_overlay(path) for path in overlays]
    for path, one, other in zip(overlays, built, given, strict=True):
        if one.meta.get("instance", other.fingerprint) != other.fingerprint:
            raise WeftError(f"{path} was made for another instance than the one given: give --instance in their order.")
    whole = united(given)
    with ConsoleProgress().step("Joining"):
        result = joined(whole, built, seed=seed, method=method)
    made = {"algorithm": f"join-{method}", "parameters": {"join": method}, "seed": seed, "instance": whole.fingerprint}
    whole.write(union, force=force)
    result.with_meta(**made, of=[str(path) for path in overlays]).write(out, force=force)
    figures = {"overlay": str(out), "instance": str(union), "nodes": result.nodes, "links": result.links}
    print_result({**figures, "links_across": result.meta["links_across"]}, json)
