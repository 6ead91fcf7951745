"""Who holds which filter, and where every session is.

A topic of the overlay is a filter that somebody holds, under the number that everybody computes from it. Two filters
may have the same number by a rare chance: they share a tree then, and receivers match names anyway.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from weft.wire.frame import Subscription, is_spread, topic_of


@dataclass(frozen=True, slots=True)
class Session:
    node: int
    subscriptions: tuple[Subscription, ...]


@dataclass
class Directory:
    held: dict[int, dict[str, bool]] = field(default_factory=dict)  # node -> filter -> a persistent session holds it
    holders: dict[str, set[int]] = field(default_factory=dict)  # filter -> nodes
    names: dict[int, set[str]] = field(default_factory=dict)  # topic -> filters
    interests: dict[int, set[int]] = field(default_factory=dict)  # node -> topics
    sessions: dict[str, Session] = field(default_factory=dict)  # client -> where it is

    def welcome(self, node: int) -> None:
        self.held.setdefault(node, {})
        self.interests.setdefault(node, set())

    def hold(self, node: int, pattern: str, persistent: bool) -> int | None:
        """The topic, if it is new to the node."""
        self.held[node][pattern] = persistent
        self.holders.setdefault(pattern, set()).add(node)
        topic = topic_of(pattern)
        self.names.setdefault(topic, set()).add(pattern)
        if topic in self.interests[node]:
            return None
        self.interests[node].add(topic)
        return topic

    def release(self, node: int, pattern: str) -> int | None:
        """The topic, if the node subscribes to it no more."""
        if self.held[node].pop(pattern, None) is None:
            return None
        self.holders[pattern].discard(node)
        topic = topic_of(pattern)
        if not self.holders[pattern]:
            del self.holders[pattern]
            self.names[topic].discard(pattern)
            if not self.names[topic]:
                del self.names[topic]
        if any(pattern in self.held[node] for pattern in self.names.get(topic, ())):
            return None
        self.interests[node].discard(topic)
        return topic

    def forget(self, node: int) -> None:
        for pattern in list(self.held.get(node, ())):
            self.release(node, pattern)
        self.held.pop(node, None)
        self.interests.pop(node, None)
        for client in [client for client, session in self.sessions.items() if session.node == node]:
            del self.sessions[client]

    def owed(self, node: int) -> list[int]:
        """The topics of its persistent sessions."""
        return sorted({topic_of(pattern) for pattern, persistent in self.held[node].items() if persistent})

    def spread(self) -> dict[str, set[int]]:
        """The filters that all nodes know, wildcards and shared ones, and their holders."""
        return {pattern: nodes for pattern, nodes in self.holders.items() if is_spread(pattern)}

    def name_of(self, topic: int) -> str:
        return min(self.names.get(topic, {f"{topic:#018x}"}))

    def filters_record(self, node: int) -> Any:
        return dict(sorted(self.held[node].items()))


def subscriptions_of(rows: Iterable[Iterable[Any]]) -> tuple[Subscription, ...]:
    return tuple(Subscription(*row) for row in rows)
