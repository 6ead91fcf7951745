"""The broker's fast lanes lead to what the long way leads to, whatever clients say and however it is cut into reads.

Two brokers hear the same. One has its lanes, and keeps the receivers of names; the other has none, and looks receivers
up for every event. Compared are bytes to each client, everything else that they ask for, figures, and sessions.
"""

import random

import pytest

from weft.access.guard import HERE, Access, Guard, Visitor
from weft.access.rights import read_rights
from weft.broker import effect as e
from weft.broker.broker import Broker
from weft.broker.parameters import Parameters
from weft.wire.content import Run
from weft.wire.mqtt import packet as p
from weft.wire.mqtt.parser import frame
from weft.wire.mqtt.property import Property
from weft.wire.mqtt.writer import encode

V3, V5 = p.Version.V311, p.Version.V5
VERSIONS = {"a": V3, "b": V3, "c": V5, "d": V5, "e": V3, "bad": V3, "worse": V5}
SPEAKERS = {"bad", "worse"}  # they subscribe to nothing: what a connection that is being closed gets is free
NAMES = ["t/1", "t/2", "t/ü", "t", "u", "$SYS/x", "t/" + "9" * 130]
FILTERS = [*NAMES[:5], "t/#", "t/+", "#"]
SIZES = (0, 0, 1, 2, 100, 119, 121, 122, 123, 300, 1200)
RIGHTS = "topic readwrite t/#\ntopic read u\n"
FAR = Visitor("192.0.2.1", anonymous=True)


class Twin:
    """A broker, and what comes of it."""

    def __init__(self, lanes, parameters, durable, guard):
        self.broker = Broker(parameters, 0.0, durable=durable, guard=guard)
        self.lanes = lanes
        self.passed = dict.fromkeys(("pass_on", "pass_in", "give", "acknowledge"), 0)  # bytes that lanes took
        lane, window = self.broker.lane, self.broker._window_lane
        self._put(lane, "pass_on", "pass_on", 2)
        self._put(lane, "pass_in", "pass_in", 1)
        self._put(window, "pass_on", "give", 2)
        self._put(window, "acknowledge", "acknowledge", 2)

    def _put(self, lane, method, name, place):
        way = getattr(lane, method)

        def counted(*arguments):
            at = way(*arguments)
            self.passed[name] += at - arguments[place]
            return at

        setattr(lane, method, counted if self.lanes else lambda *arguments: arguments[place])

    def handle(self, event, now):
        if not self.lanes:
            self.broker.reroute()
        effects = self.broker.handle(event, now)
        self.broker.check_invariants()
        return _shown(effects)

    def turn(self, now):
        effects = self.broker.on_timer(now)
        return _shown(effects)

    def state(self):
        return [
            (
                one.client,
                [(number, *_owed(delivery)) for number, delivery in one.inflight.items()],
                [_owed(delivery) for delivery in one.queue],
                one.connection and (one.connection.outstanding, one.connection.heard, one.connection.holds),
            )
            for one in self.broker.sessions()
        ]


def _owed(delivery):
    return delivery.publication.topic, delivery.publication.payload, delivery.qos, delivery.publication.publisher


def _shown(effects):
    """Publications and other packets by connection, and the rest: the order between these is free."""
    sent, rest = {}, []
    for one in effects:
        if type(one) is e.Send:
            data, at = one.data, 0
            while at < len(data):
                stop = frame(data, at, len(data), 2**28, V3)[1]
                kind = "publish" if data[at] >> 4 == 3 else "other"
                sent.setdefault((one.connection, kind), []).append(data[at:stop])
                at = stop
        else:
            rest.append(one)
    return sent, rest


class Life:
    """What happens to both brokers, drawn from a seed."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.now = 1.0
        parameters = Parameters(
            sys_interval=0,
            inflight=6,
            queue_messages=9,
            packet_bytes=1024,
            cached_names=4,
            receive_maximum=5,
            patience=1,
        )
        self.is_open = seed % 3 > 0
        self.twins = tuple(Twin(lanes, parameters, seed % 2 == 0, self.guard()) for lanes in (True, False))
        self.by_client = {}
        self.heard = {}  # by connection, packets of QoS 1 that wait for an answer
        self.connection = 0
        for client in VERSIONS:
            self.enter(client)
            self.subscribe(client)

    def guard(self):
        return None if self.is_open else Guard(Access({}, read_rights(RIGHTS)), None, b"key")

    def tell(self, event):
        one, other = (twin.handle(event, self.now) for twin in self.twins)
        self.agree(one, other)

    def agree(self, one, other):
        assert one == other
        for (connection, kind), packets in one[0].items():
            if kind == "publish":
                self.heard.setdefault(connection, []).extend(_identifiers(packets))
        for effect in one[1]:
            if type(effect) is e.Close:
                self.leave(effect.connection)

    def leave(self, connection):
        self.by_client = {client: number for client, number in self.by_client.items() if number != connection}
        self.heard.pop(connection, None)
        self.tell(e.Closed(connection))

    def live(self, steps):
        deeds = [self.publish] * 8 + [self.acknowledge] * 5 + [self.subscribe, self.unsubscribe, self.congest]
        for _ in range(steps):
            self.wait(self.random.choice((0.001, 0.01, 0.2)))
            drawn = self.random.random()
            if drawn < 0.06:
                self.heal()
            elif drawn < 0.08 or len(self.by_client) < 4:
                self.again()
            elif drawn < 0.12:
                self.arrive()
            else:
                self.random.choice(deeds)(self.random.choice(sorted(self.by_client)))
            one, other = self.twins
            assert one.broker.figures == other.broker.figures
            assert one.state() == other.state()

    def wait(self, seconds):
        until = self.now + seconds
        while (due := self.twins[0].broker.next_deadline()) is not None and due <= until:
            self.now = max(self.now, due)
            self.agree(*(twin.turn(self.now) for twin in self.twins))
        self.now = until

    # What clients do

    def enter(self, client):
        version = VERSIONS[client]
        self.connection += 1
        properties = {Property.RECEIVE_MAXIMUM: 3} if client == "d" else {}
        if client == "c" and self.random.random() < 0.5:
            properties = {Property.SESSION_EXPIRY_INTERVAL: 60}
        clean = client != "b" or self.random.random() < 0.7
        self.tell(e.Opened(self.connection, HERE if self.is_open else FAR))
        self.by_client[client] = self.connection
        self.say(client, p.Connect(client, version, clean, properties=properties))

    def again(self):
        """A client goes, and all that are away come."""
        self.leave(self.by_client[self.random.choice(sorted(self.by_client))])
        for client in sorted(VERSIONS.keys() - self.by_client.keys()):
            self.enter(client)
            self.subscribe(client)

    def say(self, client, *packets, cut=False):
        data = b"".join(one if isinstance(one, bytes) else encode(one, VERSIONS[client]) for one in packets)
        cuts = sorted(self.random.randrange(len(data) + 1) for _ in range(self.random.randrange(3))) if cut else []
        for start, stop in zip([0, *cuts], [*cuts, len(data)], strict=True):
            if client in self.by_client and start < stop:
                self.tell(e.Received(self.by_client[client], data[start:stop]))

    def subscribe(self, client):
        """Mostly to the name of the client's version: a lane of QoS 1 has receivers of one family only."""
        pattern, options = self.random.choice((*[NAMES[VERSIONS[client] is V5]] * 9, *FILTERS)), {}
        drawn = self.random.random()
        if client in SPEAKERS:
            return
        if drawn < 0.03:
            pattern = "$share/g/" + pattern
        elif VERSIONS[client] is V5 and drawn < 0.1:
            options = {"no_local": True}
        self.say(client, p.Subscribe(1, (p.Request(pattern, self.random.choice((0, 1, 1, 1, 2)), **options),)))

    def unsubscribe(self, client):
        self.say(client, p.Unsubscribe(2, tuple(self.random.sample(FILTERS, 6))))

    def publish(self, client):
        """A read or more of publications, mostly of the same kind, and seldom something else among them."""
        qos, count = self.random.choice((0, 0, 1, 1, 1, 2 * (client in SPEAKERS))), self.random.choice((1, 1, 2, 5))
        names = [NAMES[VERSIONS[client] is V5]] * 3 + NAMES[:2] if self.random.random() < 0.8 else NAMES
        packets = [self.publication(client, qos, names) for _ in range(count)]
        drawn = self.random.random()
        if drawn < 0.1:
            packets.append(encode(p.Pingreq(), V3))
        elif drawn < 0.4 and client in SPEAKERS:
            packets.append(self.nonsense(packets[-1]))
        self.say(client, *packets, cut=self.random.random() < 0.4)
        if 0.1 < drawn < 0.4 and client in SPEAKERS & self.by_client.keys() and self.random.random() < 0.7:
            self.leave(self.by_client[client])  # what it says next would be the rest of that

    def publication(self, client, qos, names=NAMES[:2]):
        version, drawn = VERSIONS[client], self.random.random()
        properties = {Property.CONTENT_TYPE: "text"} if version is V5 and drawn < 0.05 else {}
        payload = self.random.randbytes(self.random.choice(SIZES if client in SPEAKERS else SIZES[:-1]))
        name = self.random.choice(names)
        packet_id = self.random.randrange(1, 300) if qos else 0
        retain = 0.9 < drawn < 0.93
        return encode(p.Publish(name, payload, qos, retain, False, packet_id, properties=properties), version)

    def nonsense(self, packet):
        """A publication with a byte that is wrong, or that ends too soon, or a length written too long."""
        packet, drawn = bytearray(packet), self.random.random()
        if drawn < 0.4:
            packet[self.random.randrange(min(9, len(packet)))] ^= 1 << self.random.randrange(8)
        elif drawn < 0.6:
            packet[1:2] = bytes([packet[1] & 127 | 128, 0])
        elif drawn < 0.8:
            return bytes([packet[0], self.random.randrange(6), 0, self.random.randrange(4), 0, 7, 1])
        else:
            del packet[self.random.randrange(1, len(packet)) :]
        return bytes(packet)

    def acknowledge(self, client):
        """Answers to some of what has come, and seldom to what has not."""
        waiting = self.heard.get(self.by_client[client], [])
        count = self.random.choice((1, 2, len(waiting)))
        answered, waiting[:] = waiting[:count], waiting[count:]
        if self.random.random() < 0.05:
            answered.append(self.random.randrange(1, 300))
        self.say(client, *(p.Puback(one) for one in answered), cut=self.random.random() < 0.2)

    # What else happens

    def congest(self, client):
        self.tell(e.Congested(self.by_client[client]))
        if self.random.random() < 0.3:
            self.tell(e.JournalFilled())

    def heal(self):
        self.tell(e.JournalFreed())
        for connection in list(self.by_client.values()):
            self.tell(e.Drained(connection))

    def arrive(self):
        """A run of another node's publications."""
        packets = [self.publication("a", 0) for _ in range(self.random.choice((1, 3)))]
        if self.random.random() < 0.3:
            packets.append(self.nonsense(packets[-1]))
        self.tell(e.ArrivedTogether((Run(b"".join(packets), len(packets), b"t/1", "far"),)))


def _identifiers(packets):
    """Packet identifiers of publications of QoS 1."""
    for packet in packets:
        if packet[0] >> 1 & 3 == 1:
            body = 2 if packet[1] < 128 else 3
            at = body + 2 + int.from_bytes(packet[body : body + 2])
            yield int.from_bytes(packet[at : at + 2])


@pytest.mark.parametrize("seed", range(6))
def test_the_lanes_lead_to_what_the_long_way_leads_to(seed):
    life = Life(seed)
    life.live(900)
    assert all(taken > 150 for taken in life.twins[0].passed.values()), life.twins[0].passed
    assert life.twins[0].broker.figures.dropped
