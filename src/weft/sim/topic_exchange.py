"""An instance of topics as an exchange: a topic is a class without predicates.

It is advertised by those who publish on it, where the instance says so, else by every subscriber.
"""

import numpy as np

from weft.arrays import Int64s
from weft.errors import WeftError
from weft.model.content import Filter
from weft.model.exchange import Exchange
from weft.model.instance import Instance
from weft.model.publication import Publications, read_publications
from weft.raw.exchange import NamedExchange
from weft.sim.named_tree import NamedTree
from weft.workloads.publication import publications as drawn


def exchange_of_topics(
    instance: Instance, tree: NamedTree, given: str | int | Publications, seconds: float, seed: int
) -> NamedExchange:
    """Publications are drawn, or those of a file of `weft publish`, and spread evenly over so many seconds."""
    return exchange_by(
        instance, _brokers(instance, tree), _advertisers(instance), _said(instance, given, seed), seconds
    )


def exchange_by(
    instance: Instance, brokers: Int64s, advertisers: tuple[Int64s, Int64s], said: Publications, seconds: float
) -> NamedExchange:
    """The same, where every node's broker is known, and the nodes and topics that advertise."""
    nodes, topics = advertisers
    keys, wanted = nodes * instance.topics + topics, said.nodes.astype(np.int64) * instance.topics + said.topics
    order = np.argsort(keys)
    found = order[np.minimum(np.searchsorted(keys[order], wanted), len(order) - 1)]
    strange = np.flatnonzero(keys[found] != wanted)
    if len(strange):
        row = int(strange[0])
        raise WeftError(
            f"Publication {row} is of node {_name(instance.node_names, said.nodes[row])} on topic "
            f"{_name(instance.topic_names, said.topics[row])}, which does not advertise it: "
            "those who publish do, or else all subscribers."
        )
    kinds = [_name(instance.topic_names, topic) for topic in range(instance.topics)]
    filters = [Filter(kind, {}) for kind in kinds]
    interest = instance.interest
    subscribers = np.repeat(np.arange(instance.nodes), interest.counts)
    names = [_name(instance.node_names, node) for node in range(instance.nodes)]
    count = len(said)
    return NamedExchange(
        Exchange(
            brokers[nodes],
            [filters[topic] for topic in topics.tolist()],
            brokers[subscribers].astype(np.int32),
            [filters[topic] for topic in interest.indices.tolist()],
            1000.0 * seconds * np.arange(count) / max(count, 1),
            found,
            {},
        ),
        tuple(f"{names[node]} {kinds[topic]}" for node, topic in zip(nodes.tolist(), topics.tolist(), strict=True)),
        tuple(
            f"{names[node]} {kinds[topic]}"
            for node, topic in zip(subscribers.tolist(), interest.indices.tolist(), strict=True)
        ),
        np.arange(count),
    )


def _brokers(instance: Instance, tree: NamedTree) -> Int64s:
    """The broker of every node: the one of its name."""
    numbers = tree.numbers
    names = [_name(instance.node_names, node) for node in range(instance.nodes)]
    missing = next((name for name in names if name not in numbers), None)
    if missing is not None:
        raise WeftError(f"The instance has the node {missing!r}, and no link names such a broker: mend the names.")
    return np.array([numbers[name] for name in names], np.int64)


def _advertisers(instance: Instance) -> tuple[Int64s, Int64s]:
    if instance.publishers is not None:
        return instance.publishers.nodes.astype(np.int64), instance.publishers.topics.astype(np.int64)
    interest = instance.interest
    return np.repeat(np.arange(instance.nodes), interest.counts), interest.indices.astype(np.int64)


def _said(instance: Instance, given: str | int | Publications, seed: int) -> Publications:
    if isinstance(given, Publications):
        return given
    if isinstance(given, int):
        return drawn(instance, given, seed)
    return read_publications(given, instance)


def _name(names: object, number: int) -> str:
    return str(number) if names is None else str(names[number])  # type: ignore[index]
