"""A client on a stream of asyncio: TLS, and below WebSockets."""

import asyncio
from typing import TYPE_CHECKING, cast

from weft.access.badge import Role, badge_of
from weft.live.client import HIGH, LOW, Client
from weft.live.listener import LINGER
from weft.live.tls import peer_address, peer_certificate, peer_host
from weft.live.visitor import visitor_of

if TYPE_CHECKING:
    from weft.live.driver import Driver


class StreamClient(Client, asyncio.Protocol):
    __slots__ = ("_anonymous", "_peer", "transport")

    def __init__(self, driver: "Driver", anonymous: bool = True) -> None:
        super().__init__(driver)
        self._anonymous = anonymous  # its listener takes clients that do not say who they are
        self.transport: asyncio.Transport

    # asyncio

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self.transport.set_write_buffer_limits(HIGH, LOW)
        self._peer = peer_address(transport)  # the system forgets it with the connection
        self.opened(visitor_of(peer_host(transport), _user(transport), self._anonymous))

    def data_received(self, data: bytes) -> None:
        self.driver.read(self.number, data)

    def pause_writing(self) -> None:
        self.congest()

    def resume_writing(self) -> None:
        self.drain()

    def connection_lost(self, exc: Exception | None) -> None:
        self.lost()

    # Client

    def write(self, data: bytes) -> None:
        self.transport.write(data)

    def pause(self) -> None:
        self.transport.pause_reading()

    def unpause(self) -> None:
        if not self.transport.is_closing():
            self.transport.resume_reading()

    def finish(self) -> None:
        self.transport.close()
        asyncio.get_running_loop().call_later(LINGER, self.transport.abort)  # TLS waits for the other end's last word

    def abort(self) -> None:
        self.transport.abort()

    def is_writing(self) -> bool:
        return self.transport.get_write_buffer_size() > 0

    def peer(self) -> str:
        return self._peer


def _user(transport: asyncio.BaseTransport) -> str | None:
    """Name in the client's certificate, if it has shown one; nobody, if it is a node's or an operator's."""
    certificate = peer_certificate(transport)
    if certificate is None:
        return None
    badge = badge_of(certificate)
    return badge.name if badge.role in (None, Role.CLIENT) else ""
