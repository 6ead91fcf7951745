"""PopSub's experiments: what they run, on what."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from test_overlays_broker_tree import SMALL
from weft.experiments.engine.claim import claims_of, compare
from weft.experiments.engine.experiment import EACH, HIGHEST, LOWEST, MEAN
from weft.experiments.engine.results import Results, figures_of
from weft.experiments.measures import popsub
from weft.experiments.measures.popsub import broker_capacity
from weft.experiments.papers.popsub import BASELINE, EXPERIMENTS, FIGURES, SYSTEMS, UNPOPULAR
from weft.experiments.runs.popsub import Input, PopSubRun, Power
from weft.protocol.popsub.parameters import Way
from weft.report.markdown import matrix
from weft.report.panel import draw_panels
from weft.sim.capacity import measured_capacity

BY_NAME = {experiment.name: experiment for experiment in EXPERIMENTS}


def test_every_panel_of_figures_3_and_4_is_drawn():
    letters = {
        name: {panel.title[1] for panel in experiment.panels} for name, experiment in BY_NAME.items() if "fig3" in name
    }
    assert set().union(*letters.values()) == set("abcdefghijklmno")
    assert [panel.title[1] for panel in BY_NAME["popsub-fig4"].panels] == list("abcd")


@pytest.mark.parametrize("name", BY_NAME)
def test_a_full_plan_has_the_paper_s_25_runs_a_point(name):
    plan = BY_NAME[name].plan("full", {})
    assert plan.seeds == 25
    assert len(plan.runs) == 25 * len(plan.points) * len(BY_NAME[name].systems)


@pytest.mark.parametrize("experiment", FIGURES, ids=lambda experiment: experiment.name)
def test_no_effect_that_is_claimed_is_found_where_the_ways_do_nothing(experiment):
    """All ways like the baseline: what still agreed could not fail, but for what is claimed to be as the baseline."""
    points = experiment.plan("full", {}).points
    axis = [point.label for point in points]
    nothing = {
        (metric, system, at): 1.0
        for metric in experiment.metrics
        for system in experiment.systems
        for at in (*axis, MEAN, LOWEST, HIGHEST)
    }
    effects = [
        claim
        for claim in claims_of(experiment)
        if claim.trend in ("up", "down")
        or (experiment.metrics[claim.metric].relative and not claim.is_order and claim.value != 1.0)
    ]
    assert effects
    assert [claim for claim in effects if compare(claim, nothing, points).verdict != "differs"] == []


@pytest.mark.parametrize(
    ("name", "metric", "system", "at", "stated"),
    [
        ("fig3-size", "90th percentile / Direct Delivery's", "Batching", HIGHEST, 2),  # "up to 2 times and 70 times"
        ("fig3-size", "90th percentile / Direct Delivery's", "Gossiping", HIGHEST, 70),
        *(("fig3-subscriptions", "unpopular PDL", way, MEAN, "flat") for way in UNPOPULAR if way != "adaptive"),
        ("fig3-subscriptions", "gossip groups", "Gossiping", MEAN, "flat"),  # "not affected by number of subscribers"
        ("fig4", "popular PDL / unpopular", "Gossiping", EACH, (0.67, 0.83)),  # "17% to 33% lower"
    ],
)
def test_what_section_5_3_states_is_claimed(name, metric, system, at, stated):
    found = [
        claim.trend or claim.value or (claim.low, claim.high)
        for claim in claims_of(BY_NAME[f"popsub-{name}"])
        if (claim.metric, claim.systems, claim.at) == (metric, (system,), at)
    ]
    assert found == [stated]


NOTHING = SimpleNamespace(exchange=lambda: None)


def test_every_run_has_a_topology_of_its_own_and_one_of_five_workloads(monkeypatch):
    drawn = []
    monkeypatch.setattr(popsub, "broker_tree", lambda latency, wanted, seed: drawn.append(seed) or SMALL)
    monkeypatch.setattr(popsub, "content_workload", lambda *given: drawn.append(given[-1]) or NOTHING)
    monkeypatch.setattr(popsub, "stage_of", lambda *given: None)
    for seed in range(1, 26):
        popsub._stage.__wrapped__(Input(brokers=5, exponent=1.0), seed)
    assert drawn[::2] == list(range(25))
    assert drawn[1::2] == [0, 1, 2, 3, 4] * 5


def test_choices_differ_from_the_figures_in_what_they_say_only():
    usual = {(run.input, run.power) for run in BY_NAME["popsub-fig3-phi"].plan("full", {}).runs.values()}
    assert usual == {(Input(), Power())}
    for name, nearest in (("matrix", None), ("nearest", 3)):
        runs = BY_NAME[f"popsub-choice-{name}"].plan("full", {}).runs.values()
        assert {run.input for run in runs} == {Input(nearest=nearest)}
        assert {run.power.share for run in runs} == {0.1, 0.25, 0.5, 0.7, 1.0}
    read = {
        at: (run.input, run.power)
        for (_, at, _), run in BY_NAME["popsub-choice-reading"].plan("quick", {}).runs.items()
    }
    assert read.pop("as in the figures") in usual
    assert len(set(read.values()) - usual) == len(read) == 5


def test_what_brokers_can_do_is_a_part_of_what_was_measured():
    measured, weaker = measured_capacity(), broker_capacity(Power(0.5, batch_gain=1.2))
    assert weaker.publications_per_second == measured.publications_per_second / 2
    assert (weaker.additional, max(weaker.speedup), weaker.speedup[0]) == (1.0, 1.2, 1.0)
    assert broker_capacity(Power(additional=None)) == measured


@pytest.mark.parametrize("name", BY_NAME)
def test_panels_are_of_systems_that_are_run(name):
    systems = set(BY_NAME[name].systems)
    assert all(set(panel.systems) <= systems for panel in BY_NAME[name].panels)


def test_the_baseline_is_run_once_for_all_phi():
    runs = BY_NAME["popsub-fig3-phi"].plan("full", {}).runs
    assert len({run for (system, _, _), run in runs.items() if system == BASELINE}) == 25
    assert len({run for (system, _, _), run in runs.items() if system == "Batching"}) == 25 * 7


def test_data_is_used_where_it_is_given():
    folders = {"twitter": "tw", "planetlab": "pl", "wonderproxy": "wp"}
    (run, *_) = BY_NAME["popsub-fig4"].plan("quick", folders).runs.values()
    assert (run.input.followers, run.input.latency) == ("tw", "pl")
    assert (run.input.brokers, run.input.rate) == (300, 15.0)
    (run, *_) = BY_NAME["popsub-fig3-skew"].plan("quick", {"twitter": "tw", "wonderproxy": "wp"}).runs.values()
    assert (run.input.exponent, run.input.followers, run.input.latency) == (0.05, None, "wp")


def test_a_run_has_the_figures_of_its_way_and_no_others():
    small = PopSubRun(Input(brokers=12, subscriptions=300, exponent=0.5), Way.TREE, phi=1.0, seed=7)
    assert small.batch == replace(small, way=Way.GOSSIP, phi=0.1).batch
    figures = {way: replace(small, way=way, phi=0.001).measure() for way in SYSTEMS.values()}
    assert len({made["deliveries"] + made["missed"] for made in figures.values()}) == 1
    assert {way for way, made in figures.items() if made["missed"]} <= {Way.GOSSIP, Way.ADAPTIVE}  # without sweeps
    columns = ("unpopular_latency", "direct_forwards", "groups")
    told = {way: tuple(made[column] is not None for column in columns) for way, made in figures.items()}
    assert told[Way.TREE] == (False, False, False)
    assert told[Way.DIRECT] == (True, True, False)
    assert told[Way.BATCH] == (True, False, False)
    assert told[Way.GOSSIP] == (True, False, True)
    assert all(figures[SYSTEMS[system]]["forwards"] < figures[Way.TREE]["forwards"] for system in UNPOPULAR)


@pytest.mark.parametrize("name", ["popsub-choice-nearest", "popsub-choice-reading-overloaded"])
def test_a_choice_runs_whole_at_a_toy_size(name):
    """Every reading is run, told and drawn, as --quick would, on ten brokers."""
    plan = BY_NAME[name].plan("quick", {})
    rows = []
    for (system, at, seed), run in plan.runs.items():
        given = replace(run.input, brokers=10, subscriptions=100, rate=0.1, exponent=1.0)
        toy = replace(
            run, input=given, power=replace(run.power, share=run.power.share / 2000)
        )  # so that there are queues
        rows.append({"system": system, "at": at, "seed": seed, "error": None, **toy.measure()})
    results = Results(BY_NAME[name], "quick", plan.points, plan.seeds, plan.settings, rows)
    figures = figures_of(results)
    assert {at for metric, _, at in figures if metric == "load of the busiest"} >= {
        point.label for point in plan.points
    }
    assert "average queue" in draw_panels(results, figures)
    assert all(f"| {system} |" in matrix(results, figures, "gain ratio") for system in BY_NAME[name].systems)
