"""The indexes of filters and names against the definition of matching, while both change."""

import tracemalloc

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from weft.broker.filter import FilterIndex
from weft.model.name_index import NameIndex
from weft.wire.mqtt.topic import is_filter, matches

unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # a busy machine is no defect
level = st.sampled_from(["", "a", "b", "$x"])
names = st.lists(level, min_size=1, max_size=4).map("/".join).filter(bool)
filters = (
    st.tuples(st.lists(level | st.just("+"), max_size=4), st.sampled_from([[], ["#"]]))
    .map(lambda drawn: "/".join(drawn[0] + drawn[1]))
    .filter(is_filter)
)


class Indexes(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.index: FilterIndex[str] = FilterIndex()
        self.held: set[str] = set()
        self.known: NameIndex[int] = NameIndex()
        self.names: dict[str, int] = {}

    @rule(pattern=filters)
    def add(self, pattern: str) -> None:
        assert self.index.setdefault(pattern, lambda: pattern) == pattern
        self.held.add(pattern)

    @rule(pattern=filters)
    def remove(self, pattern: str) -> None:
        self.index.remove(pattern)
        self.held.discard(pattern)

    @rule(name=names)
    def match(self, name: str) -> None:
        assert sorted(self.index.match(name)) == sorted(one for one in self.held if matches(one, name))

    @rule(name=names, value=st.integers())
    def learn(self, name: str, value: int) -> None:
        self.known[name] = value
        self.names[name] = value

    @rule(name=names)
    def forget(self, name: str) -> None:
        assert self.known.pop(name) == self.names.pop(name, None)

    @rule(pattern=filters)
    def find(self, pattern: str) -> None:
        expected = [(name, value) for name, value in self.names.items() if matches(pattern, name)]
        assert sorted(self.known.find(pattern)) == sorted(expected)

    @invariant()
    def sizes(self) -> None:
        assert len(self.index) == len(self.held) == len(set(self.index))
        assert len(self.known) == len(self.names)


TestIndexes = Indexes.TestCase
TestIndexes.settings = unhurried


@unhurried
@given(st.sets(filters), st.sets(filters))
def test_what_is_taken_out_leaves_nothing_behind(stay: set[str], go: set[str]) -> None:
    index: FilterIndex[str] = FilterIndex()
    for pattern in stay | go:
        index.setdefault(pattern, str)
    for pattern in stay | go:
        index.remove(pattern)
    assert len(index) == 0
    assert not index._top.below
    assert index._top.hash is None


@unhurried
@given(st.sets(names), st.sets(names), st.sets(names), filters, st.integers(0, 10))
def test_a_walk_finds_what_stays_once_and_nothing_that_goes(
    stay: set[str], go: set[str], come: set[str], pattern: str, steps: int
) -> None:
    known: NameIndex[str] = NameIndex()
    for name in stay | go:
        known[name] = name
    walk = known.walk(pattern)
    found = [one for _, one in zip(range(steps), walk, strict=False) if one is not None]
    for name in go - stay:
        known.pop(name)
    for name in come:
        known[name] = name
    later = [one for one in walk if one is not None]
    seen = [name for name, _ in (*found, *later)]
    wanted = {name for name in stay if matches(pattern, name)}
    assert len(set(seen)) == len(seen)
    assert wanted <= set(seen) <= wanted | {name for name in go | come if matches(pattern, name)}
    assert not {name for name, _ in later} & (go - stay - come)


def test_a_walk_holds_no_more_than_the_places_of_names() -> None:
    """A million may stand at one level, and many may ask for them."""
    known: NameIndex[int] = NameIndex()
    count = 20_000
    for number in range(count):
        known[f"r/{number}"] = number
    tracemalloc.start()
    try:
        walk = known.walk("r/#")
        for _ in range(4):
            next(walk)
        assert tracemalloc.get_traced_memory()[0] < 12 * count
    finally:
        tracemalloc.stop()
