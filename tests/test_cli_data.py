"""Commands on the user's own data: what is told of it, and what is refused."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import weft
from command_line import Run

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
