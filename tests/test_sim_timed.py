import numpy as np
import pytest

from weft.model.instance import instance_from_pairs
from weft.model.latency import ConstantLatency, MatrixLatency
from weft.overlays.catalog import design
from weft.sim.bulk import evaluate
from weft.sim.timed import evaluate_in_time
from weft.workloads.catalog import generate
from weft.workloads.publication import publications


@pytest.mark.parametrize("router", ["pie", "scribe", "weave"])
def test_it_counts_what_the_kernels_count(router):
    instance = generate("unif", nodes=60, topics=20, subscriptions=4, seed=1)
    overlay, said = design(instance, "swico-l", seed=1), publications(instance, 80, 1)
    expected = evaluate(instance, overlay, router, said, seed=3)
    figures = evaluate_in_time(instance, overlay, router, ConstantLatency(60, 10.0), said, seed=3)
    assert figures["hit_ratio"] == 1.0
    assert figures["deliveries"] == expected.deliveries
    assert figures["average_hops"] == pytest.approx(expected.average_path)
    assert figures["delivery_time"] == pytest.approx(5.0 * expected.average_path)
    assert figures["messages_per_delivery"] == pytest.approx(expected.messages / expected.deliveries)
    assert figures["relays_per_delivery"] == pytest.approx(expected.routing_overhead / expected.deliveries)
    assert (figures["relay_share"] > 0) == (expected.routing_overhead > 0)


def test_times_are_those_of_the_links():
    """Twice the latencies, twice the time; the way is the same."""
    instance = generate("unif", nodes=40, topics=10, subscriptions=3, seed=2)
    overlay, said = design(instance, "chord", seed=1), publications(instance, 30, 1)
    trips = np.random.default_rng(1).uniform(10, 100, (40, 40))
    once, twice = (evaluate_in_time(instance, overlay, "po", MatrixLatency(k * trips), said) for k in (1, 2))
    assert twice["delivery_time"] == pytest.approx(2 * once["delivery_time"])
    assert twice["average_hops"] == once["average_hops"]


def test_trees_by_latency_save_time():
    instance = generate("unif", nodes=80, topics=10, subscriptions=4, seed=2)
    overlay, said = design(instance, "swico-sl", seed=1), publications(instance, 60, 1)
    latency = MatrixLatency(np.random.default_rng(1).uniform(1, 100, (80, 80)))
    by_hops, by_latency = (
        evaluate_in_time(instance, overlay, "weave", latency, said, by_latency=near) for near in (False, True)
    )
    assert by_latency["hit_ratio"] == by_hops["hit_ratio"] == 1.0
    assert by_latency["delivery_time"] < by_hops["delivery_time"]


def test_where_nobody_else_listens_nothing_is_missed():
    instance = instance_from_pairs([0, 1, 2], [0, 1, 2])
    overlay, said = design(instance, "chord", seed=1), publications(instance, 5, 1)
    figures = evaluate_in_time(instance, overlay, "po", ConstantLatency(3), said)
    assert (figures["hit_ratio"], figures["deliveries"], figures["delivery_time"]) == (1.0, 0, 0.0)
