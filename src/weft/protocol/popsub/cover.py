"""Subscriptions that came by a link, arranged so that few need to be matched to know whether the link is wanted.

A subscription that another one of the same link covers is kept below one that no other covers, and only the latter are
in the matching index. Below means directly below: covering is transitive, so one level holds all. Nothing is forgotten,
so that taking a subscription back uncovers what it covered.
Own subscriptions are all in the index, since each of them gets what it matches.
"""

from collections.abc import Iterator, Sequence

from weft.model.content import Content, Filter, covers, matches
from weft.model.matching import Matcher

Place = tuple[int, str]  # link, class


class Cover:
    def __init__(self) -> None:
        self._matcher = Matcher()
        self._tops: dict[Place, dict[int, Filter]] = {}
        self._below: dict[int, dict[int, Filter]] = {}  # by the number of the top
        self._top_of: dict[int, int] = {}  # of those that are below one
        self._place: dict[int, Place] = {}

    def add(self, number: int, wanted: Filter, link: int | None) -> None:
        if link is None:
            self._matcher.add(number, wanted)
            return
        place = self._place[number] = (link, wanted.kind)
        self._insert(number, wanted, place)

    def remove(self, number: int) -> None:
        place = self._place.pop(number, None)
        if number in self._top_of:
            del self._below[self._top_of.pop(number)][number]
            return
        self._matcher.remove(number)
        if place is None:
            return
        del self._tops[place][number]
        uncovered = self._below.pop(number)
        for below in uncovered:
            del self._top_of[below]
        for below, wanted in uncovered.items():
            self._insert(below, wanted, place)

    def match(self, contents: Sequence[Content]) -> list[list[int]]:
        """Own subscriptions that each content matches, and of those by links the uncovered ones."""
        return self._matcher.match(contents)

    def all_matching(self, top: int, content: Content) -> Iterator[int]:
        """A subscription that matches, and those below it that do."""
        yield top
        yield from (number for number, wanted in self._below[top].items() if matches(wanted, content))

    def check_invariants(self) -> None:
        for place, tops in self._tops.items():
            for top, wide in tops.items():
                assert not any(covers(other, wide) for number, other in tops.items() if number != top), (
                    f"subscription {top} is covered, and yet a top of {place}"
                )
                assert all(covers(wide, narrow) for narrow in self._below[top].values()), (
                    f"subscription {top} has one below that it does not cover"
                )

    def _insert(self, number: int, wanted: Filter, place: Place) -> None:
        tops = self._tops.setdefault(place, {})
        for top, wide in tops.items():
            if covers(wide, wanted):
                self._hang(number, wanted, top)
                return
        covered = [(top, narrow) for top, narrow in tops.items() if covers(wanted, narrow)]
        tops[number] = wanted
        self._below[number] = {}
        self._matcher.add(number, wanted)
        for top, narrow in covered:
            del tops[top]
            self._matcher.remove(top)
            for below, narrower in self._below.pop(top).items():
                self._hang(below, narrower, number)
            self._hang(top, narrow, number)

    def _hang(self, number: int, wanted: Filter, top: int) -> None:
        self._below[top][number] = wanted
        self._top_of[number] = top
