"""Bytes of a journal file <-> batches of records. No I/O.

A file is a header and then frames, one for each group commit. One checksum covers a frame, so that the work is done a
batch at a time in C: lengths packed at once, records joined at once, one CRC.

    header  magic 8, version u16, kind u8, 0 u8, salt 4, position u64, crc u32
    frame   salt 4, crc u32, length u32, count u32, position u64, synced u64, then `length` bytes:
            `count` lengths u32, and the records end to end

All integers are little-endian. A CRC covers what follows it in a frame, and what precedes it in a header. A position is
the number of records before: of the whole journal in a segment, of the file in a snapshot. A frame without records is
an end: a snapshot is complete, or a segment was closed in order.

The salt is drawn at random for every file and begins each of its frames, as in SQLite's write-ahead log. A frame of
another file in a stale block of the disk, or a payload that imitates a frame, does not have it.

A frame that cannot be read is a torn tail or damage, and the two call for opposite answers. A crash may leave anything
in what was written since the last sync, and nobody was promised it: the tail is cut. What was synced was promised,
and if it cannot be read somebody must be told. Every frame therefore says how much of its file had been synced when it
was written (`synced`): an unreadable frame is damage if a readable frame behind it says that it was on the disk.
Alternatives: etcd takes zero sectors for a tear and everything else for damage, which a bit flip in a tail contradicts;
SQLite cuts at the first bad frame, whatever follows. What cannot be told from a tear is damage to the last frame of
all, for nothing is behind it; closing a journal in order writes an end, which is.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import accumulate, pairwise
from struct import Struct, pack, unpack_from
from zlib import crc32

from weft.errors import WeftError

MAGIC = b"WeftLog\n"
VERSION = 1
SALT_BYTES = 4

_HEADER = Struct("<8sHBx4sQ")
_CRC = Struct("<I")
_FRAME = Struct("<4sIIIQQ")
_CHECKED = Struct("<IIQQ")  # of a frame's head, what its CRC covers
HEADER_BYTES = _HEADER.size + _CRC.size
FRAME_BYTES = _FRAME.size  # of a frame without records
OVERLAP = 4  # times the bytes of a tail that are looked at, at most


class Kind(IntEnum):
    SEGMENT = 1
    SNAPSHOT = 2


@dataclass(frozen=True, slots=True)
class Header:
    kind: Kind
    salt: bytes
    position: int


@dataclass(frozen=True, slots=True)
class Frame:
    position: int  # of its first record
    synced: int  # bytes of the file that were on the disk when it was written
    records: list[bytes]

    @property
    def size(self) -> int:
        return FRAME_BYTES + sum(4 + len(record) for record in self.records)


@dataclass(frozen=True, slots=True)
class Damage:
    """Where a file stops making sense."""

    offset: int
    promised: bool  # it had been on the disk: damage, and not a torn tail


class NewerFormatError(WeftError):
    def __init__(self, version: int) -> None:
        super().__init__(f"has format {version} of the journal, and this Weft reads up to {VERSION}: use a newer Weft.")


def header_bytes(header: Header) -> bytes:
    data = _HEADER.pack(MAGIC, VERSION, header.kind, header.salt, header.position)
    return data + _CRC.pack(crc32(data))


def frame_bytes(salt: bytes, position: int, synced: int, records: Sequence[bytes]) -> bytes:
    payload = b"".join((pack(f"<{len(records)}I", *map(len, records)), *records))
    checked = _CHECKED.pack(len(payload), len(records), position, synced)
    return b"".join((salt, _CRC.pack(crc32(payload, crc32(checked))), checked, payload))


class Reader:
    """Takes the bytes of one file in pieces of any size, and gives its frames as far as they make sense.

    After the last piece, `damage()` says where that ended, if it was not at the end of the file.
    """

    def __init__(self) -> None:
        self.header: Header | None = None
        self.offset = 0  # of the first byte that is in no frame, nor in the header
        self.position = 0  # of the next record
        self.ended = False  # the last frame is an end
        self._rest = bytearray()  # from that offset on
        self._lost = False

    def feed(self, data: bytes) -> list[Frame]:
        self._rest += data
        if self.header is None:
            self._read_header()
        frames: list[Frame] = []
        if self.header is None or self._lost:
            return frames
        with memoryview(self._rest) as view:
            taken = self._read_frames(view, frames)
        del self._rest[:taken]
        return frames

    @property
    def unread(self) -> int:
        """Bytes that are in no frame."""
        return len(self._rest)

    def damage(self) -> Damage | None:
        if self.header is None:  # it is synced before anything is written behind it
            return Damage(0, promised=len(self._rest) > HEADER_BYTES)
        return Damage(self.offset, self._is_promised(self.header.salt)) if self._rest else None

    def _read_header(self) -> None:
        if len(self._rest) < HEADER_BYTES or self._lost:
            return
        magic, version, kind, salt, position = _HEADER.unpack_from(self._rest)
        if magic == MAGIC and version > VERSION:
            raise NewerFormatError(version)
        if magic != MAGIC or crc32(self._rest[: _HEADER.size]) != _CRC.unpack_from(self._rest, _HEADER.size)[0]:
            self._lost = True
            return
        self.header = Header(Kind(kind), salt, position)
        self.position = position if kind == Kind.SEGMENT else 0
        self.offset = HEADER_BYTES
        del self._rest[:HEADER_BYTES]

    def _read_frames(self, view: memoryview, frames: list[Frame]) -> int:
        assert self.header is not None
        taken = 0
        while taken + FRAME_BYTES <= len(view):
            salt, _, length, _, position, _ = _FRAME.unpack_from(view, taken)
            if salt != self.header.salt or position != self.position:
                self._lost = True
                break
            if taken + FRAME_BYTES + length > len(view):
                break
            frame = _frame_at(view, taken)
            if frame is None:
                self._lost = True
                break
            frames.append(frame)
            taken += FRAME_BYTES + length
            self.position += len(frame.records)
            self.ended = not frame.records
        self.offset += taken
        return taken

    def _is_promised(self, salt: bytes) -> bool:
        """Whether a readable frame further on says that what cannot be read here had been synced.

        Frames do not overlap, so that all together are no longer than the file: where what begins like frames is longer
        by far, it was not a crash that left it, and somebody must be told.
        """
        left = OVERLAP * len(self._rest)
        with memoryview(self._rest) as view:
            at = self._rest.find(salt, 1)
            while at >= 0 and left > 0:
                frame = _frame_at(view, at)
                if frame is not None and frame.synced > self.offset:
                    return True
                left -= _length_at(view, at)
                at = self._rest.find(salt, at + 1)
        return left <= 0


def _length_at(view: memoryview, at: int) -> int:
    """How many bytes are looked at to tell whether there is a frame."""
    if at + FRAME_BYTES > len(view):
        return 0
    length: int = _FRAME.unpack_from(view, at)[2]
    return FRAME_BYTES + length if at + FRAME_BYTES + length <= len(view) else 0


def frames_in(data: bytes) -> Iterator[tuple[int, Frame]]:
    """All frames of a whole file that can be read, whatever is between them, and where they begin."""
    salt, at = _salt_of(data), HEADER_BYTES
    with memoryview(data) as view:
        while 0 <= at < len(data):
            frame = _frame_at(view, at) if data.startswith(salt, at) else None
            if frame is None:
                at = data.find(salt, at + 1)
            else:
                yield at, frame
                at += frame.size


def _salt_of(data: bytes) -> bytes:
    """The salt of all frames: by the header, or, where that is damaged, by the first frame, which follows it."""
    is_whole = len(data) >= HEADER_BYTES and crc32(data[: _HEADER.size]) == _CRC.unpack_from(data, _HEADER.size)[0]
    if not is_whole:
        return data[HEADER_BYTES : HEADER_BYTES + SALT_BYTES]
    _, version, _, salt, _ = _HEADER.unpack_from(data)
    if version > VERSION:
        raise NewerFormatError(version)
    return salt  # type: ignore[no-any-return]


def _frame_at(view: memoryview, at: int) -> Frame | None:
    """The whole frame there, if it is one and its checksum holds."""
    start = at + FRAME_BYTES
    if start > len(view):
        return None
    _, crc, length, count, position, synced = _FRAME.unpack_from(view, at)
    end = start + length
    if end > len(view) or 4 * count > length or crc32(view[at + 8 : end]) != crc:
        return None
    return Frame(position, synced, _records(bytes(view[start:end]), count))


def _records(payload: bytes, count: int) -> list[bytes]:
    bounds = accumulate(unpack_from(f"<{count}I", payload), initial=4 * count)
    return [payload[start:end] for start, end in pairwise(bounds)]
