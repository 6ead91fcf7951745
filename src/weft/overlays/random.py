"""RandomS and RandomL (BeaConvey section 5.1; RandomSW in NSMF): a ring in random order, random fingers."""

import numpy as np

from weft.arrays import Int64s
from weft.model.instance import Instance
from weft.model.overlay import Overlay
from weft.model.ring import Phases
from weft.overlays.finger import overlay_from_table, random_table


def random(instance: Instance, *, seed: int, phases: Phases = "cut") -> Overlay:
    rng = np.random.default_rng(seed)
    ring_ids = random_ring(instance.nodes, rng)
    return overlay_from_table(ring_ids, random_table(ring_ids, rng, phases))


def random_ring(nodes: int, rng: np.random.Generator) -> Int64s:
    """RandomS: the ring id of every node."""
    return rng.permutation(nodes)
