"""SWICO, the small-world and interest-close overlay (BeaConvey section 3.2, Algorithm 1).

    swico-s   short links by GSwicoS, long ones by Chord or RandomL
    swico-l   short links by RandomS, long ones by GSwicoL
    swico-sl  both

GSwicoS orders the nodes in a ring. It takes the link of highest contribution among those that some ring through all
links taken so far contains: degree at most two, and no cycle before the last link. When no such link contributes, the
fragments are joined in random order. GSwicoL then takes the finger of highest contribution among those of a phase that
is empty at their owner, on top of the ring, and leaves what does not contribute to chance.
"""

from typing import Literal

import numpy as np

from weft.kernels.constraint import circle
from weft.kernels.fragment import ring_order
from weft.model.csr import Int32s, Int64s
from weft.model.instance import Instance
from weft.model.overlay import Overlay
from weft.overlays.chord import chord_table
from weft.overlays.finger import empty_table, overlay_from_table, table_of_distances
from weft.overlays.grswico import Fill, fill_greedily, filled
from weft.overlays.lazy_greedy import Tie, lazy_greedy
from weft.overlays.random import random_ring, random_table

Long = Literal["chord", "random"]


def swico_s(instance: Instance, *, seed: int, long: Long = "chord", tie: Tie = "random") -> Overlay:
    rng = np.random.default_rng(seed)
    ring_ids = close_ring(instance, rng, tie)
    return overlay_from_table(ring_ids, chord_table(ring_ids) if long == "chord" else random_table(ring_ids, rng))


def swico_l(instance: Instance, *, seed: int, tie: Tie = "random", fill: Fill = "random") -> Overlay:
    rng = np.random.default_rng(seed)
    return with_close_fingers(instance, random_ring(instance.nodes, rng), rng, tie, fill)


def swico_sl(instance: Instance, *, seed: int, tie: Tie = "random", fill: Fill = "random") -> Overlay:
    rng = np.random.default_rng(seed)
    return with_close_fingers(instance, close_ring(instance, rng, tie), rng, tie, fill)


def close_ring(instance: Instance, rng: np.random.Generator, tie: Tie) -> Int64s:
    """GSwicoS: the ring id of every node."""
    chosen = lazy_greedy(instance, circle(instance.nodes), rng, tie=tie)
    starts = rng.permutation(instance.nodes).astype(np.int32)
    ring_ids = np.empty(instance.nodes, np.int64)
    ring_ids[ring_order(instance.nodes, chosen.owners, chosen.others, starts)] = np.arange(instance.nodes)
    return ring_ids


def with_close_fingers(instance: Instance, ring_ids: Int64s, rng: np.random.Generator, tie: Tie, fill: Fill) -> Overlay:
    """GSwicoL."""
    table = table_with_successors(ring_ids)
    fill_greedily(instance, ring_ids, table, rng, tie)
    return overlay_from_table(ring_ids, filled(instance, ring_ids, table, rng, fill))


def table_with_successors(ring_ids: Int64s) -> Int32s:
    table = empty_table(len(ring_ids))
    table[:, :1] = table_of_distances(ring_ids, np.ones(1, np.int64))[:, : table.shape[1]]
    return table
