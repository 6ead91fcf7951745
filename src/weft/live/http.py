"""Just enough of HTTP for operators and Prometheus: one request a connection, answered when the answer is there."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import cast

from weft.access.badge import Badge
from weft.live.tls import peer_host

HEAD_BYTES, BODY_BYTES, STRANGERS_BYTES = 8192, 64 << 20, 1 << 16
PATIENCE = 10.0  # seconds for a whole request
METHODS = (b"GET ", b"HEAD", b"POST", b"PUT ", b"DELE", b"OPTI", b"PATC", b"TRAC", b"CONN")


@dataclass(frozen=True, slots=True)
class Request:
    method: str
    path: str
    body: bytes
    badge: Badge | None = None  # of who asks; None where there are no certificates
    host: str = ""  # that it comes from


@dataclass(frozen=True, slots=True)
class Response:
    status: str
    body: str
    kind: str = "text/plain"


Answerer = Callable[[Request], Awaitable[Response]]


class HttpCall(asyncio.Protocol):
    def __init__(self, answerer: Answerer, badge: Badge | None = None) -> None:
        self._answerer = answerer
        self._badge = badge
        self._most = BODY_BYTES if badge is None or badge.role is not None else STRANGERS_BYTES
        self._data = bytearray()
        self._task: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._timer = asyncio.get_running_loop().call_later(PATIENCE, self._transport.abort)

    def data_received(self, data: bytes) -> None:
        self._data += data
        head, found, body = bytes(self._data).partition(b"\r\n\r\n")
        if not found:
            if len(head) > HEAD_BYTES:
                self._transport.close()
            return
        length = _length(head)
        if length > self._most:
            self._write("POST", Response("413 Content Too Large", f"At most {self._most:,} bytes.\n"))
        elif len(body) >= length and self._task is None:
            method, _, rest = head.split(b"\r\n", 1)[0].decode("latin-1").partition(" ")
            self._timer.cancel()
            host = peer_host(self._transport)
            request = Request(method, rest.split(" ")[0].split("?")[0], body[:length], self._badge, host)
            self._task = asyncio.ensure_future(self._answer(request))

    def connection_lost(self, exc: Exception | None) -> None:
        self._timer.cancel()
        if self._task is not None:
            self._task.cancel()

    async def _answer(self, request: Request) -> None:
        self._write(request.method, await self._answerer(request))

    def _write(self, method: str, response: Response) -> None:
        body = response.body.encode()
        head = (
            f"HTTP/1.1 {response.status}\r\nContent-Type: {response.kind}; charset=utf-8\r\n"
            f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        )
        self._transport.write(head.encode() + (b"" if method == "HEAD" else body))
        self._transport.close()


def _length(head: bytes) -> int:
    for line in head.split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"content-length" and value.strip().isdigit():
            return int(value)
    return 0
