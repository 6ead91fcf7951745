"""The plan: bounds hold after any changes, the ring is closed, and nodes alike are neighbours on it."""

from collections import Counter
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.master.plan import Plan
from weft.master.ring import SIZE, Ring, even_places
from weft.master.spare import spare_links


def bounds_hold(plan: Plan) -> None:
    plan.check_invariants()
    for node in plan.fingers:
        assert len(plan.fingers[node]) <= plan.phases
        assert len(plan.pointing[node]) <= 2 * plan.phases
    assert plan.over_bound() == {}


@given(st.data())
@settings(max_examples=150, deadline=None)
def test_bounds_hold_whoever_comes_and_goes(data: st.DataObject) -> None:
    plan, interests, count = Plan(), {}, 0
    for _ in range(data.draw(st.integers(1, 12))):
        for _ in range(data.draw(st.integers(0, 12))):
            interests[count] = data.draw(st.sets(st.integers(0, 8), max_size=5))
            plan.join(count, interests)
            count += 1
        for _ in range(data.draw(st.integers(0, 6))):
            if plan.fingers:
                plan.leave(data.draw(st.sampled_from(sorted(plan.fingers))))
        plan.mend(interests)
        bounds_hold(plan)


def test_links_of_before_that_all_point_at_one_node_are_given_up_but_for_the_most_alike() -> None:
    plan, interests = Plan(), {node: set(range(node)) for node in range(40)}
    for node in interests:
        plan.join(node, interests)
    plan.take_up({owner: [39] for owner in range(39)})
    plan.mend(interests)
    bounds_hold(plan)
    beside = {plan.ring.predecessor(39), plan.ring.successor(39)}  # which are linked anyway
    assert plan.pointing[39] >= set(range(38 - 2 * plan.phases + 3, 39)) - beside


def test_two_nodes_have_one_phase() -> None:
    assert full_plan(1, {0: set()}).phases == 1
    assert full_plan(2, {0: set(), 1: set()}).phases == 1


def test_of_fingers_alike_that_are_too_many_those_to_the_latest_are_given_up() -> None:
    plan, interests = Plan(), {node: set() for node in range(16)}
    for node in interests:
        plan.join(node, interests, node * (SIZE // 16))
    plan.take_up({0: [1, 8, 9, 10, 11]})
    plan.mend(interests)
    assert plan.fingers[0] == {1, 8, 9, 10}


def test_mending_what_is_in_order_changes_nothing() -> None:
    plan, interests = Plan(), {node: {node % 5} for node in range(60)}
    for node in interests:
        plan.join(node, interests)
    plan.mend(interests)
    before = plan.links
    plan.mend(interests)
    assert plan.links == before


def test_a_newcomer_changes_few_links_of_others() -> None:
    plan, interests = Plan(), {node: {node % 5} for node in range(101)}
    for node in range(100):
        plan.join(node, interests)
    plan.mend(interests)
    before = plan.links
    plan.join(100, interests)
    plan.mend(interests)
    assert len(before - plan.links) <= 3
    assert len(plan.peers(100)) >= plan.phases
    bounds_hold(plan)


def test_nodes_alike_are_neighbours_on_the_ring_and_linked() -> None:
    plan, interests = Plan(), {node: {node % 4} for node in range(32)}
    for node in interests:
        plan.join(node, interests)
        plan.mend(interests)
    order = plan.ring.order
    assert sum(one % 4 != other % 4 for one, other in zip(order, order[1:] + order[:1], strict=True)) <= 8


def test_every_phase_has_a_finger_where_many_join_together() -> None:
    plan, interests = Plan(), {node: set() for node in range(64)}
    for node in interests:
        plan.join(node, interests)
    plan.mend(interests)
    assert all(len(fingers) == 6 for fingers in plan.fingers.values())


def full_plan(nodes: int, interests: dict[int, set[int]]) -> Plan:
    plan = Plan()
    for node in range(nodes):
        plan.join(node, interests)
    plan.mend(interests)
    return plan


@pytest.mark.parametrize("nodes", [2, 3, 8, 16, 32, 64])
def test_small_networks_have_all_links_that_they_may(nodes: int) -> None:
    plan = full_plan(nodes, {node: set() for node in range(nodes)})
    counts = Counter(node for each in plan.links for node in each)
    assert min(counts.values()) >= min(plan.bound, nodes - 1) - 1
    short = [node for node in counts if counts[node] < min(plan.bound, nodes - 1)]
    assert all((one, other) in plan.links for one, other in combinations(sorted(short), 2)), "whoever could is linked"


def grown_plan(nodes: int, interests: dict[int, set[int]]) -> Plan:
    plan = Plan()
    for node in range(nodes):
        plan.join(node, interests)
        plan.mend(interests)
        bounds_hold(plan)
    return plan


def test_nodes_that_join_one_by_one_have_all_links_in_the_end() -> None:
    assert len(grown_plan(16, {node: set() for node in range(16)}).links) == 16 * 12 // 2


def test_large_networks_leave_links_for_those_who_come() -> None:
    assert full_plan(65, {node: set() for node in range(65)}).spare == set()


def test_fingers_of_a_newcomer_take_the_place_of_spare_links() -> None:
    interests: dict[int, set[int]] = {node: set() for node in range(16)}
    plan = full_plan(15, interests)
    spare = set(plan.spare)
    plan.join(15, interests)
    plan.mend(interests)
    bounds_hold(plan)
    assert spare - plan.links, "room was made"


def test_of_spare_links_those_are_kept_and_made_that_join_most_topics() -> None:
    alone: dict[int, set[int]] = {node: set() for node in range(4)}
    interests = {0: {1, 4, 5}, 1: {1, 2, 3}, 2: {2, 3}, 3: {4, 5}}
    assert spare_links(alone, 1, interests, [(0, 1), (1, 2)], fill=False) == {(1, 2)}
    assert spare_links(alone, 1, interests) == {(0, 3), (1, 2)}


def test_spare_links_of_before_are_taken_up_again() -> None:
    interests: dict[int, set[int]] = {node: set() for node in range(16)}
    plan, again = grown_plan(16, interests), Plan()
    for node in reversed(range(16)):
        again.join(node, interests, plan.ring.id_of[node])
    again.take_up(plan.fingers, plan.spare)
    again.mend(interests)
    assert again.links == plan.links


def test_links_of_before_are_taken_up_as_far_as_both_ends_are_there() -> None:
    plan = Plan()
    for node in range(3):
        plan.join(node, {0: set(), 1: set(), 2: set()})
    plan.take_up({0: [2, 9], 9: [1]}, [(0, 1), (0, 9), (9, 0)])
    assert plan.fingers == {0: {2}, 1: set(), 2: set()}
    assert plan.spare == {(0, 1)}
    assert plan.links == {(0, 2), (0, 1)}


def test_a_gap_that_is_full_is_not_used() -> None:
    ring = Ring()
    ring.add(0, 0)
    ring.add(1, 1)
    assert ring.is_free(ring.place(lambda node: float(node == 0)))
    for node in range(2, 200):
        ring.add(node, ring.place(lambda other: float(other == 0)))
    assert len(ring) == 200


def test_even_places_are_in_order() -> None:
    places = even_places([5, 3, 9])
    assert sorted(places, key=places.__getitem__) == [5, 3, 9]
    assert max(places.values()) < SIZE
