"""Requests of HTTP/1.1 as far as operators and Prometheus need them: one a connection. Incremental, no I/O."""

from dataclasses import dataclass, field, replace

HEAD_BYTES = 8192
LENGTH_DIGITS = 12  # of a body; more is too many
SIZE_LINE_BYTES = 256  # of the line that begins a chunk
HEX = frozenset(b"0123456789abcdefABCDEF")


@dataclass(frozen=True, slots=True)
class Request:
    method: str
    path: str  # without what follows ?
    body: bytes
    headers: dict[str, str] = field(default_factory=dict, compare=False)  # by name in small letters


class HttpError(Exception):
    """What is answered to a request that is not taken."""

    def __init__(self, status: str, text: str) -> None:
        super().__init__(text)
        self.status = status


class RequestReader:
    def __init__(self, body_bytes: int) -> None:
        self.head: Request | None = None  # without its body, as soon as it is there
        self._most = body_bytes
        self._data = bytearray()
        self._sought = 0  # bytes that have no end of the head in them
        self._body = -1  # where it begins; not known yet
        self._length = 0
        self._chunks: _Chunks | None = None  # where the body comes in them

    def feed(self, data: bytes) -> Request | None:
        """A request, when all of it is there."""
        self._data += data
        if self._body < 0:
            self._find_body()
        body = None if self._body < 0 else self._content()
        return None if body is None or self.head is None else replace(self.head, body=body)

    def _content(self) -> bytes | None:
        """The body, when all of it is there."""
        if self._chunks is not None:
            return self._chunks.take(self._data, self._body)
        end = self._body + self._length
        return bytes(self._data[self._body : end]) if len(self._data) >= end else None

    def _find_body(self) -> None:
        end = self._data.find(b"\r\n\r\n", self._sought, HEAD_BYTES + 4)
        self._sought = max(0, len(self._data) - 3)
        if end >= 0:
            self._length = _length(bytes(self._data[:end]))
            if self._length > self._most:
                raise HttpError("413 Content Too Large", f"At most {self._most:,} bytes.\n")
            self._body = end + 4
            self.head = _head(bytes(self._data[:end]))
            self._chunks = _Chunks(self._most) if _is_chunked(bytes(self._data[:end])) else None
        elif len(self._data) > HEAD_BYTES:
            raise HttpError("431 Request Header Fields Too Large", f"At most {HEAD_BYTES:,} bytes of headers.\n")


class _Chunks:
    """A body that comes in chunks, each behind a line with its size; the last has none, and fields may follow it."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._parts: list[bytes] = []
        self._size = 0
        self._is_over = False  # only fields follow, of which we know none

    def take(self, data: bytearray, at: int) -> bytes | None:
        """Move what is whole out of the data, from a place on; the body, when all of it is there."""
        begin = at
        while not self._is_over:
            end = data.find(b"\r\n", at, at + SIZE_LINE_BYTES)
            if end < 0 and len(data) - at < SIZE_LINE_BYTES:
                break
            size = _chunk_size(bytes(data[at : max(at, end)]))
            self._size += size
            if self._size > self._most:
                raise HttpError("413 Content Too Large", f"At most {self._most:,} bytes.\n")
            if len(data) < end + 2 + size + 2 and size:
                self._size -= size
                break
            if size and data[end + 2 + size : end + 4 + size] != b"\r\n":
                raise HttpError("400 Bad Request", text="A chunk is longer than it says.\n")
            self._parts.append(bytes(data[end + 2 : end + 2 + size]))
            at = end + 2 + size + (2 if size else 0)
            self._is_over = not size
        del data[begin:at]
        return b"".join(self._parts) if self._is_over and self._has_ended(data, begin) else None

    def _has_ended(self, data: bytearray, at: int) -> bool:
        if data.startswith(b"\r\n", at) or data.find(b"\r\n\r\n", at, at + HEAD_BYTES) >= 0:
            return True
        if len(data) - at >= HEAD_BYTES:
            raise HttpError("431 Request Header Fields Too Large", f"At most {HEAD_BYTES:,} bytes of trailers.\n")
        return False


def _chunk_size(line: bytes) -> int:
    digits = line.partition(b";")[0].strip()
    if not digits or not HEX.issuperset(digits) or len(digits) > LENGTH_DIGITS:
        raise HttpError("400 Bad Request", text="A chunk does not begin with its size.\n")
    return int(digits, 16)


def _is_chunked(head: bytes) -> bool:
    """Whether the body comes in chunks. Who says its length besides may mean two bodies, which others tell apart
    otherwise."""
    codings = [one.strip().lower() for value in _values(head, b"transfer-encoding") for one in value.split(b",")]
    if not codings:
        return False
    if codings != [b"chunked"]:
        raise HttpError("501 Not Implemented", text="The only transfer coding is chunked.\n")
    if _values(head, b"content-length"):
        raise HttpError("400 Bad Request", text="A body in chunks has no Content-Length.\n")
    return True


def _head(data: bytes) -> Request:
    line, *lines = data.decode("latin-1").split("\r\n")
    method, _, rest = line.partition(" ")
    return Request(method, rest.split(" ")[0].split("?")[0], b"", _headers(lines))


def _headers(lines: list[str]) -> dict[str, str]:
    """What the headers say; of one that comes twice all of it, which then is nothing that is looked for."""
    found: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.partition(":")
        name = name.strip().lower()
        if colon:
            found[name] = f"{found[name]}, {value.strip()}" if name in found else value.strip()
    return found


def _length(head: bytes) -> int:
    said = [value for value in _values(head, b"content-length") if value.isdigit()]
    return int(said[0][: LENGTH_DIGITS + 1]) if said else 0


def _values(head: bytes, wanted: bytes) -> list[bytes]:
    """What all fields of a name say."""
    fields = [line.partition(b":") for line in head.split(b"\r\n")[1:]]
    return [value.strip() for name, _, value in fields if name.strip().lower() == wanted]
