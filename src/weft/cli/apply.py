"""weft apply"""

from pathlib import Path
from typing import Annotated

import typer

from weft.cli import options as o
from weft.cli.operator import DryRun, MasterAddress, Yes, asked, put_in_place
from weft.cli.output import ConsoleProgress

EXAMPLE = "weft apply run/overlay --master 127.0.0.1:7883 --yes"


def apply(
    overlay: o.InOverlay,
    instance: Annotated[
        Path | None,
        typer.Option(help="Instance that it was made for, if the master did not write that.", show_default=False),
    ] = None,
    master: MasterAddress = None,
    yes: Yes = False,
    dry_run: DryRun = False,
    json: o.Json = False,
) -> None:
    """Put an overlay in place in a running network; it is of a snapshot of that network, and has a ring."""
    from weft.model.instance import read_instance
    from weft.model.overlay import read_overlay, require_made_for

    given = read_overlay(overlay)
    known = None
    if instance is not None:
        made_for = read_instance(instance)
        require_made_for(made_for, given)
        known = made_for.node_names
    options = {
        "names": None if known is None else known.tolist(),
        "instance": given.meta.get("instance"),
        "ring_ids": None if given.ring_ids is None else given.ring_ids.tolist(),
        "ring_size": given.ring_size,
        "sources": given.sources.tolist(),
        "targets": given.targets.tolist(),
    }
    with ConsoleProgress().step("Weaving its trees"):
        forecast = asked(master, "apply", patient=True, **options)
    put_in_place(master, forecast, yes, dry_run, json)
