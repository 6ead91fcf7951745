"""Filters, their holders, and sessions, compared with plain lists of what has been said."""

from collections import defaultdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.master import directory as module
from weft.master.directory import Directory, Session, session_of, session_value
from weft.wire.frame import NOBODY, Held, Owned, Subscribed

FILTERS = ["a", "b", "aa", "b/", "+", "$share/g/a"]
CHANGES = st.lists(
    st.tuples(st.sampled_from(["hold", "release", "forget"]), st.integers(0, 2), st.sampled_from(FILTERS)), max_size=40
)


@pytest.fixture(autouse=True)
def _numbers_that_meet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Filters of the same length have the same number."""
    monkeypatch.setattr(module, "topic_of", len)


@given(CHANGES)
@settings(max_examples=150)
def test_holders_names_and_interests_follow_from_what_nodes_hold(changes: list[tuple[str, int, str]]) -> None:
    directory, held = Directory(), {}
    for what, node, pattern in changes:
        directory.welcome(node)
        before = interests(held)[node]
        if what == "hold":
            held[node, pattern] = Held(pattern, 1, pattern == "b")
            assert directory.hold(node, held[node, pattern]) == changed(before, interests(held)[node])
        elif what == "release":
            held.pop((node, pattern), None)
            assert directory.release(node, pattern) == changed(before, interests(held)[node])
        else:
            held = {key: one for key, one in held.items() if key[0] != node}
            directory.forget(node)
            assert node not in directory.held
            assert node not in directory.interests
        agrees(directory, held)


def interests(held: dict[tuple[int, str], Held]) -> dict[int, set[int]]:
    found = defaultdict(set)
    for node, pattern in held:
        if not pattern.startswith("$share"):
            found[node].add(len(pattern))
    return found


def changed(before: set[int], after: set[int]) -> int | None:
    return next(iter(before ^ after), None)


def agrees(directory: Directory, held: dict[tuple[int, str], Held]) -> None:
    holders, names = defaultdict(set), defaultdict(set)
    for node, pattern in held:
        holders[pattern].add(node)
        if not pattern.startswith("$share"):
            names[len(pattern)].add(pattern)
    assert directory.holders == holders
    assert directory.names == names
    for node in directory.held:
        assert directory.held[node] == {pattern: one for (other, pattern), one in held.items() if other == node}
        assert directory.interests[node] == interests(held)[node]
        assert directory.owed(node) == (("b",) if (node, "b") in held else ())
    for topic in (1, 2, 9):
        assert directory.name_of(topic) == min(names.get(topic, {f"{topic:#018x}"}))


def test_a_session_is_lost_with_its_last_part_or_where_it_would_not_be_kept() -> None:
    directory = Directory()
    directory.own(0, Owned("kept", 60, 4))
    directory.own(0, Owned("brief", 0, 4))
    for client in ("kept", "brief"):
        assert directory.claim(1, client) == (0,)
        directory.lose(client)
    assert {client: session.node for client, session in directory.sessions.items()} == {"kept": NOBODY}
    assert directory.claim(2, "kept") == (0,)
    directory.lose("kept")
    directory.gather(2, "kept", 0)
    assert directory.sessions == {}


def test_only_the_owner_says_what_it_has_gathered() -> None:
    directory = Directory()
    directory.own(0, Owned("c", 60, 4))
    directory.claim(1, "c")
    directory.gather(2, "c", 0)
    assert directory.sessions["c"].rest == (0,)
    directory.gather(1, "c", 0)
    assert directory.sessions["c"].rest == ()
    directory.gather(1, "nobody's", 0)
    assert set(directory.sessions) == {"c"}


def test_a_node_that_is_forgotten_has_no_part_of_any_session() -> None:
    directory = Directory()
    directory.own(0, Owned("c", 60, 4))
    directory.own(0, Owned("d", 60, 4))
    directory.claim(1, "c")
    directory.forget(0)
    assert directory.sessions == {"c": Session(1, Owned("c", 60, 4), (), 1, 0)}


@pytest.mark.parametrize(
    ("node", "claim", "may"), [(1, 2, True), (1, 3, True), (1, 1, False), (0, 2, False), (0, 9, False)]
)
def test_a_session_is_changed_by_its_owner_by_its_last_claim(node: int, claim: int, may: bool) -> None:
    directory = Directory()
    assert directory.may_change(node, "c", claim)  # nobody has it
    directory.own(0, Owned("c", 60, 4))
    directory.claim(0, "other")
    directory.claim(1, "c")
    assert directory.sessions["c"].claim == directory.claims == 2
    assert directory.may_change(node, "c", claim) == may
    directory.lose("c")
    assert directory.may_change(node, "c", claim) == (claim >= 2)


def test_claims_go_on_from_the_highest_that_a_node_knows() -> None:
    directory = Directory()
    directory.own(0, Owned("c", 60, 4, claim=7))
    directory.own(0, Owned("d", 60, 4, claim=3))
    directory.claim(1, "e")
    assert directory.sessions["e"].claim == 8


NUMBERS = st.integers(0, 9)


@given(st.integers(-1, 9), NUMBERS, st.lists(NUMBERS, max_size=3), NUMBERS, NUMBERS, st.integers(-1, 9))
def test_a_session_is_kept_as_it_was(node: int, expiry: int, rest: list[int], claim: int, told: int, by: int) -> None:
    owned = Owned("c", expiry, 5, (Subscribed("a", 1), Subscribed("b", 2, 7)), told)
    session = Session(node, owned, tuple(rest), claim, by)
    assert session_of("c", session_value(session)) == session
