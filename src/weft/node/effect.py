"""What a driver tells a node besides what it tells a broker, and what a node asks of it besides.

Peers are nodes by number; MASTER is the master. A link is there from `Linked` to `Unlinked`, after both ends have said
Hello; what was told to a peer between the two may or may not have arrived. Frames of one link arrive in order.
"""

from dataclasses import dataclass

from weft.broker.effect import Effect, Event
from weft.wire.frame import MASTER as MASTER
from weft.wire.frame import Frame, Peer


@dataclass(frozen=True, slots=True)
class Linked(Event):
    """A link with a peer, or with the master, is there from now on."""

    peer: int
    round_trip: float = 0.0  # milliseconds, of Hello


@dataclass(frozen=True, slots=True)
class Unlinked(Event):
    peer: int


@dataclass(slots=True)  # made for every read, so not frozen
class Heard(Event):
    """Frames of a peer, all that one read brought."""

    peer: int
    frames: tuple[Frame, ...]


@dataclass(frozen=True, slots=True)
class LinkCongested(Event):
    """More bytes wait for a peer than the driver likes to keep."""

    peer: int


@dataclass(frozen=True, slots=True)
class LinkDrained(Event):
    peer: int


@dataclass(frozen=True, slots=True)
class Synced(Event):
    """The journal is on the disk up to a position."""

    position: int


@dataclass(slots=True)  # made for every read, so not frozen
class Tell(Effect):
    """Send a frame. What is told to one peer in one event is best written at once."""

    peer: int
    frame: Frame


@dataclass(frozen=True, slots=True)
class Link(Effect):
    """Make a link with a peer: open it, again and again, if this end opens it; else take it."""

    peer: Peer


@dataclass(frozen=True, slots=True)
class Unlink(Effect):
    """Take away the link with a node."""

    node: int


@dataclass(frozen=True, slots=True)
class Break(Effect):
    """End the connection with a peer, or the master, that has said what cannot be read; a link that is wanted is made
    again. For the node it is lost already.
    """

    peer: int
    reason: str


@dataclass(frozen=True, slots=True)
class Named(Effect):
    """The master has given this node its number, which is to be kept with its data."""

    node: int


@dataclass(frozen=True, slots=True)
class Revoked(Effect):
    """Take none of these certificates any more, and remember that across a restart."""

    names: tuple[tuple[str, float], ...]  # names, and until when nothing that was issued for them is taken


@dataclass(frozen=True, slots=True)
class Left(Effect):
    """End now: after `Stopping`, everybody has what this node's clients published, or has had time for it."""


@dataclass(frozen=True, slots=True)
class Turned(Effect):
    """The master refuses this node: nothing will come of it."""

    reason: str
