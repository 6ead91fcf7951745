"""Latencies between homes: measured round trips, shortened, with an access line at each end that may be slow.

The King latencies that Vitis and PopSub used are not to be had, and this is not them. Of them is known that their
median is 159 ms (Vitis, section 4), and of Kompics, Vitis' simulator, how it used them: two nodes on one host were as
far apart as any two hosts, and a time of zero was taken for one between 80 and 100 ms, so that nobody had a near
neighbour by accident. This set does the same. Access lines add an exponentially distributed time, which differs much
from node to node: a node on a fast line is near to all, and one on a slow line to nobody. On PlanetLab's hosts the
median is 170 ms, where that of the hosts themselves is 135 ms.
"""

import numpy as np

from weft.arrays import Floats
from weft.model.latency import Latency, MatrixLatency

SCALE = 0.7  # of the measured round trips
ACCESS = 40.0  # milliseconds that a node adds to its round trips, on the mean
UNMEASURED = (80.0, 100.0)  # milliseconds, in place of a zero


def home_latency(hosts: Latency, nodes: int, seed: int) -> MatrixLatency:
    random = np.random.default_rng(seed)
    between = _between_hosts(hosts, random)
    host = random.permutation(np.arange(nodes) % hosts.nodes)
    trips: Floats = SCALE * between[host[:, None], host]
    together = np.triu(host[:, None] == host, 1)
    trips[together] = SCALE * random.choice(between[~np.eye(hosts.nodes, dtype=bool)], int(together.sum()))
    trips.T[together] = trips[together]
    access = random.exponential(ACCESS, nodes)
    trips += access[:, None] + access
    np.fill_diagonal(trips, 0.0)
    return MatrixLatency(trips, f"{hosts.source}, to homes")


def _between_hosts(hosts: Latency, random: np.random.Generator) -> Floats:
    every = np.arange(hosts.nodes)
    trips = hosts.round_trip(every[:, None], every).copy()
    zeros = (trips == 0) & ~np.eye(hosts.nodes, dtype=bool)
    trips[zeros] = random.uniform(*UNMEASURED, size=int(zeros.sum()))
    return trips
