"""Badges: who a certificate says somebody is. It has a name, and in a cluster the role that its authority has given it.

The role stands in the organizational unit. One authority signs for a cluster, so no certificate of another has one.
"""

import ssl
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

EARLY = 300.0  # seconds before it is issued from which a certificate holds, for clocks that are behind


class Role(StrEnum):
    MASTER = "master"
    NODE = "node"
    OPERATOR = "operator"  # may change the network
    READER = "reader"  # may look at it
    CLIENT = "client"  # of MQTT, the user that it names


@dataclass(frozen=True, slots=True)
class Badge:
    name: str = ""
    role: Role | None = None
    serial: str = ""  # in hexadecimal digits
    hosts: tuple[str, ...] = ()  # by which it is reached, besides its name
    issued: float = 0.0  # seconds since 1970
    ends: float = 0.0
    is_revoked: bool = False  # and then without a role

    def revoked(self) -> "Badge":
        """The same one as nobody's, which it is from now on."""
        return replace(self, role=None, is_revoked=True)


def badge_of(certificate: dict[str, Any]) -> Badge:
    """Badge out of a certificate as Python's `getpeercert` gives it. A name that is there twice is none."""
    said: dict[str, list[str]] = {}
    for part in certificate.get("subject", ()):
        for field, value in part:
            said.setdefault(field, []).append(value)
    units = [one for one in said.get("organizationalUnitName", ()) if one in list(Role)]
    names = said.get("commonName", ())
    role = Role(units[0]) if len(units) == 1 else None
    name = names[0] if len(names) == 1 else ""
    hosts = tuple(host for _, host in certificate.get("subjectAltName", ()) if host != name)
    issued, ends = _time(certificate.get("notBefore"), EARLY), _time(certificate.get("notAfter"))
    return Badge(name, role, certificate.get("serialNumber", ""), hosts, issued, ends)


def _time(text: str | None, later: float = 0.0) -> float:
    """Seconds since 1970; what does not say when is of long ago."""
    return 0.0 if text is None else ssl.cert_time_to_seconds(text) + later


def stranger(badge: Badge, role: Role, name: str | None = None) -> str:
    """What speaks against taking somebody for who it should be, in a sentence."""
    if badge.is_revoked:
        return f"The certificate of {badge.name} was revoked: get another for this {role.value} from `weft ca`."
    if badge.role is not role:
        return f"It has shown no certificate of a {role.value} of this cluster."
    if name is not None and badge.name != name:
        return f"It has the certificate of {badge.name} and says that it is {name or 'nobody'}."
    return ""


READING = frozenset({"status", "explain", "trace", "snapshot"})  # requests to a master that change nothing


def ask_refusal(badge: Badge | None, request: str) -> str:
    """What speaks against answering a request, in a sentence; no badge is a master without certificates."""
    if badge is None or badge.role is Role.OPERATOR or (badge.role is Role.READER and request in READING):
        return ""
    if badge.is_revoked:
        return f"The certificate of {badge.name} was revoked: get another from `weft ca`."
    if badge.role is Role.READER:
        return f"{badge.name} may look and not change: {request} needs the certificate of an operator."
    return "Only operators may ask: give the certificate of one."
