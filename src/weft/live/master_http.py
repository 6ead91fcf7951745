"""Requests over HTTP at a master: of operators, of Prometheus, and of nodes that need a certificate."""

import json
from typing import TYPE_CHECKING, Any

from weft.access.badge import ask_refusal
from weft.live.http import Call, Response
from weft.live.log import Log
from weft.live.master_certificates import UNREADABLE, Certificates
from weft.live.master_metrics import metrics
from weft.master.master import Master

if TYPE_CHECKING:
    from weft.live.master import MasterDriver


class Requests:
    """Answers requests."""

    def __init__(self, driver: "MasterDriver", certificates: Certificates | None, log: Log) -> None:
        self._driver, self._certificates, self._log = driver, certificates, log

    async def answer(self, call: Call) -> Response:
        if call.method in ("GET", "HEAD") and call.path == "/health":
            works = self._driver.store_works
            return Response("200 OK", "ok\n") if works else Response("503 Broken", "store\n")
        return self._certificate(call) or self._refusal(call, "status") or await self._told(call)

    def _certificate(self, call: Call) -> Response | None:
        """What is asked before one has a certificate, or for another one."""
        if self._certificates is None:
            return None
        match call.method, call.path:
            case "GET" | "HEAD", "/authority":
                return _json({"authority": self._certificates.authority.certificate.decode()})
            case "POST", "/join":
                return _json(self._certificates.join(call))
            case "POST", "/renew" if call.badge is not None:
                return _json(self._certificates.renew(call, call.badge))
        return None

    async def _told(self, call: Call) -> Response:
        match call.method, call.path:
            case "GET" | "HEAD", "/metrics":
                return Response(
                    "200 OK", metrics(self._driver.status()) + self._driver.metrics(), "text/plain; version=0.0.4"
                )
            case "GET" | "HEAD", "/status":
                return _json(await self._driver.ask("status", {}))
            case "POST", "/ask":
                return await self._asked(call)
        return Response("404 Not Found", "There are /metrics, /health, /status, and POST /ask.\n")

    async def _asked(self, call: Call) -> Response:
        try:
            asked = json.loads(call.body)
            request, options = asked["request"], asked.get("options", {})
        except UNREADABLE:
            return Response("400 Bad Request", 'Give JSON: {"request": "status", "options": {}}.\n')
        if request not in Master.requests or not isinstance(options, dict):
            return Response("400 Bad Request", f"There are {', '.join(Master.requests)}.\n")
        return self._refusal(call, request) or _json(await self._driver.ask(request, options))

    def _refusal(self, call: Call, request: str) -> Response | None:
        """Refusal of who may not ask that."""
        problem = ask_refusal(call.badge, request)
        if not problem:
            return None
        self._log.write("not_authorized", peer=call.host, detail=f"{call.method} {call.path}: {problem}")
        return Response("403 Forbidden", json.dumps({"error": problem}) + "\n", "application/json")


def _json(reply: dict[str, Any]) -> Response:
    status_line = "409 Conflict" if "error" in reply else "200 OK"
    return Response(status_line, json.dumps(reply) + "\n", "application/json")
