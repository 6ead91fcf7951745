"""Bytes of a SQLite database and of its write-ahead log -> rows. No I/O, and no SQLite.

SQLite has no checksums over its pages, and takes damage in its log for the end of the log: what was committed behind it
is gone without a word. `read_log` tells the two apart, as `wire.journal` does: a frame that cannot be read is damage if
a commit behind it can, since it had been synced before that was written.

`rows` reads all rows of tables WITHOUT ROWID out of pages that are there, whatever has become of the others: no page is
found by way of another. That is right where deleted rows are overwritten (`PRAGMA secure_delete`), and whether a row is
whole must be told by a checksum that it brings along.

The formats: https://www.sqlite.org/fileformat2.html
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from struct import Struct, error, unpack_from

HEADER = b"SQLite format 3\0"
PAGE_BYTES = 4096  # where the file does not say
_LOG_HEADER = Struct(">8I")  # magic, version, bytes of a page, number, salts, checksum
_LOG_FRAME = Struct(">6I")  # page, pages of the database if it is a commit, salts, checksum
_MAGIC = 0x377F0682  # and 1 more where the words of checksums are big-endian
INTERIOR, LEAF = 2, 10  # pages of a table WITHOUT ROWID
_INTEGER_BYTES = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}

Value = int | str | bytes | None
Checksum = tuple[int, int]


@dataclass(frozen=True, slots=True)
class _Frame:
    at: int
    size: int
    page: int
    content: bytes
    is_commit: bool
    is_whole: bool
    is_ours: bool


@dataclass(slots=True)
class Log:
    pages: dict[int, bytes] = field(default_factory=dict)  # as the last commit that can be read left them
    unread: int = 0  # bytes behind it that may have been written, and cannot be read
    damaged_at: int | None = None  # byte from which on promised ones cannot be read


def read_log(data: bytes) -> Log:
    log = Log()
    if len(data) < _LOG_HEADER.size:
        log.unread = len(data)
        return log
    if not _is_whole_header(data):
        log.damaged_at = 0 if len(data) > _LOG_HEADER.size else None  # it is synced before anything is behind it
        return log
    waiting: dict[int, bytes] = {}  # pages of a commit whose end is yet to come
    lost_at: int | None = None  # the first frame that cannot be read
    has_commit = False  # from there on
    for frame in _frames(data):
        if lost_at is None and not frame.is_whole:
            lost_at, waiting = frame.at, {}
        if lost_at is not None:
            log.unread += frame.size if frame.is_ours else 0
            if frame.is_whole and has_commit and log.damaged_at is None:
                log.damaged_at = lost_at
            has_commit |= frame.is_commit
        if frame.is_whole:
            waiting[frame.page] = frame.content
        if frame.is_whole and frame.is_commit:
            log.pages |= waiting
            waiting = {}
    return log


def _is_whole_header(data: bytes) -> bool:
    magic, *_, one, other = _LOG_HEADER.unpack_from(data)
    return magic & ~1 == _MAGIC and _checksum(_order(magic), data[:24], (0, 0)) == (one, other)


def _frames(data: bytes) -> Iterator[_Frame]:
    """All frames, each checked by what the one before says of itself."""
    magic, _, page_bytes, _, *salts, one, other = _LOG_HEADER.unpack_from(data)
    before, size = (one, other), _LOG_FRAME.size + page_bytes
    for at in range(_LOG_HEADER.size, len(data) - size + 1, size):
        page, commit, *found, one, other = _LOG_FRAME.unpack_from(data, at)
        content = data[at + _LOG_FRAME.size : at + size]
        checksum = _checksum(_order(magic), content, _checksum(_order(magic), data[at : at + 8], before))
        is_ours = found[0] == salts[0] or found[1] == salts[1]  # and not of the log that was here before
        yield _Frame(at, size, page, content, bool(commit), found == salts and checksum == (one, other), is_ours)
        before = (one, other)


def pages_of(data: bytes, log: Log, size: int = 0) -> dict[int, bytes]:
    """Pages of a database by number, from 1, with those that only its log has yet; of so many bytes, or as it says."""
    stated = _page_bytes(data) if data.startswith(HEADER) else max(map(len, log.pages.values()), default=PAGE_BYTES)
    size = size or stated
    count = (len(data) + size - 1) // size
    return {number + 1: data[number * size : (number + 1) * size] for number in range(count)} | log.pages


def rows(pages: Mapping[int, bytes]) -> Iterator[tuple[Value, ...]]:
    """All that can be taken for a row."""
    for number, page in sorted(pages.items()):
        if number > 1 and page and page[0] in (INTERIOR, LEAF):
            for at in _cells(page):
                row = _row(pages, page, at)
                if row is not None:
                    yield row


def _page_bytes(data: bytes) -> int:
    if len(data) < 18:
        return PAGE_BYTES
    (size,) = unpack_from(">H", data, 16)
    size = 65_536 if size == 1 else size
    return size if size >= 512 and size & (size - 1) == 0 else PAGE_BYTES


def _cells(page: bytes) -> list[int]:
    """Where the page's rows begin."""
    first, skipped = (12, 4) if page[0] == INTERIOR else (8, 0)
    if len(page) < first:
        return []
    (count,) = unpack_from(">H", page, 3)
    count = min(count, (len(page) - first) // 2)
    return [at + skipped for at in unpack_from(f">{count}H", page, first)]


def _row(pages: Mapping[int, bytes], page: bytes, at: int) -> tuple[Value, ...] | None:
    try:
        length, at = _varint(page, at)
        return _values(_payload(pages, page, at, length))
    except (IndexError, KeyError, UnicodeDecodeError, error):
        return None


def _payload(pages: Mapping[int, bytes], page: bytes, at: int, length: int) -> bytes:
    """Content of a row, a part of which may be on pages of its own."""
    usable = len(page)
    most, least = (usable - 12) * 64 // 255 - 23, (usable - 12) * 32 // 255 - 23
    if length <= most:
        return page[at : at + length]
    here = least + (length - least) % (usable - 4)
    here = here if here <= most else least
    parts, missing = [page[at : at + here]], length - here
    (following,) = unpack_from(">I", page, at + here)
    for _ in range(len(pages)):
        if missing <= 0:
            break
        further = pages[following]
        parts.append(further[4 : 4 + missing])
        missing -= len(parts[-1])
        (following,) = unpack_from(">I", further)
    return b"".join(parts)


def _values(payload: bytes) -> tuple[Value, ...]:
    end, at = _varint(payload, 0)
    kinds, start = [], end
    while at < end:
        kind, at = _varint(payload, at)
        kinds.append(kind)
    values = []
    for kind in kinds:
        value, start = _value(payload, start, kind)
        values.append(value)
    return tuple(values)


def _value(payload: bytes, at: int, kind: int) -> tuple[Value, int]:
    if kind >= 12:
        end = at + (kind - 12) // 2
        return payload[at:end].decode() if kind & 1 else payload[at:end], end
    if kind in (0, 8, 9):
        return None if kind == 0 else kind - 8, at
    end = at + _INTEGER_BYTES[kind]
    return int.from_bytes(payload[at:end], signed=True), end


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for place in range(9):
        byte = data[at + place]
        if place == 8:
            return value << 8 | byte, at + 9
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, at + place + 1
    raise IndexError


def _order(magic: int) -> str:
    return ">" if magic & 1 else "<"


def _checksum(order: str, data: bytes, before: Checksum) -> Checksum:
    words = iter(unpack_from(f"{order}{len(data) // 4}I", data))
    one, other = before
    for first in words:
        one = (one + first + other) & 0xFFFFFFFF
        other = (other + next(words) + one) & 0xFFFFFFFF
    return one, other
