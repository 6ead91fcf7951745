"""What a command asks of a master, over HTTP; with TLS where WEFT_CREDENTIALS names the folder of an operator's.

Any service may be at the address, so an answer is looked at before it is believed: its status, and that it has what
each answer to that request has.
"""

import http.client
import json
import os
from pathlib import Path
from typing import Any

from weft.errors import SurroundingsError, WeftError
from weft.live.address import Address
from weft.live.tls import cause_of, client_context, credentials_in

CREDENTIALS = "WEFT_CREDENTIALS"
PATIENCE = 30.0  # seconds for an answer that needs no design
REFUSALS = (403, 409)  # statuses of an answer that is an error of the operator's
ANSWERS = {
    "status": {"cluster", "nodes", "links"},
    "explain": {"topic", "trees", "shared"},
    "trace": {"topic", "steps", "nodes_with_receivers"},
    "redesign": {"links_to_open", "links_to_close", "applied"},
    "apply": {"links_to_open", "links_to_close", "applied", "proposal"},
    "snapshot": {"nodes", "topics", "interest"},
    "leave": {"node", "forgotten", "filters_owed"},
}  # what an answer has at least


def ask(master: Address, request: str, options: dict[str, Any] | None = None, *, patient: bool = False) -> Any:
    """The master's answer; an error where it has one for an answer.

    Designs take as long as they take: `patient` waits for them, of a master that has shown that it is there.
    """
    if patient:
        _ask(master, "status", {}, PATIENCE)
    return _ask(master, request, options or {}, None if patient else PATIENCE)


def _ask(master: Address, request: str, options: dict[str, Any], patience: float | None) -> Any:
    connection = _connection(master)
    try:
        connection.connect()
        if isinstance(connection, http.client.HTTPSConnection):
            from weft.live.joining import require_master

            require_master(connection, master)
        body = json.dumps({"request": request, "options": options})
        connection.request("POST", "/ask", body, headers_of(connection))
        connection.sock.settimeout(patience)
        response = connection.getresponse()
        told = response.read()
    except (OSError, http.client.IncompleteRead) as error:
        reason = cause_of(error) or "no answer"
        raise SurroundingsError(
            f"No master answers at {master} ({reason}): start one, or give the address of one as `master`; one that "
            f"wants certificates needs {CREDENTIALS}.",
            "master",
        ) from error
    except http.client.HTTPException as error:
        raise _no_master(master) from error
    finally:
        connection.close()
    return _believed(master, request, response.status, told)


def headers_of(connection: http.client.HTTPConnection) -> dict[str, str]:
    """Headers of a request. A master may not know the name that it was called by, but it knows its address."""
    host, port = connection.sock.getpeername()[:2]
    return {"Content-Type": "application/json", "Host": f"[{host}]:{port}" if ":" in host else f"{host}:{port}"}


def _believed(master: Address, request: str, status: int, told: bytes) -> dict[str, Any]:
    """The answer, if it is one of a master's."""
    if status == 500:
        raise SurroundingsError(f"What answers at {master} has met a defect of its own (HTTP 500): see its log.")
    try:
        reply = json.loads(told)
    except (ValueError, RecursionError) as error:
        raise _no_master(master) from error
    if not isinstance(reply, dict):
        raise _no_master(master)
    if status in REFUSALS and isinstance(reply.get("error"), str):
        raise WeftError(reply["error"])
    if status != 200 or not ANSWERS[request] <= reply.keys():
        raise _no_master(master)
    return reply


def _no_master(master: Address) -> SurroundingsError:
    return SurroundingsError(
        f"What answers at {master} is no master of Weft's, or one that wants certificates: give another `master`, or "
        f"set {CREDENTIALS}.",
        "master",
    )


def _connection(master: Address) -> http.client.HTTPConnection:
    folder = os.environ.get(CREDENTIALS)
    if not folder:
        return http.client.HTTPConnection(master.host, master.port, timeout=PATIENCE)
    context = client_context(credentials_in(Path(folder)))
    return http.client.HTTPSConnection(master.host, master.port, timeout=PATIENCE, context=context)
