"""A Vitis network of protocol objects in a world, message by message."""

from collections.abc import Callable
from functools import partial

import numpy as np

from weft.arrays import Floats
from weft.model.instance import Instance
from weft.model.latency import Latency
from weft.protocol.router import Joined
from weft.protocol.vitis.parameters import Parameters
from weft.protocol.vitis.router import Vitis
from weft.sim.vitis import topic_identifiers
from weft.sim.world import Tracer, World


def vitis_world(
    instance: Instance,
    latency: Latency,
    parameters: Parameters,
    seed: int,
    tracer: Tracer,
    rates: Floats | None = None,
    distance: Callable[[int, int], float] | None = None,  # of two nodes, as the first believes; without, it knows
) -> tuple[World, list[Vitis]]:
    """The world and its nodes, none of which has joined."""
    every_rate = [1.0] * instance.topics if rates is None else rates.tolist()
    identifiers = topic_identifiers(instance.topics, seed).tolist()
    trips = latency.round_trip(np.arange(instance.nodes)[:, None], np.arange(instance.nodes)).tolist()
    nodes = [
        Vitis(
            node,
            instance.interest[node].tolist(),
            parameters,
            rates=every_rate,
            distance=trips[node].__getitem__ if distance is None else partial(distance, node),
            rendezvous=identifiers.__getitem__,
            seed=seed,
        )
        for node in range(instance.nodes)
    ]
    return World(nodes, latency, tracer), nodes


def schedule_join(world: World, nodes: list[Vitis], time: float, node: int, contact: int | None) -> None:
    world.schedule(time, node, Joined(None if contact is None else nodes[contact].neighbourhood.profile()))
