"""Runs of GM stopped at an average degree (GPA) or at a maximum degree (GPM)."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

from weft.experiments.runs.input import Input


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
        from weft.experiments.measures.budget import measure_budget

        return measure_budget(self)
