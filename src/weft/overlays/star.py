"""Star sets (section IV of the DC paper): a few nodes of an overlay that together have the interests of all its nodes.

To join topic-connected overlays it is enough to link their star sets, which need not cover what no other overlay
subscribes to.
"""

import numpy as np

from weft.arrays import Bools, Int32s, Int64s
from weft.kernels.greedy.cover import covers, shared
from weft.model.csr import Csr


def star_nodes(interest: Csr, group: Int32s) -> Int64s:
    """The star sets of all groups, ascending."""
    return cover_by_group(interest, group, shared_topics(interest, group))


def shared_topics(interest: Csr, group: Int32s) -> Bools:
    """The topics with subscribers in more than one group."""
    return shared(interest.indptr, interest.indices, group, interest.columns)


def cover_by_group(interest: Csr, group: Int32s, wanted: Bools) -> Int64s:
    """Nodes of every group that cover all wanted topics which the group subscribes to."""
    order = np.argsort(group, kind="stable")
    starts = np.append(0, np.cumsum(np.bincount(group)))
    return np.flatnonzero(covers(interest.indptr, interest.indices, order, starts, wanted))
