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
from ports import free_ports

# Test, as pytest names it, to what Mosquitto 2.0.11 does there.
KNOWN_IN_MOSQUITTO: dict[str, str] = {
    **dict.fromkeys(
        (
            f"test_reserved_flags_close_the_connection[{kind}-{version}]"
            for kind in ("PUBACK", "PUBREC", "PUBCOMP", "PINGREQ")
            for version in ("v311", "v5")
        ),
        "does not look at the reserved flags of these packets [MQTT-2.2.2-2]",
    ),
    **dict.fromkeys(
        (
            f"test_packets_that_no_client_sends_close_the_connection[{row}]"
            for row in ("0x90-v311", "0xb0-v311", "0xb0-v5", "0xd0-v311", "0xd0-v5")
        ),
        "takes SUBACK, UNSUBACK and PINGRESP from a client, for bridges [MQTT-4.8.0-1]",
    ),
    **dict.fromkeys(
        (f"test_a_pingreq_with_a_body_closes_the_connection[{version}]" for version in ("v311", "v5")),
        "does not look at the length of a PINGREQ [MQTT-4.8.0-1]",
    ),
    "test_wrong_properties_in_a_connect_are_refused[authentication data alone]": "takes authentication data without a "
    "method, which section 3.1.2.11.10 calls a protocol error",
    "test_wrong_properties_of_a_will_are_refused[wildcard in the response topic]": "does not check [MQTT-3.3.2-14]",
    "test_a_wildcard_in_a_response_topic_closes_the_connection[+]": "does not check [MQTT-3.3.2-14]",
    "test_a_wildcard_in_a_response_topic_closes_the_connection[a/#]": "does not check [MQTT-3.3.2-14]",
    "test_a_subscription_id_from_a_client_closes_the_connection[0]": "its issue 3319 [MQTT-3.3.4-6]",
    "test_a_subscription_id_from_a_client_closes_the_connection[1]": "its issue 3319 [MQTT-3.3.4-6]",
    "test_a_second_connection_takes_the_session_over[v5]": "closes without the DISCONNECT 0x8E of [MQTT-3.1.4-3] where "
    "the session goes on",
    **dict.fromkeys(
        (f"test_a_will_is_published_after_a_disconnect_that_says_so[{reason}]" for reason in ("80", "81", "97")),
        "publishes a will after a DISCONNECT with 0x04 only; [MQTT-3.1.2-8] excepts 0x00 only",
    ),
    "test_a_delayed_will_at_a_take_over_depends_on_the_session[True-wills0]": "lets a delayed will wait although a "
    "clean start has ended its session [MQTT-3.1.2-8]",
    "test_a_delayed_will_is_not_kept_beyond_a_session_that_ends": "lets a delayed will wait although its session ended "
    "with the connection [MQTT-3.1.2-8]",
    "test_what_is_too_large_for_a_client_is_left_out[1]": "what it drops stays in the window [MQTT-3.1.2-25]",
    "test_what_is_too_large_for_a_client_is_left_out[2]": "what it drops stays in the window [MQTT-3.1.2-25]",
    **dict.fromkeys(
        (
            f"test_an_answer_that_is_too_large_for_the_client_is_not_sent[{what}]"
            for what in ("SUBSCRIBE", "UNSUBSCRIBE")
        ),
        "sends SUBACK and UNSUBACK of any size [MQTT-3.1.2-24]",
    ),
    "test_a_packet_of_just_the_maximum_size_is_sent": "sends a byte more than the maximum [MQTT-3.1.2-24]",
    "test_overlapping_subscriptions_deliver_with_the_highest_qos[v311]": "sends one copy with the QoS of any of the "
    "subscriptions unless allow_duplicate_messages is set [MQTT-3.3.5-1]",
    "test_the_broker_keeps_to_the_receive_maximum[3-1]": "has five publications under way for a maximum of three once "
    "the first is acknowledged [MQTT-3.3.4-9]",
    "test_the_broker_keeps_to_the_receive_maximum[3-2]": "the same [MQTT-3.3.4-9]",
    "test_the_receive_maximum_holds_for_what_is_sent_again": "sends again all that was under way [MQTT-4.9.0-2]",
    "test_no_local_in_a_shared_subscription_closes_the_connection": "does not check [MQTT-3.8.3-4]",
    "test_no_local_goes_by_the_client_id": "replaces only QoS and identifier of a subscription [MQTT-3.8.4-3]",
    "test_all_options_of_a_subscription_are_replaced": "replaces only QoS and identifier [MQTT-3.8.4-3]",
    "test_a_message_behind_a_full_window_expires": "drops the message, and then sends nothing more [MQTT-4.5.0-1]",
    "test_a_message_that_was_sent_does_not_expire": "lets a message expire that was sent [MQTT-4.3.3-7]",
    **dict.fromkeys(
        (
            f"test_a_shared_filter_that_is_none_is_refused[{bad}]"
            for bad in ("$share//a", "$share/g", "$share/g/", "$share/+/a", "$share/")
        ),
        "its issue 3319 [MQTT-4.8.2-2]",
    ),
    **dict.fromkeys(
        (f"test_retained_messages_are_not_sent_to_a_shared_subscription[{handling}]" for handling in (0, 16)),
        "sends them; section 3.3.1.3 has them sent to new subscriptions that are not shared",
    ),
}

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

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
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
    ports = free_ports(2)
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


def weft(port: int, websocket: int, folder: Path, *more: str) -> "subprocess.Popen[str]":
    """`weft node`; it prints a line that begins with `ready` when clients can connect."""
    listen = ["--listen", f"127.0.0.1:{port}", "--listen", f"ws://127.0.0.1:{websocket}"]
    options = [*listen, "--data", str(folder / "data"), "--sync", "process", *more]
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


def expect_known_failures(items: list[pytest.Item]) -> None:
    if os.environ.get("MQTT_BROKER") == "mosquitto":
        for item in items:
            if item.name in KNOWN_IN_MOSQUITTO:
                item.add_marker(pytest.mark.xfail(reason=KNOWN_IN_MOSQUITTO[item.name], strict=True))
