"""RandomS and RandomL (BeaConvey section 5.1; RandomSW in NSMF): a ring in random order, random fingers."""

import numpy as np

from weft.arrays import Int32s, Int64s
from weft.model.instance import Instance
from weft.model.overlay import Overlay
from weft.overlays.finger import overlay_from_table, phase_starts, table_of_distances


def random(instance: Instance, *, seed: int) -> Overlay:
    rng = np.random.default_rng(seed)
    ring_ids = random_ring(instance.nodes, rng)
    return overlay_from_table(ring_ids, random_table(ring_ids, rng))


def random_ring(nodes: int, rng: np.random.Generator) -> Int64s:
    """RandomS: the ring id of every node."""
    return rng.permutation(nodes)


def random_table(ring_ids: Int64s, rng: np.random.Generator) -> Int32s:
    """RandomL: all nodes of a phase are equally likely; the last phase ends where the ring does."""
    starts = phase_starts(len(ring_ids))
    ends = np.minimum(2 * starts, len(ring_ids))
    return table_of_distances(ring_ids, rng.integers(starts, ends, size=(len(ring_ids), len(starts))))
