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


def named_users() -> Instance:
    nodes, topics = (np.array(names, dtype=object) for names in (["ann", "bob"], ["x", "y"]))
    return instance_from_pairs([0, 1, 1], [1, 0, 1], node_names=nodes, topic_names=topics, social=True)


def test_names_of_topics_are_written_too(tmp_path: Path) -> None:
    named_users().write(tmp_path / "i")
    assert weft.Instance.read(tmp_path / "i") == named_users()
    assert pq.read_table(tmp_path / "i" / "topics.parquet").to_pydict() == {"topic": [0, 1], "name": ["x", "y"]}


def test_nodes_and_topics_are_found_by_name_or_number() -> None:
    named, plain = named_users(), instance_of([(9, 6)])
    assert [named.node_called(named.node_name(node)) for node in (0, 1)] == [0, 1]
    assert [named.topic_called(named.topic_name(topic)) for topic in (0, 1)] == [0, 1]
    assert (named.node_name(1), named.topic_name(1), plain.node_name(9), plain.topic_name(6)) == ("bob", "y", "9", "6")
    assert (plain.node_called("9"), plain.topic_called("6"), plain.node_called("0")) == (9, 6, 0)


@pytest.mark.parametrize(
    ("instance", "name", "sentence"),
    [
        (named_users(), "bobb", "There is no node 'bobb': did you mean bob\\?"),
        (named_users(), "zzz", "There is no node 'zzz'\\."),
        (named_users(), "1", "There is no node '1'\\."),
        (instance_of([]), "10", "There is no node '10': without names, nodes are 0 to 9\\."),
        (instance_of([]), "-1", "There is no node '-1': without names"),
        (instance_of([]), "ann", "There is no node 'ann': without names"),
    ],
)
def test_a_name_that_nobody_has_is_told(instance: Instance, name: str, sentence: str) -> None:
    with pytest.raises(WeftError, match=sentence):
        instance.node_called(name)


def test_an_instance_tells_what_it_is() -> None:
    assert repr(named_users()) == "Instance(2 nodes, 2 topics, 3 subscriptions, social)"
    assert repr(instance_of([])) == "Instance(10 nodes, 7 topics, 0 subscriptions)"
    assert len(named_users().fingerprint) == 32
    assert hash(named_users()) == hash(named_users())


def test_publishers_of_a_social_instance_can_be_left_out() -> None:
    users = named_users()
    assert users.publishers is not None
    assert len(users.publishers) == 2
    nobody = users.without_publishers
    assert nobody.publishers is not None
    assert (len(nobody.publishers), nobody.fingerprint) == (0, users.fingerprint)


def test_counts_are_the_largest_ids_where_none_are_given() -> None:
    assert instance_from_pairs([], []).counts == {"nodes": 0, "topics": 0, "subscriptions": 0}
    assert instance_from_pairs([3], [0]).counts == {"nodes": 4, "topics": 1, "subscriptions": 1}


@pytest.mark.parametrize(
    ("ids", "names", "numbers"),
    [
        (["10", "9", "10", "-3"], ["-3", "9", "10"], [2, 1, 2, 0]),
        (["10", "9", "010"], ["010", "10", "9"], [1, 2, 0]),
        ([" b", "a ", "b"], ["a", "b"], [1, 0, 1]),
        ([10, 9, 0], ["0", "9", "10"], [2, 1, 0]),
        ([], [], []),
    ],
)
def test_ids_of_a_table_are_numbered_in_order(ids: list[object], names: list[str], numbers: list[int]) -> None:
    table = pa.table({"who": pa.array(ids) if ids else pa.array([], pa.string()), "what": ["t"] * len(ids)})
    made = Instance.from_arrow(table, "who", "what", source="here")
    assert made.node_names is not None
    assert made.node_names.tolist() == names
    assert made.subscribers[0].tolist() == sorted(set(numbers)) if ids else made.topics == 0
    assert made.meta == {"source": "here"}


def test_columns_that_hold_no_ids_are_told() -> None:
    table = pa.table({"who": ["a", None], "what": [[1], [2]], "which": ["x", "y"]})
    for columns, sentence in {
        ("who", "which"): "Column 'who' has 1 empty values",
        ("which", "what"): "Column 'what' is of type list",
        ("which", "nothing"): "There is no column 'nothing': there are 'who', 'what', 'which'",
    }.items():
        with pytest.raises(WeftError, match=sentence):
            Instance.from_arrow(table, *columns)


def test_the_largest_number_of_nodes_is_taken() -> None:
    from weft.model.instance import LIMIT, _count

    assert _count("node", np.array([0]), LIMIT) == LIMIT


def test_more_nodes_than_fit_int32_are_refused() -> None:
    with pytest.raises(WeftError, match="too many"):
        instance_from_pairs([0], [0], node_count=2**31)
