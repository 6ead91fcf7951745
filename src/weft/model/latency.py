"""Latency: the round-trip time between nodes, in milliseconds, from measurements, coordinates or a constant.

Every model answers `round_trip(sources, targets)` for arrays of nodes; a message takes half of it one way.
Measured sets have a few hundred hosts, so `place` puts several nodes on a host, each behind an access delay of its own.
Where a file names its hosts and an instance its nodes, every node is the host of its name, and nothing is drawn.
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
from weft.model.address import local_path
from weft.model.instance import Instance, Names
from weft.model.king import JAVA, has_pairs, read_java, read_pairs
from weft.model.latency_file import LONGEST, has_names, read_named_times, time_of
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
    names: tuple[str, ...] | None = None  # of its rows and columns, where they have any

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
    is_drawn: bool = True  # by a seed; else every node is the host of its name

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


def placed_latency(
    path: str | Path, nodes: int, seed: int = 1, names: Names | None = None, *, draw_hosts: bool = False
) -> PlacedLatency:
    """The latencies of a file: of the nodes themselves where both have names; else the seed places them on hosts.

    Names of which none is the same are an error; `draw_hosts` places the nodes by the seed whatever the names.
    """
    hosts = read_latency(path)
    by_name = None if draw_hosts else _by_name(hosts, names)
    return place(hosts, nodes, seed) if by_name is None else by_name


def _by_name(hosts: Latency, names: Names | None) -> PlacedLatency | None:
    """Every node at the host of its name; None where one of both has no names."""
    if names is None or not isinstance(hosts, MatrixLatency) or hosts.names is None:
        return None
    row_of = {name: row for row, name in enumerate(hosts.names)}
    missing = [name for name in names if name not in row_of]
    if len(missing) == len(names) and len(names):
        raise WeftError(
            f"{hosts.source} has times of {hosts.names[0]!r} and others, and of none of the {len(names)} nodes, such "
            f"as {names[0]!r}: mend the names, or have the seed place nodes on its hosts with `draw_hosts`.",
            "draw_hosts",
        )
    if missing:
        raise WeftError(
            f"{hosts.source} has times of {len(names) - len(missing)} of the {len(names)} nodes, and none of "
            f"{missing[0]!r}: add what is missing."
        )
    rows = np.array([row_of[name] for name in names], np.int64)
    return PlacedLatency(hosts, rows, np.zeros(len(rows)), is_drawn=False)


def latency_for(
    overlay: Overlay | Instance, path: str | Path, seed: int, names: Names | None = None, *, draw_hosts: bool = False
) -> PlacedLatency:
    """Place the nodes of an overlay or instance; where latencies made the overlay, as it was then."""
    placed = placed_latency(path, overlay.nodes, seed, names, draw_hosts=draw_hosts)
    by_latency = bool(overlay.meta.get("parameters", {}).get("latency"))
    if by_latency and overlay.meta["seed"] != seed and placed.is_drawn:
        raise WeftError(
            f"The overlay was designed for nodes that seed {overlay.meta['seed']} places on hosts, and the seed is "
            f"{seed}: give the same one."
        )
    return placed


def require_latency_of(latency: Latency, nodes: int) -> None:
    if latency.nodes < nodes:
        raise WeftError(f"The latencies are of {latency.nodes} nodes and not of {nodes}: place the nodes on them.")


def read_latency(path: str | Path) -> Latency:
    """Latencies by file name: CSV (.csv), a matrix as text, WonderProxy's (.ping.bin), OverSim's nodes (.xml).

    And King's by what is in the file: p2psim's lines, `i,j microseconds`, or a Java int[][] of milliseconds.

    All of them may be gzipped (.gz). CSV has a row a pair, `a,b,ms`, or a matrix with the names above and beside it, or
    without names.
    """
    path = local_path(path)
    if path.is_dir():
        raise WeftError(f"{path} is a folder: give a file of latencies.")
    if not path.is_file():
        raise WeftError(f"{path} does not exist.")
    try:
        return _latency_of(path, _content(path))
    except WeftError as error:
        raise WeftError(f"{path}: {error}", *error.options) from error


def _content(path: Path) -> bytes:
    try:
        data = gzip.decompress(path.read_bytes()) if path.name.endswith(".gz") else path.read_bytes()
    except (gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise WeftError("it is not gzip, is damaged, or is cut short: get it again.") from error
    if not data.strip():
        raise WeftError("it is empty.")
    return data


def _latency_of(path: Path, data: bytes) -> Latency:
    kind = path.name.removesuffix(".gz")
    if kind.endswith(".ping.bin"):
        return MatrixLatency(_wonderproxy(data), str(path))
    if kind.endswith(".xml"):
        return CoordinateLatency(_oversim(data), source=str(path))
    if data.startswith(JAVA):
        return MatrixLatency(read_java(data), str(path))
    lines = _lines(data)
    if has_pairs(lines):
        return MatrixLatency(read_pairs(lines), str(path))
    if kind.endswith(".csv") and has_names(lines):
        times, names = read_named_times(lines)
        return MatrixLatency(times, str(path), names)
    return MatrixLatency(_matrix(lines), str(path))


def _lines(data: bytes) -> list[str]:
    try:
        return data.decode("utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise WeftError("it is neither text nor named for what it is: .ping.bin, .xml, or .gz of them.") from error


def _matrix(lines: list[str]) -> Floats:
    """Round-trip times in milliseconds, a row a host: numbers with white space, commas or semicolons between them."""
    rows = [(number, _times(line, number)) for number, line in enumerate(lines, 1) if line.partition("#")[0].strip()]
    for number, row in rows:
        if len(row) != len(rows[0][1]):
            raise WeftError(f"line {number} has {len(row)} numbers, and line {rows[0][0]} has {len(rows[0][1])}.")
    return np.array([row for _, row in rows])


def _times(line: str, number: int) -> list[float]:
    text = line.partition("#")[0]
    separator = next((mark for mark in ";,\t" if mark in text), None)
    return [time_of(word.strip(), number) for word in text.strip().split(separator)]


def _wonderproxy(data: bytes) -> Floats:
    """Latencies from u32[n][n][4] of minimum, average, maximum and deviation in microseconds; the average is taken."""
    hosts = round((len(data) / 16) ** 0.5)
    if len(data) != 16 * hosts * hosts:
        raise WeftError(
            f"{len(data)} bytes are no square of hosts with 16 bytes a pair: it is cut short, or something else."
        )
    times: Floats = np.frombuffer(data, "<u4").reshape(hosts, hosts, 4)[:, :, 1] / 1000.0
    if times.max() > LONGEST:
        raise WeftError(f"it has a round-trip time of {times.max():,.0f} ms: it is damaged, or something else.")
    return times


def _oversim(data: bytes) -> Floats:
    try:
        nodes = list(ET.fromstring(data).iter("node"))
        rows = [[float(c.text or "nan") for c in node.iter("coord")] for node in nodes]
    except (ET.ParseError, ValueError) as error:
        raise WeftError(f"it cannot be read as OverSim's nodes: {error}.") from error
    if len({len(row) for row in rows}) > 1:
        raise WeftError("its nodes have different numbers of coordinates.")
    return np.array(rows)


def _shape(matrix: Floats) -> str:
    return " by ".join(map(str, matrix.shape))
