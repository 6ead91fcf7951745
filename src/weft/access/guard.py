"""The guard of a broker: who a client is, and what it may do.

A client proves who it is by a certificate, a token, or a password. A password is checked elsewhere, for it takes long:
the guard then gives a `Question`, and is told the answer. Who proves nothing is anonymous, where that is allowed.

Without users, tokens and an authority for certificates nobody can prove anything, and everybody may do everything, as
long as the listener is one for anonymous clients (of the loopback, or by the operator's word). With any of them there
are rights, and what they do not grant is denied.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from weft.access.limit import Callers, Limits, network_of
from weft.access.name import is_client, is_level, is_user, parted
from weft.access.password import NOBODY, Kept, Recent
from weft.access.rights import Granted, Rights
from weft.access.user import Users
from weft.wire.mqtt.packet import Connect
from weft.wire.mqtt.reason import PacketError, Reason

if TYPE_CHECKING:
    from weft.access.web_token import TokenKey  # which needs a library that most brokers do without

SYS = "$SYS/"  # what the broker says of itself
WRONG = "User name or password is wrong."
REMEMBERED, SHORT = 50_000, 256  # sessions whose rights are at hand, and characters of their names


@dataclass(frozen=True, slots=True)
class Visitor:
    """What is known of a connection before it says anything."""

    host: str = ""  # address that it comes from
    certificate: str | None = None  # name in the certificate that it has shown
    anonymous: bool = True  # its listener takes clients that do not say who they are


HERE = Visitor()


@dataclass(frozen=True, slots=True)
class Access:
    """What the files say: all of it is replaced when one of them changes."""

    users: Users | None = None  # None: there are none
    rights: Rights | None = None  # None: everybody may everything
    tokens: "TokenKey | None" = None


@dataclass(frozen=True, slots=True)
class Known:
    """A client, and who it is."""

    user: str = ""  # empty: anonymous
    until: float | None = None  # when that ends
    proof: "Kept | TokenKey | None" = None  # the password or key that proved it; none of ours has for a certificate


@dataclass(frozen=True, slots=True)
class Question:
    """Whether a password is the right one."""

    user: str
    password: bytes
    kept: Kept
    turn: str  # who waits for its turn with it: the address, or on the loopback the user


class Guard:
    def __init__(self, access: Access | None = None, limits: Limits | None = None, secret: bytes = b"") -> None:
        self._access = access or Access()
        self._limits = limits or Limits()
        self._callers = Callers(self._limits)
        self._recent = Recent(secret)
        self._granted: dict[str, Granted] = {}  # by name of the session

    # Coming in

    @property
    def most_checks(self) -> int:
        """Passwords that may wait to be checked."""
        return self._limits.password_checks

    def open(self, visitor: Visitor, now: float) -> bool:
        """Whether there may be one more connection from where it comes."""
        return self._callers.open(visitor.host, now)

    def close(self, visitor: Visitor) -> None:
        self._callers.close(visitor.host)

    def identify(self, visitor: Visitor, packet: Connect, now: float) -> Known | Question:
        """Find out who says CONNECT, or what has to be checked for that. A refusal is raised."""
        if not self._callers.attempt(visitor.host, now):
            raise PacketError(Reason.CONNECTION_RATE_EXCEEDED, "Too many attempts to connect from this address.")
        if visitor.certificate is not None:
            return self._by_certificate(visitor.certificate, packet)
        if packet.password is None:
            return self._anonymous(visitor, packet, now)
        if self._access.tokens is not None and self._access.tokens.is_like(packet.password):
            known = self._by_token(self._access.tokens, visitor, packet, now)
            if known is not None:
                return known
        if self._access.users is None and self._access.rights is None:
            return self._anonymous(visitor, packet, now)
        return self._by_password(visitor, packet, now)

    def answer(self, question: Question, right: bool, visitor: Visitor, now: float) -> Known:
        """Find out who that is whose password was checked. It may be another by now."""
        known = Known(question.user, proof=question.kept)
        if not right or not self.holds(known):
            self._callers.confirm_failure(visitor.host, now)
            raise PacketError(Reason.BAD_USER_NAME_OR_PASSWORD, WRONG)
        self._callers.succeed(visitor.host, was_checked=True)
        self._recent.note(question.user, question.kept, question.password)
        return known

    def withdraw(self, visitor: Visitor) -> None:
        """A password is not checked after all."""
        self._callers.withdraw(visitor.host)

    def check(self, known: Known, packet: Connect) -> None:
        """Raise what speaks against a client id and a will of somebody who is known."""
        if not is_client(packet.client, known.user):
            raise PacketError(Reason.CLIENT_IDENTIFIER_NOT_VALID, "The client id is too long, or has U+001F in it.")
        rights = self._access.rights
        if rights is not None and rights.names_clients and packet.client and not is_level(packet.client):
            raise PacketError(Reason.CLIENT_IDENTIFIER_NOT_VALID, "A client id has no / + # here, and no $ in front.")
        granted = rights.of(known.user, packet.client) if rights is not None else None
        will = packet.will
        if will is not None and not _may_write(granted, will.topic) and not _is_state_of_bridge(will.topic):
            raise PacketError(Reason.NOT_AUTHORIZED, "The client may not publish its will.")

    # Being in

    @property
    def is_open(self) -> bool:
        """Whether everybody may do everything."""
        return self._access.rights is None

    def may_write(self, session: str, name: str) -> bool:
        rights = self._access.rights
        return _may_write(None if rights is None else self._rights_of(rights, session), name)

    def may_read(self, session: str, pattern: str) -> bool:
        """Whether all may be read that a filter or name stands for."""
        return self._access.rights is None or self._rights_of(self._access.rights, session).may_read(pattern)

    def renew(self, access: Access) -> None:
        """Take what the files say now."""
        self._access = access
        self._granted.clear()

    def holds(self, known: Known) -> bool:
        """Whether what has proved who somebody is would still do."""
        if isinstance(known.proof, Kept):
            return (self._access.users or {}).get(known.user) == known.proof
        return known.proof is None or known.proof == self._access.tokens

    def _rights_of(self, rights: Rights, session: str) -> Granted:
        granted = self._granted.get(session)
        if granted is not None:
            return granted
        granted = rights.of(*parted(session))
        if len(session) <= SHORT:
            if len(self._granted) >= REMEMBERED:
                self._granted.clear()
            self._granted[session] = granted
        return granted

    # Proofs

    def _by_certificate(self, name: str, packet: Connect) -> Known:
        if not is_user(name):
            raise PacketError(Reason.BAD_USER_NAME_OR_PASSWORD, "The certificate names nobody who could be a user.")
        if packet.username not in (None, name):
            raise PacketError(Reason.BAD_USER_NAME_OR_PASSWORD, "The user name is not that of the certificate.")
        return Known(name)

    def _anonymous(self, visitor: Visitor, packet: Connect, now: float) -> Known:
        if packet.username and not (self._access.users is None and self._access.rights is None):
            self._refuse(visitor, now)
        if not visitor.anonymous:
            raise PacketError(Reason.NOT_AUTHORIZED, "A client has to say who it is.")
        return Known()

    def _by_token(self, key: "TokenKey", visitor: Visitor, packet: Connect, now: float) -> Known | None:
        """User of a token; none where it is not taken and may be a password, since somebody could have one."""
        self._require_patience(visitor, now)
        try:
            user, until = key.verify(packet.password or b"", now)
            if packet.username not in (None, "", user):
                raise PacketError(Reason.BAD_USER_NAME_OR_PASSWORD, "The user name is not that of the token.")
        except PacketError:
            if packet.username and self._access.users is not None:
                return None
            self._callers.fail(visitor.host, now)
            raise
        self._callers.succeed(visitor.host)
        return Known(user, until, key)

    def _by_password(self, visitor: Visitor, packet: Connect, now: float) -> Known | Question:
        user, password = packet.username or "", packet.password or b""
        kept = (self._access.users or {}).get(user, NOBODY)
        if kept is not NOBODY and self._recent.knows(user, kept, password):
            return Known(user, proof=kept)
        self._require_patience(visitor, now)
        self._callers.suspect(visitor.host, now)
        return Question(user, password, kept, network_of(visitor.host) or f"/{user}")

    def _require_patience(self, visitor: Visitor, now: float) -> None:
        if self._callers.must_wait(visitor.host, now):
            raise PacketError(Reason.CONNECTION_RATE_EXCEEDED, "Too many log-ins from this address have failed.")

    def _refuse(self, visitor: Visitor, now: float) -> None:
        self._callers.fail(visitor.host, now)
        raise PacketError(Reason.BAD_USER_NAME_OR_PASSWORD, WRONG)


def _may_write(granted: Granted | None, name: str) -> bool:
    """Whether who has these rights, or none that anything is denied by, may publish on a name."""
    return not name.startswith(SYS) and (granted is None or granted.may_write(name))


def _is_state_of_bridge(name: str) -> bool:
    """Whether a will is that of Mosquitto's bridges, which they have by default. It is taken, and not passed on."""
    levels = name.split("/")
    return len(levels) == 5 and levels[:3] == ["$SYS", "broker", "connection"] and levels[4] == "state"
