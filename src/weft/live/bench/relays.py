"""Relays a delivery of a Weft network during a run: what its nodes count, as their master knows it.

A delivery is the arrival of a publication at a node whose clients subscribe to it, a relay at a node that only passes
it on. Nodes report once a second, so the count is over when it has stood still for a while.
"""

import time
from dataclasses import dataclass

from weft.live.address import Address
from weft.live.operator import ask

STILL = 1.6  # seconds without a change after which all nodes have reported
PATIENCE = 5.0  # seconds for that, at most: with other traffic it never does
LOOK = 0.25  # seconds


@dataclass(frozen=True, slots=True)
class Passages:
    """Arrivals at nodes since they started, by what they were for."""

    delivered: int
    relayed: int


def _passages(master: Address) -> Passages:
    counters = ask(master, "status")["counters"]
    return Passages(counters.get("delivered", 0), counters.get("relayed", 0))


def settled_passages(master: Address) -> Passages:
    """Passages when they do not grow any more."""
    end = time.monotonic() + PATIENCE
    found, since = _passages(master), time.monotonic()
    while (now := time.monotonic()) < min(since + STILL, end):
        time.sleep(LOOK)
        if (latest := _passages(master)) != found:
            found, since = latest, now
    return found


def relays_a_delivery(before: Passages, after: Passages) -> float | None:
    """None where nothing was delivered to another node, or a node started again meanwhile."""
    delivered, relayed = after.delivered - before.delivered, after.relayed - before.relayed
    return relayed / delivered if delivered > 0 <= relayed else None
