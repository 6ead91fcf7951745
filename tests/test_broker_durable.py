"""What outlives a crash: everything that a client was told, with or without a snapshot in between."""

import pytest

from broker_client import QUIET, V3, V5, House
from weft.broker import record as r
from weft.broker.effect import SessionArrived, SessionMoved, Stopping
from weft.broker.publication import Publication
from weft.wire.mqtt import packet as p
from weft.wire.mqtt.property import Property

KEEP = {Property.SESSION_EXPIRY_INTERVAL: 1000}


@pytest.fixture
def house() -> House:
    return House(lazy=True)


def keeper(house: House, client: str = "keeper", **more: object) -> list[p.Packet]:
    """What a client with a session to keep hears first when it connects."""
    one = house.connect(client, V3, clean=False, **more)
    house.sync()
    return one.take()


def test_nothing_is_acknowledged_before_it_is_on_disk(house: House) -> None:
    other = house.connect("other", V3, clean=False)
    assert other.take() == []
    house.sync()
    assert other.take() == [p.Connack(False, 0)]
    assert other.say(p.Subscribe(1, (p.Request("#", 2),))) == []
    house.sync()
    assert other.take() == [p.Suback(1, (2,))]
    one = house.greeted("one")
    assert one.say(p.Publish("t", b"1", 1, packet_id=1), p.Pingreq()) == []  # order is kept
    assert other.take() == [p.Publish("t", b"1", 1, packet_id=1)]  # at least once: the receiver may have it
    house.sync()
    assert one.take() == [p.Puback(1), p.Pingresp()]
    assert one.say(p.Publish("t", b"2", 2, packet_id=1)) == []
    assert other.take() == []  # exactly once: under an identifier that is on disk
    house.sync()
    assert one.take() == [p.Pubrec(1)]
    assert other.take() == [p.Publish("t", b"2", 2, packet_id=2)]


def test_a_client_may_forget_an_identifier_when_it_is_on_disk_that_it_has_the_publication(house: House) -> None:
    other = house.connect("other", V3, clean=False)
    other.say(p.Subscribe(1, (p.Request("#", 2),)))
    one = house.greeted("one")
    one.say(p.Publish("t", b"1", 2, packet_id=1))
    house.sync()
    other.take()
    assert other.say(p.Pubrec(1)) == []
    house.sync()
    assert other.take() == [p.Pubrel(1)]
    other.say(p.Pubrec(1))
    other.vanish()
    assert keeper(house, "other") == [p.Connack(True, 0), p.Pubrel(1)]


def test_what_concerns_no_kept_session_waits_for_nothing(house: House) -> None:
    one, other = house.greeted("one"), house.greeted("other")
    assert other.say(p.Subscribe(1, (p.Request("#", 2),))) == [p.Suback(1, (2,))]
    assert one.say(p.Publish("t", b"1", 2, packet_id=1)) == [p.Pubrec(1)]
    assert len(other.take()) == 1
    assert house.records == []
    assert one.say(p.Publish("t", b"1", 1, retain=True, packet_id=1)) == []
    house.sync()
    assert one.take() == [p.Puback(1)]


@pytest.mark.parametrize("snapshot", [False, True])
def test_sessions_and_handshakes_go_on_after_a_crash(house: House, snapshot: bool) -> None:
    other = house.connect("other", V5, clean=False, properties=KEEP)
    house.sync()
    other.take()
    options = p.Request("t/#", 2, no_local=True, retain_as_published=True)
    other.say(p.Subscribe(1, (options, p.Request("u", 1)), {Property.SUBSCRIPTION_IDENTIFIER: (5,)}))
    other.say(p.Unsubscribe(2, ("u",)))
    house.sync()
    one = house.greeted("one")
    one.say(*(p.Publish("t/x", bytes([n]), 1 + n % 2, packet_id=n + 1) for n in range(4)))
    house.sync()
    got = [heard for heard in other.take() if isinstance(heard, p.Publish)]
    assert [heard.packet_id for heard in got] == [1, 2, 3, 4]
    other.say(p.Puback(1), p.Pubrec(2))
    other.vanish()
    one.say(p.Publish("t/x", b"later", 1, packet_id=9), p.Publish("u", b"no", 1, packet_id=10))
    house.sync()
    house.restart(snapshot)
    again = house.connect("other", V5, clean=False, properties=KEEP)
    house.sync()
    connack, *rest = again.take()
    assert isinstance(connack, p.Connack)
    assert connack.session_present
    ids = {Property.SUBSCRIPTION_IDENTIFIER: (5,)}
    assert rest == [
        p.Pubrel(2),
        p.Publish("t/x", b"\2", 1, False, True, 3, ids),
        p.Publish("t/x", b"\3", 2, False, True, 4, ids),
        p.Publish("t/x", b"later", 1, False, False, 5, ids),
    ]
    house.greeted("one").say(p.Publish("t/y", b"new", 1, packet_id=1))
    house.sync()
    assert again.take() == [p.Publish("t/y", b"new", 1, packet_id=6, properties=ids)]


@pytest.mark.parametrize("snapshot", [False, True])
def test_qos_2_is_received_once_through_a_crash(house: House, snapshot: bool) -> None:
    keeper(house)
    house.clients[next(iter(house.clients))].say(p.Subscribe(1, (p.Request("#", 1),)))
    one = house.connect("one", V3, clean=False)
    one.say(p.Publish("t", b"x", 2, packet_id=7))
    house.sync()
    assert p.Pubrec(7) in one.take()
    house.restart(snapshot)
    one = house.connect("one", V3, clean=False)
    one.say(p.Publish("t", b"x", 2, dup=True, packet_id=7), p.Pubrel(7))
    house.sync()
    assert one.take() == [p.Connack(True, 0), p.Pubrec(7), p.Pubcomp(7)]
    house.restart(snapshot)
    one = house.connect("one", V3, clean=False)
    one.say(p.Publish("t", b"y", 2, packet_id=7))
    payloads = [got.payload for got in keeper(house) if isinstance(got, p.Publish)]
    assert payloads == [b"x", b"y"]


@pytest.mark.parametrize("snapshot", [False, True])
def test_retained_messages_outlive_a_crash(house: House, snapshot: bool) -> None:
    one = house.greeted("one", V5)
    properties = {Property.USER_PROPERTY: (("a", "b"),), Property.MESSAGE_EXPIRY_INTERVAL: 50}
    one.say(p.Publish("a", b"1", retain=True), p.Publish("b", b"2", 1, True, packet_id=1, properties=properties))
    one.say(p.Publish("a", b"", retain=True), p.Publish("c", b"3", retain=True))
    house.sync()
    house.restart(snapshot)
    house.wait(10)
    other = house.greeted("other", V5)
    _, *got = other.say(p.Subscribe(1, (p.Request("#", 2),)))
    left = {**properties, Property.MESSAGE_EXPIRY_INTERVAL: 40}
    assert got == [p.Publish("b", b"2", 1, True, False, 1, left), p.Publish("c", b"3", retain=True)]


def test_what_was_not_synced_was_not_promised(house: House) -> None:
    one = house.greeted("one")
    one.say(p.Publish("a", b"1", 1, retain=True, packet_id=1))
    assert one.take() == []
    house.restart()
    assert len(house.greeted("other").say(p.Subscribe(1, (p.Request("#"),)))) == 1


def test_sessions_end_in_the_journal_too(house: House) -> None:
    for client in ("cleaned", "left"):
        house.connect(client, V5, clean=False, properties=KEEP)
    house.connect("cleaned", V5)
    one = house.connect("left", V5, clean=False, properties=KEEP)
    one.say(p.Disconnect(0, {Property.SESSION_EXPIRY_INTERVAL: 0}))
    house.connect("shortened", V5, clean=False, properties=KEEP)
    house.connect("shortened", V5, clean=False)
    house.connect("expired", V5, properties={Property.SESSION_EXPIRY_INTERVAL: 5}).vanish()
    house.wait(6)
    house.sync()
    house.restart()
    assert house.broker.figures.sessions == 0


def test_sessions_expire_by_the_time_that_passed_while_the_node_was_down(house: House) -> None:
    house.connect("one", V5, properties={Property.SESSION_EXPIRY_INTERVAL: 5}).vanish()
    house.sync()
    house.now += 10
    house.restart()
    house.wait(0)
    assert house.broker.figures.sessions == 0


def test_a_will_of_a_kept_session_is_said_after_a_crash_and_not_after_an_orderly_end(house: House) -> None:
    keeper(house)
    next(iter(house.clients.values())).say(p.Subscribe(1, (p.Request("#", 1),)))
    will = p.Will("gone", b"one", 1, properties={Property.WILL_DELAY_INTERVAL: 3})
    house.connect("one", V5, will=will, properties=KEEP)
    house.sync()
    house.restart()
    house.wait(4)
    house.sync()
    assert [got.payload for got in keeper(house) if isinstance(got, p.Publish)] == [b"one"]
    house.connect("one", V5, will=will, properties=KEEP)
    house.tell(Stopping())
    house.sync()
    house.restart()
    house.wait(4)
    assert house.broker.figures.waiting == 0


def test_a_session_moves_to_another_node(house: House) -> None:
    other = house.connect("other", V5, clean=False, properties=KEEP)
    other.say(p.Subscribe(1, (p.Request("t/#", 2),)))
    house.sync()
    one = house.greeted("one")
    one.say(*(p.Publish("t/x", bytes([n]), 1 + n % 2, packet_id=n + 1) for n in range(4)))
    house.sync()
    other.take()
    other.say(p.Puback(1), p.Pubrec(2))
    other.vanish()
    one.say(p.Publish("t/x", b"later", 1, packet_id=9))
    value = house.broker.export("other")
    house.tell(SessionMoved("other"))
    assert house.broker.figures.sessions == 1
    assert house.broker.export("other") == ()
    there = House(lazy=True)
    busy = there.connect("busy", V3, clean=False)  # numbers of publications are taken there
    busy.say(p.Subscribe(1, (p.Request("u", 1),)), p.Publish("u", b"", 1, packet_id=1))
    there.tell(SessionArrived(value))
    there.sync()
    there.restart()
    back = there.connect("other", V5, clean=False, properties=KEEP)
    there.sync()
    connack, *rest = back.take()
    assert isinstance(connack, p.Connack)
    assert connack.session_present
    assert rest == [
        p.Pubrel(2),
        p.Publish("t/x", b"\2", 1, False, True, 3),
        p.Publish("t/x", b"\3", 2, False, True, 4),
        p.Publish("t/x", b"later", 1, False, False, 5),
    ]
    there.greeted("new").say(p.Publish("t/y", b"new", 1, packet_id=1))
    there.sync()
    assert back.take() == [p.Publish("t/y", b"new", 1, packet_id=6)]


def test_records_are_read_as_they_were_written() -> None:
    publication = Publication(b"t", b"x", 1, True, {Property.CONTENT_TYPE: "a"}, 5.5, "one", 77)
    made: list[r.Record] = [
        r.SessionOpened("a", 5, 2**32 - 1, 2**40),
        r.SessionLeft("a", 1.25, 7),
        r.SessionEnded("ä"),
        r.WillSet("a", p.Will("t", b"x", 2, True, {Property.WILL_DELAY_INTERVAL: 3})),
        r.WillSet("a", None),
        r.Subscribed("a", "t/#", 0b101110, 268_435_455),
        r.Unsubscribed("a", "t/#"),
        r.Queued(publication, (("a", 5, (1, 2), ""), ("b", 1, (), "$share/g/t"), ("c", 0, (), ""))),
        r.Sent("a", 77, 65535),
        r.Released("a", 77),
        r.Done("a", 77),
        r.ReceiptNoted("a", 1, 2**32 - 1),
        r.ReceiptNoted("a", 1, 0, late=True),
        r.ReceiptCleared("a", 1),
        r.Retained(publication),
        r.Unretained("t"),
    ]
    assert {type(one) for one in made} == set(r.KINDS)
    assert [r.decode(r.encode(one)) for one in made] == made
    numbers = [r.encode(one)[0] for one in made]  # journals of earlier versions have these
    assert numbers == [1, 2, 3, 4, 4, 5, 6, 7, 8, 9, 10, 11, 11, 12, 13, 14]


@pytest.mark.parametrize("snapshot", [False, True])
def test_who_is_owed_a_publication_twice_gets_it_twice_after_a_crash(house: House, snapshot: bool) -> None:
    other = house.connect("other", V5, clean=False, properties=KEEP)
    other.say(p.Subscribe(1, (p.Request("t", 1), p.Request("$share/g/t", 2))))
    house.greeted("one").say(p.Publish("t", b"x", 2, packet_id=1))
    house.sync()
    assert [(got.qos, got.packet_id) for got in other.take() if isinstance(got, p.Publish)] == [(1, 1), (2, 2)]
    other.say(p.Puback(1))
    house.sync()
    house.restart(snapshot)
    back = house.connect("other", V5, clean=False, properties=KEEP)
    house.sync()
    assert back.take()[1:] == [p.Publish("t", b"x", 2, False, True, 2)]


def test_records_of_before_shared_subscriptions_were_in_them_are_read() -> None:
    publication = Publication(b"t", b"x", 1, number=77)
    receivers = b"\x01" + b"\x00\x01a" + b"\x05" + b"\x02\x01\x02"  # one; its client, flags, two identifiers
    data = b"\x07" + r.PUBLICATION.write(publication) + receivers + b"\x00\x09"
    assert r.decode(data) == r.Queued(publication, (("a", 5, (1, 2), ""),), 9)


@pytest.mark.parametrize("snapshot", [False, True])
def test_what_waits_for_a_member_whose_session_ends_after_a_crash_goes_to_another(house: House, snapshot: bool) -> None:
    member = house.connect("member", V5, clean=False, properties=KEEP)
    member.say(p.Subscribe(1, (p.Request("$share/g/t", 1),)))
    house.sync()
    member.vanish()
    house.greeted("one").say(p.Publish("t", b"x", 1, packet_id=1))
    house.sync()
    house.restart(snapshot)
    other = house.greeted("other")
    other.say(p.Subscribe(1, (p.Request("$share/g/t", 1),)))
    house.connect("member")
    house.sync()
    assert [got.payload for got in other.take() if isinstance(got, p.Publish)] == [b"x"]


def test_without_a_journal_there_are_no_records() -> None:
    house = House(QUIET, durable=False)
    one = house.greeted("one", clean=False)
    one.say(p.Subscribe(1, (p.Request("#", 2),)))
    assert [type(got) for got in one.say(p.Publish("t", b"x", 2, retain=True, packet_id=1))] == [p.Publish, p.Pubrec]
    assert house.records == []
