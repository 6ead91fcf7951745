"""What a node tells the master of its clients, and what waits until that is in place."""

from weft.broker.deadline import Deadlines
from weft.broker.effect import FilterHeld, SessionSubscribed
from weft.broker.session import Session
from weft.broker.subscription import Subscription
from weft.node.atlas import Atlas
from weft.node.directory import MOST, Directory
from weft.node.effect import MASTER
from weft.node.outbox import Outbox
from weft.wire.frame import EVERYBODY, Held, Interest, Owned, SessionEnded, SessionOwned, Subscribed, topic_of
from weft.wire.mqtt.packet import Version

PATIENCE = 2.0


class Surroundings:
    def __init__(self, *sessions: Session, linked: bool = True) -> None:
        self.atlas, self.outbox, self.deadlines = Atlas(), Outbox(), Deadlines()
        self.atlas.up |= {MASTER} if linked else set()
        known = {one.client: one for one in sessions}
        self.directory = Directory(self.atlas, self.outbox, self.deadlines, PATIENCE, known.get)
        self.done: list[tuple[str, float, bool]] = []

    def wait(self, name: str, now: float) -> None:
        self.directory.wait(lambda then, alone: self.done.append((name, then, alone)), now)

    def told(self) -> list[object]:
        self.directory.flush()
        return [effect.frame for effect in self.outbox.flush()]  # type: ignore[attr-defined]


def session(client: str, expiry: int = 60) -> Session:
    made = Session(client, 1, Version.V5, expiry)
    made.subscriptions["a"] = Subscription("a", 1, identifier=9)
    return made


def test_filters_are_told_once_for_an_event_and_numbered():
    around = Surroundings()
    assert around.told() == []
    around.directory.note_filter(FilterHeld("a", 1, False))
    around.directory.note_filter(FilterHeld("$share/g/a", 2, True))
    around.directory.note_filter(FilterHeld("b", 0, False))
    held = (Held("a", 1, False), Held("$share/g/a", 2, True))
    assert around.told() == [Interest(1, held, ("b",))]
    assert around.told() == []
    assert around.atlas.held == {EVERYBODY, topic_of("a")}
    around.directory.note_filter(FilterHeld("a", 0, False))
    assert around.told() == [Interest(2, (), ("a",))]
    assert around.atlas.held == {EVERYBODY}


def test_a_filter_that_is_new_here_is_unknown_to_others_until_it_is_in_place():
    directory = Surroundings().directory
    for name, members in (("a", 1), ("b", 1), ("$share/g/c", 1), ("$share/g/d", 2)):
        directory.note_filter(FilterHeld(name, members, False))
    directory.note_filter(FilterHeld("b", 0, False))
    names = ("a", "b", "$share/g/c", "$share/g/d", "e")
    assert [directory.is_unknown(name) for name in names] == [True, False, True, False, False]
    directory.flush()
    directory.in_place(0, 1.0)
    assert directory.is_unknown("a")
    directory.in_place(1, 1.0)
    assert not directory.is_unknown("a")
    directory.note_filter(FilterHeld("a", 2, False))
    assert not directory.is_unknown("a"), "it is held here already"


def test_sessions_are_told_whole_and_later_by_what_has_changed():
    kept, clean = session("kept"), session("clean", expiry=0)
    around = Surroundings(kept, clean)
    around.directory.claims["kept"] = 4
    around.directory.note_subscription(SessionSubscribed("kept", "a", Subscription("a", 1)))
    around.directory.note_session("kept", kept)
    around.directory.note_session("clean", clean)
    whole = (Subscribed("a", Subscription("a", 1).options, 9),)
    assert around.told() == [
        SessionOwned(Owned("kept", 60, Version.V5, whole, 4)),
        SessionOwned(Owned("clean", 0, Version.V5)),
    ]
    around.directory.note_subscription(SessionSubscribed("kept", "b", Subscription("b", 2)))
    around.directory.note_subscription(SessionSubscribed("kept", "a", None))
    around.directory.note_subscription(SessionSubscribed("nobody", "a", None))
    changed = Owned("kept", 60, Version.V5, (Subscribed("b", Subscription("b", 2).options, 0),), 4)
    assert around.told() == [SessionOwned(changed, whole=False, removed=("a",))]
    around.directory.note_subscription(SessionSubscribed("kept", "b", None))
    around.directory.note_session("kept", None)
    assert around.told() == [SessionEnded("kept", 4)]
    around.directory.note_session("kept", None)
    assert around.told() == [SessionEnded("kept", 0)]


def test_who_waits_goes_on_when_what_was_told_is_in_place():
    around = Surroundings(session("c"))
    around.wait("nothing to wait for", 1.0)
    around.directory.note_filter(FilterHeld("a", 1, False))
    around.wait("a", 2.0)
    around.told()
    around.directory.note_subscription(SessionSubscribed("c", "a", None))
    around.wait("the session", 3.0)
    assert around.told()[-1] == Interest(2, (), ())
    assert around.done == [("nothing to wait for", 1.0, False)]
    around.directory.in_place(1, 4.0)
    around.directory.in_place(2, 5.0)
    assert around.done[1:] == [("a", 4.0, False), ("the session", 5.0, False)]
    around.deadlines.run(2.0 + MOST)
    around.directory.in_place(1, 50.0)
    around.wait("long in place", 51.0)
    assert around.done[3:] == [("long in place", 51.0, False)]


def test_without_the_master_patience_is_short_and_with_it_long():
    around = Surroundings()
    around.directory.note_filter(FilterHeld("a", 1, False))
    around.wait("a", 10.0)
    around.deadlines.run(10.0 + PATIENCE)
    assert around.done == []
    around.atlas.up.clear()
    around.directory.lose_master(20.0)
    around.deadlines.run(19.9 + PATIENCE)
    assert around.done == []
    around.deadlines.run(20.0 + PATIENCE)
    assert around.done == [("a", 22.0, True)]
    around.wait("b", 30.0)
    around.deadlines.run(30.0 + PATIENCE)
    assert around.done[1:] == [("b", 32.0, True)]
    around.wait("c", 40.0)
    around.atlas.up.add(MASTER)
    around.deadlines.run(40.0 + PATIENCE)
    assert len(around.done) == 2, "it is back"
    around.deadlines.run(40.0 + MOST)
    assert around.done[2:] == [("c", 70.0, True)]


def test_what_happens_without_the_master_is_counted_and_not_told():
    around = Surroundings(linked=False)
    around.directory.note_filter(FilterHeld("a", 1, False))
    assert (around.told(), around.directory.sequence) == ([], 1)


def test_filters_that_go_with_a_session_are_given_up_later() -> None:
    around = Surroundings()
    directory = around.directory
    for name in ("a", "b", "$share/g/c"):
        directory.note_filter(FilterHeld(name, 1, True))
    around.told()
    directory.is_giving = True
    for name in ("a", "b", "$share/g/c"):
        directory.note_filter(FilterHeld(name, 0, False))
    directory.is_giving = False
    assert around.told() == []
    directory.note_filter(FilterHeld("b", 1, False))
    assert [directory.is_leaving(name) for name in ("a", "b", "$share/g/c")] == [True, False, True]
    directory.let_go(["a", "b"])
    assert around.told() == [Interest(2, (Held("b", 1, False),), ("a",))]
    directory.let_all_go()
    assert around.told() == [Interest(3, (), ("$share/g/c",))]
