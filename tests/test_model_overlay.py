import json
from pathlib import Path

import networkx as nx
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import weft
from weft.errors import WeftError
from weft.model.instance import instance_from_pairs
from weft.model.overlay import (
    most_links,
    neighbours_of,
    overlay_from_links,
    read_overlay,
    require_made_for,
    undirected,
)


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


def test_pairs_of_linked_nodes_are_counted_once_whoever_opened_the_link() -> None:
    overlay = overlay_from_links(4, [0, 1, 3], [1, 0, 0])
    assert [ends.tolist() for ends in undirected(overlay)] == [[0, 0], [1, 3]]
    assert [neighbours_of(overlay)[node].tolist() for node in range(4)] == [[1, 3], [0], [], [0]]
    assert (most_links(overlay), most_links(overlay_from_links(0, [], []))) == (2, 0)


@given(
    links=st.lists(st.tuples(*[st.integers(0, 4)] * 2, st.integers(-1, 2)).filter(lambda link: link[0] != link[1])),
    is_sorted=st.booleans(),
)
def test_links_in_any_order_are_kept_by_source_phase_and_target(
    links: list[tuple[int, int, int]], is_sorted: bool
) -> None:
    in_order = sorted(links, key=lambda link: (link[0], link[2], link[1]))
    columns = np.array(in_order if is_sorted else links, int).reshape(-1, 3).T
    overlay = overlay_from_links(5, *columns)
    assert list(zip(overlay.sources, overlay.targets, overlay.phases, strict=True)) == in_order
    graph = nx.Graph([link[:2] for link in links])
    assert sorted(zip(*undirected(overlay), strict=True)) == sorted(tuple(sorted(edge)) for edge in graph.edges)
    assert most_links(overlay) == max((degree for _, degree in graph.degree), default=0)
    assert overlay.links == graph.number_of_edges()


def test_links_of_every_node_have_their_place() -> None:
    overlay = overlay_from_links(3, [2, 0, 2], [0, 2, 1])
    assert overlay.indptr.tolist() == [0, 1, 1, 3]
    assert len(overlay.fingerprint) == 32


def test_links_are_written_with_names_for_people(tmp_path: Path) -> None:
    overlay_from_links(2, [0], [1]).write(tmp_path / "o", names=np.array(["ann", "bob"], dtype=object))
    head, row = (tmp_path / "o" / "links.csv").read_text().splitlines()
    assert head == '"source","target","phase","source_name","target_name"'
    assert row == '0,1,,"ann","bob"'


def test_a_graph_has_names_places_and_phases() -> None:
    overlay = overlay_from_links(3, [0, 1], [1, 2], [4, -1], ring_ids=[5, 1, 9], ring_size=16)
    plain = overlay.to_networkx()
    assert dict(plain.nodes(data="ring_id")) == {0: 5, 1: 1, 2: 9}
    assert list(plain.edges(data=True)) == [(0, 1, {"phase": 4}), (1, 2, {})]
    instance = instance_from_pairs([0, 1, 2], [0, 0, 0], node_names=np.array(["a", "b", "c"], dtype=object))
    assert set(overlay.to_networkx(instance).edges) == {("a", "b"), ("b", "c")}
    assert dict(overlay_from_links(1, [], []).to_networkx().nodes(data=True)) == {0: {}}


def test_an_overlay_of_another_instance_is_refused() -> None:
    instance, other = instance_from_pairs([0, 1], [0, 0]), instance_from_pairs([0, 1], [0, 1])
    require_made_for(instance, overlay_from_links(2, [0], [1]))
    require_made_for(instance, overlay_from_links(2, [0], [1], instance=instance.fingerprint))
    for wrong in (overlay_from_links(3, [0], [1]), overlay_from_links(2, [0], [1], instance=other.fingerprint)):
        with pytest.raises(WeftError, match="was made for another instance"):
            require_made_for(instance, wrong)


def test_an_overlay_tells_what_it_is() -> None:
    made = overlay_from_links(2, [0], [1], ring_ids=[0, 1], algorithm="chord")
    assert repr(made) == "Overlay(chord: 2 nodes, 1 links, on a ring)"
    assert repr(overlay_from_links(2, [0], [1])) == "Overlay(of links: 2 nodes, 1 links)"


def test_links_are_counted_as_connections_whoever_opened_them(tmp_path: Path) -> None:
    overlay = overlay_from_links(4, [0, 1, 3], [1, 0, 0])
    overlay.write(tmp_path / "o")
    meta = json.loads((tmp_path / "o" / "meta.json").read_text())
    assert (overlay.links, meta["links"]) == (2, 2)
    (tmp_path / "o" / "meta.json").write_text(json.dumps({**meta, "links": 3}))  # rows, as folders had it before
    assert read_overlay(tmp_path / "o").links == 2
    (tmp_path / "o" / "meta.json").write_text(json.dumps({**meta, "links": 4}))
    with pytest.raises(WeftError, match="disagree on the number of links"):
        read_overlay(tmp_path / "o")
