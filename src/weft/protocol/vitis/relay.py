"""Relay paths, from gateways to the rendezvous node, which is the one nearest to the topic's identifier.

A gateway asks its next hop every round, and a node that has been asked asks its own in the next round; but at once, if
it does not ask for that topic already. So a new path has grown by the end of a round, and joins others where they meet,
while a path that is there costs no messages but the heartbeats. A node remembers who has asked it for some more rounds,
until a new gateway has been found; it serves them, but asks nobody for their sake.
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
        """The topics whose relay paths were requested in the round before."""
        return {topic for topic, children in self._asked.items() if when in children.values()}

    def children(self, topic: int) -> set[int]:
        return set(self._asked.get(topic, ()))
