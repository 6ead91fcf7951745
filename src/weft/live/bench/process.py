"""The processes of a run: one for some publishers, one for some subscribers."""

import signal
import time
from collections.abc import Callable
from multiprocessing.connection import Connection

import numpy as np

from weft.arrays import Int64s
from weft.errors import WeftError
from weft.live.bench.client import allow_descriptors, connected, subscribe
from weft.live.bench.cycle import Cycle
from weft.live.bench.histogram import Histogram
from weft.live.bench.layout import Layout
from weft.live.bench.line import Line
from weft.live.bench.message import Begin, Failed, Finish, Outcome, Part, Progress, Ready
from weft.live.bench.publishing import Publishing
from weft.live.bench.subscribing import Subscribing
from weft.live.bench.tally import Tally
from weft.wire.mqtt.reason import PacketError

REPORT = 0.25  # seconds between reports of progress
PATIENCE = 20.0  # times `wait`, after which subscribers end, whatever still comes


def publish_part(part: Part, parent: Connection) -> None:
    _guarded(_publish, part, parent)


def subscribe_part(part: Part, parent: Connection) -> None:
    _guarded(_subscribe, part, parent)


def _guarded(work: Callable[[Part, Connection], None], part: Part, parent: Connection) -> None:
    """Work until the parent is gone; tell it of errors that a user can mend."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends us, in order
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        work(part, parent)
    except PacketError as error:
        parent.send(Failed(f"A broker sent what is not MQTT: {error}", ()))
    except WeftError as error:
        parent.send(Failed(str(error), error.options))
    except (EOFError, BrokenPipeError):
        return


def _publish(part: Part, parent: Connection) -> None:
    publishing = Publishing(_lines(part))
    parent.send(Ready())
    begin: Begin = parent.recv()
    for line in publishing.lines:
        line.start = begin.start + int(line.phase * 1e9)
    time.sleep(max(0.0, (begin.start - time.monotonic_ns()) / 1e9))
    report = _Report(parent)

    def stopped() -> bool:
        report.make(publishing.published, Histogram)
        return parent.poll()

    publishing.publish(begin.end, stopped)
    parent.send(publishing.finish(part.manner.wait, len(part.stream_topics)))


def _lines(part: Part) -> list[Line]:
    manner, layout = part.manner, Layout(len(part.names[0]), part.manner.payload, part.manner.qos)
    allow_descriptors(len(part.publishers))
    channels = connected([(one.client, one.target) for one in part.publishers], manner)
    lines = []
    for n, (one, channel) in enumerate(zip(part.publishers, channels, strict=True)):
        names = [part.names[topic] for topic in part.stream_topics[one.streams]]
        line = Line(channel, Cycle(one.streams, one.weights, part.seed + n), names, layout, manner.window)
        line.rate, line.phase = part.rates[n], part.phases[n]
        lines.append(line)
    return lines


def _subscribe(part: Part, parent: Connection) -> None:
    manner = part.manner
    layouts = [Layout(len(part.names[0]), manner.payload, qos) for qos in range(manner.qos + 1)]
    allow_descriptors(len(part.subscribers))
    clients = [(one.client, one.target) for one in part.subscribers]
    channels = connected(clients, manner, clean=not manner.persistent)
    topics = [[part.names[topic] for topic in one.topics] for one in part.subscribers]
    subscribe(list(zip(channels, topics, strict=True)), manner.qos)
    subscribing = Subscribing(channels, layouts, Tally(_heard(part), len(part.stream_topics)))
    parent.send(Ready())
    begin: Begin = parent.recv()
    subscribing.since = begin.since
    outcome = _outcome(subscribing, _listen(subscribing, parent))
    if manner.persistent:
        connected(clients, manner)  # which ends the sessions that were kept
    parent.send(outcome)


def _heard(part: Part) -> list[Int64s]:
    """The streams of each subscriber, ascending."""
    order = np.argsort(part.stream_topics, kind="stable")
    ends = np.searchsorted(part.stream_topics[order], np.arange(len(part.names) + 1))
    return [
        np.sort(np.concatenate([order[ends[topic] : ends[topic + 1]] for topic in one.topics]))
        for one in part.subscribers
    ]


def _listen(subscribing: Subscribing, parent: Connection) -> Finish:
    """Read until the parent says what was sent."""
    report = _Report(parent)
    while not parent.poll():
        subscribing.serve(0.02)
        if report.is_due:
            subscribing.count()
            report.make(_deliveries(subscribing), subscribing.take_latencies)
    finish: Finish = parent.recv()
    return finish


def _outcome(subscribing: Subscribing, finish: Finish) -> Outcome:
    """What came, when nothing is missing or nothing more comes."""
    tally = subscribing.tally
    expected, begin, cut_off = tally.expected(finish.sent), time.monotonic_ns(), False
    subscribing.count()
    while tally.distinct < expected and not subscribing.all_closed and not cut_off:
        now = time.monotonic_ns()
        if now - max(subscribing.last, begin) > finish.wait * 1e9:
            break
        cut_off = now - begin > PATIENCE * finish.wait * 1e9
        subscribing.serve(0.02)
        subscribing.count()
    return Outcome(
        tally.distinct,
        tally.duplicates,
        tally.late,
        tally.strays,
        subscribing.lowered,
        tally.missing(finish.sent, finish.excused),
        subscribing.closed,
        cut_off,
        dict(subscribing.bins),
        subscribing.take_latencies(),
    )


def _deliveries(subscribing: Subscribing) -> int:
    return subscribing.tally.distinct + subscribing.tally.duplicates


class _Report:
    def __init__(self, parent: Connection) -> None:
        self._parent = parent
        self._due = 0.0

    @property
    def is_due(self) -> bool:
        return time.monotonic() >= self._due

    def make(self, count: int, latencies: Callable[[], Histogram]) -> None:
        """Tell the parent how far it has come, if it is time."""
        if self.is_due:
            self._due = time.monotonic() + REPORT
            self._parent.send(Progress(count, latencies()))
