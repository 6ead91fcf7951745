"""The master's figures in Prometheus' text format."""

from typing import Any

GAUGES = {
    "links": ("weft_master_links", "Links of the plan."),
    "links_up": ("weft_master_links_up", "Links that are up."),
    "links_bound": ("weft_master_links_bound", "Links that a node may have."),
    "topics": ("weft_master_topics", "Filters with a tree."),
    "sessions": ("weft_master_sessions", "Sessions of all nodes."),
    "publications_a_second": ("weft_master_publications_per_second", "Publications of all clients."),
    "relays_a_delivery": ("weft_master_relays_per_delivery", "Relays passed for each delivery, by the trees."),
    "relays_a_delivery_designed": ("weft_master_relays_per_delivery_designed", "The same when it was designed."),
    "hops": ("weft_master_hops", "Hops from who publishes to who subscribes, by the trees."),
    "hops_designed": ("weft_master_hops_designed", "The same when it was designed."),
    "busiest_times_mean": ("weft_master_busiest_times_mean", "What the busiest node sends, in units of the mean."),
    "certificate_days": ("weft_master_certificate_days", "Days until the first certificate of the cluster expires."),
    "version": ("weft_master_plan_version", "Version of the plan."),
}
STATES = ("up", "down", "joining")


def metrics(status: dict[str, Any]) -> str:
    lines = ["# HELP weft_master_nodes Nodes by state.", "# TYPE weft_master_nodes gauge"]
    states = [node["state"] for node in status["nodes"]]
    lines += [f'weft_master_nodes{{state="{state}"}} {states.count(state)}' for state in STATES]
    for key, (name, told) in GAUGES.items():
        if status[key] is not None:
            lines += [f"# HELP {name} {told}", f"# TYPE {name} gauge", f"{name} {status[key]}"]
    for name, count, told in (
        ("weft_master_links_over_bound", len(status["links_over_bound"]), "Nodes with more links than the bound."),
        ("weft_master_parted_topics", len(status["parted_topics"]), "Topics whose subscribers no links join."),
        ("weft_master_store_works", int(status["store_works"]), "Whether the master can keep what it knows; 0 or 1."),
        ("weft_master_problems", len(status["problems"]), "Things that an operator should look at."),
    ):
        lines += [f"# HELP {name} {told}", f"# TYPE {name} gauge", f"{name} {count}"]
    return "\n".join(lines) + "\n"
