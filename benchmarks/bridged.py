"""Fleets of brokers on loopback: a Weft network, and Mosquittos that bridges join to a star or a full mesh.

Mosquitto passes on over all bridges whatever matches them, so a full mesh with a pattern for everything would go round
for ever. Topics here name the broker that they are published at, and each bridge of the mesh carries those of one
broker: nothing goes further than one hop. A star carries everything both ways.
"""

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from weft.live.address import Address
from weft.live.bench.client import connected, subscribe
from weft.live.bench.load import Load, Manner
from weft.wire.mqtt.packet import Publish, Version
from weft.wire.mqtt.parser import Parser

WEFT = [sys.executable, "-c", "from weft.cli import main; main()"]
STARTING = 120.0  # seconds

CONFIG = """listener {port} 127.0.0.1
allow_anonymous true
max_queued_messages 0
max_inflight_messages 1000
log_dest none
persistence false
set_tcp_nodelay true
user root
"""
BRIDGE = """connection {name}
address 127.0.0.1:{port}
topic {pattern} {way} 1
clientid {name}
cleansession true
notifications false
restart_timeout 1
bridge_protocol_version mqttv311
"""


@dataclass(frozen=True)
class Fleet:
    name: str
    targets: list[Address]
    master: Address | None = None
    pids: tuple[int, ...] = ()  # of the brokers; without Weft's master


def named_by_origin(load: Load, targets: list[Address]) -> Load:
    """The same load, with topics that name the broker that they are published at."""
    places = {target: place for place, target in enumerate(targets)}
    origin = [0] * load.topics
    for one in load.publishers:
        for stream in one.streams.tolist():
            origin[load.stream_topics[stream]] = places[one.target]
    digits = len(str(load.topics - 1))
    names = [topic_name(load.run, origin[topic], b"%0*d" % (digits, topic)) for topic in range(load.topics)]
    return replace(load, names=names)


def topic_name(run: str, origin: int, rest: bytes) -> bytes:
    return b"weft-bench/%s/%03d/%s" % (run.encode(), origin, rest)


@contextlib.contextmanager
def weft_network(nodes: int, port: int, *options: str) -> Iterator[Fleet]:
    command = [*WEFT, "up", "--nodes", str(nodes), "--port", str(port), *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        pids = []
        while not (line := process.stdout.readline()).startswith("ready"):
            if not line:
                sys.exit("weft up did not start.")
            pids.append(int(line.split()[-1]))
        targets = [Address("127.0.0.1", port + n) for n in range(nodes)]
        yield Fleet("Weft", targets, Address("127.0.0.1", port + nodes), tuple(pids[:nodes]))
    finally:
        process.terminate()
        process.wait()


def mosquitto_star(nodes: int, port: int) -> "contextlib.AbstractContextManager[Fleet]":
    """The first is the hub, and has clients as the others."""
    hub = [BRIDGE.format(name=f"leaf-{n}", port=port, pattern="weft-bench/#", way="both") for n in range(nodes)]
    return _mosquittos("Mosquitto, star", port, [[], *([bridge] for bridge in hub[1:])])


def mosquitto_mesh(nodes: int, port: int) -> "contextlib.AbstractContextManager[Fleet]":
    def bridge(n: int, m: int) -> str:
        return BRIDGE.format(name=f"from-{n}-to-{m}", port=port + m, pattern=f"weft-bench/+/{n:03}/#", way="out")

    bridges = [[bridge(n, m) for m in range(nodes) if m != n] for n in range(nodes)]
    return _mosquittos("Mosquitto, full mesh", port, bridges)


@contextlib.contextmanager
def _mosquittos(name: str, port: int, bridges: list[list[str]]) -> Iterator[Fleet]:
    path = shutil.which("mosquitto", path=os.environ["PATH"] + ":/usr/sbin")
    if path is None:
        sys.exit("mosquitto is not installed.")
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        pids = []
        for n, own in enumerate(bridges):
            config = Path(folder) / f"{n}.conf"
            config.write_text(CONFIG.format(port=port + n) + "".join(own))
            pids.append(stack.enter_context(_running([path, "-c", str(config)])))
        fleet = Fleet(name, [Address("127.0.0.1", port + n) for n in range(len(bridges))], None, tuple(pids))
        await_joined(fleet)
        yield fleet


@contextlib.contextmanager
def _running(command: list[str]) -> Iterator[int]:
    """Number of the process."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield process.pid
    finally:
        process.terminate()
        process.wait()


def await_joined(fleet: Fleet) -> None:
    """Publish at every broker until all have heard all."""
    for target in fleet.targets:
        _await_port(target)
    clients = [(f"ready-{n}", target) for n, target in enumerate(fleet.targets)]
    hear, say = connected(clients, Manner()), connected([(f"{name}-p", target) for name, target in clients], Manner())
    subscribe([(one, [b"weft-bench/ready/#"]) for one in hear], 0)
    parsers, heard = [Parser(version=Version.V311) for _ in hear], [set[str]() for _ in hear]
    until = time.monotonic() + STARTING
    while any(len(one) < len(say) for one in heard):
        if time.monotonic() > until:
            sys.exit(f"{fleet.name}: not all brokers hear each other.")
        for n, one in enumerate(say):
            one.say(Publish(topic_name("ready", n, b"x").decode(), b"x"))
        time.sleep(0.1)
        for n, one in enumerate(hear):
            heard[n] |= {packet.topic for packet in _waiting(one.socket, parsers[n])}
    for one in (*hear, *say):
        one.socket.close()


def _waiting(one: socket.socket, parser: Parser) -> Iterator[Publish]:
    one.setblocking(False)
    with contextlib.suppress(BlockingIOError):
        for packet in parser.feed(one.recv(1 << 20)):
            if isinstance(packet, Publish):
                yield packet


def _await_port(target: Address) -> None:
    until = time.monotonic() + STARTING
    while time.monotonic() < until:
        with contextlib.suppress(OSError), socket.create_connection((target.host, target.port)):
            return
        time.sleep(0.02)
    sys.exit(f"Nobody listens at {target}.")
