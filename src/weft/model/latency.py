"""Latency: the round-trip time between nodes, in milliseconds, from measurements, coordinates or a constant.

Every model answers `round_trip(sources, targets)` for arrays of nodes; a message takes half of it one way.
Measured sets have a few hundred hosts, so `place` puts several nodes on a host, each behind an access delay of its own.
"""

import gzip
import xml.etree.ElementTree as ET
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np

from weft.arrays import Floats, Int64s, Integers
from weft.errors import WeftError
from weft.model.overlay import Overlay


class Latency(Protocol):
    @property
    def nodes(self) -> int: ...

    @property
    def source(self) -> str:
        """The file it was read from, or else what it is: for the meta of what is made by it."""

    def round_trip(self, sources: Integers, targets: Integers) -> Floats: ...


@dataclass(frozen=True, eq=False)
class ConstantLatency:
    nodes: int
    milliseconds: float = 1.0  # between any two nodes; a node reaches itself in no time
    source: str = "constant"

    def round_trip(self, sources: Integers, targets: Integers) -> Floats:
        return np.where(sources == targets, 0.0, self.milliseconds)


@dataclass(frozen=True, eq=False)
class MatrixLatency:
    matrix: Floats  # [from, to], milliseconds; it need not be symmetric
    source: str = "matrix"

    def __post_init__(self) -> None:
        if self.matrix.ndim != 2 or self.matrix.shape[0] != self.matrix.shape[1]:
            raise WeftError(f"a latency matrix must be square; this one is {_shape(self.matrix)}.")
        if not np.all(np.isfinite(self.matrix)) or np.any(self.matrix < 0):
            raise WeftError("a latency matrix must hold finite times of at least 0.")

    @property
    def nodes(self) -> int:
        return len(self.matrix)

    def round_trip(self, sources: Integers, targets: Integers) -> Floats:
        times: Floats = self.matrix[sources, targets]
        return times


@dataclass(frozen=True, eq=False)
class CoordinateLatency:
    coordinates: Floats  # a row a node
    per_unit: float = 1.0  # milliseconds for a Euclidean distance of 1
    base: float = 0.0  # milliseconds between any two different nodes, on top
    source: str = "coordinates"

    def __post_init__(self) -> None:
        if self.coordinates.ndim != 2 or not self.coordinates.size or not np.all(np.isfinite(self.coordinates)):
            raise WeftError("coordinates must be finite, as many for every node, and of at least one node.")

    @property
    def nodes(self) -> int:
        return len(self.coordinates)

    def round_trip(self, sources: Integers, targets: Integers) -> Floats:
        apart = np.linalg.norm(self.coordinates[sources] - self.coordinates[targets], axis=-1)
        return np.where(sources == targets, 0.0, self.base + self.per_unit * apart)


@dataclass(frozen=True, eq=False)
class PlacedLatency:
    hosts: Latency
    host: Int64s  # of every node
    access: Floats  # milliseconds that every node adds to a round trip

    @property
    def nodes(self) -> int:
        return len(self.host)

    @property
    def source(self) -> str:
        return self.hosts.source

    def round_trip(self, sources: Integers, targets: Integers) -> Floats:
        between = self.hosts.round_trip(self.host[sources], self.host[targets])
        return np.where(sources == targets, 0.0, between + self.access[sources] + self.access[targets])


def place(hosts: Latency, nodes: int, seed: int, access: tuple[float, float] = (0.5, 5.0)) -> PlacedLatency:
    """Place nodes on hosts, as evenly as possible, with access delays drawn uniformly between two bounds."""
    if hosts.nodes == 0:
        raise WeftError("There are no hosts to place nodes on: give latencies of at least one.")
    random = np.random.default_rng(seed)
    host = random.permutation(np.arange(nodes, dtype=np.int64) % hosts.nodes)
    return PlacedLatency(hosts, host, random.uniform(*access, size=nodes))


def placed_latency(path: str | Path, nodes: int, seed: int) -> PlacedLatency:
    """The latencies of a file, on whose hosts the seed places the nodes."""
    return place(read_latency(path), nodes, seed)


def latency_for(overlay: Overlay, path: str | Path, seed: int) -> PlacedLatency:
    """The same for an overlay; if its design went by latencies, its nodes must be where that placed them."""
    by_latency = bool(overlay.meta.get("parameters", {}).get("latency"))
    if by_latency and overlay.meta["seed"] != seed:
        raise WeftError(
            f"The overlay was designed for nodes that seed {overlay.meta['seed']} places on hosts, and the seed is "
            f"{seed}: give the same one."
        )
    return placed_latency(path, overlay.nodes, seed)


def require_latency_of(latency: Latency, nodes: int) -> None:
    if latency.nodes < nodes:
        raise WeftError(f"The latencies are of {latency.nodes} nodes and not of {nodes}: place the nodes on them.")


def read_latency(path: str | Path) -> Latency:
    """Latencies by file name: a matrix in text (.txt), WonderProxy's (.ping.bin), OverSim's nodes (.xml); .gz too."""
    path = Path(path)
    if not path.is_file():
        raise WeftError(f"{path} does not exist.")
    kind = path.name.removesuffix(".gz")
    try:
        data = gzip.decompress(path.read_bytes()) if path.name.endswith(".gz") else path.read_bytes()
        if not data.strip():
            raise WeftError("it is empty.")
        if kind.endswith(".ping.bin"):
            return MatrixLatency(_wonderproxy(data), str(path))
        if kind.endswith(".xml"):
            return CoordinateLatency(_oversim(data), source=str(path))
        return MatrixLatency(np.loadtxt(data.decode().splitlines(), ndmin=2), str(path))
    except (ValueError, ET.ParseError, gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise WeftError(f"{path} cannot be read as latencies: {str(error).rstrip('.')}.") from error
    except WeftError as error:
        raise WeftError(f"{path}: {error}") from error


def _wonderproxy(data: bytes) -> Floats:
    """Latencies from u32[n][n][4] of minimum, average, maximum and deviation in microseconds; the average is taken."""
    records = np.frombuffer(data, "<u4").reshape(-1, 4)
    hosts = round(len(records) ** 0.5)
    return records[:, 1].reshape(hosts, hosts) / 1000.0


def _oversim(data: bytes) -> Floats:
    rows = [[float(c.text or "nan") for c in node.iter("coord")] for node in ET.fromstring(data).iter("node")]
    return np.array(rows)


def _shape(matrix: Floats) -> str:
    return " by ".join(map(str, matrix.shape))
