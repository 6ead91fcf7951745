"""What a router cost: counts that add up over shards of publications, and the figures that are made of them.

A delivery is a publication that has come to a subscriber other than its issuer; its path is all hops from the issuer.
Overhead is the messages received by nodes that do not subscribe to the topic. The counts are integers, so that however
the publications are divided among threads or executors, the merged figures are the same to the last digit.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce

import numpy as np
import numpy.typing as npt

from weft.arrays import Floats, Int64s
from weft.model.table import Columns, Table
from weft.model.tree import Trees

# Columns of a breakdown by topic; sums, but for the last.
TOPIC_COLUMNS = (
    "publications",
    "expected_deliveries",
    "deliveries",
    "messages",
    "routing_overhead",
    "path_sum",
    "maximum_path",
)


@dataclass(frozen=True, eq=False)
class Counts:
    publications: int
    expected_deliveries: int
    deliveries: int
    messages: int
    routing_overhead: int
    path_sum: int
    maximum_path: int
    sent: Int64s  # messages of every node
    received: Int64s
    topics: Int64s | None = None  # [topic, TOPIC_COLUMNS], on request

    def __add__(self, other: "Counts") -> "Counts":
        return Counts(
            self.publications + other.publications,
            self.expected_deliveries + other.expected_deliveries,
            self.deliveries + other.deliveries,
            self.messages + other.messages,
            self.routing_overhead + other.routing_overhead,
            self.path_sum + other.path_sum,
            max(self.maximum_path, other.maximum_path),
            self.sent + other.sent,
            self.received + other.received,
            None if self.topics is None or other.topics is None else _added(self.topics, other.topics),
        )


def merged(parts: Iterable[Counts]) -> Counts:
    return reduce(Counts.__add__, parts)


def _added(topics: Int64s, others: Int64s) -> Int64s:
    together = topics + others
    together[:, -1] = np.maximum(topics[:, -1], others[:, -1])
    return together


@dataclass(frozen=True)
class Distribution:
    """Distribution of a number that every node, or every delivery, has."""

    mean: float
    median: float
    percentile_90: float
    percentile_99: float
    maximum: float


@dataclass(frozen=True)
class Load:
    sent: Distribution  # messages per node
    received: Distribution
    most_loaded_node: int  # the one that sends and receives the most; the first of several
    most_loaded_messages: int


@dataclass(frozen=True)
class Times:
    publications: int  # that were timed
    delivery: Distribution  # milliseconds from the issuer to a subscriber; 0 without deliveries


class TopicFigures(dict[str, npt.NDArray[np.generic]], Table):
    """A column a figure, a row a topic."""

    @property
    def columns(self) -> Columns:
        return self


@dataclass(frozen=True)
class Evaluation:
    router: str
    overlay: str
    publications: int
    deliveries: int
    expected_deliveries: int
    messages: int
    routing_overhead: int
    average_path: float  # 0 without deliveries
    maximum_path: int
    seconds: float
    load: Load
    table_entries: Distribution | None = None  # the tree neighbours that a node keeps, over all topics; Weave's
    times: Times | None = None  # where latencies are given
    topics: TopicFigures | None = None  # on request

    @classmethod
    def from_counts(
        cls, counts: Counts, *, router: str, overlay: str, seconds: float, trees: Trees | None = None
    ) -> "Evaluation":
        return cls(
            router=router,
            overlay=overlay,
            publications=counts.publications,
            deliveries=counts.deliveries,
            expected_deliveries=counts.expected_deliveries,
            messages=counts.messages,
            routing_overhead=counts.routing_overhead,
            average_path=counts.path_sum / max(counts.deliveries, 1),
            maximum_path=counts.maximum_path,
            seconds=seconds,
            load=_load(counts.sent, counts.received),
            table_entries=None if trees is None else distribution(trees.entries),
            topics=None if counts.topics is None else _by_topic(counts.topics),
        )


def _load(sent: Int64s, received: Int64s) -> Load:
    both = sent + received
    busiest = int(np.argmax(both))
    return Load(distribution(sent), distribution(received), busiest, int(both[busiest]))


def distribution(values: Int64s | Floats) -> Distribution:
    median, high, highest = np.percentile(values, [50, 90, 99]).tolist()
    return Distribution(float(values.mean()), median, high, highest, values.max().item())


def _by_topic(topics: Int64s) -> TopicFigures:
    columns = dict(zip(TOPIC_COLUMNS, topics.T, strict=True))
    average_path = columns.pop("path_sum") / np.maximum(columns["deliveries"], 1)
    return TopicFigures({"topic": np.arange(len(topics)), **columns, "average_path": average_path})
