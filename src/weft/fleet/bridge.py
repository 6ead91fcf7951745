"""Bridges between brokers: one connection each, opened by its owner, with the topics that cross it and which way.

Directions are those of Mosquitto, seen from the owner: `out` to the remote broker, `in` from it, or `both`. A broker
hands what it gets from a bridge to all its other bridges, but never back to the one that it came from; that is all the
care it takes of loops.
"""

from dataclasses import dataclass
from typing import Literal

Direction = Literal["in", "out", "both"]
DIRECTIONS: tuple[Direction, ...] = ("in", "out", "both")
# At most: publications keep a lower QoS that they were published with. It is not 2, since a bridge between two
# Mosquittos 2.0.11 does not come up again once more than 20 messages of QoS 2 wait for it: it sends more than the 20
# that the other side takes at once, which hangs up, again and again.
QOS = 1


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
