"""Logs: one line an event on standard error, as words or as JSON.

A log never raises and never waits. Lines go to a thread that writes them, so that a pipe which nobody reads, or a slow
disk, holds up nobody else; what is too much for it, or what the disk has no room for, is dropped and counted, and the
next line tells how many. A pipe that is closed ends the log, and nothing else.

No field is longer than LONGEST: names come from outside, and some of them may have 64 KiB.
"""

import json
import logging
import os
import select
import sys
from datetime import UTC, datetime
from queue import SimpleQueue
from threading import Thread
from typing import TextIO

from weft.live.clock import Clock

LEVELS = ("debug", "info", "warning", "error")
EVENTS = {
    "debug": ("design_without_gain", "journal_compacted"),
    "warning": (
        *("access_not_read", "certificate_not_read", "certificate_not_renewed", "clock_apart", "design_failed"),
        *("ended_late", "failed", "join_refused", "journal_not_compacted", "link_refused", "log_dropped"),
        *("not_accepted", "not_authorized", "python", "refused", "refused_by_master", "revoked", "stranger"),
        *("subscribed_alone", "tls_refused", "unprotected", "unreachable"),
    ),
    "error": ("defect", "journal_broken", "journal_full", "store_failed"),
}  # those of no other level are "info"
LEVEL_OF = {event: LEVELS.index(level) for level, events in EVENTS.items() for event in events}
INFO = LEVELS.index("info")

LONGEST = 200  # characters of a field
END = 60  # of those, at the end of one that is cut
MOST = 1 << 20  # bytes that wait to be written
LAST_WORDS = 1.0  # seconds that they have at the end


class Writer:
    """Text to a descriptor, written by a thread."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._queue: SimpleQueue[bytes | None] = SimpleQueue()
        self._given = 0  # bytes; of each of these, one thread makes it more
        self._taken = 0
        self._refused = 0  # texts that found no room here
        self._lost = 0  # texts that could not be written
        self._is_torn = False  # the last line was written in part
        self._is_closed = False
        self._thread: Thread | None = None

    @property
    def dropped(self) -> int:
        """Texts so far that nobody will see."""
        return self._refused + self._lost

    def write(self, text: str) -> None:
        data = text.encode(errors="backslashreplace")
        if self._is_closed or self._given - self._taken + len(data) > MOST:
            self._refused += 1
            return
        if self._thread is None:
            self._thread = Thread(target=self._run, name="log", daemon=True)
            self._thread.start()
        self._given += len(data)
        self._queue.put(data)

    def close(self, seconds: float = LAST_WORDS) -> None:
        """Wait for a moment until all is written."""
        if self._thread is not None:
            self._queue.put(None)
            self._thread.join(seconds)

    # In the thread

    def _run(self) -> None:
        while (data := self._queue.get()) is not None:
            whole = b"\n" + data if self._is_torn else data
            left = self._left_of(whole)
            self._is_torn = 0 < len(left) < len(whole)
            self._lost += bool(left)
            self._taken += len(data)

    def _left_of(self, data: bytes) -> bytes:
        """What could not be written."""
        if self._is_closed:
            return data
        rest = memoryview(data)
        while rest:
            try:
                rest = rest[os.write(self._descriptor, rest) :]
            except BlockingIOError:  # somebody else has made it one that does not block
                select.select([], [self._descriptor], [], 1.0)
            except BrokenPipeError:
                self._is_closed = True
                break
            except OSError:
                break
        return bytes(rest)


class Log:
    def __init__(
        self,
        clock: Clock,
        as_json: bool = False,
        quiet: bool = False,
        level: str = "info",
        out: Writer | TextIO | None = None,
    ) -> None:
        self._clock = clock
        self._json = as_json
        self._least = len(LEVELS) if quiet else LEVELS.index(level)
        self._out = Writer(sys.stderr.fileno()) if out is None else out
        self._told = 0  # of the lines that were dropped

    @property
    def dropped(self) -> int:
        return self._out.dropped if isinstance(self._out, Writer) else 0

    def write(self, event: str, **fields: object) -> None:
        level = LEVEL_OF.get(event, INFO)
        if level < self._least:
            return
        lines = self._line(event, level, fields)
        if self.dropped > self._told:
            self._told = self.dropped
            lines = self._line("log_dropped", LEVEL_OF["log_dropped"], {"lines": self._told}) + lines
        self._out.write(lines)

    def close(self, last_words: str = "", seconds: float = LAST_WORDS) -> None:
        """Write what there is, and these, however quiet this log is."""
        if last_words:
            self._out.write(last_words)
        if isinstance(self._out, Writer):
            self._out.close(seconds)

    def take_over(self) -> None:
        """Have what libraries say come here too; on standard error it might wait, and would have no bounds."""
        logging.basicConfig(handlers=[_Handler(self)], level=logging.WARNING, force=True)

    def _line(self, event: str, level: int, fields: dict[str, object]) -> str:
        time = datetime.fromtimestamp(self._clock.now(), UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        told = {name: _cut(value) for name, value in fields.items() if value not in ("", None)}
        if self._json:
            return json.dumps({"time": time, "level": LEVELS[level], "event": event, **told}) + "\n"
        return " ".join([time, event, *(f"{name}={_word(value)}" for name, value in told.items())]) + "\n"


class _Handler(logging.Handler):
    def __init__(self, log: Log) -> None:
        super().__init__()
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        self._log.write("python", detail=record.getMessage())


def _cut(value: object) -> object:
    """The value, or both ends of it where it is too long: what to do stands at the end of our sentences."""
    text = value if isinstance(value, str) else str(value)
    if len(text) <= LONGEST:
        return value
    return f"{text[: LONGEST - END - 3]}...{text[-END:]}"


def _word(value: object) -> str:
    """The value as it is, or quoted where it would not be one word."""
    text = str(value)
    return text if text and text.isprintable() and not any(one in text for one in ' "=') else json.dumps(text)
