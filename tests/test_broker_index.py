"""The indexes of filters and names against the definition of matching, while both change."""

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
