"""The commands for overlays that change: `weft repair` and `weft churn`."""

import csv
from pathlib import Path

import pytest

import weft
from command_line import Run

YESTERDAY = [("berlin", "jazz"), ("paris", "jazz"), ("oslo", "news"), ("berlin", "news"), ("rome", "jazz")]
TODAY = [("berlin", "jazz"), ("oslo", "news"), ("berlin", "news"), ("rome", "jazz"), ("wien", "news"), ("wien", "jazz")]


@pytest.fixture
def sites(run_weft: Run, tmp_path: Path) -> Run:
    for name, rows in (("was", YESTERDAY), ("now", TODAY)):
        (tmp_path / f"{name}.csv").write_text("client,topic\n" + "".join(f"{a},{b}\n" for a, b in rows))
        run_weft("ingest", f"{name}.csv", "--as", "subscriptions", "--engine", "local", "--out", name)
    return run_weft


@pytest.mark.parametrize("overlay", ["gm", "swico-even"])
def test_an_overlay_is_repaired_for_what_its_instance_has_become(sites: Run, tmp_path: Path, overlay: str) -> None:
    sites("design", "was", "--overlay", overlay, "--out", "before")
    told = sites("repair", "before", "--was", "was", "--instance", "now", "--out", "after", "--json")
    assert told.code == 0, told.err
    made = weft.Overlay.read("after")
    assert made.meta["quality"]["tco_support_ratio"] == told.json["tco_support_ratio"] == 1.0
    assert all("paris" in link for link in told.json["links_closed"] if "paris" in link)
    assert any("wien" in link for link in told.json["links_opened"])
    with (tmp_path / "after" / "changes.csv").open() as file:
        rows = list(csv.DictReader(file))
    for change, links in (("open", "links_opened"), ("close", "links_closed")):
        assert [[row["a"], row["b"]] for row in rows if row["change"] == change] == told.json[links]
    shown = sites("inspect", "after", "--instance", "now", "--json").json
    assert shown["topic_violations" if overlay == "gm" else "ring_violations"] == []


def test_the_command_and_the_function_repair_alike(sites: Run) -> None:
    sites("design", "was", "--overlay", "gm", "--out", "before")
    sites("repair", "before", "--was", "was", "--instance", "now", "--seed", 5, "--out", "after")
    was, now = weft.Instance.read("was"), weft.Instance.read("now")
    made = weft.repair(weft.Overlay.read("before"), was, now, seed=5)
    assert made.overlay == weft.Overlay.read("after")


def test_an_overlay_of_another_instance_is_not_repaired(sites: Run, tmp_path: Path) -> None:
    sites("design", "was", "--overlay", "gm", "--out", "before")
    done = sites("repair", "before", "--was", "now", "--instance", "was", "--out", "after")
    assert (done.code, "made for another instance" in done.err) == (2, True)
    assert not (tmp_path / "after").exists()


def test_overlays_are_joined_from_python_as_by_the_command(sites: Run) -> None:
    east, west = weft.Instance.read("was"), weft.generate("unif", nodes=6, topics=3, subscriptions=3, seed=1)
    with pytest.raises(weft.WeftError, match="name their topics and others do not"):
        weft.join([weft.design(east, "gm"), weft.design(west, "gm")], [east, west])
    named = weft.Instance.from_pandas(west.to_pandas().assign(topic=["jazz", "news", "rock"] * 6), "node", "topic")
    both, overlay = weft.join([weft.design(east, "gm"), weft.design(named, "gm")], [east, named], seed=2)
    assert both.nodes == east.nodes + named.nodes
    assert weft.topic_violations(both, overlay) == []
    with pytest.raises(weft.WeftError, match="2 overlays need 2 instances"):
        weft.join([weft.design(east, "gm"), weft.design(named, "gm")], [east])


def test_churn_is_simulated_by_rate_or_by_a_schedule(sites: Run, tmp_path: Path) -> None:
    sites("design", "was", "--overlay", "swico-even", "--out", "o")
    lines = ["time,node,event,topic", "60,paris,fail,", "600,paris,join,", "900,rome,subscribe,news"]
    (tmp_path / "c.csv").write_text("\n".join(lines) + "\n")
    common = ("churn", "was", "o", "--router", "pie", "--rate", 600)
    told = sites(*common, "--schedule", "c.csv", "--hours", 1, "--out", "d", "--json")
    assert told.code == 0, told.err
    assert (told.json["changes"], told.json["unexplained"], told.json["doubled"]) == (3, 0, 0)
    assert told.json["delivered"] == told.json["expected"] > 0
    with (tmp_path / "d" / "churn.csv").open() as file:
        assert [int(row["changes"]) for row in csv.DictReader(file)] == [3]
    assert "late, % of what was expected" in (tmp_path / "d" / "figure.svg").read_text()
    shown = sites(*common, "--hours", 1, "--node-rate", 0.5, "--seeds", 2)
    assert shown.code == 0, shown.err
    assert "begins  changes  expected" in shown.out


def test_churn_that_cannot_be_is_told(sites: Run, tmp_path: Path) -> None:
    sites("design", "was", "--overlay", "swico-even", "--out", "o")
    (tmp_path / "c.csv").write_text("time,node,event,topic\n60,wien,fail,\n")
    common = ("churn", "was", "o", "--router")
    for words, sentence in (
        (("pie", "--schedule", "c.csv"), "c.csv: Row 1: There is no node 'wien'"),
        (("pie", "--loss", 1), "--loss 1.0 is out of range"),
        (("pie", "--node-rate", -1), "--node-rate -1.0 is out of range"),
        (("pie", "--seeds", 0), "--seeds 0 is out of range"),
        (("pie", "--master", "local[2]"), "--master is for Spark"),
        (("flood",), "There is no router 'flood'"),
    ):
        done = sites(*common, *words)
        assert (done.code, sentence in " ".join(done.err.split())) == (2, True), done.err
