"""Receivers that are known: what a change makes a node forget, and what it looks up again before it is needed."""

from weft.broker import effect as e
from weft.broker.broker import Broker
from weft.broker.filter import FilterIndex
from weft.broker.parameters import Parameters
from weft.broker.route import Holders, Routes
from weft.node.identity import Identity
from weft.node.node import Node
from weft.node.recovery import Recovery
from weft.wire.mqtt import packet as p
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
