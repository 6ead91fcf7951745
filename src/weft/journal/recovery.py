"""What a folder has of a journal: the newest snapshot, and the segments behind it. Reads only.

What holds at every moment, so also after a crash at any moment (`Log` and `Compaction` see to it):

1. A segment is on the disk to its last byte before its successor is made. So only the last one can be torn.
2. A snapshot has its name only when all of it is on the disk, and there is a segment that begins where it ends.
3. Files that a snapshot makes needless are deleted only when its name is on the disk.

Whatever contradicts these was not a crash, and is reported with file and place.
"""

from collections.abc import Callable
from dataclasses import dataclass

from weft.errors import SurroundingsError, WeftError
from weft.journal.name import needless_in, segment_name, segments_in, snapshot_name, snapshots_in
from weft.journal.port import Folder
from weft.wire.journal import Kind, NewerFormatError, Reader

Replay = Callable[[list[bytes]], None]  # takes records in order, some at a time


class DamagedError(SurroundingsError):
    """What was promised to be there is not."""

    def __init__(self, what: str) -> None:
        super().__init__(
            f"{what}: restore the folder from a copy, or have `weft salvage` write what can be read into another one."
        )


@dataclass(frozen=True, slots=True)
class Tail:
    """The end of the last segment, where it is to be continued."""

    segment: int  # position of its first record
    salt: bytes
    size: int  # bytes that make sense
    torn: int  # bytes behind them, which nobody was promised


@dataclass(frozen=True, slots=True)
class Recovered:
    position: int  # how many records the journal has had
    tail: Tail | None  # None: the segment that begins at `position` is yet to be made
    snapshot_bytes: int
    segment_bytes: int  # of all segments behind the snapshot
    needless: list[str]  # files


def recovered(folder: Folder, replay: Replay) -> Recovered:
    names = folder.names()
    snapshots = snapshots_in(names)
    start = snapshots[-1] if snapshots else 0
    snapshot_bytes = _read_snapshot(folder, start, replay) if snapshots else 0
    segments = [begin for begin in segments_in(names) if begin >= start]
    if snapshots and not segments:
        raise DamagedError(f"{folder.where(segment_name(start))} is missing")
    position, tail, segment_bytes = start, None, 0
    for begin in segments:
        if begin != position:
            raise DamagedError(f"{folder.where(segment_name(position))} is missing")
        reader = _read(folder, segment_name(begin), Kind.SEGMENT, begin, replay)
        tail = _tail(folder, reader, begin, is_last=begin == segments[-1])
        position = reader.position if tail else begin
        segment_bytes += reader.offset
    return Recovered(position, tail, snapshot_bytes, segment_bytes, needless_in(names, start))


def _read_snapshot(folder: Folder, position: int, replay: Replay) -> int:
    """Replay a snapshot; how many bytes it has."""
    name = snapshot_name(position)
    reader = _read(folder, name, Kind.SNAPSHOT, position, replay)
    if reader.damage() or not reader.ended:
        raise DamagedError(f"{folder.where(name)} is damaged at byte {reader.offset}")
    return reader.offset


def _tail(folder: Folder, reader: Reader, begin: int, is_last: bool) -> Tail | None:
    damage = reader.damage()
    if damage and (damage.promised or not is_last):
        raise DamagedError(f"{folder.where(segment_name(begin))} is damaged at byte {damage.offset}")
    if reader.header is None:
        return None
    return Tail(begin, reader.header.salt, reader.offset, reader.unread)


def _read(folder: Folder, name: str, kind: Kind, position: int, replay: Replay) -> Reader:
    reader = Reader()
    for chunk in folder.chunks(name):
        try:
            frames = reader.feed(chunk)
        except NewerFormatError as error:
            raise WeftError(f"{folder.where(name)} {error}") from error
        for frame in frames:
            if frame.records:
                replay(frame.records)
    header = reader.header
    if header and (header.kind, header.position) != (kind, position):
        raise DamagedError(f"{folder.where(name)} has the content of another file")
    return reader
