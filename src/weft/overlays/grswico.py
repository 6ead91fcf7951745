"""GrSwico (NSMF section 4, Algorithm 4): on a ring in random order, the fingers of highest contribution in every phase.

It starts from no links at all: the successors are candidates like all others, although every node gets its own in the
end. GSwicoL (`swico.py`) is the same greedy on top of the ring.
"""

import numpy as np

from weft.model.instance import Instance
from weft.model.overlay import Overlay
from weft.model.ring import Phases
from weft.overlays.finger import empty_table, with_close_fingers
from weft.overlays.preference import Fill, Preference, Tie
from weft.overlays.random import random_ring


def grswico(
    instance: Instance,
    *,
    seed: int,
    tie: Tie = "random",
    fill: Fill = "random",
    in_degree: int | None = None,
    phases: Phases = "cut",
) -> Overlay:
    rng = np.random.default_rng(seed)
    ring_ids = random_ring(instance.nodes, rng)
    table = empty_table(instance.nodes, phases)
    return with_close_fingers(instance, ring_ids, table, rng, Preference(tie, fill), in_degree)
