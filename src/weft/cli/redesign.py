"""weft redesign"""

from typing import Annotated

import typer

from weft.cli import options as o
from weft.cli.operator import MasterAddress, Yes, asked, print_forecast
from weft.cli.output import ConsoleProgress, print_result

EXAMPLE = "weft redesign --master 127.0.0.1:7883 --yes"


def redesign(
    master: MasterAddress = None,
    yes: Yes = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only tell what it would change and gain.")] = False,
    json: o.Json = False,
) -> None:
    """Design the overlay of a running network again, tell what that would change and gain, and put it in place."""
    with ConsoleProgress().step("Designing"):
        forecast = asked(master, "redesign", patient=True)
    if not json:
        print_forecast(forecast)
    wanted = not dry_run and (yes or (not json and typer.confirm("Put it in place?")))
    if wanted:
        forecast = asked(master, "redesign", proposal=forecast["proposal"])
    if json:
        print_result(forecast, json)
    elif wanted:
        typer.echo("It is being put in place, link by link; `weft status` shows when it is done.")
