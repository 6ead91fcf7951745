"""All publishers of a process. A line waits for its time, in the agenda, or for the broker, with the selector."""

import heapq
import selectors
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from weft.arrays import Int64s
from weft.live.bench.line import Line

SHORT = 0.0015  # seconds: selectors wait for whole milliseconds
LOOK = 0.05  # seconds between looks at what the parent says


@dataclass(frozen=True, slots=True)
class Sent:
    """What the publishers of a process have handed to the brokers."""

    counts: Int64s  # by stream
    open: set[tuple[int, int]]  # stream and number of what was not acknowledged
    closed: int  # connections that a broker closed
    ended: int  # nanoseconds, when the last was published


class Publishing:
    def __init__(self, lines: list[Line]) -> None:
        self.lines = lines
        self._wire = selectors.DefaultSelector()
        for line in lines:
            self._wire.register(line.socket, selectors.EVENT_READ, line)
        self._writing: set[Line] = set()
        self._agenda: list[tuple[int, int, Line]] = []
        self._turn = 0  # lines that are due at the same time take turns
        self._closed = 0
        self._ended = 0

    @property
    def published(self) -> int:
        return sum(line.published for line in self.lines)

    def publish(self, end: int, stopped: Callable[[], bool]) -> None:
        """Publish until so many nanoseconds, or until stopped."""
        for line in self.lines:
            self._queue(line)
        look, stop = 0, False
        while (now := time.monotonic_ns()) < end and self._closed < len(self.lines):
            if now >= look:
                if stop := stopped():
                    break
                look = now + int(LOOK * 1e9)
            self._publish_due(now)
            self._wait(min(end, look))
        if not stop:
            self._publish_due(end - 1)
        self._ended = time.monotonic_ns()

    def _publish_due(self, now: int) -> None:
        due = []
        while self._agenda and self._agenda[0][0] <= now:
            due.append(heapq.heappop(self._agenda)[2])
        for line in due:
            line.queued = False
            if not line.closed:
                line.publish(now)
                self._settle(line)

    def _settle(self, line: Line) -> None:
        """Wait for what a line needs next."""
        if line.closed:
            self._forget(line)
            return
        if line.writing != (line in self._writing):
            events = selectors.EVENT_READ | (selectors.EVENT_WRITE if line.writing else 0)
            self._wire.modify(line.socket, events, line)
            (self._writing.add if line.writing else self._writing.discard)(line)
        if not line.blocked and not line.queued:
            self._queue(line)

    def _forget(self, line: Line) -> None:
        """Stop watching a line whose socket is closed, which has left the system's own set already."""
        key = next(key for key in self._wire.get_map().values() if key.data is line)
        self._wire.unregister(key.fd)
        self._closed += 1

    def _queue(self, line: Line) -> None:
        line.queued = True
        self._turn += 1
        heapq.heappush(self._agenda, (line.due_at(), self._turn, line))

    def _wait(self, until: int) -> None:
        """Wait until a moment, the next line's time or a broker's answer."""
        until = min(until, self._agenda[0][0]) if self._agenda else until
        left = max(0.0, (until - time.monotonic_ns()) / 1e9)
        if 0 < left < SHORT:
            time.sleep(left)
            left = 0
        self._serve(left)

    def _serve(self, seconds: float) -> None:
        for key, events in self._wire.select(seconds):
            line: Line = key.data
            if events & selectors.EVENT_WRITE:
                line.flush()
            if events & selectors.EVENT_READ and not line.closed:
                line.read()
            self._settle(line)

    def finish(self, patience: float, streams: int) -> Sent:
        """Write out and await acknowledgements, for at most so many seconds; then tell what was sent."""
        end = time.monotonic() + patience
        while any(line.under_way for line in self.lines) and (left := end - time.monotonic()) > 0:
            self._serve(left)
        counts = np.zeros(streams, np.int64)
        for line in self.lines:
            line.close()
            counts[line.cycle.streams] += line.cycle.counts(line.published)
        return Sent(counts, {one for line in self.lines for one in line.unacknowledged()}, self._closed, self._ended)
