"""What nodes send over all topics while their trees are woven, and what it costs to let them send more.

A member of a tree sends each publication on to all its neighbours but one. So a node sends, in the time in which topic
t is published on rate(t) times,

    sum over its trees of  rate(t) x (neighbours in the tree - 1),  and once what it issues itself.

Its price, by which trees shun it (kernels/trees/tree.py), is `load_weight` hops for every time that this holds the mean
of what all nodes receive, which is known before the first tree is woven, but for relays. The price is linear, so that
the trees together lower the sum of all paths and of the squares of what nodes send. With the square or the cube of the
load as a price the busiest sends a tenth less for the same length of the paths on one graph, and paths are longer on
another; with prices in proportion to what a node receives, hubs stay hubs.

Trees cannot be woven one after the other, which would be as slow as one core, nor all at once, since all would shun the
same nodes. So topics are ordered by what they make nodes send, and woven in batches that grow by GROWTH: the trees of a
batch do not see each other, and those of the largest topics, which weigh most, are in the smallest batches. One by one
was no better; batches that double let the busiest node send half as much again on one graph of five. Batches depend on
the instance and the rates alone, so that threads, tasks and executors make no difference.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np

from weft.arrays import Floats, Int32s, Int64s
from weft.errors import WeftError
from weft.kernels.parallel import chunk_bounds
from weft.kernels.trees.share import add_shares
from weft.model.csr import Csr
from weft.model.instance import Instance
from weft.model.publisher import NO_PUBLISHERS, Publishers
from weft.trees.ring_order import RingOrder

FIRST, GROWTH = 4, 1.3  # topics in the first batch, and how much larger each is than the one before
TASKS = 16  # of a batch at most; each has arrays for all nodes, and weaves one range after the other in them
LOAD_WEIGHT = 1.0  # docs/weave.md has what others cost

Range = tuple[int, int]


@dataclass(frozen=True, eq=False)
class Agenda:
    """Topics in the order in which they are woven."""

    topics: Int64s
    subscribers: Csr  # a row a topic
    rates: Floats  # of every topic
    publishers: Publishers  # that are known, by their places in this order;
    publisher_indptr: Int64s  # those of topic t are from publisher_indptr[t] to publisher_indptr[t + 1]
    mean: float  # what a node receives on average
    load_weight: float  # hops, from 0

    @cached_property
    def batches(self) -> list[Range]:
        """Batches of topics; without prices the trees are independent, and one will do."""
        bounds, size = [0], float(FIRST)
        while bounds[-1] < len(self.topics):
            bounds.append(min(len(self.topics), bounds[-1] + int(size)) if self.load_weight else len(self.topics))
            size = max(size * GROWTH, size + 1)
        return list(pairwise(bounds))

    def ranges(self, batch: Range) -> list[Range]:
        """The topics of a batch, in ranges of about the same number of subscriptions."""
        bounds = batch[0] + chunk_bounds(self.subscribers.counts[slice(*batch)] + 1)
        return [(first, last) for first, last in pairwise(bounds.tolist()) if first < last]

    def tasks(self, batch: Range) -> list[list[Range]]:
        """The ranges of a batch, shared among a few tasks."""
        ranges = self.ranges(batch)
        bounds = np.linspace(0, len(ranges), min(TASKS, len(ranges)) + 1).astype(int).tolist()
        return [ranges[first:last] for first, last in pairwise(bounds)]

    def ranked(self, order: RingOrder) -> "Agenda":
        """The same with ranks for nodes."""
        known = self.publishers
        publishers = Publishers(order.ranks[known.nodes], known.topics, known.rates)
        return replace(self, subscribers=order.renamed(self.subscribers), publishers=publishers)

    def steps(self, topics: Range) -> Floats:
        """Steps by topic: how much the price of a node rises with every child that it gets."""
        return self.rates[slice(*topics)] * self.message_price

    @property
    def message_price(self) -> float:
        """How much the price of a node rises with a message that it sends, in hops."""
        return self.load_weight / self.mean if self.mean > 0 else 0.0


def agenda_of(instance: Instance, load_weight: float = LOAD_WEIGHT, rates: Floats | None = None) -> Agenda:
    """The agenda of the topics that have subscribers."""
    subscribers, known = instance.subscribers, instance.publishers
    order, by_topic = topic_order(subscribers.counts, known, load_weight, rates)
    publishers = in_order(known, order, instance.topics)
    starts = publisher_starts(publishers, len(order))
    rows, rates = subscribers.take(order), by_topic[order]
    return Agenda(
        order, rows, rates, publishers, starts, mean_received(rates, rows.counts, instance.nodes), load_weight
    )


def mean_received(rates: Floats, subscribers: Int64s, nodes: int) -> float:
    """What a node receives on average, by the rates of topics and how many subscribers each has."""
    return float((rates * (subscribers - 1)).sum() / max(nodes, 1))


def publisher_starts(publishers: Publishers, topics: int) -> Int64s:
    return np.searchsorted(publishers.topics, np.arange(topics + 1)).astype(np.int64)


def topic_order(
    counts: Int64s, known: Publishers | None, load_weight: float, rates: Floats | None
) -> tuple[Int64s, Floats]:
    """Topics that have subscribers in the order of an agenda, and the rates of all topics."""
    require_load_weight(load_weight)
    if rates is None:
        rates = np.ones(len(counts)) if known is None else known.topic_rates(len(counts))
    order = np.argsort(-rates * (counts - 1), kind="stable") if load_weight else np.arange(len(rates))
    return order[counts[order] > 0], rates


def in_order(publishers: Publishers | None, order: Int64s, topics: int) -> Publishers:
    """Topics of these in the order, by the places of these."""
    if publishers is None:
        return NO_PUBLISHERS
    place = np.full(topics, -1, np.int32)
    place[order] = np.arange(len(order))
    places = place[publishers.topics]
    rows = np.lexsort((publishers.nodes, places))
    rows = rows[places[rows] >= 0]
    return Publishers(publishers.nodes[rows], places[rows], publishers.rates[rows])


def require_load_weight(load_weight: float) -> None:
    if not 0 <= load_weight < np.inf:
        raise WeftError(f"A load weight of {load_weight} is out of range: give a number of hops, from 0.")


class Load:
    """What every node sends for the topics that are woven, and what it issues."""

    def __init__(self, agenda: Agenda) -> None:
        self._agenda = agenda
        subscribers = agenda.subscribers
        self.sent = np.zeros(subscribers.columns)
        add_shares(subscribers.indptr, subscribers.indices, agenda.rates / subscribers.counts, self.sent)

    @property
    def prices(self) -> Floats:
        """Prices of all nodes, in hops."""
        prices: Floats = self.sent * self._agenda.message_price
        return prices

    def add(self, senders: Int32s, sent: Floats) -> None:
        """What some nodes send for trees that were woven; a node may be among them several times."""
        np.add.at(self.sent, senders, sent)


def sent_in(rates: Floats, sizes: Int32s, members: Int32s, parents: Int32s) -> tuple[Int32s, Floats]:
    """Nodes, each once, and what they send for some trees; parents are places in the tree, or below 0."""
    rate = np.repeat(rates, sizes)
    starts = np.repeat(np.cumsum(sizes) - sizes, sizes)
    linked = parents >= 0
    senders, sender = np.unique(
        np.concatenate([members[(starts + parents)[linked]], members[~linked]]), return_inverse=True
    )
    rate = np.concatenate([rate[linked], -rate[~linked]])  # a root has no parent to spare
    return senders.astype(np.int32), np.bincount(sender, rate, minlength=len(senders)).astype(np.float64)
