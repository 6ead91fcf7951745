"""Weft from Python: tables in and out, values that are equal by content, and the defaults of the command line."""

from collections.abc import Callable
from dataclasses import fields, replace
from inspect import signature
from pathlib import Path
from types import FunctionType

import networkx as nx
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import weft
from weft.cli import options as cli_options
from weft.cli.design import design as design_command
from weft.model.csr import csr_from_pairs
from weft.model.latency import ConstantLatency
from weft.model.overlay import undirected
from weft.overlays.catalog import BUILDERS, options_of
from weft.workloads.catalog import MAKERS

ROWS = [("berlin", "jazz"), ("paris", "jazz"), ("berlin", "news"), ("oslo", "news"), ("berlin", "jazz")]
FRAME = pd.DataFrame(ROWS, columns=["client", "topic"])


def test_an_instance_of_a_frame_keeps_its_names() -> None:
    instance = weft.Instance.from_pandas(FRAME, "client", "topic", source="a test")
    assert (instance.counts, instance.meta) == ({"nodes": 3, "topics": 2, "subscriptions": 4}, {"source": "a test"})
    shown = instance.to_pandas()
    assert set(zip(shown.node_name, shown.topic_name, strict=True)) == set(ROWS)
    assert weft.Instance.from_arrow(pa.Table.from_pandas(FRAME), "client", "topic") == instance


@given(
    st.lists(st.tuples(st.sampled_from(["7", "007", "10", "9", "-3", " b", "é", "z"]), st.integers(0, 12)), min_size=1)
)
def test_a_frame_is_numbered_as_its_file_is_ingested(rows: list[tuple[str, int]]) -> None:
    frame = pd.DataFrame(rows, columns=["client", "topic"])
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "s.csv"
        frame.to_csv(path, index=False)
        assert weft.Instance.from_pandas(frame, "client", "topic") == weft.ingest(path, "subscriptions")


def test_filters_of_a_frame_are_expanded_as_those_of_its_file(tmp_path: Path) -> None:
    rows = [("hall", "x/+"), ("roof", "x/1"), ("shed", "#"), ("shed", "no/#"), ("7", "C++")]
    frame = pd.DataFrame(rows, columns=["client", "topic"])
    frame.to_csv(tmp_path / "s.csv", index=False)
    (tmp_path / "t.txt").write_text("x/2\ny\n")
    made = weft.Instance.from_pandas(frame, "client", "topic", topics=["x/2", "y"])
    assert made == weft.ingest(tmp_path / "s.csv", "subscriptions", topics=tmp_path / "t.txt")
    assert made.filters is not None
    assert made.subscriptions == 2 + 1 + 3 + 1
    with pytest.raises(weft.WeftError, match=r"Column 'topic' has subscriptions to filters, such as '#'.*`topics`"):
        weft.Instance.from_pandas(frame, "client", "topic")
    assert weft.Instance.from_pandas(frame, "client", "topic", social=True).topics == 5


@pytest.mark.parametrize(
    ("frame", "told"),
    [
        (FRAME.rename(columns={"client": "who"}), "There is no column 'client': there are 'who', 'topic'"),
        (pd.DataFrame({"client": ["a", None], "topic": ["x", "y"]}), "Column 'client' has 1 empty values"),
        (pd.DataFrame({"client": [["a"], ["b"]], "topic": ["x", "y"]}), "ids are text or integers"),
    ],
)
def test_a_frame_that_will_not_do_is_told(frame: pd.DataFrame, told: str) -> None:
    with pytest.raises(weft.WeftError, match=told):
        weft.Instance.from_pandas(frame, "client", "topic")


INSTANCE = weft.generate("social", nodes=40)
OVERLAY = weft.design(INSTANCE, "chord")


def test_the_seed_is_that_of_the_command_line() -> None:
    assert signature(design_command).parameters["seed"].default == 1
    assert cli_options.Seed is not None
    assert weft.generate("social", nodes=40, seed=1) == INSTANCE
    assert weft.design(INSTANCE, "chord", seed=1) == OVERLAY
    drawn = weft.publications(INSTANCE, 100, 1)
    assert drawn == weft.publications(INSTANCE, 100)
    given = weft.evaluate(INSTANCE, OVERLAY, "scribe", drawn, seed=1)
    assert replace(weft.evaluate(INSTANCE, OVERLAY, "scribe", 100), seconds=0) == replace(given, seconds=0)


def test_values_are_equal_by_content(tmp_path: Path) -> None:
    INSTANCE.write(tmp_path / "i")
    OVERLAY.write(tmp_path / "o")
    assert weft.read(tmp_path / "i") == INSTANCE
    assert weft.read(tmp_path / "o") == OVERLAY
    assert len({INSTANCE, weft.Instance.read(tmp_path / "i")}) == 1
    assert weft.design(INSTANCE, "chord", seed=2) != OVERLAY
    assert weft.weave(INSTANCE, OVERLAY) == weft.weave(INSTANCE, OVERLAY)
    named = replace(INSTANCE, node_names=np.array([f"n{k}" for k in range(40)], object))
    assert named != INSTANCE
    assert INSTANCE.without_publishers != INSTANCE
    assert INSTANCE != OVERLAY


def test_values_tell_what_they_are_in_a_line_and_in_a_notebook() -> None:
    trees, drawn = weft.weave(INSTANCE, OVERLAY), weft.publications(INSTANCE, 30)
    for value in (INSTANCE, OVERLAY, trees, drawn, weft.evaluate(INSTANCE, OVERLAY, "pie", drawn)):
        assert repr(value).startswith(type(value).__name__ + "(")
        assert len(repr(value)) < 200
        assert "<table" in value._repr_html_()
        assert len(value._repr_html_()) < 3000
    assert repr(INSTANCE) == f"Instance(40 nodes, 40 topics, {INSTANCE.subscriptions:,} subscriptions, social)"


def test_negative_indices_count_from_the_end() -> None:
    rows = csr_from_pairs(np.array([0, 0, 2]), np.array([1, 3, 2]), 3, 4)
    assert [row.tolist() for row in (rows[-1], rows[-2], rows[-3])] == [[2], [], [1, 3]]
    assert [row.tolist() for row in rows] == [[1, 3], [], [2]]  # type: ignore[attr-defined]
    assert OVERLAY.of(-1).tolist() == OVERLAY.of(39).tolist()
    for wrong in (3, -4):
        with pytest.raises(IndexError, match="out of range"):
            rows[wrong]
    with pytest.raises(IndexError, match="out of range"):
        OVERLAY.of(40)


def test_an_overlay_is_a_graph() -> None:
    graph = OVERLAY.to_networkx()
    assert nx.is_strongly_connected(graph)
    assert graph.to_undirected().number_of_edges() == OVERLAY.links
    low, high = undirected(OVERLAY)
    assert {frozenset(edge) for edge in graph.edges} == {frozenset(pair) for pair in zip(low, high, strict=True)}
    assert graph.nodes[7]["ring_id"] == OVERLAY.ring_ids[7]  # type: ignore[index]
    cities = weft.Instance.from_pandas(FRAME, "client", "topic")
    assert set(weft.design(cities, "gm").to_networkx(cities)) == {"berlin", "oslo", "paris"}


def test_inspect_describes_either() -> None:
    assert weft.inspect(INSTANCE)["nodes"] == 40
    assert weft.inspect(OVERLAY, INSTANCE)["ring_violations"] == []
    with pytest.raises(weft.WeftError, match="tell with `instance`"):
        weft.inspect(OVERLAY)


def test_every_option_is_in_the_docstring() -> None:
    told = weft.design.__doc__ or ""
    assert all(f"    {option} " in told for name in BUILDERS for option in options_of(name))
    for function in (weft.evaluate, weft.ingest):
        options = [name for name, each in signature(function).parameters.items() if each.default is not each.empty]
        assert all(f"    {option} " in (function.__doc__ or "") for option in options)


class Thing:
    """A value of no type that anything takes."""


FUNCTIONS = sorted(name for name in weft.__all__ if isinstance(getattr(weft, name), FunctionType))
INNER = ("with_meta", "write_into")  # of whatever words; Weft's own


def methods_of(one: object) -> dict[str, Callable[..., object]]:
    """What users call of a value with arguments, by name."""
    named = {name: getattr(one, name) for name, kept in vars(type(one)).items() if not isinstance(kept, property)}
    called = {name: each for name, each in named.items() if name[0] != "_" and name not in INNER and callable(each)}
    return {f"{type(one).__name__}.{name}": each for name, each in called.items() if signature(each).parameters}


METHODS = methods_of(INSTANCE) | methods_of(OVERLAY) | methods_of(weft.publications(INSTANCE, 3))


def good_for(name: str) -> object:
    """Something that the parameter of that name takes."""
    known: dict[str, object] = {
        "instance": INSTANCE,
        "given": INSTANCE,
        "was": INSTANCE,
        "instances": [INSTANCE],
        "overlay": OVERLAY,
        "table": pa.Table.from_pandas(FRAME),
        "frame": FRAME,
        "sampling": weft.Sampling(nodes=3),
        "system": ("chord", "pie"),
        "baseline": ("chord", "pie"),
        "names": np.array(["x"] * 40, object),
        "hosts": ConstantLatency(3),
        "publications": 3,
        "schedule": weft.churn_by_rate(INSTANCE, 1.0),
    }
    words = ("path", "figure", "node", "router", "workload", "name", "files", "kind", "overlays", "routers")
    if name == "topic":
        return 0
    return known.get(name, "x" if name in words else 1)


@pytest.mark.parametrize("name", [*FUNCTIONS, *METHODS])
def test_an_argument_of_a_wrong_type_is_named(name: str) -> None:
    require_named(METHODS.get(name) or getattr(weft, name), name)


def test_an_argument_of_a_method_of_what_takes_longer_to_make_is_named_too() -> None:
    trials = weft.compare(INSTANCE, ["chord"], ["pie"], seeds=2, publications=20)
    methods = methods_of(weft.weave(INSTANCE, OVERLAY)) | methods_of(trials)
    assert {"Trees.read", "Trees.write", "Trees.tables", "Trials.mean"} <= {*methods}
    for name, function in methods.items():
        require_named(function, name)


def test_an_option_of_a_wrong_type_is_named() -> None:
    """Options that only one overlay, workload or sample takes."""
    for overlay in BUILDERS:
        for option in options_of(overlay):
            with pytest.raises(weft.WeftError, match=f"`{option}` "):
                weft.design(INSTANCE, overlay, **{option: Thing()})
    for workload, maker in MAKERS.items():
        for option in {*signature(maker).parameters} - {"nodes"}:
            with pytest.raises(weft.WeftError, match=f"`{option}` "):
                weft.generate(workload, **{"nodes": 40, option: Thing()})
    for field in fields(weft.Sampling):
        with pytest.raises(weft.WeftError, match=f"`{field.name}` is Thing"):
            weft.sample(INSTANCE, replace(weft.Sampling(3), **{field.name: Thing()}))


def require_named(function: Callable[..., object], name: str) -> None:
    parameters = signature(function).parameters.values()
    typed = [one for one in parameters if one.kind not in (one.VAR_KEYWORD, one.VAR_POSITIONAL)]
    needed = {one.name: good_for(one.name) for one in typed if one.default is one.empty}
    if name.startswith("Instance.from"):
        needed |= {"node": "client", "topic": "topic"}
    for one in typed:
        with pytest.raises(weft.WeftError, match=f"`{one.name}` is Thing, and has to be ") as told:
            function(**{**needed, one.name: Thing()})
        assert told.value.options == (one.name,)


def test_numbers_of_numpy_and_paths_are_as_good_as_those_of_python(tmp_path: Path) -> None:
    made = weft.generate("unif", nodes=20, topics=9, subscriptions=3)
    assert weft.publications(made, np.int64(5), seed=np.int32(1)) == weft.publications(made, 5)
    made.write(tmp_path / "i")
    assert weft.read(tmp_path / "i") == weft.read(str(tmp_path / "i")) == made
    with pytest.raises(weft.WeftError, match="`seed` is bool, and has to be a whole number"):
        weft.design(made, "chord", seed=True)


def test_frames_of_polars_are_read() -> None:
    """Frames that are none of pandas' and give themselves to Arrow, with polars' own types of text."""

    class Polars:
        def __init__(self, table: pa.Table) -> None:
            self.__arrow_c_stream__ = table.__arrow_c_stream__

    for kind in (pa.string_view(), pa.large_string()):
        table = pa.table({name: pa.array(FRAME[name], pa.string()).cast(kind) for name in FRAME.columns})
        assert weft.Instance.from_pandas(Polars(table), "client", "topic") == (  # type: ignore[arg-type]
            weft.Instance.from_pandas(FRAME, "client", "topic")
        )
