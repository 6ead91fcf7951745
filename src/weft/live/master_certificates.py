"""Certificates at a master: whose are taken, which are issued and renewed, and those that were revoked."""

import asyncio
import json
import ssl
from base64 import urlsafe_b64decode
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from weft.access.badge import Badge, Role, stranger
from weft.access.revocation import Revocations
from weft.errors import WeftError
from weft.live.clock import Clock
from weft.live.http import Call
from weft.live.log import Log
from weft.live.revoked_file import KEPT
from weft.live.tls import credentials_in, peer_badge, peer_host, reload, server_context
from weft.live.watch import Stamp, Watch, stamp_of

if TYPE_CHECKING:
    from weft.live.authority import AuthorityFolder

UNREADABLE = (ValueError, KeyError, TypeError, AttributeError, RecursionError)


class Certificates:
    """The authority's folder in use."""

    def __init__(self, folder: Path, clock: Clock, log: Log) -> None:
        self.authority = _authority(folder)
        self._clock, self._log = clock, log
        self._stamp: Stamp | None = None
        self._known = Revocations()

    @property
    def revocations(self) -> Revocations:
        """What the file has now: `weft ca revoke` has ended when it is written."""
        stamp = stamp_of([self.authority.revoked])
        if stamp != self._stamp:
            self._stamp, self._known = stamp, self.authority.revocations()
        return self._known

    def revoked_names(self) -> tuple[tuple[str, float], ...]:
        """What nodes are told: names, and until when; without those whose certificates have all expired."""
        recent = self.revocations.along_with((), self._clock.now() - KEPT)
        return tuple(sorted(recent.until.items()))

    def ends(self) -> dict[str, float]:
        """When certificates expire, by whose they are; what cannot be read is left out."""
        try:
            return self.authority.ends()
        except (WeftError, ValueError) as error:
            self._log.write("certificates_not_read", detail=str(error))
            return {}

    def context(
        self, watch: Watch, revoked: Callable[[], None], read: Callable[[dict[str, float]], None]
    ) -> ssl.SSLContext:
        """TLS of the port. Its files are watched: `revoked` is called when a certificate may have been, and `read`
        when there are others."""
        credentials = credentials_in(self.authority.folder / "master")
        context = server_context(credentials)
        watch.add(credentials.paths, partial(reload, context, credentials, self._log.write))
        watch.add([self.authority.revoked], revoked)
        issued = [self.authority.folder / "issued", self.authority.revoked, *credentials.paths]
        watch.add(issued, lambda: read(self.ends()))
        read(self.ends())
        return context

    def badge_of(self, transport: asyncio.Transport) -> Badge:
        """Badge of who has called; one without a role for a certificate that was revoked."""
        badge = peer_badge(transport)
        if self.is_revoked(badge):
            self._log.write("revoked", detail=f"{peer_host(transport)} has shown a certificate of {badge.name}")
            return badge.revoked()
        return badge

    def is_revoked(self, badge: Badge) -> bool:
        return self.revocations.holds(badge)

    def join(self, request: Call) -> dict[str, Any]:
        """Certificate for a new node, which shows what it was invited with."""
        try:
            asked = json.loads(request.body)
            name, secret, wanted = str(asked["name"]), urlsafe_b64decode(asked["secret"]), asked["request"].encode()
            signed = self.authority.accept(secret, name, wanted, request.host)
        except UNREADABLE:
            return {"error": "The request to join cannot be read."}
        except (WeftError, OSError) as error:
            self._log.write("join_refused", peer=request.host, detail=str(error))
            return {"error": str(error)}
        self._log.write("certificate_issued", node=name, peer=request.host)
        return {"certificate": signed.decode()}

    def renew(self, request: Call, badge: Badge) -> dict[str, Any]:
        """Another certificate for a node, by that which it has."""
        problem = stranger(badge, Role.NODE)
        if problem:
            self._log.write("not_authorized", peer=request.host, detail=f"renewal: {problem}")
            return {"error": problem}
        try:
            wanted = json.loads(request.body)["request"].encode()
            signed = self.authority.renew(wanted, badge)
        except UNREADABLE:
            return {"error": "The request for a certificate cannot be read."}
        except (WeftError, OSError) as error:
            self._log.write("renewal_refused", node=badge.name, peer=request.host, detail=str(error))
            return {"error": str(error)}
        self._log.write("certificate_renewed", node=badge.name, peer=request.host)
        return {"certificate": signed.decode()}


def _authority(folder: Path) -> "AuthorityFolder":
    from weft.live.authority import AuthorityFolder  # with a library that a master without certificates does not need

    return AuthorityFolder(folder)
