"""The journal of a live node: a thread that writes and syncs, beside the event loop that appends.

Group commit: while the thread is at the disk, records gather, and it takes all of them at once. So the number of syncs
is bounded by the speed of the disk, and not by the number of records.

    journal = open_journal(folder, replay, sync=Sync.DISK)   # blocks; `replay` gets what the folder has
    journal.start(report, state)                             # in the event loop
    position = journal.append(records)                       # never blocks
    ...                                                      # report(Synced(position)), in the event loop
    await journal.close()

`state` gives the records of the owner's present state, for compaction. It is called in the event loop, between other
callbacks, and what it returns must be the state at that moment even if it is read later: records appended meanwhile
are replayed on top of it. Copy what is needed (references will do where values do not change), make bytes lazily.
"""

import asyncio
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from threading import Event as Flag
from threading import Thread

from weft.errors import SurroundingsError
from weft.journal.event import Broken, Compacted, CompactionFailed, Event, Synced
from weft.journal.log import DEFAULT, Log, open_log
from weft.journal.output import BrokenFileError
from weft.journal.parameters import Parameters, Sync
from weft.journal.recovery import Recovered, Replay
from weft.live.disk import A_NODE, Disk, require_own
from weft.wire.journal import SALT_BYTES

RETRY = 0.5  # seconds between two attempts to write to a full disk
LINGER = 0.05  # seconds that records may gather where nobody waits for them
SLICE, SLICE_BYTES = 500, 1 << 18  # of the state, taken in one callback of the event loop; whichever comes first

Report = Callable[[Event], None]
State = Callable[[], Iterator[bytes]]


class Journal:
    def __init__(self, disk: Disk, log: Log, found: Recovered, sync: Sync) -> None:
        self.found = found  # at the start
        self.position = log.position  # behind the last record appended
        self.synced = log.position  # nobody need wait for what is not behind this
        self._disk, self._log, self._sync = disk, log, sync
        self._work: SimpleQueue[Sequence[bytes] | Callable[[], None]] = SimpleQueue()
        self._thread: Thread | None = None
        self._closing = Flag()
        self._asked = False  # for compaction, by the thread
        self._records: Iterator[bytes] | None = None  # of the state that is being compacted

    # In the event loop.

    def start(self, report: Report, state: State) -> None:
        self._loop = asyncio.get_running_loop()
        self._report, self._state = report, state
        self._thread = Thread(target=self._run, name="journal", daemon=True)
        self._thread.start()

    def append(self, records: Sequence[bytes]) -> int:
        """The position behind the last of them. They are the journal's from now on: do not change the list."""
        self.position += len(records)
        self._work.put(records)
        if self._sync is Sync.NONE:
            self.synced = self.position
        return self.position

    def compact(self) -> None:
        """Compacts now, if it is not being done; the journal does by itself when it is worthwhile."""
        if self._records is None:
            self._records = self._state()
            self._work.put(self._begin_snapshot)

    async def close(self) -> None:
        """Everything appended before is written, synced and reported, as far as there is room; nothing after is."""
        self._closing.set()
        if self._thread:
            self._work.put(_nothing)
            await asyncio.to_thread(self._thread.join)
        else:
            self._log.close()
        self._disk.close()

    def close_at_last(self, seconds: float) -> None:
        """The same from a thread that cannot wait for the event loop, nor for long."""
        self._closing.set()
        if self._thread is not None:
            self._work.put(_nothing)
            self._thread.join(seconds)

    def _told(self, event: Event) -> None:
        if isinstance(event, Synced):
            self.synced = max(self.synced, event.position)
        elif isinstance(event, Compacted | CompactionFailed):
            self._records, self._asked = None, False
        self._report(event)

    def _next_slice(self) -> None:
        assert self._records is not None
        records = _some_of(self._records)
        self._work.put(partial(self._extend_snapshot, records) if records else self._finish_snapshot)

    # In the thread.

    def _run(self) -> None:
        try:
            while not self._closing.is_set():
                self._do(self._arrived())
            self._do(self._at_hand())
            self._log.close()
        except (OSError, BrokenFileError) as error:
            self._tell(Broken(f"The journal cannot go on ({error}): mend the disk and start again."))

    def _arrived(self) -> list[Sequence[bytes] | Callable[[], None]]:
        """All that there is to do, when there is something."""
        if self._log.is_waiting:
            self._closing.wait(RETRY)
            return self._at_hand()
        first = self._work.get()
        if self._sync is Sync.NONE:
            self._closing.wait(LINGER)
        return [first, *self._at_hand()]

    def _at_hand(self) -> list[Sequence[bytes] | Callable[[], None]]:
        return [self._work.get() for _ in range(self._work.qsize())]

    def _do(self, works: list[Sequence[bytes] | Callable[[], None]]) -> None:
        """Records that follow each other in one commit."""
        gathered: list[bytes] = []
        for work in works:
            if callable(work):
                self._commit(gathered)
                gathered = []
                work()
            else:
                gathered += work
        self._commit(gathered)

    def _commit(self, records: list[bytes]) -> None:
        for event in self._log.commit(records, self._sync):
            self._tell(event)
        if self._log.wants_compaction and not self._asked:
            self._asked = True
            self._loop.call_soon_threadsafe(self.compact)

    def _begin_snapshot(self) -> None:
        self._slice_or(self._log.begin_snapshot())

    def _extend_snapshot(self, records: list[bytes]) -> None:
        self._slice_or(self._log.extend_snapshot(records))

    def _finish_snapshot(self) -> None:
        self._tell(self._log.finish_snapshot())

    def _slice_or(self, failed: CompactionFailed | None) -> None:
        if failed:
            self._tell(failed)
        else:
            self._loop.call_soon_threadsafe(self._next_slice)

    def _tell(self, event: Event) -> None:
        self._loop.call_soon_threadsafe(self._told, event)


def open_journal(path: Path, replay: Replay, *, sync: Sync = Sync.DISK, parameters: Parameters = DEFAULT) -> Journal:
    """The journal of a folder, after `replay` has had all its records in order."""
    require_own(path, A_NODE)
    with ExitStack() as undo:
        disk = Disk(path)
        undo.callback(disk.close)
        try:
            log, found = open_log(disk, replay, partial(os.urandom, SALT_BYTES), parameters)
        except OSError as error:
            raise SurroundingsError(f"{path} cannot be used ({error.strerror}): mend that and start again.") from error
        undo.pop_all()
        return Journal(disk, log, found, sync)


def _some_of(records: Iterator[bytes]) -> list[bytes]:
    taken, size = [], 0
    for record in records:
        taken.append(record)
        size += len(record)
        if len(taken) == SLICE or size >= SLICE_BYTES:
            break
    return taken


def _nothing() -> None:
    """Work that wakes the thread."""
