"""Runs of Vitis' experiments, on tiny networks."""

import math
import pickle
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from weft.experiments.engine.claim import claims_of
from weft.experiments.engine.experiment import EACH, MEAN
from weft.experiments.measures.vitis import surroundings_of
from weft.experiments.papers import vitis as papers
from weft.experiments.runs.designed import DesignedRun
from weft.experiments.runs.vitis import TWITTER, FailureRun, Surroundings, Variant, VitisRun
from weft.protocol.vitis.parameters import Parameters
from weft.sim.vitis_scenario import Scenario, simulate
from weft.workloads.catalog import generate

SMALL = Surroundings("high", 80)
BY_NAME = {experiment.name: experiment for experiment in papers.EXPERIMENTS}


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


def test_the_full_sweep_has_every_table_with_every_distance_of_a_gateway():
    plan = papers.SWEEP.plan("full", {})
    tried = {(run.parameters.table, run.parameters.gateway_hops) for run in plan.runs.values()}
    assert tried == set(product((15, 20, 25, 30, 35), (5, 10, 20)))
    assert len(plan.runs) == len(tried) * len(papers.SWEEP.systems)
    assert all(run.parameters.expiry > run.parameters.gateway_hops for run in plan.runs.values())  # its memory fits


def test_hubs_of_homes_are_told_apart_by_a_bound():
    runs = BY_NAME["vitis-latency"].plan("full", {}).runs
    bounds = {at: run.parameters.in_degree for (_, at, _), run in runs.items() if run.surroundings.homes}
    assert bounds == {"homes": None, "homes, bounded": 30, "1,000 homes": None, "1,000 homes, bounded": 30}


def test_trends_of_n_are_over_the_paper_s_range():
    assert [point.x for point in BY_NAME["vitis-fig3"].plan("full", {}).points] == [0.5, 1.0, 2.0, 3.0]


@pytest.mark.parametrize("number", [4, 5, 6, 7])
def test_figures_have_the_paper_s_n_on_three_seeds(number):
    experiment = BY_NAME[f"vitis-fig{number}"]
    plan = experiment.plan("full", {})
    assert plan.seeds == 3
    exponents = {system: run.parameters.exponent for (system, _, _), run in plan.runs.items()}
    assert exponents == {
        system: 1.0 if "n = 1" in system else 0.25 if "locality" in system else 0.0 for system in experiment.systems
    }
    asked = {system for claim in claims_of(experiment) for system in claim.systems}
    assert any("n = 1" in system for system in asked)


@pytest.mark.parametrize("number", [4, 5])
def test_patterns_are_in_order_at_each_point(number):
    orders = [claim for claim in claims_of(BY_NAME[f"vitis-fig{number}"]) if claim.is_order]
    assert ("high", "low", "random") in {claim.systems for claim in orders}
    assert {claim.at for claim in orders} == {EACH}


@pytest.mark.parametrize(
    ("number", "metric", "systems", "at", "stated"),
    [
        (5, "relay traffic", ("random",), MEAN, 0.04),  # "only 4% of the whole overlay traffic"
        (4, "delivery time", ("low", "random"), EACH, (50, 100)),  # "roughly from 50ms to 100ms"
        (4, "delivery time", ("high", "low"), EACH, (50, 100)),
        (6, "delivery time", ("plain",), MEAN, "flat"),  # "insensitive to the number of events"
        (6, "delivery time", ("n = 1",), MEAN, "flat"),
        (7, "relay share", ("plain",), MEAN, "flat"),
        (7, "relay share", ("plain, churn",), EACH, (-math.inf, 0.12)),  # "less than 12%"
        (4, "delivery time", ("low",), MEAN, "logarithmic"),
        (4, "time ratio", ("low, n = 1",), MEAN, "down"),
        (5, "relay share", ("low",), MEAN, "down"),
    ],
)
def test_what_section_4_states_is_claimed(number, metric, systems, at, stated):
    found = [
        claim.trend or claim.value or (claim.low, claim.high)
        for claim in claims_of(BY_NAME[f"vitis-fig{number}"])
        if (claim.metric, claim.systems, claim.at) == (metric, systems, at)
    ]
    assert stated in found


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
