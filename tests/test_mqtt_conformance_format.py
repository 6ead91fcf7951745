"""MQTT, chapters 1 and 2: how data and packets are written."""

from collections.abc import Callable
from typing import Any

import pytest

from mqtt_broker import Broker
from mqtt_peer import (
    PINGREQ,
    V5,
    V311,
    ClosedError,
    Kind,
    P,
    Will,
    answer,
    binary,
    connect,
    number,
    packet,
    properties,
    publish,
    subscribe,
    unique,
    unsubscribe,
)
from mqtt_table import both, v5, v311

MALFORMED, PROTOCOL_ERROR, TOPIC_INVALID, FILTER_INVALID, ID_INVALID = 0x81, 0x82, 0x90, 0x8F, 0x85
BAD_TEXT = (MALFORMED, PROTOCOL_ERROR, TOPIC_INVALID, FILTER_INVALID, ID_INVALID, 0x99)

ILL_FORMED = {
    "lowest surrogate": b"\xed\xa0\x80",
    "highest surrogate": b"\xed\xbf\xbf",
    "surrogate pair": b"\xed\xa0\xbd\xed\xb8\x80",
    "overlong slash": b"\xc0\xaf",
    "overlong in three bytes": b"\xe0\x80\xaf",
    "overlong in four bytes": b"\xf0\x80\x80\xaf",
    "beyond U+10FFFF": b"\xf4\x90\x80\x80",
    "five bytes": b"\xf8\x88\x80\x80\x80",
    "lone continuation": b"\x80",
    "cut short": b"\xe2\x82",
    "byte FF": b"\xff",
}


@both
@pytest.mark.parametrize("bad", ILL_FORMED.values(), ids=ILL_FORMED)
@v311("1.5.3-1", "3.3.2-1")
@v5("1.5.4-1", "3.3.2-1")
def test_ill_formed_utf8_in_a_topic_name_closes_the_connection(broker: Broker, version: int, bad: bytes) -> None:
    peer = broker.join(version)
    peer.send(publish(version, b"a" + bad + b"b", b"x"))
    peer.refused(*BAD_TEXT)


FAULTS = {"ill-formed": b"\xed\xa0\x80", "null": b"a\0b"}
fault = pytest.mark.parametrize("bad", FAULTS.values(), ids=FAULTS)


@both
@fault
@v311("1.5.3-1", "1.5.3-2", "3.8.3-1", "4.7.3-2")
@v5("1.5.4-1", "1.5.4-2", "3.8.3-1", "4.7.3-2")
def test_ill_formed_text_in_a_filter_closes_the_connection(broker: Broker, version: int, bad: bytes) -> None:
    peer = broker.join(version)
    peer.send(subscribe(version, 1, [(bad, 0)]))
    peer.refused(*BAD_TEXT)


@both
@fault
@v311("3.10.3-1")
@v5("3.10.3-1")
def test_ill_formed_text_in_an_unsubscribe_closes_the_connection(broker: Broker, version: int, bad: bytes) -> None:
    peer = broker.join(version)
    peer.send(unsubscribe(version, 1, [bad]))
    peer.refused(*BAD_TEXT)


@both
@v311("1.5.3-2", "4.7.3-2")
@v5("1.5.4-2", "4.7.3-2")
def test_a_null_character_in_a_topic_name_closes_the_connection(broker: Broker, version: int) -> None:
    peer = broker.join(version)
    peer.send(publish(version, "a\0b", b"x"))
    peer.refused(*BAD_TEXT)


@both
@fault
@v311("1.5.3-1", "1.5.3-2", "3.1.3-4")
@v5("1.5.4-1", "1.5.4-2", "3.1.3-4")
def test_ill_formed_text_in_a_client_id_is_refused(broker: Broker, version: int, bad: bytes) -> None:
    peer = broker.dial(version)
    peer.send(connect(version, bad))
    peer.refused(*BAD_TEXT)


@both
@fault
@v311("3.1.3-10")
@v5("3.1.3-11")
def test_ill_formed_text_in_a_will_topic_is_refused(broker: Broker, version: int, bad: bytes) -> None:
    peer = broker.dial(version)
    peer.send(connect(version, unique("c"), will=Will(bad)))
    peer.refused(*BAD_TEXT)


@both
@fault
@v311("3.1.3-11")
@v5("3.1.3-12")
def test_ill_formed_text_in_a_user_name_is_refused(broker: Broker, version: int, bad: bytes) -> None:
    peer = broker.dial(version)
    peer.send(connect(version, unique("c"), username=bad, password=b"p"))
    peer.refused(*BAD_TEXT, 0x86)


@fault
@pytest.mark.parametrize(
    "pair",
    [
        pytest.param(lambda bad: (P.USER, (bad, "value")), id="user property name", marks=v5("1.5.7-1")),
        pytest.param(lambda bad: (P.USER, ("name", bad)), id="user property value", marks=v5("1.5.7-1")),
        pytest.param(lambda bad: (P.RESPONSE_TOPIC, bad), id="response topic", marks=v5("3.3.2-13")),
        pytest.param(lambda bad: (P.CONTENT_TYPE, bad), id="content type", marks=v5("3.3.2-19")),
    ],
)
def test_ill_formed_text_in_a_property_closes_the_connection(
    broker: Broker, bad: bytes, pair: Callable[[bytes], Any]
) -> None:
    peer = broker.join(V5)
    peer.send(publish(V5, unique(), b"x", pairs=[pair(bad)]))
    peer.refused(*BAD_TEXT)


@both
@v311("1.5.3-3", "4.7.3-4")
@v5("1.5.4-3", "4.7.3-4")
def test_a_byte_order_mark_is_a_character_like_others(broker: Broker, version: int) -> None:
    peer, name = broker.join(version), unique()
    peer.subscribe(name, "\ufeff" + name, name + "\ufeff/+")
    peer.publish("\ufeff" + name, b"before")
    peer.publish(name + "\ufeff/\ufeff", b"behind")
    got = [(each.topic, each.payload) for each in peer.drain(peer)]
    assert got == [("\ufeff" + name, b"before"), (name + "\ufeff/\ufeff", b"behind")]


@both
@pytest.mark.parametrize("character", [" ", "é", "\ud7ff", "\ue000", "\ufffd", "\U00010000", "\U0010fffd", "🧵"])
@v311("1.5.3-1", "3.3.2-3", "4.7.3-4")
@v5("1.5.4-1", "3.3.2-3", "4.7.3-4")
def test_characters_at_the_edges_of_unicode_pass(broker: Broker, version: int, character: str) -> None:
    peer, topic = broker.join(version), f"{unique()}/{character}/{character}"
    peer.subscribe(topic)
    peer.publish(topic, b"x", 1)
    assert peer.message().topic == topic


@both
@pytest.mark.parametrize("character", ["\x01", "\x1f", "\x7f", "\x9f", "\ufdd0", "\ufffe", "\uffff", "\U0010ffff"])
@v311("4.7.3-4", "4.8.0-1")
@v5("4.7.3-4", "4.13.1-1")
def test_control_characters_and_non_characters_pass_or_close(broker: Broker, version: int, character: str) -> None:
    # Senders should not use them; a receiver may close the connection, or take them as they are.
    reader, writer, name = broker.join(version), broker.join(version), unique()
    reader.subscribe(f"{name}/+")
    writer.send(publish(version, f"{name}/{character}", b"x", qos=1, packet_id=1))
    try:
        assert writer.next().kind in (Kind.PUBACK, Kind.DISCONNECT)
    except ClosedError:
        return
    assert [each.topic for each in reader.drain(broker.join(version))] in ([], [f"{name}/{character}"])


@both
@v311("4.7.3-4")
@v5("4.7.3-4")
def test_names_that_only_look_alike_do_not_match(broker: Broker, version: int) -> None:
    peer, name = broker.join(version), unique()
    composed, decomposed = f"{name}/\u00e9", f"{name}/e\u0301"
    peer.subscribe(composed, f"{name}/STRASSE", f"{name}/ab")
    for other in (decomposed, f"{name}/straße", f"{name}/strasse", f"{name}/Ab", f"{name}/ab ", f"{name}/ ab"):
        peer.publish(other, b"other")
    peer.publish(composed, b"same")
    assert [each.payload for each in peer.drain(peer)] == [b"same"]


@both
@pytest.mark.parametrize("size", [127, 128, 16383, 16384, 70000])
@v311("2.3.1-5", "3.3.4-1", "4.3.1-1")
@v5("1.5.5-1", "2.2.1-2", "3.3.4-1", "4.3.1-1")
def test_a_payload_of_any_size_arrives_as_it_was(broker: Broker, version: int, size: int) -> None:
    # The length of the body of the packet is just below or at a power of 128; the decoder refuses lengths that are
    # not minimal, and a packet identifier in a packet of QoS 0 would be the first bytes of the payload.
    peer, topic = broker.join(version), unique()
    payload = bytes(range(256)) * (size // 256 + 1)
    payload = payload[: size - len(topic) - 2 - (version == V5)]
    peer.subscribe((topic, 0))
    peer.send(publish(version, topic, payload))
    got = peer.message()
    assert (got.topic, got.payload, got.qos, got.dup) == (topic, payload, 0, False)


@both
@v311("4.8.0-1")
@v5("1.5.5-1", "4.13.1-1")
def test_a_length_of_five_bytes_closes_the_connection(broker: Broker, version: int) -> None:
    peer = broker.join(version)
    peer.send(b"\x30\xff\xff\xff\xff\x01")
    peer.refused(MALFORMED)


RESERVED = {
    "CONNECT": (Kind.CONNECT, 1),
    "PUBACK": (Kind.PUBACK, 1),
    "PUBREC": (Kind.PUBREC, 2),
    "PUBREL 0": (Kind.PUBREL, 0),
    "PUBREL 3": (Kind.PUBREL, 3),
    "PUBCOMP": (Kind.PUBCOMP, 2),
    "SUBSCRIBE 0": (Kind.SUBSCRIBE, 0),
    "SUBSCRIBE 3": (Kind.SUBSCRIBE, 3),
    "SUBSCRIBE 10": (Kind.SUBSCRIBE, 10),
    "UNSUBSCRIBE 0": (Kind.UNSUBSCRIBE, 0),
    "UNSUBSCRIBE 6": (Kind.UNSUBSCRIBE, 6),
    "PINGREQ": (Kind.PINGREQ, 1),
    "DISCONNECT": (Kind.DISCONNECT, 1),
}


def body(version: int, kind: Kind) -> bytes:
    """Body that would be right with the right flags."""
    whole = {
        Kind.CONNECT: connect(version, unique("c")),
        Kind.SUBSCRIBE: subscribe(version, 1, [("a", 0)]),
        Kind.UNSUBSCRIBE: unsubscribe(version, 1, ["a"]),
        Kind.PINGREQ: PINGREQ,
        Kind.DISCONNECT: packet(Kind.DISCONNECT, 0),
    }
    return whole.get(kind, answer(kind, 1))[2:]


@both
@pytest.mark.parametrize(("kind", "flags"), RESERVED.values(), ids=RESERVED)
@v311("2.2.2-1", "2.2.2-2", "3.6.1-1", "3.8.1-1", "3.10.1-1", "3.14.1-1")
@v5("2.1.3-1", "3.6.1-1", "3.8.1-1", "3.10.1-1", "3.14.1-1", "4.13.1-1")
def test_reserved_flags_close_the_connection(broker: Broker, version: int, kind: Kind, flags: int) -> None:
    peer = broker.dial(version) if kind is Kind.CONNECT else broker.join(version)
    peer.send(packet(kind, flags, body(version, kind)))
    peer.refused(MALFORMED)


@v5("3.15.1-1")
def test_reserved_flags_of_an_auth_close_the_connection(broker: Broker) -> None:
    peer = broker.join(V5)
    peer.send(packet(Kind.AUTH, 1, b"\x18" + properties([(P.AUTH_METHOD, "x")])))
    peer.refused(MALFORMED, PROTOCOL_ERROR, 0x8C)


@both
@pytest.mark.parametrize("first", [0x00, 0x0F, 0x20, 0x90, 0xB0, 0xD0], ids=hex)
@v311("4.8.0-1")
@v5("4.13.1-1")
def test_packets_that_no_client_sends_close_the_connection(broker: Broker, version: int, first: int) -> None:
    peer = broker.join(version)
    peer.send(bytes([first, 3, 0, 1, 0]) if first != 0xD0 else bytes([first, 0]))
    peer.refused(MALFORMED, PROTOCOL_ERROR)


@v311("4.8.0-1")
def test_packet_type_15_closes_the_connection_of_an_old_client(broker: Broker) -> None:
    peer = broker.join(V311)
    peer.send(b"\xf0\x00")
    peer.refused()


@both
@pytest.mark.parametrize("qos", [1, 2])
@v311("2.3.1-1")
@v5("2.2.1-3")
def test_a_publish_with_packet_id_0_closes_the_connection(broker: Broker, version: int, qos: int) -> None:
    peer = broker.join(version)
    peer.send(publish(version, unique(), b"x", qos=qos, packet_id=0))
    peer.refused(MALFORMED, PROTOCOL_ERROR)


@both
@pytest.mark.parametrize("make", [subscribe, unsubscribe])
@v311("2.3.1-1")
@v5("2.2.1-3")
def test_a_request_with_packet_id_0_closes_the_connection(
    broker: Broker, version: int, make: Callable[..., bytes]
) -> None:
    peer = broker.join(version)
    peer.send(make(version, 0, [("a", 0)] if make is subscribe else ["a"]))
    peer.refused(MALFORMED, PROTOCOL_ERROR)


@both
@pytest.mark.parametrize("packet_id", [1, 0x0A0D, 0x1234, 0xFFFF])
@v311("2.3.1-6", "2.3.1-7", "3.8.4-1", "3.8.4-2", "3.10.4-4")
@v5("2.2.1-5", "2.2.1-6", "3.8.4-1", "3.8.4-2", "3.10.4-4", "3.10.4-5")
def test_every_acknowledgement_has_the_id_of_what_it_answers(broker: Broker, version: int, packet_id: int) -> None:
    peer, topic = broker.join(version), unique()
    for request, kind in (
        (subscribe(version, packet_id, [(unique(), 1)]), Kind.SUBACK),
        (unsubscribe(version, packet_id, [topic]), Kind.UNSUBACK),
        (publish(version, topic, b"1", qos=1, packet_id=packet_id), Kind.PUBACK),
        (publish(version, topic, b"2", qos=2, packet_id=packet_id), Kind.PUBREC),
        (answer(Kind.PUBREL, packet_id), Kind.PUBCOMP),
    ):
        peer.send(request)
        got = peer.next()
        assert (got.kind, got.packet_id) == (kind, packet_id)


@both
@pytest.mark.parametrize("qos", [1, 2])
@v311("2.3.1-1", "2.3.1-4", "4.3.2-1", "4.3.3-1")
@v5("2.2.1-4", "4.3.2-1", "4.3.3-1")
def test_the_broker_gives_each_publication_an_id_that_is_free(broker: Broker, version: int, qos: int) -> None:
    reader, writer, topic = broker.join(version), broker.join(version), unique()
    reader.subscribe((topic, qos))
    held: set[int] = set()
    for step in range(12):
        writer.publish(topic, b"%d" % step, qos)
        got = reader.next()
        assert got.kind is Kind.PUBLISH
        assert got.packet_id not in held
        held.add(got.packet_id)
        if step % 3 == 2 and qos == 1:  # an id is free again when its PUBACK is there
            held.remove(got.packet_id)
            reader.send(answer(Kind.PUBACK, got.packet_id))


@v5("2.2.2-1")
def test_packets_without_properties_say_so(broker: Broker) -> None:
    # The decoder needs a property length in CONNACK, SUBACK, UNSUBACK and PUBLISH, and what follows in its place.
    peer, topic = broker.join(V5), unique()
    assert peer.subscribe((topic, 1)).codes == [1]
    peer.publish(topic, b"\x00\x01", 1)
    got = peer.message()
    assert (got.payload, got.pairs) == (b"\x00\x01", [])
    assert peer.unsubscribe(topic).codes == [0]


@v5("2.2.2-1", "4.13.1-1")
@pytest.mark.parametrize(
    "bad",
    [
        pytest.param(packet(Kind.PUBLISH, 0, binary("a")), id="no property length"),
        pytest.param(packet(Kind.PUBLISH, 0, binary("a") + number(5) + b"\x01\x00"), id="longer than the packet"),
        pytest.param(packet(Kind.PUBLISH, 0, binary("a") + number(2) + b"\x7e\x00"), id="unknown property"),
        pytest.param(packet(Kind.PUBLISH, 0, binary("a") + number(1) + b"\x01"), id="cut property"),
        pytest.param(publish(V5, "a", pairs=[(P.SERVER_KEEP_ALIVE, 5)]), id="property of another packet"),
        pytest.param(publish(V5, "a", pairs=[(P.WILL_DELAY, 5)]), id="property of a will"),
        pytest.param(publish(V5, "a", pairs=[(P.CONTENT_TYPE, "x")] * 2), id="content type twice"),
        pytest.param(publish(V5, "a", pairs=[(P.MESSAGE_EXPIRY, 9)] * 2), id="expiry twice"),
        pytest.param(publish(V5, "a", pairs=[(P.RESPONSE_TOPIC, "r")] * 2), id="response topic twice"),
        pytest.param(publish(V5, "a", pairs=[(P.CORRELATION_DATA, b"c")] * 2), id="correlation data twice"),
        pytest.param(publish(V5, "a", pairs=[(P.PAYLOAD_FORMAT, 0)] * 2), id="payload format twice"),
        pytest.param(publish(V5, "a", pairs=[(P.ALIAS, 1)] * 2), id="alias twice"),
    ],
)
def test_wrong_properties_close_the_connection(broker: Broker, bad: bytes) -> None:
    peer = broker.join(V5)
    peer.send(bad)
    peer.refused(MALFORMED, PROTOCOL_ERROR, 0x94)


@both
@pytest.mark.parametrize(
    "bad",
    [
        pytest.param(lambda version: packet(Kind.PUBLISH, 0, b"\x00\x05a"), id="topic longer than the packet"),
        pytest.param(lambda version: packet(Kind.PUBLISH, 0, b"\x00"), id="half a length"),
        pytest.param(lambda version: packet(Kind.PUBLISH, 0), id="empty PUBLISH"),
        pytest.param(lambda version: packet(Kind.PUBLISH, 2, binary("a") + b"\x01"), id="half a packet id"),
        pytest.param(lambda version: packet(Kind.SUBSCRIBE, 2, b"\x00"), id="half a SUBSCRIBE"),
        pytest.param(lambda version: subscribe(version, 1, [])[:-1] + b"\x00\x09a", id="cut filter"),
        pytest.param(lambda version: packet(Kind.PUBACK, 0, b"\x00"), id="half a PUBACK"),
        pytest.param(lambda version: packet(Kind.PUBREL, 2), id="empty PUBREL"),
    ],
)
@v311("4.8.0-1")
@v5("4.13.1-1")
def test_packets_that_end_too_early_close_the_connection(
    broker: Broker, version: int, bad: Callable[[int], bytes]
) -> None:
    peer = broker.join(version)
    raw = bad(version)
    peer.send(packet(raw[0] >> 4, raw[0] & 15, raw[2:]))
    peer.refused(MALFORMED, PROTOCOL_ERROR)


@both
@v311("7.1.1-1")
@v5("4.2.0-1")
def test_packets_are_found_however_the_bytes_are_cut(broker: Broker, version: int) -> None:
    peer, topic = broker.dial(version), unique()
    stream = connect(version, unique("c")) + subscribe(version, 7, [(topic, 1)])
    stream += publish(version, topic, b"x" * 200, qos=1, packet_id=8) + PINGREQ
    for byte in stream:
        peer.send(bytes([byte]))
    kinds = {peer.next().kind for _ in range(5)}
    assert kinds == {Kind.CONNACK, Kind.SUBACK, Kind.PUBACK, Kind.PUBLISH, Kind.PINGRESP}


@both
@v311("7.1.1-1", "3.1.4-4")
@v5("4.2.0-1", "3.1.4-5")
def test_packets_sent_behind_the_connect_without_waiting_are_served(broker: Broker, version: int) -> None:
    peer, topic = broker.dial(version), unique()
    many = b"".join(publish(version, topic, b"%d" % turn) for turn in range(100))
    peer.send(connect(version, unique("c")) + subscribe(version, 7, [(topic, 0)]) + many + PINGREQ)
    assert peer.next().kind is Kind.CONNACK
    assert peer.take(Kind.SUBACK).packet_id == 7
    assert [each.payload for each in peer.messages(100)] == [b"%d" % turn for turn in range(100)]
    assert peer.next().kind is Kind.PINGRESP
