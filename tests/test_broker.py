"""The broker, packet by packet. The conformance suite speaks to a process; here time is virtual."""

from dataclasses import astuple, fields

import pytest

from broker_client import QUIET, V3, V5, Client, House, subscribe
from weft.broker import effect as e
from weft.broker.broker import Broker
from weft.broker.figure import Figures, Loads, topics
from weft.broker.parameters import Parameters
from weft.errors import WeftError
from weft.wire.mqtt import packet as p
from weft.wire.mqtt.parser import Parser
from weft.wire.mqtt.property import Property
from weft.wire.mqtt.reason import Reason
from weft.wire.mqtt.writer import encode

VERSIONS = [V3, V5]


def said(client: Client) -> list[tuple[str, bytes]]:
    return [(one.topic, one.payload) for one in client.take() if isinstance(one, p.Publish)]


@pytest.fixture
def house() -> House:
    return House()


# Publish and subscribe


@pytest.mark.parametrize("sender", VERSIONS)
@pytest.mark.parametrize("receiver", VERSIONS)
def test_a_publication_reaches_who_subscribes(house: House, sender: p.Version, receiver: p.Version) -> None:
    one, other = house.greeted("one", sender), house.greeted("other", receiver)
    assert subscribe(other, "a/+") == [p.Suback(1, (0,))]
    for _ in range(3):  # the first of a topic takes the long way, the next ones the lane
        one.say(p.Publish("a/b", b"1"), p.Publish("a/c", b""), p.Publish("b", b"no"), p.Publish("a/b", b"3" * 200))
        assert other.take() == [p.Publish("a/b", b"1"), p.Publish("a/c", b""), p.Publish("a/b", b"3" * 200)]


def test_what_one_receiver_gets_of_one_read_is_one_send(house: House) -> None:
    one, other = house.greeted("one"), house.greeted("other")
    subscribe(other, "#")
    packets = b"".join(encode(p.Publish(f"t/{n % 3}", b"x"), V3) for n in range(30))
    one.say_bytes(packets)
    effects = house.broker.handle(e.Received(one.number, packets), house.now)
    assert effects == [e.Send(other.number, packets)]  # as the bytes it came in
    assert effects[0].data is packets or effects[0].data == packets  # type: ignore[attr-defined]


def test_receivers_change_with_every_subscription(house: House) -> None:
    one, other, third = house.greeted("one"), house.greeted("other"), house.greeted("third")
    subscribe(other, "a/b")
    one.say(p.Publish("a/b", b"1"))
    subscribe(third, "a/#")
    one.say(p.Publish("a/b", b"2"))
    other.say(p.Unsubscribe(2, ("a/b",)))
    one.say(p.Publish("a/b", b"3"))
    third.vanish()
    one.say(p.Publish("a/b", b"4"))
    assert said(other) == []
    assert [two.payload for two in third.heard if isinstance(two, p.Publish)] == [b"2", b"3"]


def test_overlapping_filters_give_one_copy_with_the_highest_qos(house: House) -> None:
    one, other = house.greeted("one"), house.greeted("other", V5)
    other.say(p.Subscribe(1, (p.Request("a/#", 0),), {Property.SUBSCRIPTION_IDENTIFIER: (7,)}))
    other.say(p.Subscribe(2, (p.Request("a/b", 1),), {Property.SUBSCRIPTION_IDENTIFIER: (9,)}))
    one.say(p.Publish("a/b", b"x", 2, packet_id=1))
    (got,) = other.take()
    assert isinstance(got, p.Publish)
    assert (got.qos, sorted(got.properties[Property.SUBSCRIPTION_IDENTIFIER])) == (1, [7, 9])


def test_no_local_keeps_a_client_from_hearing_itself(house: House) -> None:
    one, other = house.greeted("one", V5), house.greeted("other", V5)
    subscribe(one, "a", no_local=True)
    subscribe(one, "b")
    for _ in range(2):
        assert one.say(p.Publish("a", b"1"), p.Publish("b", b"1")) == [p.Publish("b", b"1")]
        other.say(p.Publish("a", b"2"), p.Publish("b", b"2"))
        assert said(one) == [("a", b"2"), ("b", b"2")]


def test_properties_are_passed_on_and_expiry_counts_down(house: House) -> None:
    properties = {
        Property.PAYLOAD_FORMAT_INDICATOR: 1,
        Property.CONTENT_TYPE: "text",
        Property.RESPONSE_TOPIC: "answer",
        Property.CORRELATION_DATA: b"1",
        Property.USER_PROPERTY: (("a", "1"), ("a", "2")),
    }
    one, other = house.greeted("one", V5), house.greeted("other", V5, properties={Property.SESSION_EXPIRY_INTERVAL: 99})
    old = house.greeted("old", V3)
    subscribe(other, "t", qos=1)
    subscribe(old, "t")
    one.say(p.Publish("t", b"x", properties={**properties, Property.TOPIC_ALIAS: 3}))
    assert other.take() == [p.Publish("t", b"x", properties=properties)]
    assert old.take() == [p.Publish("t", b"x")]
    other.vanish()
    one.say(p.Publish("t", b"y", 1, packet_id=1, properties={Property.MESSAGE_EXPIRY_INTERVAL: 20}))
    one.say(p.Publish("t", b"z", 1, packet_id=2, properties={Property.MESSAGE_EXPIRY_INTERVAL: 5}))
    house.wait(8)
    other = house.greeted("other", V5, clean=False, properties={Property.SESSION_EXPIRY_INTERVAL: 99})
    assert [(got.payload, got.properties) for got in other.take()] == [  # type: ignore[attr-defined]
        (b"y", {Property.MESSAGE_EXPIRY_INTERVAL: 12})
    ]


# Aliases


def test_aliases_stand_for_topics(house: House) -> None:
    one, other = house.greeted("one", V5), house.greeted("other", V3)
    subscribe(other, "#")
    one.say(p.Publish("t", b"1", properties={Property.TOPIC_ALIAS: 1}))
    one.say(p.Publish("", b"2", properties={Property.TOPIC_ALIAS: 1}))
    one.say(p.Publish("u", b"3", properties={Property.TOPIC_ALIAS: 1}))
    one.say(p.Publish("", b"4", properties={Property.TOPIC_ALIAS: 1}))
    assert said(other) == [("t", b"1"), ("t", b"2"), ("u", b"3"), ("u", b"4")]


@pytest.mark.parametrize(("topic", "alias"), [("t", 0), ("t", 101), ("", 5)])
def test_aliases_out_of_range_or_not_set_end_the_connection(house: House, topic: str, alias: int) -> None:
    one = house.greeted("one", V5)
    (got,) = one.say(p.Publish(topic, b"", properties={Property.TOPIC_ALIAS: alias}))
    assert isinstance(got, p.Disconnect)
    assert got.reason == (Reason.TOPIC_ALIAS_INVALID if topic else Reason.PROTOCOL_ERROR)
    assert one.closed


def test_a_client_that_wants_aliases_gets_them(house: House) -> None:
    one, other = house.greeted("one"), house.greeted("other", V5, properties={Property.TOPIC_ALIAS_MAXIMUM: 1})
    subscribe(other, "#")
    one.say(p.Publish("a", b"1"), p.Publish("a", b"2"), p.Publish("b", b"3"))
    alias = {Property.TOPIC_ALIAS: 1}
    assert other.take() == [
        p.Publish("a", b"1", properties=alias),
        p.Publish("", b"2", properties=alias),
        p.Publish("b", b"3"),
    ]


# Handshakes


def test_qos_1_and_2_to_a_client_are_resumed_with_their_identifiers(house: House) -> None:
    one, other = house.greeted("one"), house.greeted("other", clean=False)
    subscribe(other, "#", qos=2)
    assert one.say(p.Publish("t", b"1", 1, packet_id=5)) == [p.Puback(5)]
    assert one.say(p.Publish("t", b"2", 2, packet_id=6)) == [p.Pubrec(6)]
    assert one.say(p.Publish("t", b"3", 2, packet_id=7)) == [p.Pubrec(7)]
    first, second, third = other.take()
    assert [(got.qos, got.dup) for got in (first, second, third)] == [(1, False), (2, False), (2, False)]  # type: ignore[attr-defined]
    other.say(p.Pubrec(third.packet_id))  # type: ignore[attr-defined]
    other.vanish()
    other = house.greeted("other", clean=False)
    again = other.take()
    assert again[:2] == [p.Publish("t", b"1", 1, False, True, 1), p.Publish("t", b"2", 2, False, True, 2)]
    assert again[2:] == [p.Pubrel(3)]
    assert other.say(p.Puback(1), p.Pubrec(2), p.Pubcomp(3)) == [p.Pubrel(2)]
    other.say(p.Pubcomp(2))
    other.vanish()
    assert house.greeted("other", clean=False).take() == []


def test_qos_2_from_a_client_is_passed_on_once(house: House) -> None:
    one, other = house.greeted("one", clean=False), house.greeted("other")
    subscribe(other, "#")
    message = p.Publish("t", b"x", 2, packet_id=9)
    assert one.say(message, message) == [p.Pubrec(9), p.Pubrec(9)]
    one.vanish()
    one = house.greeted("one", clean=False)
    assert one.say(p.Publish("t", b"x", 2, dup=True, packet_id=9)) == [p.Pubrec(9)]
    assert one.say(p.Pubrel(9), p.Pubrel(9)) == [p.Pubcomp(9), p.Pubcomp(9)]
    one.say(message)
    assert said(other) == [("t", b"x"), ("t", b"x")]


def test_mqtt_5_is_told_of_unknown_identifiers(house: House) -> None:
    one = house.greeted("one", V5)
    assert one.say(p.Pubrel(3)) == [p.Pubcomp(3, Reason.PACKET_IDENTIFIER_NOT_FOUND)]
    assert one.say(p.Pubrec(3)) == [p.Pubrel(3, Reason.PACKET_IDENTIFIER_NOT_FOUND)]
    assert one.say(p.Puback(3), p.Pubcomp(4)) == []


def test_mqtt_5_is_told_that_nobody_listens(house: House) -> None:
    one = house.greeted("one", V5)
    assert one.say(p.Publish("t", b"", 1, packet_id=1)) == [p.Puback(1, Reason.NO_MATCHING_SUBSCRIBERS)]
    assert one.say(p.Publish("t", b"", 2, packet_id=2)) == [p.Pubrec(2, Reason.NO_MATCHING_SUBSCRIBERS)]


def test_a_client_has_no_more_open_than_it_said(house: House) -> None:
    one, other = house.greeted("one"), house.greeted("other", V5, properties={Property.RECEIVE_MAXIMUM: 2})
    subscribe(other, "#", qos=2)
    one.say(*(p.Publish("t", bytes([n]), 1 + n % 2, packet_id=n + 1) for n in range(6)))
    got = other.take()
    assert [two.payload for two in got] == [b"\0", b"\1"]  # type: ignore[attr-defined]
    assert other.say(p.Pubrec(2)) == [p.Pubrel(2)]
    assert [two.payload for two in other.say(p.Puback(1))] == [b"\2"]  # type: ignore[attr-defined]
    assert [two.payload for two in other.say(p.Pubcomp(2))] == [b"\3"]  # type: ignore[attr-defined]
    assert [two.payload for two in other.say(p.Puback(3), p.Pubrec(4, Reason.UNSPECIFIED_ERROR))] == [b"\4", b"\5"]  # type: ignore[attr-defined]


def test_a_publisher_that_never_releases_is_stopped() -> None:
    house = House(Parameters(sys_interval=0, receive_maximum=3))
    one = house.greeted("one", V5)
    one.say(*(p.Publish("t", b"", 2, packet_id=n) for n in (1, 2, 3)))
    (got,) = one.say(p.Publish("t", b"", 2, packet_id=4))
    assert isinstance(got, p.Disconnect)
    assert got.reason == Reason.RECEIVE_MAXIMUM_EXCEEDED


def test_what_is_too_large_for_a_client_is_not_sent(house: House) -> None:
    one, other = house.greeted("one"), house.greeted("other", V5, properties={Property.MAXIMUM_PACKET_SIZE: 50})
    subscribe(other, "#", qos=1)
    one.say(p.Publish("t", bytes(60), 1, packet_id=1), p.Publish("t", bytes(60)), p.Publish("t", b"s", 1, packet_id=2))
    assert said(other) == [("t", b"s")]
    one.say(p.Publish("t", bytes(45)), p.Publish("t", bytes(44)))  # two bytes, three of the topic, one of properties
    assert said(other) == [("t", bytes(44))]


# Retained messages


@pytest.mark.parametrize("version", VERSIONS)
def test_retained_messages_are_sent_to_new_subscriptions(house: House, version: p.Version) -> None:
    one, other = house.greeted("one"), house.greeted("other", version)
    one.say(p.Publish("a/b", b"old", retain=True), p.Publish("a/b", b"new", 1, retain=True, packet_id=1))
    one.say(
        p.Publish("a/c", b"x", retain=True), p.Publish("a/c", b"", retain=True), p.Publish("$a/c", b"x", retain=True)
    )
    heard = subscribe(other, "#", qos=2)
    assert heard == [p.Suback(1, (2,)), p.Publish("a/b", b"new", 1, True, False, 1)]
    one.say(p.Publish("a/b", b"now", retain=True))
    assert other.take() == [p.Publish("a/b", b"now")]


def test_retain_handling_and_retain_as_published(house: House) -> None:
    one, other = house.greeted("one"), house.greeted("other", V5)
    one.say(p.Publish("t", b"r", retain=True))
    for handling, expected in ((2, 0), (1, 0), (0, 1), (1, 0)):
        assert len(subscribe(other, "t", retain_handling=handling)) == 1 + expected
    assert len(subscribe(other, "+", retain_handling=1, retain_as_published=True)) == 2
    one.say(p.Publish("t", b"s", retain=True))
    assert other.take() == [p.Publish("t", b"s", retain=True)]


def test_retained_messages_expire(house: House) -> None:
    one, other = house.greeted("one", V5), house.greeted("other", V5)
    one.say(p.Publish("t", b"r", retain=True, properties={Property.MESSAGE_EXPIRY_INTERVAL: 10}))
    house.wait(9)
    assert len(subscribe(other, "t")) == 2
    house.wait(1)
    assert len(subscribe(other, "t")) == 1


# Wills


WILL = p.Will("gone", b"one", 1)


def test_a_will_is_said_when_the_connection_is_lost_and_not_after_goodbye(house: House) -> None:
    other = house.greeted("other")
    subscribe(other, "#")
    house.greeted("one", will=WILL).vanish()
    assert said(other) == [("gone", b"one")]
    house.greeted("one", will=WILL).say(p.Disconnect())
    assert said(other) == []
    house.greeted("one", V5, will=WILL).say(p.Disconnect(Reason.DISCONNECT_WITH_WILL))
    assert said(other) == [("gone", b"one")]
    house.greeted("one", will=WILL).say_bytes(b"\0\0")
    assert said(other) == [("gone", b"one")]
    house.greeted("one", will=WILL)
    house.greeted("one")
    assert said(other) == [("gone", b"one")]


def test_a_will_waits_for_its_delay_and_is_taken_back_by_who_returns(house: House) -> None:
    other = house.greeted("other")
    subscribe(other, "#")
    will = p.Will("gone", b"one", properties={Property.WILL_DELAY_INTERVAL: 10})
    keep = {Property.SESSION_EXPIRY_INTERVAL: 100}
    house.greeted("one", V5, will=will, properties=keep).vanish()
    house.wait(9.9)
    assert said(other) == []
    house.greeted("one", V5, clean=False, will=will, properties=keep).vanish()
    house.wait(9.9)
    assert said(other) == []
    house.wait(0.2)
    assert said(other) == [("gone", b"one")]
    house.greeted("one", V5, will=will, properties={Property.SESSION_EXPIRY_INTERVAL: 3}).vanish()
    house.wait(2.9)
    assert said(other) == []
    house.wait(0.2)  # the session has ended
    assert said(other) == [("gone", b"one")]


# Sessions


def test_a_session_is_present_or_not(house: House) -> None:
    def present(client: Client) -> bool:
        got = client.take()[0]
        assert isinstance(got, p.Connack)
        return got.session_present

    assert not present(house.connect("one", clean=False))
    assert present(house.connect("one", clean=False))
    assert not present(house.connect("one", clean=True))
    assert not present(house.connect("one", clean=False))
    keep = {Property.SESSION_EXPIRY_INTERVAL: 10}
    two = house.connect("two", V5, properties=keep)
    two.vanish()
    house.wait(9)
    again = house.connect("two", V5, clean=False, properties=keep)
    assert present(again)
    again.vanish()
    house.wait(10)
    assert not present(house.connect("two", V5, clean=False, properties=keep))


def test_disconnect_may_change_how_long_a_session_is_kept(house: House) -> None:
    keep = {Property.SESSION_EXPIRY_INTERVAL: 10}
    house.greeted("one", V5, properties=keep).say(p.Disconnect(0, {Property.SESSION_EXPIRY_INTERVAL: 0}))
    (got,) = house.connect("one", V5, clean=False).take()
    assert isinstance(got, p.Connack)
    assert not got.session_present
    one = house.greeted("two", V5)
    (bye,) = one.say(p.Disconnect(0, {Property.SESSION_EXPIRY_INTERVAL: 5}))
    assert isinstance(bye, p.Disconnect)
    assert bye.reason == Reason.PROTOCOL_ERROR


def test_a_second_connection_takes_the_first_ones_place(house: House) -> None:
    one = house.greeted("one", V5, properties={Property.SESSION_EXPIRY_INTERVAL: 10})
    subscribe(one, "t", qos=1)
    two = house.greeted("one", V5, clean=False, properties={Property.SESSION_EXPIRY_INTERVAL: 10})
    assert one.closed
    assert one.take() == [p.Disconnect(Reason.SESSION_TAKEN_OVER)]
    assert two.say(p.Publish("t", b"x")) == [p.Publish("t", b"x")]
    assert house.broker.figures.connected == 1


def test_messages_wait_for_a_client_that_is_away_within_bounds() -> None:
    house = House(Parameters(sys_interval=0, queue_messages=3))
    one, other = house.greeted("one"), house.greeted("other", clean=False)
    subscribe(other, "#", qos=1)
    other.vanish()
    one.say(p.Publish("t", b"zero"))
    one.say(*(p.Publish("t", bytes([n]), 1, packet_id=n + 1) for n in range(5)))
    assert said(house.greeted("other", clean=False)) == [("t", b"\0"), ("t", b"\1"), ("t", b"\2")]
    assert house.broker.figures.dropped == 2


def test_names_are_given_to_clients_without_one(house: House) -> None:
    got = house.connect("", V5).take()[0]
    assert isinstance(got, p.Connack)
    name = got.properties[Property.ASSIGNED_CLIENT_IDENTIFIER]
    other = house.connect("", V5).take()[0]
    assert other.properties[Property.ASSIGNED_CLIENT_IDENTIFIER] != name  # type: ignore[attr-defined]
    assert house.connect("", V3).take() == [p.Connack(False, 0)]
    refused = house.connect("", V3, clean=False)
    assert refused.take() == [p.Connack(False, 2)]
    assert refused.closed


def test_enhanced_authentication_is_refused(house: House) -> None:
    one = house.connect("one", V5, properties={Property.AUTHENTICATION_METHOD: "SCRAM"})
    assert one.take()[0].code == Reason.BAD_AUTHENTICATION_METHOD  # type: ignore[attr-defined]
    two = house.greeted("two", V5)
    assert two.say(p.Auth(Reason.REAUTHENTICATE))[0].reason == Reason.PROTOCOL_ERROR  # type: ignore[attr-defined]


# Shared subscriptions


def test_one_member_of_a_group_gets_each_publication(house: House) -> None:
    publisher, outsider = house.greeted("p"), house.greeted("o")
    members = [house.greeted(name, V5) for name in "abc"]
    for member in members:
        subscribe(member, "$share/g/t/#", qos=1)
    subscribe(outsider, "t/#")
    for n in range(9):
        publisher.say(p.Publish(f"t/{n}", b"", 1, packet_id=n + 1))
    shares = [said(member) for member in members]
    assert sorted(len(share) for share in shares) == [3, 3, 3]
    assert sorted(topic for share in shares for topic, _ in share) == [f"t/{n}" for n in range(9)]
    assert len(said(outsider)) == 9


def test_what_a_member_did_not_acknowledge_goes_to_another_when_its_session_ends(house: House) -> None:
    publisher, one, other = house.greeted("p"), house.greeted("one"), house.greeted("other")
    for member in (one, other):
        subscribe(member, "$share/g/t", qos=1)
    publisher.say(*(p.Publish("t", bytes([n]), 1, packet_id=n + 1) for n in range(4)))
    assert len(said(one)) == 2
    one.vanish()
    assert sorted(payload for _, payload in said(other)) == [b"\0", b"\1", b"\2", b"\3"]


# Bad clients


def test_packets_before_connect_and_a_second_connect_end_the_connection(house: House) -> None:
    first = house.open(V3)
    assert first.say(p.Pingreq()) == []
    assert first.closed
    twice = house.greeted("one", V5)
    (got,) = twice.say(p.Connect("one", V5))
    assert isinstance(got, p.Disconnect)
    assert got.reason == Reason.PROTOCOL_ERROR


def test_an_unknown_version_is_told(house: House) -> None:
    one = house.open(V3)
    assert one.say_bytes(bytes.fromhex("10 0c 0004 4d515454 07 02 0000 0000")) == [p.Connack(False, 1)]
    assert one.closed


def test_silence_before_connect_and_beyond_keep_alive_is_ended(house: House) -> None:
    mute = house.open(V3)
    one, two = house.greeted("one", V5, keep_alive=10), house.greeted("two", V5, keep_alive=0)
    house.wait(9.9)
    assert not mute.closed
    one.say(p.Pingreq())
    house.wait(0.2)
    assert mute.closed
    house.wait(14.7)
    assert not one.closed
    house.wait(0.2)
    assert one.closed
    assert one.take() == [p.Disconnect(Reason.KEEP_ALIVE_TIMEOUT)]
    house.wait(100_000)
    assert not two.closed


def held(patience: float = 1000, read_ahead: int = 100) -> tuple[House, Client, Client]:
    """A publisher that waits for a receiver that cannot keep up."""
    house = House(Parameters(sys_interval=0, patience=patience, read_ahead=read_ahead))
    one, slow = house.greeted("one", V5, keep_alive=10), house.greeted("slow")
    subscribe(slow, "#")
    house.tell(e.Congested(slow.number))
    one.say(p.Publish("t", b"0"))
    house.effects.clear()
    return house, one, slow


def test_a_client_whose_publications_wait_is_answered_what_cannot() -> None:
    house, one, slow = held()
    for number in range(1, 5):
        assert one.say(p.Publish("t", b"%d" % number), p.Pingreq()) == [p.Pingresp()]
        house.wait(9)
    assert not one.closed
    assert [payload for _, payload in said(slow)] == [b"0"]
    house.tell(e.Drained(slow.number))
    house.go_on()
    assert [payload for _, payload in said(slow)] == [b"1", b"2", b"3", b"4"]
    assert not one.take()  # no request is answered twice
    assert one.say(p.Pingreq()) == [p.Pingresp()]


@pytest.mark.parametrize("cut", [0, 1, 2, 3, 7])
def test_requests_are_found_wherever_reads_end(cut: int) -> None:
    house, one, slow = held(read_ahead=1 << 20)
    ping = encode(p.Pingreq(), V5)
    said_ = [ping * 5, encode(p.Publish("t", b"1"), V5), ping * 4, encode(p.Publish("t", ping * 100), V5), ping]
    data = b"".join(said_)
    answers = one.say_bytes(data[:cut]) + one.say_bytes(data[cut:-1]) + one.say_bytes(data[-1:])
    assert answers == [p.Pingresp()] * 10
    house.tell(e.Drained(slow.number))
    house.go_on()
    assert not one.take()
    assert [payload for _, payload in said(slow)] == [b"0", b"1", ping * 100]


def test_a_client_whose_publications_wait_and_come_in_parts_is_not_silent() -> None:
    house, one, _ = held(read_ahead=1 << 20)
    packet = encode(p.Publish("t", b"x"), V5)
    one.say_bytes(packet[:3])
    for _ in range(4):
        house.wait(14)
        one.say_bytes(packet[3:] + packet[:3])
        assert not one.closed
    house.wait(16)
    assert one.closed


def test_a_client_whose_publications_wait_and_that_falls_silent_is_closed() -> None:
    house, one, _ = held()
    house.wait(16)
    assert one.closed


def test_who_is_not_read_is_not_silent() -> None:
    house, one, slow = held()
    one.say(p.Publish("t", bytes(60)))
    assert not house.effects
    one.say(p.Publish("t", bytes(60)))
    assert house.effects == [e.Hold(one.number)]
    house.wait(400)
    assert not one.closed
    house.tell(e.Drained(slow.number))
    house.go_on()
    assert e.Resume(one.number) in house.effects
    house.wait(14)
    assert not one.closed
    house.wait(14)
    assert one.closed


def test_a_client_that_does_not_take_its_answers_is_not_asked_for_more() -> None:
    house = House(Parameters(sys_interval=0, read_ahead=100))
    one = house.greeted("one", V5)
    house.tell(e.Congested(one.number))
    assert len(one.say(*[p.Pingreq()] * 10)) == 10
    assert one.say(*[p.Pingreq()] * 50) == []
    house.wait(10)
    assert one.say(p.Pingreq()) == []
    assert house.effects[-1] == e.Hold(one.number)
    house.tell(e.Drained(one.number))
    house.go_on()
    assert len(one.take()) == 51


@pytest.mark.parametrize("qos", [0, 1])
def test_who_speaks_in_reads_that_end_within_a_packet_is_not_silent(house: House, qos: int) -> None:
    one, other = house.greeted("one", keep_alive=10), house.greeted("other")
    subscribe(other, "t", qos=qos)
    packet = encode(p.Publish("t", b"x", qos, packet_id=7 if qos else 0), V3)
    one.say_bytes(packet + packet[:3])
    for _ in range(4):
        house.wait(14)
        one.say_bytes(packet[3:] + packet[:3])
        assert not one.closed
    house.wait(16)
    assert one.closed


def test_a_server_keep_alive_is_told_and_kept() -> None:
    house = House(Parameters(sys_interval=0, keep_alive=60))
    got = house.connect("one", V5, keep_alive=0).take()[0]
    assert got.properties[Property.SERVER_KEEP_ALIVE] == 60  # type: ignore[attr-defined]
    house.wait(91)
    assert house.broker.figures.connected == 0
    brief = house.greeted("two", V5, keep_alive=10)
    house.wait(16)
    assert brief.closed


def test_what_comes_of_a_connection_that_is_gone_or_going_is_nothing(house: House) -> None:
    one, other = house.greeted("one"), house.greeted("other")
    subscribe(other, "#")
    publish = encode(p.Publish("t", b"late"), V3)
    going = house.broker.handle(e.Received(one.number, encode(p.Disconnect(), V3)), house.now)
    assert e.Close(one.number) in going
    assert house.broker.handle(e.Received(one.number, publish), house.now) == []
    assert house.broker.handle(e.Received(99, publish), house.now) == []


def test_connections_above_the_limit_are_refused() -> None:
    house = House(Parameters(sys_interval=0, connections=2))
    house.greeted("one")
    house.greeted("two")
    assert house.connect("three").take() == [p.Connack(False, 3)]
    assert house.connect("four", V5).take()[0].code == Reason.SERVER_BUSY  # type: ignore[attr-defined]


def test_a_packet_over_the_limit_and_a_topic_too_deep_are_refused() -> None:
    house = House(Parameters(sys_interval=0, packet_bytes=128, topic_levels=3))
    one = house.greeted("one", V5)
    assert one.say_bytes(b"\x30\xff\x01")[0].reason == Reason.PACKET_TOO_LARGE  # type: ignore[attr-defined]
    two = house.greeted("two", V5)
    assert two.say(p.Publish("a/b/c/d", b""))[0].reason == Reason.TOPIC_NAME_INVALID  # type: ignore[attr-defined]
    three = house.greeted("three", V3)
    assert subscribe(three, "a/b/c", "a/b/c/d") == [p.Suback(1, (0, 0x80))]


def test_a_receiver_that_cannot_keep_up_slows_its_publisher_down_and_then_misses_qos_0(house: House) -> None:
    one, slow, fast = house.greeted("one"), house.greeted("slow"), house.greeted("fast")
    subscribe(slow, "#", qos=1)
    subscribe(fast, "#")
    one.say(p.Publish("t", b"0"))
    house.tell(e.Congested(slow.number))
    house.effects.clear()
    one.say(p.Publish("t", b"1"))
    one.say(p.Publish("t", b"2"))
    assert said(slow) == [("t", b"0"), ("t", b"1")]
    house.wait(0.3)
    one.say(p.Publish("t", b"3", 1, packet_id=1))
    assert said(slow) == []
    house.tell(e.Drained(slow.number))
    assert said(slow) == [("t", b"3")]
    assert len(said(fast)) == 4


def test_nobody_waits_for_a_receiver_that_is_gone(house: House) -> None:
    one, slow = house.greeted("one"), house.greeted("slow")
    subscribe(slow, "#")
    house.tell(e.Congested(slow.number))
    one.say(p.Publish("t", b"1"))
    assert one.say(p.Publish("t", b"2", 1, packet_id=1)) == []
    slow.vanish()
    house.go_on()
    assert one.take() == [p.Puback(1, Reason.NO_MATCHING_SUBSCRIBERS)] or one.version is V3


def test_a_full_journal_refuses_what_it_cannot_keep(house: House) -> None:
    one, old, other = house.greeted("one", V5), house.greeted("old", V3), house.greeted("other")
    subscribe(other, "#", qos=1)
    house.tell(e.JournalFilled())
    assert one.say(p.Publish("t", b"1", 1, packet_id=1)) == [p.Puback(1, Reason.QUOTA_EXCEEDED)]
    assert one.say(p.Publish("t", b"1", 2, packet_id=1)) == [p.Pubrec(1, Reason.QUOTA_EXCEEDED)]
    one.say(p.Publish("t", b"0"))
    assert said(other) == [("t", b"0")]
    old.say(p.Publish("t", b"1", 1, packet_id=1))
    assert old.closed
    house.tell(e.JournalFreed())
    assert one.say(p.Publish("t", b"1", 1, packet_id=1)) == [p.Puback(1)]


def test_sys_is_not_for_clients_to_write(house: House) -> None:
    one, other = house.greeted("one", V5), house.greeted("other")
    subscribe(other, "$SYS/#", qos=1)
    assert one.say(p.Publish("$SYS/x", b"", 1, packet_id=1)) == [p.Puback(1, Reason.NOT_AUTHORIZED)]
    assert said(other) == []


def test_sys_shows_figures() -> None:
    house = House(Parameters(sys_interval=10))
    house.wait(1)
    one = house.greeted("one")
    heard = {got.topic: got.payload for got in subscribe(one, "$SYS/#")[1:]}  # type: ignore[attr-defined]
    assert heard["$SYS/broker/clients/connected"] == b"0"
    assert heard["$SYS/broker/uptime"] == b"0 seconds"
    house.wait(10)
    changed = dict(said(one))
    assert changed["$SYS/broker/clients/connected"] == b"1"
    assert changed["$SYS/broker/uptime"] == b"10 seconds"
    assert "$SYS/broker/version" not in changed


def test_sys_names_what_was_counted() -> None:
    """A figure of its own for each, so that none stands for another."""
    names = [one.name for one in fields(Figures)]
    shown = topics(Figures(**{name: 10**place for place, name in enumerate(names)}), 61.5, "9")  # type: ignore[arg-type]
    figures = {name: 10**place for place, name in enumerate(names)}
    away = figures["sessions"] - figures["connected"]
    kept = figures["retained"] + figures["waiting"]
    assert shown == {
        "version": "weft version 9",
        "uptime": "60 seconds",
        "clients/total": str(figures["sessions"]),
        "clients/maximum": str(figures["most_connected"]),
        **dict.fromkeys(("clients/connected", "clients/active"), str(figures["connected"])),
        **dict.fromkeys(("clients/disconnected", "clients/inactive"), str(away)),
        "clients/expired": str(figures["expired"]),
        "subscriptions/count": str(figures["subscriptions"]),
        "shared_subscriptions/count": str(figures["shared_subscriptions"]),
        "retained messages/count": str(figures["retained"]),
        **dict.fromkeys(("messages/stored", "store/messages/count"), str(kept)),
        "messages/received": str(figures["packets_received"]),
        "messages/sent": str(figures["packets_sent"]),
        "publish/messages/received": str(figures["publications_received"]),
        "publish/messages/sent": str(figures["publications_sent"]),
        "publish/messages/dropped": str(figures["dropped"]),
        "publish/bytes/received": str(figures["publication_bytes_received"]),
        "publish/bytes/sent": str(figures["publication_bytes_sent"]),
        "bytes/received": str(figures["bytes_received"]),
        "bytes/sent": str(figures["bytes_sent"]),
    }


def test_a_broker_has_counted_nothing_yet() -> None:
    assert {*astuple(Figures())} == {0}
    assert {*topics(Figures(), 0.0, "").values()} == {"0", "0 seconds", "weft version "}


def test_loads_are_means_of_what_came_in_a_minute() -> None:
    loads, figures = Loads(), Figures(packets_received=30, bytes_sent=6)
    first = dict(loads.update(figures, 30))
    assert first["load/messages/received/1min"] == 30 * 2 * 0.5  # sixty a minute, half a minute long
    assert first["load/bytes/sent/5min"] == pytest.approx(6 * 2 * 30 / 300)
    figures.packets_received += 10
    second = dict(loads.update(figures, 90))
    assert second["load/messages/received/1min"] == pytest.approx(10 * 60 / 90)
    assert second["load/messages/received/15min"] == pytest.approx(2.0 + 90 / 900 * (10 * 60 / 90 - 2.0))
    assert second["load/publish/dropped/1min"] == 0


# Names whose receivers are known


def test_no_more_names_are_remembered_than_may_be() -> None:
    house = House(Parameters(sys_interval=0, cached_names=3))
    one, other = house.greeted("one"), house.greeted("other")
    subscribe(other, "t/+")
    routes = house.broker._subscriptions.routes
    for number in range(10):
        one.say(p.Publish(f"t/{number}", b"x"))
        assert len(routes.by_name) <= 3
        assert {name.encode() for name, _ in routes._published._names.find("#")} == routes.by_name.keys()
    one.say(p.Publish("t/" + "9" * 2000, b"x"))
    assert max(map(len, routes.by_name)) < 2000
    other.say(p.Unsubscribe(1, ("t/+",)))
    assert not routes.by_name
    assert house.broker._subscriptions.index.get("t/+") is None


def test_a_filter_with_a_group_alone_is_held() -> None:
    house = House()
    one, other = house.greeted("one", V5), house.greeted("other", V5)
    other.say(p.Subscribe(1, (p.Request("t", 0), p.Request("$share/g/t", 0))))
    other.say(p.Unsubscribe(2, ("t",)))
    one.say(p.Publish("t", b"1"))
    assert said(other) == [("t", b"1")]
    other.say(p.Subscribe(1, (p.Request("t", 0),)))
    other.say(p.Unsubscribe(2, ("$share/g/t",)))
    one.say(p.Publish("t", b"2"))
    assert said(other) == [("t", b"2")]


# Shutting down


def test_clients_are_told_that_the_node_stops_and_wills_are_not_said(house: House) -> None:
    one, other = house.greeted("one", V5, will=WILL), house.greeted("other", V5)
    subscribe(other, "#")
    house.tell(e.Stopping())
    assert one.take() == other.take() == [p.Disconnect(Reason.SERVER_SHUTTING_DOWN)]
    assert one.closed
    assert house.open().closed


def test_who_is_refused_takes_no_place_of_others_however_long_it_stays() -> None:
    """Sockets are closed in order, which takes seconds where the other end does not read; the place is free at once."""
    broker = Broker(Parameters(sys_interval=0, connections=2), 0.0)
    connect = encode(p.Connect("", V5), V5)

    def comes(number: int) -> int:
        broker.handle(e.Opened(number), 0.0)
        (sent,) = [one for one in broker.handle(e.Received(number, connect), 0.0) if isinstance(one, e.Send)]
        broker.check_invariants()
        (connack,) = Parser(version=V5).feed(sent.data)
        assert isinstance(connack, p.Connack)
        return connack.code

    assert [comes(number) for number in range(1, 5)] == [0, 0, Reason.SERVER_BUSY, Reason.SERVER_BUSY]
    broker.handle(e.Closed(1), 0.0)
    assert comes(5) == 0
    assert broker.figures.connections == 2
    for number in (2, 3, 4, 5):
        broker.handle(e.Closed(number), 0.0)
        broker.check_invariants()
    assert broker.figures.connections == 0


# What a packet may have many of


MANY = {Property.USER_PROPERTY: (("a", "b"),) * 1_001}


@pytest.mark.parametrize(
    "packet",
    [
        p.Publish("a", b"", properties=MANY),
        p.Publish("a", b"", 1, packet_id=1, properties=MANY),
        p.Subscribe(1, (p.Request("a"),), MANY),
        p.Unsubscribe(1, ("a",), MANY),
        p.Puback(1, 0, MANY),
        p.Disconnect(0, MANY),
    ],
)
def test_a_packet_has_no_more_user_properties_than_there_may_be(house: House, packet: p.Packet) -> None:
    one = house.greeted("one", V5)
    (heard,) = one.say(packet)
    assert isinstance(heard, p.Disconnect)
    assert heard.reason == Reason.QUOTA_EXCEEDED
    assert one.closed


def test_nothing_is_read_behind_one_property_too_many(house: House) -> None:
    """What follows is no property at all."""
    raw = bytearray(encode(p.Publish("a", b"", properties=MANY), V5))
    raw[-7:] = b"\x26" + b"\xff" * 6
    (heard,) = house.greeted("one", V5).say_bytes(bytes(raw))
    assert isinstance(heard, p.Disconnect)
    assert heard.reason == Reason.QUOTA_EXCEEDED


@pytest.mark.parametrize("place", ["connect", "will"])
def test_before_it_is_known_who_a_client_is_fewer_are_read(house: House, place: str) -> None:
    for number, code in ((100, 0), (101, Reason.QUOTA_EXCEEDED)):
        many = {Property.USER_PROPERTY: (("a", "b"),) * number}
        one = house.open(V5)
        will = p.Will("will", b"", properties=many if place == "will" else {})
        heard = one.say(p.Connect("one", V5, will=will, properties=many if place == "connect" else {}))
        assert isinstance(heard[-1], p.Connack)
        assert heard[-1].code == code


def test_a_thousand_are_passed_on(house: House) -> None:
    one, other = house.greeted("one", V5), house.greeted("other", V5)
    subscribe(other, "a")
    many = {Property.USER_PROPERTY: (("a", "b"),) * 1_000}
    one.say(p.Publish("a", b"", properties=many))
    assert other.take() == [p.Publish("a", b"", properties=many)]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("packet", [p.Subscribe(1, (p.Request("a"),) * 3), p.Unsubscribe(1, ("a",) * 3)])
def test_a_packet_has_no_more_filters_than_a_session(version: p.Version, packet: p.Packet) -> None:
    """One filter again and again counts as many, though it would be one subscription."""
    house = House(Parameters(sys_interval=0, subscriptions=2))
    one = house.greeted("one", version)
    heard = one.say(packet)
    assert one.closed
    if version is V5:
        assert isinstance(heard[-1], p.Disconnect)
        assert heard[-1].reason == Reason.QUOTA_EXCEEDED


# Parameters


@pytest.mark.parametrize("wrong", [{"inflight": 0}, {"packet_bytes": 1}, {"patience": -1}, {"connect_timeout": 0}])
def test_parameters_out_of_range_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(WeftError, match=next(iter(wrong))):
        Parameters(**wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "least", "most"),
    [
        ("connections", 1, None),
        ("packet_bytes", 128, 268_435_460),
        ("properties", 0, None),
        ("receive_maximum", 1, 65_535),
        ("inflight", 1, 65_535),
        ("queue_messages", 1, None),
        ("queue_bytes", 1, None),
        ("topic_levels", 1, None),
        ("subscriptions", 1, None),
        ("retained_messages", 0, None),
        ("topic_aliases", 0, 65_535),
        ("keep_alive", 0, 65_535),
        ("session_expiry", 0, 4_294_967_295),
        ("patience", 0, None),
        ("cached_names", 1, None),
        ("sys_interval", 0, None),
    ],
)
def test_the_bounds_of_parameters_are_within_range(name: str, least: int, most: int | None) -> None:
    values = [least, 2**62 if most is None else most]
    assert [getattr(Parameters(**{name: value}), name) for value in values] == values  # type: ignore[arg-type]
    for wrong in (least - 1, *([] if most is None else [most + 1])):
        with pytest.raises(WeftError, match=name):
            Parameters(**{name: wrong})  # type: ignore[arg-type]


def test_the_seam_to_other_nodes() -> None:
    house = House(Parameters(sys_interval=0, linked=True))
    one, other = house.greeted(), house.greeted()
    subscribe(other, "t/+")
    subscribe(one, "t/+")
    one.say(p.Publish("t/1", b"x"))
    other.say(p.Unsubscribe(1, ("t/+",)))
    one.say(p.Unsubscribe(1, ("t/+",)))
    kinds = [effect for effect in house.effects if not isinstance(effect, e.Note)]
    (accepted,) = [effect for effect in kinds if isinstance(effect, e.Accepted)]
    asked = [one for one in kinds if isinstance(one, e.FilterAsked)]
    assert asked == [e.FilterAsked(number, "t/+", False) for number in (2, 1)]
    assert [one for one in kinds if isinstance(one, e.FilterHeld)] == [
        e.FilterHeld("t/+", 1, False),
        e.FilterHeld("t/+", 0, False),
    ]
    subscribe(other, "t/#")
    house.effects.clear()
    other.take()
    house.tell(e.Arrived(accepted.publication))
    assert said(other) == [("t/1", b"x")]
    assert house.effects == []


def test_quiet_parameters_are_the_default_ones_without_sys() -> None:
    assert Parameters(sys_interval=0) == QUIET
