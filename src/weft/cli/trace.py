"""weft trace"""

from typing import Annotated

import typer

from weft.cli import options as o
from weft.cli.line import say
from weft.cli.operator import MasterAddress, asked
from weft.cli.output import print_result

EXAMPLE = "weft trace node-3 news/today --master 127.0.0.1:7883"


def trace(
    node: Annotated[str, typer.Argument(metavar="NODE", help="Name of the node to publish at.", show_default=False)],
    topic: Annotated[str, typer.Argument(metavar="TOPIC", help="To publish on.", show_default=False)],
    master: MasterAddress = None,
    json: o.Json = False,
) -> None:
    """Send one message through a running network, which is delivered to nobody, and show the way that it took."""
    told = asked(master, "trace", node=node, topic=topic)
    if json:
        print_result(told, json)
        return
    for step in told["steps"]:
        clients = f"  {step['clients']} clients" if step["clients"] else ""
        came = f" from {step['from']}" if step["from"] else ""
        say(f"{step['milliseconds']:9.3f} ms  {'  ' * step['hops']}{step['node']}{came}{clients}")
    if not told["nodes_with_receivers"]:
        say(f"It reached nobody who subscribes to {topic}.")
