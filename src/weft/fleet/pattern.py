"""Topics of a bridge, written as few patterns: names, and `prefix/#` for all that lies below a prefix.

A pattern may stand for topics that are known and all flow the same way; it adds no traffic to what is known. New names
below it travel too, and cannot loop:

    Patterns of these two kinds are nested or apart: what two of them have in common is all of the smaller one. Let a
    name travel in a circle, or come to a broker on two ways. All patterns that let it pass have the name in common, so
    they are nested, and the smallest of them lies in all others. It stands for at least one topic that is known, which
    then travels over all these bridges as well. But known topics have trees. So there is no such name.

This does not hold with `+`: `a/+` and `+/b` have `a/b` in common, which none of the topics need be that they stand for.
So `+` is not used. Nor is `#` alone, which lets all pass that anybody will ever publish.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from weft.arrays import Bools, Int64s
from weft.errors import WeftError
from weft.model.topic import is_name

LONGEST = 65_535  # bytes of a topic in MQTT
DEEP = 100  # levels; what lies deeper is not shortened

_UNWRITABLE = re.compile(r"[\x00-\x20\x7f-\x9f\u2028\u2029]")


@dataclass(frozen=True)
class _Level:
    """The topics that begin with a path of levels: a range of all in the order of their levels."""

    path: str
    first: int
    last: int
    ends: bool  # whether the path itself is a topic, which is the first then
    below: "tuple[_Level, ...]"


class Names:
    """Names of topics by level, to shorten sets of them."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = names
        self._written: set[str] = set()  # patterns that are known to be writable
        split = [name.split("/", DEEP) for name in names]
        order = sorted(range(len(names)), key=split.__getitem__)
        self._order: Int64s = np.array(order, np.int64)
        self._levels = tuple(_levels([split[topic] for topic in order], 0, 0, ""))

    def patterns(self, chosen: Bools, wildcards: bool = True) -> list[str]:
        """Patterns that match the chosen topics, by number, and no other; each of them can be written."""
        before = np.append(0, np.cumsum(chosen[self._order]))
        found = [pattern for level in self._levels for pattern in self._cover(level, before, wildcards)]
        for pattern in found:
            if pattern not in self._written:
                self._written.add(_writable(pattern))
        return found

    def first_levels(self, chosen: Bools) -> tuple[set[str], int]:
        """First levels of the chosen topics, and how many topics below them are not chosen."""
        before = np.append(0, np.cumsum(chosen[self._order]))
        touched = [level for level in self._levels if before[level.last] > before[level.first]]
        in_all = sum(level.last - level.first for level in touched)
        return {level.path for level in touched}, in_all - int(before[-1])

    def _cover(self, level: _Level, before: Int64s, wildcards: bool) -> Iterator[str]:
        count, size = before[level.last] - before[level.first], level.last - level.first
        if wildcards and count == size > 1:
            yield f"{level.path}/#"
        elif count:
            if level.ends and before[level.first + 1] > before[level.first]:
                yield level.path
            for each in level.below:
                yield from self._cover(each, before, wildcards)


def _levels(names: Sequence[Sequence[str]], depth: int, first: int, path: str) -> Iterator[_Level]:
    """Levels of names that are sorted and alike in the levels before."""
    for level, group in groupby(names, key=lambda levels: levels[depth]):
        inside = list(group)
        whole = f"{path}/{level}" if depth else level
        ends = sum(len(levels) == depth + 1 for levels in inside)
        below = tuple(_levels(inside[ends:], depth + 1, first + ends, whole))
        yield _Level(whole, first, first + len(inside), bool(ends), below)
        first += len(inside)


def _writable(pattern: str) -> str:
    """The pattern, if a line of a configuration can hold it."""
    name = pattern.removesuffix("/#")
    if name.startswith("$"):
        raise WeftError(f"Topic {name!r} is a broker's own, and not for others: leave it out of the instance.")
    if name and not is_name(name):
        raise WeftError(f"Topic {name!r} cannot be bridged: a topic has neither + nor #. Leave it out of the instance.")
    if not pattern or _UNWRITABLE.search(pattern):
        raise WeftError(
            f"Topic {name!r} cannot be written in a configuration, where blanks end a topic: rename it, or leave it "
            "out of the instance."
        )
    if len(pattern.encode()) > LONGEST:
        raise WeftError(f"Topic {name[:40]!r}... is longer than the {LONGEST:,} bytes that MQTT allows.")
    return pattern
