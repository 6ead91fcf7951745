"""TLS: contexts of listeners and dialers, from files that may be replaced while they are in use.

TLS 1.2 and 1.3; what is older is refused. A handshake that fails is logged, for asyncio is silent about it; one a
second at most, so that a flood does not fill the log.
"""

import ssl
from asyncio import BaseTransport
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from weft.access.badge import Badge, badge_of
from weft.errors import WeftError

LEAST = ssl.TLSVersion.TLSv1_2
INVALID = {  # by OpenSSL's number: the certificate of the other end
    9: "its certificate is not valid yet, by the clock here: see whether that is behind",
    10: "its certificate has expired, by the clock here: it needs another, or the clock is ahead",
}
ALERTS = {  # what the other end says of the certificate that was shown to it
    "CERTIFICATE_EXPIRED": "it says that the certificate shown to it has expired, by the clock there",
    "CERTIFICATE_REVOKED": "it says that the certificate shown to it was revoked",
    "UNKNOWN_CA": "it does not know the authority of the certificate shown to it",
    "BAD_CERTIFICATE": "it does not take the certificate shown to it, which may not be valid yet by the clock there",
    "CERTIFICATE_REQUIRED": "it needs a certificate, and was shown none",
}


@dataclass(frozen=True, slots=True)
class Credentials:
    """Files in PEM."""

    certificate: Path
    key: Path | None = None  # in the same file where there is none
    authority: Path | None = None  # whose certificates of the other end are taken

    @property
    def paths(self) -> tuple[Path, ...]:
        """Files that are read again."""
        return (self.certificate,) if self.key is None else (self.certificate, self.key)


def credentials_in(folder: Path) -> Credentials:
    """Credentials of somebody in a cluster, as live/authority.py writes them."""
    return Credentials(folder / "certificate.pem", folder / "key.pem", folder / "authority.pem")


def server_context(credentials: Credentials, required: bool = False) -> ssl.SSLContext:
    """Context of listeners; who has a certificate of the authority may show it, or must."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = LEAST
    _load(context, credentials)
    if credentials.authority is not None:
        _trust(context, credentials.authority)
        context.verify_mode = ssl.CERT_REQUIRED if required else ssl.CERT_OPTIONAL
    return context


def client_context(credentials: Credentials) -> ssl.SSLContext:
    """Context of who calls others of a cluster: these are known by their certificates, not by their addresses."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = LEAST
    context.check_hostname = False
    _load(context, credentials)
    assert credentials.authority is not None
    _trust(context, credentials.authority)
    return context


def reload(context: ssl.SSLContext, credentials: Credentials, write: Callable[..., None]) -> None:
    """Take the files as they are now for connections to come; unless they fit together, nothing changes."""
    try:
        _load(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), credentials)
    except WeftError as error:
        write("certificate_not_read", detail=str(error))
        return
    _load(context, credentials)
    write("certificate_read", detail=str(credentials.certificate))


class Refusals:
    """Handshakes that have failed, for the log."""

    def __init__(self, write: Callable[..., None], now: Callable[[], float]) -> None:
        self._write = write
        self._now = now
        self._told_at = 0.0
        self._untold = 0

    def add(self, error: OSError, peer: str) -> None:
        if not isinstance(error, ssl.SSLError):  # the connection has gone
            return
        if self._now() - self._told_at < 1.0:
            self._untold += 1
            return
        more = f", and {self._untold} more before" if self._untold else ""
        self._told_at, self._untold = self._now(), 0
        self._write("tls_refused", peer=peer, detail=f"{_reason(error)}{more}")


def peer_certificate(transport: BaseTransport) -> dict[str, Any] | None:
    """Certificate that the other end has shown and that was found good."""
    return transport.get_extra_info("peercert") or None


def peer_badge(transport: BaseTransport) -> Badge:
    """Badge that the other end has shown; nobody's, where it has shown nothing."""
    return badge_of(peer_certificate(transport) or {})


def peer_address(transport: BaseTransport) -> str:
    peer = transport.get_extra_info("peername")
    return f"{peer[0]}:{peer[1]}" if isinstance(peer, tuple) else ""


def peer_host(transport: BaseTransport) -> str:
    peer = transport.get_extra_info("peername")
    return str(peer[0]) if isinstance(peer, tuple) else ""


def cause_of(error: BaseException) -> str:
    """Why a connection failed, in words."""
    if isinstance(error, ssl.SSLCertVerificationError) and error.verify_code in INVALID:
        return INVALID[error.verify_code]
    if isinstance(error, ssl.SSLError):
        return next((words for name, words in ALERTS.items() if name in str(error)), _reason(error))
    return getattr(error, "strerror", None) or str(error)


def _reason(error: ssl.SSLError) -> str:
    verified = getattr(error, "verify_message", None)
    return str(verified or error.reason or error).replace("_", " ").lower()


def _load(context: ssl.SSLContext, credentials: Credentials) -> None:
    try:
        context.load_cert_chain(credentials.certificate, credentials.key)
    except (OSError, ssl.SSLError) as error:
        raise WeftError(f"{credentials.certificate} and its key cannot be used ({error}): give PEM files.") from error


def _trust(context: ssl.SSLContext, authority: Path) -> None:
    try:
        context.load_verify_locations(authority)
    except (OSError, ssl.SSLError) as error:
        raise WeftError(f"{authority} cannot be used ({error}): give certificates in PEM.") from error
