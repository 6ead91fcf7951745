"""What a broker can send, as measured on our own broker code (benchmarks/broker.py).

A batch of n publications takes n / speedup(n) units of capacity, speedup interpolated between the sizes measured: to be
read, matched and written for one link. For each additional link or broker it only has to be written.
"""

import tomllib
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import numpy as np

from weft.arrays import Floats
from weft.errors import WeftError


@dataclass(frozen=True)
class Capacity:
    publications_per_second: float  # in batches of one
    sizes: tuple[int, ...] = (1,)  # of batches, ascending
    speedup: tuple[float, ...] = (1.0,)  # publications a second in batches of that size, relative to batches of one
    additional: float = 1.0  # share of the cost for each additional link or broker that a message is sent to

    def __post_init__(self) -> None:
        if not self.publications_per_second > 0 or not 0 <= self.additional <= 1:
            raise ValueError("publications_per_second must be above 0, and additional from 0 to 1")
        if list(self.sizes) != sorted(set(self.sizes)) or not self.sizes or self.sizes[0] != 1:
            raise ValueError("sizes must ascend from 1")
        if len(self.speedup) != len(self.sizes) or not min(self.speedup) > 0:
            raise ValueError("speedup must have a number above 0 for each size")

    def costs(self) -> Floats:
        """Milliseconds for batches of 0 to the largest size; beyond, in proportion."""
        counts = np.arange(self.sizes[-1] + 1)
        return 1000.0 * counts / np.interp(counts, self.sizes, self.speedup) / self.publications_per_second


def measured_capacity() -> Capacity:
    return _capacity_of(files("weft.sim").joinpath("broker_capacity.toml").read_text())


def read_capacity(path: Path) -> Capacity:
    """The table of a file that `weft bench` wrote, or somebody by hand."""
    if not path.is_file():
        raise WeftError(f"{path} does not exist.")
    try:
        return _capacity_of(path.read_text())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, KeyError, TypeError, ValueError) as error:
        raise WeftError(
            f"{path} is no table of capacity: {error}. It needs [capacity] with publications_per_second and "
            "additional, and [batch] with sizes and speedup, as `weft bench` writes them."
        ) from error


def _capacity_of(text: str) -> Capacity:
    table = tomllib.loads(text)
    capacity, batch = table["capacity"], table["batch"]
    return Capacity(
        float(capacity["publications_per_second"]),
        tuple(map(int, batch["sizes"])),
        tuple(map(float, batch["speedup"])),
        float(capacity["additional"]),
    )
