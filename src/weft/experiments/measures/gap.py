"""Links of a topic-connected overlay, of the greedy or the fewest."""

from typing import Any

from weft.experiments.runs.gap import OPTIMUM, GapRun
from weft.overlays.catalog import design
from weft.overlays.optimum import optimum
from weft.workloads.catalog import generate


def measure_gap(run: GapRun) -> dict[str, Any]:
    instance = generate("unif", nodes=run.nodes, topics=run.nodes, subscriptions=5, seed=run.seed)
    if run.overlay == OPTIMUM:
        return {"links": optimum(instance).links}
    options = {} if run.overlay == "gm" else {"partitions": 2}
    return {"links": design(instance, run.overlay, seed=run.seed, **options).links}
