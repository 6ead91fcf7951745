"""weft explain"""

from typing import Annotated, Any

import typer

from weft.cli import options as o
from weft.cli.line import say
from weft.cli.operator import MasterAddress, asked
from weft.cli.output import print_result

EXAMPLE = "weft explain news/today --master 127.0.0.1:7883"


def explain(
    topic: Annotated[str, typer.Argument(metavar="TOPIC", help="Topic or filter.", show_default=False)],
    master: MasterAddress = None,
    json: o.Json = False,
) -> None:
    """Show the trees that a publication on a topic travels on in a running network, with relays marked.

    Marked is also the node that nearly all publications come from, where there is one: it need not subscribe.
    """
    from weft.wire.mqtt.topic import is_wild

    told = asked(master, "explain", topic=topic)
    if json:
        print_result(told, json)
        return
    for tree in told["trees"]:
        _print_tree(tree)
    for group in told["shared"]:
        say(f"{group['filter']}: one member, at {' or '.join(group['nodes'])}")
    if not told["trees"] and not told["shared"]:
        say(f"No client holds the filter {topic}." if is_wild(topic) else f"Nobody subscribes to {topic}.")


def _print_tree(tree: dict[str, Any]) -> None:
    parted = ", in parts that no links join at the moment" if tree["parted"] else ""
    nodes = "1 node subscribes" if tree["subscribers"] == 1 else f"{tree['subscribers']} nodes subscribe"
    say(f"{tree['filter']}: {nodes}, {tree['relays']} relay{'s' * (tree['relays'] != 1)}{parted}")
    for member in tree["members"]:
        role = "  (relay)" if member["relay"] else "  (publishes)" if member["node"] == tree["root"] else ""
        say(f"  {'  ' * member['hops']}{member['node']}{role}")
