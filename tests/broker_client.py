"""A client of a broker without I/O: says packets, hears packets, under virtual time."""

from weft.access.guard import HERE, Guard, Visitor
from weft.broker import effect as e
from weft.broker.broker import AT_ONCE, Broker
from weft.broker.parameters import Parameters
from weft.broker.recovery import Recovery
from weft.sim.cluster.cluster import START
from weft.wire.mqtt import packet as p
from weft.wire.mqtt.parser import Parser
from weft.wire.mqtt.writer import encode

V31, V3, V5 = p.Version.V31, p.Version.V311, p.Version.V5
QUIET = Parameters(sys_interval=0)


class Client:
    def __init__(self, house: "House", number: int, version: p.Version) -> None:
        self.house = house
        self.number = number
        self.version = version
        self.heard: list[p.Packet] = []
        self.closed = False
        self._parser = Parser(version=version)

    def hear(self, data: bytes) -> None:
        self.heard += self._parser.feed(data)

    def say(self, *packets: p.Packet) -> list[p.Packet]:
        """All in one read; what this client has heard since it spoke last."""
        return self.say_bytes(b"".join(encode(one, self.version) for one in packets))

    def say_bytes(self, data: bytes) -> list[p.Packet]:
        self.house.tell(e.Received(self.number, data))
        return self.take()

    def take(self) -> list[p.Packet]:
        heard, self.heard = self.heard, []
        return heard

    def vanish(self) -> None:
        self.closed = True
        self.house.clients.pop(self.number, None)
        self.house.tell(e.Closed(self.number))


class House:
    """A broker, its clients and its journal. Records are on disk at once unless `lazy`, then when `sync` is called."""

    def __init__(
        self, parameters: Parameters = QUIET, durable: bool = True, lazy: bool = False, guard: Guard | None = None
    ) -> None:
        self.parameters = parameters
        self.durable = durable
        self.lazy = lazy
        self.now = START
        self.records: list[bytes] = []
        self.synced = 0
        self.clients: dict[int, Client] = {}
        self.effects: list[e.Effect] = []  # all but sends and records
        self._held: list[e.Effect] = []
        self._numbers = iter(range(1, 10**9))
        self.guard = guard
        self.broker = Broker(parameters, self.now, durable=durable, guard=guard)

    def connect(self, client: str = "", version: p.Version = V3, clean: bool = True, **more: object) -> Client:
        one = self.open(version)
        self.tell(e.Received(one.number, encode(p.Connect(client, version, clean, **more), version)))  # type: ignore[arg-type]
        return one

    def greeted(self, client: str = "", version: p.Version = V3, clean: bool = True, **more: object) -> Client:
        """A client that has been let in, without what it heard of it."""
        one = self.open(version)
        heard = one.say(p.Connect(client, version, clean, **more))  # type: ignore[arg-type]
        assert isinstance(heard[0], p.Connack)
        assert heard[0].code == 0
        one.heard = heard[1:]
        return one

    def open(self, version: p.Version = V3, visitor: Visitor = HERE) -> Client:
        one = Client(self, next(self._numbers), version)
        self.clients[one.number] = one
        self.tell(e.Opened(one.number, visitor))
        return one

    def tell(self, event: e.Event) -> None:
        self._carry_out(self.broker.handle(event, self.now))
        self.broker.check_invariants()
        self.go_on()

    def go_on(self) -> None:
        """All that is left to do at once, a turn after the other."""
        while self.broker.next_deadline() == AT_ONCE:
            self._carry_out(self.broker.on_timer(self.now))
            self.broker.check_invariants()

    def wait(self, seconds: float) -> None:
        """Time passes, and what is due happens when it is."""
        until = self.now + seconds
        while (due := self.broker.next_deadline()) is not None and due <= until:
            self.now = max(self.now, due)
            self._carry_out(self.broker.on_timer(self.now))
            self.broker.check_invariants()
        self.now = until

    def sync(self) -> None:
        """All records so far are on disk."""
        self.synced = len(self.records)
        held, self._held = self._held, []
        self._carry_out(held)

    def restart(self, snapshot: bool = False) -> None:
        """The power fails. What was not synced is lost."""
        del self.records[self.synced :]
        if snapshot:
            self.records = list(self.restored().records())
            self.synced = len(self.records)
        for one in self.clients.values():
            one.closed = True
        self.clients.clear()
        self._held.clear()
        self.broker = self.restored()

    def restored(self) -> Broker:
        recovery = Recovery()
        recovery.replay(self.records)
        broker = Broker(self.parameters, self.now, durable=self.durable, position=len(self.records), guard=self.guard)
        self._carry_out(broker.restore(recovery, self.now))
        return broker

    def _carry_out(self, effects: list[e.Effect]) -> None:
        for effect in effects:
            match effect:
                case e.Append(record):
                    self.records.append(record)
                    if not self.lazy:
                        self.synced = len(self.records)
                case e.Send(number, data, after):
                    if number not in self.clients:
                        continue
                    if after > self.synced or any(getattr(one, "connection", 0) == number for one in self._held):
                        self._held.append(effect)
                    else:
                        self.clients[number].hear(data)
                case e.Unsay(number):
                    self._held = [one for one in self._held if getattr(one, "connection", 0) != number]
                case e.Close(number):
                    if any(getattr(one, "connection", 0) == number for one in self._held):
                        self._held.append(effect)
                    elif number in self.clients:
                        self.clients.pop(number).closed = True
                        self._carry_out(self.broker.handle(e.Closed(number), self.now))
                case e.CheckPassword(number, password, kept):
                    checked = e.PasswordChecked(number, kept.matches(password))
                    self._carry_out(self.broker.handle(checked, self.now))
                case _:
                    self.effects.append(effect)


def subscribe(client: Client, *filters: str, qos: int = 0, **options: object) -> list[p.Packet]:
    requests = tuple(p.Request(one, qos, **options) for one in filters)  # type: ignore[arg-type]
    return client.say(p.Subscribe(1, requests))
