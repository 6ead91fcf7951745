"""What a plan is worth, as its trees show it.

A publication on a topic with s subscribers, by one of them, is delivered s - 1 times, and passes the tree's relays on
its way; by a root that does not subscribe, s times. Weighed by how often topics are published on:

    relays      relays passed for each delivery
    busiest     what the busiest node sends, in units of the mean

Rates are taken as equal where none are known.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple


class Tree(NamedTuple):
    tables: Mapping[int, Collection[int]]  # member -> its neighbours
    subscribers: Collection[int]
    rate: float
    root: int | None = None  # who publishes nearly all


@dataclass(frozen=True, slots=True)
class Quality:
    relays: float  # a delivery
    busiest: float  # times the mean
    busiest_node: int  # -1 where nothing is sent


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
