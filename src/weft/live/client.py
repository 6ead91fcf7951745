"""One client's socket: bytes in to the node, bytes out when the journal allows.

What a connection is to be sent waits behind what waits for the journal, so that its order is kept. When more waits
than is good, in the kernel's way or in the journal's, the broker is told; a client whose acknowledgements wait for the
disk is not read any further meanwhile.
"""

import asyncio
from collections import deque
from typing import TYPE_CHECKING, cast

from weft.broker.effect import Closed, Congested, Drained, Opened, Received

if TYPE_CHECKING:
    from weft.live.driver import Driver

HIGH, LOW = 1 << 20, 1 << 18  # bytes that wait for a client: more is congested, fewer is drained
WAITING = 16  # sends that wait for the journal, until the client is not read any more
LINGER = 5.0  # seconds that a client has to take what it is sent before it is closed


class Client(asyncio.Protocol):
    __slots__ = (
        "_congested",
        "_driver",
        "_held",
        "_held_back",
        "_waiting",
        "_waiting_bytes",
        "closing",
        "number",
        "transport",
    )

    def __init__(self, driver: "Driver") -> None:
        self._driver = driver
        self.number = 0
        self.transport: asyncio.Transport
        self.closing = False
        self._held = False  # by the broker, or by the journal
        self._held_back = False
        self._congested = 0  # reasons
        self._waiting: deque[tuple[int, bytes]] | None = None  # position, bytes
        self._waiting_bytes = 0

    # asyncio

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self.transport.set_write_buffer_limits(HIGH, LOW)
        self.number = self._driver.add(self)
        self._driver.handle(Opened(self.number, peer_name(self.transport)))

    def data_received(self, data: bytes) -> None:
        self._driver.handle(Received(self.number, data))

    def pause_writing(self) -> None:
        self._congest(1)

    def resume_writing(self) -> None:
        self._drain(1)

    def connection_lost(self, exc: Exception | None) -> None:
        self._driver.remove(self)
        self._driver.handle(Closed(self.number))

    # the driver

    def send(self, data: bytes, after: int, synced: int) -> None:
        if self._waiting is None and after <= synced:
            self.write(data)
            return
        if self._waiting is None:
            self._waiting = deque()
            self._driver.await_sync(self)
        self._waiting.append((after, data))
        self._waiting_bytes += len(data)
        self._weigh()

    def release(self, synced: int) -> bool:
        """Send what waited for the journal up to a position. Whether that was all."""
        waiting = self._waiting
        if waiting is None:
            return True
        ready = []
        while waiting and waiting[0][0] <= synced:
            ready.append(waiting.popleft()[1])
        if ready:
            data = b"".join(ready)
            self._waiting_bytes -= len(data)
            self.write(data)
        if waiting:
            self._weigh()
            return False
        self._waiting = None
        self._weigh()
        if self.closing:
            self._end()
        return True

    def write(self, data: bytes) -> None:
        self.transport.write(data)

    def close(self) -> None:
        self.closing = True
        if self._waiting is None:
            self._end()

    def hold(self) -> None:
        self._held = True
        self.transport.pause_reading()

    def resume(self) -> None:
        self._held = False
        if not self._held_back and not self.transport.is_closing():
            self.transport.resume_reading()

    def _end(self) -> None:
        self.transport.close()
        if self.transport.get_write_buffer_size():
            asyncio.get_running_loop().call_later(LINGER, self.transport.abort)

    def _weigh(self) -> None:
        """What waits for the journal: too much to read on, too much to send more."""
        many = self._waiting is not None and len(self._waiting) >= WAITING
        if many != self._held_back and not self.transport.is_closing():
            self._held_back = many
            if many:
                self.transport.pause_reading()
            elif not self._held:
                self.transport.resume_reading()
        if self._waiting_bytes > HIGH:
            self._congest(2)
        elif self._congested & 2 and self._waiting_bytes < LOW:
            self._drain(2)

    def _congest(self, reason: int) -> None:
        before, self._congested = self._congested, self._congested | reason
        if not before:
            self._driver.later(Congested(self.number))

    def _drain(self, reason: int) -> None:
        self._congested &= ~reason
        if not self._congested:
            self._driver.later(Drained(self.number))


def peer_name(transport: asyncio.Transport) -> str:
    peer = transport.get_extra_info("peername")
    return f"{peer[0]}:{peer[1]}" if isinstance(peer, tuple) else ""
