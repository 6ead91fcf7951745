"""What a driver tells a master, and what a master asks of its driver.

Connections are numbers that the driver gives out and does not use twice. Effects are carried out in order: what is
kept is in the store before anybody is told of it.
"""

from dataclasses import dataclass
from typing import Any

from weft.master.engine import Design, Job
from weft.master.record import Record
from weft.wire.frame import Frame


class Event:
    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Proved(Event):
    """The other end of a connection has shown the certificate of a node; it speaks for that node alone."""

    connection: int
    name: str


@dataclass(frozen=True, slots=True)
class Revoked(Event):
    """Certificates that are taken no more, all that there are."""

    names: tuple[tuple[str, float], ...]  # names, and until when nothing that was issued for them is taken


@dataclass(frozen=True, slots=True)
class Heard(Event):
    """A frame of a connection; the first is a Hello."""

    connection: int
    frame: Frame


@dataclass(frozen=True, slots=True)
class Closed(Event):
    """The connection is gone or silent, whoever ended it. Nothing more comes of it."""

    connection: int


@dataclass(frozen=True, slots=True)
class ClockRead(Event):
    """The other end of a connection has said what time it is there."""

    connection: int
    time: float  # seconds since 1970


@dataclass(frozen=True, slots=True)
class Asked(Event):
    """An operator wants something; the answer names the ticket."""

    ticket: int
    request: str  # status, explain, trace, redesign, snapshot, apply, leave
    options: dict[str, Any]


@dataclass(frozen=True, slots=True)
class CertificatesRead(Event):
    """When certificates of the cluster expire, in seconds since 1970, by whose they are."""

    ends: dict[str, float]


@dataclass(frozen=True, slots=True)
class Designed(Event):
    number: int  # of the effect that asked for it
    design: Design


@dataclass(frozen=True, slots=True)
class DesignFailed(Event):
    number: int
    reason: str


class Effect:
    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Tell(Effect):
    connection: int
    frame: Frame


@dataclass(frozen=True, slots=True)
class Close(Effect):
    """Close when everything is sent."""

    connection: int


@dataclass(frozen=True, slots=True)
class Keep(Effect):
    records: tuple[Record, ...]


@dataclass(frozen=True, slots=True)
class StartDesign(Effect):
    """Design beside everything else, and report."""

    number: int
    job: Job


@dataclass(frozen=True, slots=True)
class Answer(Effect):
    ticket: int
    reply: dict[str, Any]  # as JSON has it; with `error`, a sentence, where it was not done


@dataclass(frozen=True, slots=True)
class Note(Effect):
    """Something for the log."""

    event: str  # joined, left, failed, refused, unreachable, redesigned, ...
    node: str = ""
    detail: str = ""
