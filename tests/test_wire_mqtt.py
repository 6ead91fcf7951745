"""The codec: what is written is read again, however the bytes are split, and whatever comes is a packet or a
`PacketError`."""

from collections.abc import Iterable, Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mqtt_packets import connects, packets
from weft.wire.mqtt import packet as p
from weft.wire.mqtt.parser import Bounds, Parser, decode, frame, opened
from weft.wire.mqtt.property import Property
from weft.wire.mqtt.reason import PacketError, Reason, UnreadableError
from weft.wire.mqtt.topic import is_filter, is_name, matches, split_shared
from weft.wire.mqtt.writer import encode

VERSIONS = list(p.Version)
V3, V5 = p.Version.V311, p.Version.V5
unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # a busy machine is no defect


@st.composite
def conversations(draw: st.DrawFn) -> list[p.Packet]:
    version = draw(st.sampled_from(VERSIONS))
    return [draw(connects(version)), *draw(st.lists(packets(version), max_size=5))]


def cut(data: bytes, places: Iterable[int]) -> list[bytes]:
    ends = sorted({place % (len(data) + 1) for place in places})
    return [data[a:b] for a, b in zip([0, *ends], [*ends, len(data)], strict=True)]


def outcome(pieces: Iterable[bytes], parser: Parser) -> tuple[list[p.Packet], Reason | None]:
    got: list[p.Packet] = []
    try:
        for piece in pieces:
            got.extend(parser.feed(piece))
    except UnreadableError:
        raise
    except PacketError as error:
        return got, error.reason
    return got, None


@unhurried
@given(conversations(), st.lists(st.integers(0, 5000), max_size=8))
def test_what_is_written_is_read_again_however_it_is_split(said: list[p.Packet], places: list[int]) -> None:
    version = said[0].version  # type: ignore[attr-defined]
    data = b"".join(encode(packet, version) for packet in said)
    parser = Parser()
    assert [packet for piece in cut(data, places) for packet in parser.feed(piece)] == said
    assert parser.version is version


@unhurried
@given(st.one_of(st.none(), st.sampled_from(VERSIONS)), st.binary(max_size=60), st.lists(st.integers(0, 60)))
def test_any_bytes_are_packets_or_one_kind_of_error_and_the_same_however_split(
    version: p.Version | None, data: bytes, places: list[int]
) -> None:
    whole, pieces = outcome([data], Parser(version=version)), outcome(cut(data, places), Parser(version=version))
    assert whole == pieces


@unhurried
@given(conversations(), st.data())
def test_a_packet_with_a_changed_byte_is_a_packet_or_an_error(said: list[p.Packet], data: st.DataObject) -> None:
    version = said[0].version  # type: ignore[attr-defined]
    raw = bytearray(b"".join(encode(packet, version) for packet in said))
    raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    outcome([bytes(raw)], Parser())


CONNECT5 = encode(p.Connect("a", V5), V5)
CONNECT3 = encode(p.Connect("a", V3), V3)


def publish(raw: str) -> bytes:
    return bytes.fromhex(raw)


@pytest.mark.parametrize(
    ("version", "raw", "reason"),
    [
        (None, "c000", Reason.PROTOCOL_ERROR),  # before CONNECT
        (V3, "00 00", Reason.MALFORMED_PACKET),  # type 0
        (V3, "f0 00", Reason.MALFORMED_PACKET),  # AUTH is of 5
        (V3, "c1 00", Reason.MALFORMED_PACKET),  # flags of PINGREQ
        (V3, "60 02 0001", Reason.MALFORMED_PACKET),  # flags of PUBREL
        (V3, "80 06 0001 0001 61 00", Reason.MALFORMED_PACKET),  # flags of SUBSCRIBE
        (V3, "c0 01 00", Reason.MALFORMED_PACKET),  # something in PINGREQ
        (V3, "30 ff ff ff ff 01", Reason.MALFORMED_PACKET),  # five bytes of length
        (V5, "c0 80 00", Reason.MALFORMED_PACKET),  # more bytes of length than needed
        (V3, "36 05 0001 61 0001", Reason.MALFORMED_PACKET),  # QoS 3
        (V3, "38 03 0001 61", Reason.MALFORMED_PACKET),  # DUP with QoS 0
        (V3, "32 05 0001 61 0000", Reason.PROTOCOL_ERROR),  # packet identifier 0
        (V3, "30 03 0001 2b", Reason.TOPIC_NAME_INVALID),
        (V3, "30 02 0000", Reason.TOPIC_NAME_INVALID),
        (V5, "30 03 0000 00", Reason.PROTOCOL_ERROR),  # no topic, no alias
        (V3, "30 03 0001 00", Reason.MALFORMED_PACKET),  # U+0000
        (V3, "30 05 0003 eda080", Reason.MALFORMED_PACKET),  # a surrogate
        (V3, "30 04 0002 c080", Reason.MALFORMED_PACKET),  # overlong
        (V3, "30 03 0002 61", Reason.MALFORMED_PACKET),  # a string longer than its packet
        (V3, "82 02 0001", Reason.PROTOCOL_ERROR),  # no filter
        (V3, "82 06 0001 0001 61 03", Reason.MALFORMED_PACKET),
        (V3, "82 06 0001 0001 61 04", Reason.MALFORMED_PACKET),  # an option of 5
        (V5, "82 07 0001 00 0001 61 40", Reason.MALFORMED_PACKET),
        (V5, "82 07 0001 00 0001 61 30", Reason.MALFORMED_PACKET),
        (V3, "82 07 0001 0002 612b 00", Reason.TOPIC_FILTER_INVALID),
        (V3, "82 08 0001 0003 232f61 00", Reason.TOPIC_FILTER_INVALID),
        (V3, "82 05 0001 0000 00", Reason.TOPIC_FILTER_INVALID),
        (V5, "82 10 0001 00 000a 2473686172652f672f61 04", Reason.PROTOCOL_ERROR),  # shared and no local
        (V5, "30 08 0001 61 04 01 00 01 00", Reason.PROTOCOL_ERROR),  # a property twice
        (V5, "30 06 0001 61 02 01 02", Reason.PROTOCOL_ERROR),  # a flag that is 2
        (V5, "30 06 0001 61 02 0b 00", Reason.PROTOCOL_ERROR),  # subscription identifier 0
        (V5, "30 06 0001 61 02 7f 00", Reason.MALFORMED_PACKET),  # no such property
        (V5, "30 09 0001 61 05 11 00000000", Reason.MALFORMED_PACKET),  # of another packet
        (V5, "30 05 0001 61 02 01", Reason.MALFORMED_PACKET),  # properties longer than the packet
        (V5, "30 08 0001 61 04 08 0001 2b", Reason.PROTOCOL_ERROR),  # a wildcard in the response topic
        (V5, "40 03 0001 11", Reason.MALFORMED_PACKET),  # no reason of PUBACK
        (V5, "e0 01 01", Reason.MALFORMED_PACKET),
        (None, "10 0c 0004 4d515454 06 02 0000 0000", Reason.UNSUPPORTED_PROTOCOL_VERSION),
        (None, "10 0c 0004 4d515455 04 02 0000 0000", Reason.UNSUPPORTED_PROTOCOL_VERSION),
        (None, "10 0c 0004 4d515454 04 03 0000 0000", Reason.MALFORMED_PACKET),  # the reserved flag
        (None, "10 0c 0004 4d515454 04 0a 0000 0000", Reason.MALFORMED_PACKET),  # a will's QoS without a will
        (None, "10 11 0004 4d515454 04 1e 0000 0000 0001 61 0000", Reason.MALFORMED_PACKET),  # a will of QoS 3
        (None, "10 0e 0004 4d515454 04 42 0000 0000 0000", Reason.MALFORMED_PACKET),  # password without name
        (None, "10 0d 0004 4d515454 04 02 0000 0000 00", Reason.MALFORMED_PACKET),  # something behind
    ],
)
def test_what_breaks_the_standard_says_how(version: p.Version | None, raw: str, reason: Reason) -> None:
    assert outcome([bytes.fromhex(raw)], Parser(version=version)) == ([], reason)


def test_what_came_before_an_error_is_there() -> None:
    got, reason = outcome([CONNECT3 + bytes.fromhex("c000 c100")], Parser())
    assert (got[1:], reason) == ([p.Pingreq()], Reason.MALFORMED_PACKET)


LONG = {
    "subscribe": p.Subscribe(1, tuple(p.Request(f"a/{number}", 1) for number in range(9))),
    "unsubscribe": p.Unsubscribe(1, tuple(f"a/{number}" for number in range(9))),
}


def _filters(packet: p.Subscribe | p.Unsubscribe) -> Iterator[object]:
    return iter(packet.requests if isinstance(packet, p.Subscribe) else packet.filters)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", LONG)
def test_filters_can_be_read_one_at_a_time(name: str, version: p.Version) -> None:
    data = encode(LONG[name], version)
    body, end = frame(data, 0, len(data), 1000, version) or (0, 0)
    one, whole = opened(data, 0, body, end, version), decode(data, 0, body, end, version)
    filters = whole.requests if isinstance(whole, p.Subscribe) else whole.filters  # type: ignore[attr-defined]
    assert (one.packet_id, one.properties) == (1, {})
    found = _filters(one)
    assert (next(found), next(found)) == filters[:2]
    assert tuple(found) == filters[2:]


@pytest.mark.parametrize("name", LONG)
def test_a_filter_that_is_none_is_an_error_where_it_stands(name: str) -> None:
    data = encode(LONG[name], V3).replace(b"a/5", b"a#5")
    one = _filters(opened(data, 0, 2, len(data), V3))
    assert [next(one) for _ in range(5)]
    with pytest.raises(PacketError) as raised:
        next(one)
    assert raised.value.reason == Reason.TOPIC_FILTER_INVALID


@pytest.mark.parametrize("name", LONG)
def test_one_filter_too_many_is_an_error_where_it_stands(name: str) -> None:
    data = encode(LONG[name], V3)
    filters = _filters(opened(data, 0, 2, len(data), V3, Bounds(filters=8)))
    assert [next(filters) for _ in range(8)]
    with pytest.raises(PacketError) as raised:
        next(filters)
    assert raised.value.reason == Reason.QUOTA_EXCEEDED
    assert decode(data, 0, 2, len(data), V3, Bounds(filters=9)) == LONG[name]


def test_a_packet_over_the_limit_is_an_error_before_it_has_come() -> None:
    parser = Parser(limit=100, version=V3)
    assert list(parser.feed(b"\x30\x62" + b"\0\x01a" + bytes(95))) == [p.Publish("a", bytes(95))]
    with pytest.raises(PacketError) as caught:
        list(parser.feed(b"\x30\x63"))
    assert caught.value.reason is Reason.PACKET_TOO_LARGE


def test_padding_of_the_length_passes_before_mqtt_5() -> None:
    assert list(Parser(version=V3).feed(bytes.fromhex("c0 80 00"))) == [p.Pingreq()]


def test_mqtt_5_acknowledges_success_in_four_bytes() -> None:
    assert encode(p.Puback(258), V5) == encode(p.Puback(258), V3) == bytes.fromhex("40 02 01 02")
    assert encode(p.Puback(1, Reason.QUOTA_EXCEEDED), V5) == bytes.fromhex("40 03 00 01 97")
    assert encode(p.Disconnect(), V5) == b"\xe0\0"


def test_user_properties_keep_their_order() -> None:
    pairs = (("b", "1"), ("a", "2"), ("b", "1"))
    said = p.Publish("t", b"", properties={Property.USER_PROPERTY: pairs})
    assert list(Parser(version=V5).feed(encode(said, V5))) == [said]


@pytest.mark.parametrize("name", ["a", "/", "a//b", " ", "$SYS/x", "ä" * 5])
def test_names(name: str) -> None:
    assert is_name(name)
    assert is_filter(name)


@pytest.mark.parametrize("pattern", ["#", "+", "+/+", "a/#", "/+", "+/", "a/+/b/#", "$SYS/#", "/#"])
def test_filters_that_are_no_names(pattern: str) -> None:
    assert is_filter(pattern)
    assert not is_name(pattern)


@pytest.mark.parametrize("pattern", ["", "a#", "#/a", "a/#/b", "a+", "+a", "a/b+/c", "##", "a/##", "++"])
def test_what_is_no_filter(pattern: str) -> None:
    assert not is_filter(pattern)


# The examples of section 4.7 of the standard.
@pytest.mark.parametrize(
    ("pattern", "name", "yes"),
    [
        ("sport/tennis/player1/#", "sport/tennis/player1", True),
        ("sport/tennis/player1/#", "sport/tennis/player1/ranking", True),
        ("sport/tennis/player1/#", "sport/tennis/player1/score/wimbledon", True),
        ("sport/tennis/player1/#", "sport/tennis/player2", False),
        ("sport/#", "sport", True),
        ("sport/tennis/+", "sport/tennis/player1", True),
        ("sport/tennis/+", "sport/tennis/player1/ranking", False),
        ("sport/+", "sport", False),
        ("sport/+", "sport/", True),
        ("+/+", "/finance", True),
        ("/+", "/finance", True),
        ("+", "/finance", False),
        ("#", "$SYS/x", False),
        ("+/monitor/Clients", "$SYS/monitor/Clients", False),
        ("$SYS/#", "$SYS/x", True),
        ("$SYS/monitor/+", "$SYS/monitor/Clients", True),
        ("a", "A", False),
        ("a/b", "a/b/", False),
    ],
)
def test_matching_of_the_standards_examples(pattern: str, name: str, yes: bool) -> None:
    assert matches(pattern, name) is yes


def test_shared_filters_have_a_group_and_a_filter() -> None:
    assert split_shared("$share/g/a/#") == ("g", "a/#")
    for broken in ("$share", "$share/", "$share/g", "$share/g/", "$share//a", "$share/+/a", "$share/g#/a"):
        assert split_shared(broken) is None
