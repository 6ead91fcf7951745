"""The rows of an experiment, and its figures: what tables, plots and verdicts are made of."""

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from weft.experiments.experiment import MEAN, METRICS, Experiment, Point, Scale

Row = dict[str, Any]
Figures = Mapping[tuple[str, str, str], float]  # by metric, system, and label of a point or MEAN


@dataclass(frozen=True)
class Results:
    experiment: Experiment
    scale: Scale
    points: list[Point]
    rows: list[Row]  # a row a run: system, at, x, all parameters, all figures, error

    @property
    def errors(self) -> list[str]:
        return [row["error"] for row in self.rows if row["error"] is not None]


def figures_of(results: Results) -> Figures:
    """Means over the seeds. Where a run failed, what depends on it is missing."""
    rows = {(row["system"], row["at"], row["seed"]): row for row in results.rows if row["error"] is None}
    figures: dict[tuple[str, str, str], float] = {}
    for metric in results.experiment.metrics:
        for system in results.experiment.systems:
            over_points = []
            for point in results.points:
                values = [_value(results, rows, metric, system, point.label, seed) for seed in _seeds(results)]
                known = [value for value in values if value is not None]
                if len(known) == len(values):
                    figures[metric, system, point.label] = fmean(known)
                    over_points.append(fmean(known))
            if len(over_points) == len(results.points) and results.points[0].x is not None:
                figures[metric, system, MEAN] = fmean(over_points)
    return figures


def _seeds(results: Results) -> range:
    return range(1, results.scale.seeds + 1)


def _value(
    results: Results, rows: Mapping[tuple[str, str, int], Row], metric: str, system: str, label: str, seed: int
) -> float | None:
    column, relative = METRICS[metric].column, METRICS[metric].relative
    row, baseline = rows.get((system, label, seed)), rows.get((results.experiment.baseline, label, seed))
    if row is None or (relative and (baseline is None or not baseline[column])):
        return None
    return float(row[column] / baseline[column]) if relative and baseline is not None else float(row[column])
