"""Every pair of overlay and router under several seeds, and the baselines that engineers draw today."""

from dataclasses import astuple, replace
from itertools import pairwise

import networkx as nx
import numpy as np
import pytest
from scipy import stats

from routing_oracle import ring_instance
from weft.errors import WeftError
from weft.model.instance import Instance
from weft.model.latency import ConstantLatency
from weft.model.publication import Publications
from weft.model.publisher import Publishers
from weft.overlays.catalog import design
from weft.overlays.quality import link_quality
from weft.report.trial import cell, ratio_lines, shown_figures
from weft.sim.bulk import evaluate
from weft.sim.direct import evaluate_direct
from weft.sim.trial import FIGURES, Mean, compare, mean_of
from weft.workloads.publication import publications

INSTANCE = ring_instance(3, 30, 8, 0.3)


def spread_over_tree(instance: Instance, graph: nx.Graph, drawn: Publications) -> tuple[int, int, int]:
    """Messages, those to relays, and the sum of paths, where each publication takes the only paths that there are."""
    messages = relayed = paths = 0
    for topic, issuer in zip(drawn.topics.tolist(), drawn.nodes.tolist(), strict=True):
        subscribers = set(instance.subscribers[topic].tolist())
        ways = [nx.shortest_path(graph, issuer, node) for node in subscribers - {issuer}]
        links = {link for way in ways for link in pairwise(way)}
        messages += len(links)
        relayed += sum(target not in subscribers for _, target in links)
        paths += sum(len(way) - 1 for way in ways)
    return messages, relayed, paths


@pytest.mark.parametrize(("name", "options"), [("star", {}), ("tree", {}), ("tree", {"children": 2})])
def test_on_a_star_and_a_tree_publications_take_the_only_paths(name: str, options: dict[str, int]) -> None:
    overlay = design(INSTANCE, name, seed=5, **options)
    graph = nx.Graph(zip(overlay.sources.tolist(), overlay.targets.tolist(), strict=True))
    assert nx.is_tree(graph)
    assert max(dict(graph.degree).values()) <= (29 if name == "star" else 1 + options.get("children", 8))
    drawn = publications(INSTANCE, 60, 2)
    told = evaluate(INSTANCE, overlay, "weave", drawn)
    expected = spread_over_tree(INSTANCE, graph, drawn)
    assert (told.messages, told.routing_overhead, round(told.average_path * told.deliveries)) == expected


def test_on_a_full_mesh_the_issuer_sends_every_copy() -> None:
    drawn = Publications(np.array([0, 1, 1], np.int32), np.array([4, 4, 7], np.int32))
    told = evaluate_direct(INSTANCE, drawn)
    sent, received = np.zeros(30, int), np.zeros(30, int)
    for topic, issuer in zip(drawn.topics, drawn.nodes, strict=True):
        others = [node for node in INSTANCE.subscribers[topic] if node != issuer]
        sent[issuer] += len(others)
        received[others] += 1
    assert (told.messages, told.deliveries, told.routing_overhead) == (sent.sum(), sent.sum(), 0)
    assert (told.load.sent.maximum, told.load.received.maximum) == (sent.max(), received.max())
    assert (told.average_path, told.maximum_path) == (1, 1)


def test_every_pair_that_goes_together_is_tried_under_every_seed() -> None:
    trials = compare(INSTANCE, ["full-mesh", "star", "chord"], ["scribe", "weave"], seeds=2, publications=50)
    pairs = [("full-mesh", "direct"), ("star", "weave"), ("chord", "scribe"), ("chord", "weave")]
    assert [(row.overlay, row.router, row.seed) for row in trials.rows] == [
        (*pair, seed) for seed in (1, 2) for pair in pairs
    ]
    assert trials.left_out == (("star", "scribe"),)
    mesh, star, scribe, weave = trials.rows[4:]
    assert (mesh.links, mesh.connections, star.links, star.connections) == (435, 29, 29, 29)
    chord = design(INSTANCE, "chord", seed=2)
    told = evaluate(INSTANCE, chord, "scribe", publications(INSTANCE, 50, 2), seed=2)
    assert scribe.messages_a_delivery == told.messages / told.deliveries
    assert scribe.busiest_sends == told.load.sent.maximum
    assert (
        weave.links == scribe.links == len({frozenset(pair) for pair in zip(chord.sources, chord.targets, strict=True)})
    )


def test_a_summary_has_means_with_their_intervals() -> None:
    trials = compare(INSTANCE, ["random"], ["scribe"], seeds=4, publications=50)
    values = [row.average_path for row in trials.rows]
    low, high = stats.t.interval(0.95, 3, np.mean(values), stats.sem(values))
    (row,) = trials.summary()
    assert row["average_path"] == pytest.approx({"mean": np.mean(values), "low": low, "high": high})
    assert set(row) == {"overlay", "router", *FIGURES}
    assert len(trials.to_pandas()) == 4
    assert astuple(trials.rows[0])[:3] == ("random", "scribe", 1)


def test_a_router_without_an_overlay_is_tried_once_a_seed() -> None:
    trials = compare(INSTANCE, ["star", "chord"], ["weave", "vitis"], seeds=2, publications=30)
    assert [row.overlay for row in trials.rows if row.router == "vitis"] == ["gossip", "gossip"]
    assert trials.left_out == ()
    told = evaluate(INSTANCE, None, "vitis", publications(INSTANCE, 30, 2), seed=2)
    row = trials.rows[-1]
    assert (row.router, row.seed, row.missed) == ("vitis", 2, 0)
    assert row.controls_a_delivery == told.controls / told.deliveries > 1
    assert "controls_a_delivery" in shown_figures(trials)
    assert not {"missed", "milliseconds", "bytes_a_delivery"} & {*shown_figures(trials)}


def test_ratios_to_a_baseline_are_taken_seed_by_seed() -> None:
    trials = compare(INSTANCE, ["random", "chord"], ["scribe", "pie"], seeds=3, publications=50)
    paths = {(row.overlay, row.router, row.seed): row.average_path for row in trials.rows}
    ratios = [paths["chord", "pie", seed] / paths["random", "scribe", seed] for seed in (1, 2, 3)]
    found = trials.summary("random+scribe")[-1]
    assert (found["overlay"], found["router"]) == ("chord", "pie")
    low, high = stats.t.interval(0.95, 2, np.mean(ratios), stats.sem(ratios))
    assert found["ratios"]["average_path"] == pytest.approx({"mean": np.mean(ratios), "low": low, "high": high})
    assert found["ratios"]["controls_a_delivery"] == {"mean": None, "low": None, "high": None}  # the baseline has none
    assert found["milliseconds"] == {"mean": None, "low": None, "high": None}
    (heading, first, *_) = ratio_lines(trials, "random+scribe")
    assert heading[0] == "/ scribe on random"
    assert {*first[1:]} == {"1"}
    with pytest.raises(WeftError, match=r"`baseline` random.weave is none of the systems: choose one of random.scri"):
        trials.summary("random+weave")


def test_figures_of_links_and_knowledge_are_those_of_the_systems() -> None:
    trials = compare(INSTANCE, ["full-mesh", "star", "chord"], ["scribe", "weave"], seeds=1, publications=50)
    mesh, star, scribe, weave = trials.rows
    assert (mesh.tco_support_ratio, mesh.known_peers) == (1.0, 29)
    assert mesh.known_entries == pytest.approx(INSTANCE.subscriptions * 29 / 30)
    chord = design(INSTANCE, "chord", seed=1)
    assert scribe.tco_support_ratio == weave.tco_support_ratio == link_quality(INSTANCE, chord)["tco_support_ratio"]
    assert scribe.known_peers == len(chord.sources) / 30  # own fingers
    assert weave.known_peers == 2 * chord.links / 30  # all links
    assert star.known_peers == 2 * 29 / 30


def test_latencies_and_sizes_give_milliseconds_and_bytes() -> None:
    latency = ConstantLatency(30, 10.0)
    trials = compare(INSTANCE, ["full-mesh", "tree"], ["weave"], seeds=1, publications=50, latency=latency, size=100)
    mesh, tree = trials.rows
    assert mesh.milliseconds == pytest.approx(5.0)
    assert tree.milliseconds == pytest.approx(5.0 * tree.average_path)
    assert (mesh.bytes_a_delivery, tree.bytes_a_delivery) == (100, pytest.approx(100 * tree.messages_a_delivery))
    said = publications(INSTANCE, 50, 1)
    sizes = Publishers(said.nodes, said.topics, np.ones(50), 10.0 * (1 + said.topics))
    known = replace(INSTANCE, given_publishers=sizes)
    (sized,) = compare(known, ["full-mesh"], [], seeds=1, publications=said, size=7).rows
    others = [len({*INSTANCE.subscribers[t].tolist()} - {v}) for t, v in zip(said.topics, said.nodes, strict=True)]
    assert sized.bytes_a_delivery == pytest.approx(sum(10.0 * (1 + said.topics) * others) / sum(others))


def test_given_publications_are_those_of_every_seed() -> None:
    said = publications(INSTANCE, 25, 9)
    one, other = compare(INSTANCE, ["full-mesh"], [], seeds=2, publications=said).rows
    assert one.busiest_sends == other.busiest_sends == evaluate_direct(INSTANCE, said).load.sent.maximum


def test_one_seed_has_no_interval() -> None:
    assert mean_of(np.array([3.0])) == Mean(3.0, None)


@pytest.mark.parametrize(
    ("mean", "text"),
    [
        (Mean(299.0, 0.0), "299"),
        (Mean(3.2361, None), "3.24"),
        (Mean(13752.4, 2104.7), "13,752 ± 2,105"),
        (Mean(3.2361, 0.0213), "3.24 ± 0.02"),
    ],
)
def test_a_cell_has_the_digits_that_its_margin_warrants(mean: Mean, text: str) -> None:
    assert cell(mean) == text


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"overlays": ["mesh"]}, "There is no overlay 'mesh': choose among full-mesh, chord"),
        ({"routers": ["ospf"]}, "There is no router 'ospf'"),
        ({"seeds": 0}, "`seeds` 0 is out of range"),
        ({"publications": 0}, "`publications` 0 is out of range"),
        ({"size": 0.0}, "`size` 0.0 is out of range"),
        ({"overlays": ["star"], "routers": ["pie"]}, "No router goes by any of the overlays"),
    ],
)
def test_what_cannot_be_compared_is_told(arguments: dict[str, object], told: str) -> None:
    with pytest.raises(WeftError, match=told):
        compare(INSTANCE, **arguments)  # type: ignore[arg-type]
