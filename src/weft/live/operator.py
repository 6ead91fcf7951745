"""What a command asks of a master, over HTTP."""

import http.client
import json
from typing import Any

from weft.errors import SurroundingsError, WeftError
from weft.live.address import Address

PATIENCE = 30.0  # seconds for an answer that needs no design


def ask(master: Address, request: str, options: dict[str, Any] | None = None, *, patient: bool = False) -> Any:
    """The master's answer; an error where it has one for an answer. Designs take as long as they take: `patient`."""
    body = json.dumps({"request": request, "options": options or {}})
    connection = http.client.HTTPConnection(master.host, master.port, timeout=None if patient else PATIENCE)
    try:
        connection.request("POST", "/ask", body, {"Content-Type": "application/json"})
        reply = json.loads(connection.getresponse().read())
    except (OSError, http.client.HTTPException) as error:
        reason = getattr(error, "strerror", None) or str(error) or "no answer"
        raise SurroundingsError(
            f"No master answers at {master} ({reason}): start one, or give the address of one as `master`.", "master"
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
