from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from routing_oracle import READINGS, Oracle, ring_instance, ring_overlay
from weft.kernels.jit import jit
from weft.kernels.routing.walk import bit_length, offset_towards
from weft.sim.network import network_of


@jit
def called_bit_length(number):
    return bit_length(number)


@jit
def called_offset_towards(ring, position, distance, short):
    return offset_towards(ring, position, distance, short)


@pytest.mark.parametrize("number", [1, 2, 3, 4, 255, 256, 2**31 - 1, 2**31, 2**62])
def test_bit_length_is_pythons(number):
    assert called_bit_length(number) == number.bit_length()


@settings(deadline=None, max_examples=50)
@given(st.integers(0, 10**6), st.integers(1, 40), st.integers(0, 60), st.integers(0, 3), st.sampled_from(READINGS))
def test_the_link_taken_is_the_one_that_comes_nearest(seed, nodes, gaps, extra, reading):
    """Identifiers are all of them, whether a node has one or not."""
    instance, overlay = ring_instance(seed, nodes, 1), ring_overlay(seed, nodes, nodes + gaps, extra)
    network, oracle = network_of(instance, overlay, reading), Oracle(instance, overlay, forwarding=reading)
    for position, target in product(range(nodes), range(nodes + gaps)):
        node = int(network.node_at[position])
        first = oracle.first_at_or_after(target)
        short = oracle.distance(node, oracle.id_of[first]) - oracle.distance(node, target)
        distance = int(network.position_of[first] - position) % nodes
        if short < 0:  # once around
            short, distance = short + nodes + gaps, nodes
        taken = called_offset_towards(network.ring, position, distance, short)
        assert network.node_at[(position + taken) % nodes] == oracle.towards(node, target)


def test_rows_have_every_link_once_from_the_successor_on():
    network = network_of(ring_instance(1, 40, 1), ring_overlay(1, 40, 40), READINGS[2])
    for offsets in (network.fingers, network.neighbours):
        rows = [offsets.values[row[0] : row[-1]].tolist() for row in offsets.starts]
        assert all(row[0] == 1 and row == sorted(set(row)) for row in rows)
    assert [len(row) for row in network.fingers.starts] == [7] * 40
    assert sum(map(len, [network.neighbours.values])) > sum(map(len, [network.fingers.values]))
