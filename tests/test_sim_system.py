"""Systems that are simulated whole stand among routers: their figures, their errors, and what nodes have to know."""

from collections.abc import Callable

import numpy as np
import pytest

from routing_oracle import ring_instance, ring_overlay
from weft.errors import WeftError
from weft.model.instance import Instance
from weft.model.latency import ConstantLatency
from weft.model.publisher import Publishers
from weft.overlays.catalog import design
from weft.protocol.scribe import IScribe, Scribe
from weft.sim.bulk import evaluate
from weft.sim.catalog import ROUTERS, SYSTEMS, needs_no_overlay, trees_for
from weft.sim.network import network_with
from weft.sim.population import routers_of, subscribe_all
from weft.sim.record import Record
from weft.sim.system import Task
from weft.sim.vitis_system import measure, settled
from weft.sim.world import World
from weft.workloads.publication import publications

INSTANCE = ring_instance(1, 30, 6, 0.2)
OVERLAY = ring_overlay(1, 30, 50)
SAID = publications(INSTANCE, 40, 1)
LARGER = publications(ring_instance(1, 60, 6, 0.2), 40, 1)


def test_vitis_is_evaluated_without_an_overlay_and_delivers_everything() -> None:
    told = evaluate(INSTANCE, None, "vitis", SAID, seed=3, per_topic=True)
    network = settled(Task(INSTANCE, None, SAID, 3, None))
    reached = [
        network.publish(topic, node) for topic, node in zip(SAID.topics.tolist(), SAID.nodes.tolist(), strict=True)
    ]
    contents = sum(int((reach.hops > 0).sum()) for reach in reached)
    notices = sum(int(reach.notifications.sum()) for reach in reached)
    assert told.deliveries == told.expected_deliveries > 0
    assert (told.messages, told.routing_overhead) == (contents, contents - told.deliveries)
    assert told.controls == contents + notices  # a pull for each content
    sources = np.concatenate([reach.source[reach.source >= 0] for reach in reached])
    assert np.array_equal(told.load_by_node["sent"], np.bincount(sources, minlength=30))
    assert told.load_by_node["received"].sum() == told.load_by_node["sent"].sum() == contents
    assert told.topics is not None
    assert told.topics["deliveries"].sum() == told.deliveries
    assert told.topics["publications"].tolist() == np.bincount(SAID.topics, minlength=6).tolist()
    assert (told.overlay, told.times) == ("gossip", None)
    paths = [
        reach.hops[INSTANCE.subscribers[topic]] for topic, reach in zip(SAID.topics.tolist(), reached, strict=True)
    ]
    assert told.average_path * told.deliveries == pytest.approx(sum(path[path > 0].sum() for path in paths))
    assert told.maximum_path == max(path.max() for path in paths)


def test_with_latencies_deliveries_are_timed_and_with_sizes_bytes_are_counted() -> None:
    latency = ConstantLatency(30, 10.0)
    told = evaluate(INSTANCE, None, "vitis", SAID, latency=latency)
    assert told.times is not None
    assert told.times.delivery.mean >= 3 * 10.0 / 2  # there, and back for the content
    sized = Instance(
        INSTANCE.interest, given_publishers=Publishers(SAID.nodes, SAID.topics, np.ones(40), np.full(40, 100.0))
    )
    result = evaluate(sized, None, "vitis", SAID)
    found = measure(Task(sized, None, SAID, 1, None))
    assert result.bytes == 100 * result.messages + found.control_bytes
    assert found.control_bytes == 17 * result.messages + 20 * (result.controls - result.messages)


@pytest.mark.parametrize("router", ["scribe", "iscribe"])
def test_entries_of_scribe_are_the_children_that_its_routers_keep(router: str) -> None:
    routers = routers_of(INSTANCE, OVERLAY, router, seed=4)
    world = World(routers, ConstantLatency(30), Record())
    subscribe_all(world, INSTANCE)
    kept = [sum(map(len, node.children.values())) for node in routers if isinstance(node, Scribe | IScribe)]
    network = network_with(INSTANCE, OVERLAY, None)
    assert ROUTERS[router].entries(network, 4)[network.position_of].tolist() == kept


def test_entries_of_pie_are_nearest_subscribers_and_what_fingers_want() -> None:
    network = network_with(INSTANCE, OVERLAY, None)
    found = ROUTERS["pie"].entries(network, 1)[network.position_of]
    subscribers = [set(INSTANCE.subscribers[topic].tolist()) for topic in range(6)]
    for node in range(30):
        nearest = sum(bool(others - {node}) for others in subscribers)
        fingers = {
            peer
            for peer, phase in zip(OVERLAY.of(node), OVERLAY.phases[OVERLAY.sources == node], strict=True)
            if phase >= 0
        }
        assert found[node] == nearest + sum(len(INSTANCE.interest[peer]) for peer in fingers)
        assert network.finger_counts[network.position_of[node]] == len(fingers)


def test_entries_of_weave_are_tree_neighbours() -> None:
    trees = trees_for("weave", INSTANCE, OVERLAY)
    assert trees is not None
    network = network_with(INSTANCE, OVERLAY, trees)
    assert ROUTERS["weave"].entries(network, 1)[network.position_of].tolist() == trees.entries.tolist()


def test_a_node_of_vitis_knows_the_peers_that_it_holds() -> None:
    task = Task(INSTANCE, None, SAID, 3, None)
    found, network = measure(task), settled(task)
    for node in (0, 7, 29):
        held = {
            *network.links(node).tolist(),
            *network.gossip.table[node].tolist(),
            *network.gossip.sampled[node].tolist(),
        }
        held |= set((network.linked_lately[network.linked_lately // 30 == node] % 30).tolist())
        held -= {-1}
        relays = int((network.relay_children // (30 * 6) == node).sum())
        topics = sum(len(INSTANCE.interest[peer]) for peer in (*held, node))
        assert (found.peers[node], found.entries[node]) == (len(held), topics + relays)


@pytest.mark.parametrize(
    ("attempt", "told"),
    [
        (lambda: evaluate(INSTANCE, OVERLAY, "vitis", SAID), "vitis makes links of its own: leave the overlay out"),
        (lambda: evaluate(INSTANCE, None, "pie", SAID), "pie publishes over an overlay: give one"),
        (lambda: evaluate(INSTANCE, None, "vitis", SAID, fan_out=3), "vitis takes no option `fan_out`"),
        (lambda: routers_of(INSTANCE, OVERLAY, "vitis"), "vitis is simulated whole, which evaluate and compare do"),
        (lambda: evaluate(INSTANCE, None, "ospf", SAID), "There is no router 'ospf': choose one of po, .*, vitis"),
        (
            lambda: evaluate(INSTANCE, None, "vitis", LARGER),
            "name nodes that",
        ),
    ],
)
def test_what_does_not_go_with_a_system_is_an_error(attempt: Callable[[], object], told: str) -> None:
    with pytest.raises(WeftError, match=told):
        attempt()


def test_systems_have_names_of_their_own_and_overlays_that_exist() -> None:
    assert not SYSTEMS.keys() & ROUTERS.keys()
    for name, system in SYSTEMS.items():
        assert needs_no_overlay(name) == (not system.overlays)
        assert all(design(INSTANCE, overlay, seed=1).nodes == 30 for overlay in system.overlays)
