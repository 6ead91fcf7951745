"""Connections of a port that have yet to prove who they are: bounded in number, for the port and for an address.

Each costs a descriptor and memory before anybody knows whose it is. A quarter of a port's places is for one address; on
the loopback, where all may come through one proxy, there is no such limit.

Where no place is left, whoever has waited longest has to go, after some time that it is given; until then newcomers
wait where the system keeps them, in their order. So who connects and says nothing keeps nobody out, and many who come
at once do not throw each other out again and again.
"""

from collections.abc import Hashable
from typing import Generic, TypeVar

from weft.access.limit import network_of

MOST = 1_000  # of a port
LEAST = 16  # of a port, where descriptors are few
GIVEN = 0.3  # seconds in which nobody has to go: two round trips to the other end of the world, as TLS 1.2 needs

Guest = TypeVar("Guest", bound=Hashable)


class Unproved(Generic[Guest]):
    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._of_one = max(1, most // 4)
        self._since: dict[Guest, tuple[str, float]] = {}  # network, and when it came; the oldest first
        self._by_network: dict[str, dict[Guest, float]] = {}

    def __len__(self) -> int:
        return len(self._since)

    def wait(self, now: float) -> float:
        """Seconds until there is a place for one more."""
        if len(self._since) < self._most:
            return 0.0
        _, since = next(iter(self._since.values()))
        return max(0.0, since + GIVEN - now)

    def add(self, guest: Guest, host: str, now: float) -> Guest | None:
        """Somebody has come. Who has to go instead, which may be the newcomer."""
        network = network_of(host)
        own = self._by_network.setdefault(network, {})
        self._since[guest], own[guest] = (network, now), now
        if network and len(own) > self._of_one:
            oldest, since = next(iter(own.items()))
            gone = oldest if now >= since + GIVEN else guest
        elif len(self._since) > self._most:
            gone = next(iter(self._since))
        else:
            return None
        self.remove(gone)
        return gone

    def remove(self, guest: Guest) -> None:
        """Forget somebody who is known now, or whose connection has gone."""
        network, _ = self._since.pop(guest, ("", 0.0))
        own = self._by_network.get(network, {})
        own.pop(guest, None)
        if not own:
            self._by_network.pop(network, None)

    def oldest(self) -> tuple[Guest, float] | None:
        """Whoever has waited longest, and since when."""
        return next(((guest, since) for guest, (_, since) in self._since.items()), None)
