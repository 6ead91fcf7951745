import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from routing_oracle import ring_instance, ring_overlay
from weft.kernels.jit import jit
from weft.kernels.routing.walk import Ring, bit_length, finger_towards
from weft.sim.network import network_of


@jit
def called_bit_length(number):
    return bit_length(number)


@jit
def called_finger_towards(ring, position, distance):
    return finger_towards(ring, position, distance)


@pytest.mark.parametrize("number", [1, 2, 3, 4, 255, 256, 2**31 - 1, 2**31, 2**62])
def test_bit_length_is_pythons(number):
    assert called_bit_length(number) == number.bit_length()


@settings(deadline=None, max_examples=50)
@given(st.integers(0, 10**6), st.integers(2, 40), st.integers(0, 60), st.integers(0, 3))
def test_the_finger_taken_is_the_nearest_that_does_not_pass(seed, nodes, gaps, extra):
    overlay = ring_overlay(seed, nodes, nodes + gaps, extra)
    network = network_of(ring_instance(seed, nodes, 1), overlay)
    ring = Ring(network.fingers, network.per_phase, network.ids, network.ring_size)
    for position in range(nodes):
        targets = network.position_of[overlay.of(network.node_at[position])]
        offsets = (targets - position) % nodes
        for distance in range(1, nodes):
            taken = called_finger_towards(ring, position, distance)
            assert taken == max(offset for offset in offsets if offset <= distance)


def test_rows_of_a_full_ring_have_one_column_a_phase():
    network = network_of(ring_instance(1, 40, 1), ring_overlay(1, 40, 40))
    assert network.per_phase == 1
    assert network.fingers.shape == (40, 6)
    assert np.all(network.fingers[:, 0] == 1)
