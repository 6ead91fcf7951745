"""A node gets its certificate from the master: a new one for a token, and before it ends another for the old one.

It asks for the authority first, of whoever answers: the fingerprint in the token says whether it is the right one. Only
then, and only to a master with a certificate of that authority, it gives the secret away.
"""

import http.client
import json
import ssl
import time
from base64 import urlsafe_b64encode
from contextlib import suppress
from pathlib import Path

from weft.access.authority import fingerprint, is_due, new_key, request
from weft.access.badge import Role, badge_of, stranger
from weft.access.join_token import digest, read_token
from weft.errors import SurroundingsError, WeftError
from weft.live.address import Address
from weft.live.authority import write_credentials
from weft.live.operator import headers_of
from weft.live.secret_file import write_secret
from weft.live.tls import LEAST, cause_of, client_context, credentials_in

PATIENCE = 10.0  # seconds for an answer
USED = "token"  # file with the digest of the token that the credentials beside it were got for


def obtain_credentials(folder: Path, master: Address, name: str, join: str) -> None:
    """Write credentials into a folder that has none."""
    token = read_token(join)
    authority = _said(master, _context(None), "GET", "/authority", {}, "authority")
    if fingerprint(authority) != token.fingerprint:
        raise WeftError(f"What answers at {master} is not the master of the token: give another `master`.", "master")
    key = new_key()
    asked = {
        "name": name,
        "secret": urlsafe_b64encode(token.secret).decode(),
        "request": request(key, name).decode(),
    }
    write_credentials(folder, key, _said(master, _context(authority), "POST", "/join", asked, "certificate"), authority)
    write_secret(folder / USED, digest(token.secret).encode())


def join(folder: Path, master: Address, name: str, token: str) -> str:
    """Get credentials for a token, unless the folder has those that it was good for. What is wrong with a token that
    could not be used beside credentials that are there: the node goes on with these."""
    if not (folder / "certificate.pem").exists():
        obtain_credentials(folder, master, name, token)
        return ""
    used = digest(read_token(token).secret)
    with suppress(FileNotFoundError):
        if (folder / USED).read_text() == used:
            return ""
    try:
        obtain_credentials(folder, master, name, token)
    except SurroundingsError as error:
        return f"{error} The credentials that are there are used."
    except WeftError as error:
        write_secret(folder / USED, used.encode())  # it will never be good for anything
        return f"{error} The credentials that are there are used."
    return ""


def renew_credentials(folder: Path, master: Address) -> bool:
    """Get another certificate for the same key from the master, if it is time. Whether it was."""
    own = credentials_in(folder)
    if not is_due(own.certificate.read_bytes(), time.time()):
        return False
    asked = {"request": request((folder / "key.pem").read_bytes(), "renewal").decode()}
    write_secret(own.certificate, _said(master, client_context(own), "POST", "/renew", asked, "certificate"))
    return True


def _context(authority: bytes | None) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = LEAST
    context.check_hostname = False
    if authority is None:
        context.verify_mode = ssl.CERT_NONE
    else:
        context.load_verify_locations(cadata=authority.decode())
    return context


def _said(master: Address, context: ssl.SSLContext, method: str, path: str, body: dict[str, str], wanted: str) -> bytes:
    """What is wanted out of the master's answer, or the error that is in it."""
    connection = http.client.HTTPSConnection(master.host, master.port, timeout=PATIENCE, context=context)
    try:
        connection.connect()
        if context.verify_mode is not ssl.CERT_NONE:
            require_master(connection, master)
        connection.request(method, path, json.dumps(body), headers_of(connection))
        reply = json.loads(connection.getresponse().read())
    except (OSError, http.client.HTTPException, ValueError, RecursionError) as error:
        strange = isinstance(error, http.client.HTTPException)  # with bytes of the other's, which may be anything
        reason = "no answer" if strange else cause_of(error)
        raise SurroundingsError(
            f"The master at {master} does not answer as one that nodes can join ({reason}): see whether it runs, and "
            "with an authority."
        ) from error
    finally:
        connection.close()
    told = {key: value for key, value in reply.items() if isinstance(value, str)} if isinstance(reply, dict) else {}
    if "error" in told:
        raise WeftError(told["error"])
    if wanted not in told:
        raise SurroundingsError(f"What answers at {master} is no master of Weft's: give another `master`.", "master")
    return told[wanted].encode()


def require_master(connection: http.client.HTTPSConnection, master: Address) -> None:
    """Refuse to speak with anybody else."""
    problem = stranger(badge_of(connection.sock.getpeercert() or {}), Role.MASTER)
    if problem:
        raise SurroundingsError(f"What answers at {master} is no master of this cluster. {problem}")
