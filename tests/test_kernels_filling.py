"""Full finger tables under a bound on the fingers that point at a node: Property 1, whatever was chosen before."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.kernels.greedy.filling import fill_by_chance, fill_by_moving
from weft.model.ring import clockwise, phase, phase_count
from weft.overlays.finger import NO_NODE, empty_phases
from weft.overlays.random import random_ring
from weft.overlays.swico import table_with_successors

SIZES = st.sampled_from([1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 33, 40])


def bounded(table, ring_ids, in_degree):
    taken = np.bincount(table[:, 1:][table[:, 1:] != NO_NODE], minlength=len(table))
    return empty_phases(table, ring_ids)._replace(places=(in_degree - 1 - taken).astype(np.int32))


def crowded_table(rng, ring_ids, in_degree):
    """Nodes choose one after the other, all the same favourites, as far as these have places."""
    nodes = len(ring_ids)
    table, favour = table_with_successors(ring_ids), rng.permutation(nodes)
    node_at, places = np.argsort(ring_ids), np.full(nodes, in_degree - 1)
    for v in rng.permutation(nodes):
        for i in range(1, phase_count(nodes)):
            candidates = node_at[(ring_ids[v] + np.arange(2**i, min(2 ** (i + 1), nodes))) % nodes]
            candidates = candidates[places[candidates] > 0]
            if len(candidates) and rng.random() < 0.8:
                table[v, i] = candidates[np.argmax(favour[candidates])]
                places[table[v, i]] -= 1
    return table


def fill(table, ring_ids, in_degree, rng):
    """The table, and how many fingers chance left empty."""
    contribution = np.where(table == NO_NODE, 0, rng.integers(1, 9, table.shape)).astype(np.int32)
    fingers, node_at = bounded(table, ring_ids, in_degree), np.argsort(ring_ids).astype(np.int32)
    fill_by_chance(fingers, node_at, rng.permutation(len(table)).astype(np.int32), 7, table)
    left = np.count_nonzero(table == NO_NODE)
    fill_by_moving(fingers, node_at, contribution, table)
    assert np.array_equal(fingers.places, bounded(table, ring_ids, in_degree).places)
    assert not fingers.room.any()
    return left


@settings(deadline=None, max_examples=200)
@given(st.integers(0, 10**6), SIZES, st.integers(0, 3))
def test_every_phase_gets_a_finger_and_no_node_more_than_its_places(seed, nodes, more):
    rng = np.random.default_rng(seed)
    ring_ids, in_degree = random_ring(nodes, rng), phase_count(nodes) + more
    table = crowded_table(rng, ring_ids, in_degree)
    fill(table, ring_ids, in_degree, rng)
    distances = clockwise(ring_ids[:, None], ring_ids[table], nodes)
    assert np.array_equal(phase(distances), np.tile(np.arange(phase_count(nodes)), (nodes, 1)))
    assert np.bincount(table.ravel(), minlength=nodes).max() <= max(in_degree, 1)


def test_chance_alone_would_leave_phases_empty():
    rng = np.random.default_rng(1)
    ring_ids = random_ring(200, rng)
    assert fill(crowded_table(rng, ring_ids, 8), ring_ids, 8, rng) > 0


def test_fingers_that_contribute_least_move():
    """Ring of 8: both nodes of phase 1 of node 0 are full, and one of the fingers at node 2 contributed less."""
    ring_ids = np.arange(8)
    table = table_with_successors(ring_ids)
    table[[7, 6, 5], [1, 2, 2]] = 2, 2, 2  # phase 1 of 7 is {1, 2}; phase 2 of 6 {2, 3, 4, 5}, of 5 {1, 2, 3, 4}
    table[[1, 7, 6], [1, 2, 2]] = 3, 3, 2
    table[4, 2] = 3
    contribution = np.zeros(table.shape, np.int32)
    contribution[[7, 6, 5, 1, 7, 4], [1, 2, 2, 1, 2, 2]] = 9, 5, 3, 9, 9, 9
    fingers = bounded(table, ring_ids, 4)
    assert fingers.places[2] == fingers.places[3] == 0
    before = table.copy()
    fill_by_moving(fingers, np.arange(8, dtype=np.int32), contribution, table)
    kept = (before == table) | (before == NO_NODE)
    assert np.argwhere(~kept).tolist() == [[5, 2]]


def test_all_nodes_of_a_phase_are_alike_to_chance():
    ring_ids = np.arange(1000)
    table = table_with_successors(ring_ids)
    fingers = empty_phases(table, ring_ids)
    fill_by_chance(fingers, np.arange(1000, dtype=np.int32), np.arange(1000, dtype=np.int32), 3, table)
    for i, ends in ((1, 4), (4, 32), (9, 1000)):
        counts = np.bincount((table[:, i] - ring_ids) % 1000, minlength=ends)[2**i :]
        expected = 1000 / len(counts)
        assert ((counts - expected) ** 2 / expected).sum() < len(counts) + 5 * np.sqrt(2 * len(counts))
