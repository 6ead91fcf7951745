"""What a router takes in time over an overlay whose links have latencies: message by message, in a world."""

from dataclasses import replace
from typing import Any

import numpy as np

from weft.model.forwarding import AS_PRINTED, Forwarding
from weft.model.instance import Instance
from weft.model.latency import Latency, require_latency_of
from weft.model.overlay import Overlay
from weft.model.publication import Publications
from weft.model.tree import Trees
from weft.protocol.router import Publication, Published
from weft.sim.catalog import routing, trees_for
from weft.sim.evaluation import Evaluation, Times, distribution
from weft.sim.population import direct_issuers, routers_of, subscribe_all
from weft.sim.record import Record
from weft.sim.tally import Tally
from weft.sim.world import World
from weft.trees.load import LOAD_WEIGHT

TIMED = 1000  # publications at most: a world takes milliseconds for each, where kernels take microseconds


def with_times(
    evaluation: Evaluation,
    instance: Instance,
    overlay: Overlay,
    latency: Latency,
    publications: Publications,
    *,
    seed: int,
    trees: Trees | None,  # where the router has them
) -> Evaluation:
    """Add times of TIMED publications, evenly spread over those given, if these are more."""
    some = some_of(publications)
    record = Record()
    forwarding = evaluation.forwarding or AS_PRINTED
    world = _world_at_rest(instance, overlay, evaluation.router, latency, record, seed, trees, forwarding)
    if trees is not None:
        direct_issuers(world, instance, overlay, trees, some)
    start = _publish(world, some)
    times = np.array([delivery.time - start for delivery in record.deliveries] or [0.0])
    return replace(evaluation, times=Times(len(some), distribution(times)))


def some_of(publications: Publications) -> Publications:
    """TIMED publications, evenly spread over those given, if these are more."""
    count = min(TIMED, len(publications))
    rows = np.arange(count) * len(publications) // max(count, 1)
    return Publications(publications.topics[rows], publications.nodes[rows])


def evaluate_in_time(
    instance: Instance,
    overlay: Overlay,
    router: str,
    latency: Latency,
    publications: Publications,
    seed: int = 0,
    *,
    by_latency: bool = False,  # the trees, where the router has them; without, by hops
    load_weight: float = LOAD_WEIGHT,  # of the trees
) -> dict[str, Any]:
    """Figures as those of weft.sim.vitis_scenario; content is sent along, so that nothing has to be pulled."""
    record = Record()
    trees = trees_for(router, instance, overlay, load_weight=load_weight, latency=latency if by_latency else None)
    world = _world_at_rest(instance, overlay, router, latency, record, seed, trees)
    if trees is not None:
        direct_issuers(world, instance, overlay, trees, publications)
    start = _publish(world, publications)
    tally = _tally(instance, publications, record, start)
    return {**tally.figures(), "messages_per_delivery": len(record.hops) / max(tally.deliveries, 1)}


def _tally(instance: Instance, publications: Publications, record: Record, start: float) -> Tally:
    tally = Tally(instance.nodes)
    subscribers = [set(instance.subscribers[topic].tolist()) for topic in range(instance.topics)]
    for topic, issuer in zip(publications.topics.tolist(), publications.nodes.tolist(), strict=True):
        tally.expected += len(subscribers[topic] - {issuer})
    for hop in record.hops:
        tally.relayed[hop.receiver] += hop.receiver not in subscribers[hop.publication.topic]
    nodes = np.array([delivery.node for delivery in record.deliveries], np.int64)
    hops = np.array([delivery.hops for delivery in record.deliveries], np.int64)
    times = np.array([delivery.time - start for delivery in record.deliveries], np.float64)
    tally.deliver(nodes, hops, times, notified=times)
    return tally


def _world_at_rest(
    instance: Instance,
    overlay: Overlay,
    router: str,
    latency: Latency,
    record: Record,
    seed: int,
    trees: Trees | None,
    forwarding: Forwarding = AS_PRINTED,
) -> World:
    """A world in which all nodes have subscribed, and all tables are in place."""
    require_latency_of(latency, instance.nodes)
    world = World(routers_of(instance, overlay, router, seed, trees, forwarding), latency, record)
    if not routing(router).has_trees:
        subscribe_all(world, instance)
    return world


def _publish(world: World, publications: Publications) -> float:
    """Publish all at once, and run until they have arrived; the time when they were published."""
    start = world.now
    for number, (topic, node) in enumerate(zip(publications.topics.tolist(), publications.nodes.tolist(), strict=True)):
        world.schedule(start, node, Published(Publication(node, number, topic)))
    world.run()
    return start
