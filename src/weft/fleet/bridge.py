"""Bridges between brokers: one connection each, opened by its owner, with the topics that cross it and which way.

Directions are those of Mosquitto, seen from the owner: `out` to the remote broker, `in` from it, or `both`. A broker
hands what it gets from a bridge to all its other bridges, but never back to the one that it came from; that is all the
care it takes of loops.
"""

from dataclasses import dataclass
from typing import Literal

Direction = Literal["in", "out", "both"]
DIRECTIONS: tuple[Direction, ...] = ("in", "out", "both")
QOS = 2  # the most: publications keep the QoS that they were published with


@dataclass(frozen=True, order=True)
class Line:
    pattern: str  # a topic, or a filter
    direction: Direction
    qos: int = QOS
    local: str = ""  # prefix of the pattern at the owner
    remote: str = ""  # prefix of the pattern at the remote broker

    @property
    def renames(self) -> bool:
        """Whether topics have other names behind the bridge."""
        return self.local != self.remote


@dataclass(frozen=True, order=True)
class Bridge:
    owner: str
    remote: str
    lines: tuple[Line, ...]

    @property
    def incoming(self) -> set[str]:
        """What the owner subscribes to at the remote broker."""
        return {f"{line.remote}{line.pattern}" for line in self.lines if line.direction != "out"}
