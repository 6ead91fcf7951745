"""The conformance suite once more, in a network: every connection of a test goes to another node than the one before.

The network is simulated, so that time is virtual and all of it runs in this process. What is about bytes that no other
node sees (test_mqtt_conformance_format.py) and about seconds (time) is left to the node alone.
"""

import itertools
import socket
from collections.abc import Iterator
from typing import Any

import pytest

import test_mqtt_conformance_connect
import test_mqtt_conformance_delivery
import test_mqtt_conformance_publish
import test_mqtt_conformance_subscribe
import test_mqtt_conformance_topic
from mqtt_broker import Broker
from mqtt_peer import Peer
from weft.sim.cluster.cluster import Cluster
from weft.sim.cluster.process import NodeProcess
from weft.sim.cluster.wire import Wire

SUITES = (
    test_mqtt_conformance_connect,
    test_mqtt_conformance_delivery,
    test_mqtt_conformance_publish,
    test_mqtt_conformance_subscribe,
    test_mqtt_conformance_topic,
)
NODES = 4
TICK = 0.001  # seconds of virtual time
CROSSING = 0.05  # that pass after whatever is sent, so that it has come to all nodes: nobody is told so of QoS 0


def is_test(name: str, value: object) -> bool:
    """Tests of the suites that need nothing but a broker, and their fixtures."""
    if not name.startswith("test_") or not callable(value):
        return type(value).__name__ == "FixtureFunctionDefinition"
    wanted = value.__code__.co_varnames[: value.__code__.co_argcount]
    return "broker_address" not in wanted and "tmp_path" not in wanted


for suite in SUITES:
    globals().update({name: value for name, value in vars(suite).items() if is_test(name, value)})


class VirtualSocket:
    """Does as much of a socket's work as a Peer needs; while it waits, time passes for the whole network."""

    def __init__(self, world: Cluster, node: NodeProcess, name: str) -> None:
        self.world = world
        self.timeout = 10.0
        self.data = bytearray()
        self.is_open = True
        self.wire: Wire | None = world.wires.connect(name, node.name, self, node.take_client)

    def sendall(self, data: bytes) -> None:
        if not self.is_open:
            raise BrokenPipeError
        assert self.wire is not None
        self.wire.send(self, data)
        self.world.wait(CROSSING)

    def recv(self, size: int) -> bytes:
        until = self.world.agenda.now + self.timeout
        while not self.data and self.is_open:
            if self.world.agenda.now > until:
                raise TimeoutError
            self.world.wait(TICK)
        taken = bytes(self.data[:size])
        del self.data[:size]
        return taken

    def settimeout(self, seconds: float) -> None:
        self.timeout = seconds

    def shutdown(self, how: int) -> None:
        assert how == socket.SHUT_WR

    def close(self) -> None:
        if self.wire is not None:
            self.wire.close(self)
            self.wire = None
            self.is_open = False
            self.world.wait(TICK)

    def received(self, wire: Wire, data: bytes) -> None:
        self.data += data

    def broken(self, wire: Wire) -> None:
        self.is_open = False


class NetworkPeer(Peer):
    def __init__(self, made: VirtualSocket, version: int, monkeypatch: pytest.MonkeyPatch) -> None:
        with monkeypatch.context() as patch:
            patch.setattr(socket, "create_connection", lambda *_: made)
            super().__init__(("", 0), version)


class NetworkBroker(Broker):
    """Four nodes as one broker."""

    def __init__(self, world: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__(("", 0))
        self.world = world
        self.turns = itertools.count()
        self.monkeypatch = monkeypatch

    def dial(self, version: int) -> Peer:
        turn = next(self.turns)
        made: Any = VirtualSocket(self.world, self.world.nodes[turn % NODES], f"peer{turn}")
        made.setsockopt = lambda *_: None
        peer = NetworkPeer(made, version, self.monkeypatch)
        self.peers.append(peer)
        return peer


@pytest.fixture(scope="module")
def network() -> Iterator[Cluster]:
    world = Cluster(NODES, seed=1)
    world.start()
    yield world
    world.check_invariants()


@pytest.fixture
def broker(network: Cluster, monkeypatch: pytest.MonkeyPatch) -> Iterator[Broker]:
    with NetworkBroker(network, monkeypatch) as made:
        yield made
