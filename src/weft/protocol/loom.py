"""The master's part of Weave: it holds all trees, changes them where nodes, links or subscriptions change, and says
which nodes need which tables then.

A change touches the trees concerned, and of these the tables that it must:

- who subscribes is joined to the nearest member, by relays where none is a neighbour; a relay has its table already;
- who unsubscribes at an end of the tree is cut off, and the relays that led to it alone; in the middle, the tree is
  joined again without it, or with it as a relay where that takes fewer relays;
- who leaves or fails, and a link that disappears, leave the tree in parts, which are joined again.

Among members that are as near, and relays as few, those are taken that are in the middle of the tree, or near those who
publish where that is known, and send little over all topics, weighed as when trees are woven; and nobody gets more
neighbours in a tree than the fan-out, unless there is no other way.

A node that nearly all publications on a topic come from is in its tree, whether it subscribes or not: the tree's root,
so that who is linked with it and subscribes hangs from it, one hop away. Else its publications would take a hop to the
nearest member first. On others' publications it may be a relay; therefore a root has to have nearly all.

What the overlay itself leaves in parts stays so, and is joined when a link appears (`parted`). Trees that are repaired
again and again are not as good as new ones: weave new ones from time to time.

Trees, interests and relays are taken from arrays when first needed, so that a loom for all of ego-Twitter is cheap. Of
a topic that is not in these, and that nobody subscribes to any more, nothing is kept.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from weft.arrays import Floats
from weft.errors import WeftError
from weft.model.csr import Csr
from weft.model.instance import Instance
from weft.model.tree import Trees
from weft.protocol.shared_tree import NO_PUBLISHERS, SharedTree

NEARLY_ALL = 0.9  # of the publications on a topic, from which the node where they come from is its root
HALF = 0.5  # of them, down to which it stays: who publishes seldom seems to publish all or nothing

Publishers = Callable[[int], Mapping[int, float]]  # nodes that publish on a topic, and how often


@dataclass(frozen=True, slots=True)
class Assignment:
    """A table that a node must be given."""

    node: int
    topic: int
    neighbours: frozenset[int] | None  # None: it is in the tree no more


class Loom:
    """Every change returns the tables to hand out; their number is what it cost."""

    def __init__(
        self,
        instance: Instance,
        neighbours: Csr,
        trees: Trees,
        fan_out: int,
        rates: Floats | None = None,
        load_weight: float = 1.0,
        publishers: Publishers = lambda _: NO_PUBLISHERS,
    ) -> None:
        """`neighbours` are the nodes at the other ends of every node's links, whoever owns these.

        Rates say how often each topic is published on; 1 without, and for new topics. The weight of the load is how
        many hops a path may be longer to spare a node that sends the mean. Publishers are those known at the time of a
        change.
        """
        self.links: dict[int, set[int]] = {node: set(neighbours[node].tolist()) for node in range(neighbours.rows)}
        self.fan_out = fan_out
        self.parted: set[int] = set()  # topics whose subscribers the overlay leaves in parts
        self._instance = instance
        self._woven = trees
        self._trees: dict[int, SharedTree] = {}
        self._roots: dict[int, int] = {}  # by topic
        self._interests: dict[int, set[int]] = {}
        self._subscribers: dict[int, set[int]] = {}
        self._relayed = _relayed(instance, trees)  # node -> topics
        self._rates = np.ones(trees.topics) if rates is None else rates
        sent = _sent(trees, self._rates).tolist()
        self.load: dict[int, float] = {node: sent[node] for node in self.links}  # what each node sends
        self._all_sent = sum(self.load.values())
        self.load_weight = load_weight
        self._publishers = publishers

    def table(self, node: int, topic: int) -> frozenset[int] | None:
        neighbours = self._tree(topic).tables.get(node)
        return None if neighbours is None else frozenset(neighbours)

    def tables(self, node: int) -> dict[int, frozenset[int]]:
        """All that a node needs to start with, by topic."""
        found = {topic: self.table(node, topic) for topic in sorted(self._topics(node))}
        return {topic: table for topic, table in found.items() if table is not None}

    def way(self, node: int, topic: int) -> tuple[int, ...]:
        """What to tell a node that publishes on a topic without a table: the peers on its way into the tree.

        Nothing where it has a table, or where no links lead there. A way that a change has cut short still leads to a
        node that finds the tree by the ring; without a ring, ask again after a change.
        """
        self._require_known(node)
        tree = self._tree(topic)
        return () if node in tree.tables else tree.way_to(node, self.links, self.subscribers(topic))

    def subscribers(self, topic: int) -> set[int]:
        if topic not in self._subscribers:
            if topic >= self._instance.topics:
                return set()
            self._subscribers[topic] = set(self._instance.subscribers[topic].tolist())
        return self._subscribers[topic]

    def interest(self, node: int) -> set[int]:
        if node not in self._interests:
            known = node < self._instance.nodes
            self._interests[node] = set(self._instance.interest[node].tolist()) if known else set()
        return self._interests[node]

    def tree(self, topic: int) -> Mapping[int, set[int]]:
        """The members of a topic's tree, and their neighbours in it."""
        return self._tree(topic).tables

    def root(self, topic: int) -> int | None:
        """The node in a topic's tree that publishes nearly all, if there was one when the tree last changed."""
        return self._roots.get(topic)

    def next_root(self, topic: int) -> int | None:
        """The root from the next change on: that of before where nobody is known to publish."""
        known, root = self._publishers(topic), self.root(topic)
        if known and (root is None or known.get(root, 0.0) < HALF * sum(known.values())):
            most = max(known, key=lambda node: (known[node], -node))
            root = most if known[most] >= NEARLY_ALL * sum(known.values()) else None
        return root if root in self.links and self.subscribers(topic) else None

    def adopt(self, topic: int, tables: Mapping[int, Iterable[int]]) -> list[Assignment]:
        """A tree from elsewhere takes the place of a topic's, as far as there are nodes and links for it.

        What it leaves in parts, or leaves out, is joined as after any change.
        """
        there = {node: peers for node, peers in tables.items() if node in self.links}
        linked = {node: {peer for peer in peers if peer in self.links[node]} for node, peers in there.items()}
        tree = self._own_tree(topic)
        tree.replace(linked)
        for node in sorted(self.subscribers(topic)):
            tree.add(node)
        tree.trim(self.subscribers(topic))  # a part without subscribers need not be joined
        members = list(tree.tables) or list(self.links)
        return self._mended(topic, min(members)) if members else []

    def subscribe(self, node: int, topic: int) -> list[Assignment]:
        self._require_known(node)
        self._subscribers[topic] = subscribers = self.subscribers(topic)
        subscribers.add(node)
        self.interest(node).add(topic)
        self._own_tree(topic).add(node)
        return self._mended(topic, node)

    def unsubscribe(self, node: int, topic: int) -> list[Assignment]:
        self._require_known(node)
        if topic not in self.interest(node):
            return []
        self.subscribers(topic).remove(node)
        self.interest(node).remove(topic)
        if node != self.root(topic):
            self._tree(topic).drop(node)
        return self._mended(topic, node)

    def join(self, node: int, peers: Iterable[int], topics: Iterable[int]) -> list[Assignment]:
        """A node comes, with its links and its subscriptions."""
        if node in self.links:
            raise WeftError(f"Node {node} is there already.")
        self.links[node] = set()
        self.load[node] = 0.0
        links = [each for peer in peers for each in self.connect(node, peer)]
        return links + [each for topic in topics for each in self.subscribe(node, topic)]

    def leave(self, node: int) -> list[Assignment]:
        """A node leaves, and says so: it is assigned no tables any more."""
        self._require_known(node)
        for peer in self.links.pop(node):
            self.links[peer].remove(node)
        assignments = []
        for topic in sorted(self._topics(node)):
            self.subscribers(topic).discard(node)
            self._tree(topic).drop(node)
            assignments += self._mended(topic, node)
        self._relayed.pop(node, None)
        self._interests.pop(node)
        if node < self._instance.nodes:
            self._interests[node] = set()
        self._all_sent -= self.load.pop(node)
        return assignments

    def fail(self, node: int) -> list[Assignment]:
        """A node is gone without a word."""
        return [assignment for assignment in self.leave(node) if assignment.node != node]

    def connect(self, node: int, peer: int) -> list[Assignment]:
        """A link appears; trees have no use for it but where they are in parts."""
        return self.connect_all([(node, peer)])

    def connect_all(self, links: Collection[tuple[int, int]]) -> list[Assignment]:
        """Links appear at the same time: trees in parts are joined once."""
        for node, peer in links:
            self._require_known(node)
            self._require_known(peer)
            self.links[node].add(peer)
            self.links[peer].add(node)
        preferred = [node for node, _ in links][:1]
        return [each for topic in sorted(self.parted) for node in preferred for each in self._mended(topic, node)]

    def disconnect(self, node: int, peer: int) -> list[Assignment]:
        """A link disappears."""
        self.links[node].discard(peer)
        self.links[peer].discard(node)
        assignments = []
        for topic in sorted(self._topics(node) & self._topics(peer)):
            if peer in self._tree(topic).tables[node]:
                self._tree(topic).cut(node, peer)
                assignments += self._mended(topic, node)
        return assignments

    def _mended(self, topic: int, node: int) -> list[Assignment]:
        """The tables to hand out after a tree was cut, or given a member, at a node."""
        tree, subscribers = self._own_tree(topic), self.subscribers(topic)
        root = self._take_root(topic)
        publishers = self._publishers(topic) or dict.fromkeys(root, 1.0)
        whole = tree.join(self.links, self._price, self.fan_out, node, publishers)
        tree.trim(subscribers | root)
        rate = float(self._rates[topic]) if topic < len(self._rates) else 1.0
        for member, more in tree.more_sent().items():
            self.load[member] += rate * more
            self._all_sent += rate * more
        (self.parted.discard if whole else self.parted.add)(topic)
        changes = tree.changes()
        for member in {node, *changes}:
            relays = member in tree.tables and member not in subscribers
            topics = self._relayed.setdefault(member, set())
            (topics.add if relays else topics.discard)(topic)
        if not tree.tables and not subscribers:
            self._forget(topic)
        return [Assignment(member, topic, table) for member, table in sorted(changes.items())]

    def _take_root(self, topic: int) -> set[int]:
        """The root, if there is one. It is added for `join` to join; one that is none any more is dropped."""
        tree, root, before = self._tree(topic), self.next_root(topic), self._roots.pop(topic, None)
        if before is not None and before != root and before in tree.tables and before not in self.subscribers(topic):
            tree.drop(before)
        if root is None:
            return set()
        self._roots[topic] = root
        tree.add(root)
        return {root}

    def _price(self, node: int) -> float:
        """Price in hops."""
        mean = self._all_sent / len(self.load)
        return self.load_weight * self.load[node] / mean if mean > 0 else 0.0

    def _topics(self, node: int) -> set[int]:
        return self.interest(node) | self._relayed.get(node, set())

    def _tree(self, topic: int) -> SharedTree:
        if topic not in self._trees:
            if topic >= self._woven.topics:
                return SharedTree({})
            self._trees[topic] = SharedTree(self._woven.tables(topic))
        return self._trees[topic]

    def _own_tree(self, topic: int) -> SharedTree:
        """The tree, to be changed."""
        tree = self._trees[topic] = self._tree(topic)
        return tree

    def _forget(self, topic: int) -> None:
        """Nobody is in the tree any more."""
        self.parted.discard(topic)
        if topic >= self._instance.topics:
            self._subscribers.pop(topic, None)
        if topic >= self._woven.topics:
            self._trees.pop(topic, None)

    def _require_known(self, node: int) -> None:
        if node not in self.links:
            raise WeftError(f"There is no node {node}.")


def _sent(trees: Trees, rates: Floats) -> Floats:
    """Messages sent by every node: each publication to all neighbours in the tree but one."""
    topics, parents, children = trees.links
    sent = np.bincount(np.append(parents, children), np.tile(rates[topics], 2), minlength=trees.nodes)
    once = np.bincount(trees.members, rates[trees.topic_of_each], minlength=trees.nodes)
    return (sent - once).astype(np.float64)


def _relayed(instance: Instance, trees: Trees) -> dict[int, set[int]]:
    topics = np.repeat(np.arange(trees.topics), trees.sizes)
    subscriptions = instance.subscribers.row_of_each() * np.int64(instance.nodes) + instance.subscribers.indices
    relays = ~np.isin(topics * np.int64(instance.nodes) + trees.members, subscriptions)
    found: dict[int, set[int]] = {}
    for node, topic in zip(trees.members[relays].tolist(), topics[relays].tolist(), strict=True):
        found.setdefault(node, set()).add(topic)
    return found
