"""Clients that hold a network to its word: what was acknowledged, and who got it.

Publishers publish with QoS 1, a number at a time, on a topic each; where their node is gone they go on at another.
Subscribers subscribe to all of that with persistent sessions, and wait for their node where it is gone. A publication
is acknowledged, or it is unknown what has become of it; only the former are promises.
"""

import asyncio
import contextlib
import ssl
import struct
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from functools import partial

from weft.live.fleet import HOST
from weft.wire.mqtt.packet import Connack, Connect, Packet, Puback, Publish, Request, Suback, Subscribe, Version
from weft.wire.mqtt.parser import Parser
from weft.wire.mqtt.writer import encode

V = Version.V311
RETRY = 0.1  # seconds between attempts to connect
ANSWER = 5.0  # seconds for CONNACK and SUBACK
LATE = 0.5  # seconds from which a delivery is late

Said = tuple[int, int]  # publisher and number


@dataclass
class Ledger:
    sent: dict[Said, float] = field(default_factory=dict)  # when
    acknowledged: dict[Said, float] = field(default_factory=dict)  # when
    heard: dict[int, dict[Said, float]] = field(default_factory=dict)  # by subscriber, when first
    duplicates: int = 0

    def hear(self, subscriber: int, said: Said) -> None:
        heard = self.heard[subscriber]
        self.duplicates += said in heard
        heard.setdefault(said, time.monotonic())

    def missing(self) -> list[tuple[int, Said]]:
        """Deliveries of acknowledged publications that have not come: to which subscriber, of what."""
        return [(one, said) for one, heard in self.heard.items() for said in self.acknowledged if said not in heard]

    def last_late(self, since: float, but: Collection[int]) -> float:
        """When the last publication was made since a moment that came late to a subscriber, some people left out."""
        late = [
            self.sent[said]
            for subscriber, heard in self.heard.items()
            for said in self.acknowledged
            if subscriber not in but and said[0] not in but and self.sent[said] >= since
            if heard.get(said, time.monotonic()) - self.sent[said] > LATE
        ]
        return max(late, default=since)

    def last_heard(self, before: float) -> float:
        """When the last of what was published before a moment came to the last subscriber."""
        return max(
            (heard[said] for heard in self.heard.values() for said in self.acknowledged if self.sent[said] < before),
            default=before,
        )


class Client(asyncio.Protocol):
    """A connection; what comes goes to its owner."""

    def __init__(self, take: Callable[["Client", Packet], None]) -> None:
        self._take = take
        self._parser = Parser(version=V)
        self.lost = asyncio.Event()
        self.transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        for packet in self._parser.feed(data):
            self._take(self, packet)

    def connection_lost(self, exc: Exception | None) -> None:
        self.lost.set()

    def send(self, packet: Packet) -> None:
        if self.transport is not None and not self.lost.is_set():
            self.transport.write(encode(packet, V))


def _itself(client: Client) -> Client:
    return client


class Person:
    """Somebody who connects, and connects again whenever the connection is gone."""

    def __init__(self, name: str, ports: Sequence[int], *, clean: bool, tls: ssl.SSLContext | None = None) -> None:
        self._name, self._ports, self._clean, self._tls = name, ports, clean, tls
        self._place = 0
        self._answers: asyncio.Queue[Packet] = asyncio.Queue()
        self.client: Client | None = None  # while connected
        self._task = asyncio.ensure_future(self._live())

    def end(self) -> None:
        self._task.cancel()
        if self.client is not None and self.client.transport is not None:
            self.client.transport.abort()

    async def _live(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            client = Client(self._take)
            with contextlib.suppress(OSError, TimeoutError):
                await loop.create_connection(partial(_itself, client), HOST, self._ports[self._place], ssl=self._tls)
                async with asyncio.timeout(ANSWER):
                    await self._greet(client)
                self.client = client
                await client.lost.wait()
            if client.transport is not None:
                client.transport.abort()
            self.client = None
            self._place = (self._place + 1) % len(self._ports)
            await asyncio.sleep(RETRY)

    async def _greet(self, client: Client) -> None:
        while not self._answers.empty():
            self._answers.get_nowait()
        client.send(Connect(self._name, V, self._clean))
        answer = await self._answer(client)
        if not isinstance(answer, Connack) or answer.code:
            raise OSError("refused")
        await self._begin(client, answer)

    async def _answer(self, client: Client) -> Packet:
        """The next answer, or an error where the connection is gone."""
        get, lost = asyncio.ensure_future(self._answers.get()), asyncio.ensure_future(client.lost.wait())
        done, _ = await asyncio.wait([get, lost], return_when=asyncio.FIRST_COMPLETED)
        lost.cancel()
        if get not in done:
            get.cancel()
            raise OSError("closed")
        return get.result()

    async def _begin(self, client: Client, connack: Connack) -> None:
        """Do what comes first on a connection."""

    def _take(self, client: Client, packet: Packet) -> None:
        self._answers.put_nowait(packet)


class Publisher(Person):
    def __init__(self, number: int, ports: Sequence[int], ledger: Ledger, rate: float) -> None:
        super().__init__(f"publisher-{number}", ports, clean=True)
        self.number, self._ledger, self._rate = number, ledger, rate
        self._count = 0
        self._open: dict[int, Said] = {}  # by packet identifier
        self.talks = asyncio.Event()
        self._talking = asyncio.ensure_future(self._talk())

    def end(self) -> None:
        self._talking.cancel()
        super().end()

    async def _begin(self, client: Client, connack: Connack) -> None:
        self._open.clear()  # what has become of these is not known

    async def _talk(self) -> None:
        while True:
            await self.talks.wait()
            if self.client is not None and len(self._open) < 1000:
                self._say(self.client)
            await asyncio.sleep(1 / self._rate)

    def _say(self, client: Client) -> None:
        self._count += 1
        said, identifier = (self.number, self._count), self._count % 65_535 + 1
        self._open[identifier] = said
        self._ledger.sent[said] = time.monotonic()
        payload = struct.pack("!II", *said)
        client.send(Publish(f"promise/{self.number}", payload, 1, packet_id=identifier))

    def _take(self, client: Client, packet: Packet) -> None:
        if isinstance(packet, Puback):
            said = self._open.pop(packet.packet_id, None)
            if said in self._ledger.sent:  # else it is of a trial before
                self._ledger.acknowledged[said] = time.monotonic()
        else:
            super()._take(client, packet)


class Subscriber(Person):
    def __init__(self, number: int, port: int, ledger: Ledger) -> None:
        super().__init__(f"subscriber-{number}", [port], clean=False)
        self.number, self._ledger = number, ledger
        self.subscribed = asyncio.Event()
        ledger.heard[number] = {}

    async def _begin(self, client: Client, connack: Connack) -> None:
        if not self.subscribed.is_set():
            client.send(Subscribe(1, (Request("promise/+", 1),)))
            while not isinstance(await self._answer(client), Suback):
                pass
            self.subscribed.set()

    def _take(self, client: Client, packet: Packet) -> None:
        if not isinstance(packet, Publish):
            super()._take(client, packet)
            return
        self._ledger.hear(self.number, struct.unpack("!II", packet.payload))
        client.send(Puback(packet.packet_id))
