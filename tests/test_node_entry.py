"""Entries: ways into trees, asked for once, and messages that wait for the answer."""

from weft.node.entry import Entries, Entry


def test_what_waits_goes_when_there_is_an_answer():
    entries = Entries()
    assert entries.get("a") is None
    entries.ask("a").waiting += ["one", "two"]
    assert entries.learn("a", True, (3, 4)) == ["one", "two"]
    assert entries.get("a") == Entry(True, (3, 4))
    assert entries.learn("a", False, ()) == []
    assert entries.learn("b", True, (5,)) == [], "told without having been asked"


def test_what_nobody_answers_goes_over_the_ring():
    entries = Entries()
    entries.ask("a").waiting += ["one"]
    assert entries.give_up("a") == ["one"]
    assert entries.get("a") == Entry(gave_up=True)
    assert entries.give_up("b") == []
    entries.learn("a", False, ())
    assert entries.get("a") == Entry(False)
    assert entries.give_up("a") == []
    assert entries.get("a") == Entry(False)


def test_all_is_asked_again_of_another_master():
    entries = Entries()
    entries.ask("a")
    entries.give_up("a")
    entries.learn("b", True, (5,))
    assert entries.renew() == ["a", "b"]
    assert (entries.get("a"), entries.get("b")) == (Entry(), Entry(None, (5,)))


def test_the_oldest_are_forgotten_where_they_are_too_many():
    entries = Entries(most=2)
    for name in "abc":
        entries.ask(name)
    assert [entries.get(name) is not None for name in "abc"] == [False, True, True]
