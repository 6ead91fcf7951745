"""Filters, found by the names that they match.

Filters without wildcards are a dictionary. Those with wildcards are a tree of levels, in which a name follows at most
two branches a level, its own and `+`, and collects the `#` it passes. Adding or removing a filter touches its own
levels only. What stands at a filter is the owner's affair.

A name that begins with `$` does not follow `+` and `#` of the first level.
"""

from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from weft.wire.mqtt.topic import is_wild

T = TypeVar("T")


class _Level(Generic[T]):
    __slots__ = ("below", "entry", "hash")

    def __init__(self) -> None:
        self.below: dict[str, _Level[T]] = {}  # by level, "+" among them
        self.entry: T | None = None  # of the filter that ends here
        self.hash: T | None = None  # of the filter that goes on with # only


class FilterIndex(Generic[T]):
    def __init__(self) -> None:
        self._exact: dict[str, T] = {}
        self._wild: dict[str, T] = {}
        self._top: _Level[T] = _Level()

    def __len__(self) -> int:
        return len(self._exact) + len(self._wild)

    def __iter__(self) -> Iterator[str]:
        yield from self._exact
        yield from self._wild

    def get(self, pattern: str) -> T | None:
        entry = self._exact.get(pattern)
        return self._wild.get(pattern) if entry is None else entry

    def setdefault(self, pattern: str, make: Callable[[], T]) -> T:
        """What stands at a filter, made if nothing does."""
        entry = self.get(pattern)
        if entry is not None:
            return entry
        entry = make()
        if is_wild(pattern):
            self._wild[pattern] = entry
            self._plant(pattern, entry)
        else:
            self._exact[pattern] = entry
        return entry

    def remove(self, pattern: str) -> None:
        if self._exact.pop(pattern, None) is None and self._wild.pop(pattern, None) is not None:
            self._uproot(pattern)

    def match(self, name: str) -> list[T]:
        """What stands at the filters that match a name."""
        found = [self._exact[name]] if name in self._exact else []
        if self._wild:
            self._collect(name.split("/"), name.startswith("$"), found)
        return found

    def _collect(self, levels: list[str], reserved: bool, found: list[T]) -> None:
        reached = [self._top]
        for place, level in enumerate(levels):
            wild = place > 0 or not reserved
            further = []
            for at in reached:
                if at.hash is not None and wild:
                    found.append(at.hash)
                if (own := at.below.get(level)) is not None:
                    further.append(own)
                if wild and (plus := at.below.get("+")) is not None:
                    further.append(plus)
            if not further:
                return
            reached = further
        for at in reached:
            if at.hash is not None:  # "a/#" matches "a"
                found.append(at.hash)
            if at.entry is not None:
                found.append(at.entry)

    def _plant(self, pattern: str, entry: T) -> None:
        at, levels = self._top, pattern.split("/")
        for level in levels[:-1] if levels[-1] == "#" else levels:
            at = at.below.setdefault(level, _Level())
        if levels[-1] == "#":
            at.hash = entry
        else:
            at.entry = entry

    def _uproot(self, pattern: str) -> None:
        levels = pattern.split("/")
        path = [self._top]
        for level in levels[:-1] if levels[-1] == "#" else levels:
            path.append(path[-1].below[level])
        if levels[-1] == "#":
            path[-1].hash = None
        else:
            path[-1].entry = None
        for place in range(len(path) - 1, 0, -1):
            if path[place].below or path[place].entry is not None or path[place].hash is not None:
                return
            del path[place - 1].below[levels[place - 1]]
