"""What a content-based broker of ours can forward, measured between two processes as PopSub's section 5.1 does.

One process publishes to a broker in another, over TCP, in batches of one size after the other; the broker reads the
bytes, matches its subscriptions, decides, and writes the bytes for the next link. A publication counts when all of them
have been dealt with, which the broker says at the end. How much of the work is writing is measured in this process: a
publication costs that for each additional link.
"""

import os
import platform
import socket
import struct
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from multiprocessing import get_context
from pathlib import Path
from statistics import fmean

import numpy as np

from weft.errors import SurroundingsError
from weft.model.content import Advertisement, Content, Filter, Subscription, between
from weft.protocol.popsub.broker import Broker
from weft.protocol.popsub.codec import decode, encode
from weft.protocol.popsub.message import Advertise, Batch, Forward, Publication, Subscribe, Subscribed
from weft.protocol.popsub.parameters import Parameters, Way
from weft.protocol.router import Received, Send

SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
ISSUER, NEXT = 1, 2
CLASSES, EXTENT = 20, 1000.0  # of content: two attributes, as in the paper
OWN = 200  # one subscription of so many is of the broker's own clients
PATIENCE = 300.0  # seconds that the other process may take
_LENGTH = struct.Struct(">I")
END = _LENGTH.pack(0)


@dataclass(frozen=True)
class CapacityTable:
    rates: dict[int, float]  # publications a second in batches of each size
    additional: float  # share of writing
    subscriptions: int
    publications: int
    repeats: int

    def text(self, command: str) -> str:
        """The file that `weft popsub` reads."""
        speedup = ", ".join(f"{rate / self.rates[1]:.3f}" for rate in self.rates.values())
        versions = ", ".join(f"{name} {version(name)}" for name in ("numpy", "numba"))
        return f"""# What a broker of ours can forward, measured; see docs/popsub.md.
[provenance]
date = {datetime.now(UTC):%Y-%m-%d}
command = "{command}"
machine = "{_machine()}, {os.cpu_count()} cores"
versions = "Python {platform.python_version()}, {versions}"
subscriptions = {self.subscriptions}
own_subscriptions = {self.subscriptions // OWN}
publications = {self.publications}
repeats = {self.repeats}

[capacity]
publications_per_second = {self.rates[1]:.0f}
additional = {self.additional:.3f}  # of a unit, for each link but the first that a publication is written for

[batch]  # a batch of n takes n / speedup(n) units of capacity
sizes = [{", ".join(map(str, self.rates))}]
speedup = [{speedup}]
"""


def measured_between_processes(
    subscriptions: int, publications: int, repeats: int, done: Callable[[int], None] = lambda _: None
) -> CapacityTable:
    """The table; `done` hears of the sizes that have been measured."""
    rates = {}
    with _broker_process(subscriptions) as connection:
        _throughput(connection, 1, 10, 0)  # makes the index, and compiles
        for number, size in enumerate(SIZES, 1):
            rates[size] = fmean(_throughput(connection, size, publications, 1 + seed) for seed in range(repeats))
            done(number)
    broker = prepared(subscriptions)
    share = fmean(write_share(broker, publications, 1 + seed) for seed in range(repeats))
    return CapacityTable(rates, share, subscriptions, publications, repeats)


def prepared(subscriptions: int) -> Broker:
    """A broker that knows an advertisement of each class, and subscriptions, most of them behind one link."""
    broker = Broker(0, [ISSUER, NEXT], Way.BATCH, Parameters(diameter=0.0, capacity=1.0))
    for kind in range(CLASSES):
        broker.handle(Received(ISSUER, Advertise(Advertisement(kind, Filter(f"class {kind}", {})))), 0.0)
    for number, wanted in enumerate(_drawn_filters(np.random.default_rng(1), subscriptions)):
        subscription = Subscription(number, wanted)
        local = number < subscriptions // OWN
        broker.handle(Subscribed(subscription) if local else Received(NEXT, Subscribe(subscription, NEXT, 1)), 0.0)
    for data in frames(1, 10, 0):
        broker.handle(Received(ISSUER, decode(data)), 0.0)
    return broker


def _drawn_filters(rng: np.random.Generator, count: int) -> list[Filter]:
    """Filters of a class with a range in each attribute, whose ends are uniform."""
    ends = np.sort(rng.uniform(0.0, EXTENT, (count, 2, 2)), axis=2).tolist()
    kinds = rng.integers(CLASSES, size=count).tolist()
    return [
        Filter(f"class {kind}", {"x": between(*x), "y": between(*y)}) for kind, (x, y) in zip(kinds, ends, strict=True)
    ]


def _drawn_contents(rng: np.random.Generator, count: int) -> list[Content]:
    values = rng.uniform(0.0, EXTENT, (count, 2)).tolist()
    kinds = rng.integers(CLASSES, size=count).tolist()
    return [Content(f"class {kind}", {"x": x, "y": y}) for kind, (x, y) in zip(kinds, values, strict=True)]


def frames(size: int, count: int, seed: int) -> list[bytes]:
    """Messages with so many publications, in batches of a size; a batch has one advertisement, that is one class."""
    contents = sorted(_drawn_contents(np.random.default_rng(seed), count), key=lambda content: content.kind)
    said = [
        Publication(ISSUER, (seed * max(SIZES) + size) * count + number, int(content.kind.split()[1]), said=content)
        for number, content in enumerate(contents)
    ]
    if size == 1:
        return [encode(Forward(publication, 1)) for publication in said]
    return [encode(Batch(tuple(said[start : start + size]), 1)) for start in range(0, count, size)]


def write_share(broker: Broker, count: int, seed: int) -> float:
    """The share of writing in the time that publications take one by one."""
    arriving = frames(1, count, seed + count)
    start = time.perf_counter()
    effects = [effect for data in arriving for effect in broker.handle(Received(ISSUER, decode(data)), 0.0)]
    handled = time.perf_counter()
    for effect in effects:
        if isinstance(effect, Send):
            encode(effect.message)
    written = time.perf_counter()
    return (written - handled) / (written - start)


def _throughput(connection: socket.socket, size: int, count: int, seed: int) -> float:
    messages = [_LENGTH.pack(len(data)) + data for data in frames(size, count, seed)]
    start = time.perf_counter()
    for message in messages:
        connection.sendall(message)
    connection.sendall(END)
    if connection.recv(1) != b"!":
        raise SurroundingsError("The process of the broker has ended: see what it said.")
    return count / (time.perf_counter() - start)


@contextmanager
def _broker_process(subscriptions: int) -> Iterator[socket.socket]:
    """A connection to a broker in a process of its own."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(PATIENCE)
        port = server.getsockname()[1]
        process = get_context("spawn").Process(target=_serve, args=(port, subscriptions), daemon=True)
        process.start()
        try:
            connection, _ = server.accept()
            with connection:
                connection.settimeout(PATIENCE)
                yield connection
        except TimeoutError as error:
            raise SurroundingsError(f"The process of the broker has not answered for {PATIENCE:.0f} s.") from error
        finally:
            process.terminate()
            process.join()


def _serve(port: int, subscriptions: int) -> None:
    """Deal with messages until the connection ends; a message of no bytes is answered."""
    broker = prepared(subscriptions)
    with socket.create_connection(("127.0.0.1", port)) as connection, connection.makefile("rb") as stream:
        while head := stream.read(_LENGTH.size):
            (length,) = _LENGTH.unpack(head)
            if length == 0:
                connection.sendall(b"!")
                continue
            _deal_with(broker, stream.read(length))


def _deal_with(broker: Broker, data: bytes) -> Sequence[bytes]:
    effects = broker.handle(Received(ISSUER, decode(data)), 0.0)
    return [encode(effect.message) for effect in effects if isinstance(effect, Send)]


def _machine() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
