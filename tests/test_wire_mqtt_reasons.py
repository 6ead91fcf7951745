"""Reason codes beside the standard: section 2.4, and of DISCONNECT section 3.14.2.1, which leaves one of them out."""

import pytest

from weft.wire.mqtt.packet import Connack, Version
from weft.wire.mqtt.parser import REASONS, Parser
from weft.wire.mqtt.reason import PacketError, Reason

PACKETS = {
    "CONNACK": 2,
    "PUBACK": 4,
    "PUBREC": 5,
    "PUBREL": 6,
    "PUBCOMP": 7,
    "SUBACK": 9,
    "UNSUBACK": 11,
    "DISCONNECT": 14,
    "AUTH": 15,
}
ALL, RECEIVED = " ".join(PACKETS), "CONNACK PUBACK PUBREC"
STANDARD = {
    0x00: ("SUCCESS", ALL),
    0x01: ("GRANTED_QOS_1", "SUBACK"),
    0x02: ("GRANTED_QOS_2", "SUBACK"),
    0x04: ("DISCONNECT_WITH_WILL", "DISCONNECT"),
    0x10: ("NO_MATCHING_SUBSCRIBERS", "PUBACK PUBREC"),
    0x11: ("NO_SUBSCRIPTION_EXISTED", "UNSUBACK"),
    0x18: ("CONTINUE_AUTHENTICATION", "AUTH"),
    0x19: ("REAUTHENTICATE", "AUTH"),
    0x80: ("UNSPECIFIED_ERROR", f"{RECEIVED} SUBACK UNSUBACK DISCONNECT"),
    0x81: ("MALFORMED_PACKET", "CONNACK DISCONNECT"),
    0x82: ("PROTOCOL_ERROR", "CONNACK DISCONNECT"),
    0x83: ("IMPLEMENTATION_SPECIFIC_ERROR", f"{RECEIVED} SUBACK UNSUBACK DISCONNECT"),
    0x84: ("UNSUPPORTED_PROTOCOL_VERSION", "CONNACK"),
    0x85: ("CLIENT_IDENTIFIER_NOT_VALID", "CONNACK"),
    0x86: ("BAD_USER_NAME_OR_PASSWORD", "CONNACK"),
    0x87: ("NOT_AUTHORIZED", f"{RECEIVED} SUBACK UNSUBACK DISCONNECT"),
    0x88: ("SERVER_UNAVAILABLE", "CONNACK"),
    0x89: ("SERVER_BUSY", "CONNACK DISCONNECT"),
    0x8A: ("BANNED", "CONNACK"),
    0x8B: ("SERVER_SHUTTING_DOWN", "DISCONNECT"),
    0x8C: ("BAD_AUTHENTICATION_METHOD", "CONNACK"),
    0x8D: ("KEEP_ALIVE_TIMEOUT", "DISCONNECT"),
    0x8E: ("SESSION_TAKEN_OVER", "DISCONNECT"),
    0x8F: ("TOPIC_FILTER_INVALID", "SUBACK UNSUBACK DISCONNECT"),
    0x90: ("TOPIC_NAME_INVALID", f"{RECEIVED} DISCONNECT"),
    0x91: ("PACKET_IDENTIFIER_IN_USE", "PUBACK PUBREC SUBACK UNSUBACK"),
    0x92: ("PACKET_IDENTIFIER_NOT_FOUND", "PUBREL PUBCOMP"),
    0x93: ("RECEIVE_MAXIMUM_EXCEEDED", "DISCONNECT"),
    0x94: ("TOPIC_ALIAS_INVALID", "DISCONNECT"),
    0x95: ("PACKET_TOO_LARGE", "CONNACK DISCONNECT"),
    0x96: ("MESSAGE_RATE_TOO_HIGH", "DISCONNECT"),
    0x97: ("QUOTA_EXCEEDED", f"{RECEIVED} SUBACK DISCONNECT"),
    0x98: ("ADMINISTRATIVE_ACTION", "DISCONNECT"),
    0x99: ("PAYLOAD_FORMAT_INVALID", f"{RECEIVED} DISCONNECT"),
    0x9A: ("RETAIN_NOT_SUPPORTED", "CONNACK DISCONNECT"),
    0x9B: ("QOS_NOT_SUPPORTED", "CONNACK DISCONNECT"),
    0x9C: ("USE_ANOTHER_SERVER", "CONNACK DISCONNECT"),
    0x9D: ("SERVER_MOVED", "CONNACK DISCONNECT"),
    0x9E: ("SHARED_SUBSCRIPTIONS_NOT_SUPPORTED", "SUBACK DISCONNECT"),
    0x9F: ("CONNECTION_RATE_EXCEEDED", "CONNACK DISCONNECT"),
    0xA0: ("MAXIMUM_CONNECT_TIME", "DISCONNECT"),
    0xA1: ("SUBSCRIPTION_IDENTIFIERS_NOT_SUPPORTED", "SUBACK DISCONNECT"),
    0xA2: ("WILDCARD_SUBSCRIPTIONS_NOT_SUPPORTED", "SUBACK DISCONNECT"),
}


def test_reasons_have_the_codes_of_the_standard() -> None:
    assert {int(reason): reason.name for reason in Reason} == {code: name for code, (name, _) in STANDARD.items()}


@pytest.mark.parametrize("packet", PACKETS)
def test_a_packet_carries_the_reasons_that_it_may(packet: str) -> None:
    assert REASONS[PACKETS[packet]] == {code for code, (_, packets) in STANDARD.items() if packet in packets.split()}


FLAGS = {
    "maximum QoS": 0x24,
    "retain": 0x25,
    "wildcards": 0x28,
    "subscription identifiers": 0x29,
    "shared subscriptions": 0x2A,
}


@pytest.mark.parametrize("flag", FLAGS.values(), ids=FLAGS)
def test_what_a_server_has_or_has_not_is_0_or_1(flag: int) -> None:
    for value in (0, 1):
        (packet,) = Parser(version=Version.V5).feed(bytes([0x20, 5, 0, 0, 2, flag, value]))
        assert isinstance(packet, Connack)
        assert packet.properties == {flag: value}
    with pytest.raises(PacketError):
        list(Parser(version=Version.V5).feed(bytes([0x20, 5, 0, 0, 2, flag, 2])))
