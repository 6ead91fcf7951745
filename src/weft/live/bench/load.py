"""What is asked for: who publishes and subscribes where, and how.

A run's topics have names of their own, `weft-bench/RUN/NUMBER`, so that it disturbs nobody on a broker that is in use,
and all of one length. An instance gives the shape of the load, not its names.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import uuid4

import numpy as np

from weft.arrays import Floats, Int64s
from weft.errors import WeftError
from weft.live.address import Address
from weft.live.bench.layout import STAMP_BYTES
from weft.model.seed import require_seed

if TYPE_CHECKING:
    from weft.model.instance import Instance  # processes of a run need not load its file format

LARGEST = 256 * 1024 * 1024 - 1024  # bytes of a payload: MQTT's limit, less what stands before it


@dataclass(frozen=True, slots=True)
class Manner:
    """How it is published."""

    qos: int = 0  # 0, 1 or 2
    payload: int = 100  # bytes, at least those of the stamp
    rate: float | None = None  # publications a second of all publishers together; None is as fast as it goes
    seconds: float = 10.0  # that publishers publish
    window: int = 100  # publications of QoS 1 and 2 that a publisher has open at a time, from 1 to 65,535
    persistent: bool = False  # whether brokers keep the sessions of subscribers
    wait: float = 3.0  # seconds without a delivery after which nothing more is waited for
    username: str | None = None
    password: str | None = None
    authority: str | None = None  # file of who signs brokers' certificates; None is who the system trusts

    def __post_init__(self) -> None:
        _require(self.qos in (0, 1, 2), "qos", self.qos, "0, 1 or 2")
        _require(STAMP_BYTES <= self.payload <= LARGEST, "payload", self.payload, f"{STAMP_BYTES} to {LARGEST:,} bytes")
        _require(self.rate is None or 0 < self.rate < 1e9, "rate", self.rate, "publications a second, above 0")
        _require(0 < self.seconds <= 1e6, "seconds", self.seconds, "a number above 0 and up to a million")
        _require(1 <= self.window <= 65_535, "window", self.window, "1 to 65,535")
        _require(0 <= self.wait <= 3600, "wait", self.wait, "0 to 3,600 seconds")


def _require(well: bool, name: str, value: object, told: str) -> None:
    if not well:
        raise WeftError(f"`{name}` is {value}: give {told}.", name)


@dataclass(frozen=True, slots=True)
class Subscriber:
    client: str
    target: Address
    topics: Int64s  # ascending


@dataclass(frozen=True, slots=True)
class Publisher:
    client: str
    target: Address
    streams: Int64s
    weights: Floats  # how often it publishes on each, in any unit


@dataclass(frozen=True, slots=True)
class Load:
    run: str  # stands in names of topics and clients
    names: list[bytes]  # of the topics, all of the same length
    stream_topics: Int64s  # the topic of every stream
    publishers: list[Publisher]
    subscribers: list[Subscriber]

    @property
    def topics(self) -> int:
        return len(self.names)

    @property
    def subscriptions(self) -> int:
        return sum(len(one.topics) for one in self.subscribers)

    def expected(self, sent: Int64s) -> int:
        """Deliveries, if so many were sent of each stream."""
        by_topic = np.bincount(self.stream_topics, sent, minlength=self.topics)
        return int(sum(by_topic[one.topics].sum() for one in self.subscribers))


def drawn_load(
    targets: Sequence[Address],
    publishers: int = 1,
    subscribers: int = 1,
    topics: int = 10,
    subscriptions: int | None = None,
    zipf: float = 0.0,
    seed: int = 1,
) -> Load:
    """Load by numbers.

    Topics are divided among the publishers; where there are more publishers, several share a topic. A subscriber has
    all topics, or so many drawn ones. The k-th topic is published on and subscribed to in proportion to 1 / k^zipf.
    Publishers sit at the targets in turn from the first, subscribers from the last.
    """
    for name, count in (("publishers", publishers), ("subscribers", subscribers), ("topics", topics)):
        _require(1 <= count <= 1_000_000, name, count, "a number from 1 to a million")
    each = topics if subscriptions is None else subscriptions
    _require(1 <= each <= topics, "subscriptions", each, f"1 to {topics}, the number of topics")
    _require(0 <= zipf <= 10, "zipf", zipf, "an exponent from 0 to 10")
    popularity = np.arange(1, topics + 1, dtype=np.float64) ** -zipf
    stream_topics = np.arange(max(publishers, topics)) % topics
    owners = np.arange(len(stream_topics)) % publishers
    load = _empty(topics, stream_topics)
    for n, streams in enumerate(_grouped(owners, publishers)):
        weights = popularity[stream_topics[streams]]
        load.publishers.append(Publisher(f"{load.run}-p{n}", targets[n % len(targets)], streams, weights))
    rng = np.random.default_rng(require_seed(seed))
    chance = popularity / popularity.sum()
    for n in range(subscribers):
        own = np.arange(topics) if each == topics else np.sort(rng.choice(topics, each, replace=False, p=chance))
        load.subscribers.append(Subscriber(f"{load.run}-s{n}", targets[-1 - n % len(targets)], own))
    return load


def instance_load(instance: "Instance", targets: Sequence[Address], seed: int = 1) -> Load:
    """Load in the shape of an instance: node i is a subscriber and a publisher at target i, i modulo their number.

    Where the instance does not know who publishes, every topic has one of its subscribers, drawn, for its publisher.
    """
    nodes, topics, rates = _publishers(instance, seed)
    heard = (instance.subscribers.counts[topics] > 0) & (rates > 0)
    nodes, topics, rates = nodes[heard], topics[heard], rates[heard]
    if not len(nodes):
        raise WeftError("The instance has no publisher with subscribers: no publication would reach anyone.")
    load = _empty(instance.topics, topics)
    for node, streams in enumerate(_grouped(nodes, instance.nodes)):
        target, own = targets[node % len(targets)], instance.interest[node]
        if len(streams):
            load.publishers.append(Publisher(f"{load.run}-p{node}", target, streams, rates[streams]))
        if len(own):
            load.subscribers.append(Subscriber(f"{load.run}-s{node}", target, np.sort(own).astype(np.int64)))
    return load


def _empty(topics: int, stream_topics: Int64s) -> Load:
    run = uuid4().hex[:8]
    names = [b"weft-bench/%s/%0*d" % (run.encode(), len(str(topics - 1)), topic) for topic in range(topics)]
    return Load(run, names, stream_topics, [], [])


def _publishers(instance: "Instance", seed: int) -> tuple[Int64s, Int64s, Floats]:
    known = instance.publishers
    if known is not None:
        return known.nodes.astype(np.int64), known.topics.astype(np.int64), known.rates
    subscribers = instance.subscribers
    topics = np.flatnonzero(subscribers.counts)
    picked = np.random.default_rng(require_seed(seed)).integers(subscribers.counts[topics])
    return subscribers.indices[subscribers.indptr[topics] + picked].astype(np.int64), topics, np.ones(len(topics))


def _grouped(owners: Int64s, count: int) -> list[Int64s]:
    """Places of every owner from 0 up to a count."""
    order = np.argsort(owners, kind="stable")
    return np.split(order, np.searchsorted(owners[order], np.arange(1, count)))
