"""Processor time of brokers, as the kernel counts it: for a message that comes alone, and for nothing at all.

All brokers hold one topic, and something is published on it at each of them in turn, 20 ms apart, so that every broker
receives it once and nothing is batched. `bare` is the least that a process in Python needs: sixteen that read the same
bytes and write them, the first to all others, and do nothing else.
"""

import argparse
import contextlib
import os
import select
import socket
import time
from collections.abc import Callable, Iterator
from multiprocessing import get_context
from pathlib import Path

from bridged import Fleet, mosquitto_star, topic_name, weft_network
from markdown import head, row
from weft.live.bench.client import connected, subscribe
from weft.live.bench.load import Manner
from weft.wire.mqtt.packet import Publish, Version
from weft.wire.mqtt.writer import encode

APART = 0.02  # seconds between publications
PATIENCE = 5.0  # seconds for one to come to all
BYTES = 206  # of a message between two nodes


def processor(size: argparse.Namespace) -> None:
    head("brokers of", "brokers", "µs a message and broker", "idle: µs a second", "idle: wake-ups a second")
    for name, start in {"Weft": weft_network, "Mosquitto, star": mosquitto_star}.items():
        with start(size.fleet, size.port) as fleet:
            row(name, size.fleet, *measured(fleet.pids, published_in_turn(fleet), size))
    with bare(size.fleet) as (pids, publish):
        row("bare Python", size.fleet, *measured(pids, publish, size))


def measured(pids: tuple[int, ...], publish: Callable[[int], None], size: argparse.Namespace) -> list[str]:
    """Processor time of a message, and of a second in which nothing comes, for a broker."""
    for turn in range(2 * len(pids)):
        publish(turn)
    time.sleep(APART)
    before, begin = used(pids), time.monotonic()
    time.sleep(size.seconds)
    idle = [(after - was) / (time.monotonic() - begin) for was, after in zip(before, used(pids), strict=True)]
    before, begin = used(pids), time.monotonic()
    for turn in range(size.messages):
        publish(turn)
    busy = used(pids)[0] - before[0] - idle[0] * (time.monotonic() - begin)
    figures = busy / (size.messages * len(pids)), idle[0] / len(pids), idle[1] / len(pids)
    return [f"{one:,.0f}" for one in figures]


def used(pids: tuple[int, ...]) -> tuple[float, int]:
    """Microseconds of processor time that processes have used, and how often they have waited for something."""
    nanoseconds = waits = 0
    for thread in (thread for pid in pids for thread in Path(f"/proc/{pid}/task").iterdir()):
        nanoseconds += int((thread / "schedstat").read_text().split()[0])
        waits += int((thread / "status").read_text().partition("\nvoluntary_ctxt_switches:")[2].split()[0])
    return nanoseconds / 1e3, waits


def published_in_turn(fleet: Fleet) -> Callable[[int], None]:
    """Publish at one broker after the other, and wait until all clients have it."""
    topics = [topic_name("alone", place, b"x") for place in range(len(fleet.targets))]
    channels = connected([(f"hear-{n}", target) for n, target in enumerate(fleet.targets)], Manner())
    subscribe([(channel, topics) for channel in channels], 0)
    hear = [channel.socket for channel in channels]
    say = connected([(f"say-{n}", target) for n, target in enumerate(fleet.targets)], Manner())
    packets = [encode(Publish(topic.decode(), bytes(100)), Version.V311) for topic in topics]

    def publish(turn: int) -> None:
        place = turn % len(say)
        in_turn(hear, lambda: say[place].socket.sendall(packets[place]))

    return publish


def in_turn(hear: list[socket.socket], send: Callable[[], None]) -> None:
    """Send, wait until everybody has heard it, and then until the next may be sent."""
    begin, missing = time.monotonic(), set(hear)
    send()
    while missing and time.monotonic() < begin + PATIENCE:
        for one in select.select(list(missing), [], [], PATIENCE)[0]:
            one.recv(1 << 16)
            missing.discard(one)
    time.sleep(max(0.0, begin + APART - time.monotonic()))


@contextlib.contextmanager
def bare(count: int) -> Iterator[tuple[tuple[int, ...], Callable[[int], None]]]:
    """Processes that read and write, the first of them to all others, and each to somebody who waits."""
    say, first = pair()
    links, ends = [pair() for _ in range(count - 1)], [pair() for _ in range(count)]
    reads = [first, *(taken for _, taken in links)]
    writes = [[ends[n][0], *(sent for sent, _ in links if n == 0)] for n in range(count)]
    fork = get_context("fork")
    processes = [fork.Process(target=pass_on, args=each, daemon=True) for each in zip(reads, writes, strict=True)]
    for one in processes:
        one.start()
    try:
        hear = [taken for _, taken in ends]
        yield tuple(one.pid or 0 for one in processes), lambda _: in_turn(hear, lambda: say.sendall(bytes(BYTES)))
    finally:
        for one in processes:
            one.terminate()


def pass_on(read: socket.socket, writes: list[socket.socket]) -> None:
    poll = select.epoll()
    poll.register(read, select.EPOLLIN)
    while poll.poll() and (data := os.read(read.fileno(), 1 << 16)):
        for one in writes:
            os.write(one.fileno(), data)


def pair() -> tuple[socket.socket, socket.socket]:
    """Both ends of a TCP connection."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        one = socket.create_connection(server.getsockname())
        other, _ = server.accept()
    for end in (one, other):
        end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return one, other
