"""Brokers and networks that are weighed: what objects hold, counted by type and in bytes, and clients that do all.

Objects are followed from what holds them, without help of the interpreter's. Code is left out, and what it names:
classes, modules, functions but for what they close over.
"""

import gc
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from types import BuiltinFunctionType, CellType, FunctionType, MethodType, ModuleType

from weft.access.guard import Guard
from weft.broker import effect as e
from weft.broker.broker import Broker
from weft.broker.parameters import Parameters
from weft.node.parameters import Parameters as NetworkParameters
from weft.sim.cluster.cluster import START, Cluster
from weft.wire.mqtt import packet as p
from weft.wire.mqtt.property import Property
from weft.wire.mqtt.writer import encode

V5 = p.Version.V5
SMALL = {"sys_interval": 0, "cached_names": 50}
DAY = 86_400
CODE = (type, ModuleType, BuiltinFunctionType)


class Heap:
    def __init__(self, *roots: object) -> None:
        self.counts: Counter[str] = Counter()
        self.bytes = 0
        seen: set[int] = set()
        waiting: list[object] = list(roots)
        while waiting:
            one = waiting.pop()
            if id(one) in seen or isinstance(one, CODE):
                continue
            seen.add(id(one))
            self.counts[type(one).__name__] += 1
            self.bytes += sys.getsizeof(one)
            waiting += _held_by(one)

    def more_than(self, before: "Heap") -> str:
        """What there is more of, for people to read."""
        more = (self.counts - before.counts).most_common(8)
        return f"{self.bytes - before.bytes:,} bytes: " + ", ".join(f"{count:,} {name}" for name, count in more)


def _held_by(one: object) -> list[object]:
    if isinstance(one, FunctionType):
        return [*(one.__closure__ or ()), *(one.__defaults__ or ())]
    if isinstance(one, MethodType | CellType):
        return gc.get_referents(one)
    return [held for held in gc.get_referents(one) if not isinstance(held, CODE)]


class Place:
    """A broker whose driver does all at once, and remembers nothing."""

    def __init__(self, guard: Guard | None = None, **parameters: object) -> None:
        self.now = START
        chosen = Parameters(**{**SMALL, **parameters})  # type: ignore[arg-type]
        self.broker = Broker(chosen, self.now, durable=True, guard=guard)
        self.numbers = iter(range(1, 10**9))
        self.sent: list[bytes] = []  # with the last event

    def tell(self, event: e.Event) -> None:
        self.sent = []
        self.carry_out(self.broker.handle(event, self.now))
        self.wait(0.0)

    def carry_out(self, effects: list[e.Effect]) -> None:
        self.sent += [one.data for one in effects if type(one) is e.Send]
        for one in effects:
            if type(one) is e.Close:
                self.broker.handle(e.Closed(one.connection), self.now)
            elif type(one) is e.Connecting:
                self.carry_out(self.broker.handle(e.Admitted(one.connection), self.now))

    def wait(self, seconds: float) -> None:
        end = self.now + seconds
        while (due := self.broker.next_deadline()) is not None and due <= end:
            self.now = max(self.now, due)
            self.carry_out(self.broker.on_timer(self.now))
        self.now = end

    def open(self) -> int:
        number = next(self.numbers)
        self.tell(e.Opened(number))
        return number

    def is_open(self, number: int) -> bool:
        return number in self.broker._connections

    def grown(self, act: Callable[[], object]) -> int:
        """Bytes that there are more of when something has been done."""
        before = Heap(self.broker)
        act()
        return Heap(self.broker).bytes - before.bytes

    def connect(self, client: str, **more: object) -> int:
        number = self.open()
        self.say(number, p.Connect(client, V5, keep_alive=65_535, **more))  # type: ignore[arg-type]
        return number

    def say(self, number: int, *packets: p.Packet) -> None:
        self.tell(e.Received(number, b"".join(encode(one, V5) for one in packets)))

    def vanish(self, number: int) -> None:
        self.tell(e.Closed(number))

    def journal(self) -> int:
        """Records that it needs."""
        return sum(1 for _ in self.broker.records())


def will(name: str) -> p.Will:
    return p.Will(f"will/{name}", b"gone", 1, True, {Property.WILL_DELAY_INTERVAL: DAY})


def live(place: Place, name: str, way_out: int) -> None:
    """All that a client can do; then it is gone, and nobody is left who could miss anything."""
    kept = {Property.SESSION_EXPIRY_INTERVAL: DAY}
    number = place.connect(name, properties=kept, will=will(name))
    filters = f"t/{name}", f"t/{name}/+", f"$share/group/t/{name}/#", f"$share/{name}/jobs"
    expiry = {Property.MESSAGE_EXPIRY_INTERVAL: DAY}
    place.say(
        number,
        p.Subscribe(1, tuple(p.Request(one, 1) for one in filters)),
        p.Publish(f"t/{name}", b"0", properties={Property.TOPIC_ALIAS: 1}),
        p.Publish(f"r/{name}", b"first" * 20, 1, True, packet_id=1, properties=expiry),
        p.Publish(f"r/{name}", b"renewed" * 20, 1, True, packet_id=2, properties=expiry),
        p.Publish(f"r/{name}", b"", 1, True, packet_id=3),
        p.Publish(f"t/{name}/x", b"1", 1, packet_id=4, properties=expiry),
        p.Publish(f"t/{name}/y", b"2", 2, packet_id=5),
        p.Pubrel(5),
        p.Publish("jobs", b"2", 2, packet_id=6),
        *(p.Puback(one) for one in range(1, 9)),
        p.Unsubscribe(2, filters[:2]),
    )
    if way_out == 0:  # without a word, and again
        place.vanish(number)
        number = place.connect(name, clean=False, properties=kept, will=will(name))
        place.vanish(number)
    if way_out <= 1:  # taken over, and its session ends with the next
        number = place.connect(name, clean=False, will=will(name))
    if way_out == 2:  # a session that is not kept, and a will that is said
        number = place.connect(name)
        place.vanish(place.connect(name, will=will(name)))
        number = place.connect(name)
    place.say(number, p.Publish(f"will/{name}", b"", 0, True))
    place.say(number, p.Disconnect(properties={Property.SESSION_EXPIRY_INTERVAL: 0}))
    place.broker.look_ahead()  # as a node does every second


def name_of(number: int) -> str:
    """Every other one is new, the others are old."""
    return f"new {number}" if number % 2 else f"old {number % 40}"


class Network:
    """Two nodes and a master, and clients that do what can be done in a network."""

    def __init__(self) -> None:
        broker = Parameters(**SMALL, linked=True)  # type: ignore[arg-type]
        quick = NetworkParameters(linger=5.0, memory=5.0, settling=1.0)
        self.cluster = Cluster(2, seed=3, broker=broker, network=quick)
        self.cluster.start()
        self.stays = self.cluster.client("stays", 0)
        self.cluster.subscribe(self.stays, "wanted/#", 1)

    def live(self, numbers: Iterable[int]) -> None:
        """Many at a time; they have gone when this returns."""
        cluster, nodes, clients = self.cluster, self.cluster.nodes, []
        for number in numbers:
            expiry = 3 if number % 3 else 0
            client = cluster.client(f"c{name_of(number)} {number % 2}", version=V5, expiry=expiry)
            client.will = will(client.name) if number % 5 == 0 else None
            client.connect(nodes[number % 2])
            clients.append(client)
        cluster.wait_until(lambda: all(one.is_connected for one in clients))
        for one in clients:
            for filter_ in (f"t/{one.name}", f"+/{one.name}/#", f"$share/g/{one.name}/#", f"$share/{one.name}/jobs"):
                one.subscribe(filter_, 1)
        cluster.wait(0.5)
        for number, one in enumerate(clients):
            wanted = f"t/{clients[number - 1].name}", f"{clients[number - 1].name}/x", f"wanted/{one.name}"
            for topic in (*wanted, f"nobody/{one.name}", *(["jobs"] if number < 2 else [])):
                for qos in (0, 1, 2):
                    one.publish(topic, b"x", qos)
            one.publish(f"kept/{one.name}", b"x" * 100, 1, True, message_expiry_interval=DAY)
            one.publish(f"kept/{one.name}", b"", 1, True)
        cluster.wait(0.5)
        for one in clients[::2]:
            one.unsubscribe(f"t/{one.name}")
            one.drop()
        for number, one in enumerate(clients):
            if number % 3 == 0:  # it moves, is taken over, and goes
                one.connect(nodes[number % 4 // 2])
        cluster.wait(1.0)
        for one in clients:
            (one.disconnect if one.is_connected else one.drop)()
        cluster.clients.clear()

    def rest(self) -> None:
        """Wait until expired sessions are gone, and what has a time is over."""
        self.cluster.wait(50.0)
        writer = self.cluster.client("clears", 1)
        for topic in [name for name in self.cluster.nodes[1].node.broker.retained() if not name.startswith("$")]:
            writer.publish(topic, b"", 0, True)
        for one in self.cluster.client("says more", 0), writer:  # from which others see that all before is settled
            one.publish("wanted/last", b"", 1)
        self.cluster.wait(100.0)
        for one in list(self.cluster.clients):
            (one.disconnect if one is not self.stays else bool)()
        self.cluster.clients.clear()
        self.stays.got.clear()
        self.cluster.story.clear()
        self.cluster.wait(20.0)

    def parts(self) -> dict[str, object]:
        return {
            "node 0": self.cluster.nodes[0].node,
            "node 1": self.cluster.nodes[1].node,
            "master": self.cluster.direction.master,
            "store": self.cluster.direction._store,
        }

    def journals(self) -> list[int]:
        return [sum(1 for _ in one.node.records()) for one in self.cluster.nodes]
