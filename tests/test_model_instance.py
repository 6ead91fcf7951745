import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import weft
from weft.errors import WeftError
from weft.model.instance import Instance, instance_from_pairs, read_instance

pairs = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 6)), max_size=40)


def instance_of(rows: list[tuple[int, int]]) -> Instance:
    return instance_from_pairs([v for v, _ in rows], [t for _, t in rows], node_count=10, topic_count=7)


@given(pairs)
def test_both_directions_hold_the_distinct_pairs(rows: list[tuple[int, int]]) -> None:
    instance = instance_of(rows)
    assert instance.subscriptions == len(set(rows))
    for node in range(10):
        assert instance.interest[node].tolist() == sorted({t for v, t in rows if v == node})
    for topic in range(7):
        assert instance.subscribers[topic].tolist() == sorted({v for v, t in rows if t == topic})
    assert instance.interest.indices.dtype == instance.subscribers.indices.dtype == np.int32


@given(pairs, pairs)
def test_fingerprints_tell_interests_apart(one: list[tuple[int, int]], other: list[tuple[int, int]]) -> None:
    assert (instance_of(one).fingerprint == instance_of(other).fingerprint) == (set(one) == set(other))


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    names = np.array(["a", "b", "ü"], dtype=object)
    written = instance_from_pairs([0, 2, 2], [1, 0, 1], node_count=3, topic_count=2, node_names=names, social=False)
    written.with_meta(seed=7).write(tmp_path / "i")
    read = weft.Instance.read(tmp_path / "i")
    assert read.fingerprint == written.fingerprint
    assert read.node_names is not None
    assert read.node_names.tolist() == ["a", "b", "ü"]
    assert read.topic_names is None
    assert read.meta["seed"] == 7
    meta = json.loads((tmp_path / "i" / "meta.json").read_text())
    assert (meta["nodes"], meta["topics"], meta["subscriptions"]) == (3, 2, 3)
    assert pq.read_schema(tmp_path / "i" / "interest.parquet").types == [pa.int64(), pa.int64()]


def test_interest_may_be_a_folder_of_parts_in_any_order(tmp_path: Path) -> None:
    instance_from_pairs([0, 1, 1], [0, 0, 1]).write(tmp_path / "i")
    whole = pq.read_table(tmp_path / "i" / "interest.parquet")
    (tmp_path / "i" / "interest.parquet").unlink()
    (tmp_path / "i" / "interest.parquet").mkdir()
    for part, rows in enumerate(([2, 0], [1])):
        pq.write_table(whole.take(rows), tmp_path / "i" / "interest.parquet" / f"part-{part}.parquet")
    (tmp_path / "i" / "interest.parquet" / "_SUCCESS").touch()
    assert read_instance(tmp_path / "i").interest.indices.tolist() == [0, 0, 1]


def broken(tmp_path: Path, **changes: object) -> Path:
    """An instance of one subscription, then spoiled."""
    folder = tmp_path / "i"
    instance_from_pairs([0], [0]).write(folder)
    for file, content in changes.items():
        path = folder / ("meta.json" if file == "meta" else f"{file}.parquet")
        if content is None:
            path.unlink()
        elif file == "meta":
            path.write_text(str(content))
        else:
            pq.write_table(pa.table(content), path)
    return folder


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"meta": None}, "is not an instance: it has no meta.json"),
        ({"meta": "{"}, "is not JSON"),
        ({"meta": "[]"}, "is not a JSON object"),
        ({"meta": "{}"}, "has no 'nodes'"),
        ({"meta": '{"nodes": -1, "topics": 1, "subscriptions": 1}'}, "nodes is -1"),
        ({"meta": '{"nodes": 1, "topics": 1, "subscriptions": 2}'}, "disagree on the number of subscriptions"),
        ({"interest": None}, "does not exist"),
        ({"interest": {"node": [0]}}, "has no column 'topic'; it has node"),
        ({"interest": {"node": ["x"], "topic": [0]}}, "cannot be read as Parquet with node"),
        ({"interest": {"node": [{"a": 1}], "topic": [0]}}, "cannot be read as Parquet with node"),
        ({"interest": {"node": [None], "topic": [0]}}, "empty values in column 'node'"),
        ({"interest": {"node": [-1], "topic": [0]}}, "node -1 is negative"),
        ({"interest": {"node": [5], "topic": [0]}}, "node 5 is out of range: there are 1 nodes"),
        ({"interest": {"node": [0], "topic": [2**40]}}, "topic 1099511627776 is out of range"),
        ({"interest": {"node": [0, 0], "topic": [0, 0]}}, "1 duplicate rows"),
        ({"nodes": {"node": [3], "name": ["a"]}}, "the ids are not 0 to 0"),
        ({"nodes": {"node": [0, 1], "name": ["a", "b"]}}, "the ids are not 0 to 0"),
    ],
)
def test_a_spoiled_folder_is_told_in_a_sentence(tmp_path: Path, changes: dict[str, object], sentence: str) -> None:
    with pytest.raises(WeftError, match=sentence):
        read_instance(broken(tmp_path, **changes))


def test_a_file_that_is_not_parquet_is_told(tmp_path: Path) -> None:
    folder = broken(tmp_path)
    (folder / "interest.parquet").write_text("hello")
    with pytest.raises(WeftError, match=r"interest\.parquet cannot be read"):
        read_instance(folder)


def test_a_file_with_corrupt_pages_is_named(tmp_path: Path) -> None:
    instance_from_pairs(np.arange(1000), np.arange(1000) * 7 % 1000).write(tmp_path / "i")
    file = tmp_path / "i" / "interest.parquet"
    whole = file.read_bytes()
    file.write_bytes(whole[:60] + bytes(600) + whole[660:])
    with pytest.raises(WeftError, match=r"interest\.parquet cannot be read"):
        read_instance(tmp_path / "i")


def test_more_nodes_than_fit_int32_are_refused() -> None:
    with pytest.raises(WeftError, match="too many"):
        instance_from_pairs([0], [0], node_count=2**31)
