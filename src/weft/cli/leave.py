"""weft leave"""

from typing import Annotated

import typer

from weft.cli import options as o
from weft.cli.operator import MasterAddress, asked
from weft.cli.output import print_result

EXAMPLE = "weft leave node-3 --master 127.0.0.1:7883"


def leave(
    node: Annotated[str, typer.Argument(metavar="NODE", help="Name of the node.", show_default=False)],
    forget: Annotated[
        bool, typer.Option("--forget", help="It will not come back: what is kept for its sessions is dropped.")
    ] = False,
    master: MasterAddress = None,
    json: o.Json = False,
) -> None:
    """Let a node leave a running network in order, or forget one that is down."""
    print_result(asked(master, "leave", node=node, forget=forget), json)
