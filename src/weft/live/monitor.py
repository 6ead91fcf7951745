"""The HTTP port: /metrics for Prometheus, /health for whoever restarts us.

prometheus-client would bring a registry, threads and a server for one page of text of which we know every line, so
the text is written here.
"""

import asyncio
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import fields
from pathlib import Path
from typing import cast

from weft.access.page import Pages
from weft.broker.figure import Figures
from weft.errors import WeftError
from weft.live.driver import Driver
from weft.live.http import page_problem
from weft.live.listener import nothing
from weft.live.watch import DAY
from weft.wire.http import HttpError, Request, RequestReader

BODY_BYTES = 8192  # which nobody reads
PATIENCE = 10.0  # seconds for a request
COUNTERS = {
    "expired": "Sessions that ended while their clients were away.",
    "bytes_received": "Bytes from clients.",
    "bytes_sent": "Bytes to clients.",
    "packets_received": "MQTT packets from clients.",
    "packets_sent": "MQTT packets to clients.",
    "publications_received": "Publications from clients.",
    "publications_sent": "Publications to clients.",
    "publication_bytes_received": "Payload bytes from clients.",
    "publication_bytes_sent": "Payload bytes to clients.",
    "dropped": "Publications that a queue, or a client that does not read, did not take.",
    "refused": "Connections that were refused.",
}
GAUGES = {
    "connections": "Open connections, without those that are being closed.",
    "connected": "Connected clients.",
    "most_connected": "Connected clients at a time, at most.",
    "sessions": "Sessions, with those of clients that are away.",
    "subscriptions": "Subscriptions.",
    "shared_subscriptions": "Shared subscriptions.",
    "retained": "Retained messages.",
    "waiting": "Publications that wait in queues of sessions.",
    "disk_full": "1 while the journal's disk is full.",
    "started": "Start, in seconds since 1970.",
}


def _metrics(figures: Figures) -> str:
    """Prometheus' text format."""
    lines = []
    for one in fields(figures):
        if one.name in COUNTERS:
            name, kind, told = f"weft_{one.name}_total", "counter", COUNTERS[one.name]
        elif one.name in GAUGES:
            name, kind, told = f"weft_{one.name}", "gauge", GAUGES[one.name]
        else:
            continue
        lines += [f"# HELP {name} {told}", f"# TYPE {name} {kind}", f"{name} {getattr(figures, one.name)}"]
    return "\n".join(lines) + "\n"


def _certificate_metrics(files: Collection[Path], now: float) -> str:
    """Days until the first certificate expires, as the files are now."""
    if not files:
        return ""
    from weft.access.authority import end_of

    ends = []
    for file in files:
        with suppress(OSError, WeftError):  # which is told where it is used
            ends.append(end_of(file.read_bytes()))
    name = "weft_certificate_days"
    told = f"# HELP {name} Days until the first certificate expires that is shown here.\n# TYPE {name} gauge\n"
    return f"{told}{name} {(min(ends) - now) / DAY:.2f}\n" if ends else ""


class Monitor(asyncio.Protocol):
    """One request a connection."""

    def __init__(self, driver: Driver, pages: Pages) -> None:
        self._driver = driver
        self._pages = pages
        self._reader = RequestReader(BODY_BYTES)
        self.settled: Callable[[], None] = nothing

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._timer = asyncio.get_running_loop().call_later(PATIENCE, self._transport.abort)

    def connection_lost(self, exc: Exception | None) -> None:
        self.settled()
        self._timer.cancel()

    def data_received(self, data: bytes) -> None:
        try:
            request = self._reader.feed(data)
            if request is not None and not self._transport.is_closing():
                self._transport.write(self._answer(request))
                self._transport.close()
        except HttpError:
            self._transport.close()
        except Exception as error:  # nothing is changed by an answer
            self._driver.defects.end_connection(error, self._transport)

    def _answer(self, request: Request) -> bytes:
        method, path = request.method, request.path
        if method not in ("GET", "HEAD"):
            return _response("405 Method Not Allowed", "GET and HEAD only.\n", method)
        if problem := page_problem(self._pages, request):
            return _response("403 Forbidden", problem + "\n", method)
        if path == "/metrics":
            text = _metrics(self._driver.broker.figures) + self._driver.metrics()
            text += _certificate_metrics(self._driver.certificates, self._driver.now())
            return _response("200 OK", text, method, "text/plain; version=0.0.4")
        if path == "/health":
            well = not self._driver.broken.is_set()
            return _response("200 OK", "ok\n", method) if well else _response("503 Broken", "journal\n", method)
        return _response("404 Not Found", "There are /metrics and /health.\n", method)


def _response(status: str, body: str, method: str, kind: str = "text/plain") -> bytes:
    head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}; charset=utf-8\r\nContent-Length: {len(body.encode())}\r\n"
    return (head + "Connection: close\r\n\r\n" + (body if method != "HEAD" else "")).encode()
