"""Trees as a file: what is written is read again, and what is not trees of the overlay is refused."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from routing_oracle import ring_instance, ring_overlay
from weft.errors import WeftError
from weft.model.instance import instance_from_pairs
from weft.model.overlay import overlay_from_links
from weft.model.tree import Trees
from weft.overlays.catalog import design
from weft.trees.weave import weave

# Topic 0: nodes 0, 1, 2 in a row. Topic 1: nobody. Topic 2: 1 and 3, with 2 as a relay. Topic 3: node 3 alone.
INSTANCE = instance_from_pairs([0, 1, 2, 1, 3, 3], [0, 0, 0, 2, 2, 3], node_count=4, topic_count=4)
OVERLAY = overlay_from_links(4, [0, 1, 2], [1, 2, 3])
ROWS = {
    "topic": [0, 0, 0, 2, 2, 2, 3],
    "node": [1, 0, 2, 2, 1, 3, 3],
    "parent": [None, 1, 1, None, 2, 2, None],
}


def written(path: Path, **changes: list[int | None]) -> Path:
    """A file without any meta, as another program would write it."""
    pq.write_table(pa.table({**ROWS, **changes}), path / "trees.parquet")
    return path / "trees.parquet"


def assert_same(one: Trees, other: Trees) -> None:
    for name in ("indptr", "members", "parents"):
        assert np.array_equal(getattr(one, name), getattr(other, name))
        assert getattr(one, name).dtype == getattr(other, name).dtype
    assert (one.nodes, dict(one.meta)) == (other.nodes, dict(other.meta))


@pytest.mark.parametrize("seed", range(5))
def test_trees_are_read_as_they_were_written(tmp_path: Path, seed: int) -> None:
    instance, overlay = ring_instance(seed, 40, 12, 0.1 * seed), ring_overlay(seed, 40, 64)
    trees = weave(instance, overlay, fan_out=3)
    trees.write(tmp_path / "trees.parquet")
    assert_same(Trees.read(tmp_path / "trees.parquet", instance, overlay), trees)
    assert trees.meta["fan_out"] == 3


def test_the_file_is_a_row_a_member_with_parents_before_children(tmp_path: Path) -> None:
    trees = Trees.read(written(tmp_path), INSTANCE, OVERLAY)
    assert trees.indptr.tolist() == [0, 3, 3, 6, 7]
    assert trees.members.tolist() == ROWS["node"]
    assert trees.parents.tolist() == [-1, 0, 0, -1, 0, 0, -1]
    trees.write(tmp_path / "again.parquet")
    assert pq.read_table(tmp_path / "again.parquet").to_pydict() == ROWS


def test_topics_may_come_in_any_order(tmp_path: Path) -> None:
    order = [3, 0, 6, 1, 4, 5, 2]
    mixed = {name: [values[row] for row in order] for name, values in ROWS.items()}
    whole = Trees.read(written(tmp_path), INSTANCE, OVERLAY)
    assert_same(Trees.read(written(tmp_path, **mixed), INSTANCE, OVERLAY), whole)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"parent": [None, 0, 1, None, 2, 2, None]}, "node 0 of the tree of topic 0 does not come after its parent"),
        ({"parent": [0, None, 1, None, 2, 2, None]}, "node 1 of the tree of topic 0 does not come after its parent"),
        ({"parent": [None, None, 1, None, 2, 2, None]}, "node 0 of the tree of topic 0 does not come after its parent"),
        ({"parent": [None, 1, 3, None, 2, 2, None]}, "node 2 of the tree of topic 0 does not come after its parent"),
        ({"parent": [None, 1, 1, None, 2, 1, None]}, "links node 1 with node 3, which the overlay does not"),
        ({"parent": [None, 1, 7, None, 2, 2, None]}, "names node 7, but there are 4 nodes"),
        ({"node": [1, 0, 4, 2, 1, 3, 3]}, "names node 4, but there are 4 nodes"),
        ({"topic": [0, 0, 0, 2, 2, 2, 4]}, "names topic 4, but there are 4 topics"),
        ({"node": [1, 0, 0, 2, 1, 3, 3]}, "node 0 is more than once in the tree of topic 0"),
        ({"node": [1, 2, 0, 2, 1, 3, 2]}, "node 3 subscribes to topic 3 and is not in its tree"),
        ({"topic": [0, 0, 0, 2, 2, 2, None]}, "empty values in column 'topic'"),
    ],
)
def test_what_is_no_tree_is_refused(tmp_path: Path, changes: dict[str, list[int | None]], sentence: str) -> None:
    path = written(tmp_path, **changes)
    with pytest.raises(WeftError) as error:
        Trees.read(path, INSTANCE, OVERLAY)
    assert sentence in str(error.value)
    assert str(path) in str(error.value)


def test_trees_of_another_overlay_or_instance_are_refused(tmp_path: Path) -> None:
    """Even if they would do: the other overlay has one link more, and the other instance one subscription less."""
    instance = ring_instance(1, 20, 5, 0.3)
    overlay = design(instance, "chord", seed=1)
    weave(instance, overlay).write(tmp_path / "trees.parquet")
    other = overlay_from_links(20, [*overlay.sources, 0], [*overlay.targets, 5])
    with pytest.raises(WeftError, match=r"trees\.parquet: The trees were woven for another overlay: weave them"):
        Trees.read(tmp_path / "trees.parquet", instance, other)
    nodes, topics = instance.interest.row_of_each()[1:], instance.interest.indices[1:]
    fewer = instance_from_pairs(nodes, topics, node_count=20, topic_count=5)
    with pytest.raises(WeftError, match="woven for another instance"):
        Trees.read(tmp_path / "trees.parquet", fewer, overlay.with_meta(instance=fewer.fingerprint))


def test_a_missing_file_and_one_of_something_else_are_named(tmp_path: Path) -> None:
    with pytest.raises(WeftError, match=r"none\.parquet does not exist"):
        Trees.read(tmp_path / "none.parquet", INSTANCE, OVERLAY)
    pq.write_table(pa.table({"topic": [1]}), tmp_path / "other.parquet")
    with pytest.raises(WeftError, match="has no column 'node'"):
        Trees.read(tmp_path / "other.parquet", INSTANCE, OVERLAY)


def test_no_trees_are_trees_of_nobody(tmp_path: Path) -> None:
    nobody = instance_from_pairs([], [], node_count=4, topic_count=2)
    trees = weave(nobody, OVERLAY)
    trees.write(tmp_path / "trees.parquet")
    assert_same(Trees.read(tmp_path / "trees.parquet", nobody, OVERLAY), trees)


def test_what_is_there_is_not_replaced_without_force(tmp_path: Path) -> None:
    trees = Trees.read(written(tmp_path), INSTANCE, OVERLAY)
    with pytest.raises(WeftError, match="exists already"):
        trees.write(tmp_path / "trees.parquet")
    trees.write(tmp_path / "trees.parquet", force=True)
