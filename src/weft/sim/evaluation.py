"""What a router cost: counts that add up over shards of publications, and the figures that are made of them.

A delivery is a publication that has come to a subscriber other than its issuer; its path is all hops from the issuer.
Overhead is the messages received by nodes that do not subscribe to the topic. The counts are integers, so that however
the publications are divided among threads or executors, the merged figures are the same to the last digit.
"""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from weft.arrays import Floats, Int64s
from weft.kernels.routing.tally import MICRO
from weft.model.forwarding import AS_PRINTED, Forwarding
from weft.model.instance import Instance, Names
from weft.model.table import Columns, Table

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
    path_sum: int  # hops of all deliveries
    maximum_path: int
    sent: Int64s  # messages of every node
    received: Int64s
    topics: Int64s | None = None  # [topic, TOPIC_COLUMNS], on request
    averages: Int64s | None = None  # ARRIVALS to MEAN_SUM of weft.kernels.routing.tally, where they were counted

    @property
    def average_path_by_message(self) -> float | None:
        return None if self.averages is None else float(self.averages[1] / max(self.averages[0], 1))

    @property
    def average_path_by_publication(self) -> float | None:
        return None if self.averages is None else float(self.averages[3] / MICRO / max(self.averages[2], 1))

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
            None if self.averages is None or other.averages is None else self.averages + other.averages,
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
    most_links: int  # of any node, whoever opened them


@dataclass(frozen=True)
class Times:
    publications: int  # that were timed
    delivery: Distribution  # milliseconds from the issuer to a subscriber; 0 without deliveries


class TopicFigures(dict[str, npt.NDArray[Any]], Table):
    """A column a figure, a row a topic."""

    __hash__ = None  # type: ignore[assignment]  # as that of a dict

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
    messages: int  # that carry a publication
    routing_overhead: int
    average_path: float  # over deliveries; 0 without any, as the others
    maximum_path: int
    seconds: float
    load: Load
    average_path_by_message: float | None = None  # to where each was sent, subscriber or pivot; None: not counted
    average_path_by_publication: float | None = None  # over publications, of the averages over the deliveries of each
    forwarding: Forwarding | None = None  # of a router on the ring
    controls: int = 0  # messages that carry no publication, where a router has such: notifications and requests
    table_entries: Distribution | None = None  # what a node keeps for its topics: tree neighbours; Weave's and systems'
    times: Times | None = None  # where latencies are given
    bytes: int | None = None  # of all messages, where the sizes of publications are known
    topics: TopicFigures | None = None  # on request
    load_by_node: Mapping[str, Int64s] = field(default_factory=dict, compare=False, repr=False)  # sent and received

    def __repr__(self) -> str:
        return (
            f"Evaluation({self.router} on {self.overlay}: {self.publications:,} publications, {self.deliveries:,} "
            f"deliveries, {self.messages:,} messages, {self.routing_overhead:,} of them to relays, "
            f"{self.average_path:.2f} hops on average, {self.maximum_path} at most)"
        )

    def _repr_html_(self) -> str:
        """Figures as a table, for a notebook."""
        figures = {each.name: getattr(self, each.name) for each in fields(self)}
        rows = (
            f"<tr><th>{name.replace('_', ' ')}</th><td>{value:,}</td></tr>"
            for name, value in figures.items()
            if isinstance(value, int | float)
        )
        return f"<p><b>{self.router} on {self.overlay}</b></p><table>{''.join(rows)}</table>"

    @classmethod
    def from_counts(
        cls,
        counts: Counts,
        *,
        router: str,
        overlay: str,
        seconds: float,
        most_links: int,
        entries: Int64s | None = None,  # of every node's tables, where the router has such
        controls: int = 0,
        times: Times | None = None,
        forwarding: Forwarding | None = None,  # of a router on the ring
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
            average_path_by_message=counts.average_path_by_message,
            average_path_by_publication=counts.average_path_by_publication,
            maximum_path=counts.maximum_path,
            seconds=seconds,
            load=_load(counts.sent, counts.received, most_links),
            forwarding=forwarding,
            controls=controls,
            table_entries=None if entries is None else distribution(entries),
            times=times,
            topics=None if counts.topics is None else _by_topic(counts.topics),
            load_by_node={"sent": counts.sent, "received": counts.received},
        )


def with_bytes(result: Evaluation, instance: Instance, per_topic: bool, control_bytes: int = 0) -> Evaluation:
    """The result with the bytes of its messages, where sizes are known; topics stay if they were asked for."""
    sizes = None if instance.publishers is None else instance.publishers.topic_sizes(instance.topics)
    if sizes is not None and result.topics is not None:
        contents = round(float((result.topics["messages"] * sizes).sum()))
        result = replace(result, bytes=contents + control_bytes)
    return replace(result, topics=result.topics if per_topic else None)


def has_sizes(instance: Instance) -> bool:
    return instance.publishers is not None and instance.publishers.sizes is not None


def figures_of(result: Evaluation, busiest: str | None) -> dict[str, Any]:
    """All but the breakdowns by topic and by node, as JSON has it; the busiest node with its name, if it has one."""
    figures = asdict(replace(result, topics=None, load_by_node={}))
    del figures["topics"], figures["load_by_node"], figures["forwarding"]
    figures |= dict.fromkeys(AS_PRINTED.columns) if result.forwarding is None else result.forwarding.columns
    if busiest is not None:
        figures["load"]["most_loaded_name"] = busiest
    return figures


def with_names(topics: TopicFigures, names: Names | None) -> Columns:
    """The columns, and the names of the topics where they have any."""
    return topics if names is None else {**topics, "name": pa.array(names, pa.string())}


def _load(sent: Int64s, received: Int64s, most_links: int) -> Load:
    both = sent + received
    busiest = int(np.argmax(both))
    return Load(distribution(sent), distribution(received), busiest, int(both[busiest]), most_links)


def distribution(values: Int64s | Floats) -> Distribution:
    median, high, highest = np.percentile(values, [50, 90, 99]).tolist()
    return Distribution(float(values.mean()), median, high, highest, values.max().item())


def _by_topic(topics: Int64s) -> TopicFigures:
    columns = dict(zip(TOPIC_COLUMNS, topics.T, strict=True))
    average_path = columns.pop("path_sum") / np.maximum(columns["deliveries"], 1)
    return TopicFigures({"topic": np.arange(len(topics)), **columns, "average_path": average_path})
