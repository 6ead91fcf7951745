"""What clients can make a node and the master remember: every row of the tables of docs/security.md, filled.

Each test has its row's name, makes limits small, goes far beyond them, and weighs what that has left.
"""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from master_world import MasterWorld
from weft.access.guard import Access, Guard
from weft.access.rights import read_rights
from weft.broker import effect as e
from weft.broker import replica, sessions, subscriptions
from weft.broker.parameters import Parameters
from weft.master import belief, bulletin, operating, traffic
from weft.node import entry, issuing
from weft.node import seen as seen_memory
from weft.wire import frame as w
from weft.wire.frame import Measured
from weft.wire.mqtt import packet as p
from weft.wire.mqtt.property import Property
from weft.wire.mqtt.reason import Reason
from weft.wire.mqtt.writer import encode
from weft.wire.weight import AT_MASTER, AT_NODE, EACH, OF_SESSION, weight_of_all
from weighing import DAY, V5, Heap, Network, Place

PAGE = (Path(__file__).parents[1] / "docs" / "security.md").read_text()
LONG = "x" * 60_000
KIB, MIB = 1024, 1024 * 1024
SLACK = 6 * KIB  # of the objects of a connection and a session
EXPIRY = {Property.MESSAGE_EXPIRY_INTERVAL: DAY}
KEPT = {Property.SESSION_EXPIRY_INTERVAL: DAY}

CHECKS: dict[str, Callable[[pytest.MonkeyPatch], None]] = {}


def row(name: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    def note(check: Callable[..., None]) -> Callable[..., None]:
        CHECKS[name] = check
        return check

    return note


def rows() -> list[list[str]]:
    part = PAGE[
        PAGE.index("What clients can make a node remember") : PAGE.index("Of clients that are gone nothing else stays")
    ]
    found = [[cell.strip() for cell in line[1:-1].split("|")] for line in re.findall(r"^\|.*\|$", part, re.MULTILINE)]
    return [cells for cells in found if cells[0] != "what" and not cells[0].startswith("---")]


def test_every_row_of_the_tables_has_its_check_with_a_bound_and_an_end() -> None:
    assert [cells[0] for cells in rows()] == list(CHECKS)
    assert all(cells[2] and cells[3] for cells in rows())


def test_the_tables_have_the_numbers_of_the_code() -> None:
    told = {name.replace("-", "_"): default for name, default in re.findall(r"`([a-z-]+)` \(([\d,]+)\)", PAGE)}
    for name in ("subscriptions", "queue_messages", "inflight", "receive_maximum", "sessions", "user_sessions"):
        assert told[name] == f"{getattr(Parameters(), name):,}"
    for name in ("retained_messages", "cached_names", "topic_aliases"):
        assert told[name] == f"{getattr(Parameters(), name):,}"
    by_name = {cells[0]: cells for cells in rows()}
    assert by_name["cleared topics"][1] == f"{replica.TOMBSTONES:,}"
    assert by_name["cleared topics"][2].startswith(f"{replica.TOMBSTONES_BYTES // MIB} MiB")
    assert by_name["ways at a node"][2].startswith(f"{entry.MEAN} ")
    assert by_name["names for the next report"][1].startswith(f"{issuing.COUNTED:,}")
    assert f"{bulletin.WAYS:,} a node" in by_name["ways at the master"][1]
    assert by_name["ways at the master"][2].startswith(f"{bulletin.WAYS_BYTES // MIB} MiB")
    assert by_name["rates at the master"][1].startswith(f"{traffic.NAMES:,}")
    assert f"at most {seen_memory.MOST:,}" in by_name["publications that may come again"][1]
    assert f"{OF_SESSION // MIB} MiB in all" in by_name["filters"][2]
    assert by_name["filters and sessions of a node"][2].startswith(f"{AT_NODE // MIB} MiB, {EACH} beside")
    assert by_name["filters and sessions at the master"][2].startswith(f"{AT_MASTER // MIB} MiB a node")
    assert by_name["snapshots at the master"][1].startswith(f"{operating.SNAPSHOTS}")


@pytest.mark.parametrize("name", [cells[0] for cells in rows()])
def test_it_is_bounded(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    CHECKS[name](monkeypatch)


def publish(place: Place, number: int, names: int, **more: object) -> None:
    """Say something on so many names."""
    for at in range(names):
        place.say(number, p.Publish(f"t/{at}", **{"payload": b"x" * KIB, **more}))  # type: ignore[arg-type]


def away(place: Place, client: str, *filters: str, **more: object) -> None:
    """A session that is kept without its client."""
    number = place.connect(client, properties=KEPT, **more)
    place.say(number, p.Subscribe(1, tuple(p.Request(one, 2) for one in filters or ("#",))))
    place.vanish(number)


# A connection


@row("before CONNECT")
def before_connect(_: pytest.MonkeyPatch) -> None:
    place = Place()
    silent, one, other = place.open(), place.open(), place.open()
    head = b"\x10\x80\x80\x1e"  # of 491,520 bytes
    assert place.grown(lambda: place.tell(e.Received(one, head + b"x" * 400_000))) < 512 * KIB
    assert place.grown(lambda: place.tell(e.Received(other, b"\x10\x80\x80\x26" + b"x" * 600_000))) < SLACK
    assert [place.is_open(number) for number in (silent, one, other)] == [True, True, False]
    assert place.grown(lambda: place.wait(10.0)) < -400_000
    assert not place.is_open(silent)
    assert not place.is_open(one)


@row("a packet that is not complete")
def incomplete(_: pytest.MonkeyPatch) -> None:
    place = Place(packet_bytes=100_000)
    one, other = place.connect("one"), place.connect("other")

    def send() -> None:
        place.tell(e.Received(one, b"\x30\xb8\x85\x06"))  # of 99,000 bytes
        for _ in range(90):
            place.tell(e.Received(one, bytes(1000)))

    assert 90_000 < place.grown(send) < 100_000 + SLACK
    assert place.grown(lambda: place.tell(e.Received(other, b"\x30\xc0\x84\x3d" + bytes(200_000)))) < SLACK
    assert not place.is_open(other)
    assert place.grown(lambda: place.wait(1.5 * 65_535 + 1)) < -80_000
    assert not place.is_open(one)


@row("what is not read")
def not_read(_: pytest.MonkeyPatch) -> None:
    place = Place()
    reader, writer = place.connect("reader"), place.connect("writer")
    place.say(reader, p.Subscribe(1, (p.Request("#"),)))
    place.tell(e.Congested(reader))
    place.wait(1.0)
    assert place.grown(lambda: publish(place, writer, 100)) < 50 * 3 * KIB  # names, the 50 that are remembered
    assert place.sent == []
    assert place.broker.figures.dropped == 100


@row("topic aliases")
def aliases(_: pytest.MonkeyPatch) -> None:
    place = Place(topic_aliases=3)
    one, other = place.connect("one"), place.connect("two", properties={Property.TOPIC_ALIAS_MAXIMUM: 65_535})
    place.say(other, p.Subscribe(1, (p.Request("#"),)))

    def use() -> None:
        for at in range(12):
            place.say(one, p.Publish(f"{at}{LONG}", b"", properties={Property.TOPIC_ALIAS: 1 + at % 3}))

    assert place.grown(use) < 2 * 3 * 64 * KIB + SLACK
    place.say(one, p.Publish("t", b"", properties={Property.TOPIC_ALIAS: 4}))
    assert not place.is_open(one)
    assert place.grown(lambda: place.vanish(other)) < -2 * 64 * KIB


@row("names that a client may publish on")
def allowed(_: pytest.MonkeyPatch) -> None:
    place = Place(Guard(Access(rights=read_rights("topic readwrite #"))))
    one = place.connect("one")

    def use() -> None:
        for at in range(2500):
            place.say(one, p.Publish(f"t/{at:0>250}", b""))
        place.say(one, *(p.Publish(f"{at}{LONG}", b"") for at in range(5)))

    assert place.grown(use) < 1000 * (256 + 150) + 50 * 3 * KIB
    assert len(place.broker._connections[one].allowed or ()) <= 1000
    assert place.grown(lambda: place.vanish(one)) < -100 * KIB


# A session


@row("filters")
def filters(_: pytest.MonkeyPatch) -> None:
    place = Place(subscriptions=5)
    one = place.connect("one", properties=KEPT)
    answers: list[bytes] = []

    def ask() -> None:
        for at in range(30):
            place.say(one, p.Subscribe(1, (p.Request(f"{LONG}/{at}", 1),)))
            answers.extend(place.sent)

    assert place.grown(ask) < 5 * (4 * 64 * KIB) + SLACK
    assert place.broker.figures.subscriptions == 5
    assert [answer[-1] for answer in answers] == [1] * 5 + [Reason.QUOTA_EXCEEDED] * 25
    place.say(one, p.Disconnect(properties={Property.SESSION_EXPIRY_INTERVAL: 0}))
    assert Heap(place.broker).bytes < 128 * KIB
    place = Place()
    one = place.connect("one", properties=KEPT)
    answers.clear()
    for at in range(80):
        place.say(one, p.Subscribe(1, (p.Request(f"{LONG}/{at:02}", 1),)))
        answers.extend(place.sent)
    assert [answer[-1] for answer in answers] == [1] * 69 + [Reason.QUOTA_EXCEEDED] * 11, "4 MiB of them"
    place.say(one, p.Unsubscribe(2, (f"{LONG}/00", f"{LONG}/01")), p.Subscribe(3, (p.Request(f"{LONG}/80"),)))
    assert place.sent[-1][-1] == 0


@row("waiting")
def waiting(_: pytest.MonkeyPatch) -> None:
    place = Place(queue_bytes=100 * KIB)
    will = p.Will("w", bytes(40 * KIB), properties={Property.WILL_DELAY_INTERVAL: DAY})
    writer = place.connect("writer")

    def fill() -> None:
        away(place, "away", will=will)
        publish(place, writer, 200, qos=1, packet_id=1, properties={Property.USER_PROPERTY: (("n", LONG[:1000]),)})

    assert 50 * KIB < place.grown(fill) < 130 * KIB + 50 * 3 * KIB
    assert place.broker.figures.waiting == 30, "of 2 KiB each, in the 60 KiB beside the will"
    place = Place(queue_messages=10)
    away(place, "away")
    publish(place, place.connect("writer"), 200, qos=1, packet_id=1)
    assert place.broker.figures.waiting == 10
    place.wait(DAY + 1)
    assert place.broker.figures.waiting == 0


@row("sent")
def sent(_: pytest.MonkeyPatch) -> None:
    place = Place(inflight=5, queue_messages=1)
    writer = place.connect("writer")
    for name in ("one", "two", "three"):
        place.say(place.connect(name), p.Subscribe(1, (p.Request("#", 1),)))
    big = 64 * KIB
    grown = place.grown(lambda: publish(place, writer, 50, qos=1, packet_id=1, payload=bytearray(big) + b"!"))
    assert 5 * big < grown < (5 + 1 + 1) * big + 50 * 3 * KIB + SLACK, "once for all three"


@row("not released")
def not_released(_: pytest.MonkeyPatch) -> None:
    place = Place(receive_maximum=500)
    one = place.connect("one", properties=KEPT)

    def say(first: int, last: int) -> None:
        for at in range(first, last):
            place.say(one, p.Publish("t", b"x" * KIB, 2, packet_id=at))

    assert place.grown(lambda: say(1, 501)) < 500 * 300 + SLACK
    assert place.is_open(one)
    say(501, 502)
    assert not place.is_open(one)
    assert place.grown(lambda: place.wait(DAY + 1)) < -500 * 50


@row("kept sessions")
def kept_sessions(_: pytest.MonkeyPatch) -> None:
    place = Place(sessions=20)

    def come() -> None:
        for at in range(400):
            away(place, f"c{at}", f"t/{at}", will=p.Will("w", b"", properties={Property.WILL_DELAY_INTERVAL: DAY}))

    assert place.grown(come) < 20 * 5 * KIB + SLACK
    assert place.broker.figures.sessions == 20
    assert place.grown(come) < 2 * SLACK, "the same come again"
    place.wait(DAY + 1)
    assert place.broker.figures.sessions == 0
    assert Heap(place.broker).bytes < 64 * KIB


# A node


@row("retained messages")
def retained(_: pytest.MonkeyPatch) -> None:
    place = Place(retained_messages=20)
    writer = place.connect("writer")
    grown = place.grown(lambda: publish(place, writer, 500, retain=True, properties=EXPIRY))
    assert grown < 20 * 4 * KIB + 50 * 3 * KIB + SLACK
    assert (
        place.grown(lambda: [publish(place, writer, 20, retain=True, properties=EXPIRY) for _ in range(50)]) < 2 * SLACK
    )
    assert place.broker.figures.retained == 20
    place.wait(DAY + 1)
    assert place.broker.figures.retained == 0


@row("remembered names")
def remembered(_: pytest.MonkeyPatch) -> None:
    place = Place()
    one = place.connect("one")

    def use() -> None:
        for at in range(1000):
            place.say(one, p.Publish(f"{at:0>900}{16 * '/x'}", b""), p.Publish(f"{at}{15 * '/x'}", b""))
        for at in range(5):
            place.say(one, p.Publish(f"{at}{LONG}", b""))

    assert place.grown(use) < 50 * 9 * KIB + SLACK
    place = Place(cached_names=10_000)
    one = place.connect("one")

    def forget(turns: int) -> None:
        """A hurried broker, which does no more than it must of what nobody waits for."""
        for _ in range(turns):
            said = (p.Publish(f"{next(place.numbers)}/a/b/c/d", b"") for _ in range(100))
            data = b"".join(encode(each, V5) for each in said)
            place.broker.handle(e.Received(one, data), place.now)
            place.broker._subscriptions.routes._forget_all()

    forget(20)
    assert place.grown(lambda: forget(200)) < 2 * 100 * 9 * KIB


@row("deadlines")
def deadlines(_: pytest.MonkeyPatch) -> None:
    place = Place(packet_bytes=2 * MIB)
    heap = place.broker._deadlines._heap
    plain = {"KeyedHeap", "list", "dict", "tuple", "int", "float", "str", "count", "NoneType"}
    writer = place.connect("writer")
    for at in range(1000):
        place.say(writer, p.Publish("one", b"%d" % at * 1000, retain=True, properties=EXPIRY))
        place.vanish(place.connect(f"c{at % 5}", clean=False, properties=KEPT, will=p.Will("w", b"x" * KIB)))
        place.vanish(place.open())
    assert len(heap) <= 1 + 5 + 1 + 1, "of the message, of sessions, of silence, of who has not said CONNECT"
    for at in range(1000):
        away(place, f"d{at}", will=p.Will("w", b"x" * KIB, properties={Property.WILL_DELAY_INTERVAL: DAY}))
    assert len(heap) <= 2000 + 8
    assert Heap(heap).bytes < 2 * len(heap) * 250
    assert set(Heap(heap).counts) <= plain


# A node of a network


@row("cleared topics")
def cleared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replica, "TOMBSTONES", 40)
    monkeypatch.setattr(replica, "TOMBSTONES_BYTES", 100 * KIB)
    place = Place(linked=True)
    one = place.connect("one")
    assert place.grown(lambda: publish(place, one, 1000, retain=True, payload=b"")) < 40 * 2 * KIB + 50 * 4 * KIB

    def use() -> None:
        for at in range(10):
            place.say(one, p.Publish(f"{at}{LONG}", b"", retain=True))

    assert place.grown(use) < 3 * 100 * KIB + SLACK  # the name as text and as bytes
    known = place.broker.replica
    assert known is not None
    known.bury(place.now + replica.TOMBSTONE + 1)
    assert not known._known


def said(network: Network, names: int, qos: int = 0) -> None:
    """Publications of a client of node 1 on names that nobody has used."""
    client = network.cluster.client(f"writer {qos}", 1)
    for at in range(names):
        client.publish(f"said {qos}/{at}", b"x", qos)
        if at % 20 == 0:
            network.cluster.wait(0.05)
    network.cluster.wait(1.0)


@row("filters and sessions of a node")
def declared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever clients do, the master is told of no more than it takes."""
    monkeypatch.setattr(subscriptions, "AT_NODE", 100 * KIB)
    monkeypatch.setattr(sessions, "FOR_CLIENTS", 20 * KIB)
    place = Place(linked=True)
    held = place.broker._subscriptions

    def weight() -> int:
        kept = [one for session in place.broker._sessions for one in session.subscriptions if session.persistent]
        return weight_of_all([*held.held, *kept, *(session.client for session in place.broker._sessions)])

    refused = full = 0
    for at in range(500):
        number = place.connect(f"c{at:04}" + "x" * 200, properties=KEPT if at % 2 else {})
        place.say(number, p.Subscribe(1, (p.Request(f"t/{at}/" + "x" * 200, 1), p.Request("all", 1))))
        refused += not place.is_open(number)
        assert held.weight == weight() <= 120 * KIB
        is_refused = bool(place.sent) and place.sent[-1][-2] == Reason.QUOTA_EXCEEDED
        full = full or is_refused * held.weight
        if at % 3 == 0:
            place.vanish(number)
    assert 200 < refused < 400
    assert 98 * KIB < full < 102 * KIB, "filters are refused before clients are"
    for at in range(500):
        number = place.connect(f"c{at:04}" + "x" * 200)
        place.say(number, p.Disconnect())
    for number in list(place.broker._connections):
        place.vanish(number)
    place.wait(DAY + 1)
    assert held.weight == 0


@row("ways at a node")
def ways_at_a_node(_: pytest.MonkeyPatch) -> None:
    network = Network()
    said(network, 1000)
    node = network.cluster.nodes[1].node
    assert node is not None
    entries = node.parts.issuing._entries
    assert len(entries._entries) < 50 + 21
    assert entries._size == sum(map(len, entries._entries))


@row("publications that may come again")
def seen(_: pytest.MonkeyPatch) -> None:
    network = Network()
    node = network.cluster.nodes[0].node
    assert node is not None
    network.stays.got.clear()
    for qos in (0, 1, 2):
        client = network.cluster.client(f"c{qos}", 1)
        for at in range(300):
            client.publish(f"wanted/{at}", b"x", qos)
    network.cluster.wait(1.0)
    assert len(network.stays.got) == 900
    assert Heap(node.parts.seen).bytes < 900 * 200 + SLACK
    network.cluster.wait(60.0)
    client.publish("wanted/last", b"", 1)
    network.cluster.wait(100.0)
    assert Heap(node.parts.seen).bytes < SLACK


@row("names for the next report")
def reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(issuing, "COUNTED", 30)
    network = Network()
    node = network.cluster.nodes[1].node
    assert node is not None
    for at in range(200):
        node.parts.issuing.count(b"%d" % at, 1, 10)
        node.parts.issuing.count(b"%d" % at + LONG.encode(), 1, 10)
    assert len(node.parts.issuing.rates) == 30
    network.cluster.wait(1.1)
    assert node.parts.issuing.rates == {}


# The master


@row("ways at the master")
def ways_at_the_master(monkeypatch: pytest.MonkeyPatch) -> None:
    network = Network()
    master = network.cluster.direction.master
    assert master is not None
    said(network, 1000)
    asked = master._bulletin._asked
    assert sum(len(one.ways) for one in asked.values()) < 50 + 21
    monkeypatch.setattr(bulletin, "WAYS", 100)
    for at in range(300):  # by a node that does not keep to it
        master._bulletin.find_way(7, f"name {at}")
    assert len(asked[7].ways) == 100
    monkeypatch.setattr(bulletin, "WAYS_BYTES", 3 * len(LONG))
    for at in range(9):
        master._bulletin.find_way(8, f"{at}{LONG}"[: len(LONG)])
    assert len(asked[8].ways) == 3
    master._bulletin.forget_all_ways(8)
    assert 8 not in asked


@row("filters and sessions at the master")
def filters_at_the_master(monkeypatch: pytest.MonkeyPatch) -> None:
    sessions_at_the_master()
    stated_to_the_master(monkeypatch)
    network = Network()
    master = network.cluster.direction.master
    assert master is not None
    parts = (master.network.directory, master.network.loom, master._bulletin)

    def hold(turn: int) -> None:
        client = network.cluster.client(f"reader {turn}", 1)
        for at in range(100):
            client.subscribe(f"{turn}/{at}/#", 1)
            client.subscribe(f"$share/{turn}/{at}", 1)
        network.cluster.wait(0.5)
        client.disconnect()
        network.cluster.wait(0.5)

    hold(0)
    before = Heap(*parts)
    hold(1)
    after = Heap(*parts)
    assert after.bytes - before.bytes < SLACK, after.more_than(before)


def sessions_at_the_master() -> None:
    network = Network()
    master = network.cluster.direction.master
    assert master is not None
    before, store = dict(master.network.directory.sessions), len(network.cluster.direction._store)
    for at in range(60):
        client = network.cluster.client(f"c{at}", at % 2, version=V5, expiry=5 if at % 3 else 0)
        client.subscribe(f"t/{at}")
        network.cluster.wait(0.01)
        client.drop()
    assert len(master.network.directory.sessions) <= len(before) + 60
    network.cluster.wait(10.0)
    assert master.network.directory.sessions == before
    assert len(network.cluster.direction._store) == store


def stated_to_the_master(monkeypatch: pytest.MonkeyPatch) -> None:
    """A node that states more than any has is parted with, in whatever words it does, and all of it is forgotten."""
    monkeypatch.setattr(belief, "AT_MASTER", 50 * KIB)
    long = "x" * 900
    said = {
        "filters": lambda at: w.Interest(at + 1, (w.Held(f"{at}/{long}", 1, True),)),
        "claims": lambda at: w.FindSession(f"{at}/{long}", 1),
        "sessions": lambda at: w.SessionOwned(w.Owned(f"{at}/{long}", 5, 4)),
        "of one": lambda at: w.SessionOwned(w.Owned("c", 5, 4, (w.Subscribed(f"{at}/{long}", 1),)), whole=False),
    }
    for frame in said.values():
        world = MasterWorld()
        nodes = [world.join(f"n{at}") for at in range(3)]
        before = Heap(world.master.network.directory).bytes
        for at in range(40):
            world.say(nodes[2], frame(at))
            world.say(nodes[2], frame(at))
        assert not nodes[2].refused
        assert world.master.network.directory.weight(nodes[2].number) < 50 * KIB
        for at in range(40, 80):
            if not nodes[2].refused:
                world.say(nodes[2], frame(at))
        assert nodes[2].refused.startswith("It states more of its clients")
        assert Heap(world.master.network.directory).bytes < before + 55 * 4 * KIB
        world.run(10.0)
        world.ask("leave", node="n2", forget=True)
        assert world.master.network.directory.weight(nodes[2].number) == 0
        assert Heap(world.master.network.directory).bytes < before + SLACK
    world = MasterWorld()
    world.join("n0")
    evil = world.connect("evil")
    stated = {"held": tuple(w.Held(f"{at}/{long}", 1, True) for at in range(30)), "owned": ()}
    stated["owned"] = tuple(w.Owned(f"{at}/{long}", 5, 4) for at in range(30))
    world.say(evil, w.Join("evil", 1, w.NOBODY, "evil:7000", (), 0, **stated))
    assert evil.refused.startswith("It states more of its clients")
    assert [member.name for member in world.master.network.roster] == ["n0"]


@row("snapshots at the master")
def snapshots(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader can ask for any number of them."""
    monkeypatch.setattr(operating, "SNAPSHOTS", 5)
    world = MasterWorld()
    nodes = [world.join(f"n{at}") for at in range(3)]
    for at in range(20):
        world.subscribe(nodes[0], f"t/{at}")
        world.ask("snapshot")
        world.ask("snapshot")
    kept = [key for kind, key in world.store if kind == "snapshot"]
    assert len(kept) == len(world.master._operating.snapshots) == 5
    assert list(world.master._operating.snapshots) == kept


@row("rates at the master")
def rates(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(traffic, "NAMES", 100)
    one = traffic.Traffic()
    for second in range(20):
        said = tuple((f"{second}/{at}", at, 10) for at in range(1, 200))
        one.measure(1, Measured((*said, (LONG, 1000, 10)), (), ()), float(second))
    assert len(one.rates[1]) == len(one.publishers) == 100
    assert LONG not in one.publishers
    assert all(int(name.partition("/")[2]) > 100 for name in one.publishers), "those that are published on most"
    for second in range(20, 260):
        one.measure(1, Measured((), (), ()), float(second))
    assert one.publishers == {}
    assert one.rates[1] == {}


def test_a_packet_is_counted_in_the_bytes_that_it_takes() -> None:
    """Heaps are weighed right: what is known to be there is found."""
    data = encode(p.Publish("t", bytes(10_000)), V5)
    assert 10_000 < Heap([data]).bytes < 10_300
