"""A real `weft node` for tests: a process on a free port of the loopback, with its folder."""

import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile

import paho.mqtt.client as mqtt
from paho.mqtt.enums import CallbackAPIVersion, MQTTProtocolVersion

from forked_weft import Forked

COMMAND = [sys.executable, "-c", "from weft.cli import main; main()", "node"]
PATIENCE = 20.0  # seconds until something that should happen has not


class Node:
    def __init__(self, *options: str, before: Callable[[], None] | None = None) -> None:
        self._log = TemporaryFile("w+")  # noqa: SIM115 - a pipe would have to be read
        listen = ("--listen", "127.0.0.1:0")
        self.process: Forked | subprocess.Popen[str]
        if before is None:
            self.process = Forked("node", *listen, *options, stderr=self._log)
        else:
            command = [*COMMAND, *listen, *options]
            files = {"stdout": subprocess.PIPE, "stderr": self._log}
            self.process = subprocess.Popen(command, **files, text=True, preexec_fn=before)  # type: ignore[call-overload]
        assert self.process.stdout is not None
        self.ready = self.process.stdout.readline().split()
        assert self.ready[:1] == ["ready"], self.stop()
        self.port = self.port_of(1)

    def port_of(self, place: int) -> int:
        return int(self.ready[place].rpartition(":")[2])

    def stop(self, number: int = signal.SIGTERM) -> tuple[int, str]:
        """The exit code, and the log."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        code = self.process.wait(PATIENCE)
        self._log.seek(0)
        return code, self._log.read()


@contextmanager
def node(*options: str, before: Callable[[], None] | None = None) -> Iterator[Node]:
    one = Node(*options, before=before)
    try:
        yield one
    finally:
        if one.process.poll() is None:
            one.stop(signal.SIGKILL)


def until(true: Callable[[], bool], what: str) -> None:
    """Wait for something that another thread or process does."""
    end = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < end, f"{what} did not happen"
        time.sleep(0.005)


class Paho:
    """A client of paho-mqtt that remembers what it hears."""

    def __init__(self, port: int, client: str = "", version: int = 4, keep: bool = False, **more: object) -> None:
        self.heard: list[mqtt.MQTTMessage] = []
        self.client = mqtt.Client(CallbackAPIVersion.VERSION2, client, protocol=MQTTProtocolVersion(version), **more)  # type: ignore[arg-type]
        if version < 5:
            self.client._clean_session = not keep
        self.client.on_message = lambda _, __, message: self.heard.append(message)
        self._subscribed: list[int] = []
        self.client.on_subscribe = lambda *given: self._subscribed.append(given[2])
        self._keep = keep
        self._version = version
        self._port = port

    def __enter__(self) -> "Paho":
        options: dict[str, object] = {}
        if self._version == 5:
            from paho.mqtt.packettypes import PacketTypes
            from paho.mqtt.properties import Properties

            properties = Properties(PacketTypes.CONNECT)
            properties.SessionExpiryInterval = 1000 if self._keep else 0
            options = {"clean_start": not self._keep, "properties": properties}
        self.client.connect("127.0.0.1", self._port, **options)  # type: ignore[arg-type]
        self.client.loop_start()
        until(self.client.is_connected, "connecting")
        return self

    def __exit__(self, *_: object) -> None:
        self.client.disconnect()
        self.client.loop_stop()

    def subscribe(self, pattern: str, qos: int = 0) -> None:
        _, number = self.client.subscribe(pattern, qos)
        until(lambda: number in self._subscribed, "SUBACK")

    def publish(self, topic: str, payload: str, qos: int = 0, retain: bool = False, **more: object) -> None:
        self.client.publish(topic, payload, qos, retain, **more).wait_for_publish(PATIENCE)  # type: ignore[arg-type]

    def payloads(self) -> list[str]:
        return [message.payload.decode() for message in self.heard]


def http(port: int, path: str) -> str:
    with socket.create_connection(("127.0.0.1", port)) as one:
        one.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        return b"".join(iter(lambda: one.recv(65536), b"")).decode()


def segment_bytes(folder: Path) -> int:
    return sum(one.stat().st_size for one in folder.iterdir())
