"""Chord: every finger is the first node of its phase, v + 2^i (BeaConvey section 3.1), on a ring in random order."""

import numpy as np

from weft.arrays import Int32s, Int64s
from weft.model.instance import Instance
from weft.model.overlay import Overlay
from weft.model.ring import Phases, phase_count
from weft.overlays.finger import overlay_from_table, phase_starts, table_of_distances
from weft.overlays.random import random_ring


def chord(instance: Instance, *, seed: int, phases: Phases = "cut") -> Overlay:
    ring_ids = random_ring(instance.nodes, np.random.default_rng(seed))
    return overlay_from_table(ring_ids, chord_table(ring_ids, phases))


def chord_table(ring_ids: Int64s, phases: Phases = "cut") -> Int32s:
    return table_of_distances(ring_ids, phase_starts(phase_count(len(ring_ids), phases)))
