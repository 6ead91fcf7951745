"""Commands on the user's own data: what is told of it, and what is refused."""

from pathlib import Path

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
