"""Friends that nodes may have, where that is bounded: see weft.protocol.vitis.popularity."""

import numpy as np

from weft.arrays import Bools, Int32s, Int64s
from weft.kernels.jit import jit
from weft.kernels.vitis.relay import is_in


@jit
def accept(starts: Int64s, choosers: Int32s, accepted: Int64s, bound: int, full: Bools) -> tuple[Int64s, Int64s]:
    """Keys peer * nodes + chooser of those accepted, ascending, and chooser * nodes + peer of those refused.

    The choosers of every peer are ascending. Notes who is full.
    """
    nodes = len(starts) - 1
    kept, refused = np.empty(len(choosers), np.int64), np.empty(len(choosers), np.int64)
    count = turned_away = 0
    for peer in range(nodes):
        first, own = count, np.int64(peer) * nodes
        row = choosers[starts[peer] : starts[peer + 1]]
        room = bound
        for chooser in row:
            room -= is_in(accepted, own + chooser)
        for chooser in row:
            if is_in(accepted, own + chooser):
                kept[count] = own + chooser
                count += 1
            elif room > 0:
                kept[count] = own + chooser
                count, room = count + 1, room - 1
            else:
                refused[turned_away] = np.int64(chooser) * nodes + peer
                turned_away += 1
        full[peer] = count - first >= bound
    return kept[:count].copy(), refused[:turned_away].copy()
