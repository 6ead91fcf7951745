"""The journal as its one writer sees it: segments that records are appended to, and compaction into a snapshot.

Every call does its I/O before it returns. A driver with a thread calls `commit` with all that came meanwhile; a driver
under virtual time calls `write` and `sync` with time between them.

On a full disk nothing is given up. The records wait, in order, and every later call tries them again, so that positions
stay what they are and no record refers to one that is missing.

Compaction: the journal goes on in a new segment, and the owner's records of the state that it had at that moment become
a snapshot, a few at a time between other calls. Then what came before is deleted.

Salts are drawn by the caller, since there is no chance in here.
"""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from errno import EDQUOT, EFBIG, ENOSPC
from itertools import accumulate

from weft.journal.event import AppendFailed, Compacted, CompactionFailed, Event, Synced
from weft.journal.name import segment_name
from weft.journal.output import BrokenFileError, Output, new_output
from weft.journal.parameters import Parameters, Sync
from weft.journal.port import Folder
from weft.journal.recovery import Recovered, Replay, recovered
from weft.journal.snapshot import Snapshot
from weft.wire.journal import HEADER_BYTES, Header, Kind

FULL = {ENOSPC, EDQUOT, EFBIG}
FRAME_RECORDS = 1 << 14
DEFAULT = Parameters()


class Log:
    def __init__(
        self, folder: Folder, found: Recovered, salt: Callable[[], bytes], parameters: Parameters = DEFAULT
    ) -> None:
        self._folder, self._salt, self._parameters = folder, salt, parameters
        self._waiting: list[bytes] = []  # appended, and in no file
        self._full = False  # and reported
        self._synced = found.position  # as reported
        self._snapshot: Snapshot | None = None
        self._snapshot_bytes = found.snapshot_bytes  # of the last that was completed
        self._segment = self._continued(found)
        self._older_bytes = found.segment_bytes - (found.tail.size if found.tail else 0)  # of segments behind it
        self._compacted_bytes = 0  # of those, what the snapshot in hand will replace
        self._compact_at = self._threshold()

    @property
    def position(self) -> int:
        """How many records the journal has had, with those that wait."""
        return self._segment.position + len(self._waiting)

    @property
    def is_waiting(self) -> bool:
        return bool(self._waiting)

    @property
    def wants_compaction(self) -> bool:
        return self._snapshot is None and self._segment_bytes >= self._compact_at

    @property
    def _segment_bytes(self) -> int:
        return self._older_bytes + self._segment.size

    def commit(self, records: Sequence[bytes], sync: Sync) -> list[Event]:
        failed = self.write(records)
        events: list[Event] = []
        if self._segment.position > self._synced:
            events.append(self.sync() if sync is Sync.DISK else self._reported())
        if failed and (events or not self._full):
            events.append(failed)
        self._full = failed is not None
        return events

    def write(self, records: Sequence[bytes]) -> AppendFailed | None:
        self._waiting += records
        written = 0
        try:
            while written < len(self._waiting):
                written += self._write_some(written)
        except OSError as error:
            if error.errno not in FULL:
                raise
            return AppendFailed(self._segment.position, str(error.strerror))
        finally:
            del self._waiting[:written]
        return None

    def sync(self) -> Synced:
        self._segment.sync()
        return self._reported()

    def close(self) -> None:
        """Ends the last segment in order, if there is room to say so."""
        self.drop_snapshot()
        self._segment.sync()
        try:
            self._segment.write(())
            self._segment.sync()
        except OSError as error:
            if error.errno not in FULL:
                raise
        self._segment.close()

    def begin_snapshot(self) -> CompactionFailed | None:
        """Compacts what came until now. The records of the state at this moment are to follow."""
        if self._waiting:
            return self._given_up("the disk is full")
        try:
            self._roll()
            self._compacted_bytes = self._older_bytes
            self._snapshot = Snapshot(self._folder, self._segment.position, self._salt())
        except OSError as error:
            return self._given_up(str(error.strerror))
        return None

    def extend_snapshot(self, records: Sequence[bytes]) -> CompactionFailed | None:
        assert self._snapshot
        try:
            self._snapshot.extend(records, self._parameters.frame_bytes)
        except (OSError, BrokenFileError) as error:
            return self._given_up(str(error))
        return None

    def finish_snapshot(self) -> Compacted | CompactionFailed:
        assert self._snapshot
        try:
            self._snapshot.complete()
        except (OSError, BrokenFileError) as error:
            return self._given_up(str(error))
        snapshot, self._snapshot = self._snapshot, None
        snapshot.succeed()
        self._snapshot_bytes = snapshot.size
        self._older_bytes -= self._compacted_bytes
        self._compact_at = self._threshold()
        return Compacted(snapshot.position, snapshot.size)

    def drop_snapshot(self) -> None:
        if self._snapshot:
            self._snapshot.drop()
            self._snapshot = None

    def _continued(self, found: Recovered) -> Output:
        """The last segment, cut to what makes sense. A process may have ended before it synced what is found now."""
        self._folder.sync()  # before anything is deleted because of a name in it
        for name in found.needless:
            self._folder.delete(name)
        if found.tail is None:
            return self._new_segment(found.position)
        name = segment_name(found.tail.segment)
        file = self._folder.open(name)
        if found.tail.torn:
            file.truncate(found.tail.size)
        file.sync()
        return Output(file, self._folder.where(name), found.tail.salt, found.position, found.tail.size)

    def _new_segment(self, position: int) -> Output:
        header = Header(Kind.SEGMENT, self._salt(), position)
        return new_output(self._folder, segment_name(position), header)

    def _write_some(self, start: int) -> int:
        """How many of those that wait, from there on, went into a frame."""
        if self._segment.size >= self._parameters.segment_bytes:
            self._roll()
        batch = self._batch(start)
        self._segment.write(batch)
        return len(batch)

    def _batch(self, start: int) -> list[bytes]:
        """The records of one frame: as many as it may have, and at least one."""
        some, limit = self._waiting[start : start + FRAME_RECORDS], self._parameters.frame_bytes
        if sum(map(len, some)) <= limit:
            return some
        count = bisect_right(list(accumulate(map(len, some))), limit)
        return some[: max(count, 1)]

    def _roll(self) -> None:
        if self._segment.size > HEADER_BYTES:
            self._segment.sync()
            segment = self._new_segment(self._segment.position)
            self._segment.close()
            self._older_bytes += self._segment.size
            self._segment = segment

    def _reported(self) -> Synced:
        self._synced = self._segment.position
        return Synced(self._synced)

    def _threshold(self) -> int:
        return max(self._parameters.compact_bytes, int(self._parameters.compact_ratio * self._snapshot_bytes))

    def _given_up(self, reason: str) -> CompactionFailed:
        self.drop_snapshot()
        self._compact_at = self._segment_bytes + self._parameters.compact_bytes
        return CompactionFailed(reason)


def open_log(
    folder: Folder, replay: Replay, salt: Callable[[], bytes], parameters: Parameters = DEFAULT
) -> tuple[Log, Recovered]:
    """The log of a folder, after `replay` has had all its records, and what was found."""
    found = recovered(folder, replay)
    return Log(folder, found, salt, parameters), found
