"""Runs of a simulation of churn under several seeds, each a value that another process can carry out."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any

from weft.errors import WeftError
from weft.model.churn import ChurnSchedule
from weft.model.instance import Instance
from weft.model.latency import Latency
from weft.model.overlay import Overlay
from weft.sim.churn import Churned, ChurnSetting, Interval, churn
from weft.workloads.churn import churn_by_rate


@dataclass(frozen=True)
class Rates:
    """Churn that the seed draws; see churn_by_rate."""

    hours: float
    node_rate: float
    subscription_rate: float
    fail_share: float

    def schedule(self, instance: Instance, seed: int) -> ChurnSchedule:
        rates = {"node_rate": self.node_rate, "subscription_rate": self.subscription_rate}
        return churn_by_rate(instance, self.hours, seed, fail_share=self.fail_share, **rates)


@dataclass(frozen=True, eq=False)
class ChurnRun:
    instance: Instance
    overlay: Overlay
    router: str
    changes: ChurnSchedule | Rates
    hours: float | None
    setting: ChurnSetting
    latency: Latency | None
    seed: int


def churn_runs(
    instance: Instance,
    overlay: Overlay,
    router: str,
    changes: ChurnSchedule | Rates,
    *,
    hours: float | None,
    setting: ChurnSetting,
    latency: Latency | None,
    seed: int,
    seeds: int,
) -> list[ChurnRun]:
    if seeds < 1:
        raise WeftError(f"`seeds` {seeds} is out of range: give a number from 1.", "seeds")
    return [
        ChurnRun(instance, overlay, router, changes, hours, setting, latency, each)
        for each in range(seed, seed + seeds)
    ]


def churn_run(run: ChurnRun) -> Churned:
    schedule, hours = run.changes, run.hours
    if isinstance(schedule, Rates):
        hours, schedule = schedule.hours, schedule.schedule(run.instance, run.seed)
    return churn(
        run.instance,
        run.overlay,
        run.router,
        schedule,
        hours=hours,
        setting=run.setting,
        latency=run.latency,
        seed=run.seed,
    )


def as_row(churned: Churned) -> dict[str, Any]:
    """A run as JSON holds it."""
    return {**asdict(churned), "intervals": [asdict(each) for each in churned.intervals]}


def from_row(row: dict[str, Any]) -> Churned:
    return Churned(**{**row, "intervals": tuple(Interval(**each) for each in row["intervals"])})


def summary_of(done: Sequence[Churned]) -> dict[str, Any]:
    """Figures of all runs: means where there are several; the intervals of each."""
    figures = [each.figures() for each in done]
    found: dict[str, Any] = {}
    for name, value in figures[0].items():
        same = isinstance(value, str) or len(done) == 1
        found[name] = value if same else fmean(float(each[name]) for each in figures)
    return {**found, "runs": len(done), "intervals": [[asdict(row) for row in each.intervals] for each in done]}
