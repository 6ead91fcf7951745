"""`weft popsub` on brokers, filters and logs of anybody's own: every delivery against a checker that knows no Weft."""

import csv
import json
import random
from collections import Counter
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import popsub_checker
import weft
from command_line import Run
from weft.errors import WeftError
from weft.protocol.popsub.parameters import Parameters, Way
from weft.sim.capacity import Capacity
from weft.sim.popsub import simulate
from weft.sim.popsub_case import Case, Plan, by_messages, prepare, simulate_popsub, ways_of

ALL = [way.value for way in Way]
SLOW = Capacity(60.0, sizes=(1, 8), speedup=(1.0, 2.0), additional=0.3)
FILTERS = [
    "price > {n}",
    'symbol in ("A", "{s}") and price <= {n}',
    'not symbol = "A" and not price < {n}',
    "symbol ^ '{s}' or price = {n}",
    "",
    'size != 3 or (symbol >= "B" and not (price > {n} or size = 1))',
    "not size >= 2",
]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Twelve brokers, eight advertisements that overlap, 90 subscriptions, 700 publications."""
    folder, draw = tmp_path_factory.mktemp("own"), random.Random(4)
    links = [(f"b{draw.randrange(broker)}", f"b{broker}", draw.randint(2, 40)) for broker in range(1, 12)]
    lows = [draw.randrange(40) for _ in range(8)]
    ads = [
        (f"a{n}", f"b{draw.randrange(12)}", "quote", f"price >= {low} and price <= {low + 60}")
        for n, low in enumerate(lows)
    ]
    wanted = [
        (f"s{n}", f"b{draw.randrange(12)}", draw.choice(["quote"] * 9 + ["news"]), filled(draw.choice(FILTERS), draw))
        for n in range(90)
    ]
    log = []
    for number in range(700):
        ad = min(draw.randrange(8), draw.randrange(8))
        price, symbol = draw.randint(lows[ad], lows[ad] + 60), draw.choice(["A", "B", "C", "AB"])
        log.append((round(number / 30 + draw.random(), 3), f"a{ad}", price, symbol, draw.choice(["", 1, 2, 3])))
    log.sort()
    return {
        "links": write(folder / "links.csv", "a,b,ms", links),
        "advertisements": write(folder / "ads.csv", "id,broker,class,filter", ads),
        "subscriptions": write(folder / "subs.csv", "id,broker,class,filter", wanted),
        "publications": write(folder / "log.csv", "time,advertisement,price,symbol,size", log),
    }


def filled(text: str, draw: random.Random) -> str:
    return text.replace("{n}", str(draw.randrange(100))).replace("{s}", draw.choice("ABC"))


def write(path: Path, heading: str, rows: list[tuple[object, ...]]) -> str:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([heading.split(","), *rows])
    return str(path)


def pairs(way) -> list[tuple[int, str]]:
    rows = pa.Table.from_batches(way.each_delivery())
    return sorted(zip(rows["publication"].to_pylist(), rows["subscription"].to_pylist(), strict=True))


def due(files: dict[str, str]) -> list[tuple[int, str]]:
    return popsub_checker.due(files["advertisements"], files["subscriptions"], files["publications"])


@pytest.mark.parametrize("options", [{}, {"batch_by": "link"}, {"high_priority": "size = 2"}], ids=str)
def test_every_way_makes_every_delivery_that_brute_force_finds_once(files, options) -> None:
    expected = due(files)
    result = simulate_popsub(**files, unpopular=ALL, phi=0.3, capacity=SLOW, arrivals=True, **options)
    assert len(expected) > 5_000
    for way in result.ways:
        assert pairs(way) == expected, way.unpopular
        assert (way.deliveries, way.expected_deliveries, way.missed) == (len(expected), len(expected), 0)
        assert (way.unpopular_deliveries > 0) == (way.unpopular != "tree")
        assert way.forwards == way.links["forwards"].sum() == way.advertisements["forwards"].sum()
        by_hand = Counter(
            row["advertisement"]
            for row, count in zip(popsub_checker.rows_of(files["publications"]), counts_of(expected, 700), strict=True)
            for _ in range(count)
        )
        by_name = dict(
            zip(way.advertisements["advertisement"].to_pylist(), way.advertisements["deliveries"], strict=True)
        )
        assert {name: count for name, count in by_name.items() if count} == by_hand
        assert way.cost == way.matchings + way.forwards + way.out_of_overlay


@pytest.mark.parametrize("options", [{}, {"sweep": False}], ids=str)
def test_the_simulation_decides_as_the_brokers_own_code_does(files, tmp_path: Path, options) -> None:
    """Advertisements overlap, so that a subscription heads for several; some are of high priority."""
    rows = popsub_checker.rows_of(files["advertisements"])
    ads = [{**row, "priority": "high" if row["id"] == "a5" else "normal"} for row in rows]
    log = [
        {name: text if name in ("advertisement", "symbol") else popsub_checker.cell(text) for name, text in row.items()}
        for row in popsub_checker.rows_of(files["publications"])[:400]
    ]
    given = {**files, "advertisements": ads, "publications": log}
    fast = Capacity(60.0, additional=0.0)  # of planning
    ways = ["tree", "direct", "batch", "adaptive", "gossip"]
    plan = Plan(phi=0.3, capacity=fast, **options)
    by_hand = by_messages(prepare(Case(**given), 1), ways_of(ways), plan, 1)
    prepared = prepare(Case(**given), 1)
    for way, slow in zip(ways_of(ways), by_hand, strict=True):
        parameters = Parameters(prepared.tree.tree.diameter, 60.0, 1.0 if way is Way.TREE else 0.3, **options)
        made = simulate(prepared.stage, way, parameters, Capacity(np.inf), 1)
        same = ["expected_deliveries", "forwards", "pure_forwards"]
        same += [] if way in (Way.GOSSIP, Way.ADAPTIVE) else ["deliveries", "unpopular_deliveries", "out_of_overlay"]
        assert [getattr(made, name) for name in same] == [slow[name] for name in same], way
        assert slow["unpopular_deliveries"] > 0 or way is Way.TREE


def counts_of(expected: list[tuple[int, str]], publications: int) -> list[int]:
    return np.bincount([number - 1 for number, _ in expected], minlength=publications).tolist()


def test_the_tree_costs_what_walking_it_costs(files) -> None:
    """Forwards, pure ones and matchings of the baseline, by climbing from every subscriber to the publisher."""
    parents = {row["b"]: row["a"] for row in popsub_checker.rows_of(files["links"])}
    ads = {row["id"]: row["broker"] for row in popsub_checker.rows_of(files["advertisements"])}
    at = {row["id"]: row["broker"] for row in popsub_checker.rows_of(files["subscriptions"])}
    log = popsub_checker.rows_of(files["publications"])
    wanting: dict[int, set[str]] = {}
    for number, name in due(files):
        wanting.setdefault(number, set()).add(at[name])
    forwards = pure = 0
    for number, brokers in wanting.items():
        issuer = ads[log[number - 1]["advertisement"]]
        links = {link for broker in brokers for link in path(parents, issuer, broker)}
        forwards += len(links)
        pure += sum(source != issuer and source not in brokers for source, _ in links)
    (tree,) = simulate_popsub(**files, unpopular="tree").ways
    assert (tree.forwards, tree.pure_forwards) == (forwards, pure)
    assert tree.matchings == len(log) + forwards


def path(parents: dict[str, str], source: str, target: str) -> list[tuple[str, str]]:
    def up(broker: str) -> list[str]:
        return [broker, *up(parents[broker])] if broker in parents else [broker]

    climbed, descended = up(source), up(target)
    while len(climbed) > 1 and len(descended) > 1 and climbed[-2] == descended[-2]:
        del climbed[-1], descended[-1]
    way = climbed + descended[-2::-1]
    return list(pairwise(way))


def test_the_command_prints_the_same_as_json_as_a_table_and_in_files(run_weft: Run, files) -> None:
    command = ["popsub", *(word for name, path in files.items() for word in (f"--{name}", path))]
    command += ["--unpopular", "tree,direct,gossip", "--phi", "0.01"]
    done = run_weft(*command, "--json", "--out", "o", "--deliveries", "d.csv")
    here = simulate_popsub(**files, unpopular=["tree", "direct", "gossip"], phi=0.01)
    assert done.json == here.summary()
    assert list(done.json["ways"][0])[:3] == ["unpopular", "phi", "seed"]
    rows = popsub_checker.rows_of("o/ways.csv")
    assert [int(row["forwards"]) for row in rows] == [way.forwards for way in here.ways]
    assert {row["source"] for row in popsub_checker.rows_of("o/links.csv")} == {f"b{n}" for n in range(12)}
    assert len(popsub_checker.rows_of("o/advertisements.csv")) == 3 * 8
    delivered = [
        (int(row["publication"]), row["subscription"])
        for row in popsub_checker.rows_of("d.csv")
        if row["unpopular"] == "gossip"
    ]
    assert sorted(delivered) == due(files)
    page = Path("o/popsub.html").read_text()
    assert "Publication gain ratio" in page
    assert page.count("<svg") == 3
    table = run_weft(*command)
    assert table.out.splitlines()[0].split()[:2] == ["unpopular", "by"]
    assert [line.split()[0] for line in table.out.splitlines()[1:4]] == ["tree", "direct", "gossip"]


def test_csv_json_lines_parquet_payloads_and_tables_say_the_same(files, tmp_path: Path) -> None:
    log = popsub_checker.rows_of(files["publications"])
    typed = [
        {
            "time": float(row["time"]),
            "advertisement": row["advertisement"],
            "price": int(row["price"]),
            "symbol": row["symbol"],
        }
        | ({"size": int(row["size"])} if row["size"] else {})
        for row in log
    ]
    lines, parquet, payload = (tmp_path / name for name in ("log.jsonl", "log.parquet", "payload.csv"))
    lines.write_text("\n".join(map(json.dumps, typed)) + "\n")
    pq.write_table(pa.Table.from_pylist(typed), parquet)
    attributes = ("price", "symbol", "size")
    documents = [json.dumps({name: row[name] for name in attributes if name in row}) for row in typed]
    moments = [datetime.fromtimestamp(row["time"], UTC).isoformat() for row in typed]
    write(
        payload,
        "time,advertisement,payload",
        list(zip(moments, (row["advertisement"] for row in typed), documents, strict=True)),
    )
    expected = simulate_popsub(**files, unpopular="tree").summary()
    for given in (str(lines), str(parquet), payload, typed, pa.Table.from_pylist(typed)):
        assert simulate_popsub(**{**files, "publications": given}, unpopular="tree").summary() == expected
    milliseconds = [{**row, "time": 1000 * row["time"]} for row in typed]
    again = simulate_popsub(**{**files, "publications": milliseconds}, unpopular="tree", time_unit="ms").summary()
    assert again["ways"][0]["deliveries"] == expected["ways"][0]["deliveries"]


def test_text_that_looks_like_a_number_is_text_where_types_are_known(tmp_path: Path) -> None:
    lines = tmp_path / "log.jsonl"
    lines.write_text(
        '{"time": 0, "advertisement": "a", "code": "5", "in": {"side": true}}\n'
        '{"time": 1, "advertisement": "a", "code": 5}\n'
    )
    given = [{"id": "a", "broker": "x", "class": "c"}]
    texts = ['code = "5"', "code = 5", 'in.side = "true"', "not code > 4"]
    wanted = [{"id": str(n), "broker": "y", "class": "c", "filter": text} for n, text in enumerate(texts)]
    links = [{"a": "x", "b": "y", "ms": 10}]
    (tree,) = simulate_popsub(links, given, wanted, str(lines), unpopular="tree", arrivals=True).ways
    assert pairs(tree) == [(1, "0"), (1, "2"), (1, "3"), (2, "1")]


@pytest.mark.parametrize(
    ("name", "heading", "row", "problem"),
    [
        ("links", "a,b,ms", "b0,b11,5", "brokers must be a tree: leave it out"),
        ("links", "a,b,ms", "b0,b0,5", "leads to itself"),
        ("links", "a,b,ms", "b0,c,-5", "-5 ms is no time of a link"),
        ("links", "a,b,ms", "b0,c,soon", "'soon' is no number of ms"),
        ("advertisements", "id,broker,class,filter", "new,nowhere,quote,", "no link names the broker 'nowhere'"),
        ("advertisements", "id,broker,class,filter", "a0,b1,quote,", "the id 'a0' is there already"),
        ("subscriptions", "id,broker,class,filter", "new,b1,quote,price >", "it ends at character 8"),
        ("publications", "time,advertisement,price", "9,a99,5", "there is no advertisement 'a99'"),
        ("publications", "time,advertisement,price", "9,a1,-5", "outside what advertisement 'a1' announces"),
        ("publications", "time,advertisement,price", "today,a1,50", "'today' is no number of time"),
        ("publications", "time,advertisement,price", ",a1,50", "it has no time"),
    ],
)
def test_a_bad_row_is_named_with_its_file_and_line(files, tmp_path: Path, name, heading, row, problem) -> None:
    text = Path(files[name]).read_text().rstrip("\n")
    width = len(text.splitlines()[0].split(","))
    bad = tmp_path / f"{name}.csv"
    bad.write_text(f"{text}\n\n{row}{',' * (width - len(row.split(',')))}\n")
    line = len(text.splitlines()) + 2  # a blank one is before it
    with pytest.raises(WeftError, match=f"{name}.csv, line {line}: .*{problem}"):
        simulate_popsub(**{**files, name: str(bad)}, unpopular="tree")


def test_links_that_are_no_one_tree_are_refused(files) -> None:
    links = [{"a": "b0", "b": "b1", "ms": 1}, {"a": "b2", "b": "b3", "ms": 1}]
    with pytest.raises(WeftError, match="no links lead from 'b0' to 'b2'"):
        simulate_popsub(**{**files, "links": links}, unpopular="tree")


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"unpopular": "carrier-pigeon"}, "there are tree, direct"),
        ({"phi": 1.5}, "out of range"),
        ({"headroom": 1.0}, "out of range"),
        ({"history": 0}, "out of range"),
        ({"advertisements": None}, "There are no advertisements"),
        ({"links": None}, "There is no tree of brokers"),
        ({"nearest": 3}, "leave it out"),
        ({"high_priority": "size ="}, "is not understood"),
    ],
)
def test_options_that_go_wrong_are_sentences(files, options, problem) -> None:
    with pytest.raises(WeftError, match=problem):
        simulate_popsub(**{**files, **options})


def test_rates_draw_publications_at_even_intervals_from_distributions(files, tmp_path: Path) -> None:
    rates = write(
        tmp_path / "rates.csv",
        "advertisement,rate,price,symbol",
        [("a0", 5, "integers(40, 60)", 'choice("A", "B")'), ("a1", 2.5, "50", 'zipf(1, "A", "C")')],
    )
    given = {**files, "publications": rates}
    one, again = (simulate_popsub(**given, unpopular="tree", seconds=20) for _ in range(2))
    assert one.publications == 150
    assert one.summary() == again.summary() != simulate_popsub(**given, unpopular="tree", seconds=20, seed=2).summary()
    negative = write(tmp_path / "negative.csv", "advertisement,rate", [("a0", -1)])
    with pytest.raises(WeftError, match=r"negative\.csv, line 2: the rate -1 is below 0"):
        simulate_popsub(**{**files, "publications": negative})
    outside = write(tmp_path / "outside.csv", "advertisement,rate,price", [("a0", 1, "uniform(900, 1000)")])
    with pytest.raises(WeftError, match=r"outside\.csv, line 2: its values are outside"):
        simulate_popsub(**{**files, "publications": outside})


def test_without_sweeps_what_gossip_leaves_out_is_missed_and_told(run_weft: Run, files) -> None:
    command = ["popsub", *(word for name, path in files.items() for word in (f"--{name}", path))]
    done = run_weft(*command, "--unpopular", "gossip", "--phi", "0.001", "--no-sweep", "--history", "1", "--json")
    (way,) = done.json["ways"]
    assert way["missed"] > 0
    assert way["deliveries"] + way["missed"] == way["expected_deliveries"] == len(due(files))
    swept = run_weft(*command, "--unpopular", "gossip", "--phi", "0.001", "--history", "1", "--json")
    assert swept.json["ways"][0]["missed"] == 0


def test_one_group_of_all_brokers_tells_more_of_them_what_they_do_not_want(files) -> None:
    few = [row for row in popsub_checker.rows_of(files["subscriptions"]) if row["broker"] in ("b1", "b2", "b5")]
    given = {**files, "subscriptions": few}
    gossip, lpbcast = simulate_popsub(**given, unpopular=["gossip", "lpbcast"], phi=0.001, capacity=SLOW).ways
    assert (lpbcast.groups, gossip.groups > 2) == (1, True)
    assert lpbcast.gossip_false_positives > 2 * gossip.gossip_false_positives


def test_high_priority_goes_by_the_tree_whatever_it_gains(files, tmp_path: Path) -> None:
    rows = popsub_checker.rows_of(files["advertisements"])
    ads = [{**row, "priority": "high" if row["id"] == "a5" else "normal"} for row in rows]
    usual, urgent = (
        simulate_popsub(**{**files, "advertisements": given}, unpopular="direct", phi=0.05, capacity=SLOW).ways[0]
        for given in (rows, ads)
    )
    assert usual.advertisements["unpopular_deliveries"][5] > 0
    assert urgent.advertisements["unpopular_deliveries"][5] == 0
    assert urgent.advertisements["deliveries"][5] == usual.advertisements["deliveries"][5]
    (single,) = simulate_popsub(
        **files, unpopular="direct", phi=0.05, capacity=SLOW, high_priority="size = 2", arrivals=True
    ).ways
    log = popsub_checker.rows_of(files["publications"])
    for row in pa.Table.from_batches(single.each_delivery()).to_pylist():
        assert row["popular"] or log[row["publication"] - 1]["size"] != "2"


def test_phi_is_chosen_by_utilisation_and_gains_below_the_headroom(files) -> None:
    chosen = [
        simulate_popsub(**files, unpopular="direct", capacity=Capacity(able), headroom=0.3).ways[0].phi
        for able in (1e6, 1000.0, 1.0)
    ]
    assert 0 < chosen[0] < chosen[1] < chosen[2] <= 0.7
    assert chosen[1] == pytest.approx(1000 * chosen[0])


def test_latencies_alone_give_the_paper_s_tree(files, tmp_path: Path) -> None:
    draw = np.random.default_rng(1)
    times = draw.uniform(5, 80, (12, 12)).round(1).tolist()
    rows = [(f"b{n}", *row) for n, row in enumerate(times)]
    latency = write(tmp_path / "latency.csv", ",".join(["", *(f"b{n}" for n in range(12))]), rows)
    alone = simulate_popsub(**{**files, "links": None}, latency=latency, unpopular=["tree", "direct"], arrivals=True)
    assert alone.brokers == 12
    assert all(pairs(way) == due(files) for way in alone.ways)
    both = simulate_popsub(**files, latency=latency, unpopular="tree")
    assert both.ways[0].forwards == simulate_popsub(**files, unpopular="tree").ways[0].forwards


def test_a_topic_is_a_class_that_its_publishers_or_all_subscribers_advertise(run_weft: Run) -> None:
    Path("rows.csv").write_text("broker,topic\n" + "".join(f"b{n},t{n % 3}\nb{n},t{n % 2}\n" for n in range(9)))
    run_weft("ingest", "rows.csv", "--as", "subscriptions", "--out", "i", "--engine", "local")
    instance = weft.Instance.read("i")
    links = [{"a": f"b{n // 2}", "b": f"b{n}", "ms": 4} for n in range(1, 9)]
    said = weft.publications(instance, 50, seed=3)
    result = simulate_popsub(links, instance=instance, publications=said, unpopular=["tree", "gossip"])
    expected = int(instance.subscribers.counts[said.topics].sum())
    assert [way.deliveries for way in result.ways] == [expected, expected]
    Path("links.csv").write_text("a,b,ms\n" + "".join("{a},{b},{ms}\n".format(**row) for row in links))
    said.write("said.parquet")
    done = run_weft(
        "popsub", "i", "--links", "links.csv", "--publications", "said.parquet", "--unpopular", "tree", "--json"
    )
    assert done.json["ways"][0]["deliveries"] == expected
    short = [row for row in links if row["b"] != "b8"]
    with pytest.raises(WeftError, match="node 'b8', and no link names such a broker"):
        simulate_popsub(short, instance=instance, publications=said)


def test_a_capacity_of_one_s_own_is_read_from_a_file(run_weft: Run, files, tmp_path: Path) -> None:
    table = tmp_path / "mine.toml"
    table.write_text(
        "[capacity]\npublications_per_second = 60\nadditional = 0.3\n[batch]\nsizes = [1, 8]\nspeedup = [1.0, 2.0]\n"
    )
    read = simulate_popsub(**files, unpopular="batch", phi=0.3, capacity=table).summary()
    assert read == simulate_popsub(**files, unpopular="batch", phi=0.3, capacity=SLOW).summary()
    table.write_text("[capacity]\npublications_per_second = 60\n")
    with pytest.raises(WeftError, match="is no table of capacity"):
        simulate_popsub(**files, capacity=table)
