"""Senders in a cluster: a node speaks for itself, tables are the master's, and Hello comes first."""

import pytest

from weft.access.badge import Badge, Role, ask_refusal, badge_of, stranger
from weft.broker.effect import Note
from weft.broker.parameters import Parameters as BrokerParameters
from weft.master import effect as e
from weft.master.master import Master
from weft.master.parameters import Parameters
from weft.node import effect as n
from weft.node.identity import Identity
from weft.node.node import Node
from weft.node.recovery import Recovery
from weft.sim.cluster.cluster import START
from weft.wire import content
from weft.wire import frame as w
from weft.wire.frame_codec import BETWEEN_NODES, FROM_MASTER, PLACE, TO_MASTER, FrameReader, encode, encode_body
from weft.wire.frame_field import FrameError
from weft.wire.mqtt.packet import Publish, Version
from weft.wire.mqtt.writer import encode as encode_packet

NOW = START
HELLO = w.Hello(w.VERSION, "c", w.Role.NODE, "a")


def told(master: Master, *events: e.Event) -> list[w.Frame]:
    """Frames that the last of some events leads to."""
    effects: list[e.Effect] = []
    for event in events:
        effects = master.handle(event, NOW)
    return [one.frame for one in effects if isinstance(one, e.Tell)]


def join(name: str, number: int = w.NOBODY) -> w.Join:
    return w.Join(name, 1, number, "127.0.0.1:7884", (), 0)


def test_a_node_with_the_certificate_of_another_is_refused() -> None:
    (answer,) = told(Master(Parameters(), "c", NOW), e.Proved(1, "b"), e.Heard(1, HELLO))
    assert isinstance(answer, w.Refused)
    assert "certificate of b" in answer.reason


def test_a_node_does_not_join_as_another() -> None:
    master = Master(Parameters(), "c", NOW)
    (answer,) = told(master, e.Proved(1, "a"), e.Heard(1, HELLO), e.Heard(1, join("b")))
    assert isinstance(answer, w.Refused)
    assert not list(master.network.roster)


def test_a_node_does_not_take_the_number_of_another() -> None:
    master = Master(Parameters(), "c", NOW)
    told(master, e.Proved(1, "b"), e.Heard(1, w.Hello(w.VERSION, "c", w.Role.NODE, "b")), e.Heard(1, join("b")))
    number = master.network.roster.named("b").number
    told(master, e.Proved(2, "a"), e.Heard(2, HELLO), e.Heard(2, join("a", number)))
    assert master.network.roster.named("b").number == number
    assert master.network.roster.named("a").number != number


def test_what_a_node_says_of_interest_is_its_own() -> None:
    master = Master(Parameters(), "c", NOW)
    for connection, name in ((1, "a"), (2, "b")):
        hello = w.Hello(w.VERSION, "c", w.Role.NODE, name)
        told(master, e.Proved(connection, name), e.Heard(connection, hello), e.Heard(connection, join(name)))
    told(master, e.Heard(1, w.Interest(1, (w.Held("news", 1, False),))))
    held = master.network.directory.held
    assert set(held[master.network.roster.named("a").number]) == {"news"}
    assert not held[master.network.roster.named("b").number]


def member() -> Node:
    node = Node(Identity("a", "c", 1, node=1), BrokerParameters(sys_interval=0, linked=True), NOW)
    node.restore(Recovery(1), NOW)
    node.handle(n.Linked(n.MASTER), NOW)
    node.handle(n.Heard(n.MASTER, (w.Welcome(1, 5, 64, "c"), w.Peers(1, 5, 64, (PEER,)))), NOW)
    node.handle(n.Linked(2), NOW)
    return node


PEER = w.Peer(2, "b", "127.0.0.1:1", 9, True, True)
TABLES = w.Tables(9, (w.Table(w.topic_of("news"), (2,)),))


def test_tables_are_taken_of_the_master_only() -> None:
    node = member()
    node.handle(n.Heard(2, (TABLES, w.Peers(9, 5, 64, ()), w.Leave(), w.Welcome(7, 5, 64, "c"))), NOW)
    assert (node.atlas.version, node.number) == (1, 1)
    assert set(node.atlas.peers) == {2}
    node.handle(n.Heard(n.MASTER, (TABLES,)), NOW)
    assert node.atlas.version == 9


def test_a_frame_for_another_node_has_its_sender_on_it() -> None:
    """What comes from a peer at its first hop is that peer's."""
    node, taken = member(), []
    node.parts.moving._give = lambda source, *_: taken.append(source)  # type: ignore[method-assign]
    fetch = encode_body(w.FetchSession("client", 1, 4, False, True))
    node.handle(n.Heard(2, (w.Routed(1, 5, 3, 40, 0, fetch),)), NOW)
    assert taken == []
    node.handle(n.Heard(2, (w.Routed(1, 5, 2, 9, 0, fetch),)), NOW)
    node.handle(n.Heard(2, (w.Routed(1, 5, 3, 40, 1, fetch),)), NOW)
    assert taken == [2, 3]


SPOILT = w.Routed(1, 5, 2, 9, 0, b"\xff\xff")
PUBLICATION = content.encode(content.Content(b"news", b"payload", 1))


def carried(data: bytes, count: int = 1) -> w.Carry:
    return w.Carry((w.Message(w.Form.WOVEN, w.topic_of("news"), 2, 1, count, 1, data, True, 1, 0),))


@pytest.mark.parametrize(
    "frame",
    [
        SPOILT,
        carried(PUBLICATION[:-1]),
        w.Passing(1, False, b"short"),
        w.RetainedSync((1,), ((2, 3, 4, PUBLICATION[:-1]),), False),
    ],
)
def test_a_peer_that_says_what_cannot_be_read_loses_its_link(frame: w.Frame) -> None:
    """Nothing is heard of it any more until there is another."""
    node = member()
    effects = node.handle(n.Heard(2, (frame, carried(PUBLICATION))), NOW)
    assert [one.peer for one in effects if isinstance(one, n.Break)] == [2]
    assert [one.event for one in effects if isinstance(one, Note)] == ["unreadable"]
    assert 2 not in node.atlas.up
    assert not len(node.custody)
    assert not [one for one in node.handle(n.Unlinked(2), NOW) if not isinstance(one, n.Tell)]
    node.handle(n.Linked(2), NOW)
    node.handle(n.Heard(2, (carried(PUBLICATION),)), NOW)
    assert node.traffic.arrived == 0
    assert node.traffic.messages_received == 1


def test_what_came_before_it_counts() -> None:
    node = member()
    node.handle(n.Heard(2, (carried(PUBLICATION), carried(PUBLICATION[:-1], 2), carried(PUBLICATION, 3))), NOW)
    assert node.traffic.messages_received == 1


def test_a_peer_that_passes_on_what_another_has_spoilt_keeps_its_link() -> None:
    node = member()
    effects = node.handle(n.Heard(2, (w.Routed(1, 5, 3, 40, 1, b"\xff\xff"),)), NOW)
    assert not [one for one in effects if isinstance(one, n.Break)]
    assert 2 in node.atlas.up


def test_a_master_that_says_what_cannot_be_read_is_called_again(monkeypatch: pytest.MonkeyPatch) -> None:
    node = member()

    def spoilt(*_: object) -> None:
        raise FrameError("It cannot be read.")

    monkeypatch.setitem(node._of_master, w.Tables, spoilt)
    effects = node.handle(n.Heard(n.MASTER, (TABLES, w.Welcome(7, 5, 64, "c"))), NOW)
    assert [one.peer for one in effects if isinstance(one, n.Break)] == [n.MASTER]
    assert n.MASTER not in node.atlas.up
    assert node.number == 1


@pytest.mark.parametrize(
    ("kinds", "frame"),
    [
        (TO_MASTER, TABLES),
        (TO_MASTER, w.Carry(())),
        (FROM_MASTER, join("a")),
        (FROM_MASTER, w.Carry(())),
        (BETWEEN_NODES, TABLES),
        (BETWEEN_NODES, w.Leave()),
        (BETWEEN_NODES, join("a")),
    ],
)
def test_frames_of_the_wrong_sender_are_not_even_read(kinds: frozenset[int], frame: w.Frame) -> None:
    reader = FrameReader(kinds=kinds)
    assert reader.feed(encode(HELLO)) == [HELLO]
    with pytest.raises(FrameError, match="may not say"):
        reader.feed(encode(frame)[:5])  # no more than length and kind


@pytest.mark.parametrize("kinds", [TO_MASTER, FROM_MASTER, BETWEEN_NODES])
def test_nothing_is_read_before_hello(kinds: frozenset[int]) -> None:
    frame = {TO_MASTER: join("a"), FROM_MASTER: TABLES, BETWEEN_NODES: w.Carry(())}[kinds]
    with pytest.raises(FrameError, match="may not say"):
        FrameReader(kinds=kinds).feed(encode(frame))
    reader = FrameReader(kinds=kinds)
    assert reader.feed(encode(HELLO) + encode(frame)) == [HELLO, frame]


def test_a_message_counts_as_alone_only_between_nodes_and_behind_hello() -> None:
    lone = encode(w.Passing(1, False, bytes(40)))
    for kinds in (TO_MASTER, FROM_MASTER, BETWEEN_NODES):
        reader = FrameReader(kinds=kinds)
        assert not reader.is_lone(lone)
        reader.feed(encode(HELLO))
        assert reader.is_lone(lone) == (kinds is BETWEEN_NODES)


def test_a_stranger_cannot_announce_a_large_frame() -> None:
    with pytest.raises(FrameError, match="length"):
        FrameReader(kinds=TO_MASTER).feed(b"\x00\x00\x20\x00")


def subject(*parts: tuple[str, str]) -> dict[str, object]:
    return {"subject": tuple((part,) for part in parts), "serialNumber": "0A"}


@pytest.mark.parametrize(
    ("certificate", "badge"),
    [
        ({}, Badge()),
        (subject(("commonName", "a"), ("organizationalUnitName", "node")), Badge("a", Role.NODE, "0A")),
        (subject(("commonName", "a")), Badge("a", None, "0A")),
        (subject(("commonName", "a"), ("commonName", "b")), Badge("", None, "0A")),
        (
            subject(("commonName", "a"), ("organizationalUnitName", "node"), ("organizationalUnitName", "master")),
            Badge("a", None, "0A"),
        ),
        (subject(("commonName", "a"), ("organizationalUnitName", "king")), Badge("a", None, "0A")),
    ],
)
def test_a_badge_is_what_a_certificate_says_once(certificate: dict[str, object], badge: Badge) -> None:
    assert badge_of(certificate) == badge


def test_who_is_taken_for_whom() -> None:
    assert not stranger(Badge("a", Role.NODE), Role.NODE, "a")
    assert "says that it is b" in stranger(Badge("a", Role.NODE), Role.NODE, "b")
    assert "no certificate of a master" in stranger(Badge("a", Role.NODE), Role.MASTER)
    assert "no certificate of a node" in stranger(Badge(), Role.NODE)


@pytest.mark.parametrize(
    ("role", "allowed"),
    [
        (Role.OPERATOR, set(Master.requests)),
        (Role.READER, {"status", "explain", "trace", "snapshot"}),
        (Role.NODE, set()),
        (Role.CLIENT, set()),
        (Role.MASTER, set()),
        (None, set()),
    ],
)
def test_who_may_ask_what_of_a_master(role: Role | None, allowed: set[str]) -> None:
    assert {one for one in Master.requests if not ask_refusal(Badge("x", role), one)} == allowed


def test_a_number_that_others_would_refuse_is_not_passed_on() -> None:
    """Else it would be this node whose link they end."""
    node = member()
    third = w.Peer(3, "c", "127.0.0.1:2", 20, True, True)
    tables = w.Tables(2, (w.Table(w.topic_of("news"), (2, 3)),))
    node.handle(n.Heard(n.MASTER, (w.Peers(2, 5, 64, (PEER, third)), tables)), NOW)
    node.handle(n.Linked(3), NOW)
    for count in (1, 2, 2**63):
        place = PLACE.pack(w.topic_of("news"), 7, 7, count)
        packet = encode_packet(Publish("news", b"x"), Version.V311)
        effects = node.handle(n.Heard(2, (w.Passing(1, False, place + b"\0\0" + packet),)), NOW)
        told = [one for one in effects if isinstance(one, n.Tell) and one.peer == 3]
        broken = [one.peer for one in effects if isinstance(one, n.Break)]
        assert (len(told), broken) == ((1, []) if count < 3 else (0, [2]))


@pytest.mark.parametrize("sender", [2, n.MASTER])
def test_a_frame_that_meets_a_defect_costs_who_says_it_the_link(sender: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise KeyError("gone")

    node = member()
    frame: w.Frame = w.Graft(1, True) if sender == 2 else w.InPlace(1)
    monkeypatch.setitem(node._of_peers if sender == 2 else node._of_master, type(frame), fail)  # type: ignore[arg-type]
    effects = node.handle(n.Heard(sender, (frame,)), NOW)
    (broken,) = [one for one in effects if isinstance(one, n.Break)]
    assert broken.peer == sender
    assert "defect" in broken.reason
    assert any(isinstance(one, Note) and one.event == "defect" and "KeyError: 'gone'" in one.detail for one in effects)
    assert sender not in node.atlas.up
    node.handle(n.Linked(sender), NOW)
    node.check_invariants()


def test_a_defect_over_what_another_node_has_routed_costs_the_one_between_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: object) -> None:
        raise KeyError("gone")

    node = member()
    monkeypatch.setattr(node.parts.moving, "hear", fail)
    fetch = encode_body(w.FetchSession("client", 1, 4, False, True))
    effects = node.handle(n.Heard(2, (w.Routed(1, 5, 3, 40, 1, fetch),)), NOW)
    assert not any(isinstance(one, n.Break) for one in effects)
    assert any(isinstance(one, Note) and one.event == "defect" for one in effects)
    assert 2 in node.atlas.up
