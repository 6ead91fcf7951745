"""Real Mosquittos on loopback, with bridges, and paho's clients at all of them."""

import os
import shutil
import socket
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import paho.mqtt.client as mqtt
import pytest

MOSQUITTO = shutil.which("mosquitto", path=f"{os.environ['PATH']}:/usr/sbin")
PATIENCE = 60.0  # seconds until something that must happen has not happened

needs_mosquitto = pytest.mark.skipif(MOSQUITTO is None, reason="no mosquitto")

Arrival = tuple[str, str, bytes]  # broker, topic, payload


class Mosquittos:
    """Brokers by name; each has a folder for what it keeps, and includes the bridges that it is given."""

    def __init__(self, folder: Path, ports: Mapping[str, int]) -> None:
        self.folder, self.ports = folder, ports
        self.running: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, names: Iterable[str], bridges: Path) -> None:
        for name in names:
            self.running[name] = self._started(name, bridges / f"{name}.conf")
        for name in names:
            self._await_port(name)

    def stop(self, names: Iterable[str]) -> None:
        for name in names:
            self.running[name].terminate()
        for name in names:
            self.running.pop(name).wait(PATIENCE)

    def kill(self) -> None:
        for process in self.running.values():
            process.kill()
            process.wait()
        self.running.clear()

    def _started(self, name: str, bridges: Path) -> "subprocess.Popen[bytes]":
        home = self.folder / name
        home.mkdir(parents=True, exist_ok=True)
        (home / "mosquitto.conf").write_text(
            f"listener {self.ports[name]} 127.0.0.1\nallow_anonymous true\nuser root\nlog_dest none\n"
            f"persistence true\npersistence_location {home}/\nmax_queued_messages 0\n{bridges.read_text()}"
        )
        assert MOSQUITTO is not None
        command = [MOSQUITTO, "-c", str(home / "mosquitto.conf")]
        return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def _await_port(self, name: str) -> None:
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            assert self.running[name].poll() is None, f"mosquitto of {name} ended: is its configuration right?"
            try:
                socket.create_connection(("127.0.0.1", self.ports[name])).close()
            except OSError:
                time.sleep(0.02)
            else:
                return
        raise AssertionError(f"nobody listens for {name}")


class Clients:
    """A client at every broker, which subscribes to the broker's topics and publishes; what came is counted."""

    def __init__(self, interest: Mapping[str, Iterable[str]], ports: Mapping[str, int], qos: int = 1) -> None:
        self.qos = qos
        self.came: Counter[Arrival] = Counter()
        self.changed = threading.Condition()
        self.at = {name: self._connected(name, port) for name, port in ports.items()}
        for name, topics in interest.items():
            self.subscribe(name, topics)

    def _connected(self, name: str, port: int) -> mqtt.Client:
        client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2, f"client-{name}", clean_session=False)
        client.reconnect_delay_set(1, 1)
        client.on_message = lambda _, __, message: self._arrived((name, message.topic, message.payload))
        client.connect("127.0.0.1", port)
        client.loop_start()
        return client

    def subscribe(self, broker: str, topics: Iterable[str]) -> None:
        """Subscribe to more, and wait for the broker's word."""
        subscribed = threading.Event()
        self.at[broker].on_subscribe = lambda *_: subscribed.set()
        self.at[broker].subscribe([(topic, self.qos) for topic in topics])
        assert subscribed.wait(PATIENCE)

    def _arrived(self, arrival: Arrival) -> None:
        with self.changed:
            self.came[arrival] += 1
            self.changed.notify_all()

    def publish(self, broker: str, topic: str, payload: bytes) -> None:
        self.at[broker].publish(topic, payload, self.qos)

    def await_that(self, holds: Callable[[Counter[Arrival]], bool], seconds: float = PATIENCE) -> bool:
        with self.changed:
            return self.changed.wait_for(lambda: holds(self.came), seconds)

    def await_all(self, expected: Iterable[Arrival]) -> None:
        wanted = set(expected)
        arrived = self.await_that(lambda came: wanted <= came.keys())
        assert arrived, f"{len(wanted - self.came.keys())} did not come, {sorted(wanted - self.came.keys())[:3]} first"

    def await_bridges(self, pairs: Iterable[tuple[str, str, str]], word: str = "probe") -> None:
        """Publish on the topics until all of (issuer, topic, subscriber) are seen to be joined."""
        missing = {(subscriber, topic, f"{word} {issuer}".encode()) for issuer, topic, subscriber in pairs}
        until = time.monotonic() + PATIENCE
        while missing:
            assert time.monotonic() < until, f"{len(missing)} ways were not up, {sorted(missing)[:3]} first"
            for topic, payload in {(topic, payload) for _, topic, payload in missing}:
                self.publish(payload.decode().split()[1], topic, payload)
            self.await_that(missing.issubset, 0.5)
            missing = missing - self.came.keys()

    def close(self) -> None:
        for client in self.at.values():
            client.disconnect()
            client.loop_stop()
