"""`weft bench`: it counts right, it notices a broker that loses, doubles and reorders, and it ends by itself."""

import json
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from live_network import Process, running, weft
from live_node import PATIENCE, Paho, http, node, until
from lying_proxy import Lies, lying
from ports import free_port, free_run
from weft.cli.output import readable
from weft.errors import SurroundingsError, WeftError
from weft.live.address import Address
from weft.live.authority import AuthorityFolder
from weft.live.bench import relays
from weft.live.bench.client import Channel, connected, subscribe
from weft.live.bench.cycle import Cycle
from weft.live.bench.histogram import Histogram
from weft.live.bench.layout import Layout
from weft.live.bench.line import Line
from weft.live.bench.load import Load, Manner, drawn_load, instance_load
from weft.live.bench.measurement import measure
from weft.live.bench.subscribing import Subscribing
from weft.live.bench.tally import Tally
from weft.model.instance import instance_from_pairs
from weft.model.publisher import Publishers
from weft.wire.mqtt.packet import Connack, Packet, Puback, Publish, Pubrec, Suback, Version
from weft.wire.mqtt.parser import Parser
from weft.wire.mqtt.writer import encode

COMMAND = [sys.executable, "-c", "from weft.cli import main; main()", "bench"]
MOSQUITTO = shutil.which("mosquitto", path="/usr/sbin:/usr/bin:/usr/local/sbin:/opt/homebrew/sbin")
PLACES = [Address("a", 1), Address("b", 2), Address("c", 3)]


# Counting


class Plain:
    """What became of publications, told by remembering all of them."""

    def __init__(self) -> None:
        self.seen: dict[tuple[int, int], list[int]] = {}
        self.duplicates = self.late = 0

    def take(self, subscriber: int, stream: int, number: int) -> None:
        seen = self.seen.setdefault((subscriber, stream), [])
        if number in seen:
            self.duplicates += 1
            return
        self.late += bool(seen) and number < max(seen)
        seen.append(number)


arrivals = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3), st.integers(0, 9)), max_size=60)


@given(st.lists(arrivals, max_size=4), st.lists(st.integers(0, 12), min_size=4, max_size=4))
def test_a_tally_tells_what_remembering_everything_tells(
    batches: list[list[tuple[int, int, int]]], sent: list[int]
) -> None:
    tally, plain = Tally([np.arange(4)] * 3, 4), Plain()
    for batch in batches:
        columns = np.array(batch, np.int64).reshape(-1, 3).T
        tally.take(*columns)
        for one in batch:
            plain.take(*one)
    pairs = [(subscriber, stream) for subscriber in range(3) for stream in range(4)]
    counts = [
        max([sent[stream], *(1 + n for n in plain.seen.get((subscriber, stream), []))]) for subscriber, stream in pairs
    ]
    reached = np.array(counts).reshape(3, 4).max(axis=0)  # nothing comes that was not sent
    missing = {
        (subscriber, stream, number)
        for subscriber, stream in pairs
        for number in range(reached[stream])
        if number not in plain.seen.get((subscriber, stream), [])
    }
    assert tally.distinct == sum(map(len, plain.seen.values()))
    assert (tally.duplicates, tally.late) == (plain.duplicates, plain.late)
    assert tally.missing(reached, set()) == len(missing)
    excused = {(stream, number) for stream, number in ((1, 3), (2, 0)) if number < reached[stream]}
    assert tally.missing(reached, excused) == sum(one[1:] not in excused for one in missing)


def test_a_delivery_that_nobody_asked_for_is_a_stray() -> None:
    tally = Tally([np.array([1]), np.array([0, 2])], 3)
    tally.take(np.array([0, 0, 1, 1]), np.array([1, 2, 2, 1]), np.zeros(4, np.int64))
    assert (tally.distinct, tally.strays) == (2, 2)
    assert tally.expected(np.array([5, 7, 11])) == 7 + 5 + 11


@given(st.lists(st.sampled_from([1.0, 2.0, 5.0]), min_size=1, max_size=5), st.integers(0, 9000), st.integers(0, 300))
def test_numbers_of_a_cycle_count_up_in_every_stream(weights: list[float], first: int, count: int) -> None:
    streams = np.arange(len(weights)) * 10
    cycle = Cycle(streams, np.array(weights), 7)
    before = Counter(dict(enumerate(cycle.counts(first).tolist())))
    places, numbers = cycle.numbers(first, count)
    for index, (place, number) in enumerate(zip(places.tolist(), numbers.tolist(), strict=True), first):
        assert number == before[place]
        assert cycle.number(index) == (place, number)
        before[place] += 1
    assert cycle.counts(first + count).tolist() == [before[place] for place in range(len(weights))]


@pytest.mark.parametrize("qos", [0, 1, 2])
@pytest.mark.parametrize("payload", [16, 100, 200, 20_000])
def test_packets_are_those_of_mqtt_however_they_are_made(qos: int, payload: int) -> None:
    layout, names = Layout(3, payload, qos), [b"a/1", b"a/2"]
    rows = [(0, 7, 11, 0, 10**18), (1, 8, 12, 2**32 - 1, 5), (0, 65_535, 11, 1, 6)]
    single = b"".join(layout.packet(layout.beginning(names[place]), *rest) for place, *rest in rows)
    beginnings = np.array([np.frombuffer(layout.beginning(names[row[0]]), np.uint8) for row in rows])
    _, ids, streams, numbers, times = np.array(rows, np.int64).T
    assert layout.block(beginnings, ids, streams, numbers, times) == single
    stamps = [stream.to_bytes(4) + number.to_bytes(4) + at.to_bytes(8) for _, _, stream, number, at in rows]
    packets = [
        Publish(names[place].decode(), stamp + bytes(payload - 16), qos, packet_id=packet_id if qos else 0)
        for (place, packet_id, *_), stamp in zip(rows, stamps, strict=True)
    ]
    assert single == b"".join(encode(one, Version.V311) for one in packets)
    assert layout.fits(single)
    assert not layout.fits(single[: layout.size] + b"\0" + single[layout.size + 1 :])
    assert layout.rows(single)["number"].tolist() == [row[3] for row in rows]


@given(st.lists(st.integers(1, 2**39), min_size=1, max_size=200))
def test_percentiles_are_within_a_hundredth(nanoseconds: list[int]) -> None:
    one, two = Histogram(), Histogram()
    one.add(np.array(nanoseconds[::2]))
    two.add(np.array(nanoseconds[1::2], np.int64))
    one.merge(two)
    told = sorted(nanoseconds)
    for share in (0.5, 0.9, 0.99):
        true = told[int(np.ceil(share * len(told))) - 1]
        assert true * 0.999 <= one.quantile(share) <= true * 1.012 + 1
    assert one.figures()["max"] == round(told[-1] / 1e6, 4)
    assert Histogram().figures()["p50"] is None


# Loads


def streams_of(load: Load) -> list[int]:
    return sorted(stream for one in load.publishers for stream in one.streams.tolist())


@pytest.mark.parametrize(("publishers", "topics"), [(1, 10), (3, 10), (10, 3), (1, 1)])
def test_every_topic_has_a_publisher_and_every_publisher_a_topic(publishers: int, topics: int) -> None:
    load = drawn_load(PLACES, publishers=publishers, subscribers=2, topics=topics)
    assert streams_of(load) == list(range(max(publishers, topics)))
    assert set(load.stream_topics.tolist()) == set(range(topics))
    assert all(len(one.streams) for one in load.publishers)
    assert load.subscriptions == 2 * topics
    assert len(set(load.names)) == topics
    assert len(set(map(len, load.names))) == 1


def test_a_publisher_and_a_subscriber_alone_sit_at_different_brokers() -> None:
    load = drawn_load(PLACES)
    assert (load.publishers[0].target, load.subscribers[0].target) == (PLACES[0], PLACES[2])


def test_popular_topics_are_drawn_more_often() -> None:
    load = drawn_load(PLACES, subscribers=300, topics=50, subscriptions=5, zipf=1.0)
    drawn = Counter(topic for one in load.subscribers for topic in one.topics.tolist())
    assert all(len(one.topics) == 5 for one in load.subscribers)
    assert drawn[0] > 3 * drawn[40]
    assert load.publishers[0].weights[0] == 50 * load.publishers[0].weights[49]


def test_an_instance_says_who_subscribes_and_publishes() -> None:
    nodes, topics = np.array([0, 0, 1, 2, 4]), np.array([0, 1, 1, 2, 0])
    instance = instance_from_pairs(nodes, topics, node_count=5, topic_count=4)
    load = instance_load(instance, PLACES)
    assert [(one.client[-2:], one.target.host, one.topics.tolist()) for one in load.subscribers] == [
        ("s0", "a", [0, 1]),
        ("s1", "b", [1]),
        ("s2", "c", [2]),
        ("s4", "b", [0]),
    ]
    assert sorted(load.stream_topics.tolist()) == [0, 1, 2]  # nobody hears topic 3
    for one in load.publishers:
        node = int(one.client.partition("-p")[2])
        assert all(topic in instance.interest[node] for topic in load.stream_topics[one.streams])
    sent = np.zeros(len(load.stream_topics), np.int64)
    sent[load.stream_topics == 1] = 10
    assert load.expected(sent) == 20


def test_known_publishers_have_their_rates() -> None:
    known = Publishers(np.array([2, 2, 3], np.int32), np.array([0, 1, 2], np.int32), np.array([3.0, 1.0, 9.0]))
    heard = instance_from_pairs(np.array([0, 1]), np.array([0, 1]), node_count=4, topic_count=3)
    instance = replace(heard, given_publishers=known)
    load = instance_load(instance, PLACES)
    assert [(one.client[-2:], one.weights.tolist()) for one in load.publishers] == [("p2", [3.0, 1.0])]


# What comes from others


class Played:
    """A broker that says what it is told to, piece by piece, each upon the next packet that it hears."""

    def __init__(self, *pieces: bytes) -> None:
        self.heard: list[Packet] = []
        self._server = socket.create_server(("127.0.0.1", 0))
        self.target = Address("127.0.0.1", self._server.getsockname()[1])
        threading.Thread(target=self._serve, args=(pieces,), daemon=True).start()

    def _serve(self, pieces: tuple[bytes, ...]) -> None:
        one, _ = self._server.accept()
        parser, left = Parser(), list(pieces)
        with one:
            while data := one.recv(65536):
                for packet in parser.feed(data):
                    self.heard.append(packet)
                    if left:
                        one.sendall(left.pop(0))


V3 = Version.V311
FOREIGN = [Publish("of/others", b"x" * 40, qos, packet_id=9 if qos else 0) for qos in (0, 1, 2)]
ANSWERS: list[list[Packet]] = [[], [Puback(9)], [Pubrec(9)]]


@pytest.mark.parametrize("cut", [0, 1, 2, 20])
@pytest.mark.parametrize("qos", [0, 1, 2])
def test_publications_of_others_may_come_with_every_answer(qos: int, cut: int) -> None:
    foreign, suback = encode(FOREIGN[qos], V3), encode(Suback(1, (0,)), V3)
    behind = foreign[cut:] + foreign + suback + foreign + foreign[:7]
    broker = Played(encode(Connack(False, 0), V3) + foreign[:cut], behind)
    (channel,) = connected([("one", broker.target)], Manner())
    subscribe([(channel, [b"own"])], 0)
    assert channel.rest() == foreign[:7]
    assert channel.strays == 3
    until(lambda: len(broker.heard) == 2 + 3 * bool(qos), "answers")
    assert broker.heard[2:] == ANSWERS[qos] * 3


@pytest.mark.parametrize("own", [0, 1])
@pytest.mark.parametrize("foreign", [0, 1, 2])
@pytest.mark.parametrize("size", [1, 7, 1000])
def test_publications_of_others_are_strays_among_ours(own: int, foreign: int, size: int) -> None:
    layouts = [Layout(3, 40, qos) for qos in range(own + 1)]
    mine = [layouts[own].packet(layouts[own].beginning(b"own"), 5, 0, number, 0) for number in range(4)]
    other = encode(FOREIGN[foreign], V3)
    here, there = socket.socketpair()
    with here, there:
        subscribing = Subscribing([Channel(here, PLACES[0])], layouts, Tally([np.array([0])], 1))
        data = b"".join([mine[0], other, mine[1], mine[2], other, other, mine[3]])
        for at in range(0, len(data), size):
            there.sendall(data[at : at + size])
            subscribing.serve(1.0)
        subscribing.count()
        assert (subscribing.tally.distinct, subscribing.tally.strays) == (4, 3)
        wanted = [encode(one, V3) for one in ANSWERS[foreign] * 3] + [encode(Puback(5), V3)] * 4 * own
        said = there.recv(65536) if wanted else b""
        assert Counter(said[at : at + 4] for at in range(0, len(said), 4)) == Counter(wanted)


@pytest.mark.parametrize("size", [1, 5, 1000])
def test_a_publisher_finds_its_acknowledgements_among_what_others_say(size: int) -> None:
    here, there = socket.socketpair()
    with here, there:
        cycle, layout = Cycle(np.array([0]), np.ones(1), 1), Layout(3, 40, 1)
        line = Line(Channel(here, PLACES[0]), cycle, [b"own"], layout, 3)
        line.publish(0)
        assert line.blocked
        other = encode(FOREIGN[0], V3)
        acks = [encode(Puback(n), V3) for n in (1, 2, 3)]
        data = acks[0] + other + acks[1] + other + other + acks[2]
        for at in range(0, len(data), size):
            there.sendall(data[at : at + size])
            line.read()
        assert not line.under_way


# Runs


def figures_of(load: Load, **manner: object) -> dict[str, object]:
    return measure(load, Manner(**{"seconds": 0.5, "rate": 2000.0, "wait": 1.0, **manner}))  # type: ignore[arg-type]


def places(*ports: int) -> list[Address]:
    return [Address("127.0.0.1", port) for port in ports]


@contextmanager
def mosquitto(tmp_path: Path) -> Iterator[int]:
    if MOSQUITTO is None:
        pytest.skip("mosquitto is not installed")
    port, config = free_port(), tmp_path / "mosquitto.conf"
    config.write_text(f"listener {port} 127.0.0.1\nallow_anonymous true\nmax_queued_messages 0\nlog_dest none\n")
    process = subprocess.Popen([MOSQUITTO, "-c", str(config)], stderr=subprocess.DEVNULL)
    try:
        until(lambda: is_open(port), "mosquitto's start")
        yield port
    finally:
        process.terminate()
        process.wait()


def is_open(port: int) -> bool:
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) == 0


@pytest.mark.parametrize("qos", [0, 1, 2])
def test_a_node_that_does_its_work_has_nothing_to_be_told(qos: int) -> None:
    with node() as one:
        load = drawn_load(places(one.port), publishers=2, subscribers=3, topics=5, subscriptions=4, zipf=1.0)
        found = measure(load, Manner(qos, seconds=0.5, rate=2000.0), processes=2)
    assert found["deliveries"] == found["expected_deliveries"] > found["published"] > 0
    for name in ("losses", "duplicates", "order_violations", "strays", "lowered_qos", "unacknowledged"):
        assert found[name] == 0, name
    assert found["latency_ms"]["p50"] <= found["latency_ms"]["p99"] <= found["latency_ms"]["max"]  # type: ignore[index]


@pytest.mark.parametrize(("qos", "payload"), [(0, 200), (2, 5000)])  # what no node would drop, however slow we read
def test_a_node_with_tls_is_loaded(qos: int, payload: int, tmp_path: Path) -> None:
    AuthorityFolder(tmp_path / "ca").create("weft", ("127.0.0.1",))
    own = tmp_path / "ca" / "master"
    tls = ("--certificate", str(own / "certificate.pem"), "--key", str(own / "key.pem"))
    with node("--listen", "mqtts://127.0.0.1:0", *tls) as one:
        target = Address("127.0.0.1", one.port_of(2), "mqtts")
        load = drawn_load([target], publishers=2, subscribers=3, topics=5)
        found = figures_of(load, qos=qos, payload=payload, authority=str(own / "authority.pem"))
        assert found["deliveries"] == found["expected_deliveries"]
        assert (found["losses"], found["duplicates"], found["strays"]) == (0, 0, 0)
        with pytest.raises(WeftError, match="shows a certificate that is not taken") as told:
            figures_of(load)
        assert told.value.options == ("authority",)


@pytest.mark.parametrize("content", [None, "no PEM"])
def test_an_authority_that_is_none_is_told_in_a_sentence(content: str | None, tmp_path: Path) -> None:
    file = tmp_path / "authority.pem"
    if content is not None:
        file.write_text(content)
    with node() as one, pytest.raises(WeftError, match="give certificates in PEM") as told:
        figures_of(drawn_load([Address("127.0.0.1", one.port, "mqtts")]), authority=str(file))
    assert told.value.options == ("authority",)


def test_shares_are_told_with_their_decimals() -> None:
    told = readable({"p50": 0.5, "p99": 1.5, "p99_9": 2.5, "percentile_95": 1.0, "max": 3.0})
    assert told == "p50 0.5, p99 1.5, p99.9 2.5, p95 1, max 3"


def test_mosquitto_is_loaded_as_fast_as_it_goes(tmp_path: Path) -> None:
    with mosquitto(tmp_path) as port:
        found = figures_of(drawn_load(places(port), publishers=3, topics=3), rate=None, qos=1)
    assert found["deliveries"] == found["expected_deliveries"] == found["published"]
    assert (found["losses"], found["duplicates"], found["order_violations"]) == (0, 0, 0)


@pytest.mark.parametrize("qos", [0, 1])
def test_a_broker_that_loses_doubles_and_reorders_is_noticed(qos: int) -> None:
    lies = Lies(drop=10, double=7, swap=13)
    with node() as one, lying(one.port, lies) as port:
        found = figures_of(drawn_load(places(one.port, port), topics=1), qos=qos)
    assert lies.dropped
    assert lies.doubled
    assert lies.swapped
    assert found["losses"] == lies.dropped + bool(lies.held)
    assert found["duplicates"] == lies.doubled
    assert found["order_violations"] == lies.swapped - bool(lies.held)
    assert found["deliveries"] == found["published"] - lies.dropped + lies.doubled - bool(lies.held)


def test_what_overtakes_on_another_topic_is_no_violation() -> None:
    lies = Lies(swap=3)
    with node() as one, lying(one.port, lies) as port:
        found = figures_of(drawn_load(places(one.port, port), topics=2))  # neighbours are of different topics
    assert lies.swapped
    assert found["order_violations"] == 0


def test_a_broker_that_dies_costs_what_it_had_not_delivered() -> None:
    with node() as one:
        load = drawn_load(places(one.port))
        shown = iter([one.process.kill])
        found = measure(load, Manner(rate=1000.0, seconds=30.0, wait=0.2), show=lambda _: next(shown, int)())
    assert found["connections_closed"] == 2
    assert found["seconds"] < 10
    assert found["deliveries"] + found["losses"] == found["published"]  # type: ignore[operator]


def test_load_that_cannot_begin_is_told_in_a_sentence() -> None:
    port = free_port()
    with pytest.raises(SurroundingsError, match=f"127.0.0.1:{port} cannot be reached"):
        figures_of(drawn_load(places(port)))


@pytest.mark.parametrize("qos", [0, 1])
def test_load_that_no_broker_takes_is_told_in_a_sentence(qos: int) -> None:
    with node("--packet-bytes", "1000") as one:
        with pytest.raises(SurroundingsError, match="they closed 2 connections of publishers") as told:
            figures_of(drawn_load(places(one.port), publishers=2, topics=2), payload=2_000_000, qos=qos)
        assert told.value.options == ("payload",)


def test_counters_that_never_stand_still_are_not_waited_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    counts, now = count(), iter(np.arange(0.0, 1e4, 0.5))
    monkeypatch.setattr(relays, "ask", lambda *_: {"counters": {"delivered": next(counts)}})
    monkeypatch.setattr(relays, "time", SimpleNamespace(monotonic=lambda: next(now), sleep=lambda _: None))
    relays.settled_passages(PLACES[0])
    assert next(now) <= 7.0


def test_a_wait_for_counters_is_shown() -> None:
    port = free_run(40)
    up = Process("up", "--nodes", "2", "--port", str(port))
    with running(up):
        while not up.line().startswith("ready"):
            pass
        manner = ("--seconds", "0.5", "--rate", "200", "--json")
        code, out, err = weft("bench", f"127.0.0.1:{port}", *manner, "--master", f"127.0.0.1:{port + 2}")
    assert (code, err.count("Waiting for the nodes' counters to stand still")) == (0, 2)
    assert json.loads(out)["relays_a_delivery"] is None, "one node has all clients"


@pytest.mark.parametrize(
    ("manner", "told"),
    [
        ({"qos": 3}, "qos"),
        ({"payload": 15}, "payload"),
        ({"rate": 0.0}, "rate"),
        ({"seconds": 0.0}, "seconds"),
        ({"window": 0}, "window"),
    ],
)
def test_a_manner_that_makes_no_sense_is_refused(manner: dict[str, float], told: str) -> None:
    with pytest.raises(WeftError, match=f"`{told}`"):
        Manner(**manner)  # type: ignore[arg-type]


def test_ctrl_c_ends_with_the_figures_so_far() -> None:
    with node() as one, Paho(one.port) as witness:
        witness.subscribe("weft-bench/#")
        command = [*COMMAND, f"127.0.0.1:{one.port}", "--seconds", "600", "--rate", "500", "--json"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        until(lambda: len(witness.heard) > 10, "publishing")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)
    found = json.loads(out)
    assert (process.returncode, err) == (128 + signal.SIGINT, "")
    assert found["interrupted"]
    assert found["seconds"] < 60
    assert found["published"] == found["deliveries"] > 10


def test_sessions_that_brokers_kept_are_gone_afterwards() -> None:
    port = free_port()
    with node("--http", f"127.0.0.1:{port}") as one:
        found = figures_of(drawn_load(places(one.port), subscribers=2), qos=1, persistent=True)
        until(lambda: "\nweft_sessions 0\n" in http(port, "/metrics"), "the end of the sessions")
    assert found["deliveries"] == found["expected_deliveries"] > 0
