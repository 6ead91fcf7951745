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
        self._waiting: deque[Delivery] | None = None
        self.size = 0  # bytes of topics and payloads

    def __len__(self) -> int:
        return len(self._waiting) if self._waiting is not None else 0

    def __iter__(self) -> Iterator[Delivery]:
        return iter(self._waiting or ())

    def offer(self, delivery: Delivery, messages: int, size: int) -> bool:
        """Whether it was taken, given the bounds."""
        if len(self) >= messages or self.size + delivery.publication.size() > size:
            return False
        if self._waiting is None:
            self._waiting = deque()
        self._waiting.append(delivery)
        self.size += delivery.publication.size()
        return True

    def take_all(self) -> list[Delivery]:
        waiting, self._waiting, self.size = list(self._waiting or ()), None, 0
        return waiting

    def take(self) -> Delivery:
        """The oldest. There must be one."""
        assert self._waiting is not None
        delivery = self._waiting.popleft()
        if not self._waiting:
            self._waiting = None
        self.size -= delivery.publication.size()
        return delivery
