"""Bridges of a fleet of real Mosquittos, planned and drawn by hand: messages between brokers, and deliveries a second.

    python benchmarks/fleet.py [--brokers 16] [--publications 20000] [--rounds 3] [--only plan]

Every broker is a site with devices, whose topics are published there and nowhere else, and one client that subscribes:
to half of the topics of its region of four sites, and to a few others. All brokers run on this machine, so that what
brokers have to do is what decides. Load is raw sockets on loopback, QoS 0, payloads of 100 bytes, with so many
deliveries open at once. The systems take turns, the median of the rounds counts.

    plan                     `weft design` and `weft export` with the publishers known
    full mesh, subscribed    a bridge from everybody to everybody, for the topics that the other side subscribes to:
                             the fewest messages that there can be
    full mesh, everything    the same, for all topics of a site
    star, everything         all sites bridged to the first one with `#`, both ways

A full mesh works only since every topic is published at one broker; else its messages would go round for ever.
Messages between brokers are counted by Mosquitto itself ($SYS), and beside them by the score of `weft inspect`.
"""

import argparse
import contextlib
import os
import selectors
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import weft
from weft.fleet.bridge import Bridge, Line
from weft.fleet.broker import Broker
from weft.fleet.client import CLIENTS, FILTERS
from weft.fleet.fleet import Fleet
from weft.fleet.mosquitto import configuration
from weft.fleet.plan import plan_of
from weft.fleet.score import Score, edges_of_fleet, score
from weft.model.instance import Instance, instance_from_pairs
from weft.model.publication import Publications
from weft.model.publisher import Publishers
from weft.wire.mqtt.packet import Connack, Connect, Publish, Request, Subscribe, Version
from weft.wire.mqtt.parser import Parser
from weft.wire.mqtt.writer import encode

V = Version.V311
PAYLOAD = bytes(100)
DEVICES = 20  # topics of a site
REGION = 4  # sites
OPEN = 4_000  # deliveries that are under way, at most
COUNT = "$SYS/broker/publish/messages/received"


@dataclass(frozen=True)
class Sites:
    instance: Instance
    bridges: dict[str, tuple[Bridge, ...]]  # by system

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(map(self.instance.node_name, range(self.instance.nodes)))

    def topics(self, site: int) -> range:
        return range(site * DEVICES, (site + 1) * DEVICES)

    def score(self, system: str) -> Score:
        topics = tuple(map(self.instance.topic_name, range(self.instance.topics)))
        tables = CLIENTS.empty_table(), FILTERS.empty_table()
        fleet = Fleet("mosquitto", self.names, topics, self.bridges[system], *tables, given=self.instance)
        known = self.instance.publishers
        assert known is not None
        return score(self.instance, edges_of_fleet(fleet), Publications(known.topics, known.nodes))


def sites(count: int) -> Sites:
    instance = instance_of(count)
    overlay = weft.design(instance, "swico-even", seed=1)
    names = tuple(map(instance.node_name, range(count)))
    pairs = [(one, other) for one in range(count) for other in range(count) if one != other]
    bridges = {
        "plan": plan_of(instance, overlay, weft.weave(instance, overlay)).bridges,
        "full mesh, subscribed": tuple(
            Bridge(names[one], names[other], lines) for one, other in pairs if (lines := wanted(instance, one, other))
        ),
        "full mesh, everything": tuple(
            Bridge(names[one], names[other], (Line(f"{names[one]}/#", "out"),)) for one, other in pairs
        ),
        "star, everything": tuple(Bridge(name, names[0], (Line("#", "both"),)) for name in names[1:]),
    }
    return Sites(instance, bridges)


def instance_of(count: int) -> Instance:
    random = np.random.default_rng(1)
    site = np.repeat(np.arange(count), DEVICES)
    near = np.arange(count)[:, None] // REGION == site[None, :] // REGION
    subscribes = random.random(near.shape) < np.where(near, 0.5, 0.03)
    names = [f"site{place:02}/device{topic % DEVICES:02}" for topic, place in enumerate(site)]
    made = instance_from_pairs(
        *np.nonzero(subscribes),
        node_count=count,
        topic_count=len(site),
        node_names=np.array([f"site{place:02}" for place in range(count)], object),
        topic_names=np.array(names, object),
    )
    publishers = Publishers(site.astype(np.int32), np.arange(len(site), dtype=np.int32), np.ones(len(site)))
    return Instance(made.interest, made.node_names, made.topic_names, {}, publishers)


def wanted(instance: Instance, site: int, other: int) -> tuple[Line, ...]:
    own = [topic for topic in instance.interest[other].tolist() if topic // DEVICES == site]
    return tuple(Line(instance.topic_name(topic), "out") for topic in own)


# Brokers


@contextlib.contextmanager
def running(given: Sites, system: str) -> Iterator[list[int]]:
    """Brokers with the bridges of a system; their ports."""
    path = shutil.which("mosquitto", path=os.environ["PATH"] + ":/usr/sbin")
    if path is None:
        sys.exit("mosquitto is not installed.")
    ports = free_ports(len(given.names))
    brokers = {name: Broker(name, "127.0.0.1", port) for name, port in zip(given.names, ports, strict=True)}
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        for name, broker in brokers.items():
            file = Path(folder) / f"{name}.conf"
            file.write_text(
                f"listener {broker.port} 127.0.0.1\nallow_anonymous true\nuser root\nlog_dest none\nsys_interval 1\n"
                f"max_queued_messages 0\n{configuration(name, given.bridges[system], brokers)}"
            )
            quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
            process = subprocess.Popen([path, "-c", str(file)], **quiet)
            stack.callback(process.wait)
            stack.callback(process.terminate)
        for port in ports:
            await_port(port)
        yield ports


def free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        held = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in held:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in held]


def await_port(port: int) -> None:
    until = time.monotonic() + 20
    while time.monotonic() < until:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
            return
        time.sleep(0.02)
    sys.exit(f"Nobody listens on port {port}.")


def received(ports: list[int]) -> int:
    """Publications that all brokers have received, from clients and bridges, when the count rests."""
    found = [-1, -2, -3]
    while len(set(found[-3:])) > 1:  # Mosquitto counts every second, later on a busy machine
        found.append(sum(counted(port) for port in ports))
        time.sleep(1.5)
    return found[-1]


def counted(port: int) -> int:
    with connected(port, "counter") as one:
        one.sendall(encode(Subscribe(1, (Request(COUNT, 0),)), V))
        parser = Parser(version=V)
        while True:
            for packet in parser.feed(one.recv(4096)):
                if isinstance(packet, Publish):
                    return int(packet.payload)


# Clients


def connected(port: int, name: str) -> socket.socket:
    one = socket.create_connection(("127.0.0.1", port))
    one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    one.sendall(encode(Connect(name, V, True), V))
    assert isinstance(next(iter(Parser(version=V).feed(one.recv(1000)))), Connack)
    return one


class Load:
    """A publisher and a subscriber at every broker. All deliveries have as many bytes, by which they are counted."""

    def __init__(self, given: Sites, ports: list[int]) -> None:
        instance = given.instance
        self.given, self.got = given, 0
        self.size = len(encode(Publish(instance.topic_name(0), PAYLOAD), V))
        self.wire = selectors.DefaultSelector()
        self.publishers = [connected(port, "publisher") for port in ports]
        for node, port in enumerate(ports):
            one = connected(port, "subscriber")
            topics = [instance.topic_name(topic) for topic in instance.interest[node].tolist()]
            one.sendall(encode(Subscribe(1, tuple(Request(topic, 0) for topic in topics)), V))
            one.recv(4096)
            self.wire.register(one, selectors.EVENT_READ)
        self.packets = [
            [encode(Publish(instance.topic_name(topic), PAYLOAD), V) for topic in given.topics(site)]
            for site in range(len(ports))
        ]

    def round(self) -> int:
        """One publication on every topic; how many deliveries there should be."""
        for one, packets in zip(self.publishers, self.packets, strict=True):
            one.sendall(b"".join(packets))
        return self.given.instance.subscriptions

    def read(self, seconds: float) -> int:
        """Deliveries so far, after waiting so long for more."""
        for key, _ in self.wire.select(seconds):
            self.got += len(key.fileobj.recv(1 << 20))  # type: ignore[union-attr]
        return self.got // self.size

    def await_bridges(self) -> None:
        for _ in range(100):
            self.got, due = 0, self.round()
            until = time.monotonic() + 1
            while self.read(0.05) < due and time.monotonic() < until:
                pass
            if self.read(0.2) == due:
                return
        sys.exit("The bridges are not up after 100 tries.")

    def run(self, rounds: int) -> tuple[int, float]:
        """Deliveries, and the seconds that they took."""
        self.got, due, start = 0, 0, time.perf_counter()
        for _ in range(rounds):
            due += self.round()
            while due - self.read(0) > OPEN:
                pass
        until = time.monotonic() + 60
        while self.read(0.01) < due:
            if time.monotonic() > until:
                sys.exit(f"{due - self.got // self.size} of {due} deliveries did not come.")
        return due, time.perf_counter() - start

    def close(self) -> None:
        for one in [*self.publishers, *(key.fileobj for key in self.wire.get_map().values())]:
            one.close()  # type: ignore[union-attr]


def measured(given: Sites, system: str, publications: int) -> tuple[float, float]:
    """Messages between brokers a publication, and deliveries a second."""
    rounds = max(1, publications // given.instance.topics)
    with running(given, system) as ports:
        load = Load(given, ports)
        load.await_bridges()
        before = received(ports)
        deliveries, seconds = load.run(rounds)
        load.close()
        published = rounds * given.instance.topics
        return (received(ports) - before - published) / published, deliveries / seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--brokers", type=int, default=16)
    parser.add_argument("--publications", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", action="append", help="one of the systems; may be repeated")
    options = parser.parse_args()
    given = sites(options.brokers)
    found: dict[str, list[tuple[float, float]]] = {system: [] for system in options.only or given.bridges}
    for _ in range(options.rounds):
        for system in found:
            found[system].append(measured(given, system, options.publications))
    print("| bridges | how many | most at a broker | messages a publication | counted | relays | deliveries/s |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for system, rows in found.items():
        ends = [name for bridge in given.bridges[system] for name in (bridge.owner, bridge.remote)]
        messages, rate = (statistics.median(column) for column in zip(*rows, strict=True))
        totals = given.score(system).totals
        counts = f"{totals['messages'] / totals['publications']:.2f} | {totals['relays'] / totals['publications']:.2f}"
        most = max(map(ends.count, given.names))
        print(f"| {system} | {len(ends) // 2} | {most} | {messages:.2f} | {counts} | {rate:,.0f} |")


if __name__ == "__main__":
    main()
