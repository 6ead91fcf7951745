"""Shared subscriptions across nodes: which node gets a publication, whoever issues it and whoever passes it on."""

from types import SimpleNamespace

import pytest

from weft.broker.effect import ArrivedForGroup
from weft.broker.publication import Publication
from weft.node.atlas import Atlas, absence_of
from weft.node.group import Groups
from weft.node.message import for_group, key_of, message_for, origin_of
from weft.wire.frame import Filters, Holder, Listed, Message

SHARED = "$share/g/a"
HERE = 0


class Surroundings:
    """Node 0; others that have members are given by number and how many."""

    def __init__(self, *holders: tuple[int, int], members: bool = False, takers: bool = False) -> None:
        self.atlas = Atlas()
        self.atlas.node = HERE
        listed = tuple(Holder(node, 10 * node, count) for node, count in holders)
        if listed:
            self.atlas.enlist(Filters(1, (Listed(SHARED, listed),)))
        self.sent: list[tuple[int, str]] = []
        self.given_up: list[Message] = []
        self.owed: list[tuple[object, list[int]]] = []
        self.happened: list[ArrivedForGroup] = []
        self.may_pass = True
        broker = SimpleNamespace(
            has_taker=lambda filter_, name, qos: takers, groups=lambda name: [SHARED] if members else []
        )
        carrier = SimpleNamespace(
            send_to=lambda ring_id, message, group: self.sent.append((ring_id, group)),
            is_to_pass=lambda message, now: self.may_pass,
            give_up=self.given_up.append,
        )
        custody = SimpleNamespace(owe=lambda key, nodes: self.owed.append((key, nodes)))
        self.groups = Groups(
            *(broker, self.atlas, carrier, custody),  # type: ignore[arg-type]
            lambda event, now: self.happened.append(event),  # type: ignore[arg-type]
        )

    def give(self, debt: SimpleNamespace | None = None) -> None:
        self.groups.give(SHARED, message(), PUBLICATION, 0.0, debt)  # type: ignore[arg-type]

    def take(self) -> None:
        self.groups.take(for_group(message(), SHARED, 3), 0.0)


PUBLICATION = Publication(b"a", b"x", 1, origin=(7, 8, 9))


def message() -> Message:
    return message_for(PUBLICATION, (1, 2), 0.0)


def debt(chosen: int | None = None) -> SimpleNamespace:
    return SimpleNamespace(chosen=chosen, parent=None)


def test_nodes_with_members_take_turns() -> None:
    around = Surroundings((1, 1), (2, 2))
    for _ in range(6):
        around.give()
    assert sorted(around.sent) == [(10, SHARED)] * 2 + [(20, SHARED)] * 4
    assert around.happened == []


def test_another_attempt_goes_to_the_same_node() -> None:
    around = Surroundings((1, 1), (2, 1))
    owing = debt()
    for _ in range(3):
        around.give(owing)
    assert around.sent == [(10, SHARED)] * 3
    assert owing.chosen == 1


def test_a_member_here_gets_it_with_a_number_of_its_own_and_once() -> None:
    around = Surroundings((HERE, 1), members=True, takers=True)
    owing = debt()
    around.give(owing)
    around.give(owing)
    (event,) = around.happened
    assert event.filter == SHARED
    assert event.publication.origin == origin_of(for_group(message(), SHARED, 9))
    assert owing.chosen == HERE
    assert around.sent == []


def test_where_no_member_here_would_take_it_the_next_node_gets_it() -> None:
    around = Surroundings((HERE, 9), (2, 1), members=True)
    owing = debt()
    around.give(owing)
    assert around.sent == [(20, SHARED)]
    assert owing.chosen == 2


def test_who_is_down_is_owed_it_where_no_others_have_members() -> None:
    around = Surroundings()
    around.atlas.down[4] = absence_of(40, (SHARED,))
    owing = debt()
    around.give(owing)
    assert around.owed == [(key_of(message()), [4])]
    assert around.sent == around.happened == []
    assert owing.chosen is None
    around.give()
    assert len(around.happened) == 1, "nothing is owed of QoS 0"
    here = Surroundings(members=True, takers=True)
    here.atlas.down[4] = absence_of(40, (SHARED,))
    here.give(debt())
    assert here.owed == []
    assert len(here.happened) == 1


def test_a_part_of_a_publication_has_the_count_of_that() -> None:
    around = Surroundings((HERE, 1), members=True, takers=True)
    around.give(SimpleNamespace(chosen=None, parent=SimpleNamespace(count=77)))
    assert around.happened[0].publication.origin == origin_of(for_group(message(), SHARED, 77))


def test_what_comes_is_taken_by_a_member_here() -> None:
    around = Surroundings((HERE, 1), (2, 1), members=True, takers=True)
    around.take()
    (event,) = around.happened
    assert (event.publication.topic, event.publication.payload, event.filter) == (b"a", b"x", SHARED)
    assert around.sent == []


def test_where_members_are_away_all_nodes_are_asked_one_after_the_other() -> None:
    around = Surroundings((HERE, 1), (2, 1), (3, 9), members=True)
    around.take()
    around.take()
    assert around.sent == [(20, SHARED)] * 2
    alone = Surroundings(members=True)
    alone.take()
    assert alone.sent == alone.given_up == alone.happened == []


@pytest.mark.parametrize(
    ("holders", "may_pass", "sent", "given_up"),
    [
        (((HERE, 1), (3, 1)), True, [(30, SHARED)], 0),
        (((HERE, 1), (2, 1), (3, 9)), True, [(20, SHARED)], 0),
        (((HERE, 1), (3, 1)), False, [], 1),
        (((HERE, 1),), True, [], 1),
        ((), True, [], 1),
    ],
)
def test_where_no_member_is_left_the_next_node_is_asked_or_the_issuer_tries_again(
    holders: tuple[tuple[int, int], ...], may_pass: bool, sent: list[tuple[int, str]], given_up: int
) -> None:
    around = Surroundings(*holders)
    around.may_pass = may_pass
    around.take()
    assert around.sent == sent
    assert len(around.given_up) == given_up
    assert around.happened == []
