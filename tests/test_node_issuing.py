"""Publications put on trees: by which ways, what waits until a way is known, and what is counted."""

from types import SimpleNamespace
from unittest.mock import Mock, call

import pytest

from weft.broker.deadline import Deadlines
from weft.broker.publication import Publication
from weft.node import issuing as module
from weft.node.atlas import Atlas
from weft.node.destination import Destination
from weft.node.effect import MASTER, Tell
from weft.node.entry import Entries
from weft.node.figure import Figures
from weft.node.issuing import Issuing
from weft.node.message import key_of
from weft.node.outbox import Outbox
from weft.wire.content import Run
from weft.wire.frame import EVERYBODY, FindWay, ForgetWays, Message, topic_of

PATIENCE = 2.0
TREES = (("a", topic_of("a")),)


class Surroundings:
    def __init__(self, linked: bool = True, is_held: bool = True) -> None:
        self.atlas, self.outbox, self.deadlines, self.others = Atlas(), Outbox(), Deadlines(), Mock()
        self.atlas.up |= {MASTER} if linked else set()
        self.figures, self.entries = Figures(), Entries(4)
        self.issued: list[tuple[Message, tuple[int, ...] | None]] = []
        self.tables: dict[int, frozenset[int]] = {}
        others = self.others
        carrier = SimpleNamespace(
            own=(5, 77),
            router=SimpleNamespace(tables=self.tables),
            issue=lambda message, way, now: self.issued.append((message, way)),
        )
        others.destinations.of.return_value = Destination(TREES, ("$share/g/a",), ())
        others.destinations.is_held_elsewhere.return_value = is_held
        others.custody.is_engaged.return_value = True
        self.issuing = Issuing(
            *(self.atlas, carrier, others.custody, self.entries, others.destinations, others.groups),  # type: ignore[arg-type]
            *(self.outbox, self.deadlines, self.figures, PATIENCE, lambda: (5, 77, 9)),
        )

    def put(self, kept: bool = False, retain: bool = False, name: str = "a") -> Message:
        message = Message(module.Form.WOVEN, 0, 5, 77, 1, 0, CONTENT, kept)
        self.issuing.put_on_trees(message, ((name, topic_of(name)),), retain, 0.0)
        return message

    def topics(self) -> list[int]:
        found = [message.topic for message, _ in self.issued]
        self.issued.clear()
        return found


PUBLICATION = Publication(b"a", b"four", origin=(5, 77, 1))
CONTENT = module.message_for(PUBLICATION, (5, 77), 0.0).content


@pytest.fixture
def around() -> Surroundings:
    return Surroundings()


def test_a_publication_goes_on_the_trees_of_its_filters_and_to_groups(around: Surroundings) -> None:
    around.tables[topic_of("a")] = frozenset({3})
    around.issuing.issue(PUBLICATION, 0.0)
    assert around.topics() == [topic_of("a")]
    assert around.others.groups.give.call_args.args[0] == "$share/g/a"
    assert around.issuing.rates == {"a": [1, 4]}
    assert around.figures.issued == 1
    around.issuing.issue(Publication(b"a", b"xy", retain=True), 0.0)
    assert around.topics() == [EVERYBODY, topic_of("a")]
    assert around.issuing.rates == {"a": [2, 6]}


def test_one_for_a_group_alone_goes_on_no_tree(around: Surroundings) -> None:
    around.issuing.issue_for_group("$share/h/a", PUBLICATION, 0.0)
    filter_, message, publication, now = around.others.groups.give.call_args.args
    assert (filter_, key_of(message), publication, now) == ("$share/h/a", (5, 77, 1, 0), PUBLICATION, 0.0)
    assert around.topics() == []


def test_what_is_for_a_tree_waits_in_order_until_the_master_has_named_the_way(around: Surroundings) -> None:
    first, second = around.put(), around.put(kept=True)
    assert around.outbox.flush() == [Tell(MASTER, FindWay("a"))], "once"
    assert around.issued == []
    assert around.others.custody.hold.call_args_list == [call(key_of(second))]
    around.issuing.learn_way("a", True, (3, 4), 1.0)
    assert [(message.count, message.kept, way) for message, way in around.issued] == [
        (first.count, False, (3, 4)),
        (second.count, True, (3, 4)),
    ]
    assert around.others.custody.release.call_args_list == [call(key_of(second))]
    assert around.others.custody.owe.call_args_list == [call(key_of(second), [])]
    around.others.destinations.forget.assert_called_once_with()
    around.issued.clear()
    around.put()
    assert [way for _, way in around.issued] == [(3, 4)]


def test_nothing_waits_where_there_is_a_table(around: Surroundings) -> None:
    around.tables[topic_of("a")] = frozenset({3})
    around.put()
    assert around.topics() == [topic_of("a")]
    assert around.outbox.flush() == []


@pytest.mark.parametrize(("linked", "patience"), [(True, PATIENCE), (False, 0.0)])
def test_the_master_is_not_waited_for_for_ever(linked: bool, patience: float) -> None:
    around = Surroundings(linked)
    around.put()
    assert len(around.outbox.flush()) == linked
    around.deadlines.run(patience - 0.1)
    assert around.topics() == []
    around.deadlines.run(patience)
    assert [way for _, way in around.issued] == [()]
    around.issued.clear()
    around.put()
    assert [way for _, way in around.issued] == [()], "nor again"


def test_what_nobody_holds_any_more_is_not_sent_and_its_custody_ends() -> None:
    around = Surroundings(is_held=False)
    message = around.put(kept=True)
    around.issuing.learn_way("a", False, (), 1.0)
    assert around.topics() == []
    assert around.others.custody.release.call_args_list == [call(key_of(message))]


def test_an_attempt_that_another_has_followed_goes_nowhere(around: Surroundings) -> None:
    around.put(kept=True)
    around.others.custody.is_engaged.return_value = False
    around.issuing.learn_way("a", True, (3,), 1.0)
    assert around.topics() == []
    around.others.custody.release.assert_not_called()


def test_so_many_of_qos_0_wait_and_no_more(around: Surroundings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "WAITING", 2)
    for _ in range(3):
        around.put()
    around.put(kept=True)
    assert around.figures.dropped == 1
    around.issuing.learn_way("a", True, (3,), 1.0)
    assert [message.kept for message, _ in around.issued] == [False, False, True]


def test_another_master_is_asked_for_all_ways_again_and_given_time(around: Surroundings) -> None:
    around.put()
    around.outbox.flush()
    around.issuing.ask_again(1.0)
    assert around.outbox.flush() == [Tell(MASTER, FindWay("a"))]
    around.deadlines.run(3.0)
    assert len(around.issued) == 1


def test_the_master_is_told_of_ways_that_are_forgotten_and_all_that_went_by_them_is(around: Surroundings) -> None:
    for name in "abcd":
        around.put(name=name)
        around.issuing.learn_way(name, True, (3,), 0.0)
    around.outbox.flush()
    around.others.destinations.forget.reset_mock()
    around.put(name="e")
    assert around.outbox.flush() == [Tell(MASTER, FindWay("e")), Tell(MASTER, ForgetWays(("a", "b")))]
    around.others.destinations.forget.assert_called_once_with()
    around.issuing.learn_way("a", False, (), 0.0)
    assert around.entries.get("a") is None, "the answer was on its way"


def test_names_that_nobody_can_count_are_left_out(around: Surroundings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "COUNTED", 1)
    for name in (b"x" * 2000, b"a", b"b", b"a"):
        around.issuing.count(name, 1, 10)
    assert around.issuing.rates == {"a": [2, 20]}
    assert around.figures.issued == 4


def test_a_run_of_publications_has_one_number(around: Surroundings) -> None:
    around.entries.ask("a")
    around.entries.learn("a", True, (3,))
    run = Run(b"packets", 3, b"a", "publisher")
    around.issuing.issue_run(TREES, run, 0.0)
    ((message, way),) = around.issued
    assert (message.issuer, message.incarnation, message.count, message.topic, way) == (5, 77, 9, topic_of("a"), (3,))
    assert around.issuing.rates == {"a": [3, 7]}
    assert around.figures.issued == 3
