"""A run of Vitis as a value that can be sent to a worker: files, options and a seed; and what comes of it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from weft.model.churn import ChurnSchedule
from weft.model.instance import Instance, read_instance
from weft.model.latency import placed_latency
from weft.model.publication import Publications, read_publications
from weft.model.storage import has_column
from weft.raw.churn import read_churn
from weft.raw.places import read_places
from weft.raw.traffic import read_topic_rates, read_traffic
from weft.sim.vitis_run import VitisRun, simulate_vitis
from weft.workloads.churn import churn_by_rate


@dataclass(frozen=True)
class VitisTask:
    instance: str  # folder
    seed: int
    latency: str | None = None  # files, as in the others
    draw_hosts: bool = False
    publications: str = "1000"  # or how many
    rates: str | None = None
    places: str | None = None
    churn: str | None = None
    churn_rates: Mapping[str, float] = field(default_factory=dict)  # options of churn_by_rate, with `hours`
    options: Mapping[str, Any] = field(default_factory=dict)  # of simulate_vitis


def run_of(task: VitisTask) -> VitisRun:
    instance = _instance(task.instance)
    latency = None
    if task.latency is not None:
        names = instance.node_names
        latency = placed_latency(task.latency, instance.nodes, task.seed, names, draw_hosts=task.draw_hosts)
    return simulate_vitis(
        instance,
        latency,
        _publications(task, instance),
        rates=None if task.rates is None else read_topic_rates(task.rates, instance),
        places=None if task.places is None else read_places(task.places, instance),
        churn=_churn(task, instance),
        seed=task.seed,
        **task.options,
    )


def figures_of(task: VitisTask) -> dict[str, Any]:
    """The figures as JSON holds them, whoever works them out."""
    found: dict[str, Any] = json.loads(json.dumps(run_of(task).figures))
    return found


@lru_cache(maxsize=1)
def _instance(folder: str) -> Instance:
    return read_instance(folder)


def _publications(task: VitisTask, instance: Instance) -> Publications | int:
    if task.publications.isdecimal():
        return int(task.publications)
    if has_column(Path(task.publications), "publication"):
        return read_publications(task.publications, instance)
    return read_traffic(task.publications, instance).publications()


def _churn(task: VitisTask, instance: Instance) -> ChurnSchedule | None:
    if task.churn is not None:
        return read_churn(task.churn, instance)
    return churn_by_rate(instance, seed=task.seed, **task.churn_rates) if task.churn_rates else None
