"""Everything that reads what others have written, each with examples and the error that it may raise."""

import copy
import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from random import Random
from struct import error as StructError
from zlib import crc32

import jwt

from broker_client import QUIET, V3, V5
from master_world import MasterWorld
from weft.access import authority as issuing
from weft.access.badge import Role
from weft.access.guard import Access, Guard
from weft.access.join_token import JoinToken, read_token
from weft.access.rights import read_rights
from weft.access.web_token import read_token_key
from weft.broker import effect as e
from weft.broker import record as r
from weft.broker.broker import Broker
from weft.broker.parameters import Parameters
from weft.broker.recovery import Recovery as BrokerRecovery
from weft.errors import WeftError
from weft.master import effect as m
from weft.node import effect as n
from weft.node.identity import Identity
from weft.node.node import Node
from weft.node.recovery import Recovery
from weft.sim.cluster.cluster import START
from weft.sim.cluster.stranger import exaggerated
from weft.wire import content, journal
from weft.wire import frame as w
from weft.wire.frame_codec import BETWEEN_NODES, FROM_MASTER, PLACE, TO_MASTER, FrameReader, encode_body
from weft.wire.frame_codec import encode as encode_frame
from weft.wire.frame_field import FrameError
from weft.wire.http import HttpError, RequestReader
from weft.wire.mqtt import packet as p
from weft.wire.mqtt.parser import Parser
from weft.wire.mqtt.property import Property
from weft.wire.mqtt.reason import PacketError, UnreadableError
from weft.wire.mqtt.writer import encode

NOW = START
LARGE = 2_000  # of what there may be many of


@dataclass(frozen=True, slots=True)
class Target:
    examples: list[bytes]
    read: Callable[[bytes], object]
    allowed: tuple[type[Exception], ...]
    share: float  # of all inputs
    large: Sequence[bytes] = ()  # examples with many of what there may be many of, which are taken now and then


# MQTT

PROPERTIES = {Property.USER_PROPERTY: (("a", "b"), ("a", "c")), Property.CONTENT_TYPE: "text"}
WILL = p.Will("will/x", b"gone", 1, True, {Property.WILL_DELAY_INTERVAL: 5})
PACKETS: list[p.Packet] = [
    p.Connect("client", V5, False, 60, WILL, "a", b"b"),
    p.Connect("client", V3, True, 0, None, "user", b"password"),
    p.Publish("a/b", b"payload"),
    p.Publish("a/b", b"payload" * 40, 1, True, packet_id=7),
    p.Publish("a/b", b"payload", 2, packet_id=8),
    p.Puback(7),
    p.Pubrec(8),
    p.Pubrel(8),
    p.Pubcomp(8),
    p.Subscribe(9, (p.Request("a/+/#", 1), p.Request("$share/g/a/b", 2))),
    p.Unsubscribe(10, ("a/+/#", "b")),
    p.Pingreq(),
    p.Disconnect(),
]
ONLY5: list[p.Packet] = [
    p.Publish("a/b", b"payload", 1, packet_id=9, properties={**PROPERTIES, Property.TOPIC_ALIAS: 3}),
    p.Subscribe(9, (p.Request("a/#", 1, True, True, 2),), {Property.SUBSCRIPTION_IDENTIFIER: (5,)}),
    p.Disconnect(4, {Property.SESSION_EXPIRY_INTERVAL: 7}),
    p.Auth(0x18, {Property.AUTHENTICATION_METHOD: "x"}),
]
BYTES3 = [encode(one, V3) for one in PACKETS if not isinstance(one, p.Connect) or one.version is V3]
BYTES5 = [encode(one, V5) for one in [*PACKETS, *ONLY5] if not isinstance(one, p.Connect) or one.version is V5]
MANY3, MANY5 = b"".join(BYTES3[1:-1]), b"".join(BYTES5[1:-1])


USERS = {Property.USER_PROPERTY: (("a", "b"),) * LARGE}
LARGE3 = [
    encode(p.Subscribe(9, tuple(p.Request(f"a/{number}/+", 1) for number in range(LARGE))), V3),
    encode(p.Unsubscribe(9, ("a/+",) * LARGE), V3),
    encode(p.Publish("a/b", b"x" * 50 * LARGE, 1, packet_id=7), V3),
    encode(p.Publish("a/b", b"x"), V3) * LARGE,
]
LARGE5 = [
    encode(p.Connect("client", V5, False, 60, p.Will("will/x", b"gone", properties=USERS), properties=USERS), V5),
    encode(p.Publish("a/b", b"payload", 1, packet_id=9, properties=USERS), V5),
    encode(p.Subscribe(9, (p.Request("a/#", 1),) * LARGE, USERS), V5),
    encode(p.Publish("a/b", b"x", 1, packet_id=9), V5) * LARGE,
]


def read_mqtt(data: bytes) -> None:
    """One of the versions, or before it is known, in pieces."""
    parser, cut = Parser(1 << 20, (None, V3, V5)[crc32(data) % 3]), len(data) // 2
    try:
        list(parser.feed(data[:cut]))
        list(parser.feed(data[cut:]))
    except UnreadableError as error:  # which is a `PacketError`, and none of these that are allowed
        raise AssertionError("A packet has met a defect.") from error.__cause__


RIGHTS = read_rights("topic readwrite a/#\ntopic deny a/safe")


def read_by_broker(data: bytes) -> None:
    """A client that was let in says anything; another hears what comes of it."""
    version = V5 if data[:1] < b"\x80" else V3
    broker = Broker(QUIET, NOW, guard=Guard(Access(rights=RIGHTS)))
    for number in (1, 2):
        broker.handle(e.Opened(number), NOW)
        broker.handle(e.Received(number, encode(p.Connect(f"c{number}", version), version)), NOW)
    broker.handle(e.Received(2, encode(p.Subscribe(1, (p.Request("a/#", 2),)), version)), NOW)
    cut = len(data) // 2
    for part in (data[:cut], data[cut:], b""):
        _require_no_defect(broker.handle(e.Received(1, part), NOW))
    broker.check_invariants()


# Frames

CONTENT = content.encode(content.Content(b"a/b", b"payload", 1, True, PROPERTIES, 5.0, "client", 3.0))
RUN = content.encode_run(content.Run(encode(p.Publish("a/b", b"x"), V3) * 3, 3, b"a/b", "client"), NOW)
MESSAGES = (
    w.Message(w.Form.WOVEN, 1, 2, 3, 4, 1, CONTENT, True, 1, 2),
    w.Message(w.Form.RANGED, 1, 2, 3, 5, 1, CONTENT, low=1, high=9),
    w.Message(w.Form.ENTERING, 1, 2, 3, 6, 1, RUN, way=(1, 2)),
    w.Message(w.Form.WOVEN, 1, 2, 3, 7, 1, CONTENT, group="$share/g/a", low=1, token=5),
)
OWNED = w.Owned("client", 5, 5, (w.Subscribed("a/#", 1, 7),))
HELLO = w.Hello(w.VERSION, "c", w.Role.NODE, "b", 2, 1, "127.0.0.1:1")
RECORDS = (
    r.encode(r.SessionOpened("client", 5, 100, 0)),
    r.encode(r.Subscribed("client", "a/#", 1, 7)),
    r.encode(r.WillSet("client", p.Will("will/x", b"gone", 1))),
)
PEERS_WORDS: list[w.Frame] = [
    w.Carry(MESSAGES),
    w.Passing(1, False, PLACE.pack(1, 2, 3, 8) + b"\0\6client" + encode(p.Publish("a/b", b"x"), V3)),
    w.Acked(((1, 3),), (w.Trouble(2, (1,), True, False),)),
    w.Routed(1, 5, 2, 9, 0, encode_body(w.FetchSession("client", 1, 4, False, True))),
    w.Routed(1, 5, 2, 9, 0, encode_body(w.SessionMoved("client", 1, 0, True, RECORDS, ((1, 2, 3),)))),
    w.Routed(1, 5, 2, 9, 0, encode_body(w.SessionComing("client", 1, ((1, 2),), True, ((1, 2, 3),)))),
    w.RetainedDigest(tuple(range(256))),
    w.RetainedSync((1, 2), ((2, 3, 4, CONTENT),), True),
    w.Graft(1, True),
    w.Grafted(1, True),
    w.Ungrafted(1),
]
MASTERS_WORDS: list[w.Frame] = [
    w.Welcome(1, 5, 64, "c"),
    w.Peers(2, 5, 64, (w.Peer(2, "b", "127.0.0.1:1", 9, True, True),)),
    w.Tables(3, (w.Table(1, (2,)), w.Table(2, None))),
    w.Way(4, "a/b", True, (2,)),
    w.Filters(5, (w.Listed("a/#"), w.Listed("$share/g/a", (w.Holder(2, 9, 1),))), ("b",), True),
    w.NeighbourInterests(2, (1, 2), (3,)),
    w.Down(2, 9, ("a",)),
    w.Back(2, 9),
    w.SessionAt(1, 4, 2, ((2, 9, True),), OWNED),
    w.SessionClaimed("client", False),
    w.InPlace(4),
    w.Confirmed(1),
    w.Parted(),
    w.Removed(7),
    w.Places(((1, 5), (2, 9)), True),
    w.Trace(1, "a/b"),
    w.Revoked((("b", 5.0),)),
    w.EndOfTurn(),
    w.Leave(),
]
NODES_WORDS: list[w.Frame] = [
    w.Join("b", 1, 2, "127.0.0.1:1", ("127.0.0.1:2",), 0, (w.Held("a", 1, True),), (OWNED,), (1,)),
    w.Interest(1, (w.Held("a", 1, True),), ("b",)),
    w.SessionOwned(OWNED),
    w.FindSession("client", 1, True, False),
    w.SessionGathered("client", 2),
    w.Measured((("a", 1, 2),), ((1, 2.0),), (("x", 1),)),
    w.LinkMade(0, 1.0),
    w.LinkLost(0),
    w.Applied(3),
    w.Confirm(1),
    w.FindWay("a/b"),
    w.ForgetWays(("a/b", "c")),
    w.SessionEnded("client", 0),
    w.Leaving(),
    w.Traced(1, 2, 3, 4.0, 5),
]
FRAMES = [encode_frame(HELLO) + encode_frame(one) for one in (*PEERS_WORDS, *MASTERS_WORDS, *NODES_WORDS)]


LARGE_WORDS: list[w.Frame] = [
    w.Carry(MESSAGES * (LARGE // 4)),
    w.Acked(((1, 3),) * LARGE, (w.Trouble(2, (1,), True, False),) * LARGE),
    w.Routed(1, 5, 2, 9, 0, encode_body(w.SessionMoved("client", 1, 0, True, RECORDS * LARGE, ((1, 2, 3),) * LARGE))),
    w.RetainedSync((1, 2), ((2, 3, 4, CONTENT),) * LARGE, True),
]
LARGE_FRAMES = [encode_frame(HELLO) + encode_frame(one) for one in (*LARGE_WORDS, w.Interest(1, (), ("b",) * LARGE))]
LARGE_CONTENTS = [
    content.encode(content.Content(b"a/b", b"payload" * LARGE, 1, True, USERS, 5.0, "client", 3.0)),
    content.encode_run(content.Run(encode(p.Publish("a/b", b"x"), V3) * LARGE, LARGE, b"a/b", "client"), NOW),
]


def read_frames(data: bytes) -> None:
    """Read by one who takes anything, or only what may come, in pieces."""
    kinds = (None, None, TO_MASTER, FROM_MASTER, BETWEEN_NODES)[crc32(data) % 5]
    reader, cut = FrameReader(kinds=kinds), len(data) // 2
    reader.feed(data[:cut])
    reader.feed(data[cut:])


def read_content(data: bytes) -> None:
    (content.decode, content.decode_run)[crc32(data) % 2](data)


def read_by_node(data: bytes) -> None:
    """A peer whose frame can be read says anything with it."""
    reader = FrameReader(kinds=BETWEEN_NODES)
    reader.feed(encode_frame(HELLO))
    frames = reader.feed(len(data).to_bytes(4) + data)
    node = member()
    node.handle(n.Heard(2, tuple(frames)), NOW)
    node.check_invariants()


def read_by_whole_node(data: bytes) -> None:
    """A peer, or the master, says several things, whatever they are; the node outlives that, and serves its client."""
    node = member()
    for peer, kinds in ((2, BETWEEN_NODES), (n.MASTER, FROM_MASTER)):
        frames = _frames_in(data, kinds)
        if frames:
            _require_no_defect(node.handle(n.Heard(peer, tuple(frames)), NOW))
    for later in (1.0, 5.0, 40.0):
        while (deadline := node.next_deadline()) is not None and deadline <= NOW + later:
            _require_no_defect(node.on_timer(deadline))
    node.check_invariants()
    sent = node.handle(e.Received(1, encode(p.Publish("a/b", b"x"), V3)), NOW + 41.0)
    assert any(isinstance(one, e.Send) for one in sent), "the client does not get what it publishes"


def read_by_master(data: bytes) -> None:
    """A node that has joined says several things, whatever they are; others can subscribe all the same."""
    world = copy.deepcopy(_world())
    frames = _frames_in(data, TO_MASTER)
    for frame in frames:
        if EVIL in world.connections_open:
            world.handle(m.Heard(EVIL, frame))
    world.subscribe(world.nodes["n0"], "b/#")
    world.run(20.0)
    world.master.check_invariants()
    json.dumps(world.ask("status"), allow_nan=False)
    for name in ("n0", "n1"):
        node = world.nodes[name]
        assert not node.refused
        assert node.in_place == node.sequence, "nobody can subscribe any more"


EVIL = 3  # a connection


@cache
def _world() -> MasterWorld:
    """Three nodes of which the third does no more than it is made to."""
    world = MasterWorld()
    for name in ("n0", "n1", "evil"):
        world.join(name, "a/#", wait=False)
    world.run(1.0)
    world.mute(world.nodes["evil"])
    return world


def _frames_in(data: bytes, kinds: frozenset[int]) -> list[w.Frame]:
    """The frames up to the first that cannot be read, at which the connection ends."""
    reader, frames = FrameReader(kinds=kinds), []
    reader.feed(encode_frame(HELLO))
    with suppress(FrameError):
        for at in range(len(data)):  # as they come
            frames += reader.feed(data[at : at + 1])
    return frames


def _require_no_defect(effects: list[e.Effect]) -> None:
    """What is told can be read, and nothing that was said has met a defect."""
    for one in effects:
        assert not isinstance(one, e.Note) or one.event != "defect", one.detail
        if isinstance(one, n.Tell):
            FrameReader().feed(encode_frame(one.frame))


def _with_extremes(frames: Sequence[w.Frame]) -> list[bytes]:
    """Frames as bytes, one after the other and in rows, and with numbers that are as large as they can be."""
    examples = [encode_frame(one) for one in frames]
    for seed in range(20 * len(frames)):
        random = Random(seed)
        with suppress(StructError):
            examples.append(encode_frame(exaggerated(random.choice(frames), random)))
    return [*examples, b"".join(encode_frame(one) for one in frames)]


def member() -> Node:
    node = Node(Identity("a", "c", 1, node=1), Parameters(sys_interval=0, linked=True), NOW)
    node.restore(Recovery(1), NOW)
    node.handle(n.Linked(n.MASTER), NOW)
    node.handle(n.Heard(n.MASTER, tuple(MASTERS_WORDS[:5])), NOW)
    node.handle(n.Linked(2), NOW)
    node.handle(e.Opened(1), NOW)
    node.handle(e.Received(1, encode(p.Connect(""), V3) + encode(p.Subscribe(1, (p.Request("a/#", 1),)), V3)), NOW)
    return node


# The rest

REQUESTS = [
    b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n",
    b'POST /ask?x=1 HTTP/1.1\r\nContent-Length: 21\r\n\r\n{"request": "status"}',
]


LARGE_REQUESTS = [
    b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * (LARGE // 2) + b"\r\n",
    b"POST /ask HTTP/1.1\r\nContent-Length: 50000\r\n\r\n" + b"[" * 50_000,
]


def read_http(data: bytes) -> None:
    reader, cut = RequestReader(1 << 16), len(data) // 2
    if reader.feed(data[:cut]) is None:
        reader.feed(data[cut:])


SALT = b"\1\2\3\4"
SEGMENT = journal.header_bytes(journal.Header(journal.Kind.SEGMENT, SALT, 0))
JOURNALS = [
    SEGMENT + journal.frame_bytes(SALT, 0, 0, RECORDS),
    SEGMENT + journal.frame_bytes(SALT, 0, 0, RECORDS) + journal.frame_bytes(SALT, 3, 100, RECORDS),
]


LARGE_JOURNALS = [
    SEGMENT + b"".join(journal.frame_bytes(SALT, 3 * number, 0, RECORDS) for number in range(LARGE)),
    SEGMENT + journal.frame_bytes(SALT, 0, 0, RECORDS * LARGE),
]


def read_journal(data: bytes) -> None:
    reader, cut = journal.Reader(), len(data) // 2
    for part in (data[:cut], data[cut:]):
        for frame in reader.feed(part):
            BrokerRecovery().replay(frame.records)
    reader.damage()


def read_record(data: bytes) -> None:
    recovery = BrokerRecovery()
    recovery.replay(RECORDS)
    recovery.apply(data)


SECRET = b"0123456789abcdef0123456789abcdef"
KEY = read_token_key(b"secret:" + SECRET)
TOKENS = [jwt.encode({"sub": "alice", "exp": NOW + 60, "nbf": 5}, SECRET, "HS256").encode()]
AUTHORITY = issuing.new_authority("fuzz", 1e9)
ASKED = b"""-----BEGIN CERTIFICATE REQUEST-----
MIHHMG4CAQAwDDEKMAgGA1UEAwwBYTBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IA
BPbZTXK9YXwv+z1M2P19JowbWibLy0ceCltAzYAayOpEveuq1mADTe/Zw27hMJJe
udPh48jIIgZnHdFsBcPAfZigADAKBggqhkjOPQQDAgNJADBGAiEA82wIlWsWnmkc
98CCR87/YehbafIaJ2LVEfjnVD1x+3ICIQDtQ2uUBuSBqPGB4bDd/w5UHw4z7t4q
+x4w+7pfUMPeLw==
-----END CERTIFICATE REQUEST-----
"""


JOINS = [str(JoinToken(SECRET[:16], SECRET)).encode()]


def read_join_token(data: bytes) -> None:
    read_token(data.decode("latin-1"))


TARGETS = {
    "mqtt": Target([*BYTES3, *BYTES5, MANY3, MANY5], read_mqtt, (PacketError,), 0.33, [*LARGE3, *LARGE5]),
    "broker": Target([*BYTES3[1:], *BYTES5[1:], MANY3, MANY5], read_by_broker, (), 0.01, [*LARGE3, *LARGE5[1:]]),
    "frame": Target(FRAMES, read_frames, (FrameError,), 0.3096, LARGE_FRAMES),
    "content": Target([CONTENT, RUN], read_content, (FrameError,), 0.10, LARGE_CONTENTS),
    "node": Target(
        [encode_body(one) for one in PEERS_WORDS],
        read_by_node,
        (FrameError,),
        0.03,
        [encode_body(one) for one in LARGE_WORDS],
    ),
    "whole": Target(_with_extremes([*PEERS_WORDS, *MASTERS_WORDS]), read_by_whole_node, (), 0.0002),
    "master": Target(_with_extremes(NODES_WORDS), read_by_master, (), 0.0002),
    "http": Target(REQUESTS, read_http, (HttpError,), 0.10, LARGE_REQUESTS),
    "journal": Target(JOURNALS, read_journal, (journal.NewerFormatError, FrameError), 0.05, LARGE_JOURNALS),
    "record": Target([*RECORDS, r.encode(r.Done("client", 5))], read_record, (FrameError,), 0.05),
    "token": Target(TOKENS, lambda data: KEY.verify(data, NOW), (PacketError,), 0.015),
    "join": Target(JOINS, read_join_token, (WeftError,), 0.003),
    "request": Target(
        [ASKED], lambda data: issuing.sign(AUTHORITY, data, Role.NODE, "a", (), 1e9), (WeftError,), 0.002
    ),
}
assert abs(sum(one.share for one in TARGETS.values()) - 1) < 1e-9
