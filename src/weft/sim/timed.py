"""What a router takes in time over an overlay whose links have latencies: message by message, in a world."""

from typing import Any

import numpy as np

from weft.model.instance import Instance
from weft.model.latency import Latency
from weft.model.overlay import Overlay
from weft.model.publication import Publications
from weft.overlays.weave import weave
from weft.protocol.catalog import WEAVE
from weft.protocol.router import Publication, Published
from weft.sim.population import directory_of, routers_of, subscribe_all, woven_routers
from weft.sim.record import Record
from weft.sim.tally import Tally
from weft.sim.world import World


def evaluate_in_time(
    instance: Instance,
    overlay: Overlay,
    router: str,
    latency: Latency,
    publications: Publications,
    seed: int = 0,
    *,
    by_latency: bool = False,  # Weave's trees; without, by hops
) -> dict[str, Any]:
    """Figures as those of weft.sim.vitis_scenario; content is sent along, so that nothing has to be pulled."""
    record = Record()
    if router == WEAVE:
        trees = weave(instance, overlay, latency=latency if by_latency else None)
        world = World(woven_routers(overlay, trees, directory_of(instance, overlay)), latency, record)
    else:
        world = World(routers_of(instance, overlay, router, seed), latency, record)
        subscribe_all(world, instance)
    start = world.now
    for number, (topic, node) in enumerate(zip(publications.topics.tolist(), publications.nodes.tolist(), strict=True)):
        world.schedule(start, node, Published(Publication(node, number, topic)))
    world.run()
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
