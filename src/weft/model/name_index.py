"""Names of topics, found by the filters that match them: retained messages, and receivers that are known.

A dictionary by name, and beside it a tree of levels that is asked only for filters with wildcards.
"""

from collections.abc import Iterator
from typing import Generic, TypeVar

from weft.model.topic import is_wild

T = TypeVar("T")


class _Level:
    __slots__ = ("below", "name")

    def __init__(self) -> None:
        self.below: dict[str, _Level] = {}
        self.name: str | None = None  # the name that ends here


class NameIndex(Generic[T]):
    def __init__(self) -> None:
        self._values: dict[str, T] = {}
        self._top = _Level()

    def __len__(self) -> int:
        return len(self._values)

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def get(self, name: str) -> T | None:
        return self._values.get(name)

    def __setitem__(self, name: str, value: T) -> None:
        if name not in self._values:
            at = self._top
            for level in name.split("/"):
                at = at.below.setdefault(level, _Level())
            at.name = name
        self._values[name] = value

    def pop(self, name: str) -> T | None:
        if name not in self._values:
            return None
        levels = name.split("/")
        path = [self._top]
        for level in levels:
            path.append(path[-1].below[level])
        path[-1].name = None
        for place in range(len(levels), 0, -1):
            if path[place].below or path[place].name is not None:
                break
            del path[place - 1].below[levels[place - 1]]
        return self._values.pop(name)

    def clear(self) -> None:
        self._values.clear()
        self._top = _Level()

    def find(self, pattern: str) -> list[tuple[str, T]]:
        """Names that a filter matches, with their values."""
        if not is_wild(pattern):
            return [(pattern, self._values[pattern])] if pattern in self._values else []
        return [(name, self._values[name]) for name in self._matching(pattern.split("/"))]

    def _matching(self, levels: list[str]) -> Iterator[str]:
        reached = [self._top]
        for place, level in enumerate(levels):
            if level == "#":
                yield from self._below(reached, first=place == 0)
                return
            if level == "+":
                reached = [one for at in reached for one in self._children(at, first=place == 0)]
            else:
                reached = [at.below[level] for at in reached if level in at.below]
        yield from (at.name for at in reached if at.name is not None)

    def _children(self, at: _Level, first: bool) -> list[_Level]:
        if not first:
            return list(at.below.values())
        return [one for level, one in at.below.items() if not level.startswith("$")]

    def _below(self, reached: list[_Level], first: bool) -> Iterator[str]:
        """All names from here on, "a" included for "a/#"."""
        waiting = [one for at in reached for one in self._children(at, first)] if first else list(reached)
        while waiting:
            at = waiting.pop()
            if at.name is not None:
                yield at.name
            waiting.extend(at.below.values())
