"""MQTT, wherever seconds count: keep alive, expiry of sessions and messages, delay of wills.

The standard counts in whole seconds and a broker under test has a real clock, so each of these takes one to six
seconds. They run side by side: the first test starts all, each waits for its own.
"""

import os
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from mqtt_broker import Broker, weft
from mqtt_peer import DEADLINE, V5, V311, Kind, P, Peer, Will, answer, lasting, publish, unique
from mqtt_table import v5, v311
from ports import free_ports

Scenario = Callable[[Broker], None]
SCENARIOS: dict[str, Scenario] = {}


def timed(scenario: Scenario) -> Callable[[dict[str, "Future[None]"]], None]:
    """Test that waits for the outcome of a scenario."""

    def test(running: dict[str, "Future[None]"]) -> None:
        running[scenario.__name__].result()

    SCENARIOS[scenario.__name__] = scenario
    return test


@pytest.fixture(scope="module")
def running(broker_address: tuple[str, int]) -> Iterator[dict[str, "Future[None]"]]:
    def run(scenario: Scenario) -> None:
        with Broker(broker_address) as broker:
            scenario(broker)

    with ThreadPoolExecutor(len(SCENARIOS)) as pool:
        yield {name: pool.submit(run, scenario) for name, scenario in SCENARIOS.items()}


def pause(seconds: float) -> None:
    """Lets time pass, which is what these tests are about."""
    threading.Event().wait(seconds)


def watcher_of(broker: Broker, topic: str, version: int = V5) -> Peer:
    watcher = broker.join(version)
    watcher.subscribe((topic, 1))
    return watcher


# -- Keep alive


def silent_client(broker: Broker, version: int) -> None:
    topic = unique()
    watcher = watcher_of(broker, topic, version)
    start = time.monotonic()
    peer = broker.join(version, keep_alive=1, will=Will(topic, b"bye", 1))
    assert peer.connack.get(P.SERVER_KEEP_ALIVE, 1) == 1
    assert [(each.kind, each.code) for each in peer.end()] in ([], [(Kind.DISCONNECT, 0x8D)])
    assert 1.0 <= time.monotonic() - start <= 6.0  # one and a half seconds, and what a busy machine needs
    assert watcher.message().payload == b"bye"


@v311("3.1.2-24", "3.1.2-8")
@timed
def test_a_silent_client_of_311_is_closed(broker: Broker) -> None:
    silent_client(broker, V311)


@v5("3.1.2-22", "3.2.2-22", "3.1.2-8")
@timed
def test_a_silent_client_of_5_is_closed(broker: Broker) -> None:
    silent_client(broker, V5)


@v311("3.1.2-24")
@v5("3.1.2-22")
@timed
def test_any_packet_keeps_a_client_alive(broker: Broker) -> None:
    peers, topic = [broker.join(version, keep_alive=2) for version in (V311, V5)], unique()
    for turn in range(6):
        for peer in peers:
            if turn % 2:
                peer.send(publish(peer.version, topic, b"x"))
            else:
                peer.silent()
        pause(0.8)
    for peer in peers:
        peer.silent()


@v311("3.1.2-24")
@v5("3.1.2-22")
@timed
def test_what_the_broker_sends_does_not_keep_a_client_alive(broker: Broker) -> None:
    topic, start = unique(), time.monotonic()
    peer, writer = broker.join(V311, keep_alive=1), broker.join(V311)
    peer.subscribe((topic, 0))
    while not peer.ended and time.monotonic() < start + 6:
        writer.publish(topic, b"x")
        pause(0.2)
        try:
            peer.fill(time.monotonic() + 0.05)
        except AssertionError:
            continue
    assert peer.ended


@v311("3.1.2-24")
@v5("3.1.2-22")
@timed
def test_bytes_that_are_no_packet_yet_do_not_keep_a_client_alive(broker: Broker) -> None:
    peer, start = broker.join(V311, keep_alive=1), time.monotonic()
    slow = iter(publish(V311, unique(), b"x" * 100))
    while not peer.ended and time.monotonic() < start + 6:
        peer.send(bytes([next(slow)]))
        pause(0.2)
        try:
            peer.fill(time.monotonic() + 0.05)
        except AssertionError:
            continue
    assert peer.ended


@v5("3.1.2-22", "3.2.2-22")
@pytest.mark.skipif(
    os.environ.get("MQTT_BROKER", "weft") != "weft", reason="needs a broker with a keep alive of its own"
)
def test_a_keep_alive_of_the_broker_counts_instead_of_the_client_s(tmp_path: Path) -> None:
    process = weft(*(ports := free_ports(2)), tmp_path, "--keep-alive", "1")
    try:
        with Broker(("127.0.0.1", ports[0])) as broker:
            start = time.monotonic()
            peers = [broker.join(V5, keep_alive=seconds) for seconds in (0, 60)]
            for peer in peers:
                assert peer.connack.get(P.SERVER_KEEP_ALIVE) == 1
                assert [(each.kind, each.code) for each in peer.end()] in ([], [(Kind.DISCONNECT, 0x8D)])
            assert 1.0 <= time.monotonic() - start <= 6.0
    finally:
        process.terminate()
        process.wait(DEADLINE)


@v311("3.1.2-24")
@v5("3.1.2-22")
@timed
def test_keep_alive_0_means_none(broker: Broker) -> None:
    peers = [broker.join(version, keep_alive=0) for version in (V311, V5)]
    pause(2.5)
    for peer in peers:
        peer.silent()


# -- Sessions


@v5("4.1.0-2", "3.1.2-8", "3.1.2-23")
@timed
def test_a_session_ends_when_its_time_is_over(broker: Broker) -> None:
    topic = unique()
    watcher = watcher_of(broker, topic)
    will = Will(topic, b"bye", 1, properties=[(P.WILL_DELAY, 600)])
    peer = broker.join(V5, clean=False, pairs=[(P.SESSION_EXPIRY, 1)], will=will)
    start = time.monotonic()
    peer.drop()
    assert watcher.message().payload == b"bye"  # the end of the session ends the delay
    assert 0.8 <= time.monotonic() - start <= 6.0
    assert not broker.join(V5, peer.client_id, clean=False).connack.session_present


@v5("4.1.0-2", "3.14.2-2")
@timed
def test_a_disconnect_changes_the_time_of_a_session(broker: Broker) -> None:
    short = broker.join(V5, clean=False, pairs=[(P.SESSION_EXPIRY, 600)])
    longer = broker.join(V5, clean=False, pairs=[(P.SESSION_EXPIRY, 1)])
    short.leave(0, [(P.SESSION_EXPIRY, 1)])
    longer.leave(0, [(P.SESSION_EXPIRY, 600)])
    pause(2.5)
    assert not broker.join(V5, short.client_id, clean=False).connack.session_present
    assert broker.join(V5, longer.client_id, clean=False).connack.session_present


@v5("4.1.0-1", "4.1.0-2")
@timed
def test_the_time_of_a_session_runs_only_without_a_connection(broker: Broker) -> None:
    topic = unique()
    peer = broker.join(V5, clean=False, pairs=[(P.SESSION_EXPIRY, 2)])
    peer.subscribe((topic, 1))
    pause(3.0)
    peer.drop()
    again = broker.join(V5, peer.client_id, clean=False, pairs=[(P.SESSION_EXPIRY, 2)])
    assert again.connack.session_present
    pause(3.0)
    again.publish(topic, b"x", 1)
    assert again.message().payload == b"x"


@v311("3.1.2-4")
@timed
def test_a_session_of_311_is_kept(broker: Broker) -> None:
    peer = broker.join(V311, clean=False)
    peer.leave()
    pause(2.5)
    assert broker.join(V311, peer.client_id, clean=False).connack.session_present


# -- Wills


@v5("3.1.2-8", "3.1.3-9")
@timed
def test_a_will_waits_for_its_delay(broker: Broker) -> None:
    topic = unique()
    watcher = watcher_of(broker, topic)
    will = Will(topic, b"bye", 1, properties=[(P.WILL_DELAY, 1)])
    peer = broker.join(V5, pairs=[(P.SESSION_EXPIRY, 600)], will=will)
    start = time.monotonic()
    peer.drop()
    assert watcher.message().payload == b"bye"
    assert 0.8 <= time.monotonic() - start <= 6.0


@v5("3.1.3-9", "3.1.2-10")
@timed
def test_a_client_that_is_back_in_time_leaves_no_will(broker: Broker) -> None:
    topic = unique()
    watcher = watcher_of(broker, topic)
    pairs = [(P.SESSION_EXPIRY, 600)]
    back, gone = (
        broker.join(V5, clean=False, pairs=pairs, will=Will(topic, payload, 1, properties=[(P.WILL_DELAY, delay)]))
        for payload, delay in ((b"back", 2), (b"gone", 3))
    )
    back.drop()
    broker.join(V5, back.client_id, clean=False, pairs=pairs)
    gone.drop()
    assert watcher.message().payload == b"gone"  # a will of the other would have come a second before


# -- Messages


@v5("3.3.2-5", "3.3.2-6")
@timed
def test_a_queued_message_expires_or_loses_time(broker: Broker) -> None:
    reader, writer, topic = broker.join(V5, **lasting(V5)), broker.join(V5), unique()
    reader.subscribe((topic, 1))
    reader.leave()
    for seconds in (1, 100):
        writer.publish(topic, b"%d" % seconds, 1, pairs=[(P.MESSAGE_EXPIRY, seconds)])
    writer.publish(topic, b"never", 1)
    pause(2.5)
    got = broker.join(V5, reader.client_id, **lasting(V5)).messages(2)
    assert [m.payload for m in got] == [b"100", b"never"]
    assert 90 <= got[0].get(P.MESSAGE_EXPIRY) <= 98
    assert got[1].get(P.MESSAGE_EXPIRY) is None


@v5("3.3.2-5", "3.3.2-6")
@timed
def test_a_retained_message_expires_or_loses_time(broker: Broker) -> None:
    writer, name = broker.join(V5), unique()
    for seconds in (1, 100):
        writer.publish(f"{name}/{seconds}", b"x", 1, retain=True, pairs=[(P.MESSAGE_EXPIRY, seconds)])
    pause(2.5)
    reader = broker.join(V5)
    reader.subscribe((f"{name}/+", 1))
    got = reader.drain(writer)
    assert [m.topic for m in got] == [f"{name}/100"]
    assert 90 <= got[0].get(P.MESSAGE_EXPIRY) <= 98


@v5("3.3.2-6")
@timed
def test_a_message_that_does_not_wait_loses_no_time(broker: Broker) -> None:
    peer, topic = broker.join(V5), unique()
    peer.subscribe((topic, 1))
    peer.publish(topic, b"x", 1, pairs=[(P.MESSAGE_EXPIRY, 100)])
    assert 95 <= peer.message().get(P.MESSAGE_EXPIRY) <= 100


@v5("3.3.2-5")
@timed
def test_a_message_behind_a_full_window_expires(broker: Broker) -> None:
    reader, writer, topic = broker.join(V5, pairs=[(P.RECEIVE_MAXIMUM, 1)]), broker.join(V5), unique()
    reader.subscribe((topic, 1))
    writer.publish(topic, b"first", 1)
    writer.publish(topic, b"short", 1, pairs=[(P.MESSAGE_EXPIRY, 1)])
    writer.publish(topic, b"last", 1)
    first = reader.next()
    pause(2.5)
    reader.send(answer(Kind.PUBACK, first.packet_id))
    assert [first.payload, reader.message().payload] == [b"first", b"last"]


@v5("4.3.3-7")
@timed
def test_a_message_that_was_sent_does_not_expire(broker: Broker) -> None:
    reader, writer, topic = broker.join(V5, **lasting(V5)), broker.join(V5), unique()
    reader.subscribe((topic, 2))
    writer.publish(topic, b"x", 2, pairs=[(P.MESSAGE_EXPIRY, 1)])
    first = reader.next()
    reader.drop()
    pause(2.5)
    again = broker.join(V5, reader.client_id, **lasting(V5)).next()
    assert (again.kind, again.packet_id, again.payload, again.dup) == (Kind.PUBLISH, first.packet_id, b"x", True)


@v5("4.3.3-13")
@timed
def test_a_handshake_goes_on_after_its_message_expired(broker: Broker) -> None:
    peer, topic = broker.join(V5), unique()
    peer.send(publish(V5, topic, b"x", qos=2, packet_id=5, pairs=[(P.MESSAGE_EXPIRY, 1)]))
    peer.acknowledged(Kind.PUBREC, 5)
    pause(2.5)
    peer.send(publish(V5, topic, b"x", qos=2, packet_id=5, dup=True, pairs=[(P.MESSAGE_EXPIRY, 1)]))
    peer.acknowledged(Kind.PUBREC, 5)
    peer.send(answer(Kind.PUBREL, 5))
    peer.acknowledged(Kind.PUBCOMP, 5)


@v5("3.1.2-8", "3.3.2-6")
@timed
def test_the_expiry_of_a_will_begins_when_it_is_published(broker: Broker) -> None:
    topic = unique()
    watcher = watcher_of(broker, topic)
    pairs = [(P.WILL_DELAY, 2), (P.MESSAGE_EXPIRY, 1)]
    broker.join(V5, pairs=[(P.SESSION_EXPIRY, 600)], will=Will(topic, b"bye", 1, properties=pairs)).drop()
    got = watcher.message()
    assert (got.payload, got.get(P.MESSAGE_EXPIRY, 2) <= 1) == (b"bye", True)
