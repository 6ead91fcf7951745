"""An MQTT client that does what the standard asks of one, and keeps a history of what it did and saw.

What it published with QoS 1 or 2 and nobody acknowledged it sends again when it is connected again, in order. What it
has received of QoS 2 it knows by packet identifier until that is released.
"""

from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING

from weft.sim.cluster.wire import Wire
from weft.wire.mqtt import packet as p
from weft.wire.mqtt.parser import Parser
from weft.wire.mqtt.property import Properties, Property
from weft.wire.mqtt.writer import encode

if TYPE_CHECKING:
    from weft.sim.cluster.process import NodeProcess

FOREVER = 0xFFFFFFFF
REFUSED = 0x80  # reasons from here on say no
PATIENCE = 5.0  # seconds that a client waits for CONNACK


@dataclass(slots=True)
class Said:
    """A publication of the client's."""

    client: str
    topic: str
    payload: bytes
    qos: int
    retain: bool
    at: float
    packet_id: int = 0
    acknowledged: float | None = None  # when; QoS 0 never is
    released: bool = False  # QoS 2: PUBREC has come
    order: int = 0  # among those of the client
    repeated: bool = False  # said again, and not known to be the same by the other end
    properties: Properties = field(default_factory=dict)
    is_will: bool = False  # `at` is when its client has gone; acknowledged if that was in the sight of its node
    taken_back: bool = False  # a will, by DISCONNECT

    @property
    def life(self) -> float | None:
        """Seconds until it expires."""
        return self.properties.get(Property.MESSAGE_EXPIRY_INTERVAL)


@dataclass(frozen=True, slots=True)
class Got:
    topic: str
    payload: bytes
    qos: int
    retain: bool
    dup: bool
    at: float
    alone: bool = False  # its node has let it in without the master, and may not know what it did elsewhere
    packet_id: int = 0  # none with QoS 0
    properties: Properties = field(default_factory=dict, compare=False)


@dataclass(slots=True)
class Held:
    """A filter that the client held, from when it asked until it asked for the end of it."""

    filter: str
    qos: int
    asked: float
    granted: float | None = None
    dropped: float | None = None  # when it asked
    gone: float | None = None  # when that was answered
    alone: bool = False  # granted by a node without its master


class Client:
    def __init__(
        self, name: str, version: p.Version = p.Version.V311, clean: bool = True, expiry: int | None = None
    ) -> None:
        self.name = name
        self.version = version
        self.clean = clean
        self.expiry = expiry if expiry is not None else (0 if clean else FOREVER)
        self.will: p.Will | None = None
        self.wills: list[Said] = []  # one a connection
        self.process: NodeProcess | None = None
        self._places: list[NodeProcess] = []  # of its session: where it was let in last, asked since, or it has gone
        self._is_apart = False  # one of these was out of reach of the node that it asks
        self._was_apart = False  # some time before: a node may have its session that it has left in silence
        self.is_connected = False  # CONNACK has come
        self.last_id: int | None = 0  # packet identifiers are counted; None: the lowest free is taken
        self.said: list[Said] = []
        self.got: list[Got] = []
        self.held: list[Held] = []
        self.present: list[bool] = []  # what CONNACKs said of the session
        self.connected: list[tuple[float, float | None]] = []  # from when to when
        self.unheard: list[tuple[float, float | None]] = []  # from when to when its node took it for connected
        self.closes: list[int | None] = []  # how connections ended: the server's reason, if it gave one
        self.silent = False  # acknowledges nothing
        self.keep_alive = 0  # seconds; it asks its node for a sign of life twice in that time
        self.given_up: list[float] = []  # when it gave up a node that did not answer in time
        self._asked_at: float | None = None  # for a sign of life that has not come
        self.sessions: list[float] = []  # when another began: CONNACK says so, or one was out of reach or lost
        self.losses: list[float] = []  # when its session was lost with a disk
        self._wire: Wire | None = None
        self._parser = Parser(version=version)
        self._open: dict[int, Said] = {}  # by packet identifier
        self._received: set[int] = set()
        self._asked: dict[int, list[Held]] = {}
        self._testament: Said | None = None  # the will of this connection
        self._is_renewing = False  # it wants another session
        self._reason: int | None = None

    @property
    def now(self) -> float:
        assert self.process is not None
        return self.process.cluster.agenda.now

    @property
    def is_connecting(self) -> bool:
        return self._wire is not None and not self.is_connected

    # What it does

    def connect(self, process: "NodeProcess") -> None:
        self.drop()
        self._places.append(process)
        self.process, self._is_apart = process, False
        self.look_for_session()
        if self._is_renewing:
            self._forget_session()
        if self.clean or self._is_renewing or self._is_apart:
            self.sessions.append(self.now)
        self._parser = Parser(version=self.version)
        self._reason = None
        self._wire = process.cluster.wires.connect(self.name, process.name, self, process.take_client)
        properties: Properties = {}
        if self.version is p.Version.V5 and self.expiry:
            properties = {Property.SESSION_EXPIRY_INTERVAL: self.expiry}
        if self.will is not None:
            will = self.will
            self._testament = Said(self.name, will.topic, will.payload, will.qos, will.retain, self.now, is_will=True)
            self.wills.append(self._testament)
        is_clean = self.clean or self._is_renewing
        self._say(p.Connect(self.name, self.version, is_clean, self.keep_alive, self.will, properties=properties))
        self._asked_at = self.now
        self._ask_later(self._wire)

    def _ask_later(self, wire: Wire) -> None:
        if self.keep_alive and self.process is not None:
            self.process.cluster.agenda.after(self.keep_alive / 2, lambda: self._ask(wire))

    def _ask(self, wire: Wire) -> None:
        """Ask for a sign of life, and give up where the last has not come for long: CONNACK is one too."""
        if wire is not self._wire:
            return
        if self._asked_at is None:
            self._asked_at = self.now
            self._say(p.Pingreq())
        elif self._asked_at + (self.keep_alive if self.is_connected else PATIENCE) < self.now:
            self.given_up.append(self.now)
            self.drop()
            return
        self._ask_later(wire)

    def subscribe(self, filter_: str, qos: int = 0, **options: object) -> Held:
        held = Held(filter_, qos, self.now)
        self.held.append(held)
        packet_id = self._next_id()
        self._asked[packet_id] = [held]
        self._say(p.Subscribe(packet_id, (p.Request(filter_, qos, **options),)))  # type: ignore[arg-type]
        return held

    def unsubscribe(self, filter_: str) -> None:
        packet_id = self._next_id()
        self._asked[packet_id] = [one for one in self.held if one.filter == filter_ and one.dropped is None]
        for held in self._asked[packet_id]:
            held.dropped = self.now
        self._say(p.Unsubscribe(packet_id, (filter_,)))

    def publish(self, topic: str, payload: bytes, qos: int = 0, retain: bool = False, **properties: object) -> Said:
        named: Properties = {Property[key.upper()]: value for key, value in properties.items()}
        said = Said(self.name, topic, payload, qos, retain, self.now, order=len(self.said), properties=named)
        self.said.append(said)
        if qos:
            said.packet_id = self._next_id()
            self._open[said.packet_id] = said
        if self.is_connected:
            self._say(self._publish(said, dup=False))
        return said

    def disconnect(self) -> None:
        self._say(p.Disconnect())
        if self._testament is not None and self.is_connected:
            self._testament.taken_back = True
        self.drop()

    def drop(self) -> None:
        """Close the connection without DISCONNECT."""
        if self._wire is not None:
            if self._testament is not None and self.is_connected:
                self._testament.acknowledged = self.now
            wire, self._wire = self._wire, None
            wire.close(self)
            self._part()

    def vanish(self) -> None:
        """Go, and let its node not hear of it."""
        if self._wire is not None:
            self._wire = None
            self.unheard.append((self.now, None))
            self._part()

    def renew(self) -> None:
        """Begin another session, which is kept, when it connects next."""
        self._is_renewing = True

    def lose(self) -> None:
        """Begin another session: the one that was is lost with a disk, and how far handshakes were."""
        self.losses.append(self.now)
        self.sessions.append(self.now)

    def session_at(self, at: float) -> int:
        """Which of its sessions a time is in."""
        return sum(begun <= at for begun in self.sessions)

    def look_for_session(self) -> None:
        """Whether a part of its session is out of reach of the node that it has asked, or nobody has heard of it."""
        here = self.process
        assert here is not None
        self._follow_session()
        others = [place for place in self._places if place is not here]
        self._is_apart |= any(not one.is_reachable_from(here) or one.is_alone_with(self.name) for one in others)

    def _follow_session(self) -> None:
        """Look also where its session has gone without it, from there on too: to nodes that have claimed it late."""
        for place in self._places:
            one = place.successor(self.name)
            if one is not None and one not in self._places:
                self._places.append(one)

    def be_let_in(self) -> None:
        """Go on where the node lets it in, with what that could get of the session while the client waited."""
        self.look_for_session()
        if self._is_apart:
            self.sessions.append(self.now)
        self._was_apart |= self._is_apart

    def be_taken_over(self) -> None:
        """Lose the connection that it uses to a node that it has left, and that takes it for connected."""
        if self.is_connected and self._was_apart:
            self.sessions.append(self.now)

    def leave_alone(self, wire: Wire) -> None:
        """Note that the node grants without the network what the client has asked for."""
        if wire is self._wire:
            for asked in self._asked.values():
                for held in asked:
                    held.alone = True

    # What it hears

    def received(self, wire: Wire, data: bytes) -> None:
        if wire is self._wire:
            for packet in self._parser.feed(data):
                self._hear(packet)

    def broken(self, wire: Wire) -> None:
        if wire is self._wire:
            self._wire = None
            self._part()

    def _part(self) -> None:
        self.closes.append(self._reason)
        if self._testament is not None:
            self._testament.at = self.now
            self._testament = None
        if self.is_connected:
            self.is_connected = False
            self.connected[-1] = (self.connected[-1][0], self.now)
        for asked in self._asked.values():
            for held in asked:
                if held.granted is None:
                    held.dropped = held.dropped or self.now  # nobody knows
        self._asked = {}
        if self.clean:
            for held in self.held:
                held.dropped = held.dropped or self.now
            self._received.clear()

    def _forget_session(self) -> None:
        for held in self.held:
            held.dropped = held.dropped or self.now
        self._received.clear()
        self._open.clear()

    def _hear(self, packet: p.Packet) -> None:
        match packet:
            case p.Connack(present, code):
                if code == 0:
                    self._welcome(present)
            case p.Publish():
                self._take(packet)
            case p.Puback(packet_id) | p.Pubrec(packet_id) if packet.reason >= REFUSED:
                self._open.pop(packet_id, None)
            case p.Puback(packet_id) if packet_id in self._open:
                self._open.pop(packet_id).acknowledged = self.now
            case p.Pubrec(packet_id):
                if packet_id in self._open:
                    said = self._open[packet_id]
                    said.acknowledged = said.acknowledged or self.now
                    said.released = True
                    self._say(p.Pubrel(packet_id))
            case p.Pubcomp(packet_id):
                self._open.pop(packet_id, None)
            case p.Pubrel(packet_id):
                self._received.discard(packet_id)
                self._say(p.Pubcomp(packet_id))
            case p.Suback(packet_id):
                for held in self._asked.pop(packet_id, []):
                    held.granted = self.now
            case p.Unsuback(packet_id):
                for held in self._asked.pop(packet_id, []):
                    held.gone = self.now
            case p.Pingresp():
                self._asked_at = None
            case p.Disconnect(reason):
                self._reason = int(reason)

    def _welcome(self, present: bool) -> None:
        assert self.process is not None
        self.is_connected, self._is_renewing, self._asked_at = True, False, None
        self.unheard = [(start, end or self.now) for start, end in self.unheard]
        self._places = [self.process]
        self.present.append(present)
        if not present and self.connected:
            self.sessions.append(self.now)
        self.connected.append((self.now, None))
        if not present:
            self._received.clear()
        for said in list(self._open.values()):
            if said.released and present:
                self._say(p.Pubrel(said.packet_id))
            elif said.released:
                self._open.pop(said.packet_id)  # the broker had it, and has forgotten the identifier
            else:
                is_other = self.session_at(said.at) != self.session_at(self.now)
                said.repeated |= said.qos == 1 or not present or is_other
                self._say(self._publish(said, dup=present))

    def _take(self, packet: p.Publish) -> None:
        if packet.qos == 2 and packet.packet_id in self._received:
            self._answer(p.Pubrec(packet.packet_id))
            return
        assert self.process is not None
        alone = self.process.is_alone_with(self.name)
        what = packet.topic, packet.payload, packet.qos, packet.retain, packet.dup
        self.got.append(Got(*what, self.now, alone, packet.packet_id, packet.properties))
        if packet.qos == 1:
            self._answer(p.Puback(packet.packet_id))
        elif packet.qos == 2:
            if not self.silent:
                self._received.add(packet.packet_id)
            self._answer(p.Pubrec(packet.packet_id))

    def _answer(self, packet: p.Packet) -> None:
        if not self.silent:
            self._say(packet)

    def _publish(self, said: Said, dup: bool) -> p.Publish:
        is_dup = dup and said.qos > 0
        return p.Publish(said.topic, said.payload, said.qos, said.retain, is_dup, said.packet_id, said.properties)

    def _say(self, packet: p.Packet) -> None:
        if self._wire is not None:
            self._wire.send(self, encode(packet, self.version))

    def _next_id(self) -> int:
        start = self.last_id or 0
        taken = next(one for each in count(start) if self._is_free(one := each % 65_535 + 1))
        if self.last_id is not None:
            self.last_id = taken
        return taken

    def _is_free(self, packet_id: int) -> bool:
        return packet_id not in self._open and packet_id not in self._asked
