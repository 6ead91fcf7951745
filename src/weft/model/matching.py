"""Which of many filters does content match? Filters become boxes, and content points, for `weft.kernels.matching`.

A dimension is the class, the numbers of an attribute, or the texts of an attribute. Texts are placed on a line: the
i-th of the sorted texts that filters name is at 2 i + 1, what lies between two of them at the even number between. What
starts with a prefix lies at or after the prefix and before the next text that does not start so. A set of values is a
box for each of its values, so that a filter has as many boxes as combinations of the values of its sets.

Filters come and go: those that came since the index was made are compared one by one, those that went are left out of
its answers, and it is rebuilt when they are too many.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from math import inf, nan
from sys import float_info, maxunicode
from typing import Literal

import numpy as np

from weft.arrays import Floats, Int32s, Int64s
from weft.kernels.matching import compare_points, index_boxes, match_points
from weft.model.content import Content, Filter, OneOf, Predicate, Prefix, Range, Value, matches

BUCKETS = 256  # a dimension; more buckets leave fewer boxes to compare, and cost memory: one bit a box and bucket
UNINDEXED = 64  # filters that may have come or gone before the index is rebuilt, besides a quarter of those in it

Dimension = tuple[str, Literal["class", "number", "text"]]  # attribute
Interval = tuple[float | str, float | str | None]  # of texts up to, not including, the second, or without end
CLASS: Dimension = ("", "class")


@dataclass(frozen=True, eq=False)
class Boxes:
    """Filters as boxes; `owners[box]` is the position of the filter in what they were made from."""

    dimensions: Mapping[Dimension, int]
    texts: Mapping[Dimension, list[str]]  # sorted, of the dimensions of text
    low: Floats  # [box, dimension]
    high: Floats
    owners: Int32s

    def points(self, contents: Sequence[Content]) -> Floats:
        rows = np.full((len(contents), len(self.dimensions)), nan)
        for row, content in enumerate(contents):
            rows[row, 0] = self._place(CLASS, content.kind)
            for attribute, value in content.values.items():
                dimension = _dimension(attribute, value)
                column = self.dimensions.get(dimension)
                if column is not None:
                    rows[row, column] = self._place(dimension, value)
        return rows

    def _place(self, dimension: Dimension, value: Value) -> float:
        return _place(self.texts[dimension], value) if isinstance(value, str) else value


class Index:
    def __init__(self, filters: Sequence[Filter]) -> None:
        self.boxes = _boxes_of(filters)
        self.cuts = _cuts(self.boxes)
        self.bits, self.spans = index_boxes(self.boxes.low, self.boxes.high, self.cuts)

    def match(self, contents: Sequence[Content]) -> list[list[int]]:
        """Positions of the filters that each content matches."""
        offsets, found = self.match_points(self.boxes.points(contents))
        owners = self.boxes.owners[found].tolist()
        bounds = offsets.tolist()
        return [owners[start:stop] for start, stop in pairwise(bounds)]

    def match_points(self, points: Floats) -> tuple[Int64s, Int32s]:
        return match_points(points, self.boxes.low, self.boxes.high, self.cuts, self.bits, self.spans)

    def compare_points(self, points: Floats) -> tuple[Int64s, Int32s]:
        """The boxes of each point, without the index."""
        return compare_points(points, self.boxes.low, self.boxes.high)


class Matcher:
    """Filters by number, which come and go."""

    def __init__(self) -> None:
        self._filters: dict[int, Filter] = {}
        self._numbers: list[int] = []  # of the filters in the index
        self._index: Index | None = None
        self._came: dict[int, Filter] = {}
        self._gone: set[int] = set()

    def __len__(self) -> int:
        return len(self._filters)

    def add(self, number: int, wanted: Filter) -> None:
        self._filters[number] = self._came[number] = wanted

    def remove(self, number: int) -> None:
        del self._filters[number]
        if self._came.pop(number, None) is None:
            self._gone.add(number)

    def match(self, contents: Sequence[Content]) -> list[list[int]]:
        """Numbers of the filters that each content matches."""
        if len(self._came) + len(self._gone) > UNINDEXED + len(self._numbers) // 4:
            self._make_index()
        indexed = self._index.match(contents) if self._index else [[] for _ in contents]
        if not self._came and not self._gone:
            return [[self._numbers[position] for position in positions] for positions in indexed]
        return [
            [number for position in positions if (number := self._numbers[position]) not in self._gone]
            + [number for number, wanted in self._came.items() if matches(wanted, content)]
            for content, positions in zip(contents, indexed, strict=True)
        ]

    def _make_index(self) -> None:
        self._numbers = list(self._filters)
        self._index = Index(list(self._filters.values()))
        self._came.clear()
        self._gone.clear()


def _boxes_of(filters: Sequence[Filter]) -> Boxes:
    """The boxes of all filters; those of one class are neighbours."""
    rows = [(owner, box) for owner, wanted in enumerate(filters) for box in _boxes(wanted)]
    rows.sort(key=lambda row: row[1][CLASS][0])
    dimensions = {CLASS: 0} | {dimension: 0 for _, box in rows for dimension in box}
    dimensions = {dimension: column for column, dimension in enumerate(dimensions)}
    texts = {
        dimension: sorted({end for _, box in rows for end in box.get(dimension, ()) if isinstance(end, str)})
        for dimension in dimensions
        if dimension[1] != "number"
    }
    low, high = (np.full((len(rows), len(dimensions)), end) for end in (-inf, inf))
    for row, (_, box) in enumerate(rows):
        for dimension, interval in box.items():
            column = dimensions[dimension]
            low[row, column], high[row, column] = _ends(interval, texts.get(dimension, []))
    return Boxes(dimensions, texts, low, high, np.array([owner for owner, _ in rows], np.int32))


def _boxes(wanted: Filter) -> Iterator[dict[Dimension, Interval]]:
    choices = [_intervals(attribute, predicate) for attribute, predicate in wanted.predicates.items()]
    for chosen in product(*choices):
        yield {CLASS: (wanted.kind, wanted.kind), **dict(chosen)}


def _intervals(attribute: str, predicate: Predicate) -> Iterable[tuple[Dimension, Interval]]:
    match predicate:
        case Range(low, high) if low == -inf and high == inf:  # any number, but a number
            return [((attribute, "number"), (-float_info.max, float_info.max))]
        case Range(low, high):
            return [((attribute, "number"), (low, high))]
        case OneOf(values):
            return [(_dimension(attribute, value), (value, value)) for value in values]
        case Prefix(text):
            return [((attribute, "text"), (text, _after(text)))]


def _dimension(attribute: str, value: Value) -> Dimension:
    return attribute, "text" if isinstance(value, str) else "number"


def _after(prefix: str) -> str | None:
    """The first text after all that start with the prefix; None where there is none."""
    rest = prefix.rstrip(chr(maxunicode))
    return rest[:-1] + chr(ord(rest[-1]) + 1) if rest else None


def _place(texts: list[str], text: str) -> float:
    position = bisect_left(texts, text)
    named = position < len(texts) and texts[position] == text
    return 2.0 * position + named


def _ends(interval: Interval, texts: list[str]) -> tuple[float, float]:
    low, high = interval
    if not isinstance(low, str):
        assert isinstance(high, int | float)
        return low, high
    if low == high:
        return _place(texts, low), _place(texts, low)
    return _place(texts, low), _place(texts, high) - 1.0 if isinstance(high, str) else 2.0 * len(texts)


def _cuts(boxes: Boxes) -> Floats:
    """[dimension, cut], at even shares of the ends of intervals; infinite where there are fewer ends than cuts."""
    cuts = np.full((len(boxes.dimensions), BUCKETS - 1), inf)
    for column in range(len(boxes.dimensions)):
        low, high = boxes.low[:, column], boxes.high[:, column]
        ends = np.unique(np.append(low[low > -inf], np.nextafter(high[high < float_info.max], inf)))
        if len(ends) >= BUCKETS:
            ends = ends[np.linspace(0, len(ends) - 1, BUCKETS - 1).astype(np.int64)]
        cuts[column, : len(ends)] = ends
    return cuts
