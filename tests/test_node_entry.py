"""Entries: ways into trees, asked for once, and messages that wait for the answer."""

from weft.node.entry import MEAN, Entries, Entry


def test_what_waits_goes_when_there_is_an_answer():
    entries = Entries(9)
    assert entries.get("a") is None
    entries.ask("a").waiting += ["one", "two"]
    assert entries.learn("a", True, (3, 4)) == ["one", "two"]
    assert entries.get("a") == Entry(True, (3, 4))
    assert entries.learn("a", False, ()) == []
    assert entries.learn("b", True, (5,)) == []
    assert entries.get("b") is None, "told of what was forgotten"


def test_what_nobody_answers_goes_over_the_ring():
    entries = Entries(9)
    entries.ask("a").waiting += ["one"]
    assert entries.give_up("a") == ["one"]
    assert entries.get("a") == Entry(gave_up=True)
    assert entries.give_up("b") == []
    entries.learn("a", False, ())
    assert entries.get("a") == Entry(False)
    assert entries.give_up("a") == []
    assert entries.get("a") == Entry(False)


def test_all_is_asked_again_of_another_master():
    entries = Entries(9)
    entries.ask("a")
    entries.give_up("a")
    entries.ask("b")
    entries.learn("b", True, (5,))
    assert entries.renew() == ["a", "b"]
    assert (entries.get("a"), entries.get("b")) == (Entry(), Entry(None, (5,)))


def test_the_older_half_is_forgotten_where_they_are_too_many_but_what_waits():
    entries = Entries(most=4)
    for name in "abcd":
        assert entries.make_room() == []
        entries.ask(name)
    assert entries.make_room() == [], "nobody has answered"
    entries.learn("b", True, ())
    entries.learn("c", True, ())
    assert entries.make_room() == ["b"]
    assert [entries.get(name) is not None for name in "abcd"] == [True, False, True, True]
    assert entries.make_room() == []


def test_long_names_are_bounded_by_their_bytes():
    entries = Entries(most=1000)
    for number in range(1000):
        entries.make_room()
        entries.ask(f"{number:0>60000}")
        entries.give_up(f"{number:0>60000}")
    assert sum(entries.get(f"{number:0>60000}") is not None for number in range(1000)) <= 1000 * MEAN // 60000 + 1
