import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from greedy_reference import Parts, random_instances
from weft.kernels.greedy.connectivity import contribution, join, unfinished, unlinked

INSTANCES = random_instances(st.integers(2, 25), st.integers(1, 12), 0.1, 0.4, 1.0)


def linked(instance, seed, links):
    """The kernel's parts and the reference's, after the same random links."""
    tcc, parts = unlinked(instance.interest.indptr, instance.interest.indices), Parts(instance)
    for v, w in np.random.default_rng(seed).integers(instance.nodes, size=(links, 2)):
        if v != w:
            join(tcc, v, w)
            parts.add(v, w)
    return tcc, parts


def contributions(tcc, nodes):
    return np.array([[contribution(tcc, v, w) for w in range(nodes)] for v in range(nodes)])


@given(INSTANCES, st.integers(0, 2**32), st.integers(0, 40))
@settings(deadline=None, max_examples=60)
def test_contributions_are_tccs_saved(instance, seed, links):
    tcc, parts = linked(instance, seed, links)
    assert np.array_equal(contributions(tcc, instance.nodes), parts.contributions())
    assert len(np.unique(tcc.part)) == parts.count()


@given(INSTANCES, st.integers(0, 2**32), st.integers(0, 40), st.data())
@settings(deadline=None, max_examples=60)
def test_what_is_finished_can_be_left_out(instance, seed, links, data):
    tcc, parts = linked(instance, seed, links)
    closed = data.draw(st.sets(st.integers(0, instance.nodes - 1)))
    is_open = np.array([node not in closed for node in range(instance.nodes)])
    rest = unfinished(tcc, is_open, instance.topics)
    both_open = is_open[:, None] & is_open[None, :]
    expected = np.where(both_open, parts.contributions(), 0)
    assert np.array_equal(contributions(rest, instance.nodes), expected)
    assert np.all(expected.sum(axis=1)[np.diff(rest.indptr) > 0] > 0)  # and no node is kept for nothing
    for v, w in np.argwhere(expected)[:3]:  # links can be added to the rest as well
        join(rest, v, w)
        parts.add(v, w)
    assert np.array_equal(contributions(rest, instance.nodes), np.where(both_open, parts.contributions(), 0))
