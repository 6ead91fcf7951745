"""Buffers of unpopular publications, one for each link and advertisement, at the broker that issues them (section 4.4).

A buffer holds references to publications, so one that waits for several links is there once. It is sent when it has
enough publications to be worth as much as the least of the popular ones, or when its time is up.
"""

from dataclasses import dataclass
from math import ceil, inf

from weft.protocol.popsub.message import Publication
from weft.protocol.popsub.table import Key


@dataclass
class Buffer:
    publications: list[Publication]
    deadline: float


class Buffers:
    def __init__(self, timeout: float) -> None:
        self.timeout = timeout  # milliseconds
        self._buffers: dict[Key, Buffer] = {}

    def add(self, key: Key, publication: Publication, gain: float, least_gain: float, now: float) -> bool:
        """Whether the buffer is to be sent (Algorithm 2)."""
        buffer = self._buffers.get(key)
        if buffer is None:
            self._buffers[key] = Buffer([publication], now + self.timeout)
            return False
        buffer.publications.append(publication)
        return least_gain < inf and len(buffer.publications) > ceil(least_gain / gain)

    def take(self, key: Key) -> tuple[Publication, ...]:
        """What waits for the link, in the order in which it was said."""
        buffer = self._buffers.pop(key, None)
        return tuple(buffer.publications) if buffer else ()

    def of(self, advertisement: int) -> list[Key]:
        return sorted(key for key in self._buffers if key[1] == advertisement)

    def over(self, link: int) -> list[Key]:
        return sorted(key for key in self._buffers if key[0] == link)

    def due(self, now: float) -> list[Key]:
        return sorted(key for key, buffer in self._buffers.items() if buffer.deadline <= now)

    def next_deadline(self) -> float:
        return min((buffer.deadline for buffer in self._buffers.values()), default=inf)
