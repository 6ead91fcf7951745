"""The share of users who have at least so many friends or followers."""

from typing import Any

import numpy as np

from weft.experiments.measures.input import instance_of
from weft.experiments.runs.popularity import PopularityRun


def measure_popularity(run: PopularityRun) -> dict[str, Any]:
    instance = instance_of(run.input, run.seed)
    counts = (instance.interest if run.side == "topics" else instance.subscribers).counts
    share = float(np.mean(counts[counts > 0] >= run.count))
    return {"share": share or None}  # none has so many: nothing to draw on a logarithmic axis
