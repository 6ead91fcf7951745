"""What a budget of degrees buys: TcoSuppR of GM stopped at an average degree (GPA) or at a maximum degree (GPM)."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np

from weft.experiments.experiment import Effort, Experiment, Metric, Panel, Plan, Point
from weft.experiments.point import SITES, social_input
from weft.experiments.routing import Input, instance_of
from weft.overlays.catalog import design
from weft.overlays.greedy_merge import SupportCurve, support_curve
from weft.overlays.quality import link_quality

DEGREES: Mapping[Effort, tuple[int, ...]] = {"quick": (2, 4, 8, 12, 20, 30), "full": tuple(range(2, 41, 2))}


@dataclass(frozen=True)
class BudgetRun:
    input: Input
    degree: int
    seed: int

    @property
    def batch(self) -> Hashable:
        return self.input, self.seed

    @property
    def cost(self) -> float:
        return 1e-3 * self.input.nodes

    def measure(self) -> dict[str, Any]:
        instance = instance_of(self.input, self.seed)
        curve = _curve(self.input, self.seed)
        within = np.searchsorted(curve.average_degree, self.degree, side="right") - 1
        bounded = design(instance, "gm", seed=self.seed, maximum_degree=self.degree)
        return {
            "by_average": float(curve.support[within]),
            "by_maximum": link_quality(instance, bounded)["tco_support_ratio"],
        }


@lru_cache(maxsize=1)
def _curve(given: Input, seed: int) -> SupportCurve:
    return support_curve(instance_of(given, seed), seed=seed)


BUDGET_SYSTEMS = ("FB 1K", "TW 1K", "Unif")


def _budget_plan(effort: Effort, folders: Mapping[str, str]) -> Plan:
    inputs = {f"{site} 1K": social_input("", key, 1000, folders.get(key))[1] for site, key in SITES.items()}
    inputs["Unif"] = Input("unif", 1000, 1000)
    degrees = DEGREES[effort]
    runs = {
        (name, f"{degree}", 1): BudgetRun(given, degree, 1)
        for (name, given), degree in product(inputs.items(), degrees)
    }
    return Plan([Point(f"{degree}", f"degree {degree} at most", degree) for degree in degrees], 1, runs)


BUDGET = Experiment(
    name="degree-budget",
    title="What a budget of degrees buys: GM stopped at an average or a maximum degree",
    paper="weft",
    axis="degree",
    systems=BUDGET_SYSTEMS,
    metrics={"TcoSuppR by average": Metric("by_average"), "TcoSuppR by maximum": Metric("by_maximum")},
    plan=_budget_plan,
    panels=(
        Panel("TcoSuppR, average degree at most (GPA)", "TcoSuppR by average", BUDGET_SYSTEMS),
        Panel("TcoSuppR, every degree at most (GPM)", "TcoSuppR by maximum", BUDGET_SYSTEMS),
    ),
    datasets=tuple(SITES.values()),
)
