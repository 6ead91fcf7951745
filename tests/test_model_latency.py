import gzip
from pathlib import Path

import numpy as np
import pytest

from weft.errors import WeftError
from weft.model.latency import (
    ConstantLatency,
    CoordinateLatency,
    MatrixLatency,
    latency_for,
    place,
    placed_latency,
    read_latency,
)
from weft.model.latency_file import write_named_times
from weft.model.overlay import overlay_from_links

A, B = np.array([0, 0, 1]), np.array([0, 1, 0])


def test_constant() -> None:
    assert ConstantLatency(2, 30.0).round_trip(A, B).tolist() == [0, 30, 30]


def test_matrix_need_not_be_symmetric() -> None:
    assert MatrixLatency(np.array([[0.0, 10], [20, 0]])).round_trip(A, B).tolist() == [0, 10, 20]


def test_coordinates() -> None:
    latency = CoordinateLatency(np.array([[0.0, 0], [3, 4]]), per_unit=2.0, base=1.0)
    assert latency.round_trip(A, B).tolist() == [0, 11, 11]


def test_nodes_are_placed_evenly_and_pay_their_access() -> None:
    hosts = MatrixLatency(np.array([[0.0, 10], [20, 0]]))
    placed = place(hosts, 5, seed=1, access=(1.0, 2.0))
    assert sorted(np.bincount(placed.host).tolist()) == [2, 3]
    for i in range(5):
        for j in range(5):
            between = hosts.matrix[placed.host[i], placed.host[j]] + placed.access[i] + placed.access[j]
            assert placed.round_trip(np.array([i]), np.array([j]))[0] == (0 if i == j else between)
    assert np.all((placed.access >= 1) & (placed.access <= 2))


def test_nobody_is_placed_on_no_hosts() -> None:
    with pytest.raises(WeftError, match="no hosts"):
        place(ConstantLatency(0), 3, seed=1)


def test_a_text_matrix_is_read_plain_or_gzipped(tmp_path: Path) -> None:
    (tmp_path / "m.txt").write_text("0 1.5\n2 0\n")
    (tmp_path / "m.txt.gz").write_bytes(gzip.compress(b"0\t1.5\n2\t0\n"))
    for name in ("m.txt", "m.txt.gz"):
        assert read_latency(tmp_path / name).round_trip(A, B).tolist() == [0, 1.5, 2]


def test_wonderproxy_records_give_the_average_in_milliseconds(tmp_path: Path) -> None:
    records = np.arange(16, dtype="<u4").reshape(2, 2, 4) * 1000
    (tmp_path / "x.ping.bin").write_bytes(records.tobytes())
    assert read_latency(tmp_path / "x.ping.bin").round_trip(A, B).tolist() == [1, 5, 9]


def test_oversim_coordinates(tmp_path: Path) -> None:
    nodes = "".join(f"<node><coord> {x} </coord><coord> 0 </coord></node>" for x in (0, 7))
    (tmp_path / "n.xml").write_text(f"<nodelist>{nodes}</nodelist>")
    assert read_latency(tmp_path / "n.xml").round_trip(A, B).tolist() == [0, 7, 7]


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("m.txt", "\n", "it is empty"),
        ("m.txt", "0 1\n", "square; this one is 1 by 2"),
        ("m.txt", "0 x\n1 0\n", "line 1: 'x' is not a number of milliseconds"),
        ("m.txt", "0 -1\n1 0\n", "line 1: -1 is no round-trip time"),
        ("n.xml", "<nodelist>", "cannot be read as OverSim's nodes"),
        ("n.xml", "<nodelist></nodelist>", "of at least one node"),
        ("n.xml", "<nodelist><node><coord/></node></nodelist>", "coordinates must be finite"),
        ("m.txt.gz", "not gzip", "m.txt.gz: it is not gzip, is damaged, or is cut short"),
        ("x.ping.bin", "12345678", "8 bytes are no square of hosts"),
        ("x.ping.bin", "\xff" * 16, "a round-trip time of .* ms: it is damaged"),
        ("n.xml", "<nodelist><node><coord>1</coord></node><node/></nodelist>", "different numbers of coordinates"),
        ("n.xml", "<nodelist><node><coord>x</coord></node></nodelist>", "cannot be read as OverSim's nodes"),
        ("m.txt", "0 1\n\n2\n", "m.txt: line 3 has 1 numbers, and line 1 has 2"),
        ("m.csv", "0,1\n1,0,5\n", "m.csv: line 2 has 3 numbers, and line 1 has 2"),
        ("m.txt", "0 1\n1e300 0\n", "line 2: 1e300 is no round-trip time: those are from 0 to 3,600,000 ms"),
        ("m.txt", "0 nan\n1 0\n", "line 1: nan is no round-trip time"),
        ("m.csv", "a,b\n0,1\n", "line 1 has 2 fields: give two names and a time"),
        ("m.csv", "0;1,5\n1,5;0\n", "line 1: '1,5' is not a number"),
    ],
)
def test_bad_files_are_told(tmp_path: Path, name: str, content: str, sentence: str) -> None:
    (tmp_path / name).write_text(content, encoding="latin-1" if name.endswith("bin") else "utf-8")
    with pytest.raises(WeftError, match=sentence):
        read_latency(tmp_path / name)


@pytest.mark.parametrize(
    "text", ["0 1.5\n2 0", "0,1.5\n2,0\n", "\ufeff0, 1.5\r\n2, 0\r\n", "0;1.5\n2;0", "# hosts\n0\t1.5 # a\n2\t0\n"]
)
def test_a_matrix_is_read_however_it_is_written(tmp_path: Path, text: str) -> None:
    (tmp_path / "m.csv").write_bytes(text.encode())
    found = read_latency(tmp_path / "m.csv")
    assert isinstance(found, MatrixLatency)
    assert found.matrix.tolist() == [[0, 1.5], [2, 0]]


def test_a_folder_is_told(tmp_path: Path) -> None:
    with pytest.raises(WeftError, match="is a folder: give a file of latencies"):
        read_latency(tmp_path)


def test_a_corrupt_archive_is_told(tmp_path: Path) -> None:
    whole = gzip.compress(np.random.default_rng(1).bytes(400))
    (tmp_path / "m.txt.gz").write_bytes(whole[:12] + b"\xff" * 40 + whole[52:])
    with pytest.raises(WeftError, match="is not gzip, is damaged, or is cut short"):
        read_latency(tmp_path / "m.txt.gz")


def test_real_sets(data: Path) -> None:
    hosts = {"planetlab-490.txt.gz": 490, "wonderproxy-222.ping.bin": 222, "oversim-nodes_2d_15000.xml.gz": 15_000}
    for name, count in hosts.items():
        latency = read_latency(data / "latency" / name)
        assert latency.nodes == count
        times = latency.round_trip(np.arange(count - 1), np.arange(1, count))
        assert 20 < np.median(times) < 200


NAMED = {
    "pairs": "a,b,ms\nrome,oslo,50\noslo,rome,48\nbern,oslo,41\nrome,bern,16\n",
    "pairs without a heading": "rome,oslo,50\noslo,rome,48\nbern,oslo,41\nrome,bern,16\n",
    "pairs with semicolons": "A;B;MS\nrome;oslo;50\noslo;rome;48\nbern;oslo;41\nrome;bern;16\n",
    "pairs with tabs": "rome\toslo\t50\noslo\trome\t48\nbern\toslo\t41\nrome\tbern\t16\n",
    "a matrix with bars": "|bern|oslo|rome\nbern|0|41|16\noslo|41|0|48\nrome|16|50|0\n",
    "a matrix": ",bern,oslo,rome\nbern,0,41,16\noslo,41,0,48\nrome,16,50,0\n",
    "a matrix with blanks and a mark": "\ufeffhost, oslo ,bern,rome\n oslo,0,41,48\nbern,41,0,16\n\nrome,50,16,0\n",
}


@pytest.mark.parametrize("text", NAMED.values(), ids=NAMED.keys())
def test_nodes_are_the_hosts_of_their_names(tmp_path: Path, text: str) -> None:
    (tmp_path / "ms.csv").write_text(text)
    names = np.array(["oslo", "rome"], object)
    placed = placed_latency(tmp_path / "ms.csv", 2, 7, names)
    assert placed.round_trip(A, B).tolist() == [0, 48, 50]
    assert not placed.is_drawn
    by_latency = overlay_from_links(2, [0], [1], parameters={"latency": "ms.csv"}, seed=1)
    assert latency_for(by_latency, tmp_path / "ms.csv", 7, names).nodes == 2  # no seed has placed them


def test_names_of_which_none_is_the_same_are_hosts_for_the_seed_only_if_asked_for(tmp_path: Path) -> None:
    (tmp_path / "ms.csv").write_text(NAMED["pairs"])
    names = np.array([f"n{k}" for k in range(5)], object)
    with pytest.raises(WeftError, match="times of 'bern' and others, and of none of the 5 nodes, such as 'n0'") as told:
        placed_latency(tmp_path / "ms.csv", 5, 7, names)
    assert told.value.options == ("draw_hosts",)
    drawn = placed_latency(tmp_path / "ms.csv", 5, 7, names, draw_hosts=True)
    assert (drawn.is_drawn, drawn.nodes) == (True, 5)
    assert placed_latency(tmp_path / "ms.csv", 5, 7).is_drawn  # a generated instance has no names
    (tmp_path / "hosts.txt").write_text("0 1\n1 0\n")
    assert placed_latency(tmp_path / "hosts.txt", 5, 7, names).is_drawn  # nor has a bare matrix


NAMES_AMISS = {
    "a pair that is missing": ("a,b,1\nb,c,2\n", "no time between 'a' and 'c'"),
    "a pair given twice": ("a,b,1\na,b,2\n", "line 2 gives the time from 'a' to 'b' again"),
    "two fields": ("a,b,1\nb,c\n", "line 2 has 2 fields"),
    "a word for a time": ("a,b,1\nb,a,soon\n", "line 2: 'soon' is not a number of milliseconds"),
    "a short row of a matrix": (",a,b\na,0,1\nb,1\n", "line 3 has 1 times, and there are 2 names"),
    "a name twice": (",a,a\na,0,1\na,1,0\n", "names 'a' more than once"),
    "a time before now": ("a,b,-1\n", "line 1: -1 is no round-trip time"),
    "some of the nodes": ("oslo,rome,1\n", "times of 2 of the 3 nodes, and none of 'bern'"),
    "nothing": ("\n", "it is empty"),
}


@pytest.mark.parametrize(("text", "told"), NAMES_AMISS.values(), ids=NAMES_AMISS.keys())
def test_named_latencies_that_are_amiss_are_told(tmp_path: Path, text: str, told: str) -> None:
    (tmp_path / "ms.csv").write_text(text)
    with pytest.raises(WeftError, match=told) as error:
        placed_latency(tmp_path / "ms.csv", 3, 1, np.array(["bern", "oslo", "rome"], object))
    assert "ms.csv" in str(error.value)


def test_named_times_that_are_written_are_read_again(tmp_path: Path) -> None:
    times, names = np.array([[0.0, 1.5], [2.0, 0.0]]), ("berlin", "São Paulo")
    write_named_times(tmp_path / "l.csv", times, names)
    read = read_latency(tmp_path / "l.csv")
    assert isinstance(read, MatrixLatency)
    assert (read.names, read.matrix.tolist()) == (names, times.tolist())
