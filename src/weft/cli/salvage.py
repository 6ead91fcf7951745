"""weft salvage"""

from pathlib import Path
from typing import Annotated

import typer

from weft.cli import options as o
from weft.cli.line import say
from weft.cli.output import print_result

EXAMPLE = "weft salvage node-data --out node-data-salvaged"


def salvage(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="Data of a node or of a master.", show_default=False)
    ],
    out: Annotated[Path, typer.Option("--out", help="Folder for what can be read.", show_default=False)],
    json: o.Json = False,
) -> None:
    """Write what can be read of a damaged data folder into another one, and say what is lost.

    A node or master starts with the new folder as its --data. The damaged one is only read, and no process may hold it.
    """
    from weft.live.salvage import salvage as salvaged

    told = salvaged(folder, out)
    if json:
        print_result({**told, "out": str(out)}, json)
        return
    print_result({name: value for name, value in told.items() if name != "lost"}, json)
    for sentence in told["lost"] or ["Nothing is lost."]:
        say(f"! {sentence}" if told["lost"] else sentence)
