"""`weft import`, `inspect`, `evaluate`, `place` and `export` of a fleet, as a user of Mosquitto runs them."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree as ET

import networkx as nx
import pyarrow.parquet as pq
import pytest

from weft import cli, ending
from weft.fleet.export import read_plan

Run = Callable[..., str]

BROKERS = "name,host,port\n" + "".join(f"b{node},127.0.0.1,{2000 + node}\n" for node in range(6))
CLIENTS = "client,broker,filter\n" + "".join(
    f"c{client},b{client % 6},site{client % 4}/{name}\n" for client in range(48) for name in ("door", "lamp", "+/heat")
)
TOPICS = "".join(f"site{site}/{room}/heat\n" for site in range(4) for room in range(3))


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    """`weft` in this process, in a folder with the files of a fleet: a star of bridges. It gives stdout, or stderr."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(ending, "watch", lambda: None)
    for name, text in {"brokers.csv": BROKERS, "clients.csv": CLIENTS, "topics.txt": TOPICS}.items():
        Path(name).write_text(text)
    Path("conf").mkdir()
    for node in range(6):
        bridge = "connection hub\naddress 127.0.0.1:2000\ntopic # both 1\n" if node else ""
        Path(f"conf/b{node}.conf").write_text(f"listener {2000 + node}\n{bridge}")

    def call(*arguments: object, fails: bool = False) -> str:
        monkeypatch.setattr(sys, "argv", ["weft", *map(str, arguments)])
        capfd.readouterr()
        code = 0
        try:
            cli.main()
        except SystemExit as stop:
            code = int(stop.code or 0)
        out, err = capfd.readouterr()
        assert bool(code) == fails, out + err
        return err if fails else out

    return call


MOSQUITTO = ("conf", "--from", "mosquitto", "--brokers", "brokers.csv", "--clients", "clients.csv")


def imported(run: Run) -> dict[str, object]:
    return dict(json.loads(run("import", *MOSQUITTO, "--topics", "topics.txt", "--out", "fleet", "--json")))


def planned(run: Run, out: str = "plan", seed: int = 1) -> None:
    run("design", "fleet/instance", "--overlay", "swico-even", "--seed", seed, "--out", out)


def export(run: Run, to: str, out: str, *options: object) -> dict[str, object]:
    given = ("--instance", "fleet/instance", "--to", to, "--out", out, *options, "--json")
    return dict(json.loads(run("export", "plan", *given)))


def test_a_star_is_imported_scored_and_planned_anew(run: Run) -> None:
    told = imported(run)
    assert told["brokers"] == 6
    assert told["bridges"] == 5
    assert told["clients"] == 48
    assert told["topics"] == 8 + 12
    score = json.loads(run("inspect", "fleet", "--report", "page.html", "--json"))
    assert score["now"]["links"] == 5
    assert score["now"]["messages"] == 20 * 6 * 5
    assert score["plan"]["messages"] < score["now"]["messages"]
    assert score["plan"]["deliveries"] == score["now"]["deliveries"] == score["plan"]["expected_deliveries"]
    page = Path("page.html").read_text()
    assert page.count("<svg") == 2
    assert all(f">b{node}</text>" in page for node in range(6))
    assert "messages a delivery" in page
    drawn = json.loads(run("evaluate", "fleet", "--publications", 500, "--seed", 3, "--json"))
    assert drawn["now"]["publications"] == drawn["plan"]["publications"] == 500
    table = run("inspect", "fleet").splitlines()
    assert any(line.split() == ["links", "5", str(score["plan"]["links"])] for line in table)


def test_import_of_what_was_exported_gives_the_same_topology(run: Run) -> None:
    imported(run)
    planned(run)
    export(run, "mosquitto", "out", "--brokers", "brokers.csv")
    given = ("out", "--from", "mosquitto", "--brokers", "brokers.csv", "--clients", "clients.csv")
    run("import", *given, "--topics", "topics.txt", "--out", "again")
    bridges = pq.read_table("again/bridges.parquet").to_pylist()
    assert {(row["owner"], row["remote"], row["pattern"], row["direction"]) for row in bridges} == {
        (bridge.owner, bridge.remote, line.pattern, line.direction)
        for bridge in read_plan(Path("out")).bridges
        for line in bridge.lines
    }
    score = json.loads(run("inspect", "again", "--json"))
    assert score["now"] == score["plan"]
    assert score["now"]["looping_topics"] == score["now"]["missed_deliveries"] == score["now"]["duplicates"] == 0


def test_graphs_are_written_as_tools_read_them(run: Run) -> None:
    imported(run)
    planned(run)
    told = export(run, "json", "g.json")
    links = json.loads(Path("g.json").read_text())["links"]
    assert len(links) == told["bridges"]
    assert sum(link["topics_out"] + link["topics_in"] for link in links) == told["topics_on_links"]
    export(run, "graphml", "g.graphml")
    graph = nx.read_graphml("g.graphml")
    assert sorted(graph.nodes) == [f"b{node}" for node in range(6)]
    assert {(u, v): (about["topics_out"], about["topics_in"]) for u, v, about in graph.edges(data=True)} == {
        (link["owner"], link["remote"]): (link["topics_out"], link["topics_in"]) for link in links
    }
    assert ET.parse("g.graphml").getroot().tag.endswith("graphml")
    export(run, "dot", "g.dot")
    assert Path("g.dot").read_text().count(" -> ") == len(links)
    export(run, "zenoh", "z", "--brokers", "brokers.csv")
    routers = {path.stem: json.loads(path.read_text()) for path in Path("z").glob("*.json5")}
    assert sum(len(router["connect"]["endpoints"]) for router in routers.values()) == len(links)
    assert routers["b3"]["listen"]["endpoints"] == ["tcp/0.0.0.0:2003"]
    assert "transport" not in routers["b3"]


def test_routers_of_zenoh_are_told_of_certificates(run: Run) -> None:
    imported(run)
    planned(run)
    header, *rows = BROKERS.splitlines()
    secure = [f"{header},cafile,certfile,keyfile", *(f"{row},/ca.pem,/cert.pem,/key.pem" for row in rows)]
    Path("secure.csv").write_text("\n".join(secure) + "\n")
    export(run, "zenoh", "z", "--brokers", "secure.csv")
    router = json.loads(Path("z/b3.json5").read_text())
    assert router["listen"]["endpoints"] == ["tls/0.0.0.0:2003"]
    assert router["transport"]["link"]["tls"] == {
        "root_ca_certificate": "/ca.pem",
        "listen_certificate": "/cert.pem",
        "listen_private_key": "/key.pem",
    }


def test_a_later_plan_says_what_changes(run: Run) -> None:
    imported(run)
    planned(run)
    export(run, "mosquitto", "first", "--brokers", "brokers.csv")
    same = export(run, "mosquitto", "same", "--brokers", "brokers.csv", "--old", "first")
    assert same["changed_configurations"] == same["sessions_to_remove"] == []
    assert "None: the plan that runs is as good" in Path("same/changes.md").read_text()
    Path("clients.csv").write_text(f"{CLIENTS}late,b3,site0/door\n")
    run("import", *MOSQUITTO, "--topics", "topics.txt", "--out", "fleet", "--force")
    kept = export(run, "mosquitto", "kept", "--brokers", "brokers.csv", "--old", "first", "--keep")
    assert kept["changed_configurations"] == kept["restart_alone"] != []
    assert kept["moved_topics"] == 0
    planned(run, "other", seed=5)
    given = ("--instance", "fleet/instance", "--to", "mosquitto", "--out", "new", "--brokers", "brokers.csv")
    text = run("export", "other", *given, "--old", "first")
    assert "1. " in text
    assert "Stop b0, b1" in Path("new/changes.md").read_text()


def test_clients_are_placed(run: Run) -> None:
    imported(run)
    told = json.loads(run("place", "fleet", "--out", "placement.parquet", "--json"))
    table = pq.read_table("placement.parquet")
    assert table.column_names == ["client", "broker", "suggested"]
    assert told["cost_suggested"] < told["cost_now"]
    moves = sum(row["broker"] != row["suggested"] for row in table.to_pylist())
    assert moves == told["clients_to_move"] > 0


EXPORT = ("export", "plan", "--instance", "fleet/instance", "--to")
WRONG = {
    "a broker that is not in the CSV": (
        (*EXPORT, "mosquitto", "--brokers", "few.csv", "--out", "x"),
        "Broker 'b1' of the overlay is not in few.csv (5 such in all): add a row with its address.",
    ),
    "no addresses": (
        (*EXPORT, "zenoh", "--out", "x"),
        "--to zenoh needs addresses: give --brokers",
    ),
    "another instance's overlay": (
        ("export", "plan", "--instance", "other/instance", "--to", "json", "--out", "x"),
        "was made for another instance",
    ),
    "an old plan that is none": (
        (*EXPORT, "mosquitto", "--brokers", "brokers.csv", "--old", "conf", "--out", "x"),
        "conf is no plan of `weft export`",
    ),
    "an old plan for a graph": (
        (*EXPORT, "dot", "--old", "conf", "--out", "x"),
        "--old compares plans for Mosquitto",
    ),
    "nothing to keep": (
        (*EXPORT, "dot", "--keep", "--out", "x"),
        "give the plan with --old",
    ),
    "a router for a fleet": (("evaluate", "fleet", "--router", "pie"), "leave --router out"),
    "an overlay for a fleet": (("evaluate", "fleet", "plan"), "leave the overlay out"),
    "no overlay": (("evaluate", "fleet/instance"), "name an overlay beside it"),
    "a page of an instance": (("inspect", "fleet/instance", "--report", "p.html"), "is no fleet"),
    "an instance for a fleet": (("inspect", "fleet", "--instance", "fleet/instance"), "which has its own"),
    "times without a bound": (
        ("place", "fleet", "--latency", "x.csv", "--out", "x"),
        "--latency and --within go together",
    ),
    "no fleet to place": (("place", "fleet/instance", "--out", "x"), "is not a fleet"),
}


def test_mistakes_are_told_in_a_sentence(run: Run) -> None:
    imported(run)
    planned(run)
    Path("few.csv").write_text("name,host\nb0,h\n")
    Path("clients.csv").write_text(f"{CLIENTS}late,b3,site0/door\n")
    run("import", *MOSQUITTO, "--out", "other")
    for case, (arguments, words) in WRONG.items():
        told = run(*arguments, fails=True)
        assert words in told, f"{case}: {told}"
        *steps, sentence = told.splitlines()
        assert sentence.startswith("weft: ")
        assert all(step.endswith(" s") for step in steps)
        assert not Path("x").exists()


def test_a_topic_that_cannot_be_written_is_told(run: Run) -> None:
    Path("clients.csv").write_text("client,broker,filter\nc,b0,my topic\nd,b1,my topic\n")
    run("import", *MOSQUITTO, "--out", "fleet")
    planned(run)
    given = ("--instance", "fleet/instance", "--to", "mosquitto", "--brokers", "brokers.csv", "--out", "x")
    assert "Topic 'my topic' cannot be written in a configuration" in run("export", "plan", *given, fails=True)
