"""A network of real processes: commands, bad surroundings, and the loop from a snapshot to a plan in place."""

import asyncio
import json
import os
import signal
import socket
import sqlite3
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import pytest

from live_network import Master, Node, Process, running, weft, weft_json
from live_node import Paho, http, until
from ports import free_port, free_run
from weft.live.clock import Clock
from weft.live.identity import FILE as IDENTITY
from weft.live.link import Wire
from weft.live.peering import MASTER_FAILURE
from weft.wire import frame as w


@pytest.fixture(scope="module")
def master(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Master]:
    one = Master("--data", str(tmp_path_factory.mktemp("master")), "--settling", "0.2")
    with running(one):
        yield one


@pytest.fixture(scope="module")
def nodes(master: Master) -> Iterator[list[Node]]:
    started = [Node(master, f"n{place}", ready=False) for place in range(4)]
    with running(*started):
        for node in started:
            node.mqtt = node.port()
        master.await_up("n0", "n1", "n2", "n3")
        yield started


def test_publish_anywhere_and_subscribe_anywhere(master: Master, nodes: list[Node]) -> None:
    with Paho(nodes[0].mqtt) as one, Paho(nodes[3].mqtt) as other:
        other.subscribe("news/#", 1)
        one.publish("news/today", "hi", 1)
        until(lambda: other.payloads() == ["hi"], "the delivery")
        assert weft_json("explain", "news/today", "--master", str(master.address))["trees"][0]["members"] == [
            {"node": "n3", "hops": 0, "from": None, "relay": False}
        ]
        trace = weft_json("trace", "n0", "news/today", "--master", str(master.address))
        assert [(step["node"], step["from"], step["clients"]) for step in trace["steps"]] == [
            ("n0", None, 0),
            ("n3", "n0", 1),
        ]


def test_status_in_words_and_for_prometheus(master: Master, nodes: list[Node]) -> None:
    code, out, _ = weft("status", "--master", str(master.address))
    assert code == 0
    assert "links up                     6" in out
    assert " -\n" not in out, "what there is nothing to say of is left out"
    assert f"n2    up     3/3    0        0        0.0             127.0.0.1:{nodes[2].mqtt}" in out
    with socket.create_connection(("127.0.0.1", master.address.port)) as one:
        one.sendall(b"GET /metrics HTTP/1.1\r\n\r\n")
        text = b"".join(iter(lambda: one.recv(65536), b"")).decode()
    assert 'weft_master_nodes{state="up"} 4\n' in text
    assert "weft_master_links_up 6\n" in text


def test_a_node_tells_prometheus_of_its_network(master: Master, nodes: list[Node]) -> None:
    port = free_port()
    node = Node(master, "watched", "--http", f"127.0.0.1:{port}")
    with running(node):
        text = http(port, "/metrics")
        assert "weft_network_master_up 1\n" in text
        assert "weft_network_relayed_total 0\n" in text
        assert "weft_connected 0\n" in text
        assert node.stop()[0] == 0
    master.await_up("n0", "n1", "n2", "n3")


def test_the_loop_from_a_snapshot_to_a_plan_in_place(master: Master, nodes: list[Node], tmp_path: Path) -> None:
    address = ("--master", str(master.address))
    with Paho(nodes[0].mqtt) as one, Paho(nodes[1].mqtt) as two, Paho(nodes[2].mqtt) as three:
        for client, topics in ((one, "ab"), (two, "bc"), (three, "ac")):
            for topic in topics:
                client.subscribe(topic)
        for _ in range(10):
            one.publish("b", "x", 1)
        until(lambda: master.ask("snapshot")["publishers"] is not None, "measuring")
        found = weft_json("snapshot", "--out", str(tmp_path / "live"), *address)
        assert found["nodes"] == 4
        assert found["subscriptions"] == 6
        assert found["publishers"] == 1
        assert found["latency"]
        made = ("design", str(tmp_path / "live"), "--overlay", "swico-even", "--seed", "3")
        weft_json(*made, "--latency", str(tmp_path / "live" / "latency.csv"), "--out", str(tmp_path / "plan"))
        done = weft_json("apply", str(tmp_path / "plan"), "--yes", *address)
        assert done["applied"]
        until(lambda: master.ask("status")["redesign"] == "none", "putting in place")
        again = weft_json("apply", str(tmp_path / "plan"), "--dry-run", *address)
        assert (again["links_to_open"], again["links_to_close"]) == (0, 0)
        two.publish("a", "after", 1)
        until(lambda: "after" in one.payloads() and "after" in three.payloads(), "deliveries over the new plan")
        forecast = weft_json("redesign", "--dry-run", *address)
        assert not forecast["applied"]
        code, _, err = weft("apply", str(tmp_path / "plan"), "--instance", str(tmp_path / "other"), *address)
        assert code == 2
        assert "does not exist" in err or "no instance" in err


def test_a_node_that_is_told_to_leave_leaves_in_order(master: Master, nodes: list[Node]) -> None:
    node = Node(master, "guest")
    with running(node):
        master.await_up("n0", "n1", "n2", "n3", "guest")
        assert weft_json("leave", "guest", "--master", str(master.address))["node"] == "guest"
        assert node.wait()[0] == 0
        master.await_up("n0", "n1", "n2", "n3")
        code, _, err = weft("leave", "guest", "--master", str(master.address))
        assert (code, err) == (2, "weft: There is no node 'guest': there are n0, n1, n2, n3.\n")


# Bad surroundings


def test_two_nodes_with_the_same_name(master: Master, nodes: list[Node]) -> None:
    second = Node(master, "n1", ready=False)
    code, said = second.wait()
    assert code == 2
    assert "weft: There is a node called n1 already, at 127.0.0.1:" in said
    assert said.rstrip().endswith("another name.")
    assert master.up() == {"n0", "n1", "n2", "n3"}


def test_a_node_of_another_cluster(master: Master, nodes: list[Node], tmp_path: Path) -> None:
    kept = {"name": "x", "number": 7, "incarnation": 5, "cluster": "other"}
    (tmp_path / IDENTITY).write_text(json.dumps(kept))
    code, said = Node(master, "x", "--data", str(tmp_path), ready=False).wait()
    assert code == 2
    assert said.startswith("weft: x belongs to cluster other, this master to ")
    assert "start `weft master` as cluster other on an empty folder and keep x's." in said
    assert "another data folder" not in said
    assert said.count("\n") == 1
    assert master.up() == {"n0", "n1", "n2", "n3"}


def test_an_address_that_others_cannot_reach(master: Master, nodes: list[Node]) -> None:
    code, said = Node(master, "far", "--advertise", f"127.0.0.1:{free_port()}", ready=False).wait()
    assert code == 2
    assert "weft: far cannot be reached at 127.0.0.1:" in said
    assert master.up() == {"n0", "n1", "n2", "n3"}
    assert master.ask("status")["links"] == 6


def test_a_folder_of_another_node(master: Master, tmp_path: Path) -> None:
    kept = {"name": "x", "number": 7, "incarnation": 5, "cluster": "other"}
    (tmp_path / IDENTITY).write_text(json.dumps(kept))
    code, said = Node(master, "y", "--data", str(tmp_path), ready=False).wait()
    assert (code, said) == (
        2,
        f"weft: {tmp_path} is of the node x, not of y: give that --name, or another --data folder.\n",
    )


def test_a_master_on_a_used_port(master: Master) -> None:
    assert Process("master", "--listen", str(master.address)).wait() == (
        3,
        f"weft: {master.address} cannot be listened on (Address already in use): give another address.\n",
    )


def test_a_master_whose_folder_is_in_use(tmp_path: Path) -> None:
    one = Master("--data", str(tmp_path))
    with running(one):
        code, said = Process("master", "--listen", "127.0.0.1:0", "--data", str(tmp_path)).wait()
    assert code == 2
    assert f"weft: {tmp_path} is in use by process {one.process.pid}: end that one, or choose another folder." in said


def test_a_master_whose_folder_is_of_a_newer_version(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "master.sqlite") as database:
        database.execute("PRAGMA user_version = 99")
    code, said = Process("master", "--listen", "127.0.0.1:0", "--data", str(tmp_path)).wait()
    assert code == 2
    assert said == (
        f"weft: {tmp_path}/master.sqlite is of a newer version of Weft (format 99, and this one knows 2): run that "
        "version, or choose another folder.\n"
    )


def test_a_master_whose_store_is_damaged(tmp_path: Path) -> None:
    (tmp_path / "master.sqlite").write_text("no database, and long enough to be looked at" * 100)
    code, said = Process("master", "--listen", "127.0.0.1:0", "--data", str(tmp_path)).wait()
    assert code == 3
    assert "is damaged (file is not a database)" in said
    assert "--cluster NAME" in said


def test_no_master_at_the_address() -> None:
    code, _, said = weft("status", "--master", f"127.0.0.1:{free_port()}")
    assert code == 3
    assert "weft: No master answers at 127.0.0.1:" in said
    assert "--master" in said


def test_a_node_waits_for_its_master_and_ends_by_a_signal() -> None:
    node = Process("node", "--master", f"127.0.0.1:{free_port()}", "--listen", "127.0.0.1:0")
    with running(node):
        until(lambda: "unreachable" in node.said(), "telling that the master is not there")
        assert node.stop()[0] == 0


def test_settings_of_a_master_out_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "master.toml"
    file.write_text('cluster = "north"\nlisten = "127.0.0.1:0"\nrest = 5\n')
    one = Process("master", "--config", str(file))
    with running(one):
        assert one.line().startswith("ready 127.0.0.1:")
    file.write_text("cluster = 5\n")
    assert Process("master", "--config", str(file)).wait() == (2, "weft: cluster is 5: give text.\n")
    file.write_text("colour = 3\n")
    code, said = Process("master", "--config", str(file)).wait()
    assert code == 2
    assert f"weft: {file}: there is no option colour: the options are allow-plaintext, automatic, ca, " in said


class Newcomer:
    """A node that has nothing but its connection with the master, and links as soon as it is told of them."""

    def __init__(self, number: int) -> None:
        self.name, self.address = f"n{number}", f"127.0.0.1:{1000 + number}"
        self.done = asyncio.Event()
        self.refused = ""
        self.peers: set[int] = set()

    def opened(self, wire: Wire) -> None:
        wire.failure = MASTER_FAILURE
        wire.send(w.Hello(w.VERSION, "", w.Role.NODE, self.name))

    def heard(self, wire: Wire, frames: Sequence[w.Frame]) -> None:
        for frame in frames:
            match frame:
                case w.Hello():
                    wire.send(w.Join(self.name, 1, w.NOBODY, self.address, (), 0))
                case w.Peers(version, _, _, peers):
                    for peer in {one.node for one in peers} - self.peers:
                        wire.send(w.LinkMade(peer, 1.0))
                    self.peers = {one.node for one in peers}
                    wire.send(w.Applied(version))
                case w.Tables(version):
                    wire.send(w.Applied(version))
                    self.done.set()
                case w.Refused(reason):
                    self.refused = reason
                    self.done.set()

    def closed(self, wire: Wire, reason: str) -> None:
        self.refused = self.refused or reason
        self.done.set()

    def ignore(self, wire: Wire, value: float = 0.0) -> None:
        pass

    congested = drained = timed = clock_read = ignore


def test_five_hundred_nodes_that_join_within_a_second(tmp_path: Path) -> None:
    async def join(port: int) -> list[Newcomer]:
        newcomers, clock = [Newcomer(number) for number in range(500)], Clock()
        connect = asyncio.get_running_loop().create_connection
        calls = [connect(partial(Wire, one, clock), "127.0.0.1", port) for one in newcomers]
        await asyncio.gather(*calls)
        async with asyncio.timeout(60):
            await asyncio.gather(*(one.done.wait() for one in newcomers))
        assert master.ask("status")["links_over_bound"] == {}
        return newcomers

    master = Master("--data", str(tmp_path), "--quiet")
    with running(master):
        newcomers = asyncio.run(join(master.address.port))
    assert [one.refused for one in newcomers if one.refused] == []
    assert max(len(one.peers) for one in newcomers) <= 27


# Master and nodes come and go


def test_nodes_go_on_without_the_master_which_learns_again_what_it_knew(tmp_path: Path) -> None:
    port = free_port()
    listen = ("--listen", f"127.0.0.1:{port}")
    master = Master(*listen, "--data", str(tmp_path))
    one, two = Node(master, "a", ready=False), Node(master, "b", ready=False)
    with running(master, one, two):
        one.mqtt, two.mqtt = one.port(), two.port()
        master.await_up("a", "b")
        with Paho(one.mqtt) as sender, Paho(two.mqtt) as receiver:
            receiver.subscribe("t", 1)
            assert master.stop(signal.SIGKILL)[0] == -signal.SIGKILL
            sender.publish("t", "without", 1)
            until(lambda: receiver.payloads() == ["without"], "the delivery without a master")
            again = Master(*listen, "--data", str(tmp_path))
            with running(again):
                again.await_up("a", "b")
                assert again.ask("explain", topic="t")["trees"][0]["subscribers"] == 1
                sender.publish("t", "with", 1)
                until(lambda: receiver.payloads() == ["without", "with"], "the delivery with the next master")


def test_a_network_on_this_machine_starts_and_ends_as_one(tmp_path: Path) -> None:
    port = free_run(40)
    up = Process("up", "--nodes", "3", "--port", str(port), "--data", str(tmp_path))
    with running(up):
        rows = [up.line().split() for _ in range(4)]
        assert [row[:2] for row in rows] == [
            *([f"node-{place}", f"127.0.0.1:{port + place}"] for place in range(3)),
            ["master", f"127.0.0.1:{port + 3}"],
        ]
        assert up.line().startswith("ready 3 nodes")
        assert all(blocks_interrupts(int(row[3])) for row in rows), "Ctrl-C is for the process that has started them"
        with Paho(port) as one, Paho(port + 2) as other:
            other.subscribe("x")
            one.publish("x", "hi", 1)
            until(lambda: other.payloads() == ["hi"], "the delivery")
        assert up.stop(signal.SIGINT)[0] == 0
    assert {path.name for path in tmp_path.iterdir()} == {"master", "node-0", "node-1", "node-2"}


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--http", "0"), "Invalid value for '--http'"),
        (("--http", "-5"), "Invalid value for '--http'"),
        (("--http", "70000"), "weft: 3 nodes from --http 70000 on pass 65535."),
        (("--http", "65534"), "weft: 3 nodes from --http 65534 on pass 65535."),
        (("--port", "65533"), "weft: 3 nodes and a master from --port 65533 on pass 65535."),
    ],
)
def test_a_network_needs_a_port_for_each(options: tuple[str, ...], told: str) -> None:
    code, out, err = weft("up", *options)
    assert (code, out) == (2, "")
    assert told in err


def test_a_network_ends_with_the_process_that_has_started_it() -> None:
    """Killed, it cannot end the others: they notice."""
    port = free_run(40)
    up = Process("up", "--nodes", "2", "--port", str(port))
    with running(up):
        while not up.line().startswith("ready"):
            pass
        up.stop(signal.SIGKILL)
    until(lambda: not any(map(is_taken, range(port, port + 3))), "the end of nodes and master")


@pytest.mark.parametrize("signals", [(signal.SIGKILL,), (signal.SIGTERM, signal.SIGKILL)], ids=str)
def test_nothing_outlives_it_whatever_it_does(signals: tuple[signal.Signals, ...]) -> None:
    """A process that is stopped does not even notice."""
    port = free_run(40)
    up = Process("up", "--nodes", "2", "--port", str(port))
    with running(up):
        pids = [int(up.line().split()[3]) for _ in range(3)]
        for pid in pids[1:]:
            os.kill(pid, signal.SIGSTOP)
        for number in signals:
            up.process.send_signal(number)
        up.wait()
    until(lambda: not any(map(is_running, pids)), "the end of nodes and master")


def test_sighup_ends_neither_nodes_nor_their_master_nor_who_has_started_them() -> None:
    port = free_run(40)
    up = Process("up", "--nodes", "2", "--port", str(port), "--logs")
    with running(up):
        pids = [int(up.line().split()[3]) for _ in range(3)]
        for pid in (*pids, up.process.pid):
            os.kill(pid, signal.SIGHUP)
        until(lambda: up.said().count(" hangup ") == 3, "hearing it")
        until(lambda: "weft: SIGHUP is heard" in up.said(), "hearing it")
        with Paho(port) as one:
            one.subscribe("x")
        assert all(map(is_running, pids))
        code, said = up.stop()
    assert code == 0
    assert said.count("there are no certificates, users or rights here that could be read again") == 4


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def is_taken(port: int) -> bool:
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) == 0


def blocks_interrupts(pid: int) -> bool:
    status = Path(f"/proc/{pid}/status").read_text()
    blocked = next(line.split()[1] for line in status.splitlines() if line.startswith("SigBlk:"))
    return bool(int(blocked, 16) >> (signal.SIGINT - 1) & 1)
