"""One client's connection: bytes in to the broker, bytes out when the journal allows.

What a connection is to be sent waits behind what waits for the journal, so that its order is kept. When more waits
than is good, for the client or for the journal, the broker is told: it decides who is heard meanwhile.

How bytes come and go is the affair of two kinds of clients: plain sockets (live/socket.py), and streams of asyncio
for TLS and WebSockets (live/stream.py).
"""

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

from weft.access.guard import HERE, Visitor
from weft.broker.effect import Closed, Congested, Drained, Opened, Unwritten, Written
from weft.live.listener import nothing

if TYPE_CHECKING:
    from weft.live.driver import Driver

HIGH, LOW = 1 << 20, 1 << 18  # bytes that wait for a client: more is congested, fewer is drained
WAITING = 16  # sends that wait for the journal, until the broker is told
UNREAD, UNSYNCED = 1, 2  # what makes a client congested: it does not read, or the disk is slow


class Client:
    __slots__ = ("_congested", "_is_unwritten", "_waiting", "closing", "driver", "number", "settled")

    def __init__(self, driver: "Driver") -> None:
        self.driver = driver
        self.number = 0
        self.closing = False
        self.settled: Callable[[], None] = nothing  # tells the port that it is known who this is, or that it has gone
        self._is_unwritten = False  # too much waits for the journal
        self._congested = 0
        self._waiting: deque[tuple[int, bytes]] | None = None  # position, bytes

    # What the two kinds do

    def write(self, data: bytes) -> None:
        raise NotImplementedError

    def pause(self) -> None:
        raise NotImplementedError

    def unpause(self) -> None:
        raise NotImplementedError

    def finish(self) -> None:
        """Close when everything is sent, or the client has had its time to take it."""
        raise NotImplementedError

    def abort(self) -> None:
        raise NotImplementedError

    def is_writing(self) -> bool:
        """Whether the system has not taken all that was written."""
        raise NotImplementedError

    def peer(self) -> str:
        """Where it is, or was."""
        raise NotImplementedError

    # What they tell

    def opened(self, visitor: Visitor = HERE) -> None:
        self.number = self.driver.add(self)
        self.driver.handle(Opened(self.number, visitor))

    def lost(self) -> None:
        self.settled()
        self.driver.remove(self)
        self.driver.handle(Closed(self.number))

    def congest(self, reason: int = UNREAD) -> None:
        before, self._congested = self._congested, self._congested | reason
        if not before:
            self.driver.handle(Congested(self.number))

    def drain(self, reason: int = UNREAD) -> None:
        before, self._congested = self._congested, self._congested & ~reason
        if before and not self._congested:
            self.driver.handle(Drained(self.number))

    # What the driver asks

    def send(self, data: bytes, after: int, synced: int) -> None:
        if self._waiting is None and after <= synced:
            self.write(data)
            return
        if self._waiting is None:
            self._waiting = deque()
            self.driver.await_sync(self)
        self._waiting.append((after, data))
        self._weigh(self._waiting)

    def release(self, synced: int) -> bool:
        """Send what waited for the journal up to a position. Whether that was all."""
        waiting = self._waiting
        if waiting is None:
            return True
        ready = []
        while waiting and waiting[0][0] <= synced:
            ready.append(waiting.popleft()[1])
        if ready:
            self.write(b"".join(ready))
            self._weigh(waiting)
        if waiting:
            return False
        self._waiting = None
        if self.closing:
            self.finish()
        return True

    def unsay(self) -> None:
        """Drop what waits; of what is being written a part of a packet may have left, and only an end can follow."""
        self._waiting = None
        if self.is_writing():
            self.abort()

    def close(self) -> None:
        self.closing = True
        if self._waiting is None:
            self.finish()

    def let_in(self) -> None:
        """Count no more among those of whom nothing is known."""
        self.settled()
        self.settled = nothing

    def _weigh(self, waiting: deque[tuple[int, bytes]]) -> None:
        """What waits for the journal: too much to read on, too much to send more."""
        if (len(waiting) >= WAITING) is not self._is_unwritten:
            self._is_unwritten = not self._is_unwritten
            self.driver.handle((Unwritten if self._is_unwritten else Written)(self.number))
        if len(waiting) >= WAITING and sum(len(data) for _, data in waiting) > HIGH:
            self.congest(UNSYNCED)
        elif self._congested & UNSYNCED:
            self.drain(UNSYNCED)
