"""A broker tree and an exchange in a world of broker objects: what the compiled simulation is checked against."""

from collections.abc import Callable
from typing import Any

import numpy as np

from weft.errors import DeliveryError
from weft.model.content import Advertisement, Content, Subscription
from weft.model.exchange import Exchange
from weft.model.latency import Latency, MatrixLatency
from weft.overlays.broker_tree import BrokerTree
from weft.protocol.popsub.broker import Broker
from weft.protocol.popsub.message import Advertised, Publication, Subscribed
from weft.protocol.popsub.parameters import Parameters, Way
from weft.protocol.router import Published
from weft.sim.brokers import Ledger, brokers_of
from weft.sim.world import World


def content_world(
    tree: BrokerTree,
    exchange: Exchange,
    way: Way,
    parameters: Parameters,
    seed: int = 0,
    new_world: Callable[[list[Broker], Latency, Ledger], World] = World,
) -> tuple[World, Ledger, float]:
    """A world with all events scheduled, and when publishing begins: at an evaluation, after all have subscribed."""
    brokers = brokers_of(tree.brokers, tree.links(), way, parameters, seed)
    ledger = Ledger(brokers)
    world = new_world(brokers, MatrixLatency(2 * tree.delays), ledger)
    priority = np.zeros(len(exchange.issuers), np.bool_) if exchange.priority is None else exchange.priority
    for number, broker in enumerate(exchange.issuers):
        announced = Advertisement(number, exchange.advertised[number], bool(priority[number]))
        world.schedule(0.0, int(broker), Advertised(announced))
    for number, broker in enumerate(exchange.subscribers):
        world.schedule(parameters.diameter, int(broker), Subscribed(Subscription(number, exchange.wanted[number])))
    settled = np.floor(2 * parameters.diameter / parameters.evaluation) + 1
    start = float(settled * parameters.evaluation)
    for number, (time, topic) in enumerate(zip(exchange.times, exchange.advertisements, strict=True)):
        issuer = int(exchange.issuers[topic])
        publication = Publication(issuer, number, int(topic), said=_said(exchange, number))
        world.schedule(start + float(time), issuer, Published(publication))
    return world, ledger, start


def counted_by_messages(
    tree: BrokerTree, exchange: Exchange, way: Way, parameters: Parameters, expected: int, seed: int
) -> dict[str, Any]:
    """What the brokers' own code does, message by message, in which sending takes no time: slow, and the last word."""
    world, ledger, start = content_world(tree, exchange, way, parameters, seed)
    world.run(start + float(exchange.times[-1]) + 3 * parameters.sweep_rounds * parameters.round)
    found = {(each.publication.number, each.subscription) for each in ledger.deliveries}
    if len(found) < len(ledger.deliveries) or (parameters.sweep and len(found) != expected):
        raise DeliveryError(f"{len(ledger.deliveries)} deliveries where {expected} are due")
    return {
        "deliveries": len(found),
        "expected_deliveries": expected,
        "missed": expected - len(found),
        "unpopular_deliveries": sum(not each.popular for each in ledger.deliveries),
        "forwards": ledger.forwards,
        "pure_forwards": ledger.pure_forwards,
        "out_of_overlay": ledger.out_of_overlay,
        "controls": ledger.controls,
    }


def _said(exchange: Exchange, number: int) -> Content:
    values = ((name, column.value(number)) for name, column in exchange.columns.items())
    kind = exchange.advertised[exchange.advertisements[number]].kind
    return Content(kind, {name: value for name, value in values if value is not None})
