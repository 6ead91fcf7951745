"""Relay paths: the ways of gateways to the rendezvous node, the one nearest to the topic's identifier.

A gateway asks its next hop every round, and a node that has been asked asks its own in the next round, so that paths
grow by one hop a round and join where they meet. A node remembers who has asked it for some more rounds, which a new
path needs to grow; it serves them, but asks nobody for their sake. So what is left of an old path goes at once, not
link by link.
"""

from collections.abc import Iterable


class Relays:
    def __init__(self, expiry: int) -> None:
        self.expiry = expiry  # rounds
        self._asked: dict[int, dict[int, int]] = {}  # topic -> child -> the round when its request was taken in

    def refresh(self, child: int, topics: Iterable[int], when: int) -> None:
        for topic in topics:
            self._asked.setdefault(topic, {})[child] = when

    def expire(self, when: int) -> None:
        for topic, children in list(self._asked.items()):
            fresh = {child: asked for child, asked in children.items() if when - asked < self.expiry}
            if fresh:
                self._asked[topic] = fresh
            else:
                del self._asked[topic]

    def forget(self, child: int) -> None:
        for children in self._asked.values():
            children.pop(child, None)

    def topics(self, when: int) -> set[int]:
        """Those that were asked for in the round before."""
        return {topic for topic, children in self._asked.items() if when in children.values()}

    def children(self, topic: int) -> set[int]:
        return set(self._asked.get(topic, ()))
