"""The rows of an experiment, and its figures: what tables, plots and verdicts are made of."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import product
from statistics import fmean
from typing import Any

from weft.experiments.engine.experiment import HIGHEST, LOWEST, MEAN, Effort, Experiment, Metric, Point

Row = dict[str, Any]
Figures = Mapping[tuple[str, str, str], float]  # by metric, system, and label of a point, MEAN, LOWEST or HIGHEST


@dataclass(frozen=True)
class Results:
    experiment: Experiment
    effort: Effort
    points: list[Point]
    seeds: int
    settings: str
    rows: list[Row]  # a row a run: system, at, x, all parameters, all figures, error

    @property
    def readings(self) -> list[str]:
        """The readings of the paper that its rows are of; none where there is but one."""
        return list(dict.fromkeys(row["reading"] for row in self.rows if "reading" in row))

    def of(self, reading: str) -> "Results":
        """The results by one reading."""
        return replace(self, rows=[row for row in self.rows if row.get("reading") == reading])

    @property
    def errors(self) -> list[str]:
        return [row["error"] for row in self.rows if row["error"] is not None]


def figures_of(results: Results) -> Figures:
    """Means over the seeds, by the first reading. Where a run failed, what depends on it is missing."""
    if len(results.readings) > 1:
        return figures_of(results.of(results.readings[0]))
    rows = {(row["system"], row["at"], row["seed"]): row for row in results.rows if row["error"] is None}
    figures: dict[tuple[str, str, str], float] = {}
    for metric, system in product(results.experiment.reported, results.experiment.systems):
        how = results.experiment.metrics[metric]
        means = {point.label: _mean(results, rows, how, system, point.label) for point in results.points}
        known = {label: mean for label, mean in means.items() if mean is not None}
        along = list(known.values())
        if len(known) == len(means) and results.points[0].x is not None:
            known |= {MEAN: fmean(along), LOWEST: min(along), HIGHEST: max(along)}
        figures |= {(metric, system, label): mean for label, mean in known.items()}
    return figures


def _mean(
    results: Results, rows: Mapping[tuple[str, str, int], Row], metric: Metric, system: str, label: str
) -> float | None:
    """The mean over the seeds; none where a run is missing, or the baseline is zero."""
    values = []
    for seed in range(1, results.seeds + 1):
        figure = _figure(rows.get((system, label, seed)), metric)
        baseline = metric.to or results.experiment.baseline or ""
        divisor = _figure(rows.get((baseline, label, seed)), metric) if metric.relative else 1
        if figure is None or not divisor:
            return None
        values.append(figure / divisor)
    return fmean(values)


def _figure(row: Row | None, metric: Metric) -> float | None:
    return None if row is None else row.get(metric.column)
