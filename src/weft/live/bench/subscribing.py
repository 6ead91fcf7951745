"""All subscribers of a process: they read, acknowledge, and put what they got aside until there is enough to count.

Counting looks at thousands of packets of all subscribers at once, so that it costs little for each; what must be
answered is looked at when it comes.
"""

import selectors
import time
from collections import Counter

import numpy as np

from weft.errors import SurroundingsError
from weft.live.bench.client import Channel, V, answer_to
from weft.live.bench.histogram import Histogram
from weft.live.bench.layout import Layout
from weft.live.bench.tally import Tally
from weft.wire.mqtt.field import VARINT_MAXIMUM
from weft.wire.mqtt.parser import PUBLISH, Parser, frame
from weft.wire.mqtt.writer import encode

READ = 256 * 1024  # bytes
ENOUGH = 4 * 1024 * 1024  # bytes that wait to be counted, at most
BIN = 100_000_000  # nanoseconds for which deliveries are counted together

PUBACK, PUBREC, PUBREL, PUBCOMP = 0x40, 0x50, 0x62, 0x70


class Subscribing:
    def __init__(self, channels: list[Channel], layouts: list[Layout], tally: Tally) -> None:
        """`layouts` are those of QoS 0 and up to that of the subscriptions: a broker may deliver with a lower one."""
        self.tally = tally
        self.latencies = Histogram()  # since they were last taken
        self.bins: Counter[int] = Counter()  # deliveries by the time of their arrival
        self.closed = 0  # connections that a broker closed
        self.lowered = 0  # deliveries with a lower QoS than was asked for
        self.last = 0  # nanoseconds, when something came
        self.since = 0  # what arrived before is not in the latencies
        self._layouts = layouts
        self._aside: list[list[tuple[int, int, bytes]]] = [[] for _ in layouts]  # by QoS: subscriber, time, packets
        self._bytes = 0
        self._wire = selectors.DefaultSelector()
        self._ends = [_End(n, one) for n, one in enumerate(channels)]
        tally.strays += sum(one.strays for one in channels)
        for end in self._ends:
            end.socket.setblocking(False)
            self._wire.register(end.socket, selectors.EVENT_READ, end)

    def serve(self, seconds: float) -> None:
        """Read what comes within so many seconds, once."""
        for key, events in self._wire.select(seconds):
            end: _End = key.data
            if events & selectors.EVENT_WRITE and not self._answer(end, b""):
                continue
            if events & selectors.EVENT_READ:
                self._read(end)
        if self._bytes > ENOUGH:
            self.count()

    def _read(self, end: "_End") -> None:
        try:
            data = end.socket.recv(READ)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._close(end)
            return
        self.last = time.monotonic_ns()
        data = end.rest + data if end.rest else data
        end.rest = self._stride(end, data) if self._is_even(data) else self._walk(end, data)

    def _is_even(self, data: bytes) -> bool:
        """Whether there are publications of this run only, all of one length."""
        layout = self._layouts[0]
        return len(self._layouts) == 1 and layout.fits(data[: len(data) - len(data) % layout.size])

    def _stride(self, end: "_End", data: bytes) -> bytes:
        """Take packets of QoS 0, which all have the same length; what is left over."""
        size = self._layouts[0].size
        whole = len(data) - len(data) % size
        if whole:
            self._put_aside(0, end, data if whole == len(data) else data[:whole])
        return data[whole:]

    def _walk(self, end: "_End", data: bytes) -> bytes:
        """Take packets in their order, and answer them; what is left over."""
        at = 0
        answers: list[bytes] = []
        while True:
            if behind := self._take_run(end, data, at, answers):
                at = behind
                continue
            framed = frame(data, at, len(data), VARINT_MAXIMUM + 5, V)
            if framed is None or framed[1] > len(data):
                break
            self._take_packet(end, data[at : framed[1]], answers)
            at = framed[1]
        if answers:
            self._answer(end, b"".join(answers))
        return data[at:]

    def _take_run(self, end: "_End", data: bytes, at: int, answers: list[bytes]) -> int:
        """Take publications with the QoS that was asked for, as many as follow each other; where they end, or 0."""
        layout, behind = self._layouts[-1], at
        while data.startswith(layout.before, behind) and behind + layout.size <= len(data):
            behind += layout.size
        if behind == at:
            return 0
        self._put_aside(layout.qos, end, data[at:behind])
        if layout.qos:
            head = bytes((PUBACK if layout.qos == 1 else PUBREC, 2))
            answers += [head + data[place : place + 2] for place in range(at + layout.id_at, behind, layout.size)]
        return behind

    def _take_packet(self, end: "_End", packet: bytes, answers: list[bytes]) -> None:
        """Take any other packet."""
        qos = packet[0] >> 1 & 3
        if packet[0] == PUBREL:
            answers.append(bytes((PUBCOMP, 2)) + packet[2:4])
        elif packet[0] >> 4 == PUBLISH and qos < len(self._layouts) and len(packet) == self._layouts[qos].size:
            self._put_aside(qos, end, packet)
            if qos:
                at = self._layouts[qos].id_at
                answers.append(bytes((PUBACK if qos == 1 else PUBREC, 2)) + packet[at : at + 2])
        else:
            self._take_stray(packet, answers)

    def _take_stray(self, packet: bytes, answers: list[bytes]) -> None:
        """Take what is not of this run, and answer it: a broker would wait for that and send no more."""
        self.tally.strays += 1
        for one in Parser(version=V).feed(packet):
            answer = answer_to(one)
            if answer is not None:
                answers.append(encode(answer, V))

    def _put_aside(self, qos: int, end: "_End", packets: bytes) -> None:
        self._aside[qos].append((end.number, self.last, packets))
        self._bytes += len(packets)

    def _answer(self, end: "_End", data: bytes) -> bool:
        """Write acknowledgements as far as the socket takes them; False if it is closed."""
        end.unsent += data
        try:
            end.unsent = end.unsent[end.socket.send(end.unsent) :]
        except BlockingIOError:
            pass
        except OSError:
            self._close(end)
            return False
        if bool(end.unsent) != end.watched:
            end.watched = bool(end.unsent)
            self._wire.modify(end.socket, selectors.EVENT_READ | (selectors.EVENT_WRITE if end.watched else 0), end)
        return True

    def _close(self, end: "_End") -> None:
        self._wire.unregister(end.socket)
        end.socket.close()
        self.closed += 1

    def count(self) -> None:
        """Count what was put aside."""
        for qos, aside in enumerate(self._aside):
            if aside:
                self._count(self._layouts[qos], aside)
                aside.clear()
        self._bytes = 0

    def _count(self, layout: Layout, aside: list[tuple[int, int, bytes]]) -> None:
        data = b"".join(packets for _, _, packets in aside)
        if not layout.fits(data):
            raise SurroundingsError("A subscriber was sent packets that are not of this run: is it a broker?")
        rows = layout.rows(data)
        counts = [len(packets) // layout.size for _, _, packets in aside]
        subscribers = np.repeat(np.array([number for number, _, _ in aside]), counts)
        arrivals = np.repeat(np.array([arrival for _, arrival, _ in aside]), counts)
        for (_, arrival, _), count in zip(aside, counts, strict=True):
            self.bins[arrival // BIN] += count
        self.tally.take(subscribers, rows["stream"].astype(np.int64), rows["number"].astype(np.int64))
        self.latencies.add((arrivals - rows["time"].astype(np.int64))[arrivals >= self.since])
        self.lowered += len(rows) if layout is not self._layouts[-1] else 0

    def take_latencies(self) -> Histogram:
        """Latencies since the last time that they were taken."""
        taken, self.latencies = self.latencies, Histogram()
        return taken

    @property
    def all_closed(self) -> bool:
        return self.closed == len(self._ends)


class _End:
    """One subscriber."""

    def __init__(self, number: int, one: Channel) -> None:
        self.number = number
        self.rest = one.rest()  # of a packet that has not come as a whole
        self.socket = one.socket
        self.unsent = b""
        self.watched = False  # whether it waits to write
