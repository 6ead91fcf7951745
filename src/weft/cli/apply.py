"""weft apply"""

from pathlib import Path
from typing import Annotated

import typer

from weft.cli import options as o
from weft.cli.operator import MasterAddress, Yes, asked, print_forecast
from weft.cli.output import ConsoleProgress, print_result

EXAMPLE = "weft apply run/overlay --master 127.0.0.1:7883 --yes"


def apply(
    overlay: o.InOverlay,
    instance: Annotated[
        Path | None,
        typer.Option(help="Instance that it was made for, if the master did not write that.", show_default=False),
    ] = None,
    master: MasterAddress = None,
    yes: Yes = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only tell what it would change and gain.")] = False,
    json: o.Json = False,
) -> None:
    """Put an overlay in place in a running network; it is of a snapshot of that network, and has a ring."""
    from weft.model.instance import read_instance
    from weft.model.overlay import read_overlay

    given = read_overlay(overlay)
    known = None if instance is None else read_instance(instance).node_names
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
    if not json:
        print_forecast(forecast)
    wanted = not dry_run and (yes or (not json and typer.confirm("Put it in place?")))
    if wanted:
        forecast = asked(master, "redesign", proposal=forecast["proposal"])
    if json:
        print_result(forecast, json)
    elif wanted:
        typer.echo("It is being put in place, link by link; `weft status` shows when it is done.")
