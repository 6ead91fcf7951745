"""The broker against what MQTT promises: clients that crash between any two packets, a broker that crashes with what
its disk had not synced, in virtual time. The oracle (mqtt_oracle.py) knows nothing of the broker."""

from collections import deque

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from broker_client import V3, V5, Client, House
from mqtt_oracle import Memory, Oracle, Said
from weft.broker import effect as e
from weft.wire.mqtt import packet as p
from weft.wire.mqtt.property import Property

EXPIRY = 30  # seconds that sessions of MQTT 5 are kept
TOPICS = ["a/b", "a/c", "d"]
FILTERS = ["a/b", "a/+", "#", "+/c", "d"]
NAMES = ["old", "new", "brief", "new brief"]


class Person:
    """A client as the standard wants it: repeats what was not acknowledged, knows what it has."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.version = V5 if name.startswith("new") else V3
        self.keeps = not name.endswith("brief")
        self.line: Client | None = None
        self.inbox: deque[p.Packet] = deque()
        self.away_since = 0.0
        self.brief = False  # the session ends with the connection
        self.forget()

    def forget(self) -> None:
        self.unacknowledged: dict[int, p.Publish] = {}
        self.releasing: dict[int, None] = {}
        self.have: set[int] = set()
        self.next_id = 1

    def new_id(self) -> int:
        while self.next_id in self.unacknowledged or self.next_id in self.releasing:
            self.next_id = self.next_id % 20 + 1
        return self.next_id


class Machine(RuleBasedStateMachine):
    @initialize()
    def begin(self) -> None:
        self.house = House(lazy=True)
        self.oracle = Oracle()
        self.people = {name: Person(name) for name in NAMES}
        self.number = 0
        self.receivers: dict[int, tuple[dict[str, int], dict[str, Memory]]] = {}
        self.wills: dict[str, tuple[int, int]] = {}

    def collect(self) -> None:
        for person in self.people.values():
            if person.line is not None:
                person.inbox.extend(person.line.take())

    def people_here(self) -> list[Person]:
        return [one for one in self.people.values() if one.line is not None]

    # What clients do

    @rule(name=st.sampled_from(NAMES), clean=st.booleans(), will=st.none() | st.integers(0, 2))
    def connect(self, name: str, clean: bool, will: int | None) -> None:
        person = self.people[name]
        if person.line is not None:
            self.lose(person)
        clean = clean or not person.keeps
        if clean:
            person.forget()
        person.brief = clean and (person.version is V3 or not person.keeps)
        keep = {Property.SESSION_EXPIRY_INTERVAL: EXPIRY} if person.version is V5 and person.keeps else {}
        last = None
        if will is not None:
            self.number += 1
            self.wills[name] = self.number, will
            last = p.Will("d", str(self.number).encode(), will)
        person.line = self.house.connect(name, person.version, clean, will=last, properties=keep)
        self.house.sync()
        connack, *rest = person.line.take()
        assert isinstance(connack, p.Connack)
        assert connack.session_present == (name in self.oracle.sessions and not clean)
        self.oracle.begin(name, connack.session_present)
        person.inbox = deque(rest)
        self.repeat(person, connack.session_present)

    def repeat(self, person: Person, present: bool) -> None:
        assert person.line is not None
        if not present:
            person.have.clear()
        for packet_id, packet in person.unacknowledged.items():
            said = self.oracle.said[int(packet.payload)]
            said.attempts += 1
            self.note_receivers(said)
            dup = p.Publish(packet.topic, packet.payload, packet.qos, packet.retain, True, packet_id)
            self.house.tell(e.Received(person.line.number, _bytes(dup, person)))
        for packet_id in person.releasing:
            self.house.tell(e.Received(person.line.number, _bytes(p.Pubrel(packet_id), person)))

    def note_receivers(self, said: Said) -> None:
        """Note who must get it once it is acknowledged: who is in all attempts, any of which may have been taken."""
        receivers, sessions = self.oracle.publish(said), dict(self.oracle.sessions)
        if said.attempts > 1:
            before, then = self.receivers[said.number]
            receivers = {
                client: min(qos, before[client])
                for client, qos in receivers.items()
                if client in before and then[client] is sessions[client]
            }
        self.receivers[said.number] = receivers, sessions

    @precondition(lambda self: self.people_here())
    @rule(data=st.data(), politely=st.booleans())
    def leave(self, data: st.DataObject, politely: bool) -> None:
        person = data.draw(st.sampled_from(self.people_here()))
        if politely:
            self.wills.pop(person.name, None)
            assert person.line is not None
            self.house.tell(e.Received(person.line.number, _bytes(p.Disconnect(), person)))
        self.lose(person)

    def lose(self, person: Person) -> None:
        line, person.line = person.line, None
        assert line is not None
        person.inbox.clear()
        person.away_since = self.house.now
        will = self.wills.pop(person.name, None)
        if person.brief:
            self.oracle.end(person.name)
        if will is not None:
            self.note_receivers(Said(will[0], person.name + "'s will", "d", will[1]))
            if not line.closed:
                self.oracle.acknowledge(will[0], *self.receivers[will[0]])
        if not line.closed:
            line.vanish()
        self.house.sync()

    @precondition(lambda self: self.people_here())
    @rule(data=st.data(), pattern=st.sampled_from(FILTERS), qos=st.integers(0, 2))
    def subscribe(self, data: st.DataObject, pattern: str, qos: int) -> None:
        person = data.draw(st.sampled_from(self.people_here()))
        assert person.line is not None
        self.collect()
        self.oracle.subscribe(person.name, pattern, qos)
        self.house.tell(e.Received(person.line.number, _bytes(p.Subscribe(999, (p.Request(pattern, qos),)), person)))
        self.house.sync()
        heard = person.line.take()
        assert p.Suback(999, (qos,)) in heard
        person.inbox.extend(one for one in heard if not isinstance(one, p.Suback))

    @precondition(lambda self: self.people_here())
    @rule(data=st.data(), pattern=st.sampled_from(FILTERS))
    def unsubscribe(self, data: st.DataObject, pattern: str) -> None:
        person = data.draw(st.sampled_from(self.people_here()))
        assert person.line is not None
        self.collect()
        had = self.oracle.sessions[person.name].filters.pop(pattern, None) is not None
        self.house.tell(e.Received(person.line.number, _bytes(p.Unsubscribe(999, (pattern,)), person)))
        self.house.sync()
        heard = person.line.take()
        codes = ((0 if had else 0x11),) if person.version is V5 else ()
        assert p.Unsuback(999, codes) in heard
        person.inbox.extend(one for one in heard if not isinstance(one, p.Unsuback))

    @precondition(lambda self: self.people_here())
    @rule(data=st.data(), topic=st.sampled_from(TOPICS), qos=st.integers(0, 2), retain=st.booleans())
    def publish(self, data: st.DataObject, topic: str, qos: int, retain: bool) -> None:
        person = data.draw(st.sampled_from(self.people_here()))
        if len(person.unacknowledged) + len(person.releasing) > 15:
            return
        retain = retain and qos < 2  # the oracle would have to know whether a repeated one was taken before
        self.number += 1
        said = Said(self.number, person.name, topic, qos, retain)
        packet_id = person.new_id() if qos else 0
        packet = p.Publish(topic, str(self.number).encode(), qos, retain, packet_id=packet_id)
        if qos:
            person.unacknowledged[packet_id] = packet
        self.note_receivers(said)
        assert person.line is not None
        self.house.tell(e.Received(person.line.number, _bytes(packet, person)))
        if not qos:
            self.expect_now(said)
        elif retain:
            self.house.sync()

    def expect_now(self, said: Said) -> None:
        """QoS 0 reaches at once who is there."""
        self.house.sync()
        self.collect()
        for client in self.receivers[said.number][0]:
            person = self.people[client]
            if person.line is not None:
                copies = [one for one in person.inbox if isinstance(one, p.Publish) and int(one.payload) == said.number]
                assert len(copies) == 1

    @precondition(lambda self: self.people_here())
    @rule(data=st.data(), count=st.integers(1, 9))
    def answer(self, data: st.DataObject, count: int) -> None:
        """A client takes what it has heard, packet by packet."""
        person = data.draw(st.sampled_from(self.people_here()))
        self.collect()
        for _ in range(min(count, len(person.inbox))):
            self.take(person, person.inbox.popleft())

    def take(self, person: Person, packet: p.Packet) -> None:
        reply: p.Packet | None = None
        match packet:
            case p.Publish():
                reply = self.take_publication(person, packet)
            case p.Puback(packet_id):
                self.acknowledged(person, packet_id)
            case p.Pubrec(packet_id):
                self.acknowledged(person, packet_id)
                person.releasing[packet_id] = None
                reply = p.Pubrel(packet_id)
            case p.Pubrel(packet_id):
                person.have.discard(packet_id)
                reply = p.Pubcomp(packet_id)
            case p.Pubcomp(packet_id):
                person.releasing.pop(packet_id, None)
        if reply is not None and person.line is not None:
            self.house.tell(e.Received(person.line.number, _bytes(reply, person)))

    def take_publication(self, person: Person, packet: p.Publish) -> p.Packet | None:
        number = int(packet.payload)
        if packet.qos != 2 or packet.packet_id not in person.have:
            self.oracle.hear(person.name, number, packet.topic, packet.qos, packet.retain)
        if packet.qos == 2:
            person.have.add(packet.packet_id)
            return p.Pubrec(packet.packet_id)
        return p.Puback(packet.packet_id) if packet.qos else None

    def acknowledged(self, person: Person, packet_id: int) -> None:
        packet = person.unacknowledged.pop(packet_id, None)
        if packet is not None:
            number = int(packet.payload)
            self.oracle.acknowledge(number, *self.receivers[number])

    # What else happens

    @rule()
    def sync(self) -> None:
        self.house.sync()

    @rule(snapshot=st.booleans())
    def crash(self, snapshot: bool) -> None:
        """The power fails: nobody has a connection, sessions that are not kept are gone."""
        self.collect()
        self.house.restart(snapshot)
        self.house.sync()
        for person in self.people_here():
            self.lose(person)

    @rule(seconds=st.sampled_from([1, 10, 31]))
    def wait(self, seconds: float) -> None:
        self.house.wait(seconds)
        for person in self.people.values():
            over = person.line is None and self.house.now >= person.away_since + EXPIRY
            if over and person.version is V5 and person.name in self.oracle.sessions:
                self.oracle.end(person.name)

    @invariant()
    def sound(self) -> None:
        if hasattr(self, "house"):
            self.house.broker.check_invariants()

    def teardown(self) -> None:
        """All come back, take all there is, and have all that they must."""
        if not hasattr(self, "house"):
            return
        for person in self.people.values():
            if person.line is None and person.keeps:
                self.connect(person.name, False, None)
        for _ in range(200):
            self.house.sync()
            self.collect()
            if not any(person.inbox for person in self.people_here()):
                break
            for person in self.people_here():
                while person.inbox:
                    self.take(person, person.inbox.popleft())
        self.oracle.check()


def _bytes(packet: p.Packet, person: Person) -> bytes:
    from weft.wire.mqtt.writer import encode

    return encode(packet, person.version)


TestMachine = Machine.TestCase
TestMachine.settings = settings(
    max_examples=150,
    stateful_step_count=50,
    deadline=None,
    phases=[Phase.reuse, Phase.generate],
    suppress_health_check=list(HealthCheck),
)  # shrinking takes minutes: add it to look into a failure
