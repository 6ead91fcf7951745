"""A Weft network beside what else carries the same: relays, throughput, latency, processor, subscribing, failing.

    python benchmarks/network.py [--parts relays,fleets,processor,subscriptions,failures,bursts] [--nodes 32]

All nodes, Mosquittos and clients share the cores of one machine, on loopback: the ratios are what counts. The load is
`weft bench`'s, in the shape of a generated social instance: its users are clients, user i at broker i modulo their
number.
"""

import argparse
import asyncio
import contextlib
import json
import math
import os
import select
import signal
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from bridged import WEFT, Fleet, mosquitto_mesh, mosquitto_star, named_by_origin, weft_network
from markdown import head, row
from processor import processor
from weft.live.address import Address
from weft.live.bench.client import connected, subscribe
from weft.live.bench.load import Load, Manner, instance_load
from weft.live.bench.measurement import measure as measured
from weft.live.bench.relays import relays_a_delivery, settled_passages
from weft.live.operator import ask
from weft.model.instance import Instance, read_instance
from weft.model.overlay import Overlay, read_overlay
from weft.model.publication import Publications
from weft.sim.bulk import evaluate
from weft.wire import frame as w
from weft.wire.frame_codec import FrameReader
from weft.wire.frame_codec import encode as encode_frame
from weft.wire.mqtt.packet import Pingreq, Publish, Request, Subscribe, Version
from weft.wire.mqtt.parser import Parser
from weft.wire.mqtt.writer import encode
from weft.workloads.catalog import generate

V = Version.V311
ENDS = {"killed: its connections close": signal.SIGKILL, "stopped: it is silent": signal.SIGSTOP}


def weft(*arguments: object) -> dict[str, Any]:
    """What a command of Weft answers."""
    done = subprocess.run([*WEFT, *map(str, arguments), "--json"], stdout=subprocess.PIPE, text=True, check=True)
    return dict(json.loads(done.stdout))


def measure(load: Load, manner: Manner) -> dict[str, Any]:
    found = measured(load, manner)
    if found["interrupted"]:
        sys.exit(1)
    return found


# Relays


def relays(size: argparse.Namespace) -> None:
    """Relays a delivery as nodes count them, and of other routers over the same links, simulated.

    What is counted is published when every publisher has published before: then its node knows a way to each tree, and
    the design has links and trees for it.
    """
    users = generate("social", nodes=size.users, seed=1)
    head("router", "nodes", "topics", "links of a node", "3 ceil(log2 n)", "deliveries to nodes", "relays a delivery")
    with tempfile.TemporaryDirectory() as folder, weft_network(size.nodes, size.port, "--sync", "none") as fleet:
        load = instance_load(users, fleet.targets)
        with subscribers_of(load):
            publish(load, size)
            live, overlay = put_in_place(fleet, Path(folder))
            links = max(node["links"] for node in settled(fleet)["nodes"])
            same = (size.nodes, live.topics, links, 3 * math.ceil(math.log2(size.nodes)))
            delivered, share = counted(fleet, lambda: publish(load, size))
            row("Weave, live", *same, f"{delivered:,}", f"{share:.4f}")
            said = as_published(load, live, fleet)
            for router in ("weave", "pie", "scribe"):
                found = evaluate(live, overlay, router, said, seed=1)
                share = found.routing_overhead / found.deliveries
                row(f"{router.capitalize()}, simulated", *same, f"{found.deliveries:,}", f"{share:.4f}")


def put_in_place(fleet: Fleet, folder: Path) -> tuple[Instance, Overlay]:
    """A design for what the network subscribes to now."""
    master, live, overlay = ("--master", str(fleet.master)), folder / "live", folder / "overlay"
    settled(fleet)
    weft("snapshot", *master, "--out", live)
    weft("design", live, "--overlay", "swico-even", "--seed", 1, "--out", overlay)
    settled(fleet)
    weft("apply", overlay, *master, "--yes")
    return read_instance(live), read_overlay(overlay)


def as_published(load: Load, live: Instance, fleet: Fleet) -> Publications:
    """One publication of every stream of a load, at the node where its publisher is."""
    places = {target: f"node-{n}" for n, target in enumerate(fleet.targets)}
    pairs = [
        (live.topic_called(load.names[load.stream_topics[stream]].decode()), live.node_called(places[one.target]))
        for one in load.publishers
        for stream in one.streams.tolist()
    ]
    topics, nodes = np.array(pairs, np.int32).T
    return Publications(topics, nodes)


@contextlib.contextmanager
def subscribers_of(load: Load) -> Iterator[None]:
    """Subscribers of a load that stay while it is designed."""
    channels = connected([(f"{one.client}-stays", one.target) for one in load.subscribers], Manner())
    names = [[load.names[topic] for topic in one.topics] for one in load.subscribers]
    subscribe(list(zip(channels, names, strict=True)), 0)
    try:
        yield
    finally:
        for channel in channels:
            channel.socket.close()


def sockets_of(clients: Sequence[tuple[str, Address]]) -> list[socket.socket]:
    """Connections of clients that are let in."""
    return [channel.socket for channel in connected(clients, Manner())]


def publish(load: Load, size: argparse.Namespace) -> None:
    """Publish in the shape of a load, at its rate."""
    found = measure(load, Manner(rate=size.rate, seconds=size.seconds))
    if found["losses"] or found["duplicates"]:
        print(f"{found['losses']} losses, {found['duplicates']} duplicates", file=sys.stderr)


def settled(fleet: Fleet) -> dict[str, Any]:
    """The status when all nodes are up, and all links of the design and no others."""
    until = time.monotonic() + 180
    while time.monotonic() < until:
        status = ask(master_of(fleet), "status")
        states = [node["state"] for node in status["nodes"]]
        whole = states == ["up"] * len(fleet.targets) and status["links"] == status["links_up"]
        if whole and status["redesign"] == "none":
            return dict(status)
        time.sleep(0.2)
    sys.exit("The network does not settle: not all nodes and links are up.")


def master_of(fleet: Fleet) -> Address:
    assert fleet.master is not None
    return fleet.master


def counted(fleet: Fleet, work: Callable[[], None]) -> tuple[int, float]:
    """Deliveries to nodes while something was done, and relays for each."""
    before = settled_passages(master_of(fleet))
    work()
    after = settled_passages(master_of(fleet))
    return after.delivered - before.delivered, relays_a_delivery(before, after) or 0.0


# Fleets


FLEETS = {"Weft": weft_network, "Mosquitto, full mesh": mosquitto_mesh, "Mosquitto, star": mosquitto_star}


def fleets(size: argparse.Namespace) -> None:
    """The same clients and load at a Weft network and at bridged Mosquittos, in turn.

    Latencies are those of topics that have been published on before: then Weft has trees that begin at publishers.
    """
    users = generate("social", nodes=size.clients, seed=1)
    head("fleet", "brokers", "deliveries/s", "publications/s for latency", "median: ms", "99 %: ms")
    for name, start in FLEETS.items():
        rates, medians, tails = [], [], []
        for _ in range(size.repeat):
            with start(size.fleet, size.port) as fleet:
                found = measure(shaped(users, fleet), Manner(seconds=size.seconds, wait=0.2))
                rates.append(found["deliveries_per_second"])
            with start(size.fleet, size.port) as fleet:
                load = shaped(users, fleet)
                publish_once(load, fleet)
                time.sleep(size.reported)
                found = measure(load, Manner(rate=size.calm, seconds=size.calm_seconds))
                medians.append(found["latency_ms"]["p50"])
                tails.append(found["latency_ms"]["p99"])
        latencies = [f"{statistics.median(one):,.2f}" for one in (medians, tails)]
        row(name, size.fleet, f"{statistics.median(rates):,.0f}", f"{size.calm:,.0f}", *latencies)


def publish_once(load: Load, fleet: Fleet) -> None:
    """Publish on every topic of a load where its publishers do; nobody subscribes yet."""
    clients = connected([(f"once-{n}", target) for n, target in enumerate(fleet.targets)], Manner())
    at = dict(zip(fleet.targets, clients, strict=True))
    for one in load.publishers:
        for topic in load.stream_topics[one.streams].tolist():
            at[one.target].say(Publish(load.names[topic].decode(), b""))
    for one in clients:
        one.say(Pingreq())
        one.next()  # the answer: all of it is read
        one.socket.close()


def shaped(users: Instance, fleet: Fleet) -> Load:
    return named_by_origin(instance_load(users, fleet.targets), fleet.targets)


# Subscriptions


def subscriptions(size: argparse.Namespace) -> None:
    """How long it takes from SUBSCRIBE until what is published at every other node comes."""
    head("brokers", "subscriptions", "in place everywhere, median: ms", "90 %: ms", "longest: ms")
    with weft_network(size.fleet, size.port) as fleet:
        say = sockets_of([(f"say-{n}", target) for n, target in enumerate(fleet.targets)])
        times = sorted(subscribed(fleet, say, trial) * 1e3 for trial in range(size.trials))
    middle, late = times[len(times) // 2], times[len(times) * 9 // 10]
    row(size.fleet, size.trials, f"{middle:.0f}", f"{late:.0f}", f"{times[-1]:.0f}")


def subscribed(fleet: Fleet, say: list[socket.socket], trial: int) -> float:
    """Seconds from SUBSCRIBE to the first publication of the last node that is delivered."""
    home = trial % len(say)
    (hear,) = sockets_of([(f"hear-{trial}", fleet.targets[home])])
    parser, first = Parser(version=V), dict[int, float]()
    topic, begin = f"place/{trial}", time.monotonic()
    hear.sendall(encode(Subscribe(1, (Request(topic, 0),)), V))
    hear.setblocking(False)
    while len(first) < len(say):
        if time.monotonic() - begin > 30:
            sys.exit("A subscription is not in place after 30 s.")
        for n, one in enumerate(say):
            one.sendall(encode(Publish(topic, struct.pack("!Id", n, time.monotonic())), V))
        for packet in received(hear, parser, until=time.monotonic() + 0.002):
            n, at = struct.unpack("!Id", packet.payload)
            first.setdefault(n, at)
    hear.close()
    return max(first.values()) - begin


def received(one: socket.socket, parser: Parser, until: float) -> Iterator[Publish]:
    """What comes to a socket until a moment."""
    while (left := until - time.monotonic()) > 0:
        if select.select([one], [], [], left)[0]:
            data = one.recv(1 << 18)
            if not data:
                sys.exit("A subscriber was closed.")
            yield from (packet for packet in parser.feed(data) if isinstance(packet, Publish))


# Failures


def failures(size: argparse.Namespace) -> None:
    """A node ends: when the master knows, and when the last was published that one of the others missed.

    It is the node that most trees pass through: the end of one that only subscribes would hurt nobody.
    """
    head("a node is", "nodes", "times", "trees through it", "missed", "found after: s", "complete after: s")
    for told, number in ENDS.items():
        trials = []
        for _ in range(size.failures):
            with weft_network(size.fleet, size.port) as fleet:
                trials.append(fail(fleet, number, size))
        through, missed, *times = zip(*trials, strict=True)
        figures = [f"{statistics.median(one):.2f}, at most {max(one):.2f}" for one in times]
        row(told, size.fleet, size.failures, f"{min(through)} to {max(through)}", f"{sum(missed):,}", *figures)


def fail(fleet: Fleet, number: signal.Signals, size: argparse.Namespace) -> tuple[int, int, float, float]:
    """Trees through the node, deliveries missed, seconds until the master knows, and until the last that was missed."""
    channels = connected([(f"hear-{n}", target) for n, target in enumerate(fleet.targets)], Manner())
    topics = [b"fail/%d" % n for n in range(len(fleet.targets))]
    subscribe([(channel, topics) for channel in channels], 0)
    hear = [channel.socket for channel in channels]
    victim, through = most_passed(fleet, topics)
    stays = hear.pop(victim)  # open to the end: if it left, trees would no more pass through its node
    others = [n for n in range(len(fleet.targets)) if n != victim]
    say = sockets_of([(f"say-{n}", fleet.targets[n]) for n in others])
    everybody = Everybody(hear, say, [topics[n] for n in others])
    everybody.publish(size.before, lambda: False)
    os.kill(fleet.pids[victim], number)
    ended, found = time.monotonic(), list[float]()

    def noticed() -> bool:
        if not found and is_down(fleet, victim):
            found.append(time.monotonic() - ended)
        return bool(found) and time.monotonic() > ended + found[0] + size.after

    everybody.publish(60.0, noticed)
    missed = everybody.missed(size.late)
    stays.close()
    with contextlib.suppress(ProcessLookupError):
        os.kill(fleet.pids[victim], signal.SIGKILL)
    return through, len(missed), found[0], max(missed, default=ended) - ended


def most_passed(fleet: Fleet, topics: list[bytes]) -> tuple[int, int]:
    """The node that has two neighbours or more in most trees, and in how many."""
    passed: Counter[str] = Counter()
    for topic in topics:
        tree = ask(master_of(fleet), "explain", {"topic": topic.decode()})["trees"][0]
        ends = [name for one in tree["members"] if one["from"] for name in (one["node"], one["from"])]
        passed.update(name for name, count in Counter(ends).items() if count > 1)
    name, through = passed.most_common(1)[0] if passed else ("node-1", 0)
    return int(name.removeprefix("node-")), through


class Everybody:
    """Clients that publish on a topic each, and others that subscribe to all of them."""

    def __init__(self, hear: list[socket.socket], say: list[socket.socket], topics: list[bytes]) -> None:
        self._hear, self._say, self._topics = hear, say, topics
        self._parsers = [Parser(version=V) for _ in hear]
        self._heard = [set[tuple[int, int]]() for _ in hear]  # publisher and round
        self._sent: list[float] = []  # when each round was published

    def publish(self, seconds: float, over: Callable[[], bool]) -> None:
        """Publish, all of them, twenty times a second."""
        end = time.monotonic() + seconds
        while time.monotonic() < end and not over():
            for n, one in enumerate(self._say):
                payload = struct.pack("!II", n, len(self._sent))
                one.sendall(encode(Publish(self._topics[n].decode(), payload), V))
            self._sent.append(time.monotonic())
            self._gather(time.monotonic() + 0.05)

    def missed(self, late: float) -> list[float]:
        """When each delivery was published that somebody did not get, however late."""
        self._gather(time.monotonic() + late)
        whole = {(n, at) for n in range(len(self._say)) for at in range(len(self._sent))}
        return [self._sent[at] for one in self._heard for _, at in whole - one]

    def _gather(self, until: float) -> None:
        while (left := until - time.monotonic()) > 0:
            for one in select.select(self._hear, [], [], left)[0]:
                n = self._hear.index(one)
                for packet in self._parsers[n].feed(one.recv(1 << 18)):
                    if isinstance(packet, Publish):
                        self._heard[n].add(struct.unpack("!II", packet.payload))  # type: ignore[arg-type]


def is_down(fleet: Fleet, victim: int) -> bool:
    states = {node["name"]: node["state"] for node in ask(master_of(fleet), "status")["nodes"]}
    return states.get(f"node-{victim}") != "up"


# Bursts


def bursts(size: argparse.Namespace) -> None:
    """Many come at once, while the master is asked again and again whether it is well."""
    head("at once", "nodes", "how many", "in place after: s", "answers of the master, median: ms", "longest: ms")
    users = generate("social", nodes=size.burst, seed=1)
    with weft_network(size.fleet, size.port, "--sync", "none") as fleet, asked(master_of(fleet)) as answers:
        begin = time.monotonic()
        with subscribers_of(instance_load(users, fleet.targets)):
            row("clients subscribe", size.fleet, f"{size.burst:,}", *told(begin, answers))
    with lone_master(size.port) as master, asked(master) as answers:
        begin = time.monotonic()
        asyncio.run(join_all(master, size.joining))
        row("nodes join", size.joining, size.joining, *told(begin, answers))


def told(begin: float, answers: list[float]) -> list[str]:
    times = (statistics.median(answers) * 1e3, max(answers) * 1e3)
    return [f"{time.monotonic() - begin:.1f}", *(f"{one:,.1f}" for one in times)]


@contextlib.contextmanager
def asked(master: Address) -> Iterator[list[float]]:
    """Seconds that answers take, twenty times a second."""
    answers, over = [0.0], threading.Event()

    def go_on_asking() -> None:
        while not over.wait(0.05):
            begin = time.monotonic()
            with socket.create_connection((master.host, master.port), 60.0) as one:
                one.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
                one.recv(4096)
            answers.append(time.monotonic() - begin)

    thread = threading.Thread(target=go_on_asking)
    thread.start()
    try:
        yield answers
    finally:
        over.set()
        thread.join()


@contextlib.contextmanager
def lone_master(port: int) -> Iterator[Address]:
    command = [*WEFT, "master", "--listen", f"127.0.0.1:{port}", "--quiet"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("ready")
        yield Address("127.0.0.1", port)
    finally:
        process.terminate()
        process.wait()


class Joining(asyncio.Protocol):
    """A node that is there for the master alone: it says of every link that it is up."""

    def __init__(self, name: str) -> None:
        self.name, self.joined = name, asyncio.Event()
        self._reader = FrameReader()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self._say(w.Hello(w.VERSION, "", w.Role.NODE, self.name, w.NOBODY, 1, "127.0.0.1:9"))

    def data_received(self, data: bytes) -> None:
        for frame in self._reader.feed(data):
            match frame:
                case w.Hello():
                    address = ("127.0.0.1:9", ("127.0.0.1:9",))
                    self._say(w.Join(self.name, 1, w.NOBODY, *address, 0, (), (), (), 0))
                case w.Peers(_, _, _, peers):
                    for peer in peers:
                        self._say(w.LinkMade(peer.node, 0.1))
                case w.Tables():
                    self.joined.set()
                case w.Ping(token):
                    self._say(w.Pong(token))

    def _say(self, frame: w.Frame) -> None:
        self.transport.write(encode_frame(frame))


def _itself(one: Joining) -> Joining:
    return one


async def join_all(master: Address, count: int) -> None:
    loop = asyncio.get_running_loop()
    nodes = [Joining(f"node-{n}") for n in range(count)]
    for one in nodes:
        await loop.create_connection(partial(_itself, one), master.host, master.port)
    for one in nodes:
        await one.joined.wait()


PARTS = {
    "relays": relays,
    "fleets": fleets,
    "processor": processor,
    "subscriptions": subscriptions,
    "failures": failures,
    "bursts": bursts,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("--nodes", type=int, default=32, help="of the network whose relays are counted")
    parser.add_argument("--users", type=int, default=2000, help="and of its social instance: topics and clients")
    parser.add_argument("--rate", type=float, default=400.0, help="publications a second there")
    parser.add_argument("--fleet", type=int, default=16, help="brokers, beside as many Mosquittos")
    parser.add_argument("--clients", type=int, default=400, help="that subscribe there, and as many that publish")
    parser.add_argument("--calm", type=float, default=50.0, help="publications a second for latencies")
    parser.add_argument("--calm-seconds", type=float, default=20.0, help="that it is published for latencies")
    parser.add_argument("--reported", type=float, default=2.0, help="seconds for nodes to tell the master of the first")
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--messages", type=int, default=400, help="whose processor time is counted")
    parser.add_argument("--trials", type=int, default=30, help="subscriptions")
    parser.add_argument("--failures", type=int, default=3)
    parser.add_argument("--before", type=float, default=2.0, help="seconds that all publish before a failure")
    parser.add_argument("--late", type=float, default=3.0, help="seconds that the last deliveries have to come")
    parser.add_argument("--after", type=float, default=5.0, help="seconds that others publish after a failure is found")
    parser.add_argument("--burst", type=int, default=2000, help="clients that subscribe at once")
    parser.add_argument("--joining", type=int, default=500, help="nodes that join at once")
    parser.add_argument("--port", type=int, default=26_000, help="the first of all that are used")
    size = parser.parse_args()
    for part in size.parts.split(","):
        PARTS[part](size)


if __name__ == "__main__":
    main()
