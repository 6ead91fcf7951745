"""The definitions of BeaConvey section 3, as plainly as they can be written, for small instances."""

import numpy as np
from hypothesis import strategies as st

from weft.model.instance import instance_from_pairs


def random_instance(seed, nodes, topics, density):
    rng = np.random.default_rng(seed)
    pairs = np.nonzero(rng.random((nodes, topics)) < density)
    return instance_from_pairs(*pairs, node_count=nodes, topic_count=topics)


def random_instances(nodes, topics, *densities):
    """A strategy, of two others and the densities to choose from."""
    return st.builds(random_instance, st.integers(0, 2**32), nodes, topics, st.sampled_from(densities))


class Parts:
    """part[v, t] names the topic-connected component of node v on topic t; -1 where v does not subscribe."""

    def __init__(self, instance):
        self.part = np.full((instance.nodes, instance.topics), -1)
        for node in range(instance.nodes):
            self.part[node, instance.interest[node]] = node

    def overlaps(self):
        subscribes = (self.part >= 0).astype(int)
        return subscribes @ subscribes.T

    def contributions(self):
        one, other = self.part[:, None, :], self.part[None, :, :]
        return ((one >= 0) & (other >= 0) & (one != other)).sum(axis=2)

    def add(self, v, w):
        for topic in np.flatnonzero((self.part[v] >= 0) & (self.part[w] >= 0)):
            column = self.part[:, topic]
            column[column == column[w]] = column[v]

    def count(self):
        return sum(len(np.unique(column[column >= 0])) for column in self.part.T)


class AnyLink:
    def __init__(self, nodes):
        self.permitted = ~np.eye(nodes, dtype=bool)

    def add(self, v, w):
        pass


class DegreeAtMost:
    def __init__(self, most, nodes):
        self.room = np.full(nodes, most)

    @property
    def permitted(self):
        free = self.room > 0
        return free[:, None] & free[None, :] & ~np.eye(len(free), dtype=bool)

    def add(self, v, w):
        self.room[[v, w]] -= 1


class Circle:
    """Degree at most two, and no cycle."""

    def __init__(self, nodes):
        self.degree, self.fragment = np.zeros(nodes, int), np.arange(nodes)

    @property
    def permitted(self):
        free = self.degree < 2
        return free[:, None] & free[None, :] & (self.fragment[:, None] != self.fragment[None, :])

    def add(self, v, w):
        self.degree[[v, w]] += 1
        self.fragment[self.fragment == self.fragment[w]] = self.fragment[v]


class Fingers:
    """permitted[v, w]: v may still own a finger to w, one for every phase, and w has a place for it.

    The place of the predecessor's finger, of phase 0, is kept for it.
    """

    def __init__(self, ring_ids, first_phase, in_degree=10**9):
        distance = (ring_ids[None, :] - ring_ids[:, None]) % len(ring_ids)
        self.phase = np.array([[int(d).bit_length() - 1 for d in row] for row in distance])
        self.permitted = self.phase >= first_phase
        self.places = np.full(len(ring_ids), in_degree - 1)
        self.permitted[(self.places == 0)[None, :] & (self.phase > 0)] = False

    def add(self, v, w):
        self.permitted[v, self.phase[v] == self.phase[v, w]] = False
        self.places[w] -= self.phase[v, w] > 0
        if self.places[w] == 0:
            self.permitted[self.phase[:, w] > 0, w] = False


def assert_greedy_by_worth(instance, rule, chosen, logarithms, step):
    """Every link is worth as much as any that the rule permits, up to a step; `logarithms` are of the weights."""
    parts = Parts(instance)
    for v, w, contribution in zip(chosen.owners, chosen.others, chosen.contributions, strict=True):
        permitted, contributions = rule.permitted, parts.contributions()
        assert permitted[v, w]
        assert contributions[v, w] == contribution
        with np.errstate(divide="ignore"):
            worth = np.log(contributions) + logarithms
        assert worth[v, w] >= worth[permitted].max() - step - 1e-9
        rule.add(v, w)
        parts.add(v, w)
    assert not parts.contributions()[rule.permitted].any()


def assert_greedy(instance, rule, chosen, given=(), by_overlap=False):
    """Every link has the highest contribution of all that the rule permits, at its turn; in the end none has any."""
    parts = Parts(instance)
    overlaps = parts.overlaps()
    for v, w in given:
        parts.add(v, w)
    for v, w, contribution in zip(chosen.owners, chosen.others, chosen.contributions, strict=True):
        permitted, contributions = rule.permitted, parts.contributions()
        assert permitted[v, w]
        assert contributions[v, w] == contribution == contributions[permitted].max()
        if by_overlap:
            assert overlaps[v, w] == overlaps[permitted & (contributions == contribution)].max()
        rule.add(v, w)
        parts.add(v, w)
    assert not parts.contributions()[rule.permitted].any()
