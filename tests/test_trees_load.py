"""Trees that know of each other: what nodes send is counted as routing counts it, and shared."""

from unittest.mock import patch

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from routing_oracle import ring_instance, ring_overlay
from weft.errors import WeftError
from weft.model.instance import instance_from_pairs
from weft.model.latency import CoordinateLatency
from weft.model.overlay import overlay_from_links
from weft.model.publication import Publications
from weft.overlays.catalog import design
from weft.sim.bulk import evaluate
from weft.trees import load as module
from weft.trees.load import Load, agenda_of, sent_in
from weft.trees.weave import weave
from weft.workloads.catalog import generate


def loads(instance, trees, rates):
    """What every node sends if each subscriber issues its share of the rate, straight from the tables."""
    sent = np.zeros(instance.nodes)
    for topic in range(instance.topics):
        for node, neighbours in trees.tables(topic).items():
            sent[node] += rates[topic] * (len(neighbours) - 1)
        for node in instance.subscribers[topic].tolist():
            sent[node] += rates[topic] / len(instance.subscribers[topic])
    return sent


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10**6), st.integers(2, 40), st.floats(0.02, 0.9), st.sampled_from([0, 0.5, 5]))
def test_what_nodes_send_is_counted(seed, nodes, chance, load_weight):
    instance, overlay = ring_instance(seed, nodes, 12, chance), ring_overlay(seed, nodes, 2 * nodes)
    rates = np.random.default_rng(seed).integers(0, 4, 12).astype(float)
    trees = weave(instance, overlay, load_weight=load_weight, rates=rates)
    agenda = agenda_of(instance, load_weight, rates)
    load = Load(agenda)
    for first, last in agenda.batches:
        for place in range(first, last):
            row = slice(trees.indptr[agenda.topics[place]], trees.indptr[agenda.topics[place] + 1])
            sizes = trees.sizes[agenda.topics[[place]]]
            load.add(*sent_in(agenda.rates[[place]], sizes, trees.members[row], trees.parents[row]))
    assert load.sent == pytest.approx(loads(instance, trees, rates))


def test_the_count_is_that_of_routing():
    """Every subscriber of every topic publishes as often: rates in proportion to the subscribers."""
    instance, overlay = ring_instance(3, 60, 20, 0.2), ring_overlay(3, 60, 100)
    counts = instance.subscribers.counts
    trees = weave(instance, overlay, rates=counts.astype(float))
    everyone = Publications(instance.subscribers.row_of_each(), instance.subscribers.indices)
    result = evaluate(instance, overlay, "weave", everyone, trees=trees)
    sent = loads(instance, trees, counts)
    assert result.load.sent.maximum == sent.max()
    assert result.load.sent.mean == pytest.approx(sent.mean())


def test_two_hubs_share_what_one_would_carry():
    """Everybody is linked with nodes 0 and 1, and with nobody else."""
    nodes, topics = 40, 60
    pairs = [(hub, node) for hub in (0, 1) for node in range(2, nodes)] + [(0, 1)]
    overlay = overlay_from_links(nodes, *np.array(pairs).T)
    instance = instance_from_pairs(np.tile(np.arange(nodes), topics), np.repeat(np.arange(topics), nodes))
    alone, together = (weave(instance, overlay, fan_out=100, load_weight=weight) for weight in (0, 0.5))
    assert loads(instance, alone, np.ones(topics))[:2].min() < 100
    ones = loads(instance, together, np.ones(topics))[:2]
    assert ones.max() < 1.3 * ones.min()


def test_a_relay_is_chosen_by_what_it_sends():
    """Topic 0 keeps node 4 busy; topic 1 could be joined by node 4 or by node 5."""
    pairs = [(4, 6), (4, 7), (4, 8), (4, 9), (4, 0), (4, 1), (5, 0), (5, 1)]
    overlay = overlay_from_links(10, *np.array(pairs).T)
    instance = instance_from_pairs([4, 6, 7, 8, 9, 0, 1], [0, 0, 0, 0, 0, 1, 1])
    with patch.object(module, "FIRST", 1):
        assert set(weave(instance, overlay).tables(1)) == {0, 1, 5}
        assert set(weave(instance, overlay, load_weight=0).tables(1)) == {0, 1, 4}


def test_a_way_of_relays_is_chosen_by_what_they_send():
    """Two ways of two relays from 0 to 1: over 4 and 2, or over 3 and 5. Node 4 is busy with topic 0."""
    pairs = [(4, 6), (4, 7), (4, 8), (4, 9), (0, 4), (4, 2), (2, 1), (0, 3), (3, 5), (5, 1)]
    overlay = overlay_from_links(10, *np.array(pairs).T)
    instance = instance_from_pairs([4, 6, 7, 8, 9, 0, 1], [0, 0, 0, 0, 0, 1, 1])
    with patch.object(module, "FIRST", 1):
        assert set(weave(instance, overlay).tables(1)) == {0, 1, 3, 5}


def test_rates_say_which_topics_are_worth_sharing():
    """Two hubs again. One topic of three is published on a hundred times as often, and both hubs carry it."""
    nodes = 30
    pairs = [(hub, node) for hub in (0, 1) for node in range(2, nodes)] + [(0, 1)]
    overlay = overlay_from_links(nodes, *np.array(pairs).T)
    instance = instance_from_pairs(np.tile(np.arange(nodes), 3), np.repeat(np.arange(3), nodes))
    with patch.object(module, "FIRST", 1):
        trees = weave(instance, overlay, fan_out=100, load_weight=0.1, rates=np.array([1.0, 100.0, 1.0]))
    children = [[len(trees.tables(topic)[hub]) for hub in (0, 1)] for topic in range(3)]
    assert max(children[1]) < 18
    assert max(children[0]) > 24
    assert max(children[2]) > 24


def test_batches_grow_and_hold_every_topic_once():
    instance = generate("social", nodes=300, seed=1)
    agenda = agenda_of(instance, 0.5)
    sizes = [last - first for first, last in agenda.batches]
    assert sizes[:6] == [4, 5, 6, 8, 11, 14]
    assert sum(sizes) == np.count_nonzero(instance.subscribers.counts)
    assert np.all(np.diff(agenda.subscribers.counts) <= 0)
    covered = [topic for batch in agenda.batches for each in agenda.ranges(batch) for topic in range(*each)]
    assert covered == list(range(len(agenda.topics)))


def test_the_number_of_threads_makes_no_difference():
    instance = generate("social", nodes=400, seed=1)
    overlay, threads = design(instance, "swico-sl", seed=1), numba.get_num_threads()
    two = weave(instance, overlay)
    numba.set_num_threads(1)
    one = weave(instance, overlay)
    numba.set_num_threads(threads)
    for name in ("indptr", "members", "parents"):
        assert np.array_equal(getattr(one, name), getattr(two, name))


@pytest.mark.parametrize("timed", [False, True])
def test_load_is_shared_at_little_cost(timed):
    instance = generate("social", nodes=1000, seed=2)
    overlay = design(instance, "swico-sl", seed=2)
    latency = CoordinateLatency(100 * np.random.default_rng(1).random((1000, 2))) if timed else None
    alone, together = (weave(instance, overlay, load_weight=weight, latency=latency) for weight in (0, 0.5))
    before, after = (loads(instance, trees, np.ones(1000)) for trees in (alone, together))
    assert after.max() < before.max() / 3
    assert np.percentile(after, 99) < np.percentile(before, 99)


@pytest.mark.parametrize("weight", [-0.1, np.nan, np.inf])
def test_a_load_weight_out_of_range_is_an_error(weight):
    with pytest.raises(WeftError, match=r"load weight of .* is out of range"):
        agenda_of(ring_instance(1, 5, 2, 0.5), weight)
