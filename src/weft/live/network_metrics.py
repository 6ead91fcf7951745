"""What a node counts of its network, in Prometheus' text format."""

from weft.node.effect import MASTER
from weft.node.node import Node

COUNTERS = {
    "issued": "Publications of own clients that went into the network.",
    "messages_sent": "Messages to other nodes, one a publication and link.",
    "messages_received": "Messages from other nodes.",
    "arrived": "Publications of other nodes, once each.",
    "delivered": "Publications of other nodes for which a filter is held here.",
    "relayed": "Messages that came on a topic which nobody here holds.",
    "fallen_back": "Publications that went over the ring, where tables failed.",
    "dropped": "Messages of QoS 0 that a link did not take.",
    "attempts": "Repeated attempts of QoS 1 and 2.",
    "settled": "Publications of QoS 1 and 2 that everybody has.",
    "sessions_fetched": "Sessions that came from other nodes.",
    "sessions_given": "Sessions that went to other nodes.",
}


def network_metrics(node: Node) -> str:
    counted = dict(node.traffic.counters())
    lines = []
    for name, told in COUNTERS.items():
        full = f"weft_network_{name}_total"
        lines += [f"# HELP {full} {told}", f"# TYPE {full} counter", f"{full} {counted[name]}"]
    for name, value, told in (
        ("links", len(node.atlas.up - {MASTER}), "Links that are up."),
        ("links_wanted", len(node.atlas.peers), "Links of the plan."),
        ("master_up", int(MASTER in node.atlas.up), "Whether the master is connected."),
        ("plan_version", node.atlas.version, "Version of the plan that this node has applied."),
        ("under_way", node.debts.under_way, "Publications of QoS 1 and 2 that not everybody has."),
        ("late", node.debts.late, "Of these, those that publishers do not wait for: a node does not answer."),
        ("owed", sum(node.debts.owed.values()), "Publications that are kept for nodes which are down."),
    ):
        full = f"weft_network_{name}"
        lines += [f"# HELP {full} {told}", f"# TYPE {full} gauge", f"{full} {value}"]
    return "\n".join(lines) + "\n"
