"""What a plan is worth, as its trees show it.

A publication on a topic with s subscribers, by one of them, is delivered s - 1 times, and passes the tree's relays on
its way; by a root that does not subscribe, s times. Weighed by how often topics are published on:

    relays      relays passed for each delivery
    busiest     what the busiest node sends, in units of the mean
    hops        from the node that publishes to those that subscribe, in the mean

Rates are taken as equal where none are known. Hops are those of topics of which nearly all is published at one node,
and of these the SAMPLED that are published on most.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from weft.master.directory import Directory
from weft.master.traffic import Traffic
from weft.protocol.loom import Loom

SAMPLED = 200  # topics

Tables = Mapping[int, Collection[int]]  # member -> its neighbours


class Tree(NamedTuple):
    tables: Tables
    subscribers: Collection[int]
    rate: float
    root: int | None = None  # who publishes nearly all
    way: tuple[int, ...] = ()  # of the root to the tree, where it is outside

    @property
    def hops(self) -> list[int]:
        """Hops from the root to every subscriber; none where there is no root, or no way."""
        first = self.way[-1] if self.way else self.root
        if first is None or first not in self.tables:
            return []
        far, todo = {first: len(self.way)}, [first]
        for member in todo:
            new = [peer for peer in self.tables[member] if peer not in far]
            far |= dict.fromkeys(new, far[member] + 1)
            todo += new
        return [hops for member, hops in far.items() if member in self.subscribers and member != self.root]


@dataclass(frozen=True, slots=True)
class Quality:
    relays: float  # a delivery
    busiest: float  # times the mean
    busiest_node: int  # -1 where nothing is sent
    hops: float = 0.0  # 0 where nobody is known to publish


def quality_of(trees: Iterable[Tree], nodes: int) -> Quality:
    relays = deliveries = 0.0
    sent: dict[int, float] = {}
    for tree in trees:
        ends = {*tree.subscribers, tree.root} & tree.tables.keys()
        relays += tree.rate * (len(tree.tables) - len(ends))
        deliveries += tree.rate * max(len(ends) - 1, 0)
        for member, peers in tree.tables.items():
            sent[member] = sent.get(member, 0.0) + tree.rate * max(len(peers) - 1, 0)
    mean = sum(sent.values()) / nodes if nodes else 0.0
    busiest = max(sent, key=lambda node: (sent[node], -node), default=-1) if mean else -1
    return Quality(
        relays / deliveries if deliveries else 0.0,
        sent[busiest] / mean if mean else 0.0,
        busiest,
    )


def most_published(trees: Mapping[int, Tree]) -> dict[int, Tree]:
    """Trees by topic whose hops are counted."""
    most = sorted(trees, key=lambda topic: (-trees[topic].rate, topic))[:SAMPLED]
    return {topic: trees[topic] for topic in most}


def hops_of(trees: Iterable[Tree]) -> float:
    hops = deliveries = 0.0
    for tree in trees:
        found = tree.hops
        hops += tree.rate * sum(found)
        deliveries += tree.rate * len(found)
    return hops / deliveries if deliveries else 0.0


@dataclass(frozen=True, slots=True)
class Scale:
    """What trees are judged by: who subscribed at a moment, who published, and how often.

    Two sets of trees are compared by one scale. The subscriptions of another moment would be other trees' relays.
    """

    subscribers: Mapping[int, Collection[int]]  # of every topic
    rates: Mapping[int, float]
    roots: Mapping[int, int | None]
    nodes: int

    def trees(self, tables: Mapping[int, Tables]) -> dict[int, Tree]:
        return {
            topic: Tree(own, self.subscribers[topic], self.rates[topic], self.roots[topic])
            for topic, own in tables.items()
        }

    def quality_of(self, tables: Mapping[int, Tables]) -> Quality:
        trees = self.trees(tables)
        return replace(quality_of(trees.values(), self.nodes), hops=hops_of(most_published(trees).values()))


class Judgement:
    """The worth of trees over the nodes that are there."""

    def __init__(self, loom: Loom, directory: Directory, traffic: Traffic) -> None:
        self._loom = loom
        self._directory = directory
        self._traffic = traffic

    def topics(self) -> list[int]:
        """Topics that somebody who is there subscribes to, the one of all nodes apart."""
        return sorted({topic for node in self._loom.links for topic in self._directory.interests[node]})

    def rates(self, topics: Iterable[int]) -> dict[int, float]:
        """How often topics are published on; all the same where nothing is known."""
        measured, names = self._traffic.by_filter(), self._directory.names
        found = {topic: sum(measured.get(name, 0.0) for name in names.get(topic, ())) for topic in topics}
        return found if any(found.values()) else dict.fromkeys(found, 1.0)

    def quality(self) -> Quality:
        """What the trees are worth."""
        scale = self._scale(lambda subscribers: subscribers)
        trees = scale.trees({topic: self._loom.tree(topic) for topic in scale.subscribers})
        return replace(quality_of(trees.values(), scale.nodes), hops=hops_of(self._with_ways(trees)))

    def scale(self) -> Scale:
        """What trees are to be judged by that are made for this moment."""
        return self._scale(frozenset)

    def _scale(self, kept: Callable[[set[int]], Collection[int]]) -> Scale:
        loom, topics = self._loom, self.topics()
        return Scale(
            {topic: kept(loom.subscribers(topic)) for topic in topics},
            self.rates(topics),
            {topic: loom.next_root(topic) for topic in topics},
            len(loom.links),
        )

    def _with_ways(self, trees: Mapping[int, Tree]) -> Iterator[Tree]:
        """The trees that are published on most, with the ways of roots that are outside."""
        for topic, tree in most_published(trees).items():
            if tree.root is None or tree.root in tree.tables:
                yield tree
            else:
                yield tree._replace(way=self._loom.way(tree.root, topic))
