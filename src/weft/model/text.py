"""Lines of text files on this machine, gzipped or not, as Spark reads them too: LF, CR LF or CR ends a line."""

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, cast

from weft.errors import WeftError

CHUNK = 8 * 2**20  # bytes at a time
PEEK = 2**16  # bytes that are looked at before anything is started

_BOM = b"\xef\xbb\xbf"
_GZIP = b"\x1f\x8b"
_PARQUET = b"PAR1"
_SIGNS = {  # first bytes of what is often given by mistake
    _GZIP: "gzip: name it .gz",
    b"PK\x03\x04": "a zip archive: unpack it first",
    b"\xff\xfe": "UTF-16: save it as UTF-8",
    b"\xfe\xff": "UTF-16: save it as UTF-8",
}


def require_text(file: str) -> None:
    head = peek(file)
    if head.startswith(_PARQUET):
        raise WeftError(f"{file} is not text but Parquet: name it .parquet, or say so with `format` parquet.", "format")
    for sign, words in _SIGNS.items():
        if head.startswith(sign):
            raise WeftError(f"{file} is not text but {words}.")
    if b"\0" in head:
        raise WeftError(f"{file} is binary, not text: give edge lists, CSV, JSON or Parquet.")


def peek(file: str) -> bytes:
    """The beginning of a file."""
    with _opened(file) as stream:
        return _read(stream, PEEK, file)


def is_small(file: str) -> bool:
    """Whether its beginning is all of it."""
    return len(peek(file)) < PEEK


def first_line(file: str) -> str:
    """The first line that is not blank."""
    require_text(file)
    for lines in chunks_of_lines(file):
        for line in lines:
            if line.strip():
                return _decoded(line, f"{file}, line 1: it")
    raise WeftError(f"{file} is empty.")


def whole(file: str) -> bytes:
    with _opened(file) as stream:
        return b"".join(iter(lambda: _read(stream, CHUNK, file), b"")).removeprefix(_BOM)


def text_of(file: str) -> str:
    """All of it."""
    require_text(file)
    return _decoded(whole(file), file)


def first_lines(file: str) -> list[bytes]:
    """Whole lines of the beginning of a file."""
    head = peek(file)
    lines = _split(head.removeprefix(_BOM))
    return lines if len(head) < PEEK else lines[:-1]


def chunks_of_lines(file: str) -> Iterator[list[bytes]]:
    """All lines, a list for every few megabytes."""
    with _opened(file) as stream:
        rest = _read(stream, CHUNK, file).removeprefix(_BOM)
        while more := _read(stream, CHUNK, file):
            *lines, rest = _split_whole(rest)
            yield lines
            rest += more
        lines = _split(rest)
        yield lines[:-1] if lines[-1] == b"" else lines


def _split_whole(text: bytes) -> list[bytes]:
    """Lines, of which the last may go on; a CR at the end may be half of a CR LF."""
    if text.endswith(b"\r"):
        *lines, last = _split(text[:-1])
        return [*lines, last + b"\r"]
    return _split(text)


def _split(text: bytes) -> list[bytes]:
    if b"\r" in text:
        text = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return text.split(b"\n")


def _opened(file: str) -> BinaryIO:
    return cast(BinaryIO, gzip.open(file, "rb")) if file.endswith(".gz") else Path(file).open("rb")


def _read(stream: BinaryIO, size: int, file: str) -> bytes:
    try:
        return stream.read(size)
    except (gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise WeftError(f"{file} is not gzip, is damaged, or is cut short: get it again.") from error


def _decoded(text: bytes, what: str) -> str:
    try:
        return text.decode()
    except UnicodeDecodeError as error:
        raise WeftError(f"{what} is not UTF-8: save the file as UTF-8.") from error
