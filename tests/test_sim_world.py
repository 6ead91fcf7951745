from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from routing_oracle import READINGS, Oracle, ring_instance, ring_overlay
from weft.errors import WeftError
from weft.model.latency import ConstantLatency, MatrixLatency
from weft.model.publication import Publications
from weft.protocol.router import Deliver, Publication, Published, Received, Send
from weft.sim.catalog import ROUTERS, trees_for
from weft.sim.population import direct_issuers, routers_of, subscribe_all
from weft.sim.record import Record
from weft.sim.world import World


def hops_of(record, publication):
    return Counter((hop.sender, hop.receiver) for hop in record.hops if hop.publication == publication)


def paths_of(record, publication):
    return sorted((row.node, row.hops) for row in record.deliveries if row.publication == publication)


def everything(nodes, topics):
    """Everybody publishes on every topic."""
    return Publications(np.repeat(np.arange(topics), nodes), np.tile(np.arange(nodes), topics))


@pytest.mark.parametrize("router", ROUTERS)
@settings(deadline=None, max_examples=100)
@given(st.integers(0, 10**6), st.integers(1, 24), st.integers(0, 60), st.integers(0, 2), st.sampled_from(READINGS))
def test_routers_send_what_the_papers_say_whatever_the_latencies(router, seed, nodes, gaps, extra, reading):
    """All nodes publish on all topics at once, subscribers or not."""
    instance, overlay = ring_instance(seed, nodes, 3), ring_overlay(seed, nodes, nodes + gaps, extra)
    latency = MatrixLatency(np.random.default_rng(seed).uniform(1, 100, (nodes, nodes)))
    record = Record()
    trees = trees_for(router, instance, overlay)
    world = World(routers_of(instance, overlay, router, seed, trees, reading), latency, record)
    subscribe_all(world, instance)
    if trees is not None:
        direct_issuers(world, instance, overlay, trees, everything(nodes, 3))
    said = [Publication(issuer, topic, topic) for topic in range(3) for issuer in range(nodes)]
    for publication in said:
        world.schedule(world.now, publication.issuer, Published(publication))
    world.run()
    world.check_invariants()
    oracle = Oracle(instance, overlay, seed, reading)
    for publication in said:
        expected = oracle.publish(router, publication.topic, publication.issuer)
        assert hops_of(record, publication) == expected.hops
        assert paths_of(record, publication) == sorted(expected.paths)
        subscribers = set(instance.subscribers[publication.topic].tolist())
        assert [node for node, _ in paths_of(record, publication)] == sorted(subscribers - {publication.issuer})


def test_a_delivery_takes_the_latencies_of_its_path():
    instance, overlay = ring_instance(3, 20, 1), ring_overlay(3, 20, 50)
    record = Record()
    world = World(routers_of(instance, overlay, "pie"), ConstantLatency(20, 10.0), record)
    world.schedule(100.0, 4, Published(Publication(4, 0, 0)))
    world.run()
    assert record.deliveries
    assert all(row.time == 100.0 + 5.0 * row.hops for row in record.deliveries)


def test_only_trees_are_kept_by_control_messages():
    instance, overlay = ring_instance(3, 20, 2), ring_overlay(3, 20, 20)
    controls = {}
    for router in ROUTERS:
        record = Record()
        subscribe_all(World(routers_of(instance, overlay, router), ConstantLatency(20), record), instance)
        controls[router] = record.controls
        assert record.hops == []
    assert controls["po"] == controls["pal"] == controls["pie"] == 0
    assert 0 < controls["scribe"] < controls["iscribe"]


def test_an_unknown_router_is_an_error():
    with pytest.raises(WeftError, match="no router 'flood': choose one of po, pal, pie"):
        routers_of(ring_instance(1, 4, 1), ring_overlay(1, 4, 4), "flood")


class Echo:
    """Sends every publication on to `peer`, delivers what it receives, and ticks until it has ticked thrice."""

    def __init__(self, peer):
        self.peer, self.ticks = peer, []
        self.deadline = 2.0

    def handle(self, event, now):
        if isinstance(event, Received):
            self.deadline = None if event.message == "stop" else now + 1.5
            return []
        return [Deliver(event.publication, 0), Send(self.peer, "more")]

    def next_deadline(self):
        return self.deadline

    def on_timer(self, now):
        self.ticks.append(now)
        self.deadline = now + 2.0 if len(self.ticks) < 3 else None
        return []

    def check_invariants(self):
        assert len(self.ticks) <= 3


def echoes():
    record = Record()
    world = World([Echo(1), Echo(0)], ConstantLatency(2, 1.0), record)
    return world, record


def test_timers_go_off_at_their_deadlines():
    world, _ = echoes()
    world.run()
    assert [router.ticks for router in world.routers] == [[2.0, 4.0, 6.0]] * 2
    world.check_invariants()


def test_a_timer_that_is_put_off_or_called_off_does_not_go_off():
    world, _ = echoes()
    world.schedule(1.0, 0, Received(1, "more"))
    world.schedule(1.0, 1, Received(0, "stop"))
    world.run()
    assert [router.ticks for router in world.routers] == [[2.5, 4.5, 6.5], []]


def test_a_run_stops_at_its_time_and_goes_on_from_there():
    world, _ = echoes()
    world.run(until=4.0)
    assert world.routers[0].ticks == [2.0, 4.0]
    world.run()
    assert world.routers[0].ticks == [2.0, 4.0, 6.0]


def test_what_happens_at_the_same_time_happens_in_the_order_it_was_caused():
    world, record = echoes()
    said = [Publication(0, number, 0) for number in range(5)]
    for publication in said:
        world.schedule(1.0, 0, Published(publication))
    world.run(until=1.0)
    assert [row.publication for row in record.deliveries] == said


def test_a_failed_node_may_be_started_anew():
    world, record = echoes()
    old = world.routers[0]
    world.run(until=2.0)
    world.fail(0)
    world.schedule(3.0, 0, Published(Publication(0, 0, 0)))  # to nobody
    world.run(until=7.0)
    new = Echo(1)
    new.deadline = 8.0
    world.restart(0, new)
    world.schedule(7.5, 0, Published(Publication(0, 1, 0)))
    world.run()
    assert (old.ticks, new.ticks) == ([2.0], [8.0, 10.0, 12.0])
    assert [row.publication.number for row in record.deliveries] == [1]
