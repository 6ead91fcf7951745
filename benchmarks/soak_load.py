"""Clients of a soak: some stay and hold the network to its word, many come and go with new names.

Publishers with QoS 0, 1 and 2 and subscribers with wildcards have kept sessions; some subscribers go from node to
node. Visitors come with filters, wills and sessions of their own, some under a name that was there before, and half of
them leave without a word. Names are published once and never again, half of them wanted by somebody; retained messages
are cleared after a while.
"""

import asyncio
import contextlib
import random
import ssl
import struct
import time
from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from promise import Client, Person
from weft.live.fleet import HOST
from weft.wire.mqtt import packet as p
from weft.wire.mqtt.parser import Parser
from weft.wire.mqtt.property import Property
from weft.wire.mqtt.writer import encode

V5 = p.Version.V5
WINDOW = 100  # publications of a publisher that are not acknowledged
VISIT = 40.0  # seconds until a visitor gives up
OLD = 50  # names of visitors that have been there
GROUP = -1  # who hears as a member of the shared subscription

Said = tuple[int, int]  # publisher and number


@dataclass
class Account:
    """What was promised, and what has come."""

    sent: Counter[int] = field(default_factory=Counter)  # by QoS
    acknowledged: dict[Said, int] = field(default_factory=dict)  # with which QoS
    heard: dict[int, set[Said]] = field(default_factory=dict)  # by subscriber
    staying: set[int] = field(default_factory=set)  # subscribers that stay at their node
    twice: Counter[bool] = field(default_factory=Counter)  # of QoS 2, by whether the subscriber stays
    visits: Counter[str] = field(default_factory=Counter)

    def hear(self, subscriber: int, said: Said, qos: int) -> None:
        heard = self.heard[subscriber]
        self.twice[subscriber in self.staying] += qos == 2 and said in heard
        heard.add(said)

    def due(self) -> int:
        return len(self.acknowledged) * len(self.heard)

    def missing(self) -> int:
        return sum(len(self.acknowledged.keys() - heard) for heard in self.heard.values())


class Publisher(Person):
    def __init__(self, number: int, ports: Sequence[int], account: Account, qos: int, rate: float, size: int) -> None:
        super().__init__(f"publisher-{number}", ports, clean=False)
        self.number, self._account, self._qos, self._rate = number, account, qos, rate
        self._padding = bytes(size)
        self._count = 0
        self._open: dict[int, tuple[Said, bool]] = {}  # by identifier; whether it is released
        self.talks = asyncio.Event()
        self._talking = asyncio.ensure_future(self._talk())

    def end(self) -> None:
        self._talking.cancel()
        super().end()

    async def _begin(self, client: Client, connack: p.Connack) -> None:
        if not connack.session_present:
            self._open.clear()  # what has become of these is not known
        for identifier, (said, released) in self._open.items():
            client.send(p.Pubrel(identifier) if released else self._packet(said, identifier, dup=True))

    async def _talk(self) -> None:
        while True:
            await self.talks.wait()
            if self.client is not None and len(self._open) < WINDOW:
                self._say(self.client)
            await asyncio.sleep(1 / self._rate)

    def _say(self, client: Client) -> None:
        self._count += 1
        said, identifier = (self.number, self._count), self._count % 65_535 + 1
        self._account.sent[self._qos] += 1
        if self._qos:
            self._open[identifier] = said, False
        client.send(self._packet(said, identifier if self._qos else 0))

    def _packet(self, said: Said, identifier: int, dup: bool = False) -> p.Publish:
        payload = struct.pack("!IIB", *said, self._qos) + self._padding
        return p.Publish(f"promise/{self.number}", payload, self._qos, dup=dup, packet_id=identifier)

    def _take(self, client: Client, packet: p.Packet) -> None:
        match packet:
            case p.Puback(identifier):
                self._acknowledge(identifier)
                self._open.pop(identifier, None)
            case p.Pubrec(identifier):
                self._acknowledge(identifier)
                if identifier in self._open:
                    self._open[identifier] = self._open[identifier][0], True
                client.send(p.Pubrel(identifier))
            case p.Pubcomp(identifier):
                self._open.pop(identifier, None)
            case _:
                super()._take(client, packet)

    def _acknowledge(self, identifier: int) -> None:
        if identifier in self._open:
            self._account.acknowledged[self._open[identifier][0]] = self._qos


class Subscriber(Person):
    """Somebody who hears everything, as one of its own or as a member of the group."""

    def __init__(
        self, name: str, ports: Sequence[int], account: Account, number: int, tls: ssl.SSLContext | None = None
    ) -> None:
        super().__init__(name, ports, clean=False, tls=tls)
        self._account, self._number = account, number
        self._received: set[int] = set()  # identifiers of QoS 2 that are not released
        self.subscribed = asyncio.Event()
        account.heard.setdefault(number, set())

    def move(self) -> None:
        """Go to the next node."""
        if self.client is not None and self.client.transport is not None:
            self.client.transport.abort()

    async def _begin(self, client: Client, connack: p.Connack) -> None:
        if not connack.session_present:
            self._received.clear()
        if not self.subscribed.is_set():
            pattern = "$share/group/promise/+" if self._number == GROUP else "promise/+"
            client.send(p.Subscribe(1, (p.Request(pattern, 2),)))
            while not isinstance(await self._answer(client), p.Suback):
                pass
            self.subscribed.set()

    def _take(self, client: Client, packet: p.Packet) -> None:
        match packet:
            case p.Publish():
                self._hear(client, packet)
            case p.Pubrel(identifier):
                self._received.discard(identifier)
                client.send(p.Pubcomp(identifier))
            case _:
                super()._take(client, packet)

    def _hear(self, client: Client, packet: p.Publish) -> None:
        *said, qos = struct.unpack_from("!IIB", packet.payload)
        if packet.qos < 2 or packet.packet_id not in self._received:
            self._account.hear(self._number, (said[0], said[1]), qos)
        if packet.qos == 1:
            client.send(p.Puback(packet.packet_id))
        elif packet.qos == 2:
            self._received.add(packet.packet_id)
            client.send(p.Pubrec(packet.packet_id))


class Wanting(Person):
    """Somebody who subscribes to half of the names."""

    async def _begin(self, client: Client, connack: p.Connack) -> None:
        client.send(p.Subscribe(1, (p.Request("d/#", 0),)))


class Naming(Person):
    """Somebody who publishes on a new name each time."""

    async def go_on(self, rate: float) -> None:
        count = 0
        while True:
            if self.client is not None:
                count += 1
                self.client.send(p.Publish(f"{'dx'[count % 2]}/{self._name}/{time.monotonic_ns()}", b"x" * 20))
            await asyncio.sleep(1 / rate)


class Retaining(Person):
    """Somebody whose retained messages are cleared after a while, all of them."""

    def __init__(self, name: str, ports: Sequence[int], length: int) -> None:
        super().__init__(name, ports, clean=True)
        self._padding = "x" * length
        self._due: deque[tuple[float, str]] = deque()
        self._clearing: dict[int, str] = {}
        self._numbers = 0

    async def go_on(self, rate: float, keep: float) -> None:
        while True:
            if self.client is not None and len(self._clearing) < WINDOW:
                topic = f"r/{self._name}/{time.monotonic_ns()}/{self._padding}"
                self._due.append((time.monotonic() + keep, topic))
                self._send(self.client, topic, bytes(100))
                while self._due and self._due[0][0] < time.monotonic():
                    _, old = self._due.popleft()
                    self._clearing[self._send(self.client, old, b"")] = old
            await asyncio.sleep(1 / rate)

    def _send(self, client: Client, topic: str, payload: bytes) -> int:
        self._numbers = self._numbers % 65_535 + 1
        client.send(p.Publish(topic, payload, 1, retain=True, packet_id=self._numbers))
        return self._numbers

    async def _begin(self, client: Client, connack: p.Connack) -> None:
        self._due.extendleft((0.0, topic) for topic in self._clearing.values())
        self._clearing.clear()

    def _take(self, client: Client, packet: p.Packet) -> None:
        if isinstance(packet, p.Puback):
            self._clearing.pop(packet.packet_id, None)
        else:
            super()._take(client, packet)


class Visitors:
    """Clients that come and go."""

    def __init__(self, ports: Sequence[int], account: Account, chance: random.Random, stay: float) -> None:
        self._ports, self._account, self._chance, self._stay = ports, account, chance, stay
        self._old: deque[str] = deque(maxlen=OLD)
        self._inside: set[asyncio.Task[None]] = set()
        self._number = 0

    async def go_on(self, rate: float) -> None:
        while True:
            task = asyncio.ensure_future(self._visit())
            self._inside.add(task)
            task.add_done_callback(self._inside.discard)
            await asyncio.sleep(1 / rate)

    async def _visit(self) -> None:
        self._number += 1
        again = bool(self._old) and self._chance.random() < 0.2
        name = self._old[self._chance.randrange(len(self._old))] if again else f"visitor-{self._number}"
        try:
            async with asyncio.timeout(VISIT):
                await self._stay_for_a_while(name)
            self._account.visits["served"] += 1
            self._old.append(name)
        except (OSError, TimeoutError, EOFError):
            self._account.visits["not served"] += 1

    async def _stay_for_a_while(self, name: str) -> None:
        chance, own = self._chance, f"v/{name}"
        reader, writer = await asyncio.open_connection(HOST, chance.choice(self._ports))
        parser = Parser(version=V5)
        expiry = chance.randint(5, 60) if chance.random() < 0.25 else 0
        will = p.Will("w/gone", name.encode(), 1) if chance.random() < 0.4 else None
        properties = {Property.SESSION_EXPIRY_INTERVAL: expiry}
        try:
            await _said(reader, writer, parser, p.Connect(name, V5, not expiry, 60, will, properties=properties))
            filters = (f"{own}/#", f"v/+/{self._number}", f"{own}/x", f"v/{self._number}/+")[: chance.randint(2, 4)]
            await _said(reader, writer, parser, p.Subscribe(1, tuple(p.Request(one, 1) for one in filters)))
            for number in range(3):
                writer.write(encode(p.Publish(f"{own}/{number}", b"x" * 50), V5))
            await asyncio.sleep(self._stay * (0.5 + chance.random()))
            if chance.random() < 0.5:
                writer.write(encode(p.Disconnect(), V5))
                await writer.drain()
            else:
                writer.transport.abort()
        finally:
            writer.close()


async def _said(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, parser: Parser, packet: p.Packet) -> None:
    """Say a packet, and wait for its answer."""
    writer.write(encode(packet, V5))
    while data := await reader.read(65_536):
        for answer in parser.feed(data):
            match answer:
                case p.Connack(_, code) if code:
                    raise ConnectionRefusedError
                case p.Connack() | p.Suback():
                    return
                case p.Disconnect():
                    raise EOFError
    raise EOFError


@dataclass(frozen=True)
class Rates:
    publications: float  # a second, of all publishers
    names: float
    retained: float
    length: int  # bytes of their names
    visitors: float
    payload: int  # bytes
    keep: float  # seconds that a retained message is there
    stay: float  # seconds of a visit


class Load:
    def __init__(
        self, ports: Sequence[int], tls_port: int, tls: ssl.SSLContext, rates: Rates, chance: random.Random
    ) -> None:
        self.account, each = Account(), rates.publications / 6
        around = [[*ports[n:], *ports[:n]] for n in range(len(ports))]
        self._publishers = [
            Publisher(n, [ports[n % len(ports)]], self.account, n % 3, each, rates.payload) for n in range(6)
        ]
        self._stay = [Subscriber(f"subscriber-{n}", [port], self.account, n) for n, port in enumerate(ports[:4])]
        self._stay.append(Subscriber("subscriber-tls", [tls_port], self.account, len(self._stay), tls))
        self.account.staying.update(range(len(self._stay)))
        self._movers = [Subscriber(f"mover-{n}", around[n], self.account, 5 + n) for n in range(2)]
        self._members = [Subscriber(f"member-{n}", [ports[n % len(ports)]], self.account, GROUP) for n in range(3)]
        naming = [Naming(f"naming-{n}", [port], clean=True) for n, port in enumerate(ports)]
        retaining = [Retaining(f"retaining-{n}", [port], rates.length) for n, port in enumerate(ports)]
        wanting = Wanting("wanting", [ports[-1]], clean=True)
        self._people: list[Person] = [*self._publishers, *self._stay, *self._movers, *self._members]
        self._people += [*naming, *retaining, wanting]
        visitors = Visitors(ports, self.account, chance, rates.stay)
        self._tasks = [
            *(asyncio.ensure_future(one.go_on(rates.names / len(ports))) for one in naming),
            *(asyncio.ensure_future(one.go_on(rates.retained / len(ports), rates.keep)) for one in retaining),
            asyncio.ensure_future(visitors.go_on(rates.visitors)),
        ]

    async def subscribed(self) -> None:
        for one in (*self._stay, *self._movers, *self._members):
            await one.subscribed.wait()

    def talk(self, talks: bool) -> None:
        for one in self._publishers:
            (one.talks.set if talks else one.talks.clear)()

    def move(self) -> None:
        for one in self._movers:
            one.move()

    async def complete(self, patience: float) -> None:
        """Wait until all has come that is due, or has had the time for it."""
        until = time.monotonic() + patience
        while self.account.missing() and time.monotonic() < until:
            await asyncio.sleep(0.5)

    async def end(self) -> None:
        for task in self._tasks:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
        for one in self._people:
            one.end()
