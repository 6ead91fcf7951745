"""Connections of many clients: all are opened, then all subscribe, then all answers are read."""

import resource
import socket
import ssl
from collections import deque
from collections.abc import Sequence

from weft.errors import SurroundingsError, WeftError
from weft.live.address import Address
from weft.live.bench.load import Manner
from weft.live.bench.tls_socket import TlsSocket, secured
from weft.wire.mqtt.packet import (
    Connack,
    Connect,
    Packet,
    Puback,
    Pubcomp,
    Publish,
    Pubrec,
    Pubrel,
    Request,
    Suback,
    Subscribe,
    Version,
)
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


def connected(clients: Sequence[tuple[str, Address]], manner: Manner, clean: bool = True) -> list["Channel"]:
    """Connections of clients that are let in; brokers keep their sessions unless they are clean."""
    password = None if manner.password is None else manner.password.encode()
    channels = []
    for client, target in clients:
        channels.append(Channel(_opened(target, manner), target))
        channels[-1].say(Connect(client, V, clean, username=manner.username, password=password))
    for channel in channels:
        answer = channel.next()
        if not isinstance(answer, Connack) or answer.code:
            code = answer.code if isinstance(answer, Connack) else None
            raise SurroundingsError(
                f"{channel.target} refuses a client: {REFUSALS.get(code or 0, 'it sent no CONNACK')}."
            )
    return channels


def _opened(target: Address, manner: Manner) -> "socket.socket | TlsSocket":
    try:
        one = socket.create_connection((target.host, target.port), PATIENCE)
        one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        one.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SENDING)
        return secured(one, target.host, manner.authority) if target.secure else one
    except ssl.SSLCertVerificationError as error:
        raise WeftError(
            f"{target} shows a certificate that is not taken ({error.verify_message}): give `authority`, the PEM file "
            "of who has signed it, and the name that is in it.",
            "authority",
        ) from error
    except OSError as error:
        reason = error.strerror or error
        raise SurroundingsError(f"{target} cannot be reached ({reason}): is a broker there?") from error


def subscribe(clients: Sequence[tuple["Channel", Sequence[bytes]]], qos: int) -> None:
    """Subscribe all clients to their topics, and wait until all is in place."""
    pieces = []
    for channel, topics in clients:
        for at in range(0, len(topics), FILTERS):
            requests = tuple(Request(topic.decode(), qos) for topic in topics[at : at + FILTERS])
            channel.say(Subscribe(1 + at // FILTERS, requests))
            pieces.append(channel)
    for channel in pieces:
        if any(code != qos for code in channel.suback().codes):
            raise SurroundingsError(f"{channel.target} does not grant subscriptions with QoS {qos}.")


class Channel:
    """A connection before the load begins, with one parser from CONNACK on: a broker may send more than it was asked
    for, such as publications of others, and any part of that with an answer."""

    def __init__(self, one: "socket.socket | TlsSocket", target: Address) -> None:
        self.socket, self.target = one, target
        self.strays = 0  # publications of others
        self._parser = Parser(version=V)
        self._waiting: deque[Packet] = deque()

    def say(self, packet: Packet) -> None:
        self.socket.sendall(encode(packet, V))

    def next(self) -> Packet:
        try:
            while not self._waiting:
                data = self.socket.recv(65536)
                if not data:
                    raise SurroundingsError(f"{self.target} closed a connection.")
                self._waiting += self._parser.feed(data)
        except TimeoutError:
            raise SurroundingsError(f"{self.target} did not answer for {PATIENCE:.0f} s.") from None
        except (OSError, PacketError) as error:
            raise SurroundingsError(f"{self.target} does not speak MQTT ({error}).") from error
        return self._waiting.popleft()

    def suback(self) -> Suback:
        while not isinstance(packet := self.next(), Suback):
            self._put_up_with(packet)
        return packet

    def rest(self) -> bytes:
        """Bytes of a packet of which more is to come; what has come as a whole is taken."""
        while self._waiting:
            self._put_up_with(self._waiting.popleft())
        return self._parser.rest

    def _put_up_with(self, packet: Packet) -> None:
        self.strays += isinstance(packet, Publish)
        answer = answer_to(packet)
        if answer is not None:
            self.say(answer)


def answer_to(packet: Packet) -> Packet | None:
    """What whoever gets a packet has to say."""
    match packet:
        case Publish(qos=1):
            return Puback(packet.packet_id)
        case Publish(qos=2):
            return Pubrec(packet.packet_id)
        case Pubrel():
            return Pubcomp(packet.packet_id)
    return None
