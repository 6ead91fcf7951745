"""The word with which a new node asks the master for its certificate, once.

    SECRET.FINGERPRINT        16 bytes by chance, SHA-256 of the authority's certificate; base64url

The fingerprint tells the node that it speaks with the right master before it gives the secret away. The authority keeps
no secret: an invitation is known by the secret's digest, and is taken away when it is used.
"""

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error
from dataclasses import asdict, dataclass
from hashlib import sha256

from weft.errors import WeftError

SECRET_BYTES = 16
HOUR = 3600.0


@dataclass(frozen=True, slots=True)
class JoinToken:
    secret: bytes
    fingerprint: bytes

    def __str__(self) -> str:
        return f"{_text(self.secret)}.{_text(self.fingerprint)}"


@dataclass(frozen=True, slots=True)
class Invitation:
    """What a token stands for."""

    name: str  # of the node
    until: float  # seconds since 1970
    hosts: tuple[str, ...] = ()  # for its certificate; where it calls from, where there are none


def read_token(text: str) -> JoinToken:
    secret, _, fingerprint = text.strip().partition(".")
    try:
        token = JoinToken(_bytes(secret), _bytes(fingerprint))
    except (ValueError, Error) as error:
        raise WeftError("`join` is no token: give what `weft ca token` has printed.", "join") from error
    if len(token.secret) != SECRET_BYTES or len(token.fingerprint) != 32:
        raise WeftError("`join` is not a whole token: give all that `weft ca token` has printed.", "join")
    return token


def digest(secret: bytes) -> str:
    """Name that an invitation is kept by."""
    return sha256(secret).hexdigest()


def write_invitation(invitation: Invitation) -> bytes:
    return json.dumps(asdict(invitation)).encode()


def read_invitation(data: bytes) -> Invitation:
    kept = json.loads(data)
    return Invitation(kept["name"], kept["until"], tuple(kept["hosts"]))


def refusal(invitation: Invitation | None, name: str, now: float) -> str:
    """What speaks against letting a node in, in a sentence; nothing, where nothing does."""
    if invitation is None:
        return "The token is not known, or was used before: make another with `weft ca token`."
    if now >= invitation.until:
        return "The token is too old: make another with `weft ca token`."
    if name != invitation.name:
        return f"The token is for {invitation.name}, not for {name}: make another with `weft ca token`."
    return ""


def _text(raw: bytes) -> str:
    return urlsafe_b64encode(raw).decode().rstrip("=")


def _bytes(text: str) -> bytes:
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))
