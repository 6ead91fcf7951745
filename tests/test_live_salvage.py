"""`weft salvage`: out of a damaged folder comes one that a node or a master starts with, and a word on what is lost."""

import json
import shutil
import signal
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest
from typer.testing import CliRunner

from live_network import Master, Process, running
from live_network import Node as Member
from live_node import Node, Paho, node, until
from weft import cli
from weft.broker.broker import Broker
from weft.broker.parameters import Parameters
from weft.broker.recovery import Recovery
from weft.errors import SurroundingsError, WeftError
from weft.journal.salvage import salvaged
from weft.live.disk import STORE, Disk, Shown
from weft.live.identity import kept_identity, write_identity
from weft.live.salvage import salvage
from weft.live.store import SqliteStore
from weft.master.record import Record
from weft.node.identity import Identity


def flip(path: Path, at: int, bit: int = 0) -> None:
    content = bytearray(path.read_bytes())
    content[at] ^= 1 << bit
    path.write_bytes(content)


def segment_of(folder: Path) -> Path:
    return max(folder.glob("*.segment"))


def kept_by_a_node(folder: Path, *options: str) -> None:
    """A session with ten publications that wait, and a retained message."""
    with node("--data", str(folder), *options) as one:
        with Paho(one.port, "reader", keep=True) as reader:
            reader.subscribe("a/#", 1)
        with Paho(one.port, "writer") as writer:
            writer.publish("kept", "for ever", 1, retain=True)
            for number in range(10):
                writer.publish("a/b", f"{number} {'x' * 200}", 1)
        one.stop(signal.SIGKILL)


def test_one_flipped_bit_costs_a_node_one_record_and_not_its_journal(tmp_path: Path) -> None:
    data, out = tmp_path / "data", tmp_path / "out"
    kept_by_a_node(data)
    segment = segment_of(data)
    flip(segment, segment.read_bytes().index(b"5 xxx") + 3)

    code, said = Process("node", "--listen", "127.0.0.1:0", "--data", str(data)).wait()
    assert code == 3
    assert f"{segment} is damaged at byte" in said
    assert "weft salvage" in said

    before = {path.name: path.read_bytes() for path in data.iterdir()}
    done = CliRunner().invoke(cli.app, ["salvage", str(data), "--out", str(out), "--json"], catch_exceptions=False)
    told = json.loads(done.stdout)
    assert (told["of"], told["sessions"], told["waiting"], told["retained"]) == ("node", 1, 9, 1)
    assert len(told["lost"]) == 1
    assert told["lost"][0].startswith(f"{segment}: bytes ")
    assert told["lost"][0].endswith("1 record")
    assert {path.name: path.read_bytes() for path in data.iterdir()} == before, "it is only read"

    with node("--data", str(out)) as one, Paho(one.port, "reader", keep=True) as reader:
        until(lambda: len(reader.heard) == 9, "what was salvaged")
        assert [text.split()[0] for text in reader.payloads()] == [str(number) for number in range(10) if number != 5]


def test_a_flip_in_the_last_record_is_told_in_the_log(tmp_path: Path) -> None:
    data = tmp_path / "data"
    kept_by_a_node(data)
    flip(segment_of(data), segment_of(data).stat().st_size - 1)
    one = Node("--data", str(data))
    _, log = one.stop()
    assert "journal_cut detail=" in log
    assert "bytes cannot be read, and are cut" in log
    _, log = Node("--data", str(data)).stop()
    assert "journal_cut" not in log


def test_a_folder_that_a_process_holds_is_refused(tmp_path: Path) -> None:
    disk = Disk(tmp_path / "data")
    disk.create("00000000000000000000.segment").close()
    with pytest.raises(WeftError, match=r"data is in use by process \d+"):
        salvage(tmp_path / "data", tmp_path / "out")
    disk.close()
    assert salvage(tmp_path / "data", tmp_path / "out")["lost"] == []


@pytest.mark.parametrize("folder", ["nothing", "other"])
def test_other_folders_are_refused(tmp_path: Path, folder: str) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "letter.txt").write_text("mine")
    with pytest.raises(WeftError, match="give that of a node or a master"):
        salvage(tmp_path / folder, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_nothing_is_written_into_what_is_read_nor_over_what_is_there(tmp_path: Path) -> None:
    kept_by_a_node(tmp_path / "data")
    with pytest.raises(WeftError, match="which is only read"):
        salvage(tmp_path / "data", tmp_path / "data" / "out")
    (tmp_path / "out").mkdir()
    with pytest.raises(WeftError, match="exists already: give a folder that is not there yet"):
        salvage(tmp_path / "data", tmp_path / "out")


def test_a_flip_in_who_a_node_is_does_not_make_it_another(tmp_path: Path) -> None:
    known = Identity("berlin", "harbour", 2**63 + 5, node=7)
    write_identity(tmp_path, known)
    path = tmp_path / "identity.json"
    whole = path.read_bytes()
    for at in range(len(whole) * 8):
        path.write_bytes(whole)
        flip(path, at // 8, at % 8)
        with suppress(SurroundingsError):
            assert kept_identity(tmp_path) == known, at
    path.write_bytes(whole.replace(b"berlin", b"merlin"))
    with pytest.raises(
        SurroundingsError, match="damaged: restore it from a copy, or have `weft salvage` write a folder"
    ):
        kept_identity(tmp_path)
    path.write_text('{"name": "berlin", "number": 7, "incarnation": 5, "cluster": "harbour"}')  # as it was once
    assert kept_identity(tmp_path) == Identity("berlin", "harbour", 5, node=7)


def test_a_network_is_salvaged_a_node_and_the_master_alike(tmp_path: Path) -> None:
    """The node keeps its name and number, and numbers nothing as it did in what was lost."""
    master_data, node_data = tmp_path / "master", tmp_path / "node"
    master = Master("--data", str(master_data), "--cluster", "harbour")
    with running(master):
        member = Member(master, "berlin", "--data", str(node_data))
        with running(member):
            master.await_up("berlin")
            with Paho(member.mqtt, "reader", keep=True) as reader:
                reader.subscribe("a/#", 1)
            with Paho(member.mqtt, "writer") as writer:
                for number in range(10):
                    writer.publish("a/b", f"{number} {'x' * 200}", 1)
            number_before = json.loads((node_data / "identity.json").read_text())["number"]
            member.stop(signal.SIGKILL)
        master.stop(signal.SIGKILL)
    (master_data / "ca").mkdir()
    (master_data / "ca" / "authority.pem").write_text("public")
    segment = segment_of(node_data)
    flip(segment, segment.read_bytes().index(b"5 xxx") + 3)
    told = salvage(node_data, tmp_path / "node-out")
    assert (told["node"], told["sessions"], told["waiting"], len(told["lost"])) == ("berlin", 1, 9, 1)
    told = salvage(master_data, tmp_path / "master-out")
    assert (told["cluster"], told["nodes"], told["lost"]) == ("harbour", 1, [])
    assert (tmp_path / "master-out" / "ca" / "authority.pem").read_text() == "public"
    shutil.rmtree(tmp_path / "master-out" / "ca")
    master = Master("--data", str(tmp_path / "master-out"), "--cluster", "harbour")
    with running(master):
        member = Member(master, "berlin", "--data", str(tmp_path / "node-out"))
        with running(member), Paho(member.mqtt, "reader", keep=True) as reader:
            until(lambda: len(reader.heard) == 9, "what was salvaged")
            assert json.loads((tmp_path / "node-out" / "identity.json").read_text())["number"] == number_before
            with Paho(member.mqtt, "writer") as writer:
                writer.publish("a/b", "new", 1)
            until(lambda: reader.payloads()[-1] == "new", "what is published since")


def test_a_damaged_master_says_so_in_a_sentence_that_keeps_the_network(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "data")
    store.keep([Record("cluster", "", {"name": "harbour"}), *(Record("node", f"{one}", "x" * 90) for one in range(99))])
    store.close()
    path = tmp_path / "data" / STORE
    content = path.read_bytes()
    flip(path, content.rindex(b"xxxxx"))
    code, said = Process("master", "--listen", "127.0.0.1:0", "--data", str(tmp_path / "data")).wait()
    assert (code, said.count("\n")) == (3, 1), said
    assert f"weft: {path} is damaged (" in said
    assert "--cluster harbour" in said
    told = salvage(tmp_path / "data", tmp_path / "out")
    assert (told["records"], told["lost"]) == (99, [f"{path}: 1 record cannot be read"])


def test_a_broker_starts_with_what_is_left_of_its_records(tmp_path: Path) -> None:
    """Whichever records are missing."""
    data = tmp_path / "data"
    with node("--data", str(data)) as one:
        with Paho(one.port, "reader", version=5, keep=True) as reader:
            reader.subscribe("a/#", 2)
            with Paho(one.port, "writer", version=5, keep=True) as writer:
                for number in range(20):
                    writer.publish("a/b", f"{number}", number % 3, retain=True)
            until(lambda: len(reader.heard) == 20, "all of them")
        with Paho(one.port, "writer", version=5, keep=True) as writer:
            for number in range(20):
                writer.publish("a/b", f"{number}", number % 3, retain=True)
        one.stop(signal.SIGKILL)
    records = salvaged(Shown(data)).records
    for seed in range(200):
        random, recovery = Random(seed), Recovery()
        recovery.replay(record for record in records if random.random() < seed / 200)
        broker = Broker(Parameters(), 0.0, seed=1, durable=True, position=len(records), version="")
        broker.restore(recovery, 0.0)
        broker.check_invariants()


def test_a_master_whose_store_has_lost_its_name_is_not_started_under_another(tmp_path: Path) -> None:
    """Nodes would refuse it, and it would not hear what they keep."""
    store = SqliteStore(tmp_path / "data")
    node = {"name": "n", "number": 0, "incarnation": 1, "address": "x:1", "mqtt": [], "state": "up", "ring_id": 5}
    store.keep([Record("node", "n", node), Record("cluster", "", {"name": "harbour", "version": 1, "next": 1})])
    store.close()
    path = tmp_path / "data" / STORE
    flip(path, path.read_bytes().rindex(b"harbour"))
    told = salvage(tmp_path / "data", tmp_path / "out")
    assert told["cluster"] is None
    assert told["lost"][-1].startswith("the name of the network: start the master with its option cluster")
    code, said = Process("master", "--listen", "127.0.0.1:0", "--data", str(tmp_path / "out")).wait()
    assert code == 2
    assert "give --cluster the name that its nodes have in their identity.json." in said
    for options in (("--cluster", "harbour"), ()):
        master = Master("--data", str(tmp_path / "out"), *options)
        with running(master):
            assert master.ask("status")["cluster"] == "harbour"
            master.stop()


def test_a_flip_in_what_a_master_kept_last_is_told_in_the_log(tmp_path: Path) -> None:
    data = tmp_path / "data"
    master = Master("--data", str(data), "--cluster", "harbour")
    with running(master):
        member = Member(master, "berlin", "--data", str(tmp_path / "berlin"))
        with running(member):
            master.await_up("berlin")
            master.stop(signal.SIGKILL)
            wal = data / f"{STORE}-wal"
            flip(wal, wal.stat().st_size - 1)
            again = Master("--data", str(data))
            with running(again):
                again.await_up()
                assert "store_cut detail=" in again.said()
                assert "bytes cannot be read" in again.said()
