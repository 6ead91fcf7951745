"""A connection: what of a client ends with it."""

from weft.access.guard import HERE, Question, Visitor
from weft.broker.alias import InboundAliases, OutboundAliases
from weft.broker.session import Session
from weft.wire.mqtt.packet import Connect, Version

NO_LIMIT = 2**32


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
        "heard",
        "held_for",
        "holding",
        "keep_alive",
        "largest",
        "need",
        "number",
        "out",
        "outbound_aliases",
        "outstanding",
        "pieces",
        "question",
        "refusals",
        "said",
        "session",
        "stuck",
        "touched",
        "version",
        "visitor",
        "waiting",
        "wants_reasons",
        "window",
    )

    def __init__(self, number: int, now: float, visitor: Visitor = HERE) -> None:
        self.number = number
        self.visitor = visitor
        self.version: Version | None = None  # None until CONNECT
        self.bridge = False  # of another broker
        self.session: Session | None = None
        self.waiting: Connect | None = None  # until the password is checked, and the network asked for the session
        self.question: Question | None = None  # that the password is the answer to
        self.allowed: set[bytes] | None = None  # names that it may publish on, as far as that is known; None is any
        self.refusals = 0  # kinds of what it was refused, which the log has
        self.pieces: bytearray | None = None  # of a packet that is not complete
        self.need = 0  # how many are worth another look
        self.heard = now  # when the client last said something, a whole packet
        self.keep_alive = 0.0  # seconds of silence until it is closed; 0 is any
        self.closing = False
        # to the client
        self.out: list[bytes] = []  # what this event leads to
        self.burst: list[bytes] = []  # behind it: publications of QoS 0, which a client that is stuck does not get
        self.after = 0  # position that `out` waits for
        self.touched = False  # is in the list of those to flush
        self.window = 0  # publications of QoS 1 and 2 that may be open
        self.outstanding = 0  # that are
        self.largest = NO_LIMIT  # bytes of a packet
        self.wants_reasons = True  # reason strings and user properties beside PUBLISH
        self.said = False  # something with QoS 2: a client begins with what it has not released
        self.aliases: InboundAliases | None = None
        self.outbound_aliases: OutboundAliases | None = None
        # when it cannot keep up
        self.congested = False
        self.stuck = False  # for longer than publishers wait for it
        self.holding: set[Connection] | None = None  # publishers that wait for it
        self.held_for = 0  # of how many it waits for

    @property
    def client(self) -> str:
        """Name of the client's session; empty until it has one."""
        return self.session.client if self.session is not None else ""

    def is_plain(self, packet_bytes: int) -> bool:
        """Whether it takes publications as the bytes that another client sent."""
        return self.largest >= packet_bytes and self.outbound_aliases is None
