"""What designs: bounds and phases of swico-even hold, and what need not change does not."""

from dataclasses import replace

import numpy as np
import pytest
from pyspark.sql import SparkSession

import weft
from weft.master.engine import Job, design_here, overlay_of, with_present_links
from weft.model.instance import instance_from_pairs
from weft.model.latency import MatrixLatency
from weft.model.overlay import NO_PHASE
from weft.overlays.quality import degrees, in_degrees, ring_violations
from weft.overlays.swico import even_on_ring
from weft.pipeline.redesign import design_on


def job(nodes: int = 60, seed: int = 1) -> Job:
    instance = weft.generate("social", nodes=nodes, topics=nodes, subscriptions=8, seed=seed)
    names = np.array([f"n{node}" for node in range(nodes)], object)
    rng = np.random.default_rng(seed)
    old = weft.design(instance, "random", seed=seed)
    return Job(
        replace(instance, node_names=names), None, old.sources, old.targets, rng.permutation(nodes), seed, fan_out=16
    )


def linked(overlay: weft.Overlay) -> set[tuple[int, int]]:
    pairs = zip(overlay.sources.tolist(), overlay.targets.tolist(), strict=True)
    return {(min(pair), max(pair)) for pair in pairs}


def test_present_links_take_the_place_of_fingers_within_all_bounds() -> None:
    given = job()
    new = weft.design(given.instance, "swico-even", seed=1)
    made = with_present_links(given, new)
    present = {(min(pair), max(pair)) for pair in zip(given.sources.tolist(), given.targets.tolist(), strict=True)}
    assert len(linked(made) & present) > len(linked(new) & present) + 20
    assert ring_violations(made) == []
    assert in_degrees(made).max() <= 12
    assert degrees(made).max() <= 18


def test_no_more_fingers_than_may_point_at_a_node_that_everybody_is_linked_with() -> None:
    given = job()
    pairs = {(node, topic) for node in range(60) for topic in given.instance.interest[node].tolist()}
    nodes, topics = zip(*sorted(pairs | {(0, topic) for topic in range(60)}), strict=True)
    instance = instance_from_pairs(nodes, topics, node_count=60, topic_count=60)
    others, hub = np.arange(1, 60, dtype=np.int32), np.zeros(59, np.int32)
    new = even_on_ring(given.instance, given.ranks, seed=1)
    made = with_present_links(replace(given, instance=instance, sources=others, targets=hub), new)
    assert in_degrees(new)[0] < in_degrees(made)[0] == 12


def test_a_link_is_not_exchanged_for_one_that_joins_less() -> None:
    given = job()
    new = weft.design(given.instance, "swico-even", seed=1)
    made = with_present_links(given, new)
    interest = [set(given.instance.interest[node].tolist()) for node in range(60)]
    for node in range(60):
        for old, other in zip(new.of(node).tolist(), made.of(node).tolist(), strict=True):
            assert interest[node] & interest[old] <= interest[other]


def test_a_small_network_has_all_links_that_it_may_and_few_others_than_before() -> None:
    given = job(40)
    made = overlay_of(given)
    assert set(degrees(made).tolist()) <= {17, 18}
    assert ring_violations(replace_links(made, made.phases != NO_PHASE)) == []
    again = overlay_of(replace(given, sources=made.sources, targets=made.targets, ranks=made.ring_ids))
    assert linked(again) == linked(made)


def test_a_large_network_has_fingers_only() -> None:
    made = overlay_of(job(65))
    assert not np.any(made.phases == NO_PHASE)
    assert ring_violations(made) == []


def replace_links(overlay: weft.Overlay, kept: np.ndarray) -> weft.Overlay:
    return replace(overlay, sources=overlay.sources[kept], targets=overlay.targets[kept], phases=overlay.phases[kept])


def test_the_ring_is_kept_where_that_costs_little() -> None:
    given = job()
    again = replace(given, ranks=even_on_ring(given.instance, given.ranks, seed=1).ring_ids)
    good = weft.design(given.instance, "swico-even", seed=2).ring_ids
    assert np.array_equal(overlay_of(replace(again, ranks=good)).ring_ids, good)


def test_where_nobody_is_alike_on_the_ring_it_is_another() -> None:
    instance = weft.generate("unif", nodes=64, topics=400, subscriptions=6, seed=1)
    nothing = np.empty(0, np.int32)
    given = Job(instance, None, nothing, nothing, np.random.default_rng(1).permutation(64), 1, 16)
    assert not np.array_equal(overlay_of(given).ring_ids, given.ranks)


@pytest.mark.parametrize("far", [False, True])
def test_both_engines_give_the_same(spark: SparkSession, tmp_path, far: bool) -> None:
    given = job(40)
    if far:
        times = np.random.default_rng(5).uniform(1, 90, (40, 40))
        given = replace(given, latency=MatrixLatency((times + times.T) / 2))
    here, there = design_here(given), design_on(spark, given, tmp_path)
    assert here.overlay.fingerprint == there.overlay.fingerprint
    assert here.trees.to_arrow() == there.trees.to_arrow()
