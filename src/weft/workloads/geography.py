"""A stand-in for measured latencies: hosts in cities on a globe.

A city is drawn near one of a few centres of population, a host in one of the cities. Light in fibre takes 1 ms for
100 km there and back; real routes are longer than great circles, by a factor that each pair of cities has for itself,
and end in networks of some milliseconds. The spread of the round trips is like that of measured sets (median near
140 ms, a hundredth below 10 ms, the longest about 500 ms); nothing else is claimed.
"""

import numpy as np

from weft.errors import WeftError
from weft.model.latency import Floats, MatrixLatency

EARTH = 6371.0  # kilometres, radius
KILOMETRES = 100.0  # of fibre in a round trip of 1 ms
DETOUR = (1.4, 2.6)  # route by great circle
LAST_MILES = 2.0  # milliseconds, mean of what a host adds
CITY = 1.0  # milliseconds within a city

# Latitude, longitude, share of the hosts, spread in degrees.
CENTRES = np.array(
    [
        [40.0, -80.0, 0.25, 8.0],
        [38.0, -118.0, 0.12, 5.0],
        [50.0, 8.0, 0.28, 8.0],
        [33.0, 118.0, 0.17, 9.0],
        [15.0, 85.0, 0.08, 9.0],
        [-18.0, -50.0, 0.06, 7.0],
        [-30.0, 148.0, 0.04, 5.0],
    ]
)


def geographic_latency(hosts: int, seed: int, cities: int = 120) -> MatrixLatency:
    if hosts < 1 or cities < 1:
        raise WeftError(f"A geographic latency of {hosts} hosts in {cities} cities: give at least one of each.")
    rng = np.random.default_rng(seed)
    centre = CENTRES[rng.choice(len(CENTRES), size=cities, p=CENTRES[:, 2])]
    between = _great_circles(centre[:, :2] + rng.normal(size=(cities, 2)) * centre[:, 3:])
    detour = np.triu(rng.uniform(*DETOUR, size=(cities, cities)), 1)
    trips = between / KILOMETRES * (detour + detour.T) + CITY
    city = rng.integers(cities, size=hosts)
    own = rng.exponential(LAST_MILES, size=hosts)
    matrix = trips[city[:, None], city] + own[:, None] + own
    np.fill_diagonal(matrix, 0.0)
    return MatrixLatency(matrix)


def _great_circles(places: Floats) -> Floats:
    """Kilometres between places given by latitude and longitude in degrees."""
    latitude, longitude = np.radians(places).T
    points = np.stack(
        [np.cos(latitude) * np.cos(longitude), np.cos(latitude) * np.sin(longitude), np.sin(latitude)], axis=1
    )
    angles: Floats = np.arccos(np.clip(points @ points.T, -1.0, 1.0))
    return EARTH * angles
