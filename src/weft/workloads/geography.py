"""Latencies where none were measured: hosts in and around cities of the world.

Cities lie anywhere on the globe and have hosts by a Zipf law. A host stands some hundred kilometres from its city, and
behind an access line of its own. Between hosts a signal runs at two thirds of the speed of light along 1.5 times the
straight line, so that a round trip takes 15 ms for a thousand kilometres.
"""

import numpy as np

from weft.model.latency import CoordinateLatency, PlacedLatency
from weft.workloads.followers import apportion, zipf_popularity

RADIUS = 6.371  # of the earth, thousand kilometres
SUBURBS = 0.15  # how far hosts are from their city in each direction, thousand kilometres, standard deviation
ROUND_TRIP = 15.0  # milliseconds for a thousand kilometres
CITIES = 40
ACCESS = (0.5, 5.0)  # milliseconds that a host adds to a round trip


def geographic_latency(hosts: int, seed: int) -> PlacedLatency:
    random = np.random.default_rng(seed)
    directions = random.normal(size=(CITIES, 3))
    cities = RADIUS * directions / np.linalg.norm(directions, axis=1, keepdims=True)
    homes = np.repeat(cities, apportion(hosts, zipf_popularity(CITIES, 1.0)), axis=0)
    coordinates = homes + random.normal(scale=SUBURBS, size=homes.shape)
    access = random.uniform(*ACCESS, size=hosts)
    return PlacedLatency(CoordinateLatency(coordinates, per_unit=ROUND_TRIP), np.arange(hosts), access)
