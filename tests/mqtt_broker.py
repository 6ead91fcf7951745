"""The broker under test, one process a session: `weft node`, or what the variable MQTT_BROKER says.

    pytest tests/test_mqtt_conformance_*.py                          weft node
    MQTT_BROKER=mosquitto pytest tests/test_mqtt_conformance_*.py    Mosquitto, to test the tests
    MQTT_BROKER=HOST:PORT pytest tests/test_mqtt_conformance_*.py    a broker that runs already; a second
                                                                     HOST:PORT behind a comma: its WebSockets

A suite that no broker has ever run against proves little, so it is kept green against Mosquitto too. The tests that
Mosquitto fails, each with the reason why it is Mosquitto that is wrong, are `KNOWN_IN_MOSQUITTO`; they are expected to
fail there, and one that passes after all fails the run.
"""

import os
import shutil
import socket
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

import pytest
from mqtt_peer import DEADLINE, Peer

# Test, as pytest names it, to what Mosquitto 2.0.11 does there.
KNOWN_IN_MOSQUITTO: dict[str, str] = {}

MOSQUITTO = """
listener {port} 127.0.0.1
listener {websocket} 127.0.0.1
protocol websockets
allow_anonymous true
max_packet_size 1000000
max_queued_messages 0
persistence false
"""


class Broker:
    """Address of a broker, and the connections that a test has made to it."""

    def __init__(self, address: tuple[str, int]) -> None:
        self.address = address
        self.peers: list[Peer] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for peer in self.peers:
            peer.drop()

    def dial(self, version: int) -> Peer:
        """Connection on which nothing has been said yet."""
        peer = Peer(self.address, version)
        self.peers.append(peer)
        return peer

    def join(self, version: int, client_id: str | bytes | None = None, **options: Any) -> Peer:
        """Connected client; the options are those of `mqtt_peer.connect`."""
        peer = self.dial(version)
        connack = peer.connect(client_id, **options)
        assert connack.code == 0, connack
        return peer


@pytest.fixture(scope="session")
def broker_addresses(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[tuple[str, int]]]:
    """Where the broker listens: MQTT first, MQTT over WebSockets second where that is known."""
    where = os.environ.get("MQTT_BROKER", "weft")
    if ":" in where:
        given = [each.rpartition(":") for each in where.split(",")]
        yield [(host, int(port)) for host, _, port in given]
        return
    folder = tmp_path_factory.mktemp("broker")
    ports = free_ports()
    process = {"weft": weft, "mosquitto": mosquitto}[where](*ports, folder)
    try:
        yield [("127.0.0.1", port) for port in ports]
    finally:
        process.terminate()
        process.wait(DEADLINE)


@pytest.fixture(scope="session")
def broker_address(broker_addresses: list[tuple[str, int]]) -> tuple[str, int]:
    return broker_addresses[0]


@pytest.fixture
def broker(broker_address: tuple[str, int]) -> Iterator[Broker]:
    with Broker(broker_address) as broker:
        yield broker


def free_ports() -> tuple[int, int]:
    with socket.create_server(("127.0.0.1", 0)) as one, socket.create_server(("127.0.0.1", 0)) as two:
        return one.getsockname()[1], two.getsockname()[1]


def weft(port: int, websocket: int, folder: Path) -> "subprocess.Popen[str]":
    """`weft node`; it prints a line that begins with `ready` when clients can connect."""
    listen = ["--listen", f"127.0.0.1:{port}", "--listen", f"ws://127.0.0.1:{websocket}"]
    options = [*listen, "--data", str(folder / "data"), "--sync", "process"]
    command = [sys.executable, "-c", "from weft.cli import main; main()", "node", *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, errors="replace")
    assert process.stdout is not None
    if not any(line.startswith("ready") for line in iter(process.stdout.readline, "")):
        pytest.fail(f"weft node ended with {process.wait(DEADLINE)} before it was ready", pytrace=False)
    swallow(process.stdout)
    return process


def mosquitto(port: int, websocket: int, folder: Path) -> "subprocess.Popen[str]":
    """Mosquitto; its log says `running` when clients can connect."""
    program = shutil.which("mosquitto", path=f"{os.environ['PATH']}:/usr/sbin")
    assert program, "MQTT_BROKER=mosquitto needs Debian's package mosquitto"
    (folder / "mosquitto.conf").write_text(MOSQUITTO.format(port=port, websocket=websocket))
    command = [program, "-v", "-c", str(folder / "mosquitto.conf")]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, errors="replace")
    assert process.stderr is not None
    assert any("running" in line for line in iter(process.stderr.readline, ""))
    swallow(process.stderr)
    return process


def swallow(stream: IO[str]) -> None:
    """Reads a stream to its end, so that the process never waits for a reader."""
    threading.Thread(target=deque, args=(stream, 0), daemon=True).start()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if os.environ.get("MQTT_BROKER") == "mosquitto":
        for item in items:
            if item.name in KNOWN_IN_MOSQUITTO:
                item.add_marker(pytest.mark.xfail(reason=KNOWN_IN_MOSQUITTO[item.name], strict=True))
