"""The rows of an experiment, and its figures: what tables, plots and verdicts are made of."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from statistics import fmean
from typing import Any

from weft.experiments.engine.experiment import HIGHEST, LOWEST, MEAN, Effort, Experiment, Metric, Point, Reading

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
    def errors(self) -> list[str]:
        return [row["error"] for row in self.rows if row["error"] is not None]


def figures_by(results: Results, reading: Reading) -> Figures:
    """The figures of a reading, by what claims call them."""
    figures = figures_of(results, reading.name)
    if not (reading.metrics or reading.systems or reading.points):
        return figures
    keys = {
        (metric, system, at)
        for known in figures
        for metric in _names(known[0], reading.metrics)
        for system in _names(known[1], reading.systems)
        for at in _names(known[2], reading.points)
    }
    return {key: figures[read] for key in keys if (read := _read(key, reading)) in figures}


def _names(ours: str, renamed: Mapping[str, str]) -> list[str]:
    """What claims may call this."""
    return [ours, *(theirs for theirs, name in renamed.items() if name == ours)]


def _read(key: tuple[str, str, str], reading: Reading) -> tuple[str, str, str]:
    metric, system, at = key
    return reading.metrics.get(metric, metric), reading.systems.get(system, system), reading.points.get(at, at)


def figures_of(results: Results, reading: str | None = None) -> Figures:
    """Means over the seeds. Where a run failed, what depends on it is missing.

    Where rows are of several readings, those of the one that is named, or of the first.
    """
    wanted = results.experiment.readings[0].name if reading is None else reading
    rows = {
        (row["system"], row["at"], row["seed"]): row
        for row in results.rows
        if row["error"] is None and row.get("reading", wanted) == wanted
    }
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
