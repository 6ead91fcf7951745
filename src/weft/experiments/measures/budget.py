"""TcoSuppR of GM stopped at an average degree or at a maximum degree."""

from functools import lru_cache
from typing import Any

import numpy as np

from weft.experiments.measures.input import instance_of
from weft.experiments.runs.budget import BudgetRun
from weft.experiments.runs.input import Input
from weft.overlays.catalog import design
from weft.overlays.greedy_merge import SupportCurve, support_curve
from weft.overlays.quality import link_quality


def measure_budget(run: BudgetRun) -> dict[str, Any]:
    instance = instance_of(run.input, run.seed)
    curve = _curve(run.input, run.seed)
    within = np.searchsorted(curve.average_degree, run.degree, side="right") - 1
    bounded = design(instance, "gm", seed=run.seed, maximum_degree=run.degree)
    return {
        "by_average": float(curve.support[within]),
        "by_maximum": link_quality(instance, bounded)["tco_support_ratio"],
    }


@lru_cache(maxsize=1)
def _curve(given: Input, seed: int) -> SupportCurve:
    return support_curve(instance_of(given, seed), seed=seed)
