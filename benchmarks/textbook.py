"""Algorithm 1 of BeaConvey as printed, compiled: the peer that the overlays' benchmark compares with.

The contributions of all pairs are kept in a matrix. A step looks at all permitted pairs for the highest contribution,
O(|V|^2), takes the first that has it, and lowers the contributions of those that it connects, O(|V|^2 |T|) in all. As
printed, it goes on when nothing contributes any more, searching for each of the last fingers; `stop_at_zero` does not.
"""

import numba
import numpy as np

from weft.kernels.greedy.fragment import ring_order
from weft.model.ring import clockwise, phase, phase_count
from weft.overlays.finger import overlay_from_table
from weft.overlays.random import random_table

NOBODY = -1


@numba.njit(cache=True)
def contribution_matrix(part):
    nodes, topics = part.shape
    matrix = np.zeros((nodes, nodes), np.int32)
    for t in range(topics):
        subscribers = np.flatnonzero(part[:, t] >= 0)
        for v in subscribers:
            for w in subscribers:
                matrix[v, w] += v != w
    return matrix


@numba.njit(cache=True)
def connect(part, matrix, v, w):
    for t in range(part.shape[1]):
        one, other = part[v, t], part[w, t]
        if one < 0 or other < 0 or one == other:
            continue
        ones, others = np.flatnonzero(part[:, t] == one), np.flatnonzero(part[:, t] == other)
        for a in ones:
            for b in others:
                matrix[a, b] -= 1
                matrix[b, a] -= 1
        part[others, t] = one


@numba.njit(cache=True)
def gswico_s(part, matrix, stop_at_zero):
    """The ring's links; the closing one is not among them. Fragments that are left are for the caller to join."""
    nodes = len(part)
    degree, fragment = np.zeros(nodes, np.int32), np.arange(nodes)
    sources, targets = [0 for _ in range(0)], [0 for _ in range(0)]
    for _ in range(nodes - 1):
        best, best_v, best_w = -1, NOBODY, NOBODY
        for v in range(nodes):
            if degree[v] == 2:
                continue
            for w in range(v + 1, nodes):
                if matrix[v, w] > best and degree[w] < 2 and fragment[v] != fragment[w]:
                    best, best_v, best_w = matrix[v, w], v, w
        if stop_at_zero and best == 0:
            break
        connect(part, matrix, best_v, best_w)
        degree[best_v] += 1
        degree[best_w] += 1
        fragment[fragment == fragment[best_w]] = fragment[best_v]
        sources.append(best_v)
        targets.append(best_w)
    return np.array(sources), np.array(targets)


@numba.njit(cache=True)
def gswico_l(part, matrix, phase, phases, stop_at_zero):
    """Fingers of the phases from 1 on, table[v, i], or NOBODY where none was chosen; phase[v, w] is that of w at v."""
    nodes = len(part)
    table = np.full((nodes, phases), NOBODY, np.int32)
    for _ in range(nodes * (phases - 1)):
        best, best_v, best_w = -1, NOBODY, NOBODY
        for v in range(nodes):
            for w in range(nodes):
                if matrix[v, w] > best and phase[v, w] > 0 and table[v, phase[v, w]] == NOBODY:
                    best, best_v, best_w = matrix[v, w], v, w
        if stop_at_zero and best == 0:
            break
        connect(part, matrix, best_v, best_w)
        table[best_v, phase[best_v, best_w]] = best_w
    return table


def textbook_swico_sl(instance, seed, *, stop_at_zero):
    """GSwicoSL; where the search stops at zero, what is left is up to chance."""
    rng = np.random.default_rng(seed)
    ring_ids = np.empty(instance.nodes, np.int64)
    part, matrix = start(instance)
    links = [ends.astype(np.int32) for ends in gswico_s(part, matrix, stop_at_zero)]
    order = ring_order(instance.nodes, *links, rng.permutation(instance.nodes).astype(np.int32))
    ring_ids[order] = np.arange(instance.nodes)
    part, matrix = start(instance)
    for v, w in zip(order, np.roll(order, -1), strict=True):
        connect(part, matrix, v, w)
    phases = phase(clockwise(ring_ids[:, None], ring_ids[None, :], instance.nodes)).astype(np.int8)
    table = gswico_l(part, matrix, phases, phase_count(instance.nodes), stop_at_zero)
    table[order, 0] = np.roll(order, -1)
    return overlay_from_table(ring_ids, np.where(table == NOBODY, random_table(ring_ids, rng), table))


def start(instance):
    part = np.full((instance.nodes, instance.topics), -1, np.int32)
    part[instance.interest.row_of_each(), instance.interest.indices] = instance.interest.row_of_each()
    return part, contribution_matrix(part)
