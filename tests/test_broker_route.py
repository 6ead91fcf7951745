"""Receivers that are known: what a change makes a node forget, and what it looks up again before it is needed."""

from itertools import product

import pytest

from broker_client import V5, House, subscribe
from weft.broker import effect as e
from weft.broker import route as routing
from weft.broker.broker import Broker
from weft.broker.filter import FilterIndex
from weft.broker.parameters import Parameters
from weft.broker.route import Holders, Routes
from weft.broker.subscription import Subscription, Target
from weft.node.identity import Identity
from weft.node.node import Node
from weft.node.recovery import Recovery
from weft.wire.mqtt import packet as p
from weft.wire.mqtt.property import Property
from weft.wire.mqtt.writer import encode

V = p.Version.V311


def routes(ahead: int = 10) -> Routes:
    return Routes(FilterIndex(), 1 << 14, 100, lambda name: (name,), ahead)


def holding(*filters: str) -> Routes:
    made = routes()
    for one in filters:
        made._index.setdefault(one, Holders)
    return made


def test_a_name_that_was_published_on_is_looked_up_again() -> None:
    made = holding()
    made.route(b"a")
    made.route(b"b")
    made.forget("a")
    assert set(made.by_name) == {b"b"}
    made.look_up(10)
    assert set(made.by_name) == {b"a", b"b"}
    assert not made.arriving


def test_names_that_lead_elsewhere_are_looked_up_again_and_what_arrives_is_kept() -> None:
    lead = ["old"]
    made = Routes(FilterIndex(), 1 << 14, 100, lambda _: lead[0], 10)
    made.route(b"a")
    kept = made.arrival(b"b")
    lead[0] = "new"
    made.forget_leads()
    assert not made.by_name
    made.look_up(10)
    assert made.by_name[b"a"].lead == "new"
    assert made.arriving == {b"b": kept}


def test_a_filter_that_is_held_is_looked_up_as_a_name_that_others_publish_on() -> None:
    made = holding("held", "wild/#")
    for pattern in ("held", "wild/#", "held/no/more"):
        made.forget(pattern)
    made.look_up(10)
    assert set(made.arriving) == {b"held"}
    assert not made.by_name


def test_no_more_is_looked_up_at_a_time_than_is_asked_for_and_no_more_is_remembered() -> None:
    names = [b"%d" % number for number in range(20)]
    made = routes(ahead=7)
    for name in names:
        made.route(name)
    made.forget_leads()
    made.look_up(3)
    assert len(made.by_name) == 3
    made.look_up(30)
    assert len(made.by_name) == 7
    made.look_up(30)
    assert len(made.by_name) == 7


def test_a_broker_alone_looks_nothing_up() -> None:
    broker = Broker(Parameters(), 0.0)
    broker.handle(e.Opened(1), 0.0)
    broker.handle(e.Received(1, encode(p.Connect("c", V), V)), 0.0)
    broker.handle(e.Received(1, encode(p.Subscribe(1, (p.Request("t", 0),)), V)), 0.0)
    broker.look_ahead()
    assert not broker._subscriptions.routes.arriving


def test_a_node_knows_the_receivers_of_its_clients_filters_a_second_later() -> None:
    node = Node(Identity("n1", "weft", 77, node=1), Parameters(sys_interval=0, linked=True), 0.0)
    node.restore(Recovery(77), 0.0)
    node.handle(e.Opened(1), 0.0)
    node.handle(e.Received(1, encode(p.Connect("c", V), V)), 0.0)
    node.handle(e.Received(1, encode(p.Subscribe(1, (p.Request("t", 0),)), V)), 0.0)
    node.on_timer(node.network.measuring)  # without a master it goes on alone
    routes = node.broker._subscriptions.routes
    assert not routes.arriving
    node.on_timer(node.network.measuring * 2)
    assert [one.session.client for one in routes.arriving[b"t"].targets] == ["c"]
    node.handle(e.Closed(1), 2.5)
    assert not routes.arriving
    for second in (3, 4, 5):
        node.on_timer(node.network.measuring * second)
    assert not routes.arriving


OVERLAPPING = ["/".join(levels) for levels in product("a+", repeat=6)]


def test_of_a_session_no_more_is_collected_than_can_change_anything(monkeypatch: pytest.MonkeyPatch) -> None:
    collected: list[list[Subscription]] = []

    class Noted(Target):
        __slots__ = ()

        def __init__(self, session, held) -> None:  # type: ignore[no-untyped-def]
            collected.append(list(held))
            super().__init__(session, held)

    monkeypatch.setattr(routing, "Target", Noted)
    house = House()
    one = house.greeted("one", V5)
    subscribe(one, *OVERLAPPING[:-2])
    subscribe(one, OVERLAPPING[-2], qos=2)
    one.say(p.Subscribe(1, (p.Request(OVERLAPPING[-1], 1, no_local=True),)))
    house.greeted("other").say(p.Publish("a/a/a/a/a/a", b"x", 2, packet_id=1))
    assert sorted((each.qos, each.no_local) for each in collected[0]) == [(0, False), (1, True), (2, False)]
    assert [packet.qos for packet in one.take() if isinstance(packet, p.Publish)] == [2]


def test_all_identifiers_are_told_though_they_are_the_same() -> None:
    house = House()
    one = house.greeted("one", V5)
    told = {Property.SUBSCRIPTION_IDENTIFIER: (7,)}
    for at in range(0, len(OVERLAPPING), 10):
        one.say(p.Subscribe(1, tuple(p.Request(each) for each in OVERLAPPING[at : at + 10]), told))
    one.take()
    house.greeted("other").say(p.Publish("a/a/a/a/a/a", b"x"))
    (packet,) = one.take()
    assert packet.properties == {Property.SUBSCRIPTION_IDENTIFIER: (7,) * len(OVERLAPPING)}  # type: ignore[attr-defined]
