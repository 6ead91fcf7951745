"""Every reader of bytes takes time in proportion to them: whoever sends eight times as much costs eight times as much.

Each reader of a table reads n and 8n of what it can have many of, n such that the first takes some 10 ms, and may use
16 times the processor's time for the second: one that copies all it has for every piece would use 64 times. This is the
one test that looks at a clock, of this process's own time, since a copy in C is one step whatever its length.
"""

import asyncio
import gc
import json
import sqlite3
import time
import tracemalloc
from base64 import urlsafe_b64encode
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import closing
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory

import jwt
import pytest
from websockets.frames import Frame, Opcode

import weft
from broker_client import QUIET, V3, V5
from fuzzing.targets import KEY, SECRET, member
from weft.access.join_token import read_invitation, read_token
from weft.access.page import Pages
from weft.access.rights import read_rights
from weft.access.user import read_users
from weft.broker import effect as e
from weft.broker import record as r
from weft.broker.broker import AT_ONCE, Broker
from weft.broker.publication import Publication
from weft.broker.recovery import Recovery as BrokerRecovery
from weft.broker.session import Session
from weft.broker.subscription import Subscription, Target
from weft.errors import WeftError
from weft.live.websocket import WebSocketClient
from weft.node import effect as n
from weft.node import record as own
from weft.node.recovery import Recovery
from weft.sim.cluster.cluster import START
from weft.wire import content, journal
from weft.wire import frame as w
from weft.wire.frame_codec import CARRY_MESSAGES, FrameReader, encode_body, message_of
from weft.wire.frame_codec import encode as encode_frame
from weft.wire.http import HttpError, RequestReader
from weft.wire.mqtt import packet as p
from weft.wire.mqtt.parser import Parser
from weft.wire.mqtt.property import Property
from weft.wire.mqtt.topic import is_filter, matches
from weft.wire.mqtt.writer import encode
from weft.wire.sqlite import pages_of, read_log, rows
from weft.wire.turn import TurnReader

NOW = START
LEAST, TIMES, ALLOWED, TRIES = 0.01, 8, 16, 5  # seconds, as much, times the time, of which the best counts
PIECE = 64  # bytes
MOST = 1 << 19  # bytes of the first: a reader that takes no time for these takes none

Read = Callable[[list[bytes]], object]
Reader = tuple[Callable[[int], bytes], Read]  # makes an input with n of what it can have many of, and reads its pieces
USER = Property.USER_PROPERTY


# MQTT


def many(count: int) -> dict[Property, object]:
    return {USER: (("a", "b"),) * count}


def parsed(version: p.Version | None) -> Read:
    def read(pieces: list[bytes]) -> None:
        parser = Parser(version=version)
        for piece in pieces:
            for _ in parser.feed(piece):
                pass

    return read


def mqtt(make: Callable[[int], p.Packet], version: p.Version = V5) -> Reader:
    return (lambda count: encode(make(count), version)), parsed(version)


def by_broker(pieces: list[bytes]) -> None:
    broker = Broker(QUIET, NOW)
    broker.handle(e.Opened(1), NOW)
    for piece in pieces:
        broker.handle(e.Received(1, piece), NOW)
        while broker.next_deadline() == AT_ONCE:
            broker.on_timer(NOW)


HELLO = encode(p.Connect("client", V5), V5)
WILL = p.Will("will", b"gone")
PACKETS: dict[str, Reader] = {
    "connect": mqtt(lambda count: p.Connect("client", V5, properties=many(count))),
    "will": mqtt(lambda count: p.Connect("client", V5, will=p.Will("will", b"", properties=many(count)))),
    "connack": mqtt(lambda count: p.Connack(False, 0, many(count))),
    "publish": mqtt(lambda count: p.Publish("a", b"payload", properties=many(count))),
    "identifiers": mqtt(lambda n: p.Publish("a", b"", properties={Property.SUBSCRIPTION_IDENTIFIER: (1,) * n})),
    "payload": mqtt(lambda count: p.Publish("a", bytes(16 * count)), V3),
    "puback": mqtt(lambda count: p.Puback(1, 0, many(count))),
    "subscribe": mqtt(lambda count: p.Subscribe(1, (p.Request("a"),), many(count))),
    "filters": mqtt(lambda count: p.Subscribe(1, (p.Request("a/+"),) * count), V3),
    "suback": mqtt(lambda count: p.Suback(1, (0,) * count), V3),
    "unsubscribe": mqtt(lambda count: p.Unsubscribe(1, ("a/+",) * count), V3),
    "unsuback": mqtt(lambda count: p.Unsuback(1, (0,) * count)),
    "disconnect": mqtt(lambda count: p.Disconnect(0, many(count))),
    "auth": mqtt(lambda count: p.Auth(0x18, many(count))),
    "packets": ((lambda count: encode(p.Publish("a", b"b"), V3) * count), parsed(V3)),
}
BROKER: dict[str, Reader] = {
    "connect": ((lambda count: encode(p.Connect("client", V5, properties=many(count)), V5)), by_broker),
    "will": (lambda n: encode(p.Connect("c", V5, will=p.Will("w", b"", properties=many(n))), V5), by_broker),
    "publish": (lambda count: HELLO + encode(p.Publish("a", b"b", properties=many(count)), V5), by_broker),
    "payload": (lambda count: HELLO + encode(p.Publish("a", bytes(count)), V5), by_broker),
    "packets": (lambda count: HELLO + encode(p.Publish("a", b"b", 1, packet_id=1), V5) * count, by_broker),
    "pings": (lambda count: HELLO + encode(p.Pingreq(), V5) * count, by_broker),
    "subscribe": (
        lambda n: HELLO + encode(p.Subscribe(1, tuple(p.Request(f"a/+/{one}") for one in range(n))), V5),
        by_broker,
    ),
    "again": (lambda count: HELLO + encode(p.Subscribe(1, (p.Request("a/+"),) * count), V5), by_broker),
    "unsubscribe": (lambda count: HELLO + encode(p.Unsubscribe(1, ("a/+",) * count), V5), by_broker),
}


def taken_together(pieces: list[bytes]) -> None:
    """Subscriptions of one client that match one name, each with an identifier."""
    held = [Subscription(f"{number}", identifier=1) for number in range(len(pieces[0]))]
    Target(Session("one", 1, V5, 0), held).key()


TARGETS: dict[str, Reader] = {"identifiers": (bytes, taken_together)}


# Frames between nodes

CONTENT = content.encode(content.Content(b"a/b", b"payload"))
MESSAGE = w.Message(w.Form.WOVEN, 1, 2, 3, 4, 1, CONTENT, True, 1, 2)
OWNED = w.Owned("client", 5, 5, (w.Subscribed("a/#", 1, 7),))


def by_frames(pieces: list[bytes]) -> None:
    reader, turns = FrameReader(), TurnReader()
    for piece in pieces:
        for frame in turns.take(reader.feed(piece)):
            if isinstance(frame, w.Carry):
                for message in frame.messages:
                    content.check(message.content)
            elif isinstance(frame, w.Passing):
                content.check(message_of(frame).content)


def framed(make: Callable[[int], w.Frame]) -> Reader:
    return (lambda count: encode_frame(make(count)) + encode_frame(w.EndOfTurn())), by_frames


def carried(make: Callable[[], w.Message]) -> Reader:
    """Messages in frames of as many as one may have."""

    def data(count: int) -> bytes:
        sizes = [CARRY_MESSAGES] * (count // CARRY_MESSAGES) + [count % CARRY_MESSAGES]
        return b"".join(encode_frame(w.Carry(tuple(make() for _ in range(size)))) for size in sizes)

    return (lambda count: data(count) + encode_frame(w.EndOfTurn())), by_frames


PASSING = encode_frame(w.Passing(1, False, bytes(28) + b"\0\6client" + encode(p.Publish("a/b", b"x"), V3)))
FRAMES: dict[str, Reader] = {
    "messages": carried(lambda: MESSAGE),
    "contents": carried(lambda: w.Message(w.Form.WOVEN, 1, 2, 3, 4, 1, bytes(bytearray(CONTENT)))),
    "interest": framed(lambda count: w.Interest(1, (w.Held("a", 1, True),) * count, ("b",) * count)),
    "join": framed(lambda n: w.Join("b", 1, 2, "", ("",), 0, (w.Held("a", 1, True),) * n, (OWNED,) * n, (1,))),
    "owned": framed(lambda n: w.SessionOwned(w.Owned("client", 5, 5, (w.Subscribed("a/#", 1, 7),) * n))),
    "filters": framed(lambda n: w.Filters(5, (w.Listed("a/#", (w.Holder(1, 2, 3),) * 2),) * n, ("b",), True)),
    "moved": framed(lambda count: w.SessionMoved("client", 1, 0, True, (b"record",) * count, ((1, 2, 3),) * count)),
    "routed": framed(lambda n: w.Routed(1, 5, 2, 9, 0, encode_body(w.SessionTaken("client" * n, 4)))),
    "retained": framed(lambda count: w.RetainedSync((1, 2), ((2, 3, 4, CONTENT),) * count, True)),
    "acked": framed(lambda count: w.Acked(((1, 3),) * count, (w.Trouble(2, (1,), True, False),) * count)),
    "many": ((lambda count: encode_frame(w.Grafted(1, True)) * count + encode_frame(w.EndOfTurn())), by_frames),
    "refusals": ((lambda count: encode_frame(w.Refused("no")) * count), by_frames),
    "turns": ((lambda count: (encode_frame(w.InPlace(1)) + encode_frame(w.EndOfTurn())) * count), by_frames),
    "passing": ((lambda count: PASSING * count), by_frames),
}


def by_node(pieces: list[bytes]) -> None:
    reader, node = FrameReader(), member()
    for piece in pieces:
        frames = reader.feed(piece)
        if frames:
            node.handle(n.Heard(2, tuple(frames)), NOW)


def shared(count: int) -> bytes:
    """Messages that have one content, as long as all of them, which nobody here wants."""
    data = content.encode(content.Content(b"elsewhere", b"", 1, properties=many(16 * count)))
    return encode_frame(w.Carry(tuple(w.Message(w.Form.WOVEN, 1, 2, 3, 4 + one, 1, data) for one in range(count))))


NODE: dict[str, Reader] = {"contents": (shared, by_node)}
CONTENTS: dict[str, Reader] = {
    "properties": (
        lambda count: content.encode(content.Content(b"a", b"payload", properties=many(count))),
        lambda pieces: content.decode(pieces[0]),
    ),
    "payload": (
        lambda count: content.encode(content.Content(b"a", bytes(64 * count))),
        lambda pieces: content.decode(pieces[0]),
    ),
    "run": (
        lambda n: content.encode_run(content.Run(encode(p.Publish("a/b", b"x"), V3) * n, n, b"a/b", "client"), NOW),
        lambda pieces: content.decode_run(pieces[0]),
    ),
}


# HTTP and WebSockets


def by_http(pieces: list[bytes]) -> None:
    reader = RequestReader(1 << 26)
    for piece in pieces:
        try:
            reader.feed(piece)
        except HttpError:
            return


HTTP: dict[str, Reader] = {
    "head": (lambda count: b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * count + b"\r\n", by_http),
    "endless": (lambda count: b"x" * count, by_http),
    "body": (lambda n: b"POST / HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % (16 * n) + bytes(16 * n), by_http),
    "length": (lambda n: b"POST / HTTP/1.1\r\nContent-Length: " + b"9" * n + b"\r\n\r\n", by_http),
}
UPGRADE = (
    b"GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
    b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Protocol: mqtt\r\n\r\n"
)


class Nobody:
    """A driver and a transport that take everything."""

    def __getattr__(self, name: str) -> Callable[..., int]:
        return lambda *_: 0


def by_websocket(pieces: list[bytes]) -> None:
    async def main() -> None:
        client = WebSocketClient(Nobody(), 1 << 26, Pages())  # type: ignore[arg-type]
        client.transport = Nobody()  # type: ignore[assignment]
        for piece in (UPGRADE, *pieces):
            client.data_received(piece)
            while client.is_behind:
                await asyncio.sleep(0)

    asyncio.run(main())


def masked(opcode: Opcode, data: bytes, is_last: bool = True) -> bytes:
    return Frame(opcode, data, is_last).serialize(mask=True)


WEBSOCKET: dict[str, Reader] = {
    "frames": (lambda count: masked(Opcode.BINARY, b"ab") * count, by_websocket),
    "frame": (lambda count: masked(Opcode.BINARY, bytes(64 * count)), by_websocket),
    "fragments": (
        lambda n: masked(Opcode.BINARY, b"a", False) + masked(Opcode.CONT, b"b", False) * n + masked(Opcode.CONT, b""),
        by_websocket,
    ),
    "pings": (lambda count: masked(Opcode.PING, b"ab") * count, by_websocket),
}


# Disk

SALT = b"\1\2\3\4"
SEGMENT = journal.header_bytes(journal.Header(journal.Kind.SEGMENT, SALT, 0))
SUBSCRIBED = r.encode(r.Subscribed("client", "a/#", 1, 7))
OPENED = r.encode(r.SessionOpened("client", 5, 100, 0))


def by_journal(pieces: list[bytes]) -> None:
    reader = journal.Reader()
    for piece in pieces:
        reader.feed(piece)
    reader.damage()


def torn(count: int) -> bytes:
    """A tail of what begins like frames, each of which says that it goes on to the end of all."""
    head = journal.frame_bytes(SALT, 0, 60, [])
    size = count * len(head)
    heads = [head[:8] + (size - at).to_bytes(4, "little") + head[12:] for at in range(0, size, len(head))]
    return SEGMENT + b"".join(heads) + bytes(len(head))


JOURNAL: dict[str, Reader] = {
    "frames": (lambda n: SEGMENT + b"".join(journal.frame_bytes(SALT, i, 0, [OPENED]) for i in range(n)), by_journal),
    "records": (lambda n: SEGMENT + journal.frame_bytes(SALT, 0, 0, [SUBSCRIBED] * n), by_journal),
    "torn": (torn, by_journal),
    "salts": (lambda count: SEGMENT + SALT * count, by_journal),
}


def replayed(pieces: list[bytes]) -> None:
    recovery = Recovery(1)
    recovery.replay([OPENED])
    recovery.replay(pieces)


def publication(count: int) -> Publication:
    return Publication(b"a", b"", 1, False, many(count), None, "client", 1)  # type: ignore[arg-type]


RECORDS: dict[str, Reader] = {
    "receivers": (lambda n: r.encode(r.Queued(publication(0), (("client", 1, (1, 2), "g"),) * n)), replayed),
    "identifiers": (lambda n: r.encode(r.Queued(publication(0), (("client", 1, (1,) * n, "g"),))), replayed),
    "properties": (lambda count: r.encode(r.Retained(publication(count))), replayed),
    "will": (lambda n: r.encode(r.WillSet("client", p.Will("w", b"", properties=many(n)))), replayed),
    "had": (lambda n: own.encode(own.Had("client", tuple((1, 2, i) for i in range(n)))), replayed),
    "settled": (lambda n: own.encode(own.Settled(tuple((i, i + 9) for i in range(n)))), replayed),
    "given": (
        lambda n: own.encode(own.Given("client", 1, 2, (b"record",) * n, ((1, 2, 3),) * n, (), ("a",) * n)),
        replayed,
    ),
}


def database(count: int, journal: str) -> bytes:
    """Rows, each committed alone: the file, or its log."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "rows.sqlite"
        with closing(sqlite3.connect(path, isolation_level=None)) as made:
            made.execute(f"PRAGMA journal_mode = {journal}")
            made.execute("PRAGMA synchronous = OFF")
            made.execute("PRAGMA wal_autocheckpoint = 0")
            made.execute("CREATE TABLE rows (number INTEGER PRIMARY KEY, value TEXT) WITHOUT ROWID")
            made.executemany("INSERT INTO rows VALUES (?, ?)", [(number, "value" * 9) for number in range(count)])
            return Path(f"{path}-wal" if journal == "WAL" else path).read_bytes()


DATABASE: dict[str, Reader] = {
    "rows": (lambda n: database(n, "MEMORY"), lambda pieces: deque(rows(pages_of(pieces[0], read_log(b""))), 0)),
    "log": (lambda n: database(n, "WAL"), lambda pieces: read_log(pieces[0])),
}


# What proves who somebody is, and what operators write


def by_token(pieces: list[bytes]) -> None:
    KEY.verify(pieces[0], NOW)


def text_of(read: Callable[[str], object]) -> Read:
    def taken(pieces: list[bytes]) -> None:
        try:
            read(pieces[0].decode())
        except WeftError:
            return

    return taken


KEPT = "$scrypt$ln=14,r=8,p=5$AAAA$AAAA"
PROOFS: dict[str, Reader] = {
    "claims": (
        lambda n: jwt.encode({"sub": "a", "exp": NOW + 9, "x": list(range(n))}, SECRET, "HS256").encode(),
        by_token,
    ),
    "text": (lambda n: jwt.encode({"sub": "a", "exp": NOW + 9, "x": "x" * n}, SECRET, "HS256").encode(), by_token),
    "join": (lambda count: urlsafe_b64encode(bytes(48 * count)), text_of(read_token)),
    "invitation": (
        lambda count: json.dumps({"name": "a", "until": 1, "hosts": ["host"] * count}).encode(),
        lambda pieces: read_invitation(pieces[0]),
    ),
}
FILES: dict[str, Reader] = {
    "users": (lambda n: "".join(f"user{one}:{KEPT}\n" for one in range(n)).encode(), text_of(read_users)),
    "rights": (lambda count: b"topic read news/#\n" * count, text_of(read_rights)),
    "rights of users": (
        lambda n: "".join(f"user u{one}\ntopic a\n" for one in range(n)).encode(),
        text_of(read_rights),
    ),
    "levels": (lambda count: b"topic " + b"a/" * count + b"b", text_of(read_rights)),
    "patterns": (lambda count: b"pattern %u/" + b"a/" * count + b"b", text_of(read_rights)),
}
TOPICS: dict[str, Reader] = {
    "filter": (lambda count: b"a/+/" * count + b"b", text_of(is_filter)),
    "match": (lambda count: b"a/" * count + b"b", text_of(lambda name: matches("a/" * name.count("/") + "+", name))),
}

# By the module that reads: those of `wire` must all be here, or among those that read nothing.
READERS: dict[str, dict[str, Reader]] = {
    "wire.mqtt.parser": PACKETS,
    "broker.broker": BROKER,
    "broker.subscription": TARGETS,
    "wire.frame_codec": FRAMES,
    "wire.content": CONTENTS,
    "node.node": NODE,
    "wire.http": HTTP,
    "live.websocket": WEBSOCKET,
    "wire.journal": JOURNAL,
    "wire.sqlite": DATABASE,
    "broker.record": RECORDS,
    "access.web_token": PROOFS,
    "access.rights": FILES,
    "wire.mqtt.topic": TOPICS,
}
BESIDE = {  # what is read by those
    *("wire.mqtt.field", "wire.mqtt.property", "wire.mqtt.reason", "wire.mqtt.packet", "wire.frame_field", "wire.turn"),
}
VALUES = {"wire.frame", "wire.lease", "wire.mqtt.writer", "wire.weight"}  # these read nothing
INCREMENTAL = {"wire.mqtt.parser", "broker.broker", "wire.frame_codec", "wire.http", "live.websocket", "wire.journal"}
EVERY = [(module, name) for module, readers in READERS.items() for name in readers]


def seconds(read: Read, pieces: list[bytes]) -> float:
    begun = time.process_time()
    read(pieces)
    return time.process_time() - begun


def in_pieces(data: bytes, size: int) -> list[bytes]:
    return [data[at : at + size] for at in range(0, len(data), size)]


def require_linear(make: Callable[[int], bytes], read: Read, size: int) -> None:
    """Read n and 8n; one good try is enough, for only what else the machine does makes it slower."""
    count = 16
    while len(data := make(count)) < MOST and seconds(read, in_pieces(data, size)) < LEAST:
        count *= 2
    few, much = in_pieces(make(count), size), in_pieces(make(TIMES * count), size)
    least = min(seconds(read, few) for _ in range(TRIES))
    took = []
    for _ in range(TRIES):
        took.append(seconds(read, much))
        if took[-1] <= ALLOWED * max(least, LEAST):
            return
    raise AssertionError(f"{count} took {least:.4f} s, and {TIMES} times as many {min(took):.4f} s")


@pytest.fixture(autouse=True)
def _without_collector() -> Iterable[None]:
    gc.disable()
    yield
    gc.enable()


@pytest.mark.parametrize(("module", "name"), EVERY)
def test_what_is_read_whole_takes_time_in_proportion(module: str, name: str) -> None:
    make, read = READERS[module][name]
    require_linear(make, read, 1 << 62)


@pytest.mark.parametrize(("module", "name"), [one for one in EVERY if one[0] in INCREMENTAL])
def test_what_comes_in_pieces_takes_time_in_proportion(module: str, name: str) -> None:
    make, read = READERS[module][name]
    require_linear(make, read, PIECE)


def test_records_are_replayed_in_proportion() -> None:
    require_linear(
        lambda count: b"".join(SUBSCRIBED for _ in range(count)),
        lambda pieces: BrokerRecovery().replay([OPENED, *pieces]),
        len(SUBSCRIBED),
    )


def test_every_reader_of_the_wire_is_tried() -> None:
    wire = Path(weft.__file__).parent / "wire"
    modules = {".".join(("wire", *path.relative_to(wire).with_suffix("").parts)) for path in wire.rglob("[a-z]*.py")}
    assert modules == {one for one in chain(READERS, BESIDE, VALUES) if one.startswith("wire.")}


def test_a_reader_that_copies_for_every_piece_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("test_linear_readers.TRIES", 1)

    def copying(pieces: list[bytes]) -> None:
        data: tuple[bytes, ...] = ()
        for piece in pieces:
            data = (*data, piece)

    with pytest.raises(AssertionError, match="took"):
        require_linear(bytes, copying, PIECE)


def test_what_is_not_complete_takes_no_more_memory_than_its_bytes() -> None:
    """Bytes that come one at a time are not kept one at a time."""
    raw, broker = encode(p.Connect("client", V5, will=p.Will("w", bytes(50_000))), V5), Broker(QUIET, NOW)
    broker.handle(e.Opened(1), NOW)
    tracemalloc.start()
    try:
        for at in range(len(raw) - 1):
            broker.handle(e.Received(1, raw[at : at + 1]), NOW)
        assert tracemalloc.get_traced_memory()[0] < 4 * len(raw)
    finally:
        tracemalloc.stop()
