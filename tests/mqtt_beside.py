"""What Mosquitto and paho do where operators have been surprised, beside ours: measured, and a section of the page.

    python tests/mqtt_beside.py                  # asks them, and writes the section of docs/mqtt-conformance.md

Each row is a question that is put to a broker in bytes, and the answer in words; or one that is put to paho, as a
client of ours or of a few lines here that play a broker. tests/test_mqtt_beside.py asks again, and fails when the page
says something else.
"""

import socket
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

import paho.mqtt.client as mqtt
from paho.mqtt.enums import CallbackAPIVersion, MQTTProtocolVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from live_node import node, until
from mosquitto_fleet import MOSQUITTO
from mqtt_broker import swallow
from mqtt_peer import (
    DEADLINE,
    PINGREQ,
    V5,
    V311,
    BreachError,
    ClosedError,
    Kind,
    P,
    Packet,
    Peer,
    Will,
    answer,
    connect,
    publish,
    subscribe,
    unsubscribe,
)
from mqtt_table import PAGE

V31 = 3
HEADING = "## Beside Mosquitto and paho"
ANY_SIZE = 10**6


@dataclass(frozen=True)
class Setting:
    """The same of both brokers."""

    weft: tuple[str, ...] = ()  # {folder} has an empty file
    mosquitto: str = "allow_anonymous true"


@dataclass(frozen=True)
class Question:
    what: str
    ask: Callable[[int], str]  # of the port
    setting: Setting = field(default=Setting())


PLAIN = Setting()
NO_RETAIN = Setting(("--retained-messages", "0"), "allow_anonymous true\nretain_available false")
QOS_1 = Setting(("--maximum-qos", "1"), "allow_anonymous true\nmax_qos 1")
TEN_BYTES = Setting(("--message-bytes", "10"), "allow_anonymous true\nmessage_size_limit 10")
EMPTY = ("--users", "{folder}/empty", "--rights", "{folder}/empty")
NOBODY = Setting(("--anonymous", "never", *EMPTY), "allow_anonymous false")


# -- Asking


def joined(port: int, version: int, level: int | None = None, most: int = 0, client: str = "one") -> Peer:
    """A client of a version, perhaps with a level of its own; the answer to its CONNECT is the next packet."""
    peer = Peer(("127.0.0.1", port), V5 if version == V5 else V311)
    peer.maximum_packet = ANY_SIZE  # what is too large is told, not an error
    pairs = [(P.MAXIMUM_PACKET, most)] if most else []
    name = "MQIsdp" if version == V31 else "MQTT"
    peer.send(connect(peer.version, client, pairs=pairs, name=name, level=version if level is None else level))
    return peer


def heard(peer: Peer, *packets: bytes) -> str:
    """What comes upon some packets, until the connection is closed or a PINGREQ behind them is answered."""
    for each in packets:
        peer.send(each)
    peer.send(PINGREQ)
    found: list[Packet] = []
    try:
        while not found or found[-1].kind is not Kind.PINGRESP:
            found.append(peer.packet())
    except ClosedError:
        return ", ".join([*map(shown, found), "closed"])
    except BreachError as breach:
        return f"against the standard: {breach}"
    return ", ".join(map(shown, found[:-1])) or "nothing"


def shown(arrived: Packet) -> str:
    if arrived.kind is Kind.PUBLISH:
        return f"PUBLISH of {arrived.payload.decode()}{', retained' if arrived.flags & 1 else ''}"
    codes = " ".join(f"0x{code:02X}" if code >= 0x80 else str(code) for code in arrived.codes[:1])
    size = f" of {len(arrived.raw)} bytes" if len(arrived.raw) > 60 else ""
    return f"{arrived.kind.name}{' ' + codes if codes and codes != '0' else ''}{size}"


def in_session(version: int, *packets: bytes) -> Callable[[int], str]:
    """What a client hears upon packets once it is connected."""

    def ask(port: int) -> str:
        peer = joined(port, version)
        assert peer.packet().code == 0
        return heard(peer, *packets)

    return ask


def as_bridge(version: int) -> Callable[[int], str]:
    """What comes to a client with the bridge bit of its own publications, and of another's that is to be retained."""

    def ask(port: int) -> str:
        peer, other, topic = (
            joined(port, version, version | 0x80),
            joined(port, V311, client="two"),
            f"bridge/{version}",
        )
        peer.send(subscribe(V311, 1, [(topic, 0)]))
        before = heard(peer, publish(V311, topic, b"its own"))
        heard(other, publish(V311, topic, b"another's", qos=1, packet_id=1, retain=True))
        return f"{before}, {heard(peer)}"

    return ask


def behind_a_bridge(port: int, more: str = "") -> str:
    """How often a local client of a Mosquitto that is a bridge, with its defaults, gets what it has published."""
    bridge = f"allow_anonymous true\nconnection one\naddress 127.0.0.1:{port}\ntopic bridged/# both 0\n{more}\n"
    with mosquitto(Setting(mosquitto=bridge)) as local:
        here, there = Peer(("127.0.0.1", local), V311), Peer(("127.0.0.1", port), V311)
        for peer in (here, there):
            assert peer.connect().code == 0
        here.subscribe("bridged/#")
        there.publish("bridged/up", b"up", 1, retain=True)  # comes when the bridge has subscribed
        while here.message().topic != "bridged/up":
            pass
        here.publish("bridged/own", b"", 1)
        there.subscribe("bridged/own")
        here.publish("bridged/own", b"", 1)
        there.message()  # so the bridge has passed both on
        there.publish("bridged/end", b"", 1)
        copies = 0
        while (came := here.message()).topic != "bridged/end":
            copies += came.topic == "bridged/own"
        there.publish("bridged/up", b"", 1, retain=True)
        return {2: "once", 4: "twice"}.get(copies, f"{copies} copies of 2")


def connack_within(most: int) -> Callable[[int], str]:
    def ask(port: int) -> str:
        peer = joined(port, V5, most=most)
        try:
            arrived = peer.packet()
        except ClosedError:
            return "closed"
        if arrived.code:
            return shown(arrived)
        return "served" if len(arrived.raw) <= most else f"CONNACK of {len(arrived.raw)} bytes"

    return ask


def answer_within(most: int, asked: bytes) -> Callable[[int], str]:
    def ask(port: int) -> str:
        peer = joined(port, V5, most=most)
        assert peer.packet().code == 0
        return heard(peer, asked)

    return ask


def told(identifier: P) -> Callable[[int], str]:
    def ask(port: int) -> str:
        return str(joined(port, V5).packet().get(identifier, "nothing"))

    return ask


def with_will(version: int, will: Will) -> Callable[[int], str]:
    def ask(port: int) -> str:
        peer = Peer(("127.0.0.1", port), version)
        peer.send(connect(version, "one", will=will))
        return heard(peer)

    return ask


def without_a_user(version: int) -> Callable[[int], str]:
    def ask(port: int) -> str:
        return heard(joined(port, version))

    return ask


def granted(port: int) -> str:
    peer = joined(port, V5)
    peer.packet()
    peer.send(subscribe(V5, 1, [("t", 2)]))
    return f"QoS {peer.packet().code}"


MANY = [(f"t/{n}", 0) for n in range(100)]
QUESTIONS = [
    Question("3.1: SUBSCRIBE with DUP (0x8A)", in_session(V31, subscribe(V311, 1, [("t", 0)], flags=10))),
    Question("3.1: UNSUBSCRIBE with DUP (0xAA)", in_session(V31, unsubscribe(V311, 1, ["t"], flags=10))),
    Question("3.1: PUBREL with DUP (0x6A)", in_session(V31, answer(Kind.PUBREL, 1, flags=10))),
    Question("3.1: SUBSCRIBE, unused bits of its QoS set", in_session(V31, subscribe(V311, 1, [("t", 0xFC)]))),
    Question("3.1.1: SUBSCRIBE with DUP", in_session(V311, subscribe(V311, 1, [("t", 0)], flags=10))),
    Question("3.1.1: UNSUBSCRIBE with DUP", in_session(V311, unsubscribe(V311, 1, ["t"], flags=10))),
    Question("3.1.1: PUBREL with DUP", in_session(V311, answer(Kind.PUBREL, 1, flags=10))),
    Question("level 0x83 (a bridge): SUBSCRIBE, its own PUBLISH, then another's with RETAIN", as_bridge(V31)),
    Question("level 0x84: the same", as_bridge(V311)),
    Question("a Mosquitto bridged to it: how often its local client gets what it said", behind_a_bridge),
    Question(
        "the same with `bridge_protocol_version mqttv50`",
        lambda port: behind_a_bridge(port, "bridge_protocol_version mqttv50"),
    ),
    Question("5: CONNECT, Maximum Packet Size 4", connack_within(4)),
    Question("5: CONNECT, Maximum Packet Size 8", connack_within(8)),
    Question("5: CONNECT, Maximum Packet Size 40", connack_within(40)),
    Question("5: SUBSCRIBE to 100 filters, Maximum Packet Size 60", answer_within(60, subscribe(V5, 1, MANY))),
    Question(
        "5: UNSUBSCRIBE from them, Maximum Packet Size 60",
        answer_within(60, unsubscribe(V5, 1, [name for name, _ in MANY])),
    ),
    Question("nothing is retained: Retain Available", told(P.RETAIN_AVAILABLE), NO_RETAIN),
    Question("5: PUBLISH with RETAIN then", in_session(V5, publish(V5, "t", b"x", retain=True)), NO_RETAIN),
    Question("3.1.1: PUBLISH with RETAIN then", in_session(V311, publish(V311, "t", b"x", retain=True)), NO_RETAIN),
    Question("5: will with RETAIN then", with_will(V5, Will("t", b"x", retain=True)), NO_RETAIN),
    Question("3.1.1: will with RETAIN then", with_will(V311, Will("t", b"x", retain=True)), NO_RETAIN),
    Question("QoS 1 at most: Maximum QoS", told(P.MAXIMUM_QOS), QOS_1),
    Question("5: PUBLISH of QoS 2 then", in_session(V5, publish(V5, "t", b"x", qos=2, packet_id=1)), QOS_1),
    Question("3.1.1: PUBLISH of QoS 2 then", in_session(V311, publish(V311, "t", b"x", qos=2, packet_id=1)), QOS_1),
    Question("5: will of QoS 2 then", with_will(V5, Will("t", b"x", 2)), QOS_1),
    Question("SUBSCRIBE with QoS 2 then", granted, QOS_1),
    Question("payloads of 10 bytes at most; 5: of 11, QoS 0", in_session(V5, publish(V5, "t", b"x" * 11)), TEN_BYTES),
    Question("5: of 11, QoS 1", in_session(V5, publish(V5, "t", b"x" * 11, qos=1, packet_id=1)), TEN_BYTES),
    Question("3.1.1: of 11, QoS 1", in_session(V311, publish(V311, "t", b"x" * 11, qos=1, packet_id=1)), TEN_BYTES),
    Question("5: will of 11", with_will(V5, Will("t", b"x" * 11)), TEN_BYTES),
    Question("nobody is anonymous; 5: CONNECT without a user", without_a_user(V5), NOBODY),
    Question("3.1.1: CONNECT without a user", without_a_user(V311), NOBODY),
]


# -- Brokers


@contextmanager
def weft(setting: Setting) -> Iterator[int]:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "empty").write_text("")
        with node(*(word.replace("{folder}", folder) for word in setting.weft)) as one:
            yield one.port


@contextmanager
def mosquitto(setting: Setting) -> Iterator[int]:
    assert MOSQUITTO is not None
    with socket.create_server(("127.0.0.1", 0)) as held:
        port = held.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "mosquitto.conf"
        config.write_text(f"listener {port} 127.0.0.1\npersistence false\n{setting.mosquitto}\n")
        process = subprocess.Popen([MOSQUITTO, "-v", "-c", str(config)], stderr=subprocess.PIPE, text=True)
        assert process.stderr is not None
        assert any("running" in line for line in iter(process.stderr.readline, ""))
        swallow(process.stderr)
        try:
            yield port
        finally:
            process.terminate()
            process.wait(DEADLINE)


Start = Callable[[Setting], AbstractContextManager[int]]


def answers(start: Start) -> list[str]:
    """What a broker answers to all questions, started once for each setting."""
    found: dict[Question, str] = {}
    for setting in dict.fromkeys(one.setting for one in QUESTIONS):
        with start(setting) as port:
            found |= {one: one.ask(port) for one in QUESTIONS if one.setting is setting}
    return [found[one] for one in QUESTIONS]


# -- paho, as a client


class Played:
    """A broker in a few lines: it says what it is told to, connection by connection, and remembers what it got."""

    def __init__(self, *answers: dict[int, bytes]) -> None:
        self.heads: list[list[int]] = [[] for _ in answers]  # first bytes of packets, by connection
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port = self._server.getsockname()[1]
        threading.Thread(target=self._serve, args=(answers,), daemon=True).start()

    def _serve(self, answers: tuple[dict[int, bytes], ...]) -> None:
        """Answer packets by their first byte; one without an answer ends the connection."""
        for heads, known in zip(self.heads, answers, strict=True):
            one, _ = self._server.accept()
            with one, one.makefile("rb") as stream:
                while head := stream.read(1):
                    heads.append(head[0])
                    stream.read(stream.read(1)[0])  # short packets only
                    if head[0] not in known:
                        break
                    one.sendall(known[head[0]])


class Told:
    """A client of paho, and what became of it."""

    def __init__(self, version: int, most: int = 0, clean: bool = True, bridge: bool = False) -> None:
        protocol = MQTTProtocolVersion(version)
        options = {} if version == V5 else {"clean_session": clean}
        self.client = mqtt.Client(CallbackAPIVersion.VERSION2, "paho", protocol=protocol, **options)  # type: ignore[arg-type]
        self.properties = None
        if most:
            self.properties = Properties(PacketTypes.CONNECT)
            self.properties.MaximumPacketSize = most
        if bridge:
            self.client.enable_bridge_mode()
        self.heard: list[str] = []
        self.ends: list[str] = []
        self.entered: list[str] = []
        self.client.on_message = lambda _, __, message: self.heard.append(message.payload.decode())
        self.client.on_connect = lambda *given: self.entered.append(str(given[3]))
        self.client.on_disconnect = lambda *given: self.ends.append(str(given[3]))

    @contextmanager
    def at(self, port: int) -> "Iterator[Told]":
        self.client.connect("127.0.0.1", port, properties=self.properties)
        self.client.loop_start()
        try:
            until(lambda: bool(self.entered), "an answer to CONNECT")
            yield self
        finally:
            self.client.disconnect()
            self.client.loop_stop()

    def end(self) -> str:
        until(lambda: bool(self.ends), "the end of the connection")
        return self.ends[0]


ACCEPTED, CONNECT, PUBREL = bytes((0x20, 2, 0, 0)), 0x10, 0x62


def sent_again(version: int) -> str:
    """What paho says again when its connection was lost in the middle."""
    publication = 0x34
    begun = {CONNECT: ACCEPTED, publication: bytes((0x50, 2, 0, 1))}
    broker = Played(begun, {CONNECT: ACCEPTED, PUBREL: bytes((0x70, 2, 0, 1)), 0x6A: bytes((0x70, 2, 0, 1)), 0xE0: b""})
    told = Told(version, clean=False)
    told.client.reconnect_delay_set(1, 1)
    with told.at(broker.port):
        said = told.client.publish("t", b"x", 2)
        said.wait_for_publish(DEADLINE)
    again = [f"0x{head:02X}" for head in broker.heads[1] if head not in (CONNECT, 0xE0)]
    return f"PUBREL as {again[0]}"


def bridge_of_paho(version: int) -> str:
    with weft(PLAIN) as port, Told(version, bridge=True).at(port) as told:
        subscribed: list[object] = []
        told.client.on_subscribe = lambda *given: subscribed.append(given)
        told.client.subscribe("t")
        until(lambda: bool(subscribed), "SUBACK")
        told.client.publish("t", "its own", 1).wait_for_publish(DEADLINE)
        with Peer(("127.0.0.1", port), V311) as other:
            assert other.connect().code == 0
            other.publish("t", b"another's", 1)
            until(lambda: "another's" in told.heard, "a delivery")
        return f"gets {' and '.join(told.heard)}"


def too_small_for_connack() -> str:
    with weft(PLAIN) as port, Told(V5, most=8).at(port) as told:
        return f"is told: {told.entered[0]}"


def too_small_for_suback() -> str:
    with weft(PLAIN) as port, Told(V5, most=60).at(port) as told:
        told.client.subscribe([(name, mqtt.SubscribeOptions()) for name, _ in MANY])
        return f"is told: {told.end()}"


def published(setting: Setting, version: int, payload: str, qos: int, retain: bool) -> Callable[[], str]:
    """How it ends when paho publishes what CONNACK has said is not to be."""

    def ask() -> str:
        with weft(setting) as port, Told(version).at(port) as told:
            try:
                told.client.publish("t", payload, qos, retain)
            except ValueError as error:
                return f"does not send it: {error}"
            return f"sends it, and is told: {told.end()}"

    return ask


OF_PAHO: list[tuple[str, Callable[[], str]]] = [
    ("3.1: PUBREL again, when the connection was lost", lambda: sent_again(V31)),
    ("3.1: as a bridge (`enable_bridge_mode`), subscribed to what it publishes", lambda: bridge_of_paho(V31)),
    ("3.1.1: the same", lambda: bridge_of_paho(V311)),
    ("5: connects with Maximum Packet Size 8", too_small_for_connack),
    ("5: subscribes to 100 filters with Maximum Packet Size 60", too_small_for_suback),
    ("5: publishes with RETAIN where nothing is retained", published(NO_RETAIN, V5, "x", 0, True)),
    ("3.1.1: the same", published(NO_RETAIN, V311, "x", 0, True)),
    ("5: publishes with QoS 2 where QoS 1 is the most", published(QOS_1, V5, "x", 2, False)),
    ("5: publishes 11 bytes where 10 are the most", published(TEN_BYTES, V5, "x" * 11, 1, False)),
]


# -- The page

INTRODUCTION = f"""
What operators have been surprised by, asked of both brokers, and what paho-mqtt {version("paho-mqtt")} does with ours.
`tests/test_mqtt_beside.py` asks again; *closed* is the end of the connection.

    python tests/mqtt_beside.py                                        # asks, and writes this section
"""


def rendered(weft: list[str], mosquitto: list[str], paho: list[str]) -> str:
    """The section, with its heading."""
    first = [(one.what, ours, theirs) for one, ours, theirs in zip(QUESTIONS, weft, mosquitto, strict=True)]
    second = list(zip([what for what, _ in OF_PAHO], paho, strict=True))
    tables = [("asked", "Weft", "Mosquitto 2.0.11"), *first], [("paho", "does"), *second]
    return "\n".join([HEADING, INTRODUCTION.strip("\n"), *(f"\n{_table(rows)}" for rows in tables), ""])


def _table(rows: list[tuple[str, ...]]) -> str:
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([lines[0], "|" + "---|" * len(rows[0]), *lines[1:]])


def section(page: str) -> str:
    """What the page has."""
    begin = page.index(HEADING)
    return page[begin : page.index("\n## ", begin) + 1].rstrip("\n") + "\n"


if __name__ == "__main__":
    text = PAGE.read_text()
    measured = rendered(answers(weft), answers(mosquitto), [ask() for _, ask in OF_PAHO])
    PAGE.write_text(text.replace(section(text), measured))
