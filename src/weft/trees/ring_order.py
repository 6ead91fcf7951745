"""Nodes named by their ranks on the ring while trees are woven.

Nodes of like interest are near each other on the ring and most links are short, so that what a tree needs of arrays by
node lies close together. By the nodes' own numbers it lies anywhere, and of a million nodes the processor's caches hold
little. Lists of links and of subscribers keep their order, by which ties are decided: the trees are the same.
"""

from dataclasses import dataclass

import numpy as np

from weft.arrays import Int32s
from weft.model.csr import Csr
from weft.model.overlay import Overlay


@dataclass(frozen=True, eq=False)
class RingOrder:
    nodes: Int32s  # by rank
    ranks: Int32s  # by node

    def renamed(self, lists: Csr) -> Csr:
        """Lists of nodes, as they are, with ranks for nodes: no longer ascending."""
        return Csr(lists.indptr, self.ranks[lists.indices], lists.columns)


def ring_order(overlay: Overlay) -> RingOrder:
    """Nodes from the first place of the ring on; as they are numbered where there is none."""
    if overlay.ring_ids is None:
        nodes = np.arange(overlay.nodes, dtype=np.int32)
        return RingOrder(nodes, nodes)
    nodes = np.argsort(overlay.ring_ids).astype(np.int32)
    ranks = np.empty_like(nodes)
    ranks[nodes] = np.arange(overlay.nodes, dtype=np.int32)
    return RingOrder(nodes, ranks)
