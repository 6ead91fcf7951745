"""Which of many filters does content match? Filters become places on lines, for `weft.kernels.matching`.

An attribute is a line of places: the first is that of content without it; then come numbers, and then texts. The line
is cut wherever an interval of a filter begins, and after its end, so that values of one place are alike for all filters
and matching is exact. Classes are numbered.

Filters come and go: those that came since the index was made are compared one by one, those that went are left out of
its answers, and it is rebuilt when they are too many.
"""

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import inf, nextafter

import numpy as np
import numpy.typing as npt

from weft.arrays import Bools, Floats, Int32s, Int64s, Words
from weft.kernels.matching import Conjunctions, compare_points, first_outside, index_conjunctions, match_points
from weft.model.content import Conjunction, Content, Filter, Value, Values, matches

BUCKETS = 256  # an attribute; more leave fewer conjunctions to compare, and cost memory: a bit a conjunction and bucket
UNINDEXED = 64  # filters that may have come or gone before the index is rebuilt, besides a quarter of those in it

CHUNK = 1 << 14  # publications that are placed at once

ABSENT = 0  # the place of content without the attribute
NO_CLASS = -1  # of content whose class no filter has


@dataclass(frozen=True, eq=False)
class Line:
    """The places of an attribute."""

    numbers: Floats  # cuts, ascending
    texts: npt.NDArray[np.object_]  # cuts, ascending

    @property
    def size(self) -> int:
        return len(self.numbers) + len(self.texts) + 3

    def place(self, value: Value | None) -> int:
        """Where one value is: for a few, lists are faster than arrays."""
        if value is None:
            return ABSENT
        numbers, texts = self._lists
        if isinstance(value, str):
            return 2 + len(numbers) + bisect_right(texts, value)
        return 1 + bisect_right(numbers, float(value))

    @cached_property
    def _lists(self) -> tuple[list[float], list[str]]:
        return self.numbers.tolist(), self.texts.tolist()

    def of_numbers(self, values: npt.ArrayLike) -> Int32s:
        return (1 + np.searchsorted(self.numbers, np.asarray(values, np.float64), "right")).astype(np.int32)

    def of_texts(self, values: npt.ArrayLike) -> Int32s:
        texts = np.asarray(values, object)
        return (2 + len(self.numbers) + np.searchsorted(self.texts, texts, "right")).astype(np.int32)


@dataclass(frozen=True, eq=False)
class Column:
    """The values of an attribute, a row a publication: a number, a text, or neither."""

    numbers: Floats | None = None  # nan where there is none
    texts: npt.NDArray[np.object_] | None = None  # None where there is none

    def value(self, row: int) -> Value | None:
        if self.texts is not None and self.texts[row] is not None:
            return str(self.texts[row])
        return None if self.numbers is None or np.isnan(self.numbers[row]) else float(self.numbers[row])


@dataclass(frozen=True, eq=False)
class Lines:
    """Classes and attributes of some filters."""

    classes: Mapping[str, int]
    attributes: Mapping[str, int]
    lines: Sequence[Line]  # of attributes

    def kinds(self, contents: Sequence[Content]) -> Int32s:
        return np.array([self.classes.get(content.kind, NO_CLASS) for content in contents], np.int32)

    def points(self, contents: Sequence[Content]) -> Int32s:
        columns = [
            [line.place(content.values.get(attribute)) for content in contents]
            for attribute, line in zip(self.attributes, self.lines, strict=True)
        ]
        return np.array(columns, np.int32).reshape(len(self.lines), len(contents)).T.copy()

    def points_of(self, columns: Mapping[str, Column], rows: slice) -> Int32s:
        """The same of rows of columns."""
        points = np.full((rows.stop - rows.start, len(self.lines)), ABSENT, np.int32)
        for place, (attribute, line) in enumerate(zip(self.attributes, self.lines, strict=True)):
            column = columns.get(attribute)
            if column is not None and column.numbers is not None:
                there = np.flatnonzero(~np.isnan(column.numbers[rows]))
                points[there, place] = line.of_numbers(column.numbers[rows][there])
            if column is not None and column.texts is not None:
                there = np.flatnonzero(column.texts[rows] != None)  # noqa: E711 - of every element
                points[there, place] = line.of_texts(column.texts[rows][there])
        return points

    def conjunctions(self, filters: Sequence[Filter]) -> Conjunctions:
        """Conjunctions by class, and then in the order of the filters; their mentions in the order of attributes."""
        rows = [
            (self.classes[each.kind], owner, one) for owner, each in enumerate(filters) for one in each.conjunctions
        ]
        rows.sort(key=lambda row: row[:2])
        kinds = np.array([kind for kind, _, _ in rows], np.int64)
        mentions = [(self.attributes[name], values) for _, _, one in rows for name, values in self._in_order(one)]
        attributes = np.array([attribute for attribute, _ in mentions], np.int32)
        of, first, last = self._intervals(mentions)
        return Conjunctions(
            owners=np.array([owner for _, owner, _ in rows], np.int32),
            classes=np.searchsorted(kinds, np.arange(len(self.classes) + 1)),
            bounds=np.append(0, np.cumsum([len(one) for _, _, one in rows], dtype=np.int64)),
            attributes=attributes,
            intervals=np.searchsorted(of, np.arange(len(mentions) + 1)),
            first=first,
            last=last,
            sizes=np.array([line.size for line in self.lines], np.int64),
        )

    def _in_order(self, one: Conjunction) -> list[tuple[str, Values]]:
        return sorted(one.items(), key=lambda item: self.attributes[item[0]])

    def _intervals(self, mentions: Sequence[tuple[int, Values]]) -> tuple[Int64s, Int32s, Int32s]:
        """The mention, the first and the last place of every interval, all at once for each attribute."""
        absent = [(number, ABSENT, ABSENT) for number, (_, values) in enumerate(mentions) if values.absent]
        parts = [np.array(absent, np.int64).reshape(-1, 3)]
        by_attribute: list[list[tuple[int, Values]]] = [[] for _ in self.lines]
        for number, (attribute, values) in enumerate(mentions):
            by_attribute[attribute].append((number, values))
        for line, here in zip(self.lines, by_attribute, strict=True):
            numbers = [(number, *pair) for number, values in here for pair in values.numbers]
            texts = [(number, *pair) for number, values in here for pair in values.texts]
            if numbers:
                of, low, high = np.array(numbers).T
                parts.append(np.stack([of.astype(np.int64), line.of_numbers(low), line.of_numbers(high)], axis=1))
            if texts:
                starts = line.of_texts([start for _, start, _ in texts])
                stops = line.of_texts([stop or "" for _, _, stop in texts])
                ends = np.where([stop is None for _, _, stop in texts], line.size, stops)
                parts.append(np.stack([np.array([of for of, _, _ in texts]), starts, ends - 1], axis=1))
        rows = np.concatenate(parts)
        rows = rows[np.lexsort((rows[:, 1], rows[:, 0]))]
        return rows[:, 0].copy(), rows[:, 1].astype(np.int32), rows[:, 2].astype(np.int32)


def by_owner(conjunctions: Conjunctions, filters: int) -> tuple[Int64s, Int64s]:
    """Conjunctions in the order of their filters, and where those of each begin."""
    order = np.argsort(conjunctions.owners, kind="stable")
    return order, np.searchsorted(conjunctions.owners[order], np.arange(filters + 1))


def first_mismatch(filters: Sequence[Filter], of: Int64s, columns: Mapping[str, Column]) -> int | None:
    """The first publication, a row of the columns, that the filter of its own does not match."""
    lines = lines_of(filters)
    conjunctions = lines.conjunctions(filters)
    order, bounds = by_owner(conjunctions, len(filters))
    for start in range(0, len(of), CHUNK):
        rows = slice(start, min(start + CHUNK, len(of)))
        outside = first_outside(lines.points_of(columns, rows), of[rows], conjunctions, order, bounds)
        if outside < rows.stop - start:
            return start + int(outside)
    return None


def matching_rows(wanted: Filter, columns: Mapping[str, Column], count: int) -> Bools:
    """Whether a filter matches each publication, a row of the columns."""
    index, found = Index([wanted]), []
    for start in range(0, count, CHUNK):
        rows = slice(start, min(start + CHUNK, count))
        kinds = np.zeros(rows.stop - start, np.int32)
        offsets, _ = index.match_points(kinds, index.lines.points_of(columns, rows))
        found.append(np.diff(offsets) > 0)
    return np.concatenate([np.zeros(0, np.bool_), *found])


def lines_of(filters: Iterable[Filter]) -> Lines:
    """Lines that are cut wherever any of the filters tells values apart."""
    classes: dict[str, int] = {}
    numbers: dict[str, set[float]] = {}
    texts: dict[str, set[str]] = {}
    for wanted in filters:
        classes.setdefault(wanted.kind, len(classes))
        for name, values in (item for one in wanted.conjunctions for item in one.items()):
            cuts = numbers.setdefault(name, set())
            for low, high in values.numbers:
                cuts.update((low, nextafter(high, inf)))
            texts.setdefault(name, set()).update(end for pair in values.texts for end in pair if end is not None)
    lines = [Line(np.array(sorted(numbers[name])), _objects(sorted(texts[name]))) for name in numbers]
    return Lines(classes, {name: place for place, name in enumerate(numbers)}, lines)


def _objects(texts: Sequence[str]) -> npt.NDArray[np.object_]:
    found = np.empty(len(texts), object)
    found[:] = texts
    return found


class Index:
    """Filters, and which of them content matches; lines may be those of more filters than these."""

    def __init__(self, filters: Sequence[Filter], lines: Lines | None = None) -> None:
        self.lines = lines_of(filters) if lines is None else lines
        self.conjunctions = self.lines.conjunctions(filters)
        self._bits: Words = index_conjunctions(self.conjunctions, BUCKETS)

    def match(self, contents: Sequence[Content]) -> list[list[int]]:
        """Positions of the filters that each content matches."""
        offsets, found = self.match_points(self.lines.kinds(contents), self.lines.points(contents))
        owners, bounds = found.tolist(), offsets.tolist()
        return [owners[start:stop] for start, stop in pairwise(bounds)]

    def match_points(self, kinds: Int32s, points: Int32s) -> tuple[Int64s, Int32s]:
        return match_points(kinds, points, self.conjunctions, self._bits)

    def compare_points(self, kinds: Int32s, points: Int32s) -> tuple[Int64s, Int32s]:
        """The same without the index."""
        return compare_points(kinds, points, self.conjunctions)


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
