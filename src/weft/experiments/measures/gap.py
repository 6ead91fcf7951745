"""Links of a topic-connected overlay, of the greedy or the fewest."""

from typing import Any

import numpy as np

from weft.experiments.runs.connected import JOINS
from weft.experiments.runs.gap import OPTIMUM, GapRun
from weft.model.instance import Instance
from weft.overlays.catalog import design
from weft.overlays.join import Method, joined
from weft.overlays.optimum import optimum
from weft.workloads.catalog import generate


def measure_gap(run: GapRun) -> dict[str, Any]:
    instance = generate("unif", nodes=run.nodes, topics=run.nodes, subscriptions=5, seed=run.seed)
    if run.overlay == OPTIMUM:
        return {"links": optimum(instance).links}
    if run.overlay in JOINS:
        return {"links": _joined(instance, JOINS[run.overlay], run.seed)}
    options = {} if run.overlay == "gm" else {"partitions": 2}
    return {"links": design(instance, run.overlay, seed=run.seed, **options).links}


def _joined(instance: Instance, method: Method, seed: int) -> int:
    """Links of two halves, each designed by GM, and of what joins them."""
    halves = np.array_split(np.arange(instance.nodes), 2)
    overlays = [design(Instance(instance.interest.take(nodes)), "gm", seed=seed) for nodes in halves]
    return joined(instance, overlays, seed=seed, method=method).links
