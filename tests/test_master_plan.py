"""The plan: bounds hold after any changes, the ring is closed, and nodes alike are neighbours on it."""

from hypothesis import given, settings
from hypothesis import strategies as st

from weft.master.plan import Plan
from weft.master.ring import SIZE, Ring, even_places


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
