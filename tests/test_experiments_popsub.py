"""PopSub's experiments: what they run, on what."""

from dataclasses import replace

import pytest

from weft.experiments.papers.popsub import BASELINE, EXPERIMENTS, SYSTEMS, UNPOPULAR
from weft.experiments.runs.popsub import Input, PopSubRun
from weft.protocol.popsub.parameters import Way

BY_NAME = {experiment.name: experiment for experiment in EXPERIMENTS}


def test_every_panel_of_figures_3_and_4_is_drawn():
    letters = {
        name: {panel.title[1] for panel in experiment.panels} for name, experiment in BY_NAME.items() if "fig3" in name
    }
    assert set().union(*letters.values()) == set("abcdefghijklmno")
    assert [panel.title[1] for panel in BY_NAME["popsub-fig4"].panels] == list("abcd")


@pytest.mark.parametrize("name", BY_NAME)
def test_a_full_plan_is_of_five_topologies_and_five_workloads(name):
    plan = BY_NAME[name].plan("full", {})
    assert plan.seeds == 25
    assert len(plan.runs) == 25 * len(plan.points) * len(SYSTEMS)


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
    assert len({made["deliveries"] for made in figures.values()}) == 1
    columns = ("unpopular_latency", "direct_forwards", "groups")
    told = {way: tuple(made[column] is not None for column in columns) for way, made in figures.items()}
    assert told[Way.TREE] == (False, False, False)
    assert told[Way.DIRECT] == (True, True, False)
    assert told[Way.BATCH] == (True, False, False)
    assert told[Way.GOSSIP] == (True, False, True)
    assert all(figures[SYSTEMS[system]]["forwards"] < figures[Way.TREE]["forwards"] for system in UNPOPULAR)
