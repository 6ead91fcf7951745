"""A broker tree and a workload in a world of broker objects: what the compiled simulation is checked against."""

from collections.abc import Callable

import numpy as np

from weft.model.content import Advertisement, Content, Filter, Range, Subscription
from weft.model.latency import Latency, MatrixLatency
from weft.overlays.broker_tree import BrokerTree
from weft.protocol.popsub.broker import Broker
from weft.protocol.popsub.message import Advertised, Publication, Subscribed
from weft.protocol.popsub.parameters import Parameters, Way
from weft.protocol.router import Published
from weft.sim.brokers import Ledger, brokers_of
from weft.sim.world import World
from weft.workloads.popsub import ContentWorkload


def content_world(
    tree: BrokerTree,
    workload: ContentWorkload,
    way: Way,
    parameters: Parameters,
    seed: int = 0,
    new_world: Callable[[list[Broker], Latency, Ledger], World] = World,
) -> tuple[World, Ledger, float]:
    """A world with all events scheduled, and when publishing begins: at an evaluation, after all have subscribed."""
    brokers = brokers_of(tree.brokers, tree.links(), way, parameters, seed)
    ledger = Ledger(brokers)
    world = new_world(brokers, MatrixLatency(2 * tree.delays), ledger)
    for number, broker in enumerate(workload.publishers):
        world.schedule(0.0, int(broker), Advertised(Advertisement(number, _advertised(workload, number))))
    for number, broker in enumerate(workload.subscribers):
        wanted = Subscription(number, _wanted(workload, number))
        world.schedule(parameters.diameter, int(broker), Subscribed(wanted))
    settled = np.floor(2 * parameters.diameter / parameters.evaluation) + 1
    start = float(settled * parameters.evaluation)
    for number, (time, topic) in enumerate(zip(workload.times, workload.advertisements, strict=True)):
        issuer = int(workload.publishers[topic])
        publication = Publication(issuer, number, int(topic), said=_said(workload, number))
        world.schedule(start + float(time), issuer, Published(publication))
    return world, ledger, start


def _advertised(workload: ContentWorkload, number: int) -> Filter:
    low, high = workload.strips[number].tolist()
    return Filter(f"class {workload.classes[number]}", {"first": Range(low, high)})


def _wanted(workload: ContentWorkload, number: int) -> Filter:
    followed = _advertised(workload, int(workload.followed[number]))
    low, high = workload.ranges[number].tolist()
    return Filter(followed.kind, {**followed.predicates, "second": Range(low, high)})


def _said(workload: ContentWorkload, number: int) -> Content:
    first, second = workload.values[number].tolist()
    kind = f"class {workload.classes[workload.advertisements[number]]}"
    return Content(kind, {"first": first, "second": second})
