"""weft redesign"""

from weft.cli import options as o
from weft.cli.operator import DryRun, MasterAddress, Yes, asked, put_in_place
from weft.cli.output import ConsoleProgress

EXAMPLE = "weft redesign --master 127.0.0.1:7883 --yes"


def redesign(
    master: MasterAddress = None,
    yes: Yes = False,
    dry_run: DryRun = False,
    json: o.Json = False,
) -> None:
    """Design the overlay of a running network again, tell what that would change and gain, and put it in place."""
    with ConsoleProgress().step("Designing"):
        forecast = asked(master, "redesign", patient=True)
    put_in_place(master, forecast, yes, dry_run, json)
