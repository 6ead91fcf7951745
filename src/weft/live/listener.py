"""Ports: what accepts connections, and bounds those that have yet to prove who they are (access/unproved.py).

A process has one of these for each address that it listens on, so that whoever fills one port is not in the way at
another: a port has a share of the descriptors, and there are more of them than all shares together.

A guest is somebody who has connected. It is settled when it has proved who it is, as far as its port asks for that, or
when the connection has gone.
"""

import asyncio
import errno
import resource
import socket
import ssl
from collections.abc import Callable
from typing import Any

from weft.access.unproved import LEAST, MOST, Unproved

ACCEPTS = 256  # connections accepted at once
BACKLOG = 4096  # connections that wait to be accepted
PAUSE = 0.5  # seconds without accepting, when there are no descriptors left
LINGER = 3.0  # seconds that the other end has to take what it is sent, and to say its last word, before it is closed
KEPT = 64  # descriptors for files, the journal, and connections that this process opens
FULL = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)


def raise_descriptor_limit() -> int:
    """Descriptors that this process may have from now on: as many as the system lets it have."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    except (ValueError, OSError):  # a system whose hard limit is more than it gives
        return soft
    return hard


def share_of(descriptors: int, ports: int) -> int:
    """Unproved connections that a port may have: a quarter of all descriptors is for those of all ports."""
    return max(LEAST, min(MOST, descriptors // (4 * ports)))


def rest_of(descriptors: int, ports: int) -> int:
    """Clients that there may be besides."""
    return max(1, descriptors - ports * share_of(descriptors, ports) - KEPT)


def nothing() -> None:
    """Stand for the settling of what no port has accepted."""


class Guest:
    __slots__ = ("_among", "abort")

    def __init__(self, among: "Unproved[Guest]") -> None:
        self._among = among
        self.abort: Callable[[], object] = nothing

    def settle(self) -> None:
        self._among.remove(self)


Take = Callable[[socket.socket, str, Guest], None]  # a connection, and the address that it comes from


class Listener:
    def __init__(self, take: Take, log: Callable[..., None], most: int = MOST, patience: float | None = None) -> None:
        """`patience` is how many seconds a guest has to be settled; None where somebody else sees to it."""
        self._take = take
        self._log = log
        self._patience = patience
        self._loop = asyncio.get_running_loop()
        self._unproved: Unproved[Guest] = Unproved(most)
        self._sockets: list[socket.socket] = []
        self._timer: asyncio.TimerHandle | None = None

    async def open(self, host: str, port: int, backlog: int = BACKLOG) -> int:
        """The port, also where 0 was given."""
        found = await self._loop.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        for family, _, _, _, address in dict.fromkeys(found):
            one = socket.create_server((address[0], port), family=family, backlog=backlog)
            port = one.getsockname()[1]
            one.setblocking(False)
            self._sockets.append(one)
            self._loop.add_reader(one.fileno(), self._accept, one)
        return port

    def close(self) -> None:
        """Listen no more."""
        if self._timer is not None:
            self._timer.cancel()
        for one in self._sockets:
            self._loop.remove_reader(one.fileno())
            one.close()
        self._sockets.clear()

    def _accept(self, listening: socket.socket) -> None:
        for _ in range(ACCEPTS):
            wait = self._unproved.wait(self._loop.time())
            if wait:
                self._pause(listening, wait)
                return
            try:
                one, address = listening.accept()
            except BlockingIOError:
                break
            except OSError as error:
                if error.errno in FULL:
                    self._log("not_accepted", detail=str(error.strerror))
                    self._pause(listening, PAUSE)
                    return
                continue  # the other end has gone meanwhile
            self._let_wait(one, address[0])
        self._look_later()

    def _let_wait(self, one: socket.socket, host: str) -> None:
        guest = Guest(self._unproved)
        gone = self._unproved.add(guest, host, self._loop.time())
        if gone is guest:
            one.close()
            return
        if gone is not None:
            gone.abort()
        one.setblocking(False)
        one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._take(one, host, guest)

    def _pause(self, listening: socket.socket, seconds: float) -> None:
        self._loop.remove_reader(listening.fileno())
        self._loop.call_later(seconds, self._go_on, listening)

    def _go_on(self, listening: socket.socket) -> None:
        if listening in self._sockets:
            self._loop.add_reader(listening.fileno(), self._accept, listening)

    def _look_later(self) -> None:
        oldest = self._unproved.oldest()
        if self._patience is not None and self._timer is None and oldest is not None:
            self._timer = self._loop.call_at(oldest[1] + self._patience, self._look, self._patience)

    def _look(self, patience: float) -> None:
        """Send away those that have had their time."""
        self._timer = None
        while (oldest := self._unproved.oldest()) is not None and oldest[1] + patience <= self._loop.time():
            guest, _ = oldest
            guest.settle()
            guest.abort()
        self._look_later()


class Streams:
    """Makes streams of asyncio of connections, under TLS or not. The protocol is told how to settle (`settled`)."""

    def __init__(
        self,
        make: Callable[[], asyncio.Protocol],
        context: ssl.SSLContext | None = None,
        handshake: float | None = None,  # seconds
        failed: Callable[[OSError, str], None] | None = None,  # hears why there was none, and with whom
    ) -> None:
        self._make = make
        self._failed = failed
        self._tls: dict[str, Any] = {}
        if context is not None:
            self._tls = {"ssl": context, "ssl_handshake_timeout": handshake, "ssl_shutdown_timeout": LINGER}
        self._opening: set[asyncio.Task[None]] = set()

    def take(self, one: socket.socket, host: str, guest: Guest) -> None:
        task = asyncio.ensure_future(self._open(one, host, guest))
        guest.abort = task.cancel
        self._opening.add(task)
        task.add_done_callback(self._opening.discard)

    async def _open(self, one: socket.socket, host: str, guest: Guest) -> None:
        def made() -> asyncio.Protocol:
            protocol = self._make()
            protocol.settled = guest.settle  # type: ignore[attr-defined]
            return protocol

        peer = host
        try:
            peer = f"{host}:{one.getpeername()[1]}"
            transport, _ = await asyncio.get_running_loop().connect_accepted_socket(made, one, **self._tls)
            guest.abort = transport.abort
        except (OSError, asyncio.CancelledError) as error:  # no handshake, or not in time
            one.close()
            guest.settle()
            if self._failed is not None and isinstance(error, OSError):
                self._failed(error, peer)
