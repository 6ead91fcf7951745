"""The score of a topology: what its bridges cost, and what they fail to carry, for the subscriptions that there are.

The same count for a fleet as it runs and for a plan: publications go over the bridges as brokers pass them on
(kernels/fleet/flood.py). A score of everything has one publication on every topic from every broker that may publish
on it: the known publishers, or else all brokers.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from weft.arrays import Bools, Int32s, Int64s
from weft.fleet.bridge import Bridge
from weft.fleet.fleet import Fleet
from weft.fleet.flow import Flows
from weft.kernels.fleet.flood import FIGURES, flood
from weft.model.instance import Instance
from weft.model.publication import Publications

SHOWN = 10  # topics named


@dataclass(frozen=True, eq=False)
class Edges:
    """Topics on bridges: a row for each, in each direction, ordered by topic and source."""

    topics: Int64s
    sources: Int32s
    targets: Int32s
    bridges: Int32s
    forwards: bool = True


@dataclass(frozen=True, eq=False)
class Score:
    totals: dict[str, int]  # FIGURES
    sent: Int64s  # messages of every broker
    received: Int64s
    endless: Bools  # by topic: whether messages go round in a circle
    missed: Int64s  # by topic: deliveries that were due and did not come

    @property
    def messages_a_delivery(self) -> float:
        return self.totals["messages"] / max(self.totals["deliveries"], 1)

    @property
    def relays_a_delivery(self) -> float:
        return self.totals["relays"] / max(self.totals["deliveries"], 1)

    @property
    def average_path(self) -> float:
        return self.totals["path_sum"] / max(self.totals["deliveries"], 1)

    def figures(self, instance: Instance) -> dict[str, Any]:
        both = self.sent + self.received
        busiest = int(np.argmax(both))
        return {
            "publications": self.totals["publications"],
            "expected_deliveries": self.totals["expected_deliveries"],
            "deliveries": self.totals["deliveries"],
            "missed_deliveries": int(self.missed.sum()),
            "duplicates": self.totals["duplicates"],
            "messages": self.totals["messages"],
            "messages_a_delivery": round(self.messages_a_delivery, 4),
            "relays_a_delivery": round(self.relays_a_delivery, 4),
            "average_path": round(self.average_path, 4),
            "maximum_path": self.totals["maximum_path"],
            "busiest_broker": instance.node_name(busiest),
            "busiest_messages": int(both[busiest]),
            "looping_topics": int(self.endless.sum()),
            "topics_that_miss_subscribers": int(np.count_nonzero(self.missed)),
        }

    def looping(self, instance: Instance) -> list[str]:
        return [instance.topic_name(topic) for topic in np.flatnonzero(self.endless)[:SHOWN].tolist()]

    def missing(self, instance: Instance) -> list[str]:
        return [
            instance.topic_name(topic)
            for topic in np.argsort(-self.missed, kind="stable")[:SHOWN].tolist()
            if self.missed[topic]
        ]


def edges_of_fleet(fleet: Fleet) -> Edges:
    """Edges by the lines of its bridges; where brokers do not pass on, by what the other broker subscribes to."""
    number = {name: node for node, name in enumerate(fleet.brokers)}
    rows = [np.empty((0, 4), np.int64)]
    for place, bridge in enumerate(fleet.bridges):
        owner, remote = number[bridge.owner], number[bridge.remote]
        out, back = _crossing(fleet, bridge, owner, remote)
        for topics, source, target in ((out, owner, remote), (back, remote, owner)):
            rows.append(np.stack(np.broadcast_arrays(np.flatnonzero(topics), source, target, place), axis=1))
    table = np.concatenate(rows)
    table = table[np.lexsort(table.T[::-1])]
    sources, targets, bridges = (np.ascontiguousarray(table[:, column], np.int32) for column in (1, 2, 3))
    return Edges(np.ascontiguousarray(table[:, 0]), sources, targets, bridges, fleet.forwards)


def _crossing(fleet: Fleet, bridge: Bridge, owner: int, remote: int) -> tuple[Bools, Bools]:
    """Topics that a bridge carries from its owner, and those that it carries to it."""
    out, back = np.zeros(len(fleet.topics), np.bool_), np.zeros(len(fleet.topics), np.bool_)
    if not fleet.forwards:
        out[fleet.instance.interest[remote]] = back[fleet.instance.interest[owner]] = True
    for line in (line for line in bridge.lines if not line.renames):
        topics = list(fleet.find(f"{line.local}{line.pattern}"))
        if line.direction != "in":
            out[topics] = True
        if line.direction != "out":
            back[topics] = True
    return out, back


def edges_of_flows(flows: Flows, nodes: int) -> Edges:
    """A bridge between any two brokers at most."""
    low, high = np.minimum(flows.sources, flows.targets), np.maximum(flows.sources, flows.targets)
    return Edges(flows.topics.astype(np.int64), flows.sources, flows.targets, low * np.int32(nodes) + high)


def everything(instance: Instance) -> Publications:
    """One publication on every topic that has subscribers, from everybody who may publish on it."""
    subscribed = np.flatnonzero(instance.subscribers.counts)
    known = instance.publishers
    if known is None or not len(known):
        topics, nodes = np.repeat(subscribed, instance.nodes), np.tile(np.arange(instance.nodes), len(subscribed))
        return Publications(topics.astype(np.int32), nodes.astype(np.int32))
    others = np.setdiff1d(subscribed, known.topics)
    wanted = np.isin(known.topics, subscribed)
    topics = np.concatenate([known.topics[wanted], np.repeat(others, instance.nodes)])
    nodes = np.concatenate([known.nodes[wanted], np.tile(np.arange(instance.nodes), len(others))])
    return Publications(topics.astype(np.int32), nodes.astype(np.int32))


def score(instance: Instance, edges: Edges, publications: Publications) -> Score:
    keys = publications.topics.astype(np.int64) * instance.nodes + publications.nodes
    issued, counts = np.unique(keys, return_counts=True)
    sent, received = np.zeros(instance.nodes, np.int64), np.zeros(instance.nodes, np.int64)
    endless, missed = np.zeros(instance.topics, np.bool_), np.zeros(instance.topics, np.int64)
    totals = np.zeros(len(FIGURES), np.int64)
    flood(
        (issued // instance.nodes).astype(np.int32),
        (issued % instance.nodes).astype(np.int32),
        counts,
        np.searchsorted(edges.topics, np.arange(instance.topics + 1)).astype(np.int64),
        edges.sources,
        edges.targets,
        edges.bridges,
        instance.subscribers.indptr,
        instance.subscribers.indices,
        edges.forwards,
        sent,
        received,
        endless,
        missed,
        totals,
    )
    return Score(dict(zip(FIGURES, totals.tolist(), strict=True)), sent, received, endless, missed)
