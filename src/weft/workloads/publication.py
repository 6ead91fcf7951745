"""Publications: which nodes publish on which topics, and when."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from weft.arrays import Floats, Int32s, Int64s
from weft.errors import WeftError
from weft.model.csr import Csr
from weft.model.instance import Instance
from weft.model.publication import Publications
from weft.model.seed import require_seed
from weft.model.table import Columns, Table

By = Literal["topic", "node", "publisher", "anyone"]


def publications(instance: Instance, count: int, seed: int = 1, by: By | None = None) -> Publications:
    """`count` publications on topics that have subscribers.

    Without `by`: by publisher where somebody told who publishes what (`weft traffic`), else by topic.
    By topic (BeaConvey, NSMF): a topic uniform over those with subscribers, its issuer over the subscribers.
    By node (Vitis): an issuer uniform over the nodes with interests, its topic over the interests.
    By publisher: a known publisher and its topic, in proportion to their rate.
    By anyone: a topic as by topic, its issuer uniform over all nodes.
    """
    if count < 1:
        raise WeftError(f"`count` {count} is out of range: give a number of publications from 1.", "count")
    if not instance.subscriptions:
        raise WeftError("The instance has no subscriptions: no publication would reach anyone.")
    rng = np.random.default_rng(require_seed(seed))
    by = by or ("publisher" if instance.has_traffic else "topic")
    if by == "publisher":
        return _by_publisher(rng, instance, count)
    if by == "node":
        nodes, topics = _entries(rng, instance.interest, count)
        return Publications(topics, nodes)
    topics, nodes = _entries(rng, instance.subscribers, count)
    if by == "anyone":
        nodes = rng.integers(instance.nodes, size=count).astype(np.int32)
    return Publications(topics, nodes)


def _by_publisher(rng: np.random.Generator, instance: Instance, count: int) -> Publications:
    publishers = instance.publishers
    if publishers is None:
        raise WeftError("The instance does not say who publishes: give it a publishers.parquet.")
    rates = publishers.rates * (instance.subscribers.counts[publishers.topics] > 0)
    if not rates.sum():
        raise WeftError("No known publisher has subscribers: no publication would reach anyone.")
    rows = rng.choice(len(publishers), size=count, p=rates / rates.sum())
    return Publications(publishers.topics[rows], publishers.nodes[rows])


def _entries(rng: np.random.Generator, csr: Csr, count: int) -> tuple[Int32s, Int32s]:
    """Rows, uniform over those that are not empty, and for each a column, uniform over the row's."""
    counts = csr.counts
    rows = rng.choice(np.flatnonzero(counts), size=count)
    columns = csr.indices[csr.indptr[rows] + rng.integers(counts[rows])]
    return rows.astype(np.int32), columns


@dataclass(frozen=True, eq=False)
class Schedule(Table):
    times: Floats  # seconds from the start, ascending; at equal times the lower publisher comes first
    publishers: Int32s  # who publishes at each time: 0, 1, ...

    def __len__(self) -> int:
        return len(self.times)

    @property
    def columns(self) -> Columns:
        return {"time": self.times, "publisher": self.publishers}


def schedule(
    publishers: int,
    rate: float,
    duration: float,
    seed: int,
    arrivals: Literal["regular", "poisson"] = "regular",
) -> Schedule:
    """When each of the publishers publishes, `rate` times a second for `duration` seconds.

    Regular: at a constant interval, each publisher from a phase of its own, uniform within the interval.
    Poisson: at the times of independent Poisson processes.
    """
    if publishers < 1:
        raise WeftError(f"`publishers` {publishers} is out of range: give at least 1.", "publishers")
    for option, value in (("rate", rate), ("duration", duration)):
        if not 0.0 < value < np.inf:
            raise WeftError(f"`{option}` {value} is out of range: give a positive number.", option)
    rng = np.random.default_rng(seed)
    make = _regular if arrivals == "regular" else _poisson
    times, who = make(rng, publishers, rate, duration)
    order = np.lexsort((who, times))
    return Schedule(times[order], who[order].astype(np.int32))


def _regular(rng: np.random.Generator, publishers: int, rate: float, duration: float) -> tuple[Floats, Int64s]:
    phases = rng.random(publishers)
    times = (phases[:, np.newaxis] + np.arange(np.ceil(rate * duration))) / rate
    who, _ = np.nonzero(times < duration)
    return times[times < duration], who


def _poisson(rng: np.random.Generator, publishers: int, rate: float, duration: float) -> tuple[Floats, Int64s]:
    # Given their number, the times of a Poisson process are independent and uniform.
    who = np.repeat(np.arange(publishers), rng.poisson(rate * duration, publishers))
    return rng.random(len(who)) * duration, who
