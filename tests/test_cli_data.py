"""Commands on the user's own data: what is told of it, and what is refused."""

import re
from itertools import pairwise
from pathlib import Path

import matplotlib
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from pyspark.sql import SparkSession

import weft
from command_line import Run
from weft.report.figure import STYLE
from weft.report.trial import draw_trials
from weft.sim.trial import Trial, Trials

CLIENTS = "client,broker,topic\nc1,hall,x/+\nc2,roof,x/1\nc3,yard,no/#\n"


def test_filters_are_refused_without_topics_and_expanded_with_them(run_weft: Run) -> None:
    Path("clients.csv").write_text(CLIENTS)
    Path("topics.txt").write_text("x/1\nx/2\n")
    command = ("ingest", "clients.csv", "--as", "subscriptions", "--columns", "broker,topic", "--engine", "local")
    told = run_weft(*command, "--out", "i")
    assert (told.code, Path("i").exists()) == (2, False)
    assert "such as 'no/#', and not the topics that they stand for: list those" in told.err
    assert "--topics" in told.err
    done = run_weft(*command, "--topics", "topics.txt", "--out", "i", "--json")
    assert (done.json["subscriptions"], done.json["filters"], done.json["unmatched_filters"]) == (3, 2, ["no/#"])
    assert "1 filters match no known topic and bring no subscription: no/#." in done.err
    assert weft.Instance.read("i").filters is not None
    assert "unmatched filters  no/#" in run_weft(*command, "--topics", "topics.txt", "--out", "j").out
    Path("clients.csv").write_text("client,broker,topic\na,hall,x\n")
    assert "filters" not in run_weft(*command, "--out", "k").out


def test_a_log_of_traffic_is_told_of_what_is_not_used(run_weft: Run) -> None:
    Path("clients.csv").write_text(CLIENTS.replace("no/#", "x/2"))
    Path("topics.txt").write_text("x/1\n")
    Path("log.csv").write_text("timestamp;client;topic;bytes\n1;hall;x/1;10\n2;yard;x/9;10\n3;yard;sea;10\n")
    run_weft(
        *("ingest", "clients.csv", "--as", "subscriptions", "--columns", "node=broker,topic=topic"),
        *("--topics", "topics.txt", "--engine", "local", "--out", "i"),
    )
    told = run_weft("traffic", "i", "log.csv", "--out", "t")
    assert "unused columns       timestamp, client, bytes\n" in told.out
    assert "log.csv has no publisher column: the subscribers of a topic share its rate." in told.err
    assert "2 of 3 rows are on topics without subscribers in the instance, and left out: sea, x/9." in told.err
    assert "filters of the instance match x/9: ingest again with --topics log.csv." in told.err
    named = run_weft("traffic", "i", "log.csv", "--columns", "node=client,size=bytes", "--out", "n", "--json")
    assert (named.json["unused_columns"], named.json["bytes_of_a_publication"]) == (["timestamp"], 10)
    assert "publisher column" not in named.err
    assert "--columns names 'who'" in run_weft("traffic", "i", "log.csv", "--columns", "who=client", "--out", "o").err
    assert "--columns is 'client'" in run_weft("traffic", "i", "log.csv", "--columns", "client", "--out", "o").err


@pytest.mark.parametrize("engine", ["local", "spark"])
def test_latencies_of_other_names_are_refused_unless_hosts_are_to_be_drawn(
    spark: SparkSession, run_weft: Run, engine: str
) -> None:
    Path("s.csv").write_text("node,topic\nhall,x\nroof,x\nyard,x\n")
    Path("ms.csv").write_text("a,b,ms\nHALL,ROOF,10\nHALL,YARD,10\nROOF,YARD,10\n")
    run_weft("ingest", "s.csv", "--as", "subscriptions", "--engine", "local", "--out", "i")
    design = ("design", "i", "--overlay", "swico-even", "--latency", "ms.csv", "--engine", engine, "--out", "o")
    told = run_weft(*design)
    assert told.code == 2
    assert "times of 'HALL' and others, and of none of the 3 nodes, such as 'hall'" in told.err
    assert "on its hosts with --draw-hosts." in told.err
    assert run_weft(*design, "--draw-hosts").code == 0
    for command in (
        ("weave", "i", "o", "--out", "t"),
        ("evaluate", "i", "o", "--router", "weave"),
    ):
        given = (*command, "--latency", "ms.csv", "--engine", engine)
        assert "of none of the 3 nodes" in run_weft(*given).err
        assert run_weft(*given, "--draw-hosts").code == 0
    if engine == "spark":
        proof = ("run", "i", "--latency", "ms.csv", "--publications", 10, "--out", "r")
        assert "of none of the 3 nodes" in run_weft(*proof).err
        assert run_weft(*proof, "--draw-hosts").code == 0


def a_fleet_of_clients(names: list[str]) -> None:
    addresses = "".join(f"{name},10.0.0.{number},1883\n" for number, name in enumerate(names, 1))
    Path("brokers.csv").write_text(f"name,host,port\n{addresses}")
    rows = "".join(f"c{number},{name},t/{number % 3}\n" for number, name in enumerate(names))
    Path("clients.csv").write_text(f"client,broker,filter\n{rows}")


def test_where_no_links_are_known_nothing_is_called_missing(run_weft: Run) -> None:
    a_fleet_of_clients([f"b{number}" for number in range(8)])
    run_weft("import", "clients.csv", "--from", "csv", "--brokers", "brokers.csv", "--out", "fleet")
    told = run_weft("inspect", "fleet", "--report", "fleet.html", "--json").json
    assert (told["loops"], told["misses"]) == ([], [])
    now, plan = dict(told["now"]), dict(told["plan"])  # type: ignore[call-overload]
    assert now["links"] is now["missed_deliveries"] is now["topics_that_miss_subscribers"] is None
    assert now["expected_deliveries"] == plan["deliveries"] > 0
    assert "No links are known of this fleet" in Path("fleet.html").read_text()
    shown = run_weft("inspect", "fleet").out
    assert re.search(r"topics that miss subscribers +- +0\n", shown)


def test_names_of_brokers_are_not_clipped_in_the_page_of_a_fleet(run_weft: Run) -> None:
    names = [f"{'long-name-of-a-broker-' * (number % 3)}{number}" for number in range(9)]
    a_fleet_of_clients(names)
    run_weft("import", "clients.csv", "--from", "csv", "--brokers", "brokers.csv", "--out", "fleet")
    run_weft("inspect", "fleet", "--report", "fleet.html")
    page = Path("fleet.html").read_text()
    pictures = re.findall(r'<svg [^>]*viewBox="([-\d.]+) 0 ([\d.]+) 400".*?</svg>', page)
    assert len(pictures) == 2
    texts = re.findall(r'<text x="([\d.]+)" [^>]*font-size="9"[^>]*text-anchor="(\w+)">([^<]*)</text>', page)
    assert len(texts) == 2 * len(names)
    left, width = map(float, pictures[0])
    for x, anchor, text in texts:
        size = 5.4 * len(text)  # of sans-serif letters of 9
        begins = float(x) - {"start": 0, "middle": size / 2, "end": size}[anchor]
        assert left <= begins
        assert begins + size <= left + width


@pytest.mark.parametrize("values", [(20, 60), (3, 4), (7, 7), (1, 90_000), (950, 1_050), (0, 12)])
def test_ticks_of_a_comparison_do_not_overlap(values: tuple[int, int]) -> None:
    rows = (
        Trial("star", "weave", 1, *values[:1], *values[:1], 1.0, 0.5, 1.5, 3, *values[:1]),
        Trial("tree", "weave", 1, *values[1:], *values[1:], 1.02, 0.5, 1.51, 3, *values[1:]),
    )
    with matplotlib.rc_context(STYLE):
        picture = draw_trials(Trials(rows))
        canvas = FigureCanvasAgg(picture)
        canvas.draw()
    for axes in picture.axes:
        axis = axes.xaxis
        low, high = sorted(axes.get_xlim())
        ticks = [*axis.get_major_ticks(), *axis.get_minor_ticks()]
        shown = [t.label1 for t in ticks if t.label1.get_text() and low <= t.get_loc() <= high]
        assert shown
        boxes = sorted((box.x0, box.x1) for box in (label.get_window_extent(canvas.get_renderer()) for label in shown))
        assert all(end < begin for (_, end), (begin, _) in pairwise(boxes))
