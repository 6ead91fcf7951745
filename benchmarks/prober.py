"""An ordinary client, in a process of its own, that says how long a broker lets it wait.

It does two things, side by side: one connection publishes to itself with QoS 0 and 1, every few milliseconds, and
waits until both are there and acknowledged; and again and again it connects anew, subscribes and leaves. Where it is
refused or closed it tries until it is served, and all of that is one wait. What it waits at a broker that nobody
attacks (the median of a few times) does not count, so that a slow check of passwords by itself is no stall.
"""

import signal
import socket
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from threading import Event, Thread

from stranger import connect, new_name, publish, subscribe
from weft.wire.mqtt.packet import Connack, Packet, Publish, Suback, Version
from weft.wire.mqtt.parser import Parser
from weft.wire.mqtt.reason import PacketError
from weft.wire.mqtt.writer import acknowledgement

PAUSE = 0.002  # seconds between publications
COMING = 0.02  # seconds between two that come anew
COMING_WITH_PASSWORD = 0.2
CALM = 7  # times that it is served before anybody attacks
PASSWORD = "of an honest client"
USERS = 400


class NotServedError(Exception):
    """The broker did not do what an ordinary client may expect; it is tried again."""


class Client:
    def __init__(self, port: int, user: str | None, patience: float) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), patience)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._parser = Parser(version=Version.V311)
        self._come: list[Packet] = []
        self.socket.sendall(connect(new_name("probe"), login=None if user is None else (user, PASSWORD)))
        answer = self.take()
        if not isinstance(answer, Connack) or answer.code:
            raise NotServedError

    def take(self) -> Packet:
        """The next packet."""
        while not self._come:
            data = self.socket.recv(65536)
            if not data:
                raise NotServedError
            self._come += self._parser.feed(data)
        return self._come.pop(0)

    def subscribe(self, topic: str) -> None:
        self.socket.sendall(subscribe([topic], 1))
        if not isinstance(self.take(), Suback):
            raise NotServedError

    def close(self) -> None:
        self.socket.close()


class Publishing:
    """One connection that publishes to itself."""

    def __init__(self, port: int, users: bool, patience: float) -> None:
        self._port, self._user, self._patience = port, "user-0" if users else None, patience
        self._topic = f"probe/{new_name()}"
        self._client: Client | None = None

    def __call__(self) -> None:
        if self._client is None:
            self._client = Client(self._port, self._user, self._patience)
            self._client.subscribe(self._topic)
        try:
            self._say(self._client)
        except (OSError, NotServedError):
            self._client.close()
            self._client = None
            raise

    def _say(self, client: Client) -> None:
        client.socket.sendall(publish(self._topic) + publish(self._topic, b"1", 1))
        for _ in ("QoS 0", "QoS 1", "PUBACK"):
            came = client.take()
            if isinstance(came, Publish) and came.qos:
                client.socket.sendall(acknowledgement(0x40, came.packet_id))


class Coming:
    """Somebody who connects, subscribes and leaves, with another name each time."""

    def __init__(self, port: int, users: bool, patience: float) -> None:
        self._port, self._users, self._patience = port, users, patience
        self._times = 0

    def __call__(self) -> None:
        self._times += 1
        client = Client(self._port, f"user-{self._times % USERS}" if self._users else None, self._patience)
        client.subscribe(f"probe/{new_name()}")
        client.close()


@dataclass
class Waiting:
    """The waits for one thing, which is done again and again."""

    step: Callable[[], None]
    pause: float  # seconds between two
    patience: float  # seconds until what is not served is given up
    over: Event
    calm: float = 0.0  # seconds that it takes at rest
    longest: float = 0.0

    def rest(self) -> None:
        times = [self._wait()]
        while len(times) < CALM and times[-1] < self.patience:
            times.append(self._wait())
        self.calm = statistics.median(times) if times[-1] < self.patience else 0.0

    def go_on(self) -> None:
        while not self.over.is_set():
            self.longest = max(self.longest, self._wait() - self.calm)
            self.over.wait(self.pause)

    def _wait(self) -> float:
        """Seconds until it is done, however often it must be tried."""
        begin = time.monotonic()
        while True:
            try:
                self.step()
                break
            except (OSError, NotServedError, PacketError):
                if self.over.is_set() or time.monotonic() > begin + self.patience:
                    break
                time.sleep(0.01)
        return time.monotonic() - begin


def probe(port: int, users: bool, patience: float, main: Connection) -> None:
    """Say when it is ready; after any word begin, after the next end, and tell the longest wait."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    over = Event()
    waitings = [
        Waiting(Publishing(port, users, patience), PAUSE, patience, over),
        Waiting(Coming(port, users, patience), COMING_WITH_PASSWORD if users else COMING, patience, over),
    ]
    for one in waitings:
        one.rest()
    main.send("ready")
    main.recv()
    threads = [Thread(target=one.go_on) for one in waitings]
    for thread in threads:
        thread.start()
    main.recv()
    over.set()
    for thread in threads:
        thread.join()
    main.send(max(one.longest for one in waitings))


class Prober:
    """The process of the ordinary client, seen from outside."""

    def __init__(self, port: int, users: bool, patience: float) -> None:
        self._patience = patience
        here = get_context("fork")
        self._end, theirs = here.Pipe()
        self._process = here.Process(target=probe, args=(port, users, patience, theirs), daemon=True)
        self._process.start()
        theirs.close()

    def await_rest(self) -> None:
        self._end.recv()

    def begin(self) -> None:
        self._end.send("begin")

    def longest(self) -> float:
        """Seconds of the longest wait; that which is under way is waited for, as long as patience lasts."""
        self._end.send("end")
        found = float(self._end.recv()) if self._end.poll(2 * self._patience) else self._patience
        self.end()
        return found

    def end(self) -> None:
        self._process.kill()
        self._process.join()
