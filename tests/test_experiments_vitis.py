"""Runs of Vitis' experiments, on tiny networks."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

from weft.experiments.measures.vitis import surroundings_of
from weft.experiments.papers import vitis as papers
from weft.experiments.runs.designed import DesignedRun
from weft.experiments.runs.vitis import TWITTER, FailureRun, Surroundings, Variant, VitisRun
from weft.protocol.vitis.parameters import Parameters
from weft.sim.vitis_scenario import Scenario, simulate
from weft.workloads.catalog import generate

SMALL = Surroundings("high", 80)


def test_ratios_are_against_the_same_network_without_locality():
    run = VitisRun(SMALL, 40, Parameters(table=8, exponent=0.5), seed=3)
    plain, local = (
        simulate(*surroundings_of(SMALL, 3), Parameters(table=8, exponent=n), Scenario(publications=40), 3)
        for n in (0.0, 0.5)
    )
    figures = run.measure()
    assert figures["time_ratio"] == local["delivery_time"] / plain["delivery_time"] != 1
    assert figures["relay_ratio"] == local["relay_share"] / plain["relay_share"]  # of a node, as in the paper
    assert figures["relays_per_delivery_ratio"] == local["relays_per_delivery"] / plain["relays_per_delivery"]
    assert figures["delivery_time"] == local["delivery_time"]
    assert VitisRun(SMALL, 40, Parameters(table=8), seed=3).measure()["time_ratio"] == 1
    assert pickle.loads(pickle.dumps(run)) == run


def test_all_readings_of_n_are_beside_the_same_network_without_locality():
    forms = [Parameters(), Parameters(exponent=0.5, floor=100.0), Parameters(exponent=2.0, utility="sum")]
    assert len({VitisRun(SMALL, 40, parameters, 1).batch for parameters in forms}) == 1
    assert VitisRun(SMALL, 40, Parameters(table=20), 1).batch != VitisRun(SMALL, 40, Parameters(), 1).batch


def test_more_links_take_fewer_relays(monkeypatch):
    """The sweep of tables and hops, at a toy size."""
    monkeypatch.setattr(papers, "SWEEP_SIZES", {"random 500": ("random", 60)})
    monkeypatch.setattr(papers, "TABLES", {"quick": (6, 12)})
    monkeypatch.setattr(papers, "HOPS", {"quick": (2,)})
    plan = papers.SWEEP.plan("quick", {})
    assert [point.label for point in plan.points] == ["6, 2", "12, 2"]
    share = {at: run.measure()["relay_share"] for (system, at, _), run in plan.runs.items() if system == "random 500"}
    assert share["12, 2"] < 0.9 * share["6, 2"]
    assert {run.parameters.expiry for run in plan.runs.values()} == {2 + papers.MEMORY}


@pytest.mark.parametrize("n", [0.5, 1.0, 3.0])
def test_n_may_stand_for_its_inverse(n):
    assert Variant(SMALL).parameters(n).exponent == n
    assert Variant(SMALL, inverse=True).parameters(n).exponent == 1 / n


def test_nodes_may_live_in_homes():
    _, latency = surroundings_of(replace(SMALL, homes=True), 1)
    _, near = surroundings_of(SMALL, 1)
    v, w = np.nonzero(~np.eye(80, dtype=bool))
    assert latency.round_trip(v, w).min() > near.round_trip(v, w).min()


def test_twitter_is_a_sample_by_closure(tmp_path):
    generate("social", nodes=400, seed=1).write(tmp_path / "whole")
    for folder in (str(tmp_path / "whole"), None):
        instance, latency = surroundings_of(Surroundings(TWITTER, 100, folder), 1)
        assert instance.meta["sampled"]["method"] == "closure"
        assert 50 < instance.nodes <= 100
        assert instance.interest.counts.min() > 0  # all follow somebody
        assert latency.nodes == instance.nodes


def test_of_many_hosts_as_many_are_taken_as_there_are_nodes(tmp_path):
    trips = np.random.default_rng(1).uniform(1, 300, (50, 50))
    np.savetxt(tmp_path / "trips.txt", trips)
    _, latency = surroundings_of(Surroundings("random", 20, hosts=str(tmp_path / "trips.txt"), access=(0, 0)), 1)
    assert latency.hosts.nodes == 20
    v, w = np.nonzero(~np.eye(20, dtype=bool))
    assert np.isin(latency.round_trip(v, w).round(6), trips.round(6)).all()


def test_failures_heal():
    figures = FailureRun(Surroundings("random", 80), 0.2, Parameters(exponent=0.25), seed=1).measure()
    assert 5 <= figures["rounds_to_heal"] < 30  # patience, and time to grow new paths
    assert figures["lowest_hit_ratio"] < 1.0


@pytest.mark.parametrize("closeness", [0.0, 0.5])
def test_designed_overlays_deliver_everything(closeness):
    figures = DesignedRun(SMALL, "pie", closeness, 20, seed=1).measure()
    assert figures["hit_ratio"] == 1.0


def test_weighing_by_latency_saves_time():
    plain, near = (DesignedRun(Surroundings("random", 120), "pie", n, 60, seed=1).measure() for n in (0.0, 0.5))
    assert near["delivery_time"] < 0.8 * plain["delivery_time"]
