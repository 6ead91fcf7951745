"""Histograms as bars of text.

Every value has a row where there are few. More of them are put together: in ranges of the same width, or, where most
would fall into the first, in ranges that double.
"""

from collections.abc import Iterator, Mapping
from itertools import pairwise

from weft.cli.line import say

ROWS = 12  # at most, of values or of ranges of one width
WIDTH = 40  # letters of the longest bar
MOST = 0.8  # in one range: then ranges double


def bars(counts: Mapping[int, int]) -> Iterator[str]:
    """A row a value or range, with its bar and its count; counts are of values from 0."""
    rows = {label: count for label, count in _rows(counts).items() if count}
    most = max(rows.values(), default=0)
    width = max(map(len, rows), default=0)
    for label, count in rows.items():
        bar = "█" * max(1, round(WIDTH * count / most))
        yield f"  {label:>{width}}  {bar} {count:,}"


def _rows(counts: Mapping[int, int]) -> dict[str, int]:
    if len(counts) <= ROWS:
        return {str(value): counts[value] for value in sorted(counts)}
    even = _in_ranges(counts, _even(min(counts), max(counts)))
    if max(even.values()) > MOST * sum(counts.values()):
        return _in_ranges(counts, _doubling(max(counts)))
    return even


def _even(low: int, high: int) -> list[int]:
    """Bounds of at most ROWS ranges whose width is 1, 2 or 5 times a power of ten."""
    widths = (factor * 10**power for power in range(20) for factor in (1, 2, 5))
    width = next(width for width in widths if high // width - low // width < ROWS)
    return [bound * width for bound in range(low // width, high // width + 2)]


def _doubling(high: int) -> list[int]:
    return [0, *(2**power for power in range(high.bit_length() + 1))]


def _in_ranges(counts: Mapping[int, int], bounds: list[int]) -> dict[str, int]:
    return {
        (str(low) if high == low + 1 else f"{low}-{high - 1}"): sum(
            count for value, count in counts.items() if low <= value < high
        )
        for low, high in pairwise(bounds)
    }


def print_bars(title: str, counts: Mapping[int, int]) -> None:
    say("", title, *bars(counts))
