"""Names of topics, found by the filters that match them: retained messages, and receivers that are known.

A dictionary by name, and beside it a tree of levels that is asked only for filters with wildcards. A filter may match
all names: who cannot wait that long walks (`walk`), or says how much it is worth to be found (`find_within`).
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Generic, TypeVar

from weft.model.topic import is_wild

T = TypeVar("T")
_Children = Iterable[tuple[str, "_Level"]]


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

    def dismantle(self) -> Iterator[None]:
        """Take it apart a piece a step, for to free a hundred thousand names at once takes long. Nobody uses it."""
        waiting = [self._top]
        while waiting:
            at = waiting.pop()
            while at.below:
                waiting.append(at.below.popitem()[1])
                yield
        while self._values:
            self._values.popitem()
            yield

    def find(self, pattern: str) -> list[tuple[str, T]]:
        """Names that a filter matches, with their values."""
        return [found for found in self._steps(pattern, dict.items) if found is not None]

    def find_within(self, pattern: str, steps: int) -> tuple[list[tuple[str, T]] | None, int]:
        """The same, and the steps that are left; None if it takes more than there are."""
        found: list[tuple[str, T]] = []
        for one in self._steps(pattern, dict.items):
            if not steps:
                return None, 0
            steps -= 1
            if one is not None:
                found.append(one)
        return found, steps

    def walk(self, pattern: str) -> Iterator[tuple[str, T] | None]:
        """The same in steps, between which names may come and go: one that comes meanwhile may be found, or not."""
        return self._steps(pattern, _as_of_now)

    def _steps(
        self, pattern: str, children: Callable[[dict[str, _Level]], _Children]
    ) -> Iterator[tuple[str, T] | None]:
        """A name or nothing for each level that is looked at, depth first."""
        if not is_wild(pattern):
            value = self._values.get(pattern)
            yield None if value is None else (pattern, value)
            return
        levels = pattern.split("/")
        whole = len(levels) - 1 if levels[-1] == "#" else len(levels)  # levels that a name must have
        waiting: list[Iterator[_Level]] = [iter((self._top,))]  # by depth: what is still to be looked at
        while waiting:
            at = next(waiting[-1], None)
            if at is None:
                waiting.pop()
                continue
            place = len(waiting) - 1
            value = self._values.get(at.name) if place >= whole and at.name is not None else None
            yield None if value is None or at.name is None else (at.name, value)
            if place < whole and levels[place] != "+":
                own = at.below.get(levels[place])
                waiting.append(iter(() if own is None else (own,)))
            elif place < len(levels) or whole < len(levels):
                waiting.append(_visible(children(at.below), place))


def _as_of_now(below: dict[str, _Level]) -> _Children:
    """Levels that are there now, and still are when their turn comes. There may be a million: only names are kept."""
    return ((level, one) for level in list(below) if (one := below.get(level)) is not None)


def _visible(children: _Children, place: int) -> Iterator[_Level]:
    """Wildcards of the first level do not match names that begin with $."""
    return (one for level, one in children if place or not level.startswith("$"))
