"""A connection: what of a client ends with it."""

from collections.abc import Iterator

from weft.access.guard import HERE, Known, Question, Visitor
from weft.broker.alias import InboundAliases, OutboundAliases
from weft.broker.publication import Publication
from weft.broker.session import Session
from weft.broker.subscription import Subscription
from weft.broker.unread import Unread
from weft.wire.mqtt.packet import Connect, Version

Given = tuple[Subscription, Iterator[Publication | None]]

NO_LIMIT = 2**32
NOBODY = Known()


class Connection:
    """Ten thousand of them are idle: what is seldom used is made when it is."""

    __slots__ = (
        "after",
        "aliases",
        "allowed",
        "bridge",
        "burst",
        "closing",
        "congested",
        "given",
        "heard",
        "holds",
        "is_due",
        "keep_alive",
        "known",
        "largest",
        "made",
        "number",
        "out",
        "outbound_aliases",
        "outstanding",
        "paused",
        "question",
        "refusals",
        "said",
        "session",
        "stuck",
        "touched",
        "unread",
        "version",
        "visitor",
        "waiting",
        "wants_reasons",
        "window",
        "work",
    )

    def __init__(self, number: int, now: float, visitor: Visitor = HERE) -> None:
        self.number = number
        self.visitor = visitor
        self.version: Version | None = None  # None until CONNECT
        self.bridge = False  # of another broker
        self.session: Session | None = None
        self.waiting: Connect | None = None  # until the password is checked, and the network asked for the session
        self.question: Question | None = None  # that the password is the answer to
        self.known = NOBODY  # who the client is, and what has proved it
        self.allowed: set[bytes] | None = None  # names that it may publish on, as far as that is known; None is any
        self.refusals = 0  # kinds of what it was refused, which the log has
        self.unread: Unread | None = None  # what has come and is not handled
        self.work: Iterator[int] | None = None  # what is left to do of a packet that was handled in part
        self.holds = 0  # reasons why nothing of it is handled (hold.py)
        self.paused = False  # the driver reads no more of it
        self.is_due = False  # has a turn to come (backlog.py)
        self.heard = now  # when the client last said something, a whole packet
        self.keep_alive = 0.0  # seconds of silence until it is closed; 0 is any
        self.closing = False
        # to the client
        self.out: list[bytes] = []  # what this event leads to
        self.burst: list[bytes] = []  # behind it: publications of QoS 0, which a client that is stuck does not get
        self.after = 0  # position that `out` waits for
        self.made = 0  # bytes that this event has brought it
        self.touched = False  # is in the list of those to flush
        self.given: dict[str, Given] | None = None  # retained messages that it is to be sent, by filter (giving.py)
        self.window = 0  # publications of QoS 1 and 2 that may be open
        self.outstanding = 0  # that are
        self.largest = NO_LIMIT  # bytes of a packet
        self.wants_reasons = True  # reason strings and user properties beside PUBLISH
        self.said = False  # something with QoS 2: a client begins with what it has not released
        self.aliases: InboundAliases | None = None
        self.outbound_aliases: OutboundAliases | None = None
        # when it cannot keep up
        self.congested = 0  # who says so: the driver, the network (effect.py)
        self.stuck = False  # for longer than publishers wait for it

    @property
    def client(self) -> str:
        """Name of the client's session; empty until it has one."""
        return self.session.client if self.session is not None else ""

    def is_heard(self) -> bool:
        """Whether a packet can be handled now."""
        unread = self.unread
        is_there = unread is not None and 0 < unread.size >= unread.need
        return is_there and not self.holds and self.work is None and not self.closing

    def quit(self) -> None:
        """Nothing more is done for it."""
        self.unread = self.work = self.given = None

    def is_plain(self, packet_bytes: int) -> bool:
        """Whether it takes publications as the bytes that another client sent."""
        return self.largest >= packet_bytes and self.outbound_aliases is None
