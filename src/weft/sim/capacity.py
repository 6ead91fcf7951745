"""What a broker can send, as measured on our own broker code (benchmarks/broker.py).

A batch of n publications takes n / speedup(n) units of capacity, speedup interpolated between the sizes measured: to be
read, matched and written for one link. For each additional link or broker it only has to be written.
"""

import tomllib
from dataclasses import dataclass
from importlib.resources import files

import numpy as np

from weft.arrays import Floats


@dataclass(frozen=True)
class Capacity:
    publications_per_second: float  # in batches of one
    sizes: tuple[int, ...] = (1,)  # of batches, ascending
    speedup: tuple[float, ...] = (1.0,)  # publications a second in batches of that size, relative to batches of one
    additional: float = 1.0  # share of the cost for each additional link or broker that a message is sent to

    def costs(self) -> Floats:
        """Milliseconds for batches of 0 to the largest size; beyond, in proportion."""
        counts = np.arange(self.sizes[-1] + 1)
        return 1000.0 * counts / np.interp(counts, self.sizes, self.speedup) / self.publications_per_second


def measured_capacity() -> Capacity:
    table = tomllib.loads(files("weft.sim").joinpath("broker_capacity.toml").read_text())
    capacity, batch = table["capacity"], table["batch"]
    return Capacity(
        capacity["publications_per_second"], tuple(batch["sizes"]), tuple(batch["speedup"]), capacity["additional"]
    )
