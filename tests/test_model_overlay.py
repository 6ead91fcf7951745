from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import weft
from weft.errors import WeftError
from weft.model.overlay import overlay_from_links


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    overlay = overlay_from_links(3, [2, 0, 1], [0, 1, 2], [0, 0, 1], ring_ids=[5, 1, 9], ring_size=16, algorithm="x")
    overlay.write(tmp_path / "o")
    read = weft.Overlay.read(tmp_path / "o")
    assert read.sources.tolist() == [0, 1, 2]
    assert read.targets.tolist() == [1, 2, 0]
    assert read.phases.tolist() == [0, 1, 0]
    assert read.ring_ids is not None
    assert read.ring_ids.tolist() == [5, 1, 9]
    assert read.ring_size == 16
    assert read.meta["algorithm"] == "x"


def test_an_overlay_without_a_ring_has_nulls_in_its_files(tmp_path: Path) -> None:
    overlay_from_links(2, [0], [1]).write(tmp_path / "o")
    assert pq.read_table(tmp_path / "o" / "nodes.parquet")["ring_id"].null_count == 2
    assert pq.read_table(tmp_path / "o" / "links.parquet")["phase"].null_count == 1
    read = weft.Overlay.read(tmp_path / "o")
    assert read.ring_ids is None
    assert read.ring_size is None
    assert read.of(0).tolist() == [1]
    assert read.of(1).tolist() == []


@pytest.mark.parametrize(
    ("links", "ring", "sentence"),
    [
        (([0], [3]), None, "names node 3, but there are 3"),
        (([-1], [0]), None, "names node -1, but there are 3"),
        (([1], [1]), None, "node 1 has a link to itself"),
        (([0], [1]), [0, 0, 1], "3 nodes need 3 different ring ids"),
        (([0], [1]), [0, 1, 3], r"must lie in 0\.\.2"),
    ],
)
def test_impossible_overlays_are_refused(links: tuple[list[int], list[int]], ring: list[int], sentence: str) -> None:
    with pytest.raises(WeftError, match=sentence):
        overlay_from_links(3, *links, ring_ids=ring)


@pytest.mark.parametrize("change", ['"nodes": "two"', '"ring_size": "two"'])
def test_a_meta_json_without_numbers_is_told(tmp_path: Path, change: str) -> None:
    overlay_from_links(2, [0], [1], ring_ids=[0, 1]).write(tmp_path / "o")
    meta = tmp_path / "o" / "meta.json"
    meta.write_text(meta.read_text().replace(change.replace('"two"', "2"), change))
    with pytest.raises(WeftError, match=r"meta\.json: .* is 'two', not a number"):
        weft.Overlay.read(tmp_path / "o")


def test_a_ring_with_holes_in_the_file_is_told(tmp_path: Path) -> None:
    overlay_from_links(2, [0], [1], ring_ids=[0, 1]).write(tmp_path / "o")
    pq.write_table(pa.table({"node": [0, 1], "ring_id": [0, None]}), tmp_path / "o" / "nodes.parquet")
    with pytest.raises(WeftError, match="others have none"):
        weft.Overlay.read(tmp_path / "o")
