"""Vitis on one's own instance: every loss has its reason, and all that comes and goes is counted."""

import ast
import csv
from collections.abc import Callable
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

import weft
from weft.errors import WeftError
from weft.model.churn import Change, churn_schedule_of
from weft.model.instance import Instance, instance_from_pairs
from weft.model.latency import CoordinateLatency, place
from weft.model.publication import Publications
from weft.protocol.vitis.gateway import Proposal, elected, inherited
from weft.protocol.vitis.parameters import Parameters
from weft.raw.places import read_places
from weft.report.vitis import write_vitis
from weft.sim.coordinates import Coordinates
from weft.sim.vitis import VitisNetwork
from weft.sim.vitis_run import simulate_vitis
from weft.sim.vitis_scenario import join_all
from weft.workloads.catalog import generate
from weft.workloads.churn import churn_by_rate
from weft.workloads.geography import geographic_latency

INSTANCE = generate("random", nodes=40, topics=25, subscriptions=6, seed=1)
NEAR = place(geographic_latency(20, 1), 40, 1)


def named(*pairs: tuple[str, str]) -> Instance:
    import pandas as pd

    return weft.Instance.from_pandas(pd.DataFrame(pairs, columns=["node", "topic"]), "node", "topic")


def test_a_run_at_rest_delivers_all_and_its_tables_add_up() -> None:
    run = simulate_vitis(INSTANCE, NEAR, 100, seed=2)
    figures, rounds, nodes = run.figures, run.rounds.to_pandas(), run.nodes.to_pandas()
    assert (figures["hit_ratio"], figures["lost_unexplained"], figures["hit_ratio_while_changing"]) == (1.0, 0, None)
    assert figures["publications"] == rounds["publications"].sum() == 100
    assert figures["deliveries"] == rounds["deliveries"].sum() == nodes["wanted"].sum()
    assert sum(figures["deliveries_by_hops"].values()) == figures["deliveries"]
    assert sum(size * count for size, count in figures["clusters_by_size"].items()) == INSTANCE.subscriptions
    assert nodes["sent"].sum() == nodes["wanted"].sum() + nodes["relayed"].sum()
    assert figures["busiest_sends"] == nodes["sent"].max()
    assert rounds["settled"].all()


def test_losses_are_explained_by_changes_or_counted_as_unexplained() -> None:
    churn = churn_by_rate(INSTANCE, 0.02, 3, node_rate=60, subscription_rate=60, away=0.005)
    assert {each.event for each in churn} == {"join", "leave", "fail", "subscribe", "unsubscribe"}
    run = simulate_vitis(INSTANCE, NEAR, 100, churn=churn, table=6, seed=2)
    figures, rounds = run.figures, run.rounds.to_pandas()
    assert figures["changes"] == rounds["changes"].sum() == len(churn)
    assert figures["lost_while_changing"] > 0  # it did hurt
    assert (figures["lost_unexplained"], figures["hit_ratio"]) == (0, 1.0)
    missing = rounds["expected_deliveries"] - rounds["deliveries"]
    assert missing[~rounds["settled"]].sum() == figures["lost_while_changing"]
    assert rounds["nodes"].min() < 40
    assert rounds["settled"].iloc[-1]


def test_who_comes_and_goes_does_so_at_its_time() -> None:
    pairs = [(name, topic) for name in "abcdefgh" for topic in ("news", "jazz")]
    instance = named(*pairs, ("h", "chess"))
    a, b, h = (instance.node_called(name) for name in "abh")
    news = instance.topic_called("news")
    changes = [
        Change(2.0, h, "join"),
        Change(20.0, a, "fail"),
        Change(20.2, a, "join"),  # in the round in which it fails: it waits for the next
        Change(30.0, b, "leave"),
        Change(40.0, h, "unsubscribe", news),
    ]
    run = simulate_vitis(instance, None, 20, churn=churn_schedule_of(instance, changes), per_round=3)
    rounds = run.rounds.to_pandas().set_index("time")
    assert [rounds["nodes"][float(time)] for time in (1, 2, 3, 20, 21, 22, 30, 31)] == [7, 7, 8, 8, 7, 8, 8, 7]
    assert run.nodes.to_pandas().set_index("name")["there"].to_dict() == {name: name != "b" for name in "abcdefgh"}
    assert run.figures["lost_unexplained"] == 0


def test_a_log_is_sent_in_its_order_by_those_who_are_there() -> None:
    instance = named(*((name, "news") for name in "abcd"))
    a, d = instance.node_called("a"), instance.node_called("d")
    said = Publications(np.zeros(6, np.int32), np.array([a, d, d, a, d, a], np.int32))
    schedule = churn_schedule_of(instance, [Change(0.0, d, "leave")])
    run = simulate_vitis(instance, None, said, churn=schedule, per_round=2)
    assert (run.figures["publications"], run.figures["unsaid"]) == (3, 3)
    assert run.figures["deliveries"] == 3 * 2


def gateways_of(graph: "nx.Graph[int]", step: int | None, first: int) -> tuple[int, int]:
    """Gateways of one cluster with these links, and how far it goes from the first of them."""
    ring_ids = {node: (node - first) % len(graph) for node in graph}  # the first is nearest to identifier 0
    held = {node: Proposal(node, ring_ids[node], 0) for node in graph}
    for _ in range(40):
        before = dict(held)
        for node in graph:
            heard = {peer: before[peer] for peer in graph[node]}
            held[node] = elected(Proposal(node, ring_ids[node], 0), heard.values(), 0, 20)
            if step is not None:
                held[node] = inherited(node, held[node], heard)
    return sum(each.is_gateway(step) for each in held.values()), nx.eccentricity(graph, first)


@pytest.mark.parametrize("diameter", [1, 3, 4, 6, 9])
def test_gateways_grow_with_the_diameter_of_a_cluster(diameter: int) -> None:
    path = nx.path_graph(diameter + 1)
    assert gateways_of(path, None, 0) == (1, diameter)
    assert gateways_of(path, 1, 0) == (diameter + 1, diameter)
    assert gateways_of(path, 2, 0) == (diameter // 2 + 1, diameter)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("step", [1, 2, 3])
def test_gateways_stand_on_one_path_whatever_the_size_of_the_cluster(seed: int, step: int) -> None:
    graph = nx.connected_watts_strogatz_graph(40, 4, 0.1, seed=seed)
    found, far = gateways_of(graph, step, seed)
    assert found == far // step + 1


def test_further_gateways_make_more_relays_and_lose_nothing() -> None:
    few, many = (simulate_vitis(INSTANCE, NEAR, 60, table=6, gateway_step=step).figures for step in (None, 1))
    assert few["gateways"] < many["gateways"]
    assert few["lost_unexplained"] == many["lost_unexplained"] == 0


def test_coordinates_come_to_estimate_round_trips() -> None:
    points = np.random.default_rng(1).uniform(0, 100, (60, 2))
    latency = CoordinateLatency(points, base=10.0)
    instance = generate("random", nodes=60, topics=30, subscriptions=5, seed=1)
    network = VitisNetwork(instance, latency, Parameters(table=8, exponent=0.25, measured=True), 1)
    join_all(network, np.arange(60), 100.0, np.random.default_rng(1))
    v, w = np.nonzero(~np.eye(60, dtype=bool))
    errors = []
    for _ in range(4):
        for _ in range(30):
            network.step()
        x = network.setting.coordinates
        told = np.hypot(*(x[v, :2] - x[w, :2]).T) + x[v, 2] + x[w, 2]
        real = latency.round_trip(v, w)
        errors.append(float(np.median(np.abs(told - real) / real)))
    assert errors[-1] < 0.2
    assert errors == sorted(errors, reverse=True)
    assert Coordinates(np.zeros((3, 3))).errors.tolist() == [1.0, 1.0, 1.0]
    trips = zip(v.tolist(), w.tolist(), real.tolist(), strict=True)
    sides = {network.believed(one, other) == trip for one, other, trip in trips}
    assert sides == {True, False}  # measured, and estimated


def test_measured_round_trips_let_a_network_settle_and_deliver_all() -> None:
    figures = simulate_vitis(INSTANCE, NEAR, 60, measured=True, table=8, check=12).figures
    assert figures["rounds_to_settle"] is not None
    assert (figures["hit_ratio"], figures["lost_unexplained"]) == (1.0, 0)
    assert figures["checked_messages"] > 1000


@pytest.mark.parametrize(
    ("attempt", "told"),
    [
        (lambda: simulate_vitis(INSTANCE, None, 0), "`publications` 0 is out of range"),
        (lambda: simulate_vitis(INSTANCE, None, rates=[1.0]), "`rates` has 1 numbers, and there are 25 topics"),
        (lambda: simulate_vitis(INSTANCE, None, rates=[-1.0] * 25), "`rates` has -1 for topic 0: give numbers from 0"),
        (lambda: simulate_vitis(INSTANCE, None, table=2), "Vitis' parameter table is 2"),
        (lambda: simulate_vitis(INSTANCE, None, gateway_step=0), "gateway_step is 0: give a number from 1"),
        (lambda: simulate_vitis(INSTANCE, None, places=["a"]), "The places are of 1 nodes and not of 40"),
        (lambda: simulate_vitis(instance_from_pairs([], [], node_count=2), None), "no subscriptions"),
    ],
)
def test_what_cannot_be_simulated_is_an_error(attempt: Callable[[], object], told: str) -> None:
    with pytest.raises(WeftError, match=told):
        attempt()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("broker,place\na,eu\nb,eu\nx,eu\n", "line 4: There is no node 'x'"),
        ("broker,place\na,eu\na,us\n", "line 3: broker a has a place already, eu"),
        ("broker,place\na,eu\nb,\n", "line 3: broker b has no place"),
        ("broker,place\na,eu\n", "has no place for broker b"),
        ("broker,where\na,eu\n", "has no column 'place'; it has broker, where"),
    ],
)
def test_bad_places_are_named_with_their_line(tmp_path: Path, text: str, told: str) -> None:
    (tmp_path / "p.csv").write_text(text)
    with pytest.raises(WeftError, match=told):
        read_places(tmp_path / "p.csv", named(("a", "t"), ("b", "t")))


def test_a_run_is_written_with_names_and_drawn(tmp_path: Path) -> None:
    instance = named(*((name, "news") for name in ("oslo", "rome", "paris")))
    run = simulate_vitis(instance, None, 40)
    write_vitis(run, tmp_path / "v", {"seed": 1})
    with (tmp_path / "v" / "nodes.csv").open() as file:
        assert sorted(row["name"] for row in csv.DictReader(file)) == ["oslo", "paris", "rome"]
    assert "hit ratio" in (tmp_path / "v" / "figure.svg").read_text()
    assert len((tmp_path / "v" / "rounds.csv").read_text().splitlines()) == 1 + run.figures["rounds"]


SOURCE = Path(weft.__file__).parent


def used_modules(start: list[str]) -> set[str]:
    """Modules that these import, at the top or in their functions, and those that these import, and so on."""
    found: set[str] = set()
    pending = list(start)
    while pending:
        name = pending.pop()
        path = SOURCE.parent / (name.replace(".", "/") + ".py")
        if name in found or not path.exists():
            continue
        found.add(name)
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("weft"):
                pending += [node.module, *(f"{node.module}.{each.name}" for each in node.names)]
    return found


def test_each_public_name_of_vitis_is_used_by_a_command_or_by_weft() -> None:
    """No module of Vitis serves tests alone, and no public name in it is used by nobody but tests."""
    start = ["weft.cli.vitis", "weft.cli.evaluate", "weft.cli.compare", *sorted({*weft._HOMES.values()})]
    reached = used_modules(start)
    files = [*SOURCE.glob("sim/vitis*.py"), *SOURCE.glob("protocol/vitis/*.py"), *SOURCE.glob("kernels/vitis/*.py")]
    modules = {".".join(path.relative_to(SOURCE.parent).with_suffix("").parts): path for path in files}
    assert [name for name in sorted(modules) if name not in reached and not name.endswith("__init__")] == []
    text = {path: path.read_text() for path in SOURCE.rglob("*.py")}
    unused = []
    for name, path in sorted(modules.items()):
        for node in ast.parse(text[path]).body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
                elsewhere = any(node.name in other for file, other in text.items() if file != path)
                if not elsewhere and text[path].count(node.name) < 2:
                    unused.append(f"{name}.{node.name}")
    assert unused == []
