"""The fast lane of a network leads to what the long way leads to, whatever comes before and between."""

import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.broker import effect as e
from weft.broker.broker import Broker
from weft.broker.parameters import Parameters
from weft.node import effect as n
from weft.node.identity import Identity
from weft.node.node import Node
from weft.node.recovery import Recovery
from weft.wire import content
from weft.wire import frame as w
from weft.wire.frame import topic_of
from weft.wire.frame_codec import PLACE, message_of
from weft.wire.mqtt import packet as p
from weft.wire.mqtt.field import binary, varint
from weft.wire.mqtt.parser import Parser
from weft.wire.mqtt.property import Property
from weft.wire.mqtt.writer import encode

NAMES = ["t/1", "t/2", "t/3"]
FILTERS = [*NAMES, "t/#"]
PEERS = (2, 3, 4)
CLIENTS = {1: p.Version.V311, 2: p.Version.V5, 3: p.Version.V311}  # by connection


class Twin:
    """A node that may use its lane or not, and what comes of it: bytes to clients, messages to peers."""

    def __init__(self, lane):
        self.node = Node(Identity("n1", "weft", 77, node=1), Parameters(sys_interval=0, linked=True), 0.0)
        self.came = []
        self.by_lane = 0
        self._pass_on, self._publish = self.node.parts.lane.pass_on, self.node.parts.lane.publish
        self.node.parts.lane.pass_on = self._counted(self._pass_on) if lane else lambda *_: None
        self.node.parts.lane.publish = self._counted(self._publish) if lane else lambda *_: None
        self._take(self.node.restore(Recovery(77), 0.0))

    def _counted(self, way):
        def counted(*arguments):
            effects = way(*arguments)
            self.by_lane += effects is not None
            return effects

        return counted

    def handle(self, event, now):
        self._take(self.node.handle(event, now))

    def look_up(self):
        """Know the receivers of all names: the lane learns them sooner than the long way, and from then on it differs
        in which publications are runs."""
        for name in NAMES:
            self.node.broker.audience(name.encode())

    def turn(self, now):
        if (due := self.node.next_deadline()) is not None and due <= now:
            self._take(self.node.on_timer(now))

    def _take(self, effects):
        self.came += [one for effect in effects for one in _shown(effect)]

    def figures(self):
        return self.node.traffic.counters(), self.node.figures


def _to(came):
    """Receiver of something; the order of what goes to different ones is free."""
    return came[:2]


def _shown(effect):
    """An effect, however its frame is written."""
    if type(effect) is not n.Tell or not isinstance(effect.frame, w.Carry | w.Passing):
        return [(type(effect).__name__, getattr(effect, "connection", 0), repr(effect))]
    frame = effect.frame
    messages = frame.messages if isinstance(frame, w.Carry) else (message_of(frame),)
    return [("message", effect.peer, replace(one, content=b""), _said(one.content)) for one in messages]


def _said(data):
    return content.decode_run(data) if content.is_run(data) else content.decode(data)


class Life:
    """What happens to both of two nodes, drawn from a seed."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.now = 0.0
        self.twins = Twin(lane=True), Twin(lane=False)
        self.up = set()
        self.passed = []
        self.counts = {}
        self.is_confirmed = True
        for connection, version in CLIENTS.items():
            self.tell(e.Opened(connection))
            self.tell(e.Received(connection, encode(p.Connect(f"c{connection}", version), version)))
        peers = tuple(w.Peer(one, f"n{one}", "", one * 10, True, True) for one in PEERS)
        self.tell(n.Linked(n.MASTER))
        listed = w.Filters(1, (w.Listed("t/#"),), whole=True)
        self.tell(n.Heard(n.MASTER, (w.Welcome(1, 5, 64, "weft"), listed, w.Peers(1, 5, 64, peers))))
        self.tell(n.Heard(n.MASTER, tuple(w.SessionAt(token, token) for token, _ in enumerate(CLIENTS, 1))))
        self.assign()
        for one in PEERS:
            self.link(one)
        self.confirm()
        self.subscribe()

    def tell(self, event):
        is_late = self.random.random() < 0.4  # this process stood still, and timers come after what was read
        for twin in self.twins:
            if not is_late:
                twin.turn(self.now)
            twin.look_up()
            twin.handle(event, self.now)
        one, other = self.twins
        assert sorted(one.came, key=_to) == sorted(other.came, key=_to)
        one.came, other.came = [], []

    def live(self, steps):
        deeds = [self.assign, self.subscribe, self.unsubscribe, self.unlink, self.congest, self.way, self.doubt]
        for _ in range(steps):
            self.now += self.random.choice((0.001, 0.001, 0.01, 0.7))
            if self.random.random() < 0.08:
                self.random.choice(deeds)()
            elif self.random.random() < 0.08:
                self.heal()
            if self.is_confirmed:
                self.confirm()
            self.random.choice((self.publish, self.message, self.message, self.message_again, self.nonsense))()
        assert self.twins[0].figures() == self.twins[1].figures()
        for twin in self.twins:
            twin.node.check_invariants()

    # What clients do

    def subscribe(self):
        pattern = self.random.choice((*FILTERS, f"new/{self.random.random()}"))
        self.ask(p.Subscribe(1, (p.Request(pattern, 0),)))

    def unsubscribe(self):
        self.ask(p.Unsubscribe(2, (self.random.choice(FILTERS),)))

    def ask(self, packet):
        connection = self.random.choice(list(CLIENTS))
        self.tell(e.Received(connection, encode(packet, CLIENTS[connection])))
        if self.random.random() < 0.5:  # until then what is sent behind the answer waits
            self.tell(n.Heard(n.MASTER, (w.InPlace(self.twins[0].node.parts.directory.sequence),)))

    def publish(self):
        connection = self.random.choice(list(CLIENTS))
        version, drawn = CLIENTS[connection], self.random.random()
        properties = {Property.CONTENT_TYPE: "text"} if version is p.Version.V5 and drawn < 0.2 else {}
        more = encode(p.Publish(self.random.choice(NAMES), b"more"), version)
        payload = self.payload() if drawn < 0.9 else more
        data = encode(p.Publish(self.random.choice(NAMES), payload, properties=properties), version)
        if drawn < 0.1:
            data += more
        cut = len(data) - len(more) if drawn > 0.9 else len(data)
        for piece in filter(None, (data[:cut], data[cut:])):
            self.tell(e.Received(connection, piece))

    def payload(self):
        return self.random.randbytes(self.random.choice((0, 1, 100, 200)))

    # What peers send

    def message(self):
        count = self.counts[5] = self.counts.get(5, 0) + 1
        origin = (5, 55, count)
        issued = self.twins[0].node.parts.issuer.count
        if self.random.random() < 0.1 and issued > 2:  # one of this node's own comes back
            origin = (1, 77, issued - self.random.randrange(3))
        name = self.random.choice(NAMES)
        place = PLACE.pack(topic_of(self.random.choice((name, name, "t/#"))), *origin)
        publisher = self.random.choice((b"c1", b"somebody"))
        said = len(publisher).to_bytes(2) + publisher + encode(p.Publish(name, self.payload()), p.Version.V311)
        self.passed.append(
            w.Passing(self.random.choice((1, 1, 2, 2, 3, 250)), self.random.random() < 0.3, place + said)
        )
        self.hear(self.passed[-1])

    def message_again(self):
        """The same once more, perhaps on the tree of another filter."""
        if self.passed:
            old = self.random.choice(self.passed[-5:])
            topic = topic_of(self.random.choice(FILTERS)).to_bytes(8)
            rest = old.rest if self.random.random() < 0.5 else topic + old.rest[8:]
            self.hear(w.Passing(old.hops, self.random.random() < 0.3, rest))

    def nonsense(self):
        if self.passed:
            rest = bytearray(self.random.choice(self.passed[-5:]).rest)
            rest[self.random.randrange(28, len(rest))] ^= 1 << self.random.randrange(8)
            count = self.counts[5] = self.counts.get(5, 0) + 1
            rest[20:28] = count.to_bytes(8)
            self.hear(w.Passing(1, False, bytes(rest[: self.random.randrange(20, len(rest) + 1)])))

    def hear(self, frame):
        if self.up:
            self.tell(n.Heard(self.random.choice(sorted(self.up)), (frame,)))
            self.up &= self.twins[0].node.atlas.up  # who says what cannot be read is heard no more

    # What the network does

    def assign(self):
        tables = [(topic_of(one), self.random.sample(PEERS, self.random.choice((1, 2, 3)))) for one in FILTERS]
        kept = self.random.sample(tables, 2)
        told = [w.Table(one, tuple(sorted(peers)), self.random.random() < 0.7) for one, peers in kept]
        self.tell(n.Heard(n.MASTER, (w.Tables(1, tuple(told), self.random.random() < 0.5),)))

    def way(self):
        ways = [tuple(self.random.sample(PEERS, self.random.choice((0, 1, 1, 1, 2)))) for _ in FILTERS]
        told = [w.Way(1, one, self.random.random() < 0.9, way) for one, way in zip(FILTERS, ways, strict=True)]
        self.tell(n.Heard(n.MASTER, tuple(told)))

    def link(self, peer=None):
        peer = peer or self.random.choice(PEERS)
        self.up.add(peer)
        self.tell(n.Linked(peer))

    def unlink(self):
        peer = self.random.choice(PEERS)
        self.up.discard(peer)
        self.tell(n.Unlinked(peer))

    def congest(self):
        made = self.random.choice(
            (n.LinkCongested(self.random.choice(PEERS)), e.Congested(self.random.choice((1, 2, 3))))
        )
        self.tell(made)

    def heal(self):
        for event in (*map(n.LinkDrained, PEERS), *map(e.Drained, CLIENTS)):
            self.tell(event)
        for peer in sorted(set(PEERS) - self.up):
            self.link(peer)
        self.tell(n.Heard(n.MASTER, (w.InPlace(self.twins[0].node.parts.directory.sequence),)))
        self.now += 2.0  # tables have settled
        self.is_confirmed = True

    def doubt(self):
        """The master does not answer."""
        self.is_confirmed = False

    def confirm(self):
        """The lease goes on."""
        token = self.twins[0].node.parts.reliance.lease._last
        self.tell(n.Heard(n.MASTER, (w.Confirmed(token),)))


@pytest.mark.parametrize("seed", range(8))
def test_the_lane_leads_to_what_the_long_way_leads_to(seed):
    life = Life(seed)
    life.live(900)
    assert life.twins[0].by_lane > 50


@pytest.mark.parametrize(("publisher", "is_text"), [(b"client", True), (b"cli\xffnt", False)])
def test_a_publisher_that_is_no_text_is_not_passed_on(publisher, is_text):
    """Else the link of this node with the next, which reads it, would end, and not that with who has spoilt it."""
    life = Life(1)
    life.heal()
    life.confirm()
    life.confirm()
    (twin, _), name = life.twins, NAMES[0]
    tables = w.Tables(1, (w.Table(topic_of(name), (2, 3), True),), False)
    twin.handle(n.Heard(n.MASTER, (tables, w.InPlace(twin.node.parts.directory.sequence))), life.now)
    said = len(publisher).to_bytes(2) + publisher + encode(p.Publish(name, b"x"), p.Version.V311)
    before = twin.by_lane
    twin.handle(n.Heard(2, (w.Passing(1, False, PLACE.pack(topic_of(name), 9, 9, 1) + said),)), life.now)
    assert twin.by_lane == before + is_text
    assert (2 in twin.node.atlas.up) == is_text


def test_the_lane_looks_up_receivers_that_are_not_known():
    life = Life(1)
    life.heal()
    life.confirm()
    life.confirm()
    (twin, _), name = life.twins, "never/heard"
    twin.handle(e.Received(1, encode(p.Subscribe(1, (p.Request(name, 0),)), p.Version.V311)), life.now)
    tables = w.Tables(1, (w.Table(topic_of(name), (2, 3), True),), False)
    place = w.InPlace(twin.node.parts.directory.sequence)
    twin.handle(n.Heard(n.MASTER, (tables, place)), life.now)
    before, twin.came = twin.by_lane, []
    packet = encode(p.Publish(name, b"x"), p.Version.V311)
    twin.handle(n.Heard(2, (w.Passing(1, False, PLACE.pack(topic_of(name), 9, 9, 1) + b"\0\0" + packet),)), life.now)
    assert twin.by_lane == before + 1
    assert ("Send", 1, repr(e.Send(1, packet))) in twin.came


@pytest.fixture(scope="module")
def broker():
    return Broker(Parameters(), 0.0)


@pytest.mark.parametrize("version", [p.Version.V311, p.Version.V5])
@pytest.mark.parametrize("size", [0, 1, 119, 120, 122, 123, 200, 16_000, 16_378, 16_379, 20_000])
def test_the_lane_finds_a_publication_that_comes_alone(broker, size, version):
    lone = broker.lane.find(encode(p.Publish("t/1", bytes(size)), version), version is p.Version.V5)
    if size + 5 + (version is p.Version.V5) < 1 << 14:
        assert lone[1:] == (b"t/1", encode(p.Publish("t/1", bytes(size)), p.Version.V311), size)
    else:
        assert lone is None


@pytest.mark.parametrize("name", [b"", b"t/+", b"#", b"t/\0", b"t/\xff", b"/" * 300])
def test_the_lane_leaves_names_that_are_none(broker, name):
    assert broker.lane.find(bytes([0x30, *varint(len(name) + 2)]) + binary(name)) is None


def test_the_lane_leaves_names_that_a_client_may_not_publish_on():
    broker, packet = Broker(Parameters(), 0.0), encode(p.Publish("t/1", b"x"), p.Version.V311)
    assert broker.lane.find(packet, allowed={b"t/2"}) is None
    assert not broker._subscriptions.routes.by_name
    assert broker.lane.find(packet, allowed={b"t/1"}) is not None


def test_the_lane_leaves_lengths_that_are_longer_than_they_need_be(broker):
    assert broker.lane.find(b"\x30\x05\x00\x03t/1") is not None
    assert broker.lane.find(b"\x30\x85\x00\x00\x03t/1") is None
    assert broker.lane.find(b"\x30\x85\x80\x00\x00\x03t/1") is None


@given(st.integers(0, 300), st.integers(0, 9), st.integers(0, 255), st.integers(0, 400), st.booleans())
def test_the_lane_finds_nothing_else(broker, size, place, byte, end, is5):
    data = bytearray(encode(p.Publish("t/1", bytes(size)), p.Version.V5 if is5 else p.Version.V311))
    data[place : place + 1] = bytes([byte])
    data = bytes(data[:end])
    lone = broker.lane.find(data, is5)
    if lone is not None:
        (packet,) = Parser(version=p.Version.V5 if is5 else p.Version.V311).feed(data)
        _, name, made, payload = lone
        assert packet == p.Publish(name.decode(), packet.payload)
        assert payload == len(packet.payload)
        assert made == encode(packet, p.Version.V311)
