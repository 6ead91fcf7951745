"""A node as a process, with the clients that people have."""

import resource
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import threading
from pathlib import Path
from random import Random

import pytest

from live_network import weft
from live_node import COMMAND, PATIENCE, Node, Paho, http, node, until
from ports import free_port
from weft.wire.mqtt import packet as p
from weft.wire.mqtt.parser import Parser
from weft.wire.mqtt.property import Property
from weft.wire.mqtt.reason import Reason
from weft.wire.mqtt.writer import encode

needs_mosquitto = pytest.mark.skipif(shutil.which("mosquitto_pub") is None, reason="mosquitto-clients is not installed")
V3, V5 = p.Version.V311, p.Version.V5


class Raw:
    """A socket that speaks packets."""

    def __init__(self, port: int, connect: p.Connect) -> None:
        self.version = connect.version
        self.socket = socket.create_connection(("127.0.0.1", port), PATIENCE)
        self._parser = Parser(version=self.version)
        self._heard: list[p.Packet] = []
        self.say(connect)
        self.connack = self.hear()

    def say(self, *packets: p.Packet) -> None:
        self.socket.sendall(b"".join(encode(one, self.version) for one in packets))

    def hear(self) -> p.Packet | None:
        """The next packet; None when the connection is closed."""
        while not self._heard:
            data = self.socket.recv(65536)
            if not data:
                return None
            self._heard += self._parser.feed(data)
        return self._heard.pop(0)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_node_says_goodbye_and_ends_with_0(number: int) -> None:
    with node() as one:
        new, old = Raw(one.port, p.Connect("new", V5)), Raw(one.port, p.Connect("old", V3))
        code, _ = one.stop(number)
        assert code == 0
        assert new.hear() == p.Disconnect(Reason.SERVER_SHUTTING_DOWN)
        assert new.hear() is None
        assert old.hear() is None


@pytest.mark.parametrize("version", [3, 4, 5])
def test_paho_publishes_and_subscribes(version: int) -> None:
    with node() as one, Paho(one.port, "a", version) as sender, Paho(one.port, "b", version) as receiver:
        receiver.subscribe("t/#", 2)
        for qos in (0, 1, 2):
            sender.publish(f"t/{qos}", f"q{qos}", qos)
        sender.publish("t/large", "x" * 1_000_000, 1)
        until(lambda: len(receiver.heard) == 4, "delivery")
        heard = list(zip(receiver.payloads(), (message.qos for message in receiver.heard), strict=True))
        heard.remove(("q2", 2))  # which paho tells when all is said, so it may come after what was sent later
        assert heard == [("q0", 0), ("q1", 1), ("x" * 1_000_000, 1)]


@needs_mosquitto
@pytest.mark.parametrize("version", ["mqttv31", "mqttv311", "mqttv5"])
@pytest.mark.parametrize("qos", ["0", "1", "2"])
def test_mosquittos_clients_publish_and_subscribe(version: str, qos: str) -> None:
    with node() as one:
        common = ["-p", str(one.port), "-V", version, "-q", qos]
        subprocess.run(["mosquitto_pub", *common, "-t", "a/b", "-m", "kept", "-r"], check=True, timeout=PATIENCE)
        heard = subprocess.Popen(
            ["mosquitto_sub", *common, "-t", "a/#", "-t", "end", "-C", "3", "-v"], stdout=subprocess.PIPE, text=True
        )
        assert heard.stdout is not None
        assert heard.stdout.readline() == "a/b kept\n"  # it has subscribed
        subprocess.run(["mosquitto_pub", *common, "-t", "a/c", "-m", "now"], check=True, timeout=PATIENCE)
        subprocess.run(["mosquitto_pub", *common, "-t", "end", "-n"], check=True, timeout=PATIENCE)
        assert heard.communicate(timeout=PATIENCE)[0] == "a/c now\nend (null)\n"
        if version == "mqttv5":
            asked = ["mosquitto_rr", *common, "-t", "ask", "-e", "answer", "-m", "hi", "-W", "1"]
            assert subprocess.run(asked, capture_output=True, timeout=PATIENCE).returncode == 27  # nobody answers


@needs_mosquitto
def test_a_will_of_mosquittos_client_is_said_when_it_is_killed() -> None:
    with node() as one, Paho(one.port) as other:
        other.subscribe("#", 1)
        other.publish("x", "kept", 1, retain=True)
        will = ["--will-topic", "gone", "--will-payload", "bye", "--will-qos", "1"]
        client = subprocess.Popen(
            ["mosquitto_sub", "-p", str(one.port), "-t", "x", *will], stdout=subprocess.PIPE, text=True
        )
        assert client.stdout is not None
        assert client.stdout.readline() == "kept\n"  # it has connected
        client.kill()
        client.wait()
        until(lambda: other.payloads() == ["kept", "bye"], "the will")


# Durable


def test_sessions_and_retained_messages_outlive_a_restart(tmp_path: Path) -> None:
    options = ["--data", str(tmp_path / "data"), "--sync", "disk"]
    with node(*options) as one:
        with Paho(one.port, "kept", keep=True) as away:
            away.subscribe("t/#", 1)
        with Paho(one.port, "sender") as sender:
            sender.publish("t/1", "waiting", 1)
            sender.publish("r", "retained", 0, retain=True)
        assert one.stop()[0] == 0
    with node(*options) as one, Paho(one.port, "kept", keep=True) as back:
        until(lambda: back.payloads() == ["waiting"], "delivery of what waited")
        back.subscribe("r")
        until(lambda: back.payloads() == ["waiting", "retained"], "the retained message")


def test_nothing_acknowledged_is_missing_after_twenty_kills(tmp_path: Path) -> None:
    """kill -9 at random times under load."""
    random, options = Random(17), ["--data", str(tmp_path / "data"), "--sync", "process", "--quiet"]
    acknowledged: set[bytes] = set()
    got: set[bytes] = set()
    number = 0
    with node(*options) as one:
        raw = Raw(one.port, p.Connect("kept", V3, clean=False))
        raw.say(p.Subscribe(1, (p.Request("t", 1),)))
        assert raw.hear() == p.Suback(1, (1,))
    for kills in range(21):
        with node(*options) as one:
            back = Raw(one.port, p.Connect("kept", V3, clean=False))
            assert back.connack == p.Connack(True, 0)
            take(back, acknowledged - got, got)
            if kills < 20:
                number = publish_until_killed(one, number, acknowledged, random.uniform(0.0, 0.15))
    assert len(acknowledged) > 20


def take(back: Raw, missing: set[bytes], got: set[bytes]) -> None:
    """Hear and acknowledge until nothing is missing."""
    while missing:
        heard = back.hear()
        assert isinstance(heard, p.Publish), f"{len(missing)} are missing"
        got.add(heard.payload)
        missing.discard(heard.payload)
        back.say(p.Puback(heard.packet_id))


def publish_until_killed(one: Node, number: int, acknowledged: set[bytes], seconds: float) -> int:
    raw = Raw(one.port, p.Connect("sender", V3))
    timer = threading.Timer(seconds, one.process.kill)
    timer.start()
    waiting: dict[int, bytes] = {}
    try:
        while True:
            while len(waiting) < 50:
                number += 1
                packet_id = number % 60_000 + 1
                waiting[packet_id] = str(number).encode()
                raw.say(p.Publish("t", waiting[packet_id], 1, packet_id=packet_id))
            heard = raw.hear()
            if heard is None:
                return number
            assert isinstance(heard, p.Puback)
            acknowledged.add(waiting.pop(heard.packet_id))
    except ConnectionError:
        return number
    finally:
        timer.join()


def test_a_full_disk_refuses_promises_and_goes_on_when_there_is_room(tmp_path: Path) -> None:
    def small_files() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, resource.RLIM_INFINITY))

    with node("--data", str(tmp_path / "data"), "--sync", "process", before=small_files) as one:
        with Paho(one.port, "kept", keep=True) as away:
            away.subscribe("t", 1)
        sender, other = Raw(one.port, p.Connect("sender", V5)), Raw(one.port, p.Connect("other", V5))
        number = publish_until_silent(sender)
        other.say(p.Publish("t", b"no", 1, packet_id=1), p.Publish("t", b"no", 2, packet_id=2), p.Pingreq())
        assert other.hear() == p.Puback(1, Reason.QUOTA_EXCEEDED)
        assert other.hear() == p.Pubrec(2, Reason.QUOTA_EXCEEDED)
        assert other.hear() == p.Pingresp()
        old = Raw(one.port, p.Connect("old", V3))
        old.say(p.Publish("t", b"no", 1, packet_id=1))
        assert old.hear() is None
        resource.prlimit(one.process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
        assert sender.hear() == p.Puback(number)  # it had not been promised, and is now
        other.say(p.Publish("t", b"again", 1, packet_id=3))
        assert other.hear() == p.Puback(3)
        code, log = one.stop()
        assert code == 0
        assert "journal_full" in log
        assert "journal_has_room" in log


def publish_until_silent(sender: Raw) -> int:
    """The number of the first publication that is not acknowledged."""
    number = 0
    sender.socket.settimeout(1)
    while True:
        number += 1
        sender.say(p.Publish("t", bytes(5000), 1, packet_id=number))
        try:
            assert sender.hear() == p.Puback(number)
        except TimeoutError:
            sender.socket.settimeout(PATIENCE)
            return number


# TLS, monitor, settings


def test_clients_connect_with_tls(tmp_path: Path) -> None:
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"]
    make = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", *subject]
    subprocess.run([*make, "-keyout", str(key), "-out", str(certificate)], check=True, capture_output=True)
    secure = ["--listen", "mqtts://127.0.0.1:0", "--certificate", str(certificate), "--key", str(key)]
    with node(*secure) as one:
        context = ssl.create_default_context(cafile=str(certificate))
        with socket.create_connection(("127.0.0.1", one.port_of(2))) as plain:
            wrapped = context.wrap_socket(plain, server_hostname="127.0.0.1")
            wrapped.sendall(encode(p.Connect("one", V3), V3))
            assert list(Parser(version=V3).feed(wrapped.recv(100))) == [p.Connack(False, 0)]


def test_metrics_and_health() -> None:
    port = free_port()
    with node("--http", f"127.0.0.1:{port}") as one, Paho(one.port) as client:
        client.publish("t", "x", 1)
        shown = http(port, "/metrics")
        assert "200 OK" in shown
        assert "\nweft_connected 1\n" in shown
        assert "\nweft_publications_received_total 1\n" in shown
        assert http(port, "/health").endswith("\r\n\r\nok\n")
        assert "404" in http(port, "/")


def test_options_come_from_a_file_and_the_command_line_wins(tmp_path: Path) -> None:
    config = tmp_path / "node.toml"
    config.write_text('json-logs = true\npacket-bytes = 200\nkeep-alive = 60\nlisten = ["127.0.0.1:0"]\n')
    with node("--config", str(config), "--keep-alive", "30") as one:
        raw = Raw(one.port, p.Connect("one", V5))
        assert isinstance(raw.connack, p.Connack)
        assert raw.connack.properties[Property.MAXIMUM_PACKET_SIZE] == 200
        assert raw.connack.properties[Property.SERVER_KEEP_ALIVE] == 30
        _, log = one.stop()
        assert '"event": "connected"' in log.splitlines()[0]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--listen", "nowhere"], "'nowhere' is no address: give HOST:PORT"),
        (["--listen", "ftp://127.0.0.1:1"], "begins with ftp://"),
        (["--inflight", "0"], "weft: --inflight is 0: give 1 to 65,535.\n"),
        (["--queue-messages", "0"], "weft: --queue-messages is 0: give 1 or more.\n"),
        (["--connect-timeout", "0"], "weft: --connect-timeout is 0.0: give seconds above 0.\n"),
        (["--connect-rate", "0"], "weft: --connect-rate is 0.0: give a number above 0.\n"),
        (["--longest-pause=-1"], "weft: --longest-pause is -1.0: give 0 or more.\n"),
        (["--address-connections", "0"], "weft: --address-connections is 0: give 1 or more.\n"),
        (["--listen", "mqtts://127.0.0.1:0"], "needs --certificate"),
        (["--config", "missing.toml"], "missing.toml cannot be read"),
        (["--name", "a b/#"], "weft: --name is 'a b/#': give one without / \\ + # and $.\n"),
    ],
)
def test_mistakes_are_told_in_a_sentence(options: list[str], told: str) -> None:
    code, _, err = weft("node", *options)
    assert code == 2
    assert told in err
    assert "Traceback" not in err


def test_unknown_names_in_a_file_are_told(tmp_path: Path) -> None:
    config = tmp_path / "node.toml"
    config.write_text("lisen = 'x'\n")
    done = subprocess.run([*COMMAND, "--config", str(config)], capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 2
    assert "there is no option lisen" in done.stderr


def test_an_address_or_folder_in_use_is_told(tmp_path: Path) -> None:
    with node("--data", str(tmp_path / "data")) as one:
        taken = ["--listen", "127.0.0.1:0", "--data", str(tmp_path / "data")]
        for options, expected in ((["--listen", f"127.0.0.1:{one.port}"], 3), (taken, 2)):
            code, _, err = weft("node", *options)
            assert code == expected
            assert err.startswith("weft: ")
            assert len(err.splitlines()) == 1


# Bad clients


def test_a_subscriber_that_stops_reading_does_not_stop_others() -> None:
    with node() as one:
        stuck, well = Raw(one.port, p.Connect("stuck", V3)), Raw(one.port, p.Connect("well", V3))
        for subscriber in (stuck, well):
            subscriber.say(p.Subscribe(1, (p.Request("#"),)))
            assert subscriber.hear() == p.Suback(1, (0,))
        sender = Raw(one.port, p.Connect("sender", V3))
        block = [p.Publish("t", bytes(10_000))] * 100
        writer = threading.Thread(target=lambda: [sender.say(*block) for _ in range(40)])
        writer.start()
        got = 0
        while got < 4000:
            assert isinstance(well.hear(), p.Publish)
            got += 1
        writer.join()


def test_a_thousand_connections_that_say_nothing_are_closed() -> None:
    with node("--connect-timeout", "1") as one:
        with Paho(one.port) as client:  # first, for it selects, which knows 1,024 descriptors
            mute = [socket.create_connection(("127.0.0.1", one.port), PATIENCE) for _ in range(1000)]
            client.publish("t", "x", 1)
        assert all(one.recv(1) == b"" for one in mute)


# Bytes of others


@needs_mosquitto
@pytest.mark.parametrize("version", ["mqttv31", "mqttv311", "mqttv5"])
def test_what_mosquitto_pub_writes_is_read_and_written_the_same(version: str) -> None:
    properties = ["-D", "publish", "user-property", "a", "b", "-D", "publish", "content-type", "text"]
    properties += ["-D", "connect", "session-expiry-interval", "5", "-D", "publish", "message-expiry-interval", "9"]
    options = ["-V", version, "-q", "2", "-t", "ä/b", "-m", "hello", "-u", "name", "-P", "word", "-i", "me"]
    options += ["--will-topic", "gone", "--will-payload", "bye", "--will-retain", "-r"]
    options += properties if version == "mqttv5" else []
    raw, packets = eavesdrop(lambda port: ["mosquitto_pub", "-p", str(port), *options])
    connect, publish, pubrel, disconnect = packets
    assert isinstance(connect, p.Connect)
    assert (connect.client, connect.username, connect.password) == ("me", "name", b"word")
    assert connect.will is not None
    assert (connect.will.topic, connect.will.payload, connect.will.retain) == ("gone", b"bye", True)
    assert isinstance(publish, p.Publish)
    assert (publish.topic, publish.payload, publish.qos, publish.retain) == ("ä/b", b"hello", 2, True)
    assert pubrel == p.Pubrel(publish.packet_id)
    assert isinstance(disconnect, p.Disconnect)
    assert b"".join(encode(one, connect.version) for one in packets) == raw


@pytest.mark.parametrize("version", [3, 4, 5])
def test_what_paho_writes_is_read_and_written_the_same(version: int) -> None:
    script = f"""
import sys, paho.mqtt.client as m
from paho.mqtt.enums import CallbackAPIVersion as C
from paho.mqtt.properties import Properties
from paho.mqtt.packettypes import PacketTypes
v5 = {version} == 5
c = m.Client(C.VERSION2, "me", protocol={version})
c.username_pw_set("name", "word")
c.will_set("gone", b"bye", 1, True)
c.connect("127.0.0.1", int(sys.argv[1]), 60)
props = None
if v5:
    props = Properties(PacketTypes.PUBLISH)
    props.UserProperty = ("a", "b")
    props.CorrelationData = b"1"
    props.ResponseTopic = "answer"
c.loop_start()
c.subscribe([("x/+", 1), ("$share/g/y/#", 2)])
c.unsubscribe("x/+")
c.publish("t", b"one", 1, properties=props).wait_for_publish(5)
c.publish("t", b"two", 2, True).wait_for_publish(5)
c.disconnect()
c.loop_stop()
"""
    raw, packets = eavesdrop(lambda port: [sys.executable, "-c", script, str(port)])
    connect = packets[0]
    assert isinstance(connect, p.Connect)
    assert [type(one) for one in packets[1:3]] == [p.Subscribe, p.Unsubscribe]
    said = [one for one in packets if isinstance(one, p.Publish)]
    assert [(one.payload, one.qos, one.retain) for one in said] == [(b"one", 1, False), (b"two", 2, True)]
    if version == 5:
        assert said[0].properties[Property.USER_PROPERTY] == (("a", "b"),)
        return  # paho writes reason codes and empty properties that may be left out
    assert b"".join(encode(one, connect.version) for one in packets) == raw


def eavesdrop(command: object) -> tuple[bytes, list[p.Packet]]:
    """What a client writes to a broker that says yes to everything."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(PATIENCE)
        process = subprocess.Popen(command(server.getsockname()[1]))  # type: ignore[operator]
        one, _ = server.accept()
        one.settimeout(PATIENCE)
        parser, raw, heard = Parser(), b"", []
        while data := one.recv(65536):
            raw += data
            for packet in parser.feed(data):
                heard.append(packet)
                assert parser.version is not None
                for answer in answers(packet):
                    one.sendall(encode(answer, parser.version))
        assert process.wait(PATIENCE) == 0
        return raw, heard


def answers(packet: p.Packet) -> list[p.Packet]:
    match packet:
        case p.Connect():
            return [p.Connack(False, 0)]
        case p.Publish(qos=1):
            return [p.Puback(packet.packet_id)]
        case p.Publish(qos=2):
            return [p.Pubrec(packet.packet_id)]
        case p.Pubrel():
            return [p.Pubcomp(packet.packet_id)]
        case p.Subscribe():
            return [p.Suback(packet.packet_id, tuple(one.qos for one in packet.requests))]
        case p.Unsubscribe():
            return [p.Unsuback(packet.packet_id, (0,) * len(packet.filters))]
        case _:
            return []
