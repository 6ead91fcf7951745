"""An EMQX cluster by its subscriptions: what `GET /api/v5/subscriptions` answers (v4's answer too), saved page by page.

The nodes of a cluster are all linked with each other, and send a message straight to each node that subscribes.
"""

from collections.abc import Iterable
from itertools import combinations
from pathlib import Path

from weft.errors import WeftError
from weft.fleet.bridge import Bridge
from weft.fleet.nats import Subscription, read_json


def read_emqx(paths: Iterable[Path]) -> tuple[list[str], list[Bridge], list[Subscription]]:
    """Nodes, links and subscriptions."""
    found: set[Subscription] = set()
    for file, answer in read_json(paths, "what /api/v5/subscriptions answers"):
        rows = answer.get("data") if isinstance(answer, dict) else answer
        if not isinstance(rows, list):
            raise WeftError(f"{file} is no answer of EMQX's subscriptions: it has no list `data`.", "data")
        for number, row in enumerate(rows, 1):
            if not isinstance(row, dict) or not all(row.get(key) for key in ("clientid", "node", "topic")):
                raise WeftError(f"{file}, row {number}: a subscription has clientid, node and topic.")
            found.add((str(row["clientid"]), str(row["node"]), str(row["topic"])))
    nodes = sorted({node for _, node, _ in found})
    return nodes, [Bridge(one, other, ()) for one, other in combinations(nodes, 2)], sorted(found)
