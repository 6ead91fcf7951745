"""weft status"""

from typing import Any

from weft.cli import options as o
from weft.cli.line import say
from weft.cli.operator import MasterAddress, asked
from weft.cli.output import print_result

EXAMPLE = "weft status --master 127.0.0.1:7883"

SHOWN = (
    "cluster",
    "links",
    "links_up",
    "links_bound",
    "links_over_bound",
    "clients",
    "sessions",
    "topics",
    "publications_a_second",
    "relays_a_delivery",
    "relays_a_delivery_designed",
    "hops",
    "hops_designed",
    "busiest_node",
    "busiest_times_mean",
    "busiest_times_mean_designed",
    "redesign",
)
WIDTH = max(map(len, SHOWN))  # of the names: values stay where they are, whatever is known
UNKNOWN_AT_0 = {"hops", "hops_designed", "busiest_times_mean", "busiest_times_mean_designed"}


def status(master: MasterAddress = None, json: o.Json = False) -> None:
    """Show a running network: nodes, links, rates, and the quality of the overlay now and when it was designed."""
    told = asked(master, "status")
    if json:
        print_result(told, json)
        return
    print_result({name: told[name] for name in SHOWN if _is_known(name, told[name])}, json, WIDTH)
    say("")
    _print_nodes(told["nodes"])
    for problem in told["problems"]:
        say(f"! {problem}")


def _is_known(name: str, value: Any) -> bool:
    """Whether there is something to tell."""
    return value is not None and value != {} and not (name in UNKNOWN_AT_0 and not value)


def _state(node: dict[str, Any]) -> str:
    since = node.get("down_since")
    return f"{node['state']} since {since}" if since else node["state"]


def _print_nodes(nodes: list[dict[str, Any]]) -> None:
    rows = [("node", "state", "links", "filters", "clients", "publications/s", "MQTT")]
    rows += [
        (
            node["name"],
            _state(node),
            f"{node['links']}/{node['links_wanted']}",
            str(node["filters"]),
            str(node["clients"]),
            f"{node['publications_a_second']:,.1f}",
            " ".join(node["mqtt"]),
        )
        for node in nodes
    ]
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    for row in rows:
        say("  ".join(word.ljust(width) for word, width in zip(row, widths, strict=True)).rstrip())
