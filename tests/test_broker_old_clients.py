"""Clients of MQTT 3.1, which uses fewer bits than 3.1.1, and bridges of Mosquitto, which set one more."""

import pytest

from broker_client import V3, V5, V31, Client, House
from weft.wire.mqtt import packet as p
from weft.wire.mqtt.parser import Parser
from weft.wire.mqtt.writer import encode

CONNECT = encode(p.Connect("old", p.Version.V31), V31)


def changed(packet: bytes, at: int, bits: int) -> bytes:
    """The packet with other bits in one byte."""
    return packet[:at] + bytes([packet[at] | bits]) + packet[at + 1 :]


def said(client: Client) -> list[tuple[str, bytes, bool]]:
    return [(one.topic, one.payload, one.retain) for one in client.take() if isinstance(one, p.Publish)]


@pytest.mark.parametrize(
    ("packet", "answer"),
    [
        (p.Subscribe(1, (p.Request("a"),)), p.Suback(1, (0,))),
        (p.Unsubscribe(1, ("a",)), p.Unsuback(1)),
        (p.Pubrel(1), p.Pubcomp(1)),
    ],
    ids=["SUBSCRIBE", "UNSUBSCRIBE", "PUBREL"],
)
def test_what_3_1_sends_again_says_so_and_is_answered(packet: p.Packet, answer: p.Packet) -> None:
    house = House()
    one = house.greeted("one", V31)
    assert one.say_bytes(changed(encode(packet, V31), 0, 0x08)) == [answer]
    newer = house.greeted("two", V3)
    assert newer.say_bytes(changed(encode(packet, V3), 0, 0x08)) == []
    assert newer.closed


@pytest.mark.parametrize("bits", range(16))
@pytest.mark.parametrize(
    "packet",
    [
        p.Subscribe(1, (p.Request("a"),)),
        p.Unsubscribe(1, ("a",)),
        p.Puback(1),
        p.Pubrec(1),
        p.Pubrel(1),
        p.Pubcomp(1),
        p.Pingreq(),
        p.Disconnect(),
    ],
    ids=lambda packet: type(packet).__name__,
)
def test_bits_that_3_1_does_not_use_are_not_looked_at(packet: p.Packet, bits: int) -> None:
    assert list(Parser(version=V31).feed(changed(encode(packet, V31), 0, bits))) == [packet]


def test_bits_of_a_connect_that_3_1_does_not_use_are_not_looked_at() -> None:
    flags, connect = 11, p.Connect("old", V31)
    for at, bits in [(0, 0x0F), (flags, 0x01), (flags, 0x38)]:
        assert list(Parser().feed(changed(CONNECT, at, bits))) == [connect], (at, bits)
    for version in (V3, V5):
        for at, bits in [(0, 0x08), (9, 0x01), (9, 0x38)]:
            one = House().open(version)
            one.say_bytes(changed(encode(p.Connect("new", version), version), at, bits))
            assert one.closed, (version, at, bits)


def test_bits_of_a_request_that_3_1_does_not_use_are_not_looked_at() -> None:
    subscribe = p.Subscribe(1, (p.Request("a", 1),))
    packet = encode(subscribe, V31)
    assert list(Parser(version=V31).feed(changed(packet, len(packet) - 1, 0xFC))) == [subscribe]


def test_a_publication_of_3_1_with_qos_0_may_say_dup() -> None:
    house = House()
    one, other = house.greeted("one", V31), house.greeted("other", V31)
    other.say(p.Subscribe(1, (p.Request("a"),)))
    one.say_bytes(changed(encode(p.Publish("a", b"x"), V31), 0, 0x08))
    assert other.take() == [p.Publish("a", b"x")]  # without: to this client it is new


@pytest.mark.parametrize("first", [0x00, 0x0F, 0xF0, 0xFF])
def test_types_that_3_1_does_not_have_end_the_connection(first: int) -> None:
    one = House().greeted("one", V31)
    one.say_bytes(bytes([first, 0]))
    assert one.closed


# Bridges of Mosquitto


def bridge(house: House, version: p.Version) -> Client:
    """A bridge with its defaults: a level with the highest bit set."""
    one = house.open(version)
    connect = encode(p.Connect("bridge", version), version)
    level = connect.index(bytes([version]), 8 if version is V31 else 6)
    assert one.say_bytes(changed(connect, level, 0x80)) == [p.Connack(False, 0)]
    return one


@pytest.mark.parametrize("version", [V31, V3])
def test_a_bridge_does_not_get_its_own_publications_again(version: p.Version) -> None:
    house = House()
    one, other = bridge(house, version), house.greeted("other")
    one.say(p.Subscribe(1, (p.Request("#"),)))
    other.say(p.Subscribe(1, (p.Request("#"),)))
    for _ in range(2):  # the second time by the lane
        assert one.say(p.Publish("a", b"there")) == []
        assert said(other) == [("a", b"there", False)]
        other.say(p.Publish("a", b"here"))
        assert said(one) == [("a", b"here", False)]
        other.take()


@pytest.mark.parametrize("version", [V31, V3])
def test_a_bridge_is_told_what_is_to_be_retained(version: p.Version) -> None:
    house = House()
    one, other = bridge(house, version), house.greeted("other")
    one.say(p.Subscribe(1, (p.Request("#"),)))
    other.say(p.Publish("a", b"state", retain=True))
    assert said(one) == [("a", b"state", True)]


def test_a_bridge_may_share() -> None:
    """No local, which a shared subscription of MQTT 5 may not have, is not what it asked for there."""
    house = House()
    one = bridge(house, V3)
    one.say(p.Subscribe(1, (p.Request("$share/g/a"),)))
    assert one.say(p.Publish("a", b"x")) == [p.Publish("a", b"x")]


def test_what_a_bridge_asked_for_holds_after_a_restart() -> None:
    house = House()
    one = house.open(V3)
    connect = encode(p.Connect("bridge", V3, clean=False), V3)
    one.say_bytes(changed(connect, 8, 0x80))
    one.say(p.Subscribe(1, (p.Request("#", 1),)))
    house.restart()
    one = house.open(V3)
    one.say_bytes(changed(connect, 8, 0x80))
    assert one.say(p.Publish("a", b"x", 1, packet_id=1)) == [p.Puback(1)]


def test_a_level_that_is_not_known_is_refused_with_the_bridge_bit_too() -> None:
    connect = encode(p.Connect("c", V5), V5)
    one = House().open(V3)
    assert one.say_bytes(changed(connect, 8, 0x80)) == [p.Connack(False, 1)]
    assert one.closed
