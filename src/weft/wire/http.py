"""Requests of HTTP/1.1 as far as operators and Prometheus need them: one a connection. Incremental, no I/O."""

from dataclasses import dataclass

HEAD_BYTES = 8192
LENGTH_DIGITS = 12  # of a body; more is too many


@dataclass(frozen=True, slots=True)
class Request:
    method: str
    path: str  # without what follows ?
    body: bytes


class HttpError(Exception):
    """What is answered to a request that is not taken."""

    def __init__(self, status: str, text: str) -> None:
        super().__init__(text)
        self.status = status


class RequestReader:
    def __init__(self, body_bytes: int) -> None:
        self._most = body_bytes
        self._data = bytearray()
        self._sought = 0  # bytes that have no end of the head in them
        self._body = -1  # where it begins; not known yet
        self._length = 0

    def feed(self, data: bytes) -> Request | None:
        """A request, when all of it is there."""
        self._data += data
        if self._body < 0:
            self._find_body()
        if self._body < 0 or len(self._data) < self._body + self._length:
            return None
        line = bytes(self._data[: self._body]).split(b"\r\n", 1)[0].decode("latin-1")
        method, _, rest = line.partition(" ")
        body = bytes(self._data[self._body : self._body + self._length])
        return Request(method, rest.split(" ")[0].split("?")[0], body)

    def _find_body(self) -> None:
        end = self._data.find(b"\r\n\r\n", self._sought, HEAD_BYTES + 4)
        self._sought = max(0, len(self._data) - 3)
        if end >= 0:
            self._length = _length(bytes(self._data[:end]))
            if self._length > self._most:
                raise HttpError("413 Content Too Large", f"At most {self._most:,} bytes.\n")
            self._body = end + 4
        elif len(self._data) > HEAD_BYTES:
            raise HttpError("431 Request Header Fields Too Large", f"At most {HEAD_BYTES:,} bytes of headers.\n")


def _length(head: bytes) -> int:
    for line in head.split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        value = value.strip()
        if name.strip().lower() == b"content-length" and value.isdigit():
            return int(value[: LENGTH_DIGITS + 1])
    return 0
