import numpy as np
import pytest

from weft.errors import WeftError
from weft.model.instance import instance_from_pairs
from weft.model.latency import ConstantLatency, MatrixLatency, latency_for, placed_latency
from weft.model.publication import Publications
from weft.overlays.catalog import design
from weft.sim import timed
from weft.sim.bulk import evaluate
from weft.sim.timed import evaluate_in_time
from weft.trees.weave import weave
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


@pytest.mark.parametrize("router", ["po", "pal", "pie", "scribe", "iscribe", "weave"])
def test_an_evaluation_with_latencies_times_every_router(router):
    instance = generate("unif", nodes=60, topics=20, subscriptions=4, seed=1)
    overlay, said = design(instance, "swico-l", seed=1), publications(instance, 80, 1)
    found = evaluate(instance, overlay, router, said, seed=3, latency=ConstantLatency(60, 10.0))
    assert found.times is not None
    assert found.times.publications == 80
    assert found.times.delivery.mean == pytest.approx(5.0 * found.average_path)
    assert found.times.delivery.maximum == pytest.approx(5.0 * found.maximum_path)
    assert evaluate(instance, overlay, router, said, seed=3).times is None


def test_an_evaluation_with_latencies_weaves_by_them():
    instance = generate("unif", nodes=80, topics=10, subscriptions=4, seed=2)
    overlay, said = design(instance, "swico-sl", seed=1), publications(instance, 60, 1)
    latency = MatrixLatency(np.random.default_rng(1).uniform(1, 100, (80, 80)))
    found = evaluate(instance, overlay, "weave", said, latency=latency)
    expected = evaluate_in_time(instance, overlay, "weave", latency, said, by_latency=True)
    assert found.times is not None
    assert found.times.delivery.mean == pytest.approx(expected["delivery_time"])
    assert found.average_path == pytest.approx(expected["average_hops"])
    assert found.average_path > evaluate(instance, overlay, "weave", said).average_path


def test_an_evaluation_bounds_the_fan_out():
    instance = generate("zipf", nodes=80, topics=10, subscriptions=3, seed=2)
    overlay, said = design(instance, "swico-even", seed=1), publications(instance, 60, 1)
    found = evaluate(instance, overlay, "weave", said, fan_out=2)
    expected = evaluate(instance, overlay, "weave", said, trees=weave(instance, overlay, fan_out=2))
    assert (found.average_path, found.load) == (expected.average_path, expected.load)
    assert found.average_path > evaluate(instance, overlay, "weave", said).average_path


def test_of_many_publications_some_are_timed_from_all_over(monkeypatch):
    instance = generate("unif", nodes=60, topics=20, subscriptions=4, seed=1)
    overlay, said = design(instance, "chord", seed=1), publications(instance, 90, 1)
    monkeypatch.setattr(timed, "TIMED", 30)
    found = evaluate(instance, overlay, "pie", said, latency=ConstantLatency(60, 10.0))
    third = evaluate(instance, overlay, "pie", Publications(said.topics[::3], said.nodes[::3]))
    assert found.times is not None
    assert found.times.publications == 30
    assert found.times.delivery.mean == pytest.approx(5.0 * third.average_path)
    assert found.publications == 90


def test_no_publications_take_no_time():
    instance = generate("unif", nodes=20, topics=5, subscriptions=2, seed=1)
    none = Publications(np.empty(0, np.int32), np.empty(0, np.int32))
    found = evaluate(instance, design(instance, "chord", seed=1), "pie", none, latency=ConstantLatency(20))
    assert found.times is not None
    assert (found.times.publications, found.times.delivery.maximum) == (0, 0)


@pytest.mark.parametrize("router", ["pie", "weave"])
def test_latencies_of_fewer_nodes_are_an_error(router):
    instance = generate("unif", nodes=20, topics=5, subscriptions=2, seed=1)
    overlay, said = design(instance, "chord", seed=1), publications(instance, 5, 1)
    with pytest.raises(WeftError, match="are of 19 nodes and not of 20: place"):
        evaluate(instance, overlay, router, said, latency=ConstantLatency(19))


def test_a_fan_out_of_a_router_without_trees_is_an_error():
    instance = generate("unif", nodes=20, topics=5, subscriptions=2, seed=1)
    with pytest.raises(WeftError, match="pie takes no option `fan_out`"):
        evaluate(instance, design(instance, "chord", seed=1), "pie", publications(instance, 5, 1), fan_out=8)


def test_given_trees_are_refused_where_they_are_not_wanted():
    instance = generate("unif", nodes=20, topics=5, subscriptions=2, seed=1)
    overlay, said = design(instance, "chord", seed=1), publications(instance, 5, 1)
    trees = weave(instance, overlay)
    with pytest.raises(WeftError, match="pie has no trees to go by: only weave takes them"):
        evaluate(instance, overlay, "pie", said, trees=trees)
    with pytest.raises(WeftError, match="woven already"):
        evaluate(instance, overlay, "weave", said, fan_out=8, trees=trees)


def test_nodes_are_where_the_design_placed_them(tmp_path):
    (tmp_path / "hosts.txt").write_text("0 10 90\n10 0 50\n90 50 0\n")
    instance = generate("unif", nodes=20, topics=5, subscriptions=2, seed=1)
    overlay = design(instance, "swico-sl", seed=7, latency=placed_latency(tmp_path / "hosts.txt", 20, 7))
    assert overlay.meta["parameters"]["latency"] == str(tmp_path / "hosts.txt")
    placed, expected = latency_for(overlay, tmp_path / "hosts.txt", 7), placed_latency(tmp_path / "hosts.txt", 20, 7)
    ends = np.arange(19), np.arange(1, 20)
    assert np.array_equal(placed.round_trip(*ends), expected.round_trip(*ends))
    with pytest.raises(WeftError, match="seed 7 places on hosts, and the seed is 1: give the same one"):
        latency_for(overlay, tmp_path / "hosts.txt", 1)
    assert latency_for(design(instance, "chord", seed=7), tmp_path / "hosts.txt", 1).nodes == 20


def test_where_nobody_else_listens_nothing_is_missed():
    instance = instance_from_pairs([0, 1, 2], [0, 1, 2])
    overlay, said = design(instance, "chord", seed=1), publications(instance, 5, 1)
    figures = evaluate_in_time(instance, overlay, "po", ConstantLatency(3), said)
    assert (figures["hit_ratio"], figures["deliveries"], figures["delivery_time"]) == (1.0, 0, 0.0)
