from collections import Counter
from dataclasses import replace
from unittest.mock import patch

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from greedy_reference import (
    AnyLink,
    Circle,
    DegreeAtMost,
    Fingers,
    assert_greedy,
    assert_greedy_by_worth,
    random_instance,
    random_instances,
)
from weft.kernels import parallel
from weft.kernels.greedy import bulk, eager
from weft.kernels.greedy.constraint import any_link, circle, degree_at_most
from weft.kernels.greedy.lazy_greedy import STEP
from weft.model.instance import instance_from_pairs
from weft.model.latency import MatrixLatency
from weft.model.publisher import Publishers
from weft.overlays import lazy_greedy as module
from weft.overlays.divide import clones_of
from weft.overlays.finger import NO_NODE, empty_phases, empty_table
from weft.overlays.lazy_greedy import (
    lazy_greedy,
    links_across,
    links_to_publishers,
    links_with_bulk,
    lowest_bucket,
    share,
)
from weft.overlays.preference import Closeness, Preference
from weft.overlays.swico import table_with_successors

INSTANCES = random_instances(
    st.sampled_from([1, 2, 3, 9, 20, 33, 47, 60, 60, 60]),
    st.sampled_from([1, 4, 12, 25, 25, 25]),
    0.05,
    0.2,
    0.35,
    0.5,
    1.0,
)
SEEDS = st.integers(0, 2**32)
TIES = st.sampled_from(["random", "overlap"])
HELD = st.sampled_from([1, 20, 50_000])  # rounds of one candidate (or one bucket), several rounds, a single round
FEW = st.sampled_from([-1, 2**22])  # never eager, and eager where it is possible

many = settings(deadline=None, max_examples=100)


def holding(fewest):
    return patch.object(module, "FEWEST_HELD", fewest)


def eager_up_to(pairs):
    return patch.object(eager, "MOST_PAIRS", pairs)


@given(INSTANCES, SEEDS, TIES, HELD, FEW)
@many
def test_gm_is_exact(instance, seed, tie, held, few):
    with holding(held), eager_up_to(few):
        chosen = lazy_greedy(instance, any_link(), np.random.default_rng(seed), preference=Preference(tie))
    assert_greedy(instance, AnyLink(instance.nodes), chosen, by_overlap=tie == "overlap")


@given(INSTANCES, SEEDS, st.integers(0, 6), HELD)
@many
def test_gpm_is_exact(instance, seed, most, held):
    with holding(held):
        chosen = lazy_greedy(instance, degree_at_most(most, instance.nodes), np.random.default_rng(seed))
    assert_greedy(instance, DegreeAtMost(most, instance.nodes), chosen)


@given(INSTANCES, SEEDS, st.integers(0, 40), HELD, FEW)
@many
def test_a_greedy_that_is_stopped_is_the_beginning_of_the_whole(instance, seed, most, held, few):
    with holding(held), eager_up_to(few):
        part, whole = (
            lazy_greedy(instance, any_link(), np.random.default_rng(seed), most=count) for count in (most, 10**6)
        )
    assert len(part.owners) == min(most, len(whole.owners))
    assert np.array_equal(part.owners, whole.owners[:most])
    assert np.array_equal(part.others, whole.others[:most])


@given(INSTANCES, SEEDS, st.integers(1, 8), HELD, FEW)
@many
def test_links_across_are_the_greedy_on_top_of_connected_groups(instance, seed, groups, held, few):
    group = np.random.default_rng(seed).integers(groups, size=instance.nodes).astype(np.int32)
    with holding(held), eager_up_to(few):
        chosen = links_across(instance.interest, group, np.random.default_rng(seed))
    inside = np.argwhere((group[:, None] == group[None, :]) & ~np.eye(instance.nodes, dtype=bool))
    assert_greedy(instance, AnyLink(instance.nodes), chosen, given=inside)


@given(INSTANCES, SEEDS, st.sampled_from([0, 0.3, 0.7, 1]), st.sampled_from([1, 3, 10**6]), HELD, FEW)
@many
def test_links_with_a_bulk_are_the_greedy_on_top_of_its_overlay(instance, seed, share, popular, held, few):
    light, heavy = np.split(np.arange(instance.nodes), [int(instance.nodes * share)])
    with holding(held), eager_up_to(few), patch.object(bulk, "POPULAR", popular):
        clones = clones_of(instance.interest.take(heavy))
        chosen = links_with_bulk(instance.interest.take(light), clones, np.random.default_rng(seed))
    assert_greedy(instance, AnyLink(instance.nodes), chosen, given=[(v, w) for v in heavy for w in heavy if v != w])


@pytest.mark.parametrize("few", [-1, 2**22])
def test_ties_with_a_bulk_are_broken_uniformly(few):
    """Two nodes and a bulk of three with one topic: all links but those in the bulk come first about as often."""
    interest = instance_from_pairs(np.arange(5), np.zeros(5, int)).interest
    clones = clones_of(interest.take(np.arange(2, 5)))
    firsts = Counter()
    with eager_up_to(few):
        for seed in range(700):
            chosen = links_with_bulk(interest.take(np.arange(2)), clones, np.random.default_rng(seed))
            firsts[tuple(sorted((chosen.owners[0], chosen.others[0])))] += 1
    assert sorted(firsts) == [(0, 1), (0, 2), (0, 3), (0, 4), (1, 2), (1, 3), (1, 4)]
    assert sum((count - 100) ** 2 / 100 for count in firsts.values()) < 22.5  # chi-square, 6 degrees, p = 0.001


@given(INSTANCES, SEEDS, HELD)
@many
def test_gswico_s_is_exact(instance, seed, held):
    with holding(held):
        chosen = lazy_greedy(instance, circle(instance.nodes), np.random.default_rng(seed))
    assert_greedy(instance, Circle(instance.nodes), chosen)


@pytest.mark.parametrize("ring_given", [True, False], ids=["gswico-l", "grswico"])
@given(instance=INSTANCES, seed=SEEDS, tie=TIES, held=HELD)
@many
def test_greedy_fingers_are_exact(instance, seed, tie, held, ring_given):
    rng = np.random.default_rng(seed)
    ring_ids = rng.permutation(instance.nodes)
    table = table_with_successors(ring_ids) if ring_given else empty_table(instance.nodes)
    nodes, phases = np.nonzero(table != NO_NODE)
    sources, targets = nodes.astype(np.int32), table[nodes, phases]
    with holding(held):
        chosen = lazy_greedy(
            instance, empty_phases(table, ring_ids), rng, sources=sources, targets=targets, preference=Preference(tie)
        )
    links = list(zip(sources, targets, strict=True))
    assert_greedy(instance, Fingers(ring_ids, int(ring_given)), chosen, links, by_overlap=tie == "overlap")


@pytest.mark.parametrize("ring_given", [True, False], ids=["gswico-l", "grswico"])
@given(instance=INSTANCES, seed=SEEDS, tie=TIES, held=HELD, in_degree=st.integers(1, 8))
@many
def test_greedy_fingers_are_exact_with_a_bound_on_those_that_point_at_a_node(
    instance, seed, tie, held, in_degree, ring_given
):
    rng = np.random.default_rng(seed)
    ring_ids = rng.permutation(instance.nodes)
    table = table_with_successors(ring_ids) if ring_given else empty_table(instance.nodes)
    nodes, phases = np.nonzero(table != NO_NODE)
    sources, targets = nodes.astype(np.int32), table[nodes, phases]
    bounded = empty_phases(table, ring_ids)._replace(places=np.full(instance.nodes, in_degree - 1, np.int32))
    with holding(held):
        preference = Preference(tie=tie)
        chosen = lazy_greedy(instance, bounded, rng, sources=sources, targets=targets, preference=preference)
    rule = Fingers(ring_ids, int(ring_given), in_degree)
    assert_greedy(instance, rule, chosen, list(zip(sources, targets, strict=True)), by_overlap=tie == "overlap")
    assert bounded.places.tolist() == rule.places.tolist()


@given(INSTANCES, SEEDS, st.integers(1, 8), st.floats(0, 0.3))
@many
def test_links_to_publishers_are_the_greedy_for_a_first_link_to_a_subscriber(instance, seed, in_degree, chance):
    """Brute force: a link contributes the topics that one end publishes on, the other subscribes to, and on which
    the former has no link to a subscriber yet."""
    rng = np.random.default_rng(seed)
    subscribes = np.zeros((instance.nodes, instance.topics), bool)
    subscribes[instance.interest.row_of_each(), instance.interest.indices] = True
    who, what = np.nonzero(rng.random(subscribes.shape) < chance / 5)
    _, first = np.unique(what, return_index=True)  # one publisher a topic: two would count as links to each other
    publishers = Publishers(who[first].astype(np.int32), what[first].astype(np.int32), np.ones(len(first)))
    waiting = np.zeros_like(subscribes)
    waiting[publishers.nodes, publishers.topics] = True
    waiting &= ~subscribes
    ring_ids = rng.permutation(instance.nodes)
    table = table_with_successors(ring_ids)
    owners, phases = np.nonzero(table != NO_NODE)
    sources, targets = owners.astype(np.int32), table[owners, phases]
    rule = Fingers(ring_ids, 1, in_degree)
    for v, w in zip(sources, targets, strict=True):
        waiting[v] &= ~subscribes[w]
        waiting[w] &= ~subscribes[v]
    bounded = empty_phases(table, ring_ids)._replace(places=np.full(instance.nodes, in_degree - 1, np.int32))
    chosen = links_to_publishers(replace(instance, given_publishers=publishers), bounded, rng, sources, targets)
    for v, w, contribution in zip(chosen.owners, chosen.others, chosen.contributions, strict=True):
        one_way = waiting.astype(int) @ subscribes.T.astype(int)
        contributions = one_way + one_way.T
        assert rule.permitted[v, w]
        assert contributions[v, w] == contribution == contributions[rule.permitted].max()
        rule.add(v, w)
        waiting[v] &= ~subscribes[w]
        waiting[w] &= ~subscribes[v]
    one_way = waiting.astype(int) @ subscribes.T.astype(int)
    assert not (one_way + one_way.T)[rule.permitted].any()


@given(INSTANCES, SEEDS, st.floats(0, 2), st.sampled_from(["fingers", "circle", "any", "degree"]))
@many
def test_weighed_links_are_exact_up_to_a_step(instance, seed, exponent, kind):
    rng = np.random.default_rng(seed)
    trips = rng.uniform(0.5, 300, (instance.nodes, instance.nodes))
    trips = (trips + trips.T) / 2
    ring_ids = rng.permutation(instance.nodes)
    rule, constraint = {
        "fingers": lambda: (Fingers(ring_ids, 0), empty_phases(empty_table(instance.nodes), ring_ids)),
        "circle": lambda: (Circle(instance.nodes), circle(instance.nodes)),
        "any": lambda: (AnyLink(instance.nodes), any_link()),
        "degree": lambda: (DegreeAtMost(3, instance.nodes), degree_at_most(3, instance.nodes)),
    }[kind]()
    closeness = Closeness(MatrixLatency(trips), exponent)
    chosen = lazy_greedy(instance, constraint, rng, preference=Preference(closeness=closeness))
    logarithms = -exponent * np.log(np.maximum(trips, 1.0))
    assert_greedy_by_worth(instance, rule, chosen, logarithms, STEP)


@pytest.mark.parametrize(("held", "few"), [(1, -1), (50_000, -1), (1, 2**22)])
def test_ties_are_broken_uniformly(held, few):
    """Four nodes with one topic: six links of the same contribution, of which each comes first about as often."""
    instance = instance_from_pairs([0, 1, 2, 3], [0, 0, 0, 0])
    firsts = np.zeros((4, 4), int)
    with holding(held), eager_up_to(few):
        for seed in range(600):
            chosen = lazy_greedy(instance, any_link(), np.random.default_rng(seed))
            firsts[min(chosen.owners[0], chosen.others[0]), max(chosen.owners[0], chosen.others[0])] += 1
    counts = firsts[np.triu_indices(4, 1)]
    assert counts.sum() == 600
    assert ((counts - 100) ** 2 / 100).sum() < 20.5  # chi-square, 5 degrees of freedom, p = 0.001


def test_the_owner_of_a_finger_is_either_end():
    """Two nodes face each other on a ring of four: both have an empty phase 1 for the other."""
    instance = instance_from_pairs([0, 2], [0, 0], node_count=4)
    ring_ids = np.arange(4)
    owners = [
        int(lazy_greedy(instance, empty_phases(empty_table(4), ring_ids), np.random.default_rng(seed)).owners[0])
        for seed in range(40)
    ]
    assert 8 <= owners.count(0) <= 32
    assert owners.count(0) + owners.count(2) == 40


def test_a_coin_is_tossed_for_every_finger():
    """Sixty-four pairs that face each other on a ring, all of the same contribution: some belong to either end."""
    instance = instance_from_pairs(np.arange(128), np.arange(128) % 64)
    chosen = lazy_greedy(instance, empty_phases(empty_table(128), np.arange(128)), np.random.default_rng(1))
    assert len(chosen.owners) == 64
    assert 16 <= np.count_nonzero(chosen.owners < 64) <= 48


@pytest.mark.parametrize("tie", ["random", "overlap"])
def test_the_number_of_threads_does_not_matter(tie):
    instance = random_instance(5, 300, 60, 0.1)
    before = numba.get_num_threads()
    try:
        results = []
        for threads in (1, before):
            numba.set_num_threads(threads)
            with holding(100), patch.object(parallel, "FEW_STEPS", 0):
                results.append(lazy_greedy(instance, any_link(), np.random.default_rng(3), preference=Preference(tie)))
    finally:
        numba.set_num_threads(before)
    one, other = results
    assert np.array_equal(one.owners, other.owners)
    assert np.array_equal(one.others, other.others)


@pytest.mark.parametrize(
    ("counts", "budget", "lowest"),
    [
        ([0, 9, 5, 2], 20, 1),
        ([0, 9, 5, 2], 8, 2),
        ([0, 9, 5, 2], 7, 2),
        ([0, 9, 5, 2], 6, 3),
        ([0, 9, 5, 2], 1, 3),  # too small for the highest bucket, of which a share must do
        ([0, 9, 0, 0], 1, 1),
        ([0, 0, 0, 0], 5, 1),
    ],
)
def test_a_round_goes_down_as_far_as_its_budget(counts, budget, lowest):
    assert lowest_bucket(np.array(counts), budget) == lowest


def test_a_share_is_in_proportion_and_never_nothing():
    rng = np.random.default_rng(1)
    counts = np.array([200_000, 100_000, 1, 0])
    parts = share(counts, 30_000, rng)
    assert parts == pytest.approx([20_000, 10_000, 0, 0], abs=500)
    assert np.all(parts <= counts)
    assert all(share(counts, 1, rng).sum() == 1 for _ in range(100))
