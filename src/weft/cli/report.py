"""weft report"""

from pathlib import Path
from typing import Annotated

import typer

from weft.cli import options as o
from weft.cli.output import print_result

EXAMPLE = "weft report experiments"


def report(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Of weft experiment --out.", show_default=False)],
    json: o.Json = False,
) -> None:
    """Write report.html: every table and figure that was run, the papers' figures beside ours."""
    from weft.report.reproduction import write_reproduction

    print_result({"report": str(write_reproduction(folder))}, json)
