"""What a driver tells a broker, and what a broker asks of its driver.

Connections are numbers that the driver gives out and does not use twice. Effects are carried out in order.

Durability: `Append` hands a record to the journal, which numbers records by position: the count of records so far. A
`Send` that names a position must not reach the client before the journal has that record; what goes to the same
connection behind it waits too, so that the order on a connection is kept.
"""

from collections.abc import Hashable, Set
from dataclasses import dataclass

from weft.access.guard import HERE, Access, Visitor
from weft.access.password import Kept
from weft.broker.publication import Origin, Publication
from weft.broker.subscription import Subscription
from weft.wire.content import Run


class Event:
    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Opened(Event):
    connection: int
    visitor: Visitor = HERE


@dataclass(slots=True)  # made for every read, so not frozen
class Received(Event):
    connection: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Closed(Event):
    """The connection is gone, whoever ended it. Nothing more comes of it."""

    connection: int


DRIVER, NETWORK = 1, 2  # where bytes wait for a client


@dataclass(frozen=True, slots=True)
class Congested(Event):
    """More bytes wait for the client than is good."""

    connection: int
    where: int = DRIVER


@dataclass(frozen=True, slots=True)
class Drained(Event):
    connection: int
    where: int = DRIVER


@dataclass(frozen=True, slots=True)
class Unwritten(Event):
    """More answers to the client wait for the journal than the driver likes to keep."""

    connection: int


@dataclass(frozen=True, slots=True)
class Written(Event):
    connection: int


@dataclass(frozen=True, slots=True)
class JournalFilled(Event):
    """The disk is full: nothing new can be promised."""


@dataclass(frozen=True, slots=True)
class JournalFreed(Event):
    pass


@dataclass(frozen=True, slots=True)
class Arrived(Event):
    """A publication of another node's client, for the clients of this one."""

    publication: Publication


@dataclass(frozen=True, slots=True)
class ArrivedTogether(Event):
    """Publications that came in one read."""

    publications: tuple[Publication | Run, ...]


@dataclass(frozen=True, slots=True)
class ArrivedForGroup(Event):
    """A publication for one member of a shared subscription, of this node by the choice of the issuer's."""

    publication: Publication
    filter: str  # $share/ included


@dataclass(frozen=True, slots=True)
class ArrivedForSession(Event):
    """A publication that went to the node where the client's session was before."""

    publication: Publication
    client: str


@dataclass(frozen=True, slots=True)
class ArrivedAgain(Event):
    """A publication that has come before: for kept sessions of these clients that have not been given it anywhere."""

    publication: Publication
    clients: Set[str]


@dataclass(frozen=True, slots=True)
class Admitted(Event):
    """No other node has the client's session any more: `Connecting` may go on."""

    connection: int


@dataclass(frozen=True, slots=True)
class SessionClaimed(Event):
    """The client has connected at another node: it is taken over."""

    client: str


ALL = ""  # among filters: every one


@dataclass(frozen=True, slots=True)
class SessionArrived(Event):
    """The client's session was at another node: its records, as `Broker.export` gave them."""

    records: tuple[bytes, ...]
    had: frozenset[Origin] = frozenset()  # publications that it was given there, and that may come here still
    known: frozenset[str] | None = None  # filters that, missing here, were given up here; None: the records' are right
    partial: bool = False  # what the client was given there is not known yet: nothing is sent until SessionGathered
    old: frozenset[str] = frozenset()  # filters that, missing in the records, were given up there since


@dataclass(frozen=True, slots=True)
class SessionComing(Event):
    """More of the client's session comes later: what the client has said or got where that is, is no news here."""

    client: str
    received: tuple[tuple[int, int], ...]  # identifiers of QoS 2 that it has not released, checksums of what came
    late: bool = False  # it may have done so since, at yet another node
    given: frozenset[Origin] = frozenset()  # publications that it was sent


@dataclass(frozen=True, slots=True)
class SessionOutdated(Event):
    """Another node has had the client's session since: what it had not released here it may have released there."""

    client: str


@dataclass(frozen=True, slots=True)
class SessionGathered(Event):
    """Nothing more of a session comes from other nodes, or not soon."""

    client: str


@dataclass(frozen=True, slots=True)
class SessionMoved(Event):
    """The client's session is another node's from now on: it ends here, without a will. Or it is nobody's."""

    client: str
    ended: bool = False  # the client wants none: as if it had come here with a clean start


@dataclass(frozen=True, slots=True)
class PasswordChecked(Event):
    """Whether a password is the one that `CheckPassword` asked for."""

    connection: int
    right: bool


@dataclass(frozen=True, slots=True)
class AccessChanged(Event):
    """Users or rights are others than before."""

    access: Access


@dataclass(frozen=True, slots=True)
class Stopping(Event):
    """The node shuts down in order: clients are told, wills are not sent, sessions are kept."""


class Effect:
    __slots__ = ()


@dataclass(slots=True)  # made for every read, so not frozen
class Send(Effect):
    connection: int
    data: bytes
    after: int = 0  # position in the journal; 0 is at once


@dataclass(frozen=True, slots=True)
class Unsay(Effect):
    """Drop what was to be sent and has not left: the client may not have it any more. If a part has, close at once."""

    connection: int


@dataclass(frozen=True, slots=True)
class Close(Effect):
    """Close when everything is sent."""

    connection: int


@dataclass(frozen=True, slots=True)
class Append(Effect):
    record: bytes


@dataclass(frozen=True, slots=True)
class Hold(Effect):
    """Read no more from a connection, for what it has sent has to wait, and there is no room for more of it."""

    connection: int


@dataclass(frozen=True, slots=True)
class Resume(Effect):
    connection: int


@dataclass(frozen=True, slots=True)
class Accepted(Effect):
    """A client of this node has published, and its other clients have it: the network's turn. Only where linked."""

    publication: Publication


@dataclass(frozen=True, slots=True)
class AcceptedRun(Effect):
    """The same of many publications of QoS 0 that go the same way."""

    lead: Hashable  # where that is, as `Issuer.lead` has said
    run: Run


@dataclass(frozen=True, slots=True)
class FilterHeld(Effect):
    """A filter is held from now on, or by more or fewer, or by nobody any more. Only where linked."""

    filter: str  # as clients wrote it, $share/ included
    members: int  # sessions, where it is shared; else any number above 0
    persistent: bool


@dataclass(frozen=True, slots=True)
class FilterAsked(Effect):
    """A client has subscribed to a filter, which others may hold already. Only where linked."""

    connection: int
    filter: str
    kept: bool  # by a session that may be away


@dataclass(frozen=True, slots=True)
class Granted(Effect):
    """What the connection is sent next is the answer to all filters that it has asked for. Only where linked."""

    connection: int


@dataclass(frozen=True, slots=True)
class Connecting(Effect):
    """A client wants in, whose session this node does not have: `Admitted` lets it. Only where linked."""

    connection: int
    client: str
    clean: bool


@dataclass(frozen=True, slots=True)
class SessionHere(Effect):
    """A session has come to this node, or its terms have changed. Only where linked."""

    client: str


@dataclass(frozen=True, slots=True)
class SessionSubscribed(Effect):
    """A persistent session holds a filter, with these options, or no more. Only where linked."""

    client: str
    filter: str
    subscription: Subscription | None


@dataclass(frozen=True, slots=True)
class SessionGone(Effect):
    client: str


@dataclass(frozen=True, slots=True)
class Declined(Effect):
    """The last member of a shared subscription here has ended before it took a publication. Only where linked."""

    publication: Publication
    filter: str


@dataclass(frozen=True, slots=True)
class Repeated(Effect):
    """A client has said a publication of QoS 2 again, which is answered as the first time. Only where linked."""

    connection: int
    client: str


@dataclass(frozen=True, slots=True)
class LetIn(Effect):
    """Count a connection no more among those of which nothing is known: its client has proved who it is."""

    connection: int


@dataclass(frozen=True, slots=True)
class CheckPassword(Effect):
    """Find out beside, for it takes long: `PasswordChecked` is the answer."""

    connection: int
    password: bytes
    kept: Kept


@dataclass(frozen=True, slots=True)
class Note(Effect):
    """Something for the log."""

    event: str  # connected, disconnected, refused, taken_over, dropped, ...
    connection: int  # 0 is none
    client: str = ""
    detail: str = ""
