"""King's latencies as p2psim and Kompics have them, and what they lack."""

import gzip
import struct

import numpy as np
import pytest

from weft.errors import WeftError
from weft.experiments.engine.dataset import LATENCIES, USUAL_LATENCIES, find, usual_latencies
from weft.experiments.measures.hosts import measured_hosts
from weft.model.king import complete, read_java
from weft.model.latency import read_latency

TIMES = np.array([[0, 20, 35], [20, 0, 41], [35, 41, 0]], float)
HEADING = "topology E2EGraph\nfailure_model NullFailureModel\n\nnode 1\nnode 2\n\n"


def java(rows: np.ndarray) -> bytes:
    """Bytes as ObjectOutputStream writes an int[][]."""

    def described(name: bytes) -> bytes:
        return b"\x72" + struct.pack(">H", len(name)) + name + bytes(8) + b"\x02\x00\x00\x78\x70"

    inner = [described(b"[I"), *[b"\x71" + struct.pack(">I", 0x7E0002)] * (len(rows) - 1)]
    out = b"\xac\xed\x00\x05\x75" + described(b"[[I") + struct.pack(">i", len(rows))
    for row, kind in zip(rows, inner, strict=True):
        out += b"\x75" + kind + struct.pack(f">i{len(row)}i", len(row), *row)
    return out


def lines(times: np.ndarray) -> str:
    return "".join(
        f"{i + 1},{j + 1} {times[i, j] * 1000:.0f}\n" for i in range(len(times)) for j in range(len(times)) if i < j
    )


def test_the_three_forms_are_the_same_times(tmp_path):
    (tmp_path / "king.txt").write_text(HEADING + lines(TIMES))
    (tmp_path / "king.matrix.gz").write_bytes(
        gzip.compress("\n".join(" ".join(f"{time * 1000:.0f}" for time in row) for row in TIMES).encode())
    )
    (tmp_path / "KingMatrix.data").write_bytes(java(TIMES.astype(int)))
    for name in ("king.txt", "king.matrix.gz", "KingMatrix.data"):
        measured_hosts.cache_clear()
        latency = measured_hosts(str(tmp_path / name))
        assert latency.round_trip(np.array([0, 1, 2]), np.array([2, 0, 1])).tolist() == [35.0, 20.0, 41.0]


def test_hosts_of_which_times_are_missing_are_left_out():
    times = np.array([[0, 5, -1, 7], [-1, 0, 6, 8], [-1, -1, 0, -1], [7, 8, -1, 0]], float)
    found = complete(times)  # 1 and 2 know each other one way; nobody knows 0 and 2, nor 2 and 3
    assert found.tolist() == [[0, 5, 7], [5, 0, 8], [7, 8, 0]]
    with pytest.raises(WeftError, match="no two hosts"):
        complete(np.full((3, 3), -1.0))


@pytest.mark.parametrize("cut", [4, 20, 40, 60, -3])
def test_a_java_matrix_that_is_cut_short_is_told(cut, tmp_path):
    whole = java(TIMES.astype(int))
    with pytest.raises(WeftError, match=r"no whole int\[\]\[\]"):
        read_java(whole[:cut])
    (tmp_path / "KingMatrix.data").write_bytes(whole[:cut])
    with pytest.raises(WeftError, match=r"KingMatrix\.data"):
        read_latency(tmp_path / "KingMatrix.data")


def test_a_host_that_cannot_be_is_told(tmp_path):
    (tmp_path / "king.txt").write_text("1,2 100\n1,999999999 100\n")
    with pytest.raises(WeftError, match="host 999,999,999"):
        read_latency(tmp_path / "king.txt")
    (tmp_path / "king.txt").write_text("0,2 100\n1,2 100\n")
    with pytest.raises(WeftError, match="line 1 has a host 0"):
        read_latency(tmp_path / "king.txt")


def test_king_is_taken_before_planetlab_where_a_user_has_it(tmp_path):
    (tmp_path / "latency").mkdir()
    for name in ("planetlab-490.txt", "KingMatrix.data"):
        (tmp_path / "latency" / name).write_bytes(b"")
    found = {key: find(tmp_path, LATENCIES[key]) for key in USUAL_LATENCIES}
    assert found["king"] == tmp_path / "latency" / "KingMatrix.data"
    assert usual_latencies({key: str(path) for key, path in found.items() if path}) == "king"
