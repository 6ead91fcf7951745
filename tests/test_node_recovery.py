"""A node's state out of its journal: what it owes, what it fetches and has given away, and from where it counts."""

from weft.broker import record as r
from weft.broker.publication import UNISSUED, Publication
from weft.node import record
from weft.node.recovery import STRIDE, Recovery

OWN, OTHER = 7, 8  # incarnations


def queued(count: int, incarnation: int = OWN, *clients: str) -> bytes:
    one = Publication(b"t", b"", 1, origin=(0, incarnation, count))
    return r.encode(r.Queued(one, tuple((client, 1, (), "") for client in clients)))


def opened(client: str) -> bytes:
    return r.encode(r.SessionOpened(client, 5, 100, 0))


def recovered(*records: bytes | record.Record) -> Recovery:
    made = Recovery(OWN)
    made.replay(one if isinstance(one, bytes) else record.encode(one) for one in records)
    return made


def test_numbers_begin_above_all_that_were_ever_used():
    assert (recovered().next_count, recovered().run) == (STRIDE, 1)
    again = recovered(record.Started(OWN, STRIDE), record.Started(OTHER, 9 * STRIDE), queued(STRIDE + 5))
    assert (again.count, again.next_count, again.run) == (STRIDE + 5, 2 * STRIDE, 2)
    assert recovered(record.Started(OWN, STRIDE), record.Started(OWN, 3)).count == STRIDE


def test_own_publications_are_owed_until_they_are_settled():
    made = [queued(count) for count in (1, 2, 3, 4)]
    assert sorted(recovered(*made, queued(2), queued(9, OTHER)).owed) == [1, 2, 3, 4]
    assert sorted(recovered(*made, record.Settled(((2, 3),))).owed) == [1, 4]
    assert sorted(recovered(*made, record.Settled(((1, 1), (4, 4)))).owed) == [2, 3]
    assert sorted(recovered(*made, record.Settled(((3, 10**12),))).owed) == [1, 2]
    owing = [record.Owing(count, (5,), ()) for count in (2, 3)]
    assert recovered(*made, *owing, record.Settled(((2, 2),))).owing == {3: owing[1]}


def test_what_one_member_of_a_shared_subscription_leaves_to_another_is_owed_to_one_alone():
    ones = [Publication(b"t", b"", 1, origin=(0, OWN, count)) for count in (1, 2)]
    left = [r.encode(r.Queued(one, (r.any_member(one, "$share/g/t"),))) for one in ones]
    made = recovered(*left, queued(1, OWN, "c"), queued(3))
    assert (list(made.owed), made.groups) == ([1, 2, 3], {1: "$share/g/t", 2: "$share/g/t"})
    assert list(made.had) == ["c"], "nobody else has it yet"
    made.replay([record.encode(record.Settled(((1, 1),)))])
    assert (list(made.owed), made.groups) == ([2, 3], {2: "$share/g/t"})


def test_what_went_away_with_a_session_and_was_taken_back_is_not_owed_to_others():
    one = Publication(b"t", b"", 2, origin=(UNISSUED, OWN, 5))
    made = recovered(r.encode(r.Queued(one, (("c", 2, (), ""),))))
    assert (made.owed, list(made.had["c"])) == ({}, [(UNISSUED, OWN, 5)])


def test_what_a_session_was_given_goes_with_it():
    had, claims = record.Had("c", ((5, 5, 5),)), [record.Claimed("c", 3), record.Claimed("d", 4)]
    made = recovered(opened("c"), opened("d"), queued(1, OWN, "c", "d"), queued(6, OTHER, "c"), had, *claims)
    assert list(made.had["c"]) == [(0, OWN, 1), (0, OTHER, 6), (5, 5, 5)]
    assert (list(made.had["d"]), made.claims) == ([(0, OWN, 1)], {"c": 3, "d": 4})
    assert list(made.owed) == [1]
    made.replay([r.encode(r.SessionEnded("c"))])
    assert (list(made.had), made.claims) == (["d"], {"d": 4})


def test_claims_are_those_of_sessions_that_are_kept_or_fetched():
    """Others were of clients that were in at the crash, and have no session since."""
    claims = [record.Claimed(client, 3) for client in "cdef"]
    made = recovered(*claims, opened("c"), opened("f"), record.Fetching("d", 1, 10, (), clean=True))
    assert made.claims == {"c": 3, "d": 3, "f": 3}
    made.replay([record.encode(record.Claimed("f", 0)), opened("e")])
    assert made.claims == {"c": 3, "d": 3, "e": 3}
    made = recovered(*claims, record.Started(OWN, STRIDE), opened("c"))
    assert made.claims == {}, "begun since the restart, without a claim"


def test_what_a_session_has_forgotten_is_not_back():
    """Publications before the oldest of their issuer, and those of issuers without one."""
    queue = [queued(count, incarnation, "c", "d") for count in (3, 4, 5) for incarnation in (OWN, OTHER)]
    made = recovered(*queue, record.Forgotten("c", ((0, OTHER, 4),)), queued(2, OWN, "c"))
    assert list(made.had["c"]) == [(0, OTHER, 4), (0, OTHER, 5), (0, OWN, 2)]
    assert len(made.had["d"]) == 6


def test_what_is_to_come_with_the_rest_of_a_session_was_not_given():
    made = recovered(
        queued(3, OTHER, "c", "d"), record.NotHad("c", ((0, OTHER, 3),)), record.NotHad("e", ((0, OTHER, 3),))
    )
    assert list(made.had["c"]) == []
    assert list(made.had["d"]) == [(0, OTHER, 3)]


def test_what_is_fetched_and_given_is_known_until_it_is_done():
    fetching = [record.Fetching("c", 1, 10, ("a",)), record.Fetching("c", 2, 20, ())]
    given = [record.Given(client, 3, 30, (b"x",), (), (), ("a",)) for client in "ef"]
    made = recovered(*fetching, *given, record.Fetched("c", 1), record.Fetched("x", 1), record.GivenUp("e"))
    assert made.fetching == {("c", 2): fetching[1]}
    assert made.given == {"f": given[1]}
