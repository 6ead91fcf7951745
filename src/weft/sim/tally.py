"""Counts over publications that take their time, and the figures that are made of them.

Times and hops are means over all deliveries. The relay share of a node is the part of the publications that came to it
without its interest; the relay share of a network is the mean over the nodes that any came to. Relay traffic is the
part of all notifications in the network that came to nodes without interest. Where nodes have places, what goes from
one place to another is counted as well: contents, and notifications of them.
"""

from typing import Any

import numpy as np

from weft.arrays import Bools, Floats, Int64s, Integers
from weft.model.places import Places


class Tally:
    def __init__(self, nodes: int, places: Places | None = None) -> None:
        self.places = places
        self.between = None if places is None else places.nothing_counted()  # [kind, place, place]
        self.expected = self.deliveries = 0
        self.notifications = self.relay_notifications = 0  # those that came to nodes without interest
        self.hops = self.longest = 0
        self.time = self.notified = 0.0  # milliseconds, sums over deliveries
        self.wanted = np.zeros(nodes, np.int64)  # came to each node, with its interest
        self.relayed = np.zeros(nodes, np.int64)  # without

    def deliver(
        self,
        nodes: Integers,  # a delivery each, as in the others
        hops: Integers,
        times: Floats,
        notified: Floats,
    ) -> None:
        self.deliveries += len(nodes)
        self.hops += int(hops.sum())
        self.longest = max(self.longest, int(hops.max(initial=0)))
        self.time += float(times.sum())
        self.notified += float(notified.sum())
        np.add.at(self.wanted, nodes, 1)

    def add(self, other: "Tally") -> None:
        """Add the counts of another, but for what goes between places, which both may share."""
        for name in ("expected", "deliveries", "notifications", "relay_notifications", "hops", "time", "notified"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.longest = max(self.longest, other.longest)
        self.wanted += other.wanted
        self.relayed += other.relayed

    @property
    def hit_ratio(self) -> float:
        """1 where there was nothing to deliver."""
        return self.deliveries / self.expected if self.expected else 1.0

    def figures(self) -> dict[str, Any]:
        deliveries = max(self.deliveries, 1)
        return {
            "deliveries": self.deliveries,
            "hit_ratio": self.hit_ratio,
            "delivery_time": self.time / deliveries,
            "notification_time": self.notified / deliveries,
            "average_hops": self.hops / deliveries,
            "maximum_hops": self.longest,
            "relay_share": _relay_share(self.wanted, self.relayed),
            "relays_per_delivery": int(self.relayed.sum()) / deliveries,
            "relay_traffic": self.relay_notifications / max(self.notifications, 1),
            "notifications_per_delivery": self.notifications / deliveries,
            **({} if self.places is None or self.between is None else _across(self.places, self.between)),
        }


def _relay_share(wanted: Int64s, relayed: Int64s) -> float:
    came = wanted + relayed
    busy = came > 0
    return float((relayed[busy] / came[busy]).mean()) if busy.any() else 0.0


def _across(places: Places, between: Int64s) -> dict[str, Any]:
    """Shares of what is sent that goes from place to place; by level where places have several."""
    contents, notifications = between
    apart = [places.are_apart(level) for level in range(1, places.levels + 1)]
    shares = [(_share(contents, each), _share(notifications, each)) for each in apart]
    figures: dict[str, Any] = {"contents_across": shares[-1][0], "notifications_across": shares[-1][1]}
    if places.levels > 1:
        figures["across_levels"] = [
            {"level": level, "contents": content, "notifications": notification}
            for level, (content, notification) in enumerate(shares, 1)
        ]
    return figures


def _share(counts: Int64s, apart: Bools) -> float:
    """The part of all messages that goes between places which are apart; 0 of none."""
    return float(counts[apart].sum() / max(int(counts.sum()), 1))
