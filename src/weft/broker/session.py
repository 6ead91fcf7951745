"""A session: what of a client outlives its connection, and for how long."""

from collections import Counter, deque
from typing import TYPE_CHECKING, NamedTuple

from weft.broker.parameters import FOREVER
from weft.broker.publication import Delivery, Origin
from weft.broker.queue import Queue
from weft.broker.subscription import Subscription
from weft.wire.mqtt.packet import Version, Will
from weft.wire.mqtt.property import write_properties

if TYPE_CHECKING:
    from weft.broker.connection import Connection

IDENTIFIERS = 65_535
LATE = 2**63  # in the place of a position: the client may have released it since, here or elsewhere


class Receipt(NamedTuple):
    """QoS 2 from a client, which it has not released."""

    position: int  # of the journal, which knows it from there on
    content: int  # checksum of the publication
    others: frozenset[int] = frozenset()  # of those that may have come under its identifier instead, where it is LATE

    def joined(self, other: "Receipt") -> "Receipt":
        """What two nodes know of one identifier: any of theirs may be it, if both are LATE."""
        if self.position != LATE:
            return self
        if other.position != LATE:
            return other
        return self._replace(others=(self.others | other.others | {other.content}) - {self.content})

    def may_be(self, content: int) -> bool:
        return content == self.content or content in self.others


def size_of(will: Will) -> int:
    return len(will.topic.encode()) + len(will.payload) + len(write_properties(will.properties))


class Session:
    """Ten thousand of them are idle: what is seldom used is made when it is."""

    __slots__ = (
        "alone",
        "client",
        "coming",
        "connection",
        "counted",
        "doubted",
        "ended",
        "expiry",
        "filter_bytes",
        "gathering",
        "had",
        "inflight",
        "last",
        "left",
        "next_id",
        "queue",
        "received",
        "recorded",
        "resend",
        "serial",
        "shapes",
        "subscriptions",
        "unsure",
        "version",
        "will",
        "will_due",
    )

    def __init__(self, client: str, serial: int, version: Version, expiry: int) -> None:
        self.client = client
        self.serial = serial  # tells sessions apart, also those of one client after one another
        self.version = version
        self.expiry = expiry  # seconds that it is kept without a connection
        self.ended = False  # it has yet to leave its filters
        self.connection: Connection | None = None
        self.left: float | None = None  # when the client left
        self.subscriptions: dict[str, Subscription] = {}
        self.filter_bytes = 0  # of these
        self.shapes: Counter[str] | None = None  # of its filters, once it has many (subscriptions.py)
        self.queue = Queue()
        self.inflight: dict[int, Delivery] = {}  # sent and not acknowledged, by packet identifier, in order
        self.resend: deque[Delivery] | None = None  # of those, what this connection has not been sent yet
        self.received: dict[int, Receipt] = {}  # by packet identifier
        self.doubted: frozenset[int] = frozenset()  # of those, in a network: it may have released them at another node
        self.next_id = 1
        # In a network: publications that it was given, here or at a node before, and since when they cannot come again
        self.had: dict[Origin, float] = {}
        self.coming: frozenset[Origin] = frozenset()  # those that it was given where more of it is still to come from
        self.gathering = False  # in a network: more of it is on its way from another node, and nothing is sent before
        self.unsure = False  # in a network: another node may have it by now
        self.alone = False  # in a network: its client was let in without the master, which may know of more of it
        self.recorded = False  # the journal knows of it
        self.counted = False  # in a network: other nodes have been told that it is persistent
        self.last = 0  # the highest number of a publication that it was given
        self.will: Will | None = None
        self.will_due: float | None = None  # when it will be sent, if the client stays away

    @property
    def persistent(self) -> bool:
        return self.expiry > 0

    @property
    def will_size(self) -> int:
        """Bytes that it takes beside what waits."""
        return size_of(self.will) if self.will is not None else 0

    def knows(self, origin: Origin | None) -> bool:
        """Whether it was given a publication."""
        return origin in self.had or origin in self.coming

    def is_ready(self) -> bool:
        """Whether a publication would reach the client at once."""
        return self.connection is not None and not self.connection.congested

    def expires(self) -> float | None:
        """When it ends, if the client does not come back."""
        if self.left is None or self.expiry == FOREVER:
            return None
        return self.left + self.expiry

    def new_identifier(self) -> int:
        """One that is not in use. There is one, for fewer are in flight than there are."""
        while self.next_id in self.inflight:
            self.next_id = self.next_id % IDENTIFIERS + 1
        taken = self.next_id
        self.next_id = taken % IDENTIFIERS + 1
        return taken
