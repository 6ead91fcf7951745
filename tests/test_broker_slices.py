"""Whatever one client asks for is done in slices, with the others in between, and what waits for it is bounded."""

from collections.abc import Iterator
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_client import V3, V5, Client, House, subscribe
from weft.broker import effect as e
from weft.broker.backlog import STEPS as STEPS_OF_A_TURN
from weft.broker.broker import AT_ONCE
from weft.broker.giving import BYTES
from weft.broker.lane import READ
from weft.broker.outbound import MADE
from weft.broker.outbox import LARGE
from weft.broker.parameters import Parameters
from weft.broker.reading import SLICE
from weft.broker.route import STEPS
from weft.broker.subscriptions import SHAPES, _shape
from weft.wire.mqtt import packet as p
from weft.wire.mqtt.property import Property
from weft.wire.mqtt.reason import Reason
from weft.wire.mqtt.topic import matches
from weft.wire.mqtt.writer import encode

CALM = Parameters(sys_interval=0)


def turns(house: House, one: Client, *packets: p.Packet) -> Iterator[list[e.Effect]]:
    """What each event leads to, from the one on that brings the packets."""
    data = b"".join(encode(packet, one.version) for packet in packets)
    effects = house.broker.handle(e.Received(one.number, data), house.now)
    house._carry_out(effects)
    yield effects
    while house.broker.next_deadline() == AT_ONCE:
        effects = house.broker.on_timer(house.now)
        house._carry_out(effects)
        house.broker.check_invariants()
        yield effects


def sent(effects: list[e.Effect], one: Client) -> int:
    return sum(len(effect.data) for effect in effects if isinstance(effect, e.Send) and effect.connection == one.number)


def retaining(count: int, payload: bytes = b"x", qos: int = 0, parameters: Parameters = CALM) -> House:
    house = House(parameters)
    one = house.greeted("publisher")
    for number in range(count):
        one.say(p.Publish(f"r/{number}", payload, qos, retain=True, packet_id=1 if qos else 0))
        if qos == 2:
            one.say(p.Pubrel(1))
    return house


# What is retained


@pytest.mark.parametrize("version", [V3, V5])
@pytest.mark.parametrize("qos", [0, 1, 2])
def test_all_that_is_retained_comes_in_slices_and_once(version: p.Version, qos: int) -> None:
    house = retaining(2_000, qos=qos)
    one = house.greeted("one", version)
    seen = [sent(effects, one) for effects in turns(house, one, p.Subscribe(1, (p.Request("r/#", qos),)))]
    assert len(seen) > 2
    assert max(seen) <= 500 * 20
    got = [packet for packet in one.take() if isinstance(packet, p.Publish)]
    while one.version and qos and (open_ := [packet for packet in got if packet.packet_id][-1000:]):
        heard = [
            packet
            for taken in open_
            for packet in one.say(p.Puback(taken.packet_id) if qos == 1 else p.Pubrec(taken.packet_id))
        ]
        if qos == 2:
            heard += [
                packet
                for released in [each for each in heard if isinstance(each, p.Pubrel)]
                for packet in one.say(p.Pubcomp(released.packet_id))
            ]
        new = [packet for packet in heard if isinstance(packet, p.Publish)]
        got += new
        if not new:
            break
    assert sorted(packet.topic for packet in got) == sorted(f"r/{number}" for number in range(2_000))
    assert all(packet.retain for packet in got)


def test_what_is_retained_is_read_from_the_store_as_the_client_takes_it() -> None:
    house = retaining(100, bytes(1 << 16))
    one = house.greeted("one")
    events = turns(house, one, p.Subscribe(1, (p.Request("r/#"),)))
    assert sent(next(events), one) <= BYTES + (1 << 17)
    house.tell(e.Congested(one.number))
    assert not list(events), "a client that is congested is given no more"
    for _ in range(50):
        house.tell(e.Drained(one.number))
        house.tell(e.Congested(one.number))
    house.tell(e.Drained(one.number))
    got = [packet.topic for packet in one.take() if isinstance(packet, p.Publish)]
    assert sorted(got) == sorted(f"r/{number}" for number in range(100))


def test_what_is_published_meanwhile_comes_once_and_what_is_given_up_not_at_all() -> None:
    house = retaining(1_500)
    one, other = house.greeted("one"), house.greeted("other")
    events = turns(house, one, p.Subscribe(1, (p.Request("r/#"),)))
    next(events)
    other.say(p.Publish("r/1499", b"new", retain=True), p.Publish("r/more", b"new", retain=True))
    list(events)
    got = [packet for packet in one.take() if isinstance(packet, p.Publish)]
    assert len({packet.topic for packet in got}) == len(got) == 1_501
    assert {packet.topic: packet.retain for packet in got if packet.payload == b"new"} == {
        "r/1499": False,
        "r/more": False,
    }
    two = house.greeted("two")
    events = turns(house, two, p.Subscribe(1, (p.Request("r/#"),)))
    next(events)
    two.say(p.Unsubscribe(2, ("r/#",)))
    seen = len(two.heard)
    list(events)
    assert not [packet for packet in two.heard[seen:] if isinstance(packet, p.Publish)]


def test_a_session_that_is_kept_is_owed_what_is_retained_before_it_is_told_so() -> None:
    house = retaining(1_200, qos=1)
    one = house.greeted("one", V3, clean=False)
    heard = []
    for effects in turns(house, one, p.Subscribe(1, (p.Request("r/#", 1),))):
        heard.append([type(effect) for effect in effects])
        if any(isinstance(packet, p.Suback) for packet in one.heard):
            break
    assert len(heard) > 2
    house.restart()
    again = house.connect("one", V3, clean=False)
    house.go_on()
    got = {packet.topic for packet in again.take() if isinstance(packet, p.Publish)}
    assert len(got) == CALM.inflight
    assert house.broker.figures.waiting == 200


def test_an_expired_message_is_not_given() -> None:
    house = retaining(0)
    one, other = house.greeted("one", V5), house.greeted("other", V5)
    expiry = {Property.MESSAGE_EXPIRY_INTERVAL: 5}
    other.say(*(p.Publish(f"r/{number}", b"x", retain=True, properties=expiry) for number in range(1_000)))
    house.go_on()
    events = turns(house, one, p.Subscribe(1, (p.Request("r/#"),)))
    next(events)
    house.tell(e.Congested(one.number))
    house.wait(10)
    house.tell(e.Drained(one.number))
    assert len([packet for packet in one.take() if isinstance(packet, p.Publish)]) <= 500


# Many filters, and many packets


def test_many_filters_are_subscribed_to_in_slices_and_answered_once() -> None:
    house = House(CALM)
    one, other = house.greeted("one"), house.greeted("other")
    requests = tuple(p.Request(f"a/{number}/+", 1) for number in range(3_000))
    events = turns(house, one, p.Subscribe(7, requests), p.Publish("a/0/x", b"own"))
    for _ in range(3):
        next(events)
    assert not one.heard
    (pong,) = house.broker.handle(e.Received(other.number, encode(p.Pingreq(), V3)), house.now)
    assert pong == e.Send(other.number, encode(p.Pingresp(), V3))
    assert len(list(events)) >= 3_000 / SLICE - 4
    heard = one.take()
    assert heard[0] == p.Suback(7, (1,) * 3_000)
    assert [packet.payload for packet in heard[1:] if isinstance(packet, p.Publish)] == [b"own"], "in its order"
    patterns = tuple(request.filter for request in requests)
    assert len(list(turns(house, one, p.Unsubscribe(8, patterns)))) > 10
    assert one.take() == [p.Unsuback(8)]
    assert house.broker.figures.subscriptions == 0


def test_a_filter_that_is_none_ends_the_connection_also_where_it_comes_late() -> None:
    house = House(CALM)
    one = house.greeted("one", V5)
    requests = [p.Request(f"a/{number}") for number in range(1_000)]
    data = encode(p.Subscribe(7, (*requests, p.Request("xx"))), V5).replace(b"\0\x02xx", b"\0\x02x#")
    one.say_bytes(data)
    house.go_on()
    assert one.closed
    assert not house.broker._subscriptions.held


@pytest.mark.parametrize("persistent", [False, True])
def test_a_session_with_many_filters_leaves_them_in_slices_and_gets_nothing_more(persistent: bool) -> None:
    house = House(CALM)
    one, other = house.greeted("one", V3, clean=not persistent), house.greeted("other", V5)
    filters = [f"a/{number}" for number in range(3_000)] + ["$share/g/s", "#"]
    list(turns(house, one, p.Subscribe(7, tuple(p.Request(each, 1) for each in filters))))
    if persistent:
        one.say(p.Disconnect())
        assert house.broker.figures.subscriptions == 3_002
        effects = house.broker.handle(e.Opened(99), house.now)
        data = encode(p.Connect("one", V3), V3)
        effects = house.broker.handle(e.Received(99, data), house.now)
    else:
        effects = house.broker.handle(e.Received(one.number, encode(p.Disconnect(), V3)), house.now)
    assert effects
    house.broker.check_invariants()
    assert 0 < house.broker.figures.subscriptions < 3_002
    said = p.Publish("a/1", b"x", 1, packet_id=1), p.Publish("s", b"x", 1, packet_id=2)
    answers = house.broker.handle(e.Received(other.number, b"".join(encode(each, V5) for each in said)), house.now)
    (send,) = [each for each in answers if isinstance(each, e.Send)]
    assert send.data == b"".join(encode(p.Puback(number, Reason.NO_MATCHING_SUBSCRIBERS), V5) for number in (1, 2))
    house.go_on()
    assert house.broker.figures.subscriptions == 0
    assert house.broker.figures.waiting == 0


def test_what_follows_an_answer_to_many_filters_comes_in_slices_too() -> None:
    """Retained messages are looked for, for each of them."""
    house = House(CALM)
    one = house.greeted("one")
    events = turns(house, one, p.Subscribe(7, tuple(p.Request(f"a/{number}") for number in range(3_000))))
    while not one.take():
        next(events)
    assert len(list(events)) >= 3_000 / SLICE - 1


def test_who_leave_at_once_leave_their_filters_in_slices() -> None:
    house = House(CALM)
    many = [house.greeted(f"c{number}") for number in range(10)]
    for one in many:
        subscribe(one, *[f"{one.number}/{number}" for number in range(STEPS_OF_A_TURN // 5)])
    held = house.broker.figures.subscriptions
    for one in many:
        house.broker.handle(e.Closed(one.number), house.now)
    assert house.broker.figures.subscriptions == held - STEPS_OF_A_TURN
    assert house.broker.next_deadline() == AT_ONCE
    house.broker.on_timer(house.now)
    assert house.broker.figures.subscriptions >= held - 2 * STEPS_OF_A_TURN
    house.go_on()
    assert house.broker.figures.subscriptions == 0


def test_a_read_of_many_packets_is_handled_in_slices_and_others_have_their_turns() -> None:
    house = House(CALM)
    one, other = house.greeted("one"), house.greeted("other")
    subscribe(other, "b/#")
    packets = [p.Publish(f"b/{number}", b"x", 1, packet_id=1) for number in range(2_000)]
    events = list(turns(house, one, *packets))
    assert len(events) > 2_000 / SLICE
    assert max(sent(effects, other) for effects in events) <= SLICE * 12
    assert [packet.topic for packet in other.take() if isinstance(packet, p.Publish)] == [
        each.topic for each in packets
    ]


def test_what_a_lane_takes_of_a_read_is_bounded_too() -> None:
    house = House(CALM)
    one, other = house.greeted("one"), house.greeted("other")
    subscribe(other, "t")
    one.say(p.Publish("t", b"x"))
    other.take()
    events = list(turns(house, one, *[p.Publish("t", b"x")] * 40_000))
    assert len(events) > 2
    assert max(sent(effects, other) for effects in events) <= READ + 100
    assert len([packet for packet in other.take() if isinstance(packet, p.Publish)]) == 40_000


# Names whose receivers are known


def test_a_change_costs_a_bounded_walk_through_names_and_forgets_all_beyond() -> None:
    house = House(CALM)
    one, other = house.greeted("one"), house.greeted("other")
    for number in range(STEPS + 500):
        one.say(p.Publish(f"n/{number}", b"x"))
    routes = house.broker._subscriptions.routes
    subscribe(other, "n/7")
    assert len(routes.by_name) == STEPS + 499
    known = routes._published
    subscribe(other, "n/+")
    assert not routes.by_name
    house.go_on()
    assert not known.routes
    assert not len(known._names)
    one.say(p.Publish("n/7", b"x"), p.Publish("n/8", b"x"))
    assert [packet.topic for packet in other.take() if isinstance(packet, p.Publish)] == ["n/7", "n/8"]
    assert len(routes.by_name) == 2


def test_a_filter_that_is_held_already_costs_nothing() -> None:
    house = House(CALM)
    one = house.greeted("one", V3, clean=False)
    subscribe(one, "a/+", qos=1)
    one.say(p.Publish("a/x", b"x"))
    records, known = len(house.records), house.broker._subscriptions.routes.by_name
    assert subscribe(one, "a/+", qos=1) == [p.Suback(1, (1,))]
    assert len(house.records) == records
    assert house.broker._subscriptions.routes.by_name is known
    assert len(known) == 1


# One copy of the bytes


def test_receivers_share_the_bytes_of_what_is_large() -> None:
    house = House(CALM)
    one = house.greeted("one", V5)
    others = [house.greeted(str(number), V5) for number in range(3)]
    for other in others:
        subscribe(other, "t", qos=1)
    payload = bytes(LARGE)
    data = encode(p.Publish("t", payload, 1, packet_id=1), V5)
    sends = [each for each in house.broker.handle(e.Received(one.number, data), house.now) if isinstance(each, e.Send)]
    large = [each.data for each in sends if len(each.data) >= LARGE]
    assert len(large) == 3
    assert len({id(each) for each in large}) == 1
    house._carry_out(list(sends))
    assert all(other.take()[-1].payload == payload for other in others)  # type: ignore[attr-defined]


@pytest.mark.parametrize("qos", [0, 1])
def test_what_one_event_brings_a_connection_is_bounded(qos: int) -> None:
    house = House(Parameters(sys_interval=0, packet_bytes=MADE))
    one, other = house.greeted("one", V5), house.greeted("other", V5)
    subscribe(other, *[f"$share/g{number}/t" for number in range(60)], qos=qos)
    payload = bytes(1 << 20)
    data = encode(p.Publish("t", payload, qos, packet_id=1 if qos else 0), V5)
    effects = house.broker.handle(e.Received(one.number, data), house.now)
    assert MADE < sent(effects, other) <= MADE + len(data) + 100
    copies = sent(effects, other) // len(payload)
    if qos:
        assert house.broker.figures.waiting == 60 - copies, "the rest waits for its turn"
        assert house.broker.next_deadline() == AT_ONCE
    else:
        assert house.broker.figures.dropped == 60 - copies


def test_a_client_may_share_one_filter_in_so_many_groups() -> None:
    """Each of them would give it a copy."""
    house = House(CALM)
    one, other = house.greeted("one", V5), house.greeted("other", V5)
    heard = subscribe(one, *[f"$share/g{number}/t" for number in range(SHAPES + 1)])
    assert heard == [p.Suback(1, (0,) * SHAPES + (Reason.QUOTA_EXCEEDED,))]
    assert subscribe(one, "$share/g0/t", qos=1) == [p.Suback(1, (1,))], "what it has it may change"
    assert subscribe(one, "$share/g0/other") == [p.Suback(1, (0,))]
    one.say(p.Unsubscribe(2, ("$share/g0/t", "$share/g0/other")))
    assert subscribe(one, "$share/new/t") == [p.Suback(1, (0,))]
    assert subscribe(other, "$share/more/t") == [p.Suback(1, (0,))]


OVERLAPPING = ["/".join(levels) for levels in product("a+", repeat=11)]


def test_no_more_filters_of_a_client_match_one_name_than_there_may_be() -> None:
    house = House(CALM)
    one, other = house.greeted("one", V5), house.greeted("other", V3)
    exact = [f"b/{number}" for number in range(SHAPES)]
    (suback,) = subscribe(one, *exact, *OVERLAPPING)
    codes = suback.codes  # type: ignore[attr-defined]
    assert codes == (0,) * (2 * SHAPES) + (Reason.QUOTA_EXCEEDED,) * (len(OVERLAPPING) - SHAPES)
    assert subscribe(one, "b/c", "c/" + OVERLAPPING[1][2:]) == [p.Suback(1, (0, 0))], "as those that it has"
    found = house.broker._subscriptions.index.match("/".join("a" * 11))
    assert len(found) == SHAPES
    assert subscribe(other, "+/+") == [p.Suback(1, (0,))]
    assert subscribe(one, "+/+") == [p.Suback(1, (Reason.QUOTA_EXCEEDED,))]
    one.say(p.Unsubscribe(2, (OVERLAPPING[1],)))
    assert subscribe(one, "+/+") == [p.Suback(1, (Reason.QUOTA_EXCEEDED,))]
    one.say(p.Unsubscribe(2, ("c/" + OVERLAPPING[1][2:],)))
    assert subscribe(one, "+/+") == [p.Suback(1, (0,))]


@given(st.lists(st.lists(st.sampled_from("ab+"), min_size=1, max_size=3), max_size=30), st.booleans())
def test_of_one_shape_no_two_filters_match_one_name(filters: list[list[str]], has_tail: bool) -> None:
    made = {"/".join([*levels, "#"] if has_tail else levels) for levels in filters}
    names = ["/".join(levels) for count in (1, 2, 3) for levels in product("ab", repeat=count)]
    for name in names:
        shapes = [_shape(each) for each in made if matches(each, name)]
        assert len(set(shapes)) == len(shapes)
