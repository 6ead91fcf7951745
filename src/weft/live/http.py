"""Just enough of HTTP for operators and Prometheus: one request a connection, answered when the answer is there."""

import asyncio
import json
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

from weft.access.badge import Badge, ask_refusal
from weft.access.page import Pages
from weft.live.defect import Defects
from weft.live.listener import nothing
from weft.live.tls import peer_host
from weft.wire.http import HttpError, Request, RequestReader

BODY_BYTES, STRANGERS_BYTES = 64 << 20, 1 << 16
PATIENCE = 10.0  # seconds for a whole request
TAKING = 60.0  # seconds that who asked has to read the answer
CALLS = 100  # requests that are answered at a time, or whose answers are being read
METHODS = (b"GET ", b"HEAD", b"POST", b"PUT ", b"DELE", b"OPTI", b"PATC", b"TRAC", b"CONN")


@dataclass(frozen=True, slots=True)
class Call:
    """A request, and who asks."""

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


Answerer = Callable[[Call], Coroutine[Any, Any, Response]]


def page_problem(pages: Pages, request: Request) -> str:
    """What speaks against a request that a web page may have sent."""
    say = request.headers.get
    return pages.refusal(request.method, say("host"), say("origin"), say("content-type", ""))


class HttpCall(asyncio.Protocol):
    def __init__(
        self,
        answerer: Answerer,
        defects: Defects,
        pages: Pages,
        badge: Badge | None = None,
        calls: "set[HttpCall] | None" = None,  # of all, those that are answered
    ) -> None:
        self._answerer = answerer
        self._calls: set[HttpCall] = set() if calls is None else calls
        self._defects = defects
        self._pages = pages
        self._badge = badge
        self._reader = RequestReader(STRANGERS_BYTES if ask_refusal(badge, "apply") else BODY_BYTES)
        self._task: asyncio.Task[Response] | None = None
        self.settled: Callable[[], None] = nothing

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._timer = asyncio.get_running_loop().call_later(PATIENCE, self._transport.abort)

    def data_received(self, data: bytes) -> None:
        if self._task is not None or self._transport.is_closing():
            return
        try:
            request = self._reader.feed(data)
            head = self._reader.head  # what a page sends is refused before its body is kept
            problem = "" if head is None else page_problem(self._pages, head)
        except HttpError as error:
            self._write("POST", Response(error.status, str(error)))
            return
        except Exception as error:
            self._defects.end_connection(error, self._transport)
            return
        if head is not None and problem:
            told = json.dumps({"error": problem}) + "\n"
            self._write(head.method, Response("403 Forbidden", told, "application/json"))
        elif request is not None and len(self._calls) >= CALLS:
            self._write(request.method, Response("503 Busy", f"{CALLS} requests are answered: ask again.\n"))
        elif request is not None:
            self._calls.add(self)
            self._timer.cancel()
            self.settled()
            call = Call(request.method, request.path, request.body, self._badge, peer_host(self._transport))
            self._task = asyncio.ensure_future(self._answerer(call))
            self._task.add_done_callback(partial(self._answer, call.method))

    def connection_lost(self, exc: Exception | None) -> None:
        self.settled()
        self._calls.discard(self)
        self._timer.cancel()
        if self._task is not None:
            self._task.cancel()

    def _answer(self, method: str, task: asyncio.Task[Response]) -> None:
        """Write the answer; before a defect ends the process, who has asked is told."""
        if task.cancelled():
            return
        error = task.exception()
        if error is None:
            self._write(method, task.result())
            return
        sentence = "The request has met a defect of Weft: see the log.\n"
        self._write(method, Response("500 Internal Server Error", sentence))
        asyncio.get_running_loop().call_soon(self._defects.end, error)

    def _write(self, method: str, response: Response) -> None:
        body = response.body.encode()
        head = (
            f"HTTP/1.1 {response.status}\r\nContent-Type: {response.kind}; charset=utf-8\r\n"
            f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        )
        self._transport.write(head.encode() + (b"" if method == "HEAD" else body))
        self._transport.close()
        self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(TAKING, self._transport.abort)
