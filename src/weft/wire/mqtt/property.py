"""Properties of MQTT 5: one table says of each its type, the packets that it may be in, and what values it may have.

Properties of a packet are a dictionary by identifier. The two that may come more than once have tuples of all their
values, in order. Values are checked as they are read, so that nobody behind the parser asks again. The reader says how
many there may be of what may come more than once, and nothing behind one more is read.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from weft.wire.mqtt import field as f
from weft.wire.mqtt.reason import malformed, protocol_error, quota_exceeded


class Property(IntEnum):
    PAYLOAD_FORMAT_INDICATOR = 0x01
    MESSAGE_EXPIRY_INTERVAL = 0x02  # seconds
    CONTENT_TYPE = 0x03
    RESPONSE_TOPIC = 0x08
    CORRELATION_DATA = 0x09
    SUBSCRIPTION_IDENTIFIER = 0x0B
    SESSION_EXPIRY_INTERVAL = 0x11  # seconds
    ASSIGNED_CLIENT_IDENTIFIER = 0x12
    SERVER_KEEP_ALIVE = 0x13  # seconds
    AUTHENTICATION_METHOD = 0x15
    AUTHENTICATION_DATA = 0x16
    REQUEST_PROBLEM_INFORMATION = 0x17
    WILL_DELAY_INTERVAL = 0x18  # seconds
    REQUEST_RESPONSE_INFORMATION = 0x19
    RESPONSE_INFORMATION = 0x1A
    SERVER_REFERENCE = 0x1C
    REASON_STRING = 0x1F
    RECEIVE_MAXIMUM = 0x21
    TOPIC_ALIAS_MAXIMUM = 0x22
    TOPIC_ALIAS = 0x23
    MAXIMUM_QOS = 0x24
    RETAIN_AVAILABLE = 0x25
    USER_PROPERTY = 0x26
    MAXIMUM_PACKET_SIZE = 0x27  # bytes
    WILDCARD_SUBSCRIPTION_AVAILABLE = 0x28
    SUBSCRIPTION_IDENTIFIER_AVAILABLE = 0x29
    SHARED_SUBSCRIPTION_AVAILABLE = 0x2A


Properties = dict[Property, Any]

# Places of properties: packet types, and the will within CONNECT.
CONNECT, CONNACK, PUBLISH, PUBACK, PUBREC, PUBREL, PUBCOMP, SUBSCRIBE, SUBACK = 1, 2, 3, 4, 5, 6, 7, 8, 9
UNSUBSCRIBE, UNSUBACK, DISCONNECT, AUTH, WILL = 10, 11, 14, 15, 16
_ALL = frozenset({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 14, 15})


@dataclass(frozen=True, slots=True)
class Kind:
    read: Callable[[bytes, int, int], tuple[Any, int]]
    write: Callable[[Any], bytes]


BYTE = Kind(f.read_u8, f.u8)
TWO = Kind(f.read_u16, f.u16)
FOUR = Kind(f.read_u32, f.u32)
VARIABLE = Kind(f.read_varint, f.varint)
STRING = Kind(f.read_string, f.string)
BINARY = Kind(f.read_binary, f.binary)
PAIR = Kind(f.read_pair, f.pair)


@dataclass(frozen=True, slots=True)
class Rule:
    kind: Kind
    places: frozenset[int]
    least: int = 0
    most: int | None = None
    repeats: frozenset[int] = frozenset()  # the places where it may come more than once


def _in(*places: int) -> frozenset[int]:
    return frozenset(places)


P = Property
RULES: dict[Property, Rule] = {
    P.PAYLOAD_FORMAT_INDICATOR: Rule(BYTE, _in(PUBLISH, WILL), most=1),
    P.MESSAGE_EXPIRY_INTERVAL: Rule(FOUR, _in(PUBLISH, WILL)),
    P.CONTENT_TYPE: Rule(STRING, _in(PUBLISH, WILL)),
    P.RESPONSE_TOPIC: Rule(STRING, _in(PUBLISH, WILL)),
    P.CORRELATION_DATA: Rule(BINARY, _in(PUBLISH, WILL)),
    P.SUBSCRIPTION_IDENTIFIER: Rule(VARIABLE, _in(PUBLISH, SUBSCRIBE), least=1, repeats=_in(PUBLISH)),
    P.SESSION_EXPIRY_INTERVAL: Rule(FOUR, _in(CONNECT, CONNACK, DISCONNECT)),
    P.ASSIGNED_CLIENT_IDENTIFIER: Rule(STRING, _in(CONNACK)),
    P.SERVER_KEEP_ALIVE: Rule(TWO, _in(CONNACK)),
    P.AUTHENTICATION_METHOD: Rule(STRING, _in(CONNECT, CONNACK, AUTH)),
    P.AUTHENTICATION_DATA: Rule(BINARY, _in(CONNECT, CONNACK, AUTH)),
    P.REQUEST_PROBLEM_INFORMATION: Rule(BYTE, _in(CONNECT), most=1),
    P.WILL_DELAY_INTERVAL: Rule(FOUR, _in(WILL)),
    P.REQUEST_RESPONSE_INFORMATION: Rule(BYTE, _in(CONNECT), most=1),
    P.RESPONSE_INFORMATION: Rule(STRING, _in(CONNACK)),
    P.SERVER_REFERENCE: Rule(STRING, _in(CONNACK, DISCONNECT)),
    P.REASON_STRING: Rule(STRING, _ALL - _in(CONNECT, PUBLISH, SUBSCRIBE, UNSUBSCRIBE)),
    P.RECEIVE_MAXIMUM: Rule(TWO, _in(CONNECT, CONNACK), least=1),
    P.TOPIC_ALIAS_MAXIMUM: Rule(TWO, _in(CONNECT, CONNACK)),
    P.TOPIC_ALIAS: Rule(TWO, _in(PUBLISH)),  # 0 is an error of its own: the broker answers 0x94
    P.MAXIMUM_QOS: Rule(BYTE, _in(CONNACK), most=1),
    P.RETAIN_AVAILABLE: Rule(BYTE, _in(CONNACK), most=1),
    P.USER_PROPERTY: Rule(PAIR, _ALL | _in(WILL), repeats=_ALL | _in(WILL)),
    P.MAXIMUM_PACKET_SIZE: Rule(FOUR, _in(CONNECT, CONNACK), least=1),
    P.WILDCARD_SUBSCRIPTION_AVAILABLE: Rule(BYTE, _in(CONNACK), most=1),
    P.SUBSCRIPTION_IDENTIFIER_AVAILABLE: Rule(BYTE, _in(CONNACK), most=1),
    P.SHARED_SUBSCRIPTION_AVAILABLE: Rule(BYTE, _in(CONNACK), most=1),
}
_BY_IDENTIFIER = {int(identifier): (identifier, rule) for identifier, rule in RULES.items()}
_MANY = (P.USER_PROPERTY, P.SUBSCRIPTION_IDENTIFIER)
ANY = 2**32  # of what may come more than once


def read_properties(data: bytes, at: int, end: int, place: int, most: int = ANY) -> tuple[Properties, int]:
    """The properties at a place, their length before them; so many, at most, of each that may come more than once."""
    length, at = f.read_varint(data, at, end)
    stop = at + length
    if stop > end:
        raise malformed("Properties are longer than their packet.")
    found: Properties = {}
    while at < stop:
        at = _read_one(data, at, stop, place, most, found)
    for known in _MANY:
        if known in found:
            found[known] = tuple(found[known])
    return found, stop


def _read_one(data: bytes, at: int, stop: int, place: int, most: int, found: Properties) -> int:
    """Read one; values of those that may come more than once are in lists until all are read."""
    identifier, at = f.read_varint(data, at, stop)
    known, rule = _BY_IDENTIFIER.get(identifier, (None, None))
    if known is None or rule is None or place not in rule.places:
        raise malformed(f"Property 0x{identifier:02X} does not belong into this packet.")
    if known in found and place not in rule.repeats:
        raise protocol_error(f"{known.name} comes twice.")
    if known in _MANY and len(found.setdefault(known, [])) >= most:
        raise quota_exceeded(f"{known.name} comes more than {most:,} times.")
    value, at = rule.kind.read(data, at, stop)
    if value is not None and isinstance(value, int):
        _check_range(known, rule, value)
    if known in _MANY:
        found[known].append(value)
    else:
        found[known] = value
    return at


def _check_range(identifier: Property, rule: Rule, value: int) -> None:
    if value < rule.least or (rule.most is not None and value > rule.most):
        raise protocol_error(f"{identifier.name} is {value}.")


def write_properties(properties: Properties) -> bytes:
    """All of them in the order of the dictionary, their length before them."""
    if not properties:
        return b"\0"
    parts = []
    for identifier, value in properties.items():
        write = RULES[identifier].kind.write
        head = f.u8(identifier)
        parts += [head + write(one) for one in value] if identifier in _MANY else [head + write(value)]
    body = b"".join(parts)
    return f.varint(len(body)) + body
