"""`weft node` beside Mosquitto, in one run: deliveries a second, latency, memory of idle connections.

    python benchmarks/broker_mqtt.py [--seconds 5] [--repeat 3] [--cases one-to-one,...]

Load is that of `weft bench`, which checks every delivery, on loopback with payloads of 100 bytes. With QoS 0 it would
be the bottleneck: there publishers write prepared blocks of packets, and subscribers count bytes. Each broker is alone
with its load while it is measured; the two take turns, and the median of the ratios is what counts. Mosquitto runs with
its defaults but for limits (max_queued_messages 0, no persistence, no log).
"""

import argparse
import contextlib
import os
import resource
import selectors
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from multiprocessing import Event, Pipe, Process
from pathlib import Path

from weft.live.address import Address
from weft.live.bench.client import connected, subscribe
from weft.live.bench.load import Manner, drawn_load
from weft.live.bench.measurement import measure
from weft.wire.mqtt.packet import Publish, Version
from weft.wire.mqtt.writer import encode

PORT = 21883
TARGET = Address("127.0.0.1", PORT)
PAYLOAD = bytes(100)
BLOCK = 64 * 1024  # bytes that a publisher writes at once
WAIT = 1.0  # seconds for what is still under way


# Brokers


@contextlib.contextmanager
def mosquitto(_: str = "none", port: int = PORT) -> Iterator[int]:
    path = shutil.which("mosquitto", path=os.environ["PATH"] + ":/usr/sbin")
    if path is None:
        sys.exit("mosquitto is not installed.")
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "mosquitto.conf"
        config.write_text(
            f"listener {port} 127.0.0.1\nallow_anonymous true\nmax_queued_messages 0\nmax_inflight_messages 1000\n"
            "log_dest none\npersistence false\nset_tcp_nodelay true\nuser root\n"
        )
        with running([path, "-c", str(config)], port) as pid:
            yield pid


@contextlib.contextmanager
def weft(sync: str = "", port: int = PORT) -> Iterator[int]:
    command = [sys.executable, "-c", "from weft.cli import main; main()", "node", "--quiet"]
    command += ["--listen", f"127.0.0.1:{port}"]
    with tempfile.TemporaryDirectory(dir=os.environ.get("BENCH_DIR")) as folder:
        if sync:
            command += ["--data", folder, "--sync", sync]
        with running(command, port) as pid:
            yield pid


@contextlib.contextmanager
def running(command: list[str], port: int) -> Iterator[int]:
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        await_port(port)
        yield process.pid
    finally:
        process.terminate()
        process.wait()


def await_port(port: int) -> None:
    until = time.monotonic() + 10
    while time.monotonic() < until:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
            return
        time.sleep(0.02)
    sys.exit(f"Nobody listens on port {port}.")


# Load


def block_of(topics: list[str]) -> bytes:
    packets = [encode(Publish(topic, PAYLOAD), Version.V311) for topic in topics]
    return b"".join(packets * max(1, BLOCK // sum(map(len, packets))))


def flood(lines: list[tuple[str, list[str]]], go: object, stop: object) -> None:
    """Publishers, each with its topics in turn, as fast as they are read."""
    wire = selectors.DefaultSelector()
    for name, topics in lines:
        one = connected([(name, TARGET)], Manner())[0].socket
        one.setblocking(False)
        block = block_of(topics) if len(lines) == 1 else block_of(topics)[: 8192 // len(block_of(topics)) or None]
        wire.register(one, selectors.EVENT_WRITE, [block, 0])
    go.wait()  # type: ignore[attr-defined]
    while not stop.is_set():  # type: ignore[attr-defined]
        for key, _ in wire.select(0.1):
            block, at = key.data
            with contextlib.suppress(BlockingIOError):
                at += key.fileobj.send(memoryview(block)[at:])  # type: ignore[union-attr]
            key.data[1] = at % len(block)


def drain(lines: list[tuple[str, list[str]]], size: int, seconds: float, ready: object, out: object) -> None:
    """Subscribers: deliveries a second, after a tenth of the time to warm up."""
    wire = selectors.DefaultSelector()
    for name, topics in lines:
        (channel,) = connected([(name, TARGET)], Manner())
        subscribe([(channel, [topic.encode() for topic in topics])], 0)
        one = channel.socket
        one.setblocking(False)
        wire.register(one, selectors.EVENT_READ)
    buffer = bytearray(1 << 20)
    ready.set()  # type: ignore[attr-defined]
    begin, got = None, 0
    while True:
        for key, _ in wire.select(0.05):
            with contextlib.suppress(BlockingIOError):
                count = key.fileobj.recv_into(buffer)  # type: ignore[union-attr]
                got += count
        now = time.perf_counter()
        if begin is None:
            begin, got = (now, 0) if got else (None, 0)
            warm = begin
        elif warm is not None and now - begin > seconds / 10:
            begin, got, warm = now, 0, None
        elif warm is None and now - begin > seconds:
            out.send(got / size / (now - begin))  # type: ignore[attr-defined]
            return


def throughput(
    publishers: list[tuple[str, list[str]]], subscribers: list[tuple[str, list[str]]], seconds: float
) -> float:
    size = len(encode(Publish(publishers[0][1][0], PAYLOAD), Version.V311))
    ready, stop, (mine, theirs) = Event(), Event(), Pipe()
    reader = Process(target=drain, args=(subscribers, size, seconds, ready, theirs))
    writer = Process(target=flood, args=(publishers, ready, stop))
    reader.start()
    writer.start()
    rate: float = mine.recv()
    stop.set()
    writer.join()
    reader.join()
    return rate


def window(seconds: float, persistent: bool = False) -> float:
    """QoS 1: one publisher with 100 open, one subscriber that acknowledges; deliveries a second."""
    manner = Manner(1, seconds=seconds, window=100, persistent=persistent, wait=WAIT)
    return float(measure(drawn_load([TARGET], topics=1), manner)["deliveries_per_second"])


def latencies(rate: float, seconds: float) -> tuple[float, float]:
    """Median and 99th percentile in microseconds, with so many publications a second on one topic."""
    found = measure(drawn_load([TARGET], topics=1), Manner(rate=rate, seconds=seconds, wait=WAIT))["latency_ms"]
    return found["p50"] * 1e3, found["p99"] * 1e3


def idle_bytes(pid: int, count: int) -> float:
    """Resident bytes a connection."""
    before = resident(pid)
    held = connected([(f"idle-{n}", TARGET) for n in range(count)], Manner())
    time.sleep(0.5)
    after = resident(pid)
    for one in held:
        one.socket.close()
    return (after - before) / count


def resident(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) * 1024
    raise LookupError(pid)


# Cases


def topics(count: int) -> list[str]:
    return [f"t/{n:02}" for n in range(count)]


def pairs(count: int) -> list[tuple[str, list[str]]]:
    return [(f"pair-{n}", [f"t/{n:02}"]) for n in range(count)]


def overlapping(count: int, of: int) -> list[tuple[str, list[str]]]:
    """Subscribers of which each has half of the topics, every one another half."""
    return [(f"s{n}", [f"t/{(n + k) % of:02}" for k in range(of // 2)]) for n in range(count)]


CASES: dict[str, tuple[str, Callable[[float], float]]] = {
    "one-to-one": (
        "QoS 0, 1 publisher, 1 subscriber, 50 topics in turn",
        lambda s: throughput([("p", topics(50))], [("s", topics(50))], s),
    ),
    "one-to-fifty": (
        "QoS 0, 1 publisher, 50 subscribers, 20 topics in turn",
        lambda s: throughput([("p", topics(20))], [(f"s{n}", topics(20)) for n in range(50)], s),
    ),
    "one-to-fifty-mixed": (
        "the same, each subscriber to another half of the topics",
        lambda s: throughput([("p", topics(20))], overlapping(50, 20), s),
    ),
    "fifty-to-fifty": (
        "QoS 0, 50 publishers, 50 subscribers, each on its own topic",
        lambda s: throughput(pairs(50), [(f"s{name}", own) for name, own in pairs(50)], s),
    ),
    "qos-1": (
        "QoS 1, 1 publisher (window of 100), 1 subscriber",
        window,
    ),
}


def compare(names: list[str], seconds: float, repeat: int, idle: int) -> None:
    print("| case | Mosquitto | Weft | ratio |\n|---|---|---|---|", flush=True)
    full = 0.0
    for name in names:
        if name not in CASES:
            continue
        told, rate = CASES[name]
        theirs, ours = [], []
        for _ in range(repeat):
            with mosquitto():
                theirs.append(rate(seconds))
            with weft():
                ours.append(rate(seconds))
        ratio = statistics.median(a / b for a, b in zip(ours, theirs, strict=True))
        mine, other = statistics.median(ours), statistics.median(theirs)
        print(f"| {told}: deliveries/s | {other:,.0f} | {mine:,.0f} | {ratio:.2f} |", flush=True)
        if name == "one-to-one":
            full = other
    if "durable" in names:
        compare_durable(seconds)
    if "latency" in names:
        compare_latency(seconds, (full or 100_000) / 10, repeat)
    if "idle" in names:
        compare_idle(idle)


def compare_durable(seconds: float) -> None:
    with mosquitto():
        base = window(seconds, persistent=True)
    for sync in ("none", "process", "disk"):
        with weft(sync):
            ours = window(seconds, persistent=True)
        told = f"QoS 1 to a persistent session, --sync {sync} (Mosquitto: nothing synced): deliveries/s"
        print(f"| {told} | {base:,.0f} | {ours:,.0f} | {ours / base:.2f} |", flush=True)


def compare_latency(seconds: float, rate: float, repeat: int) -> None:
    found = []
    for _ in range(repeat):
        with mosquitto():
            theirs = latencies(rate, seconds)
        with weft():
            found.append((theirs, latencies(rate, seconds)))
    for place, name in ((0, "median"), (1, "99th percentile")):
        theirs_, ours_ = ([one[side][place] for one in found] for side in (0, 1))
        ratio = statistics.median(b / a for a, b in zip(theirs_, ours_, strict=True))
        told = f"latency at {rate:,.0f} publications/s, {name}: us"
        print(
            f"| {told} | {statistics.median(theirs_):,.0f} | {statistics.median(ours_):,.0f} | {ratio:.2f} |",
            flush=True,
        )


def compare_idle(count: int) -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    with mosquitto() as pid:
        theirs = idle_bytes(pid, count)
    with weft() as pid:
        ours = idle_bytes(pid, count)
    print(
        f"| {count:,} idle connections: bytes a connection | {theirs:,.0f} | {ours:,.0f} | {ours / theirs:.2f} |",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--cases", default=",".join([*CASES, "durable", "latency", "idle"]))
    parser.add_argument("--idle", type=int, default=10_000, help="connections")
    arguments = parser.parse_args()
    compare(arguments.cases.split(","), arguments.seconds, arguments.repeat, arguments.idle)


if __name__ == "__main__":
    main()
