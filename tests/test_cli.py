"""The commands as a user runs them: results on stdout, one sentence for a mistake, nothing half-written."""

import json
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from inspect import signature
from pathlib import Path
from typing import get_args

import numpy as np
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import short_lived
import weft
from command_line import Run
from weft import cli
from weft.cli import options
from weft.cli.generate import generate
from weft.cli.output import print_result
from weft.model.latency import placed_latency
from weft.overlays.catalog import BUILDERS
from weft.sim import catalog
from weft.sim.catalog import ROUTERS
from weft.workloads.catalog import MAKERS

HOSTS = "0 10 90 5\n12 0 50 70\n90 40 0 30\n5 66 31 0\n"


@pytest.fixture
def run(spark: SparkSession, run_weft: Run) -> Run:
    """`weft` in this process, in an empty folder, with the tests' Spark session instead of one of its own."""
    return run_weft


def test_generate_writes_the_instance_it_tells_of(run: Run) -> None:
    told = run("generate", "zipf", "--nodes", 50, "--topics", 40, "--subscriptions", 5, "--out", "z", "--json").json
    instance = weft.Instance.read("z")
    assert told == {"instance": "z", "nodes": 50, "topics": 40, "subscriptions": 250}
    assert instance.counts == {"nodes": 50, "topics": 40, "subscriptions": 250}


@pytest.mark.parametrize("workload", ["zipf", "low", "social"])
def test_both_engines_generate_the_same(run: Run, workload: str) -> None:
    for engine in ("local", "spark"):
        assert run("generate", workload, "--nodes", 300, "--engine", engine, "--out", engine).code == 0
    assert weft.Instance.read("local").fingerprint == weft.Instance.read("spark").fingerprint
    assert weft.Instance.read("local").meta == weft.Instance.read("spark").meta


def test_from_a_file_to_publications(run: Run, tmp_path: Path) -> None:
    (tmp_path / "e.txt").write_text("".join(f"{i} {(i * 7 + 1) % 50}\n{i} {(i + 1) % 50}\n" for i in range(50)))
    told = run("ingest", "e.txt", "--as", "follows", "--out", "all", "--json").json
    assert (told["nodes"], told["topics"]) == (50, 50)
    assert run("sample", "all", "--nodes", 20, "--out", "some", "--json").json["nodes"] == 20
    assert run("sample", "e.txt", "--as", "follows", "--nodes", 20, "--out", "same").code == 0
    assert weft.Instance.read("some").fingerprint == weft.Instance.read("same").fingerprint
    assert run("publish", "some", "--count", 30, "--out", "p.parquet", "--json").json["count"] == 30
    assert json.loads(run("inspect", "some", "--json").out)["nodes"] == 20
    assert sorted(path.name for path in tmp_path.iterdir()) == ["all", "e.txt", "p.parquet", "same", "some"]


def test_from_an_instance_to_its_proof(run: Run, tmp_path: Path) -> None:
    run("generate", "unif", "--nodes", 60, "--topics", 30, "--subscriptions", 4, "--out", "i")
    told = run("design", "i", "--overlay", "swico-sl", "--out", "o", "--json").json
    assert told["links"] == weft.Overlay.read("o").to_networkx().to_undirected().number_of_edges()
    shown = json.loads(run("inspect", "o", "--instance", "i", "--json").out)
    assert shown["ring_violations"] == []
    assert (shown["tco_support_ratio"], shown["phases"]) == (told["tco_support_ratio"], "cut")
    run("publish", "i", "--count", 200, "--seed", 5, "--out", "p.parquet")
    proof = run(
        "evaluate", "i", "o", "--router", "pie", "--publications", "p.parquet", "--topics", "t.parquet", "--json"
    ).json
    assert proof["deliveries"] == proof["expected_deliveries"]
    assert proof["publications"] == 200
    again = run("evaluate", "i", "o", "--router", "pie", "--publications", "200", "--seed", 5, "--json").json
    assert {**again, "seconds": 0} == {**proof, "seconds": 0}
    assert pq.read_table("t.parquet")["messages"].to_numpy().sum() == proof["messages"]


@pytest.mark.parametrize("options", [[], ["--latency", "h.txt"]])
def test_both_engines_design_the_same(run: Run, tmp_path: Path, options: list[str]) -> None:
    (tmp_path / "h.txt").write_text(HOSTS)
    run("generate", "unif", "--nodes", 60, "--topics", 30, "--subscriptions", 4, "--out", "i")
    made = []
    for engine in ("local", "spark"):
        arguments = ("--overlay", "swico-sl", "--seed", 3, *options, "--engine", engine, "--out", engine)
        assert run("design", "i", *arguments).code == 0
        made.append(weft.Overlay.read(engine))
    assert np.array_equal(made[0].ring_ids, made[1].ring_ids)
    assert np.array_equal(made[0].targets, made[1].targets)


def test_an_overlay_of_whole_phases_is_designed_and_proved(run: Run) -> None:
    run("generate", "unif", "--nodes", 60, "--topics", 30, "--subscriptions", 4, "--out", "i")
    assert run("design", "i", "--overlay", "swico-sl", "--phases", "whole", "--out", "o").code == 0
    overlay = weft.Overlay.read("o")
    assert (overlay.meta["parameters"]["phases"], len(overlay.sources)) == ("whole", 60 * 5)
    shown = run("inspect", "o", "--instance", "i", "--json").json
    assert (shown["phases"], shown["ring_violations"]) == ("whole", [])
    other = run("inspect", "o", "--instance", "i", "--phases", "cut", "--json").json
    assert other["ring_violations"][0] == "Node 0 has 0 fingers in phase 5 instead of one."  # type: ignore[index]
    assert "--phases goes with an overlay, and i is an instance" in run("inspect", "i", "--phases", "cut").err
    assert "takes no option --phases" in run("design", "i", "--overlay", "gm", "--phases", "cut", "--out", "g").err


def test_who_may_send_where_is_an_option_of_all_that_route(run: Run, tmp_path: Path) -> None:
    run("generate", "unif", "--nodes", 60, "--topics", 30, "--subscriptions", 4, "--out", "i")
    run("design", "i", "--overlay", "chord", "--out", "o")
    both = ("--links", "both", "--distance", "absolute", "--pivots", "neighbours")
    said = {"links": "both", "distance": "absolute", "pivots": "neighbours"}
    one, other = (run("evaluate", "i", "o", "--router", "pie", *more, "--json").json for more in ((), both))
    assert one | {"links": "own", "distance": "clockwise", "pivots": "own"} == one
    assert other | said == other
    assert one["average_path"] != other["average_path"]
    instance, overlay = weft.Instance.read("i"), weft.Overlay.read("o")
    expected = weft.evaluate(instance, overlay, "pie", **said)  # type: ignore[arg-type]
    assert (expected.average_path, expected.messages) == (other["average_path"], other["messages"])

    tree = run("tree", "i", "o", 3, "--router", "pie", *both, "--json").json
    assert tree | said == tree
    assert tree["messages"] == weft.journey(instance, overlay, 3, router="pie", **said).rows()  # type: ignore[arg-type]
    compared = ("--overlays", "chord", "--routers", "scribe,weave", "--seeds", 1, "--publications", 50)
    scribe, weave = (
        run("compare", "i", *compared, *more, "--out", out, "--json").json for more, out in (((), "c"), (both, "d"))
    )
    assert weave | said == weave
    assert scribe["systems"][0]["average_path"] != weave["systems"][0]["average_path"]  # type: ignore[index]
    assert scribe["systems"][1] == weave["systems"][1]  # type: ignore[index]
    assert said.items() <= json.loads((tmp_path / "d" / "meta.json").read_text()).items()


@pytest.mark.parametrize(
    "command",
    [
        ["evaluate", "i", "o", "--router", "weave"],
        ["tree", "i", "o", "0", "--router", "weave"],
        ["compare", "i", "--routers", "weave"],
        ["run", "i", "--out", "r"],
    ],
    ids=lambda command: command[0],
)
def test_weave_does_not_send_over_fingers(run: Run, command: list[str]) -> None:
    run("generate", "unif", "--nodes", 20, "--topics", 9, "--subscriptions", 4, "--out", "i")
    run("design", "i", "--overlay", "chord", "--out", "o")
    refused = run(*command, "--links", "both", "--pivots", "own")
    assert refused.code == 2
    assert "weave takes no option --links, --pivots: they are for routers that send over fingers" in refused.err


@pytest.mark.parametrize(
    "options",
    [
        ["pie"],
        ["pie", "--latency", "h.txt"],
        ["pie", "--links", "both", "--distance", "absolute", "--latency", "h.txt"],
        ["weave", "--fan-out", 3],
    ],
)
def test_both_engines_evaluate_the_same(run: Run, tmp_path: Path, options: list[object]) -> None:
    (tmp_path / "h.txt").write_text(HOSTS)
    assert run("generate", "zipf", "--nodes", 60, "--topics", 40, "--subscriptions", 5, "--out", "i").code == 0
    assert run("design", "i", "--overlay", "chord", "--out", "o").code == 0
    told = []
    for engine in ("local", "spark"):
        arguments = ("--publications", 200, "--engine", engine, "--topics", f"{engine}.parquet")
        told.append(run("evaluate", "i", "o", "--router", *options, *arguments, "--json").json)
        told[-1].pop("seconds")
    assert told[0] == told[1]
    assert (told[0]["times"] is not None) == ("--latency" in options)
    assert pq.read_table("local.parquet").equals(pq.read_table("spark.parquet"))


def test_weave_takes_a_fan_out_and_latencies(run: Run, tmp_path: Path) -> None:
    (tmp_path / "h.txt").write_text(HOSTS)
    run("generate", "zipf", "--nodes", 60, "--topics", 10, "--subscriptions", 4, "--out", "i")
    run("design", "i", "--overlay", "swico-sl", "--latency", "h.txt", "--out", "o")
    told = [
        run("evaluate", "i", "o", "--router", "weave", "--publications", 200, *options, "--json").json
        for options in ([], ["--fan-out", 2], ["--latency", "h.txt"])
    ]
    instance, overlay = weft.Instance.read("i"), weft.Overlay.read("o")
    said, latency = weft.publications(instance, 200, 1), placed_latency("h.txt", 60, 1)
    for each, fan_out, near in zip(told, (None, 2, None), (None, None, latency), strict=True):
        expected = weft.evaluate(instance, overlay, "weave", said, fan_out=fan_out, latency=near)
        assert each["average_path"] == expected.average_path
    assert len({each["average_path"] for each in told}) == 3
    text = run("evaluate", "i", "o", "--router", "weave", "--publications", 200, "--latency", "h.txt").out
    assert "times delivery" in text


@pytest.mark.parametrize("options", [[], ["--fan-out", 3], ["--latency", "h.txt"]], ids=str)
def test_trees_are_woven_once_and_evaluated_from_their_file(run: Run, tmp_path: Path, options: list[object]) -> None:
    (tmp_path / "h.txt").write_text(HOSTS)
    run("generate", "zipf", "--nodes", 60, "--topics", 10, "--subscriptions", 4, "--out", "i")
    run("design", "i", "--overlay", "swico-sl", "--out", "o")
    woven = run("weave", "i", "o", *options, "--out", "t.parquet", "--json").json
    assert (woven["file"], woven["fan_out"], woven["trees"]) == ("t.parquet", 3 if "--fan-out" in options else 64, 10)
    assert woven["members"] - woven["relays"] == 240
    on_spark = ("--engine", "spark", "--out", "s.parquet", "--json")
    there = run("weave", "i", "o", *options, *on_spark).json
    assert there.pop("longest_task_seconds") <= there.pop("task_seconds")
    assert {**there, "seconds": 0, "file": "t.parquet"} == {**woven, "seconds": 0}
    assert pq.read_table("s.parquet").equals(pq.read_table("t.parquet"), check_metadata="--latency" not in options)
    common = ("evaluate", "i", "o", "--router", "weave", "--publications", 100, "--json")
    timed = [option for option in options if "--fan-out" not in options]
    told = [
        {**run(*common, *given).json, "seconds": 0}
        for given in (options, ["--trees", "t.parquet", *timed], ["--trees", "t.parquet", *timed, "--engine", "spark"])
    ]
    assert told[0] == told[1] == told[2]


def test_trees_that_do_not_fit_are_refused(run: Run) -> None:
    run("generate", "zipf", "--nodes", 60, "--topics", 10, "--subscriptions", 4, "--out", "i")
    for name in ("chord", "random"):
        run("design", "i", "--overlay", name, "--out", name)
    run("weave", "i", "chord", "--out", "t.parquet")
    assert "exists already" in run("weave", "i", "chord", "--out", "t.parquet").err
    assert run("weave", "i", "chord", "--out", "t.parquet", "--force").code == 0
    for arguments, sentence in (
        (["evaluate", "i", "random", "--router", "weave", "--trees", "t.parquet"], "woven for another overlay"),
        (["evaluate", "i", "chord", "--router", "pie", "--trees", "t.parquet"], "pie has no trees to go by"),
        (["evaluate", "i", "chord", "--router", "weave", "--trees", "t.parquet", "--fan-out", 3], "woven already"),
        (["evaluate", "i", "chord", "--router", "weave", "--trees", "i/interest.parquet"], "has no column 'parent'"),
    ):
        for engine in ("local", "spark"):
            done = run(*arguments, "--engine", engine)
            assert (done.code, sentence in done.err) == (2, True), (arguments, done.err)


def test_publishers_and_rates_from_one_command_to_the_next(run: Run) -> None:
    """Users of a social graph publish on their own topics; what they publish is how often trees are used."""
    run("generate", "social", "--nodes", 60, "--out", "i")
    assert pq.read_table("i/publishers.parquet").column_names == ["node", "topic", "rate"]
    run("publish", "i", "--count", 300, "--out", "p.parquet")
    drawn = pq.read_table("p.parquet")
    assert drawn["topic"].equals(drawn["node"])
    run("design", "i", "--overlay", "swico-even", "--out", "o")
    assert run("inspect", "o", "--instance", "i", "--json").json["degree"]["maximum"] <= 3 * 6
    told = run("weave", "i", "o", "--rates", "p.parquet", "--load-weight", 2, "--out", "t.parquet", "--json").json
    assert told["load_weight"] == 2
    proof = run(
        "evaluate", "i", "o", "--router", "weave", "--trees", "t.parquet", "--publications", "p.parquet", "--json"
    )
    assert proof.json["deliveries"] == proof.json["expected_deliveries"] > 0
    load = proof.json["load"]
    assert load["most_links"] <= 3 * 6
    assert {"mean", "percentile_90", "percentile_99", "maximum"} <= set(load["sent"]) & set(load["received"])


def test_a_bound_on_the_in_degree_is_kept(run: Run) -> None:
    run("generate", "social", "--nodes", 60, "--out", "i")
    told = run("design", "i", "--overlay", "grswico", "--in-degree", 7, "--out", "o", "--json").json
    assert told["in_degree"]["maximum"] <= 7
    done = run("design", "i", "--overlay", "grswico", "--in-degree", 5, "--out", "p")
    assert (done.code, "Give 6 or more" in done.err) == (2, True)


def test_a_run_weaves_once(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """The evaluation and the picture read what the stage has written; another fan-out weaves, and designs nothing."""
    from weft.trees import weave as module

    run("generate", "social", "--nodes", 60, "--out", "i")
    monkeypatch.setattr("weft.pipeline.weave.FEW", 0)
    monkeypatch.setattr(module, "weave_topics", None)  # in this process nobody weaves; the executors do
    options = ("run", "i", "--publications", 100, "--out", "r")
    first = run(*options, "--json")
    assert first.code == 0, first.err
    assert first.json["instance"]
    assert first.json["weave"]["trees"] > 0
    again = run(*options, "--fan-out", 3, "--force")
    assert again.err.count("done before") == 3  # the instance, the design and the baseline


def test_experiments_are_listed_and_run(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from weft.experiments.runs import routing

    assert "nsmf-fig3" in run("experiment", "--list", "--json").json
    tiny = {"quick": routing.Scale(publications=50, seeds=1, steps=(20, 30))}
    monkeypatch.setattr(routing, "SCALES", tiny)
    told = run("experiment", "nsmf-fig3", "--out", "e", "--json").json
    assert set(told) == {"nsmf-fig3"}
    assert sorted(path.name for path in (tmp_path / "e" / "nsmf-fig3").iterdir()) == [
        "experiment.json",
        "figure.svg",
        "results.parquet",
        "table.md",
    ]
    assert run("experiment", "nsmf-fig3", "--out", "e", "--json").json == told  # from the journal
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "file").touch()
    assert run("experiment", "nsmf-fig3", "--out", "other").code == 2


def test_inspect_proves_topic_connectivity_or_names_what_is_apart(run: Run) -> None:
    run("generate", "unif", "--nodes", 40, "--topics", 20, "--subscriptions", 4, "--out", "i")
    run("design", "i", "--overlay", "dc", "--partitions", 2, "--engine", "spark", "--out", "dc")
    assert weft.Overlay.read("dc").meta["instance"] == weft.Instance.read("i").fingerprint
    shown = run("inspect", "dc", "--instance", "i", "--json").json
    assert (shown["topic_violations"], shown["partitions"]) == ([], 2)
    run("design", "i", "--overlay", "gm", "--average-degree", 1, "--out", "cut")
    told = run("inspect", "cut", "--instance", "i", "--json").json["topic_violations"]
    assert isinstance(told, list)
    assert "parts: no path joins its subscribers" in told[0]


def test_systems_are_compared_in_a_table_a_figure_and_files(run: Run, tmp_path: Path) -> None:
    run("generate", "social", "--nodes", 60, "--out", "i")
    options = ("--overlays", "full-mesh,tree,random", "--routers", "pie,weave", "--seeds", 3, "--publications", 50)
    told = run("compare", "i", *options, "--out", "c")
    assert told.code == 0, told.err
    systems = [line.partition("  ")[0].strip() for line in told.out.splitlines()[1:5]]
    assert systems == ["direct on full-mesh", "weave on tree", "pie on random", "weave on random"]
    assert "Left out, since the router goes by a ring that the overlay does not have: pie on tree." in told.out
    again = run("compare", "i", *options, "--json").json
    assert [(row["overlay"], row["router"]) for row in again["systems"]] == [
        *(("full-mesh", "direct"), ("tree", "weave"), ("random", "pie"), ("random", "weave"))
    ]
    assert json.loads((tmp_path / "c" / "summary.json").read_text()) == again["systems"]
    assert len((tmp_path / "c" / "trials.csv").read_text().splitlines()) == 1 + 3 * 4
    assert (tmp_path / "c" / "summary.csv").read_text().startswith("overlay,router,figure,mean,low,high\n")
    assert "pie on random" in (tmp_path / "c" / "figure.svg").read_text()


def test_vitis_is_simulated_with_names_places_and_a_schedule(run: Run, tmp_path: Path) -> None:
    rows = [("berlin", "jazz"), ("paris", "jazz"), ("oslo", "news"), ("berlin", "news"), ("rome", "jazz")]
    (tmp_path / "s.csv").write_text("broker,topic\n" + "".join(f"{a},{b}\n" for a, b in rows))
    names = ["berlin", "oslo", "paris", "rome"]
    (tmp_path / "ms.csv").write_text("\n".join(f"{a},{b},20" for a in names for b in names if a < b))
    (tmp_path / "p.csv").write_text("broker,place\n" + "".join(f"{name},{name[0]}\n" for name in names))
    (tmp_path / "c.csv").write_text("time,node,event,topic\n3,rome,fail,\n9,rome,join,\n12,paris,unsubscribe,jazz\n")
    run("ingest", "s.csv", "--as", "subscriptions", "--out", "i")
    options = ("--latency", "ms.csv", "--places", "p.csv", "--churn", "c.csv", "--publications", 60)
    told = run("vitis", "i", *options, "--round-trips", "measured", "--check", 3, "--out", "v", "--json")
    assert told.code == 0, told.err
    found = told.json
    assert (found["hit_ratio"], found["lost_unexplained"], found["changes"]) == (1, 0, 3)
    assert found["contents_across"] == 1  # everybody is in a place of its own
    assert found["busiest_node"] in names
    assert json.loads((tmp_path / "v" / "summary.json").read_text()) == found
    assert (tmp_path / "v" / "figure.svg").exists()
    swept = run("vitis", "i", "--exponent", "0,1", "--table", "6,8", "--seeds", 2, "--publications", 20, "--json").json
    assert [(row["exponent"], row["table"], row["seed"]) for row in swept["runs"]] == [
        (exponent, table, seed) for exponent in (0, 1) for table in (6, 8) for seed in (1, 2)
    ]
    assert swept["means"][0]["hit_ratio"]["mean"] == 1
    known = run("evaluate", "i", "--router", "vitis", "--publications", 30, "--json").json
    assert (known["router"], known["overlay"], known["deliveries"]) == ("vitis", "gossip", known["expected_deliveries"])
    for wrong, words in [
        (("--exponent", "a"), "--exponent is 'a': give a number, or several with commas between them."),
        (("--churn", "c.csv", "--node-rate", 1), "leave --node-rate and --subscription-rate out"),
        (("--publications", "none.csv"), "neither a number nor a file that exists"),
        (("--seeds", 0), "--seeds 0 is out of range"),
        (("--table", 2), "table is 2"),
    ]:
        assert words in run("vitis", "i", *wrong).err
    (tmp_path / "c.csv").write_text("time,node,event,topic\n3,rome,fail,\n9,rome,fail,\n")
    assert "c.csv: Row 2: fail of node rome, which is not there" in run("vitis", "i", "--churn", "c.csv").err


def test_names_go_in_and_come_out(run: Run, tmp_path: Path) -> None:
    rows = [("berlin", "jazz"), ("paris", "jazz"), ("oslo", "news"), ("berlin", "news"), ("rome", "jazz")]
    (tmp_path / "s.csv").write_text("client,topic\n" + "".join(f"{a},{b}\n" for a, b in rows))
    names = ["berlin", "oslo", "paris", "rome"]
    times = [f"{a},{b},{10 + len(a)}" for a in names for b in names if a < b]
    (tmp_path / "ms.csv").write_text("\n".join(times))
    run("ingest", "s.csv", "--as", "subscriptions", "--out", "i")
    run("design", "i", "--overlay", "swico-sl", "--latency", "ms.csv", "--seed", 3, "--out", "o")
    links = (tmp_path / "o" / "links.csv").read_text().replace('"', "").splitlines()
    assert links[0] == "source,target,phase,source_name,target_name"
    overlay, instance = weft.Overlay.read("o"), weft.Instance.read("i")
    assert links[1].split(",")[3:] == [instance.node_name(overlay.sources[0]), instance.node_name(overlay.targets[0])]
    told = run("evaluate", "i", "o", "--router", "weave", "--latency", "ms.csv", "--topics", "t.parquet", "--json")
    assert told.code == 0, told.err  # by name, so that another seed than the design's moves nobody
    assert told.json["load"]["most_loaded_name"] in names
    assert pq.read_table("t.parquet")["name"].to_pylist() == ["jazz", "news"]
    run("publish", "i", "--count", 5, "--out", "p.parquet")
    assert set(pq.read_table("p.parquet")["node_name"].to_pylist()) <= set(names)
    shown = run("tree", "i", "o", "jazz", "--issuer", "rome", "--json").json
    assert {row["to"] for row in shown["messages"] if not row["relay"]} == {"berlin", "paris"}
    text = run("tree", "i", "o", "jazz", "--issuer", "rome").out
    assert "rome  (issuer)\n" in text
    assert text.count("─ ") == len(shown["messages"])
    assert "did you mean jazz?" in run("tree", "i", "o", "jaz").err
    assert "There is no node 'x'" in run("tree", "i", "o", "jazz", "--issuer", "x").err
    run("generate", "social", "--nodes", 20, "--out", "g")
    run("design", "g", "--overlay", "chord", "--out", "c")
    assert "topics are 0 to 19" in run("tree", "g", "c", "20").err
    assert not (tmp_path / "c" / "links.csv").exists()


@pytest.mark.parametrize("engine", ["local", "spark"])
def test_clients_at_brokers_and_a_log_of_what_they_publish(run: Run, tmp_path: Path, engine: str) -> None:
    """Brokers are the nodes: clients of one broker on one topic count once."""
    clients = ["c1,hall,temp", "c2,hall,temp", "c3,roof,temp", "c4,roof,wind", "c5,cellar,wind"]
    (tmp_path / "clients.csv").write_text("\n".join(["client,broker,topic", *clients]) + "\n")
    given = ("ingest", "clients.csv", "--as", "subscriptions", "--columns", "broker,topic", "--engine", engine)
    told = run(*given, "--out", "i", "--json").json
    assert (told["nodes"], told["subscriptions"], told["duplicates"]) == (3, 4, 1)
    (tmp_path / "log.csv").write_text("broker,topic,size\nhall,temp,10\ncellar,temp,30\ncellar,nobody,1\n")
    shown = run("traffic", "i", "log.csv", "--out", "t", "--json").json
    assert (shown["publishers"], shown["rows_nobody_hears"], shown["bytes_of_a_publication"]) == (2, 1, 20)
    run("design", "t", "--overlay", "swico-even", "--out", "o")
    drawn = run("evaluate", "t", "o", "--router", "weave", "--publications", 10, "--engine", engine, "--json").json
    assert drawn["bytes"] == 20 * drawn["messages"]
    scribe = run("evaluate", "t", "o", "--router", "scribe", "--publications", 10, "--engine", engine, "--json").json
    assert scribe["bytes"] == 20 * scribe["messages"]
    replayed = run("evaluate", "t", "o", "--router", "weave", "--publications", "log.csv", "--json").json
    assert (replayed["publications"], replayed["deliveries"]) == (2, 1 + 2)


def test_a_run_is_resumed(run: Run, tmp_path: Path) -> None:
    (tmp_path / "e.txt").write_text("1 2\n2 3\n3 1\n")
    first = run("run", "e.txt", "--as", "follows", "--nodes", 2, "--out", "r")
    assert first.code == 0
    assert "done before" not in first.err
    assert (tmp_path / "r" / "report.html").read_text().startswith("<!doctype html>")
    assert run("run", "e.txt", "--as", "follows", "--nodes", 2, "--out", "r").err.count("done before") == 7
    refused = run("run", "e.txt", "--as", "follows", "--nodes", 3, "--out", "r")
    assert refused.code == 2
    assert "sample, design, baseline, weave, evaluate, report would be made again" in refused.err
    assert "Replace it with --force, or choose another folder." in refused.err
    assert weft.Instance.read("r/sample").nodes == 2
    more = run("run", "e.txt", "--as", "follows", "--nodes", 3, "--out", "r", "--force")
    assert more.err.count("done before") == 1
    assert weft.Instance.read("r/sample").nodes == 3
    (tmp_path / "e.txt").write_text("1 2\n2 3\n3 4\n4 1\n")
    assert "done before" not in run("run", "e.txt", "--as", "follows", "--nodes", 3, "--out", "r", "--force").err


def test_results_are_told_in_rows(capsys: pytest.CaptureFixture[str]) -> None:
    figures = {
        "average_path": 3.14159,
        "ring_violations": [],
        "load": {"sent": {"mean": 12345.6, "percentile_99": 7}, "node": 12345},
        "topics_of_a_node": {"mean": 1.5, "maximum": 2},
    }
    print_result(figures, as_json=False)
    assert capsys.readouterr().out.splitlines() == [
        "average path      3.142   (hops from the issuer to a subscriber)",
        "ring violations   none",
        "load sent         mean 12,346, p99 7",
        "load node         12345",
        "topics of a node  mean 1.5, maximum 2",
    ]


def test_a_run_goes_by_latencies(run: Run, tmp_path: Path) -> None:
    (tmp_path / "h.txt").write_text(HOSTS)
    run("generate", "social", "--nodes", 60, "--out", "i")
    options = ("--latency", "h.txt", "--fan-out", 4, "--publications", 100)
    first = run("run", "i", *options, "--out", "r")
    assert " ms on average instead of " in first.out
    assert weft.Overlay.read("r/overlay").meta["parameters"]["latency"] == str(tmp_path / "h.txt")
    assert "time of a delivery, mean, ms" in (tmp_path / "r" / "report.html").read_text()
    assert run("run", "i", *options, "--out", "r").err.count("done before") == 6
    (tmp_path / "h.txt").write_text(HOSTS.replace("90", "95"))
    changed = run("run", "i", *options, "--out", "r")
    assert "data: design, baseline, weave, evaluate, report would be made again" in changed.err
    assert run("run", "i", *options, "--out", "r", "--force").err.count("done before") == 1  # the instance
    told = run("evaluate", "i", "r/overlay", "--router", "weave", *options, "--json").json
    proof = json.loads((tmp_path / "r" / "evaluation.json").read_text())["overlay"]
    assert {**told, "seconds": 0} == {**proof, "seconds": 0}
    assert_goes_by_the_proven_trees(run)


def assert_goes_by_the_proven_trees(run: Run) -> None:
    """`tree` and `export` of what a run designed take the trees that it proved, and not others woven by hops."""
    instance, overlay = weft.Instance.read("i"), weft.Overlay.read("r/overlay")
    proven = weft.Trees.read("r/trees.parquet", instance, overlay)
    topic = int(np.argmax(instance.subscribers.counts))
    shown = json.loads(run("tree", "i", "r/overlay", topic, "--json").out)
    assert shown["trees"].endswith("r/trees.parquet")
    used = {frozenset((row["from"], row["to"])) for row in shown["messages"]}
    assert used == {frozenset(map(str, (a, b))) for a, peers in proven.tables(topic).items() for b in peers}
    exported = run("export", "r/overlay", "--instance", "i", "--to", "json", "--out", "g.json", "--json").json
    assert exported["trees"] == shown["trees"]
    told = run("tree", "i", "r/overlay", topic, "--trees", "r/trees.parquet", "--json").json
    assert told["messages"] == shown["messages"]
    woven = run("tree", "i", "r/overlay", topic, "--latency", "h.txt", "--json").json
    assert woven["trees"] == "woven now"
    shutil.move("r/trees.parquet", "elsewhere.parquet")
    assert "Trees: woven now, by hops: the overlay was designed by" in run("tree", "i", "r/overlay", topic).out


MISTAKES = {
    "a file that is not there": (["ingest", "nope.txt", "--as", "edges", "--out", "o"], "nope.txt does not exist."),
    "no file, and no meaning either": (["run", "nope.txt", "--out", "o"], "nope.txt does not exist."),
    "rows without a meaning": (["ingest", "e.txt", "--out", "o"], "--as edges, --as follows or --as subscriptions"),
    "an unknown meaning": (["ingest", "e.txt", "--as", "friends", "--out", "o"], "'friends' is not one of"),
    "one column": (["ingest", "e.txt", "--as", "edges", "--columns", "a", "--out", "o"], "name two columns"),
    "output that exists": (["ingest", "e.txt", "--as", "edges", "--out", "i"], "i exists already"),
    "a setting without a value": (["ingest", "e.txt", "--as", "edges", "--conf", "x", "--out", "o"], "not KEY=VALUE"),
    "no nodes": (["generate", "unif", "--nodes", "0", "--out", "o"], "--nodes"),
    "negative nodes": (["generate", "unif", "--nodes", "-5", "--out", "o"], "--nodes"),
    "more topics a node than topics": (
        ["generate", "unif", "--nodes", "5", "--topics", "3", "--out", "o"],
        "--subscriptions",
    ),
    "an option of another workload": (
        ["generate", "unif", "--nodes", "5", "--exponent", "2", "--out", "o"],
        "--exponent",
    ),
    "an unknown workload": (["generate", "pareto", "--nodes", "5", "--out", "o"], "'pareto' is not one of"),
    "an unknown router": (["evaluate", "i", "chord", "--router", "gossip"], "choose one of po, pal"),
    "an unknown router of a run": (["run", "i", "--router", "gossip", "--out", "o"], "choose one of po, pal"),
    "an empty sample": (["sample", "i", "--nodes", "0", "--out", "o"], "at least one node"),
    "a sample of more than all": (["sample", "i", "--nodes", "99", "--out", "o"], "has only 30 nodes"),
    "closure without users": (["sample", "i", "--nodes", "5", "--method", "closure", "--out", "o"], "social"),
    "an instance that is none": (["inspect", "."], "is not an instance or an overlay: it has no meta.json"),
    "an instance that is not there": (["publish", "nope", "--count", "1", "--out", "o"], "nope does not exist"),
    "fewer publications than none": (["publish", "i", "--count", "-1", "--out", "o"], "--count -1 is out of range"),
    "no publications": (["publish", "i", "--count", "0", "--out", "o"], "--count 0 is out of range"),
    "nothing to evaluate": (["evaluate", "i", "chord", "--router", "pie", "--publications", "0"], "is out of range"),
    "a degree of none": (["design", "i", "--overlay", "gm", "--maximum-degree", "0", "--out", "o"], "from 1"),
    "a setting of Spark without it": (
        ["design", "i", "--overlay", "chord", "--conf", "a=b", "--out", "o"],
        "--conf is for Spark, and --engine is local",
    ),
    "a master without Spark": (
        ["ingest", "e.txt", "--as", "edges", "--engine", "local", "--master", "local[2]", "--out", "o"],
        "--master is for Spark, and --engine is local",
    ),
    "a column that is not there": (
        ["ingest", "e.txt", "--as", "edges", "--format", "csv", "--columns", "a,b", "--out", "o"],
        "has no column 'a'",
    ),
    "a column that is not there, in a run": (
        ["run", "e.txt", "--as", "edges", "--format", "csv", "--columns", "a,b", "--out", "o"],
        "has no column 'a'",
    ),
    "latencies in a folder": (["run", "i", "--latency", "i", "--out", "o"], "i is a folder: give a file"),
    "an option of another overlay": (
        ["design", "i", "--overlay", "chord", "--tie", "overlap", "--out", "o"],
        "takes no option --tie",
    ),
    "closeness without latencies": (
        ["design", "i", "--overlay", "swico-l", "--closeness", "1", "--out", "o"],
        "give them with --latency",
    ),
    "an overlay that is not there": (["inspect", "o"], "does not exist"),
    "an overlay without its instance": (["inspect", "chord"], "tell with --instance"),
    "an overlay of another instance": (["inspect", "chord", "--instance", "j"], "made for another instance"),
    "latencies that are not there, on Spark": (
        ["design", "i", "--overlay", "swico-l", "--latency", "l.txt", "--engine", "spark", "--out", "o"],
        "l.txt does not exist",
    ),
    "a router without an overlay": (["evaluate", "i", "i", "--router", "pie"], "is not an overlay"),
    "publications that are none": (
        ["evaluate", "i", "chord", "--router", "pie", "--publications", "x"],
        "neither a number nor a file that exists",
    ),
    "a negative seed": (["evaluate", "i", "chord", "--router", "pie", "--seed", "-1"], "--seed -1 is out of range"),
    "a seed that is too large": (["publish", "i", "--count", "1", "--seed", 2**63, "--out", "o"], "is out of range"),
    "an absolute distance over own fingers": (
        ["evaluate", "i", "o", "--router", "pie", "--distance", "absolute"],
        "--distance absolute needs --links both",
    ),
    "a fan-out of another router": (
        ["evaluate", "i", "o", "--router", "pie", "--fan-out", "8"],
        "pie takes no option --fan-out",
    ),
    "a load weight below zero": (["weave", "i", "o", "--load-weight", "-1", "--out", "t"], "is out of range"),
    "an in-degree for an overlay that is even": (
        ["design", "i", "--overlay", "swico-even", "--in-degree", "9", "--out", "o"],
        "swico-even takes no option --in-degree",
    ),
    "rates for a router without trees": (
        ["run", "i", "--router", "pie", "--rates", "r", "--out", "o"],
        "pie has no trees whose load is to be shared",
    ),
    "a fan-out of one, to weave": (["weave", "i", "o", "--fan-out", "1", "--out", "t"], "give 2 or more"),
    "trees of an overlay that is not there": (["weave", "i", "o", "--out", "t"], "does not exist"),
    "a fan-out of one": (["evaluate", "i", "o", "--router", "weave", "--fan-out", "1"], "give 2 or more"),
    "a fan-out of another router in a run": (
        ["run", "i", "--router", "scribe", "--fan-out", "8", "--out", "r"],
        "scribe takes no option --fan-out",
    ),
    "latencies that are not there": (["run", "i", "--latency", "l.txt", "--out", "r"], "l.txt does not exist"),
    "a run in a folder of something else": (["run", "i", "--out", "j"], "is not a run of weft"),
    "a run of no publications": (["run", "i", "--publications", "0", "--out", "o"], "--publications 0 is out of range"),
    "a run by a ring that is not there": (
        ["run", "i", "--overlay", "gm", "--router", "pie", "--out", "o"],
        "pie goes by a ring, which gm does not have",
    ),
    "a run of a sample of more than all": (["run", "i", "--nodes", "99", "--out", "o"], "has only 30 nodes"),
    "no command": (["fly"], "No such command"),
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two instances and an overlay of the first, for tests to copy."""
    folder = tmp_path_factory.mktemp("made")
    for name, seed in (("i", 1), ("j", 2)):
        weft.generate("unif", nodes=30, topics=40, seed=seed).write(folder / name)
    weft.design(weft.Instance.read(folder / "i"), "chord", seed=1).write(folder / "chord")
    return folder


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_are_told_in_a_sentence(run: Run, made: Path, tmp_path: Path, mistake: str) -> None:
    (tmp_path / "e.txt").write_text("1 2\n")
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    before = sorted(path.name for path in tmp_path.iterdir())
    arguments, sentence = MISTAKES[mistake]
    done = run(*arguments)
    assert done.code == 2
    assert sentence in " ".join(done.err.replace("│", " ").split())
    assert "Traceback" not in done.err
    assert done.out == ""
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_force_replaces(run: Run) -> None:
    for nodes in (30, 40):
        assert run("generate", "unif", "--nodes", nodes, "--topics", 40, "--out", "i", "--force").code == 0
    assert weft.Instance.read("i").nodes == 40


def test_every_command_has_help_with_an_example(run: Run) -> None:
    for command in cli.app.registered_commands:
        done = run(command.name, "--help")
        assert done.code == 0
        assert f"Example: weft {command.name}" in " ".join(done.out.split())


def test_the_commands_know_all_names() -> None:
    """Names are written out in the commands, so that `weft --help` loads no kernels."""
    assert get_args(get_args(options.OverlayName)[0]) == tuple(BUILDERS)
    assert re.findall(r"\w+", options.ROUTERS.replace(" or ", ", ")) == list(ROUTERS)
    assert get_args(get_args(signature(generate).parameters["workload"].annotation)[0]) == tuple(MAKERS)


def test_a_row_of_the_catalog_is_a_router_of_the_commands(
    run: Run, made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    monkeypatch.setitem(catalog.ROUTERS, "other", ROUTERS["pie"])  # type: ignore[arg-type]
    evaluated = [run("evaluate", "i", "chord", "--router", name, "--json").json for name in ("pie", "other")]
    assert {**evaluated[0], "router": "other", "seconds": 0} == {**evaluated[1], "seconds": 0}
    travelled = [run("tree", "i", "chord", 0, "--router", name, "--json").json for name in ("pie", "other")]
    assert travelled[0]["messages"] == travelled[1]["messages"]


def test_version(run: Run) -> None:
    assert run("--version").out == f"weft {weft.__version__}\n"


OUTPUTS = {
    "design": ["design", "i", "--overlay", "swico-l", "--latency", "h.txt", "--out"],
    "sample": ["sample", "i", "--nodes", "5", "--out"],
    "ingest": ["ingest", "e.txt", "--as", "edges", "--out"],
    "publish": ["publish", "i", "--count", "5", "--out"],
    "weave": ["weave", "i", "chord", "--rates", "p.parquet", "--latency", "h.txt", "--out"],
    "traffic": ["traffic", "i", "p.parquet", "--out"],
    "compare": ["compare", "i", "--seeds", "1", "--out"],
    "vitis": ["vitis", "i", "--publications", "20", "--out"],
    "evaluate": [
        "evaluate",
        "i",
        "chord",
        "--router",
        "weave",
        "--trees",
        "t.parquet",
        "--publications",
        "p.parquet",
        "--topics",
    ],
    "join": ["join", "chord", "chord", "--instance", "i", "--instance", "i", "--union", "u", "--out"],
    "union": ["join", "chord", "chord", "--instance", "i", "--instance", "i", "--out", "u", "--union"],
    "churn": ["churn", "i", "chord", "--router", "pie", "--latency", "h.txt", "--out"],
    "repair": ["repair", "chord", "--was", "i", "--instance", "i", "--out"],
    "import": ["import", "e.txt", "--from", "csv", "--brokers", "h.txt", "--out"],
    "place": ["place", "i", "--brokers", "h.txt", "--out"],
    "export": [
        *("export", "chord", "--instance", "i", "--to", "mosquitto"),
        *("--brokers", "h.txt", "--trees", "t.parquet", "--out"),
    ],
    "run": ["run", "i", "--overlay", "swico-l", "--latency", "h.txt", "--rates", "p.parquet", "--out"],
}


def test_all_commands_that_read_and_write_are_known_here() -> None:
    places = {"out", "union"}
    writing = {
        str(command.name)
        for command in cli.app.registered_commands
        if command.callback and places & set(signature(command.callback).parameters)
    }
    read_nothing, elsewhere = {"generate", "demo", "snapshot"}, {"experiment", "salvage"}  # where the others are tried
    assert writing - read_nothing - elsewhere == set(OUTPUTS) - {"union", "evaluate"}


def test_an_experiment_does_not_write_over_its_data(run: Run, tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    file = tmp_path / "d" / "facebook_combined.txt.gz"
    file.write_bytes(b"data")
    for out in ("d", "d/facebook_combined.txt.gz", "."):
        done = run("experiment", "beaconvey-table3", "--data", "d", "--out", out, "--force")
        assert (done.code, ", which is read" in done.err) == (2, True), (out, done)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [file]
    assert file.read_bytes() == b"data"


@pytest.mark.parametrize("command", OUTPUTS)
def test_no_command_writes_over_what_it_reads(run: Run, tmp_path: Path, command: str) -> None:
    (tmp_path / "e.txt").write_text("1 2\n")
    (tmp_path / "h.txt").write_text(HOSTS)
    run("generate", "unif", "--nodes", 30, "--topics", 40, "--out", "i")
    run("design", "i", "--overlay", "chord", "--out", "chord")
    run("weave", "i", "chord", "--out", "t.parquet")
    run("publish", "i", "--count", 5, "--out", "p.parquet")
    (tmp_path / "alias").symlink_to("i")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    arguments = OUTPUTS[command]
    inputs = [name for name in ("e.txt", "h.txt", "i", "chord", "t.parquet", "p.parquet") if name in arguments]
    for given in inputs:
        inside = [f"{given}/meta.json", f"{given}/new"] if (tmp_path / given).is_dir() else []
        for out in (
            given,
            f"./x/../{given}",
            *inside,
            *(["alias", "alias/interest.parquet"] if given == "i" else []),
            ".",
        ):
            for force in ([], ["--force"] if command != "run" else []):
                done = run(*arguments, out, *force)
                assert (done.code, ", which is read" in done.err) == (2, True), (out, done)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_a_union_and_an_overlay_in_one_place_are_refused_before_any_work(run: Run, tmp_path: Path) -> None:
    run("generate", "unif", "--nodes", 30, "--topics", 40, "--out", "i")
    run("design", "i", "--overlay", "gm", "--out", "gm")
    common = ("join", "gm", "--instance", "i", "--union", "same", "--out")
    for out in ("same", "x/../same", "same/inside"):
        done = run(*common, out)
        assert (done.code, "and both are written" in done.err) == (2, True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["gm", "i"]


RUN = ["baseline", "evaluation.json", "instance", "loads.parquet", "overlay", "report.html", "run.json"]
RUN += ["topics.parquet", "trees.parquet"]


def start(*arguments: str, cwd: Path) -> subprocess.Popen[bytes]:
    command = [str(Path(sys.executable).with_name("weft")), *arguments, "--master", "local[1]"]
    for key, value in short_lived.CONF.items():
        command += ["--conf", f"{key}={value}"]
    return subprocess.Popen(command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 300
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_killed_process_leaves_no_output_and_the_next_finishes(run: Run, tmp_path: Path) -> None:
    (tmp_path / "e.txt").write_text("".join(f"{i} {i + 1}\n" for i in range(300)))
    command = ("run", "e.txt", "--as", "follows", "--out", "r")
    killed = start(*command, cwd=tmp_path)
    wait_for(lambda: any((tmp_path / "r").glob(".instance.partial-*/_scratch/rows")))
    killed.send_signal(signal.SIGSTOP)  # it is to be at work still when the second has started
    second = run(*command)
    assert f"r is being written by process {killed.pid} (weft run e.txt" in second.err
    assert second.code == 2
    killed.kill()
    killed.communicate()
    assert not (tmp_path / "r" / "instance").exists()
    resumed = run(*command)
    assert resumed.code == 0, resumed.err
    assert "On:       301 brokers" in resumed.out
    assert sorted(path.name for path in (tmp_path / "r").iterdir()) == RUN
    assert sorted(path.name for path in tmp_path.iterdir()) == ["e.txt", "r"]


def test_too_much_for_the_memory_is_told(run: Run) -> None:
    assert run("generate", "unif", "--nodes", 30, "--topics", 40, "--out", "i").code == 0
    done = run("publish", "i", "--count", 10**15, "--out", "p.parquet")
    assert (done.code, done.err.count("\n")) == (3, 1)
    assert "not enough memory" in done.err


def test_a_place_that_cannot_be_written_is_told(run: Run, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    done = run("generate", "unif", "--nodes", 30, "--topics", 40, "--out", "file/i")
    assert done.code == 3
    assert done.err == "weft: file/i cannot be written: a file is where a folder should be. Choose another --out.\n"
