"""SWICO divided into arcs: as good as the greedy that is not, and the same wherever it is done."""

import json

import numba
import numpy as np
import pytest

import weft
from weft import cli
from weft.cli.plan import told_need
from weft.errors import WeftError
from weft.kernels.arcs.alike import link_fragments
from weft.kernels.arcs.elder import accept
from weft.model.instance import Instance
from weft.overlays.arcs import swico
from weft.overlays.arcs.across import components
from weft.overlays.arcs.need import COMMANDS, measurements, need_of
from weft.overlays.arcs.swico import heavy_nodes, is_divided
from weft.overlays.arcs.workshop import Bench, ranges_by
from weft.overlays.catalog import design
from weft.overlays.quality import degrees, in_degrees, link_quality, ring_violations, tcc_counts, topic_subgraph
from weft.workloads.catalog import generate


@pytest.fixture(scope="module")
def instance() -> Instance:
    return generate("social", nodes=2000, seed=3)


@pytest.fixture(scope="module")
def divided(instance: Instance) -> weft.Overlay:
    return design(instance, "swico-even", seed=1, arc=512)


def test_it_connects_topics_as_the_undivided_greedy_does(instance, divided):
    exact, parted = (
        link_quality(instance, overlay)["tco_support_ratio"]
        for overlay in (design(instance, "swico-even", seed=1), divided)
    )
    assert parted > exact - 0.0025


def test_links_between_heavy_nodes_come_before_those_of_arcs(monkeypatch):
    """Links between heavy nodes are worth most, wherever on the ring their ends are."""
    large = generate("social", nodes=6000, seed=3)

    def connected() -> float:
        return link_quality(large, design(large, "swico-even", seed=1, arc=375))["tco_support_ratio"]

    before = connected()
    monkeypatch.setattr(swico, "heavy_nodes", lambda counts: heavy_nodes(counts)[:0])
    assert before > connected() + 0.0005


def test_every_node_has_a_finger_in_every_phase_and_no_more_links_than_it_may(instance, divided):
    assert ring_violations(divided) == []
    assert in_degrees(divided).max() <= 2 * 11
    assert degrees(divided).max() <= 3 * 11


def test_threads_make_no_difference(instance, divided):
    threads = numba.get_num_threads()
    numba.set_num_threads(1)
    try:
        assert design(instance, "swico-even", seed=1, arc=512).fingerprint == divided.fingerprint
    finally:
        numba.set_num_threads(threads)


def test_another_seed_gives_another_overlay(instance, divided):
    assert design(instance, "swico-even", seed=2, arc=512).fingerprint != divided.fingerprint


def test_publishers_are_linked_with_subscribers(instance, divided):
    """Publishers that are linked: as many as by the undivided greedy, but for a few that find no place."""

    def served(overlay):
        publishers, links = instance.publishers, {*zip(overlay.sources.tolist(), overlay.targets.tolist(), strict=True)}
        found = [
            any((node, s) in links or (s, node) in links for s in instance.subscribers[topic].tolist())
            for node, topic in zip(publishers.nodes.tolist(), publishers.topics.tolist(), strict=True)
        ]
        return sum(found)

    assert served(divided) >= 0.97 * served(design(instance, "swico-even", seed=1))


def test_sl_has_no_bound_unless_it_is_given_one(instance):
    free, bound = (design(instance, "swico-sl", seed=1, arc=512, in_degree=most) for most in (None, 13))
    assert ring_violations(free) == ring_violations(bound) == []
    assert in_degrees(free).max() > 13
    assert in_degrees(bound).max() <= 13


def test_components_are_those_of_the_links(instance, divided):
    """Nodes are numbered in ring order, as the steps do it."""
    node_at = np.argsort(divided.ring_ids)
    ring = weft.Instance(instance.interest.take(node_at))
    number = divided.ring_ids.astype(np.int32)
    table = number[divided.targets.reshape(2000, -1)[node_at]]
    subscribers = ring.subscribers
    arrays = {"topic_start": subscribers.indptr, "topic_node": subscribers.indices, "table": table}
    bench = Bench()
    bench.put(**arrays)
    bench.run("components", components, ranges_by(subscribers.counts, 7))
    assert np.array_equal(bench.arrays["parts"], tcc_counts(instance, topic_subgraph(instance, divided)))
    for topic in range(0, 2000, 97):
        label = bench.arrays["label"][subscribers.indptr[topic] : subscribers.indptr[topic + 1]]
        firsts = np.unique(label)
        assert np.array_equal(label[firsts], firsts)  # a component is known by its first member
        if len(label):
            sizes = np.bincount(label)
            assert sizes[bench.arrays["main"][topic]] == sizes.max()


def test_fragments_of_a_ring_are_open_paths():
    sources, targets = np.array([0, 1, 2, 0, 3], np.int32), np.array([1, 2, 0, 2, 4], np.int32)
    room, far_end = np.full(5, 2, np.int32), np.arange(5, dtype=np.int32)
    taken = link_fragments(sources, targets, np.arange(5), room, far_end)
    assert taken.tolist() == [True, True, False, False, True]
    assert room.tolist() == [1, 0, 1, 1, 1]
    assert far_end[[0, 2, 3, 4]].tolist() == [2, 0, 4, 3]


def test_places_go_to_the_largest_contributions():
    columns = [np.array(values, np.int32) for values in ([0, 1, 2], [3, 3, 3], [1, 1, 1], [5, 9, 7])]
    table, places = np.full((4, 3), -1, np.int32), np.full(4, 2, np.int32)
    assert accept(*columns, np.argsort(-columns[3]), table, np.zeros_like(table), places) == 2
    assert table[:3, 1].tolist() == [-1, 3, 3]
    assert places[3] == 0


def test_heavy_nodes_are_few_and_in_order():
    counts = np.array([3, 2_000_000, 1, 1_999_999, 5_000, *np.ones(19, np.int64)])
    assert heavy_nodes(counts).tolist() == [1, 3]
    assert heavy_nodes(np.ones(10_000, np.int64)).tolist() == list(range(1250))
    assert heavy_nodes(np.ones(100_000, np.int64)).tolist() == list(range(8192))


def test_it_is_divided_where_it_is_asked_for_or_large():
    assert is_divided(1000, 256)
    assert is_divided(200_000, None)
    assert not is_divided(200_000, 0)
    assert not is_divided(1000, None)
    with pytest.raises(WeftError, match="`arc` 3 is out of range"):
        is_divided(1000, 3)


def test_ranges_hold_everything_once():
    assert ranges_by(np.array([1, 1, 100, 1, 1]), 3) == [(0, 2), (2, 5)]
    assert ranges_by(np.zeros(0, np.int64), 4) == [(0, 0)]
    many = ranges_by(np.ones(1_000_000, np.int64))
    assert [low for low, _ in many[1:]] == [high for _, high in many[:-1]]
    assert [round(high - low, -2) for low, high in many] == [100_000] * 10


@pytest.mark.parametrize("command", COMMANDS)
def test_a_plan_is_near_what_was_measured(command):
    for row in measurements():
        if row["command"] == command and int(row["nodes"]) >= 30_000:
            need = need_of(command, int(row["nodes"]), int(row["subscriptions"]))
            assert need.memory_bytes == pytest.approx(float(row["memory_bytes"]), rel=0.5)
            assert need.other_seconds == pytest.approx(float(row["other_seconds"]), rel=0.5, abs=10)
    small, large = (need_of(command, nodes, 22 * nodes) for nodes in (10**6, 10**7))
    assert small.seconds(8) < small.seconds(2) < large.seconds(2)
    with pytest.raises(WeftError, match="nothing to plan"):
        need_of(command, 1, 0)


def test_a_plan_is_told_for_a_size_or_an_instance(instance, tmp_path, capsys, monkeypatch):
    def told(*arguments: str) -> str:
        monkeypatch.setattr("sys.argv", ["weft", "plan", *arguments])
        with pytest.raises(SystemExit) as end:
            cli.app()
        assert end.value.code == 0
        return capsys.readouterr().out

    instance.write(tmp_path / "instance")
    small = json.loads(told(str(tmp_path / "instance"), "--json"))
    assert (small["nodes"], small["subscriptions"]) == (2000, instance.subscriptions)
    size = ("--nodes", "50000000", "--subscriptions", "1000000000", "--cores", "8", "--memory", "4", "--json")
    one, many = json.loads(told(*size)), json.loads(told(*size, "--executors", "16"))
    assert not one["fits"]
    assert many["design"]["minutes"] < one["design"]["minutes"]
    assert many["evaluate"] == one["evaluate"]


def test_a_design_says_what_it_will_need_and_what_to_do_where_memory_is_short():
    assert "about a minute on" in told_need("design", 10_000, 220_000)
    assert told_need("design", 10**8, 10**10).endswith("or design with a smaller --arc.")
