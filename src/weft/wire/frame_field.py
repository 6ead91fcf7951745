"""Fields of frames. A field's kind reads bytes at a place and gives the value and the place behind it, and writes.

Readers raise `FrameError` where the bytes are not what they should be. Integers are big-endian; lengths and counts are
four bytes, so that what is large needs no second form.

Every number has a range, which is looked at where it is read: behind that it may be counted on from, added to others
and written again without another look. Numbers of eight bytes are of two kinds. A NUMBER is a name (of a topic, an
incarnation, a content), all 64 bits of it, and is compared and never counted on from. A TALLY counts something, one
after the other, and no count of ours gets beyond the range in the life of a network.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields
from math import inf
from operator import attrgetter
from struct import Struct
from typing import Any

from weft.errors import Exit, WeftError
from weft.wire.mqtt.topic import is_filter, is_name

LINE_CHARACTERS = 1024  # of what a node says of itself
MOST_MANY = 2_000_000  # of a list: filters of a node that joins, and its sessions, are the most that there are
TEXT_BYTES = 2**17  # a client's name is that of its user and its own, each of 65,535 bytes at most; others are shorter


class FrameError(WeftError):
    """The other end does not speak as agreed."""

    exit_code = Exit.SURROUNDINGS


@dataclass(frozen=True, slots=True)
class Kind:
    read: Callable[[bytes, int], tuple[Any, int]]
    write: Callable[[Any], bytes]


def number(layout: str, least: float = -inf, most: float = inf) -> Kind:
    """A number that is from `least` to `most`, both included; without these, whatever its bytes can say."""
    struct = Struct(layout)
    size = struct.size

    def read(data: bytes, at: int) -> tuple[Any, int]:
        if at + size > len(data):
            raise FrameError("A frame ends within a number.")
        value = struct.unpack_from(data, at)[0]
        if not least <= value <= most:  # nor is it NaN
            raise FrameError(f"A frame has the number {value:g}, which is not from {least:g} to {most:g}.")
        return value, at + size

    return Kind(read, struct.pack)


FLAG = number(">?")
BYTE = number(">B")
SHORT = number(">H")
COUNT = number(">I")
NUMBER = number(">Q")
MOST_TALLY = 2**62
TALLY = number(">Q", 0, MOST_TALLY)
AMOUNT = number(">Q", 0, 2**40)  # of publications or bytes in some seconds
MOST_RING = 2**63
RING_ID = number(">Q", 0, MOST_RING)  # a place on the ring, or the end of a part of it
RING_SIZE = number(">Q", 1, MOST_RING)
MEMBER = number(">I", 0, 2**31 - 1)  # a node
NODE = number(">i", -1)  # the same; -1 is nobody
MILLISECONDS = number(">d", 0, 86_400_000.0)  # until an answer
MOMENT = number(">d", 0, 2.0**40)  # seconds since 1970


def _read_blob(data: bytes, at: int) -> tuple[bytes, int]:
    length, at = COUNT.read(data, at)
    if at + length > len(data):
        raise FrameError("A frame ends within a string.")
    return data[at : at + length], at + length


def _read_text(data: bytes, at: int) -> tuple[str, int]:
    raw, at = _read_blob(data, at)
    if len(raw) > TEXT_BYTES:
        raise FrameError(f"A frame has a string of {len(raw):,} bytes.")
    try:
        return raw.decode(), at
    except UnicodeDecodeError as error:
        raise FrameError("A frame has a string that is not UTF-8.") from error


def _write_blob(value: bytes) -> bytes:
    return COUNT.write(len(value)) + value


BLOB = Kind(_read_blob, _write_blob)
TEXT = Kind(_read_text, lambda value: _write_blob(value.encode()))


def _text_that(holds: Callable[[str], bool], what: str) -> Kind:
    def read(data: bytes, at: int) -> tuple[str, int]:
        text, at = _read_text(data, at)
        if not holds(text):
            raise FrameError(f"A frame has {text[:64]!r} for a {what}.")
        return text, at

    return Kind(read, TEXT.write)


FILTER = _text_that(is_filter, "filter")
NAME = _text_that(is_name, "name of a topic")


def _is_line(text: str) -> bool:
    return len(text) <= LINE_CHARACTERS


LINE = _text_that(_is_line, "name or an address")


def many(kind: Kind, most: int = MOST_MANY) -> Kind:
    """A tuple of values of one kind, at most so many: each takes far more room here than in a frame."""

    def read(data: bytes, at: int) -> tuple[tuple[Any, ...], int]:
        count, at = COUNT.read(data, at)
        if count > len(data) - at:  # each takes a byte at least
            raise FrameError("A frame ends within a list.")
        if count > most:
            raise FrameError(f"A frame has a list of {count:,}, and at most {most:,} are taken.")
        values = []
        for _ in range(count):
            value, at = kind.read(data, at)
            values.append(value)
        return tuple(values), at

    return Kind(read, lambda values: COUNT.write(len(values)) + b"".join(map(kind.write, values)))


def together(*kinds: Kind) -> Kind:
    """A tuple of values, one of each kind."""

    def read(data: bytes, at: int) -> tuple[tuple[Any, ...], int]:
        values = []
        for kind in kinds:
            value, at = kind.read(data, at)
            values.append(value)
        return tuple(values), at

    def write(values: tuple[Any, ...]) -> bytes:
        return b"".join([kind.write(value) for kind, value in zip(kinds, values, strict=True)])

    return Kind(read, write)


def perhaps(kind: Kind) -> Kind:
    """A value or None."""

    def read(data: bytes, at: int) -> tuple[Any, int]:
        there, at = FLAG.read(data, at)
        return kind.read(data, at) if there else (None, at)

    return Kind(read, lambda value: b"\0" if value is None else b"\1" + kind.write(value))


def record_of(made: type[Any], *kinds: Kind) -> Kind:
    """A dataclass, a kind for each of its fields."""
    names = [one.name for one in fields(made)]
    assert len(names) == len(kinds), f"{made.__name__} has {len(names)} fields and {len(kinds)} kinds"
    values = together(*kinds)
    if not names:
        values_of: Callable[[Any], tuple[Any, ...]] = lambda _: ()  # noqa: E731
    elif len(names) == 1:
        values_of = lambda one: (getattr(one, names[0]),)  # noqa: E731
    else:
        values_of = attrgetter(*names)

    def read(data: bytes, at: int) -> tuple[Any, int]:
        found, at = values.read(data, at)
        return made(*found), at

    return Kind(read, lambda one: values.write(values_of(one)))


def enum_of(made: type[Any]) -> Kind:
    def read(data: bytes, at: int) -> tuple[Any, int]:
        value, at = BYTE.read(data, at)
        try:
            return made(value), at
        except ValueError as error:
            raise FrameError(f"A frame has {value} for a {made.__name__.lower()}.") from error

    return Kind(read, BYTE.write)
