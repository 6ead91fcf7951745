"""What a command asks of a master, over HTTP; with TLS where WEFT_CREDENTIALS names the folder of an operator's."""

import http.client
import json
import os
from pathlib import Path
from typing import Any

from weft.errors import SurroundingsError, WeftError
from weft.live.address import Address
from weft.live.tls import client_context, credentials_in

CREDENTIALS = "WEFT_CREDENTIALS"
PATIENCE = 30.0  # seconds for an answer that needs no design


def ask(master: Address, request: str, options: dict[str, Any] | None = None, *, patient: bool = False) -> Any:
    """The master's answer; an error where it has one for an answer. Designs take as long as they take: `patient`."""
    body = json.dumps({"request": request, "options": options or {}})
    connection = _connection(master, None if patient else PATIENCE)
    try:
        connection.connect()
        if isinstance(connection, http.client.HTTPSConnection):
            from weft.live.joining import require_master

            require_master(connection, master)
        connection.request("POST", "/ask", body, {"Content-Type": "application/json"})
        reply = json.loads(connection.getresponse().read())
    except (OSError, http.client.HTTPException) as error:
        reason = getattr(error, "strerror", None) or str(error) or "no answer"
        raise SurroundingsError(
            f"No master answers at {master} ({reason}): start one, or give the address of one as `master`; one that "
            f"wants certificates needs {CREDENTIALS}.",
            "master",
        ) from error
    except ValueError as error:
        raise SurroundingsError(
            f"What answers at {master} is no master of Weft's: give another `master`.", "master"
        ) from error
    finally:
        connection.close()
    if "error" in reply:
        raise WeftError(reply["error"])
    return reply


def _connection(master: Address, patience: float | None) -> http.client.HTTPConnection:
    folder = os.environ.get(CREDENTIALS)
    if not folder:
        return http.client.HTTPConnection(master.host, master.port, timeout=patience)
    context = client_context(credentials_in(Path(folder)))
    return http.client.HTTPSConnection(master.host, master.port, timeout=patience, context=context)
