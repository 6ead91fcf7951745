"""Subscriptions from Mosquitto's log: ids and topics with blanks, and all that a log may say besides."""

import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from command_line import Run
from weft.errors import WeftError
from weft.fleet.fleet import read_fleet
from weft.fleet.mosquitto_log import read_logs, subscriptions

LOG = """1700000000: mosquitto version 2.0.11 starting
1700000000: Opening ipv4 listen socket on port 1883.
1700000001: New connection from 10.0.0.7:5000 on port 1883.
1700000001: New client connected from 10.0.0.7:5000 as door 2 hall (p2, c1, k60, u'ann').
1700000001: door 2 hall 1 sensors/door bell/+
1700000002: plain 0 a/b
1700000002: New client connected from 10.0.0.8:5001 as plain (p5, c0, k60).
1700000003: plain 2 my topic 0 odd
1700000003: plain 0 gone
1700000004: plain gone
1700000005: Sending PUBLISH to plain (d0, q0, r0, m0, 'a/b', ... (5 bytes))
1700000006: Client plain closed its connection.
1700000006: Socket error on client 0 x, disconnecting.
"""
HELD = {("door 2 hall", "sensors/door bell/+"), ("plain", "a/b"), ("plain", "my topic 0 odd")}


@pytest.mark.parametrize(
    "prefix",
    [
        "1700000000: ",
        "2026-11-19T14:03:02: ",
        "2026-11-19 14:03:02+0100: ",
        "",
        "Nov 19 14:03:02 hub mosquitto[71]: 17: ",
    ],
)
def test_ids_and_topics_with_blanks_are_read_whatever_the_time_stamp(prefix: str) -> None:
    lines = [prefix + line.partition(": ")[2] for line in LOG.splitlines()]
    assert subscriptions(lines) == HELD


WORDS = st.lists(st.sampled_from(["a", "0", "2", "b/c", "Client"]), min_size=1, max_size=3).map(" ".join)


@given(st.sets(st.tuples(WORDS, WORDS), max_size=5))
def test_clients_that_are_known_to_have_connected_are_not_mistaken(held: set[tuple[str, str]]) -> None:
    """Lines that do not begin as one of another client that is known."""
    clients = {client for client, _ in held}
    lines = {f"{client} 1 {text}": (client, text) for client, text in held}
    for line, (client, _) in list(lines.items()):
        if any(line.startswith(f"{one} {qos} ") for one in clients - {client} for qos in "012"):
            del lines[line]
    known = [f"17: New client connected from 10.0.0.1:1 as {client} (p2, c1, k60)." for client in clients]
    assert subscriptions([*known, *(f"17: {line}" for line in lines)]) == set(lines.values())


def test_a_fleet_is_imported_from_its_logs(run_weft: Run) -> None:
    Path("conf").mkdir()
    for name in ("hall", "roof"):
        Path(f"conf/{name}.conf").write_text("listener 1883\n")
    Path("brokers.csv").write_text("name,host\nhall,10.0.0.1\nroof,10.0.0.2\n")
    Path("hall.log").write_text(LOG)
    with gzip.open("mosquitto.log.gz", "wt") as file:
        file.write("17: lamp one 0 $share/g/a/b\n17: roof.bridge 1 #\n")
    Path("conf/hall.conf").write_text("connection bridge\naddress 10.0.0.2\ntopic # both\n")
    command = ("import", "conf", "--from", "mosquitto", "--brokers", "brokers.csv", "--out", "fleet")
    told = run_weft(*command, "--log", "hall.log", "--log", "roof=mosquitto.log.gz", "--json")
    assert told.code == 0, told.err
    rows = {(row["client"], row["broker"], row["filter"]) for row in read_fleet("fleet").clients.to_pylist()}
    assert rows == {(client, "hall", text) for client, text in HELD} | {("lamp one", "roof", "$share/g/a/b")}
    assert "say whose it is with --log NAME=FILE" in run_weft(*command, "--log", "mosquitto.log.gz", "--force").err
    assert "nope.log does not exist" in run_weft(*command, "--log", "nope.log", "--force").err
    wrong = ("import", "hall.log", "--from", "csv", "--brokers", "brokers.csv", "--log", "hall.log", "--out", "f")
    assert "--log is of Mosquitto, and not of csv" in run_weft(*wrong).err


def test_a_log_without_subscriptions_is_told(tmp_path: Path) -> None:
    from weft.fleet.broker import Broker

    (tmp_path / "hall.log").write_text("17: mosquitto version 2.0.11 running\n")
    with pytest.raises(WeftError, match="has no subscription: the broker writes them with `log_type subscribe`"):
        read_logs([str(tmp_path / "hall.log")], {"hall": Broker("hall", "10.0.0.1")}, "brokers.csv")
