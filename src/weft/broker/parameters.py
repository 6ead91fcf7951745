"""Limits and times of a broker. The comment of a field is the rule that validation enforces."""

from dataclasses import dataclass, fields

from weft.errors import WeftError
from weft.wire.frame_codec import MOST_PUBLICATION

FOREVER = 0xFFFFFFFF  # seconds; MQTT 5 writes "never" so


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameters:
    connections: int = 100_000  # open at a time, at least 1; the next is refused
    connect_timeout: float = 10.0  # seconds from open to a complete CONNECT, above 0
    packet_bytes: int = 16 * 2**20  # of one packet from a client, 128 to 268,435,460, in a network to 50,331,648
    properties: int = 1_000  # user properties of one packet, at least 0
    message_bytes: int = 268_435_460  # of the payload of a publication or will, 0 to 268,435,460
    maximum_qos: int = 2  # of publications, wills and subscriptions, 0 to 2
    receive_maximum: int = 1_000  # publications of QoS 2 of a client that are not released, 1 to 65,535
    inflight: int = 1_000  # publications of QoS 1 and 2 that a client has not acknowledged, 1 to 65,535
    queue_messages: int = 100_000  # waiting in a session, at least 1; the next is dropped
    queue_bytes: int = 64 * 2**20  # of what waits in a session and of its will, at least 1
    topic_levels: int = 128  # of a name or filter, at least 1
    subscriptions: int = 100_000  # of a session, and filters of one packet, at least 1
    sessions: int = 100_000  # that outlive their connections, of all clients, at least 0; the next is refused
    user_sessions: int = 10_000  # of those, of one user, at least 0; clients without one are not counted
    retained_messages: int = 1_000_000  # of all topics, at least 0; 0 is none, and clients are told
    topic_aliases: int = 100  # that a client may set, 0 to 65,535
    keep_alive: int = 0  # seconds, the longest that a client may ask for, 0 to 65,535; 0 is any, and none
    session_expiry: int = FOREVER  # seconds, the longest that a session is kept, 0 to 4,294,967,295
    read_ahead: int = 2**20  # bytes of a client that are read while its publications have to wait, at least 0
    patience: float = 0.2  # seconds that publishers wait for a receiver that cannot keep up, at least 0
    cached_names: int = 100_000  # of topics whose receivers are known, at least 1
    sys_interval: float = 10.0  # seconds between updates of $SYS, at least 0; 0 is no $SYS
    linked: bool = False  # part of a network: publications and filters are told to other nodes

    @property
    def lane_bytes(self) -> int:
        """Size of a packet that no limit forbids, whatever its parts are."""
        return min(self.packet_bytes, self.message_bytes)

    def __post_init__(self) -> None:
        for name, (least, most) in _BOUNDS.items():
            value = getattr(self, name)
            if value < least or (most is not None and value > most):
                above = f" to {most:,}" if most is not None else " or more"
                raise WeftError(f"`{name}` is {value}: give {least:,}{above}.", name)
        if self.linked and self.packet_bytes > MOST_PUBLICATION:
            told = f"`packet_bytes` is {self.packet_bytes:,}: in a network give at most {MOST_PUBLICATION:,}."
            raise WeftError(told, "packet_bytes")
        if self.connect_timeout <= 0:
            raise WeftError(f"`connect_timeout` is {self.connect_timeout}: give seconds above 0.", "connect_timeout")


_BOUNDS: dict[str, tuple[int, int | None]] = {
    "connections": (1, None),
    "packet_bytes": (128, 268_435_460),
    "properties": (0, None),
    "message_bytes": (0, 268_435_460),
    "maximum_qos": (0, 2),
    "receive_maximum": (1, 65_535),
    "inflight": (1, 65_535),
    "queue_messages": (1, None),
    "queue_bytes": (1, None),
    "topic_levels": (1, None),
    "subscriptions": (1, None),
    "sessions": (0, None),
    "user_sessions": (0, None),
    "retained_messages": (0, None),
    "topic_aliases": (0, 65_535),
    "keep_alive": (0, 65_535),
    "session_expiry": (0, FOREVER),
    "read_ahead": (0, None),
    "patience": (0, None),
    "cached_names": (1, None),
    "sys_interval": (0, None),
}
NAMES = frozenset(one.name for one in fields(Parameters)) - {"linked"}  # that an operator sets
