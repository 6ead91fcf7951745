"""A run from start to end, seen by the process that shares the work out and puts the figures together."""

import multiprocessing
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import Any

import numpy as np

from weft.errors import StoppedError, SurroundingsError, WeftError
from weft.live.bench.histogram import Histogram
from weft.live.bench.load import Load, Manner
from weft.live.bench.message import Begin, Failed, Finish, Outcome, Part, Progress, Ready, Stop
from weft.live.bench.process import publish_part, subscribe_part
from weft.live.bench.publishing import Sent
from weft.live.bench.subscribing import BIN

AHEAD = 0.1  # seconds from the word to begin to the beginning
WARM = 0.1  # share of the time that is not in throughput and latencies, and at most a second
SIGNALS = (signal.SIGINT, signal.SIGTERM)


@dataclass(frozen=True, slots=True)
class Moment:
    """What is seen while it runs."""

    seconds: float  # since the beginning
    published_rate: float  # a second, since the moment before
    delivered_rate: float
    latencies: Histogram  # of the deliveries since the moment before


Show = Callable[[Moment], None]


def measure(load: Load, manner: Manner, processes: int = 1, seed: int = 1, show: Show | None = None) -> dict[str, Any]:
    """Figures of a run. Ctrl-C and SIGTERM end it early, with the figures so far."""
    if not 1 <= processes <= 256:
        raise WeftError(f"`processes` is {processes}: give a number from 1 to 256.", "processes")
    with _Crew() as crew, _interrupted() as interrupted:
        run = _Run(crew, manner, interrupted, show)
        run.prepare(_parts(load, manner, processes, seed))
        run.publish()
        _require_taken(load, manner, run)
        return _figures(load, manner, run)


def _require_taken(load: Load, manner: Manner, run: "_Run") -> None:
    """Refuse to give figures of nothing, where brokers would have none of it. Of QoS 0 deliveries alone tell."""
    closed = sum(one.closed for one in run.sent)
    acknowledged = sum(int(one.counts.sum()) - len(one.open) for one in run.sent) if manner.qos else 0
    delivered = sum(one.distinct for one in run.outcomes)
    if closed == len(load.publishers) and not acknowledged and not delivered:
        raise SurroundingsError(
            f"No broker took a publication: they closed {closed:,} connections of publishers. A `payload` of "
            f"{manner.payload:,} bytes may be over their limit: give a smaller one, or see their logs.",
            "payload",
        )


def _parts(load: Load, manner: Manner, processes: int, seed: int) -> Iterator[Part]:
    """The clients, dealt to processes; subscribers come first."""
    for n in range(processes):
        if load.subscribers[n::processes]:
            yield Part(manner, load.names, load.stream_topics, [], [], [], load.subscribers[n::processes], seed)
    total, count = sum(one.weights.sum() for one in load.publishers), len(load.publishers)
    rates = [(manner.rate or 0.0) * float(one.weights.sum() / total) for one in load.publishers]
    phases = [n / count / rate if rate else 0.0 for n, rate in enumerate(rates)]
    for n in range(processes):
        own = slice(n, None, processes)
        if load.publishers[own]:
            yield Part(
                manner,
                load.names,
                load.stream_topics,
                load.publishers[own],
                rates[own],
                phases[own],
                [],
                seed + n * count,
            )


class _Crew:
    """The processes. They end with the block, whatever happens."""

    def __init__(self) -> None:
        self._processes: list[SpawnProcess] = []

    def __enter__(self) -> "_Crew":
        return self

    def start(self, work: Callable[[Part, Connection], None], part: Part) -> Connection:
        context = multiprocessing.get_context("spawn")
        mine, theirs = context.Pipe()
        process = context.Process(target=work, args=(part, theirs), daemon=True)
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # a process must not die of Ctrl-C while it starts
        process.start()
        signal.signal(signal.SIGINT, before)
        theirs.close()
        self._processes.append(process)
        return mine

    def __exit__(self, *_: object) -> None:
        for process in self._processes:
            process.kill()
        for process in self._processes:
            process.join()


@contextmanager
def _interrupted() -> Iterator[Callable[[], int]]:
    """The signal that has asked for the end, or 0; a second one ends it at once."""
    came: list[int] = []

    def note(number: int, _: object) -> None:
        if came:
            raise KeyboardInterrupt
        came.append(number)

    before = {number: signal.signal(number, note) for number in SIGNALS}
    try:
        yield lambda: came[0] if came else 0
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class _Run:
    def __init__(self, crew: _Crew, manner: Manner, interrupted: Callable[[], int], show: Show | None) -> None:
        self._crew = crew
        self._manner = manner
        self.interrupted = interrupted
        self._show = show
        self._say: list[Connection] = []
        self._hear: list[Connection] = []
        self._counts: dict[Connection, int] = {}  # published or delivered so far
        self.start = 0  # nanoseconds
        self.sent: list[Sent] = []
        self.outcomes: list[Outcome] = []
        self.latencies = Histogram()
        self._recent = Histogram()  # since the last moment

    def prepare(self, parts: Iterator[Part]) -> None:
        """Connect and subscribe all clients."""
        for part in parts:
            if part.subscribers:
                self._hear.append(self._crew.start(subscribe_part, part))
            else:
                self._say.append(self._crew.start(publish_part, part))
        waiting = {*self._say, *self._hear}
        while waiting and not self.interrupted():
            waiting -= {one for one, message in self._messages(waiting) if isinstance(message, Ready)}

    def publish(self) -> None:
        """Publish for the time that was asked for, and wait for what is under way."""
        if self.interrupted():
            raise StoppedError(
                "Interrupted before the clients were connected: there is nothing to tell.", self.interrupted()
            )
        nanoseconds = int(self._manner.seconds * 1e9)
        self.start = time.monotonic_ns() + int(AHEAD * 1e9)
        begin = Begin(self.start, self.start + _warming(nanoseconds), self.start + nanoseconds)
        for one in (*self._hear, *self._say):
            one.send(begin)
        self._follow()
        counts = np.sum([one.counts for one in self.sent], axis=0)
        finish = Finish(counts, set().union(*(one.open for one in self.sent)), self._manner.wait)
        for one in self._hear:
            one.send(finish)
        waiting = {*self._hear}
        while waiting:
            for one, message in self._messages(waiting):
                if isinstance(message, Outcome):
                    self.outcomes.append(message)
                    self.latencies.merge(message.latencies)
                    waiting.discard(one)

    def _follow(self) -> None:
        """Take progress until all publishers have told what they sent."""
        waiting, told = {*self._say}, False
        moment = _Moments(self)
        while waiting:
            if self.interrupted() and not told:
                told = True
                for one in waiting:
                    one.send(Stop())
            for one, message in self._messages({*waiting, *self._hear}):
                if isinstance(message, Sent):
                    self.sent.append(message)
                    waiting.discard(one)
            if self._show is not None and (now := moment.next()) is not None:
                self._show(now)

    def _messages(self, connections: set[Connection]) -> Iterator[tuple[Connection, object]]:
        """What the processes say, for a quarter of a second."""
        for one in wait(list(connections), 0.25):
            assert isinstance(one, Connection)
            try:
                message = one.recv()
            except EOFError:
                raise SurroundingsError("A process of the run was killed: there may be too little memory.") from None
            if isinstance(message, Failed):
                failed = SurroundingsError(message.sentence, *message.options)
                raise failed
            if isinstance(message, Progress):
                self._counts[one] = message.count
                self.latencies.merge(message.latencies)
                self._recent.merge(message.latencies)
            yield one, message

    @property
    def published(self) -> int:
        return sum(self._counts.get(one, 0) for one in self._say)

    @property
    def delivered(self) -> int:
        return sum(self._counts.get(one, 0) for one in self._hear)

    def take_recent(self) -> Histogram:
        recent, self._recent = self._recent, Histogram()
        return recent


class _Moments:
    """What a run shows, twice a second."""

    def __init__(self, run: _Run) -> None:
        self._run = run
        self._last = (time.monotonic(), 0, 0)

    def next(self) -> Moment | None:
        now, (before, published, delivered) = time.monotonic(), self._last
        if now < before + 0.5:
            return None
        self._last = (now, self._run.published, self._run.delivered)
        span = now - before
        return Moment(
            now - self._run.start / 1e9,
            (self._run.published - published) / span,
            (self._run.delivered - delivered) / span,
            self._run.take_recent(),
        )


def _figures(load: Load, manner: Manner, run: _Run) -> dict[str, Any]:
    counts = np.sum([one.counts for one in run.sent], axis=0)
    ended = max(one.ended for one in run.sent)
    published, seconds = int(counts.sum()), (ended - run.start) / 1e9
    return {
        "publishers": len(load.publishers),
        "subscribers": len(load.subscribers),
        "topics": load.topics,
        "subscriptions": load.subscriptions,
        "qos": manner.qos,
        "payload_bytes": manner.payload,
        "rate": manner.rate,
        "seconds": round(seconds, 3),
        "interrupted": run.interrupted() > 0,
        "signal": run.interrupted(),
        "published": published,
        "published_per_second": round(published / seconds, 1),
        "deliveries": sum(one.distinct + one.duplicates for one in run.outcomes),
        "deliveries_per_second": round(_throughput(run, ended), 1),
        "latency_ms": run.latencies.figures(),
        "expected_deliveries": load.expected(counts),
        "losses": sum(one.missing for one in run.outcomes),
        "duplicates": sum(one.duplicates for one in run.outcomes),
        "order_violations": sum(one.late for one in run.outcomes),
        "strays": sum(one.strays for one in run.outcomes),
        "lowered_qos": sum(one.lowered for one in run.outcomes),
        "unacknowledged": sum(len(one.open) for one in run.sent),
        "cut_off": any(one.cut_off for one in run.outcomes),
        "connections_closed": sum(one.closed for one in run.sent) + sum(one.closed for one in run.outcomes),
    }


def _warming(nanoseconds: int) -> int:
    """How much of the time is not in throughput and latencies."""
    return min(int(nanoseconds * WARM), 10**9)


def _throughput(run: _Run, ended: int) -> float:
    """Deliveries a second while it was published, after it had warmed up."""
    bins: Counter[int] = Counter()
    for one in run.outcomes:
        bins.update(one.bins)
    first, last = -(-(run.start + _warming(ended - run.start)) // BIN), ended // BIN
    if last <= first:  # too short for that
        return sum(bins.values()) / ((ended - run.start) / 1e9)
    return sum(bins[place] for place in range(first, last)) / ((last - first) * BIN / 1e9)
