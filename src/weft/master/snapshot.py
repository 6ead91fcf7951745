"""The network as an instance: who subscribes to what, how often nodes publish, and how far they are from each other.

Nodes are in the order of their names and topics in that of their filters, so that the same network is the same
instance. Round trips are measured on links; between nodes without a link, the shortest way over measured links is
taken, which is never less than what is true of a network that routes well, and the best that is known.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import shortest_path

from weft.arrays import Floats
from weft.master.directory import Directory
from weft.master.link import Link
from weft.master.roster import Member
from weft.master.traffic import Traffic
from weft.model.instance import Instance, instance_from_pairs
from weft.model.latency import MatrixLatency
from weft.model.publisher import NO_PUBLISHERS, Publishers

LEAST = 0.01  # milliseconds; nothing is nearer
SELDOM = 1e-6  # publications a second of a root that has not published of late


@dataclass(frozen=True, eq=False)
class Snapshot:
    instance: Instance
    latency: MatrixLatency | None  # None where not all nodes can be told how far they are
    numbers: list[int]  # of the instance's nodes
    topics: list[int]  # of the instance's topics

    @property
    def place_of(self) -> dict[int, int]:
        """Number -> node of the instance."""
        return {number: place for place, number in enumerate(self.numbers)}


def snapshot_of(members: Sequence[Member], directory: Directory, traffic: Traffic) -> Snapshot:
    members = sorted(members, key=lambda member: member.name)
    numbers = [member.number for member in members]
    topics = sorted({topic for number in numbers for topic in directory.interests[number]}, key=directory.name_of)
    topic_at = {topic: place for place, topic in enumerate(topics)}
    pairs = [(node, topic_at[topic]) for node, number in enumerate(numbers) for topic in directory.interests[number]]
    instance = instance_from_pairs(
        [node for node, _ in pairs],
        [topic for _, topic in pairs],
        node_count=len(numbers),
        topic_count=len(topics),
        node_names=np.array([member.name for member in members], object),
        topic_names=np.array([directory.name_of(topic) for topic in topics], object),
        source="a live network",
    )
    instance = replace(instance, given_publishers=_publishers(numbers, topics, directory, traffic))
    return Snapshot(instance, _latency(members, traffic.round_trips), numbers, topics)


def with_roots(instance: Instance, roots: Mapping[int, int]) -> Instance:
    """The instance to design for: the root of a topic's tree is in it as a subscriber, and publishes, if seldom."""
    if not roots:
        return instance
    topics, nodes = np.array(sorted(roots.items()), np.int32).T
    made = instance_from_pairs(
        np.append(instance.interest.row_of_each(), nodes),
        np.append(instance.interest.indices, topics),
        node_count=instance.nodes,
        topic_count=instance.topics,
        node_names=instance.node_names,
        topic_names=instance.topic_names,
        **instance.meta,
    )
    known = instance.given_publishers or NO_PUBLISHERS
    silent = ~np.isin(topics, known.topics)
    publishers = Publishers(
        np.append(known.nodes, nodes[silent]),
        np.append(known.topics, topics[silent]),
        np.append(known.rates, np.full(np.count_nonzero(silent), SELDOM)),
    )
    return replace(made, given_publishers=publishers)


def _publishers(numbers: list[int], topics: list[int], directory: Directory, traffic: Traffic) -> Publishers | None:
    """Publishers by measured rates; None where nothing was published yet."""
    topic_at = {name: place for place, topic in enumerate(topics) for name in directory.names[topic]}
    found: dict[tuple[int, int], float] = {}
    for node, number in enumerate(numbers):
        for name, rate in traffic.rates.get(number, {}).items():
            if name in topic_at:
                key = node, topic_at[name]
                found[key] = found.get(key, 0.0) + rate
    if not found:
        return None
    ordered = sorted(found)
    nodes, places = np.array(ordered, np.int32).T
    return Publishers(nodes, places, np.array([found[key] for key in ordered]))


def _latency(members: Sequence[Member], round_trips: Mapping[Link, float]) -> MatrixLatency | None:
    place = {member.number: node for node, member in enumerate(members)}
    known = [(place[a], place[b], ms) for (a, b), ms in sorted(round_trips.items()) if a in place and b in place]
    if not known:
        return None
    rows, columns, times = (np.array(column) for column in zip(*known, strict=True))
    shape = (len(members), len(members))
    times = np.maximum(times, LEAST)
    ways: Floats = shortest_path(coo_array((times, (rows, columns)), shape=shape).tocsr(), directed=False)
    if not np.all(np.isfinite(ways)):
        return None
    return MatrixLatency(ways, "a live network", tuple(member.name for member in members))
