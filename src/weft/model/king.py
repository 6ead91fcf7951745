"""King's latencies (Gummadi et al. 2002), in the forms in which they are passed around.

p2psim has a line a pair, `i,j us`, with hosts from 1 and round trips in microseconds, after a heading of other lines;
Kompics has a Java int[][] of milliseconds, as Java serializes it. Both may lack pairs, as nothing or as a negative
number. A pair that was measured one way only takes as long the other way. Hosts of which times are missing are left
out, the one with the most missing first, until every pair is known.
"""

import re
import struct

import numpy as np

from weft.arrays import Floats
from weft.errors import WeftError

JAVA = b"\xac\xed\x00\x05"  # magic and version of a stream of objects
PAIR = re.compile(r"\s*(\d+)\s*,\s*(\d+)\s+(-?\d+(?:\.\d+)?)\s*")
MOST_HOSTS = 20_000

_ARRAY, _NEW_CLASS, _KNOWN_CLASS = 0x75, 0x72, 0x71


def has_pairs(lines: list[str]) -> bool:
    """Whether these are p2psim's lines."""
    return any(PAIR.fullmatch(line) for line in lines[:5000]) and not any(
        line.strip() and line.split()[0].replace(".", "").isdigit() and not PAIR.fullmatch(line) for line in lines[:50]
    )


def read_pairs(lines: list[str]) -> Floats:
    found = [(number, PAIR.fullmatch(line)) for number, line in enumerate(lines, 1)]
    pairs = [(number, int(pair[1]), int(pair[2]), float(pair[3])) for number, pair in found if pair]
    most = max(max(one, other) for _, one, other, _ in pairs)
    if most > MOST_HOSTS:
        raise WeftError(f"it has times of host {most:,}, and hosts are numbered from 1 to {MOST_HOSTS:,} at most.")
    times = np.full((most, most), np.nan)
    for number, one, other, microseconds in pairs:
        if not (one and other):
            raise WeftError(f"line {number} has a host 0: p2psim numbers hosts from 1.")
        times[one - 1, other - 1] = microseconds / 1000.0
    return complete(times)


def read_java(data: bytes) -> Floats:
    """A square int[][], which Java wrote with ObjectOutputStream."""
    try:
        return complete(_rows(data).astype(np.float64))
    except (struct.error, ValueError) as error:
        raise WeftError("it is no whole int[][] of Java: get it again.") from error


def _rows(data: bytes) -> "np.ndarray[tuple[int, int], np.dtype[np.int32]]":
    count, place = _array(data, len(JAVA))
    if not 0 < count <= MOST_HOSTS:
        raise ValueError("no matrix")
    rows = []
    for _ in range(count):
        length, place = _array(data, place)
        if length != count or place + 4 * length > len(data):
            raise ValueError("no square")
        rows.append(np.frombuffer(data, ">i4", length, place))
        place += 4 * length
    return np.array(rows, np.int32)


def _array(data: bytes, place: int) -> tuple[int, int]:
    """How long the array is that begins there, and where its elements begin."""
    kind, described = struct.unpack_from(">BB", data, place)
    if kind != _ARRAY or described not in (_NEW_CLASS, _KNOWN_CLASS):
        raise ValueError("no array")
    place += 2
    if described == _KNOWN_CLASS:
        place += 4  # its handle
    else:
        (letters,) = struct.unpack_from(">H", data, place)
        place += 2 + letters + 8 + 1 + 2 + 1 + 1  # name, version, flags, no fields, end, no class above
    (length,) = struct.unpack_from(">i", data, place)
    return length, place + 4


def complete(times: Floats) -> Floats:
    """The times among hosts of which all are known."""
    times = np.where(times < 0, np.nan, times)
    times = np.where(np.isnan(times), times.T, times)
    np.fill_diagonal(times, 0.0)
    kept = np.arange(len(times))
    missing = np.isnan(times).sum(axis=1)
    while len(kept) and missing[kept].max() > 0:
        worst = kept[missing[kept].argmax()]
        missing -= np.isnan(times[:, worst])
        kept = kept[kept != worst]
    if len(kept) < 2:
        raise WeftError("no two hosts have times of each other.")
    return times[np.ix_(kept, kept)]
