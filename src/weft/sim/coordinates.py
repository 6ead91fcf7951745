"""Round trips as nodes would know them: coordinates by Vivaldi (Dabek et al. 2004), on a plane with heights.

Every node has a place on a plane and a height, which stands for its access line; the estimated round trip is the
distance of two places and both heights. In every round a node takes the round trip of its exchange, and moves to where
the estimate would have been nearer to it, the further the less certain it is of itself, and the more it is of its peer.
It moves less from sample to sample, so that a network comes to rest (Vivaldi's own step is constant, for times that
change).
Descriptors carry coordinates; here a node sees a peer's of the round before, however old the descriptor.
"""

import numpy as np

from weft.arrays import Bools, Floats, Int32s
from weft.kernels.vitis.state import NOBODY, Setting

SHARE = 0.25  # of the way to where a sample puts a node, and of the error that it is told
PATIENCE = 100  # samples after which a node moves half as far
LOWEST = 0.1  # milliseconds of height
AT_FIRST = 1.0  # relative error of a node that has measured nothing


class Coordinates:
    def __init__(self, points: Floats) -> None:
        """Take the points, [node, axis], in place: two of the plane, and the height."""
        self.points = points
        self.errors = np.full(len(points), AT_FIRST)
        self.samples = np.zeros(len(points), np.int64)
        turn = np.arange(len(points)) * (np.pi * (3 - 5**0.5))  # all apart, so that everybody has a direction
        points[:, 0], points[:, 1], points[:, 2] = np.cos(turn), np.sin(turn), LOWEST

    def measure(self, setting: Setting, partners: Int32s, there: Bools) -> None:
        """Take a sample of every node that is there with its partner, all at once."""
        nodes = np.flatnonzero(there & (partners != NOBODY) & there[partners])
        peers = partners[nodes]
        trips = setting.trips[setting.host[nodes], setting.host[peers]] + setting.access[nodes] + setting.access[peers]
        trips = np.maximum(trips, LOWEST)
        between = self.points[nodes, :2] - self.points[peers, :2]
        plane = np.maximum(np.hypot(between[:, 0], between[:, 1]), 1e-9)
        heights = self.points[nodes, 2] + self.points[peers, 2]
        off = trips - (plane + heights)
        weight = self.errors[nodes] / np.maximum(self.errors[nodes] + self.errors[peers], 1e-9)
        share = SHARE * PATIENCE / (PATIENCE + self.samples[nodes])
        self.samples[nodes] += 1
        force = share * weight * off
        pull = force / (plane + heights)
        self.points[nodes, :2] += pull[:, None] * between
        self.points[nodes, 2] = np.maximum(self.points[nodes, 2] + pull * heights, LOWEST)
        learnt = np.abs(off) / trips
        self.errors[nodes] += share * weight * (np.minimum(learnt, 1.0) - self.errors[nodes])
