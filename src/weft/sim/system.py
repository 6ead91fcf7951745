"""Systems: routers that are simulated whole, whose nodes do more than send on over fingers or trees of an overlay.

A system is given an instance, publications and, if it publishes over one, an overlay. It says what it counted, over
which links, and what its nodes had to know. Its row is in `weft.sim.catalog`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter

import numpy as np

from weft.arrays import Floats, Int64s
from weft.errors import WeftError
from weft.model.instance import Instance
from weft.model.latency import Latency
from weft.model.overlay import Overlay, most_links
from weft.model.publication import Publications
from weft.sim.evaluation import Counts, Evaluation, Times, distribution, with_bytes


@dataclass(frozen=True, eq=False)
class Task:
    instance: Instance
    overlay: Overlay | None  # None where the system makes links of its own
    publications: Publications
    seed: int
    latency: Latency | None  # without, all links take as long


@dataclass(frozen=True, eq=False)
class Measured:
    counts: Counts  # with figures by topic; messages are those that carry a publication
    overlay: Overlay  # what it published over
    peers: Int64s  # other nodes that every node knows
    entries: Int64s  # what every node knows of topics: who of its peers wants which, where messages on them go
    controls: int = 0  # messages that carry no publication, as notifications and requests
    control_bytes: int = 0  # of all of these
    times: Floats | None = None  # of deliveries, milliseconds, where latencies are given


@dataclass(frozen=True)
class System:
    words: str  # for somebody who has read no paper
    measure: Callable[[Task], Measured]
    overlays: tuple[str, ...] = ()  # overlays of the catalog that it publishes over; none: it makes links of its own

    @property
    def makes_links(self) -> bool:
        return not self.overlays


def _measured(name: str, system: System, task: Task) -> Measured:
    """What a system counts, given the overlay that it needs and no other."""
    if system.makes_links and task.overlay is not None:
        raise WeftError(f"{name} makes links of its own: leave the overlay out.")
    if not system.makes_links and task.overlay is None:
        raise WeftError(f"{name} publishes over an overlay: give one, such as {' or '.join(system.overlays)}.")
    return system.measure(task)


def evaluated(name: str, system: System, task: Task, per_topic: bool = False) -> tuple[Evaluation, Measured]:
    """The figures of a system as those of any router, and what it counted."""
    started = perf_counter()
    found = _measured(name, system, task)
    result = Evaluation.from_counts(
        found.counts,
        router=name,
        overlay=found.overlay.meta.get("algorithm", ""),
        seconds=perf_counter() - started,
        most_links=most_links(found.overlay),
        entries=found.entries,
        controls=found.controls,
        times=None if found.times is None else _times(task.publications, found.times),
    )
    return with_bytes(result, task.instance, per_topic, found.control_bytes), found


def _times(publications: Publications, times: Floats) -> Times:
    return Times(len(publications), distribution(times if len(times) else np.zeros(1)))
