"""What can be read of a damaged journal: all frames that are whole, and where records are missing between them.

A record says what has changed. Those behind a gap are applied to a state that lacks some, and change nothing where what
they speak of is not there. Of what was lost, some may have taken back what was found: a publication that its receiver
has acknowledged may come again.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from weft.errors import WeftError
from weft.journal.log import FRAME_RECORDS
from weft.journal.name import segment_name, segments_in, snapshot_name, snapshots_in
from weft.journal.output import new_output
from weft.journal.parameters import MEBIBYTE
from weft.journal.port import Folder, Shown
from weft.journal.snapshot import Snapshot
from weft.wire.journal import HEADER_BYTES, Frame, Header, Kind, NewerFormatError, frames_in

SYNC_BYTES = 4 * MEBIBYTE


@dataclass(slots=True)
class Loss:
    """A place of a file that cannot be read."""

    file: str
    begin: int  # byte
    end: int
    records: int | None  # that were there, where that is known


@dataclass(slots=True)
class Salvaged:
    records: list[bytes] = field(default_factory=list)
    losses: list[Loss] = field(default_factory=list)
    position: int = 0  # behind the last record


def salvaged(folder: Shown) -> Salvaged:
    """All that there is: the newest snapshot, and the segments behind it."""
    names, made = folder.names(), Salvaged()
    snapshots = snapshots_in(names)
    if snapshots:
        made.position = snapshots[-1]
        _read(folder, snapshot_name(made.position), Kind.SNAPSHOT, 0, None, made)
    segments = [begin for begin in segments_in(names) if begin >= made.position]
    if snapshots and not segments:
        made.losses.append(Loss(folder.where(segment_name(made.position)), 0, 0, None))
    for begin, following in zip(segments, [*segments[1:], None], strict=True):
        if begin > made.position:
            made.losses.append(Loss(folder.where(segment_name(made.position)), 0, 0, begin - made.position))
        made.position = _read(folder, segment_name(begin), Kind.SEGMENT, begin, following, made)
    return made


def write_salvaged(folder: Folder, records: Sequence[bytes], position: int, salt: Callable[[], bytes]) -> None:
    """Make a journal of a folder without one, which has had so many records, and these as its state."""
    snapshot = Snapshot(folder, position, salt())
    for first in range(0, len(records), FRAME_RECORDS):
        snapshot.extend(records[first : first + FRAME_RECORDS], SYNC_BYTES)
    segment = new_output(folder, segment_name(position), Header(Kind.SEGMENT, salt(), position))
    segment.write(())
    segment.sync()
    segment.close()
    snapshot.complete()
    folder.sync()


def _read(folder: Shown, name: str, kind: Kind, position: int, following: int | None, made: Salvaged) -> int:
    """Read a file whose first record has this position, and the next file's that, if there is one. What comes next."""
    content, file = b"".join(folder.chunks(name)), folder.where(name)
    end, is_ended = min(HEADER_BYTES, len(content)), False
    for begin, frame in _frames(content, file):
        if begin > end or frame.position > position:
            made.losses.append(Loss(file, end, begin, max(0, frame.position - position)))
        if frame.position >= position:
            made.records += frame.records
            position = frame.position + len(frame.records)
        end, is_ended = begin + frame.size, not frame.records
    is_short = not is_ended if kind == Kind.SNAPSHOT else following is not None and following > position
    if end < len(content) or is_short:
        made.losses.append(Loss(file, end, len(content), None if following is None else following - position))
    return max(position, following or 0)


def _frames(content: bytes, file: str) -> Iterator[tuple[int, Frame]]:
    try:
        yield from frames_in(content)
    except NewerFormatError as error:
        raise WeftError(f"{file} {error}") from error
