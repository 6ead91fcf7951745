"""Connections of many clients: all are opened, then all subscribe, then all answers are read."""

import resource
import socket
from collections.abc import Sequence

from weft.errors import SurroundingsError
from weft.live.address import Address
from weft.live.bench.load import Manner
from weft.wire.mqtt.packet import Connack, Connect, Packet, Request, Suback, Subscribe, Version
from weft.wire.mqtt.parser import Parser
from weft.wire.mqtt.reason import PacketError
from weft.wire.mqtt.writer import encode

V = Version.V311
PATIENCE = 30.0  # seconds for an answer
FILTERS = 500  # of a SUBSCRIBE at most: brokers bound the bytes of a packet
SENDING = 256 * 1024  # bytes that the system keeps of what a client writes: more would only wait there
SPARE = 64  # descriptors for all that is no client

REFUSALS = {
    1: "the version",
    2: "the client id",
    3: "the server is unavailable",
    4: "user name or password",
    5: "not authorised",
}


def allow_descriptors(clients: int) -> None:
    """Let this process have so many connections, or say that it may not."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = clients + SPARE
    if hard not in (resource.RLIM_INFINITY,) and needed > hard:
        raise SurroundingsError(
            f"{clients:,} connections of a process are over the limit of {hard:,} open files: raise it, "
            "or give more `processes`.",
            "processes",
        )
    if soft < needed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))


def connected(clients: Sequence[tuple[str, Address]], manner: Manner, clean: bool = True) -> list[socket.socket]:
    """Sockets of clients that are connected; brokers keep their sessions unless they are clean."""
    password = None if manner.password is None else manner.password.encode()
    sockets = []
    for client, target in clients:
        one = _opened(target)
        one.sendall(encode(Connect(client, V, clean, username=manner.username, password=password), V))
        sockets.append(one)
    for one, (_, target) in zip(sockets, clients, strict=True):
        answer = _answer(one, target)
        if not isinstance(answer, Connack) or answer.code:
            code = answer.code if isinstance(answer, Connack) else None
            raise SurroundingsError(f"{target} refuses a client: {REFUSALS.get(code or 0, 'it sent no CONNACK')}.")
    return sockets


def _opened(target: Address) -> socket.socket:
    try:
        one = socket.create_connection((target.host, target.port), PATIENCE)
    except OSError as error:
        reason = error.strerror or error
        raise SurroundingsError(f"{target} cannot be reached ({reason}): is a broker there?") from error
    one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    one.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SENDING)
    return one


def subscribe(clients: Sequence[tuple[socket.socket, Address, Sequence[bytes]]], qos: int) -> None:
    """Subscribe all clients to their topics, and wait until all is in place."""
    pieces = []
    for one, target, topics in clients:
        for at in range(0, len(topics), FILTERS):
            requests = tuple(Request(topic.decode(), qos) for topic in topics[at : at + FILTERS])
            pieces.append((one, target))
            one.sendall(encode(Subscribe(1 + at // FILTERS, requests), V))
    readers: dict[socket.socket, _Answers] = {}
    for one, target in pieces:
        answer = readers.setdefault(one, _Answers(one, target)).read()
        if not isinstance(answer, Suback) or any(code != qos for code in answer.codes):
            raise SurroundingsError(f"{target} does not grant subscriptions with QoS {qos}.")


def _answer(one: socket.socket, target: Address) -> Packet:
    return _Answers(one, target).read()


class _Answers:
    """The packets that a client is sent before the load begins."""

    def __init__(self, one: socket.socket, target: Address) -> None:
        self._socket, self._target = one, target
        self._parser = Parser(version=V)
        self._waiting: list[Packet] = []

    def read(self) -> Packet:
        try:
            while not self._waiting:
                data = self._socket.recv(65536)
                if not data:
                    raise SurroundingsError(f"{self._target} closed a connection.")
                self._waiting += self._parser.feed(data)
        except TimeoutError:
            raise SurroundingsError(f"{self._target} did not answer for {PATIENCE:.0f} s.") from None
        except (OSError, PacketError) as error:
            raise SurroundingsError(f"{self._target} does not speak MQTT ({error}).") from error
        return self._waiting.pop(0)
