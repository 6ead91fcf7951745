"""What waits for a client: deliveries of QoS 1 and 2 in order, bounded in number and bytes.

A full queue refuses the newest. That is the bound on what a session that is away may cost; the publisher is not
told, for others may have received it.
"""

from collections import deque
from collections.abc import Iterator

from weft.broker.publication import Delivery


class Queue:
    __slots__ = ("_waiting", "size")

    def __init__(self) -> None:
        self._waiting: deque[Delivery] = deque()
        self.size = 0  # bytes of topics and payloads

    def __len__(self) -> int:
        return len(self._waiting)

    def __iter__(self) -> Iterator[Delivery]:
        return iter(self._waiting)

    def offer(self, delivery: Delivery, messages: int, size: int) -> bool:
        """Whether it was taken, given the bounds."""
        if len(self._waiting) >= messages or self.size + delivery.publication.size() > size:
            return False
        self._waiting.append(delivery)
        self.size += delivery.publication.size()
        return True

    def take(self) -> Delivery:
        delivery = self._waiting.popleft()
        self.size -= delivery.publication.size()
        return delivery

    def clear(self) -> None:
        self._waiting.clear()
        self.size = 0
