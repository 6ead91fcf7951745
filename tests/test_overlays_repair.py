"""Repair of overlays after changes, by oracles: scipy's components of every topic, and Property 1 of the ring."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from greedy_reference import random_instance
from weft.errors import WeftError
from weft.model.instance import Instance, instance_from_pairs
from weft.model.overlay import most_links, overlay_from_links, require_made_for, undirected
from weft.overlays.catalog import design
from weft.overlays.join import joined
from weft.overlays.quality import in_degrees, quality, ring_violations
from weft.overlays.repair import repair
from weft.overlays.ring_repair import RINGS
from weft.overlays.swico import even_in_degree
from weft.overlays.verify import topic_violations
from weft.workloads.catalog import generate

TOPICS = 8


def named_instance(interests, topics=TOPICS):
    """An instance of the interests of nodes by name."""
    names = sorted(interests)
    nodes = [node for node, name in enumerate(names) for _ in interests[name]]
    chosen = [topic for name in names for topic in sorted(interests[name])]
    return instance_from_pairs(
        nodes, chosen, node_count=len(names), topic_count=topics, node_names=np.array(names, object)
    )


def links_by_name(instance, overlay):
    low, high = undirected(overlay)
    pairs = zip(low.tolist(), high.tolist(), strict=True)
    return {frozenset((instance.node_name(one), instance.node_name(other))) for one, other in pairs}


def changed(interests, step, topics, number, fresh):
    """The interests after a node has joined, left or changed."""
    after = dict(interests)
    if step == "join" or len(after) < 2:
        after[f"new{fresh}"] = topics
    elif step == "leave":
        del after[sorted(after)[number % len(after)]]
    else:
        after[sorted(after)[number % len(after)]] = topics
    return after


STEPS = st.lists(
    st.tuples(st.sampled_from(["join", "leave", "change"]), st.sets(st.integers(0, TOPICS - 1)), st.integers(0)),
    max_size=8,
)


@given(
    seed=st.integers(0, 2**32),
    nodes=st.integers(1, 25),
    density=st.sampled_from([0.1, 0.4, 0.9]),
    builder=st.sampled_from(["gm", "dc", "dcbc", *RINGS]),
    steps=STEPS,
)
@settings(deadline=None, max_examples=150)
def test_after_every_change_topics_are_connected_or_the_ring_is_whole(seed, nodes, density, builder, steps):
    first = random_instance(seed, nodes, TOPICS, density)
    interests = {f"n{node}": set(first.interest[node].tolist()) for node in range(nodes)}
    instance = named_instance(interests)
    overlay = design(instance, builder, seed=seed)
    for fresh, (step, topics, number) in enumerate(steps):
        before, was = links_by_name(instance, overlay), instance
        interests = changed(interests, step, topics, number, fresh)
        instance = named_instance(interests)
        made = repair(overlay, was, instance, seed=seed)
        overlay = made.overlay
        require_made_for(instance, overlay)
        if builder in RINGS:
            assert ring_violations(overlay) == []
        else:
            assert topic_violations(instance, overlay) == []
            assert all(interests[one] & interests[other] for one, other in links_by_name(instance, overlay))
        after = links_by_name(instance, overlay)
        assert {frozenset(link) for link in made.opened} == after - before
        assert {frozenset(link) for link in made.closed} == before - after
        assert overlay.meta["repair"]["kept"] == len(after & before)
        if builder == "swico-even":
            assert in_degrees(overlay).max() <= even_in_degree(instance.nodes)


@pytest.mark.parametrize("builder", ["gm", "dc", "dcbc", *RINGS])
def test_where_nothing_changed_hardly_any_link_does(builder):
    instance = generate("unif", nodes=60, topics=40, subscriptions=5, seed=1)
    overlay = design(instance, builder, seed=1)
    made = repair(overlay, instance, instance)
    opened = {"gm": 0, "dc": 3, "dcbc": 3}.get(builder, 0.03 * overlay.links)  # DC's links were not all worth it
    assert len(made.opened) <= opened


def redrawn(instance, changes, seed):
    """The instance by names after so many changes: a third each joins, leaves, or has one other subscription."""
    rng = np.random.default_rng(seed)
    interests = {f"n{node:04}": set(instance.interest[node].tolist()) for node in range(instance.nodes)}
    drawn = generate("unif", nodes=changes, topics=instance.topics, subscriptions=10, seed=seed)
    yield named_instance(interests, instance.topics)
    for step in range(changes):
        name = sorted(interests)[rng.integers(len(interests))]
        if step % 3 == 0:
            interests[f"x{step:04}"] = set(drawn.interest[step].tolist())
        elif step % 3 == 1:
            del interests[name]
        else:
            interests[name] = {*sorted(interests[name])[1:], int(rng.integers(instance.topics))}
        yield named_instance(interests, instance.topics)


@pytest.mark.parametrize("builder", ["gm", "dc", "dcbc"])
def test_sixty_changes_among_200_nodes_cost_few_links_and_few_changes(builder):
    first, *others = redrawn(generate("unif", nodes=200, topics=100, subscriptions=10, seed=1), 60, seed=2)
    overlay = designed = design(first, builder, seed=1)
    was = first
    for instance in others:
        overlay, was = repair(overlay, was, instance).overlay, instance
    assert topic_violations(was, overlay) == []
    new = design(was, builder, seed=2)
    assert overlay.links <= 1.1 * new.links
    at_once = repair(designed, first, was)
    assert at_once.overlay.links <= 1.1 * new.links
    before, there = links_by_name(first, designed), set(was.node_names)
    assert (
        chosen(before, links_by_name(was, at_once.overlay), there) <= chosen(before, links_by_name(was, new), there) / 3
    )


def chosen(before, after, there):
    """How many links were opened or closed; those that end with their node are not chosen by anybody."""
    return sum(link <= there for link in before ^ after)


@pytest.mark.parametrize("builder", ["gm", "dc", "dcbc"])
def test_all_subscriptions_drawn_anew_cost_at_most_half_as_many_links_again(builder):
    was, instance = (generate("unif", nodes=200, topics=100, subscriptions=10, seed=seed) for seed in (1, 2))
    made = repair(design(was, builder, seed=1), was, instance).overlay
    assert topic_violations(instance, made) == []
    assert made.links <= 1.5 * design(instance, builder, seed=2).links


def test_fingers_by_interest_stay_close_after_sixty_changes():
    first, *others = redrawn(generate("unif", nodes=100, topics=60, subscriptions=10, seed=1), 60, seed=2)
    for builder in ("swico-sl", "swico-even"):
        overlay, was = design(first, builder, seed=1), first
        for instance in others:
            overlay, was = repair(overlay, was, instance).overlay, instance
        new = design(was, builder, seed=2)
        support = [quality(was, each)["tco_support_ratio"] for each in (overlay, new)]
        assert support[0] >= 0.95 * support[1]


GROUPS = 8


def figure_2(with_hub: bool) -> Instance:
    """Figure 2 of the DC paper: any two of the nodes have one topic to themselves, and the hub has all topics."""
    nodes = range(GROUPS)
    topics = [(one, other) for one in nodes for other in nodes if one < other]
    interests = {f"v{node}": {topics.index(pair) for pair in topics if node in pair} for node in nodes}
    if with_hub:
        interests["w"] = set(range(len(topics)))
    return named_instance(interests, len(topics))


def test_figure_2a_the_only_overlay_is_the_clique():
    instance = figure_2(False)
    assert design(instance, "gm", seed=1).links == GROUPS * (GROUPS - 1) // 2


def test_figure_2b_a_join_keeps_the_clique():
    clique, hub = design(figure_2(False), "gm", seed=1), overlay_from_links(1, [], [])
    both = joined(figure_2(True), [clique, hub], seed=1)
    assert both.links >= GROUPS * (GROUPS - 1) // 2 + 1
    assert topic_violations(figure_2(True), both) == []


def test_figure_2c_a_repair_finds_the_star_as_a_new_design_does():
    clique = design(figure_2(False), "gm", seed=1)
    made = repair(clique, figure_2(False), figure_2(True))
    assert links_by_name(figure_2(True), made.overlay) == {frozenset(("w", f"v{node}")) for node in range(GROUPS)}
    assert made.overlay.links == design(figure_2(True), "gm", seed=1).links == GROUPS
    assert len(made.closed) == GROUPS * (GROUPS - 1) // 2


def test_nodes_without_names_are_the_same_by_number():
    was, instance = random_instance(1, 12, TOPICS, 0.4), random_instance(2, 15, TOPICS, 0.4)
    made = repair(design(was, "gm", seed=1), was, instance)
    assert topic_violations(instance, made.overlay) == []
    assert all(name.isdecimal() for link in made.opened for name in link)


def test_a_bound_on_the_degree_stays():
    was, instance = random_instance(1, 20, TOPICS, 0.4), random_instance(2, 20, TOPICS, 0.4)
    made = repair(design(was, "gm", seed=1, maximum_degree=3), was, instance)
    assert most_links(made.overlay) <= 3


def test_the_seed_decides():
    was, instance = random_instance(1, 20, TOPICS, 0.4), random_instance(2, 25, TOPICS, 0.4)
    for builder in ("gm", "swico-even", "random"):
        overlay = design(was, builder, seed=1)
        assert repair(overlay, was, instance, seed=3).overlay == repair(overlay, was, instance, seed=3).overlay


def test_mistakes_are_told():
    instance = random_instance(1, 8, TOPICS, 0.4)
    named = named_instance({"a": {1}, "b": {1}})
    with pytest.raises(WeftError, match="star cannot be repaired, only designed anew: gm, dc"):
        repair(design(instance, "star", seed=1), instance, instance)
    with pytest.raises(WeftError, match="names its nodes and the other does not"):
        repair(design(instance, "gm", seed=1), instance, named)
    with pytest.raises(WeftError, match="made for another instance"):
        repair(design(instance, "gm", seed=1), named, named)
    with pytest.raises(WeftError, match="average degree"):
        repair(design(instance, "gm", seed=1, average_degree=2.0), instance, instance)
