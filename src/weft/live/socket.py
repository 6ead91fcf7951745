"""Plain TCP clients on an epoll of their own, which the event loop watches as one descriptor.

A transport of uvloop costs 1.3 KB a connection and asyncio's 2.7, more than twice what all of a client costs Mosquitto
(benchmarks/broker_mqtt.py, idle); a client here is one object and a descriptor. Writes go to the kernel at once, and
what it does not take waits. Where there is no epoll, plain clients are streams too (live/stream.py).

A connection that we end is shut down for writing, and read and ignored until the client has ended it too: closing it
with bytes unread would make the kernel drop what we said last.
"""

import asyncio
import os
import select
import socket
import sys
from collections import deque
from collections.abc import Callable
from functools import partial

from weft.access.unproved import MOST
from weft.live.client import HIGH, LOW, Client
from weft.live.driver import Driver
from weft.live.listener import LINGER, Guest, Listener
from weft.live.visitor import visitor_of

READ_BYTES = 1 << 18
EVENTS = 512  # taken from the kernel at once
PIECES = 64  # given to the kernel at once
EPOLLIN, EPOLLOUT, BROKEN = 1, 4, 8 | 16  # as in <sys/epoll.h>, EPOLLERR and EPOLLHUP


class Poller:
    def __init__(self, driver: Driver, log: Callable[..., None]) -> None:
        self.driver = driver
        self.loop = asyncio.get_running_loop()
        self.buffer = bytearray(READ_BYTES)
        self.view = memoryview(self.buffer)
        self._log = log
        self._epoll = select.epoll()
        self._clients: dict[int, SocketClient] = {}
        self._listeners: list[Listener] = []
        self.loop.add_reader(self._epoll.fileno(), self._poll)

    async def listen(self, host: str, port: int, anonymous: bool, most: int = MOST) -> int:
        """The port, also where 0 was given; whether it takes anonymous clients, and how many unproved ones."""
        listener = Listener(partial(self._take, anonymous), self._log, most)
        port = await listener.open(host, port)
        self._listeners.append(listener)
        return port

    def close(self) -> None:
        """Listen no more."""
        for one in self._listeners:
            one.close()
        self._listeners.clear()

    def watch(self, descriptor: int, events: int) -> None:
        self._epoll.modify(descriptor, events)

    def forget(self, descriptor: int) -> None:
        self._epoll.unregister(descriptor)
        del self._clients[descriptor]

    def _take(self, anonymous: bool, one: socket.socket, host: str, guest: Guest) -> None:
        descriptor = one.detach()
        self._clients[descriptor] = client = SocketClient(self, descriptor)
        guest.abort, client.settled = client.abort, guest.settle
        self._epoll.register(descriptor, EPOLLIN)
        client.opened(visitor_of(host, None, anonymous))

    def _poll(self) -> None:
        ready = self._epoll.poll(0, EVENTS)
        self.driver.gathering = len(ready) > 1
        for descriptor, events in ready:
            client = self._clients.get(descriptor)
            if client is not None:
                client.ready(events)
        if self.driver.gathering:
            self.driver.gathering = False
            self.driver.flush()


class SocketClient(Client):
    __slots__ = ("_descriptor", "_finishing", "_host", "_pending", "_poller", "_port", "_reading", "_size")

    def __init__(self, poller: Poller, descriptor: int) -> None:
        super().__init__(poller.driver)
        self._poller = poller
        self._descriptor = descriptor  # -1 when it is closed
        self._host, self._port = _peer(descriptor)  # the system forgets them with the connection
        self._reading = True
        self._finishing = False
        self._pending: deque[bytes | memoryview] | None = None  # what the kernel has not taken
        self._size = 0  # its bytes

    def ready(self, events: int) -> None:
        if events & EPOLLOUT and self._pending is not None:
            self._flush()
        if events & EPOLLIN and (self._reading or self._finishing):
            self._read()
        elif events & BROKEN:
            self._shut()

    def write(self, data: bytes) -> None:
        if self._pending is None:
            if self._descriptor < 0:
                return
            try:
                taken = os.write(self._descriptor, data)
            except BlockingIOError:
                taken = 0
            except OSError:  # the other end is gone, as epoll will say too
                return
            if taken == len(data):
                return
            self._pending = deque()
            data = memoryview(data)[taken:]  # type: ignore[assignment]
            self._watch()
        self._pending.append(data)
        self._size += len(data)
        if self._size > HIGH:
            self.congest()

    def pause(self) -> None:
        self._reading = False
        self._watch()

    def unpause(self) -> None:
        self._reading = True
        self._watch()

    def finish(self) -> None:
        if self._finishing or self._descriptor < 0:
            return
        self._finishing = True
        self._poller.loop.call_later(LINGER, self._shut)
        if self._pending is None:
            self._shut_writing()

    def abort(self) -> None:
        self._shut()

    def is_writing(self) -> bool:
        return self._pending is not None

    def peer(self) -> str:
        return f"{self._host}:{self._port}"

    def _read(self) -> None:
        poller = self._poller
        try:
            count = os.readv(self._descriptor, [poller.buffer])
        except BlockingIOError:
            return
        except OSError:
            count = 0
        if not count:
            self._shut()
        elif not self._finishing:
            self.driver.read(self.number, bytes(poller.view[:count]))

    def _flush(self) -> None:
        pending = self._pending
        assert pending is not None
        pieces = [pending[place] for place in range(min(PIECES, len(pending)))]
        try:
            taken = os.writev(self._descriptor, pieces)
        except BlockingIOError:
            return
        except OSError:
            self._shut()
            return
        self._size -= taken
        while taken:
            piece = pending[0]
            if len(piece) > taken:
                pending[0] = memoryview(piece)[taken:]
                break
            taken -= len(pending.popleft())
        if not pending:
            self._pending = None
            self._watch()
            if self._finishing:
                self._shut_writing()
        if self._size < LOW:
            self.drain()

    def _watch(self) -> None:
        if self._descriptor >= 0:
            reading = EPOLLIN if self._reading or self._finishing else 0
            self._poller.watch(self._descriptor, reading | (EPOLLOUT if self._pending is not None else 0))

    def _shut_writing(self) -> None:
        one = socket.socket(fileno=self._descriptor)
        try:
            one.shutdown(socket.SHUT_WR)
        except OSError:
            self._poller.loop.call_soon(self._shut)
        finally:
            one.detach()
        self._watch()

    def _shut(self) -> None:
        """The end, whoever wanted it."""
        if self._descriptor < 0:
            return
        self._poller.forget(self._descriptor)
        os.close(self._descriptor)
        self._descriptor, self._pending = -1, None
        self.lost()


def _peer(descriptor: int) -> tuple[str, int]:
    """Address and port of the other end; connections from one address share the text."""
    one = socket.socket(fileno=descriptor)
    try:
        host, port = one.getpeername()[:2]
    except OSError:  # it has gone already
        return "", 0
    finally:
        one.detach()
    return sys.intern(host), port
