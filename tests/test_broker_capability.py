"""What a broker is told not to do: CONNACK of MQTT 5 says so, and who asks for it all the same is refused."""

import pytest

from broker_client import V3, V5, V31, Client, House
from weft.broker.parameters import Parameters
from weft.wire.mqtt import packet as p
from weft.wire.mqtt.property import Properties, Property
from weft.wire.mqtt.reason import Reason

OLD = [V31, V3]
NO_RETAIN = {"retained_messages": 0}


def house(**limits: int) -> House:
    return House(Parameters(sys_interval=0, **limits))  # type: ignore[arg-type]


def terms(limits: dict[str, int]) -> Properties:
    (connack,) = house(**limits).connect("one", V5).take()
    assert isinstance(connack, p.Connack)
    return connack.properties


def refusal(one: Client, packet: p.Packet) -> int | None:
    """What an MQTT 5 client is told when its connection ends; None if it does not end."""
    heard = one.say(packet)
    if not one.closed:
        return None
    (told,) = heard
    assert isinstance(told, p.Disconnect)
    return told.reason


def test_connack_says_what_is_not_there() -> None:
    told = (Property.RETAIN_AVAILABLE, Property.MAXIMUM_QOS)
    assert [terms({}).get(one) for one in told] == [None, None]  # the standard's word for all
    assert [terms(NO_RETAIN).get(one) for one in told] == [0, None]
    assert [terms({"maximum_qos": 1}).get(one) for one in told] == [None, 1]
    assert [terms({"maximum_qos": 0}).get(one) for one in told] == [None, 0]


ASKED = [
    (NO_RETAIN, p.Publish("a", b"x", retain=True), Reason.RETAIN_NOT_SUPPORTED),
    (NO_RETAIN, p.Publish("a", b"", 1, True, packet_id=1), Reason.RETAIN_NOT_SUPPORTED),
    ({"maximum_qos": 1}, p.Publish("a", b"x", 2, packet_id=1), Reason.QOS_NOT_SUPPORTED),
    ({"maximum_qos": 0}, p.Publish("a", b"x", 1, packet_id=1), Reason.QOS_NOT_SUPPORTED),
    ({"message_bytes": 10}, p.Publish("a", b"x" * 11), Reason.PACKET_TOO_LARGE),
    ({"message_bytes": 10}, p.Publish("a", b"x" * 11, 1, packet_id=1), Reason.PACKET_TOO_LARGE),
    ({"message_bytes": 10}, p.Publish("a", b"x" * 11, 2, packet_id=1), Reason.PACKET_TOO_LARGE),
    ({"message_bytes": 1000}, p.Publish("a", b"x" * 1001), Reason.PACKET_TOO_LARGE),
]


@pytest.mark.parametrize(("limits", "packet", "reason"), ASKED)
def test_a_publication_beyond_it_ends_the_connection(limits: dict[str, int], packet: p.Publish, reason: Reason) -> None:
    for known in (False, True):  # lanes take what has known receivers
        one = house(**limits)
        other = one.greeted("other", V5)
        other.say(p.Subscribe(1, (p.Request("#", 2),)))
        if known:
            one.greeted("before").say(p.Publish("a", b"1"))
            other.take()
        assert refusal(one.greeted("new", V5), packet) == reason
        for version in OLD:
            old = one.greeted("old", version)
            assert old.say(packet) == []
            assert old.closed
        assert other.take() == []


@pytest.mark.parametrize(
    ("limits", "will", "reason"),
    [
        (NO_RETAIN, p.Will("a", b"x", 0, True), Reason.RETAIN_NOT_SUPPORTED),
        ({"maximum_qos": 1}, p.Will("a", b"x", 2), Reason.QOS_NOT_SUPPORTED),
        ({"maximum_qos": 0}, p.Will("a", b"x", 1), Reason.QOS_NOT_SUPPORTED),
        ({"message_bytes": 10}, p.Will("a", b"x" * 11), Reason.PACKET_TOO_LARGE),
    ],
)
def test_a_will_beyond_it_is_refused(limits: dict[str, int], will: p.Will, reason: Reason) -> None:
    one = house(**limits)
    new = one.connect("new", V5, will=will)
    (told,) = new.take()
    assert isinstance(told, p.Connack)
    assert (told.code, new.closed) == (reason, True)
    for version in OLD:
        old = one.connect("old", version, will=will)
        assert (old.take(), old.closed) == ([], True)


@pytest.mark.parametrize("version", [*OLD, V5])
def test_what_is_within_it_passes(version: p.Version) -> None:
    one = house(maximum_qos=1, message_bytes=10)
    sender, receiver = one.greeted("sender", version), one.greeted("receiver", version)
    assert receiver.say(p.Subscribe(1, tuple(p.Request(f"t/{n}", n) for n in range(3)))) == [p.Suback(1, (0, 1, 1))]
    for _ in range(3):
        for qos in (0, 1):
            sender.say(p.Publish("t/2", b"x" * 10, qos, packet_id=qos))
            (got,) = receiver.take()
            assert isinstance(got, p.Publish)
            assert (got.payload, got.qos) == (b"x" * 10, qos)
            if qos:
                receiver.say(p.Puback(got.packet_id))
    assert not sender.closed


def test_the_brokers_own_messages_are_retained_all_the_same() -> None:
    one = House(Parameters(retained_messages=0))
    one.wait(1)
    client = one.greeted("one", V5)
    assert [type(got) for got in client.say(p.Subscribe(1, (p.Request("$SYS/broker/version"),)))] == [
        p.Suback,
        p.Publish,
    ]
