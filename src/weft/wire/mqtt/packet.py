"""Packets of MQTT as values, the same for all versions.

What a version does not have is empty: properties before MQTT 5, reason codes in acknowledgements of 3.1.1. `Version`
numbers are those that CONNECT carries.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import IntEnum

from weft.wire.mqtt.property import Properties
from weft.wire.mqtt.reason import Reason


class Version(IntEnum):
    V31 = 3
    V311 = 4
    V5 = 5


class Packet:
    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Will:
    topic: str
    payload: bytes
    qos: int = 0
    retain: bool = False
    properties: Properties = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Connect(Packet):
    client: str
    version: Version = Version.V311
    clean: bool = True  # 5: clean start
    keep_alive: int = 0  # seconds; 0 is none
    will: Will | None = None
    username: str | None = None
    password: bytes | None = None
    properties: Properties = field(default_factory=dict)
    bridge: bool = False  # before MQTT 5: it wants no local and retain as published for all that it subscribes to


@dataclass(frozen=True, slots=True)
class Connack(Packet):
    session_present: bool
    code: int  # a Reason, or a ConnectReturn before MQTT 5
    properties: Properties = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Publish(Packet):
    topic: str  # 5: may be empty with a topic alias
    payload: bytes
    qos: int = 0
    retain: bool = False
    dup: bool = False
    packet_id: int = 0  # 0 with QoS 0
    properties: Properties = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Acknowledgement(Packet):
    """What the four packets of the handshakes have in common."""

    packet_id: int
    reason: int = Reason.SUCCESS
    properties: Properties = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Puback(Acknowledgement):
    pass


@dataclass(frozen=True, slots=True)
class Pubrec(Acknowledgement):
    pass


@dataclass(frozen=True, slots=True)
class Pubrel(Acknowledgement):
    pass


@dataclass(frozen=True, slots=True)
class Pubcomp(Acknowledgement):
    pass


@dataclass(frozen=True, slots=True)
class Request:
    """One filter of a SUBSCRIBE, with its options. 3.1.1 has only the QoS."""

    filter: str
    qos: int = 0
    no_local: bool = False
    retain_as_published: bool = False
    retain_handling: int = 0  # 0 send retained messages, 1 only if the subscription is new, 2 do not


@dataclass(frozen=True, slots=True)
class Subscribe(Packet):
    packet_id: int
    requests: Iterable[Request]  # a tuple, or read as they are taken (parser.py)
    properties: Properties = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Suback(Packet):
    packet_id: int
    codes: tuple[int, ...]
    properties: Properties = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Unsubscribe(Packet):
    packet_id: int
    filters: Iterable[str]
    properties: Properties = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Unsuback(Packet):
    packet_id: int
    codes: tuple[int, ...] = ()  # none before MQTT 5
    properties: Properties = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Pingreq(Packet):
    pass


@dataclass(frozen=True, slots=True)
class Pingresp(Packet):
    pass


@dataclass(frozen=True, slots=True)
class Disconnect(Packet):
    reason: int = Reason.SUCCESS
    properties: Properties = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Auth(Packet):
    reason: int = Reason.SUCCESS
    properties: Properties = field(default_factory=dict)
