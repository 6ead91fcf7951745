"""What stays of clients that are gone in processes: descriptors, the files of nodes, the store of their master."""

import socket
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path

from live_network import PATIENCE, Master, Node, Process, running
from weft.wire.mqtt import packet as p
from weft.wire.mqtt.property import Property
from weft.wire.mqtt.writer import encode

V5 = p.Version.V5
CLIENTS = 60


def descriptors(process: Process) -> int:
    return sum(1 for _ in Path(f"/proc/{process.process.pid}/fd").iterdir())


def rows(folder: Path) -> int:
    database = sqlite3.connect(f"file:{folder / 'master.sqlite'}?mode=ro", uri=True)
    try:
        return int(database.execute("SELECT count(*) FROM record").fetchone()[0])
    finally:
        database.close()


def until(true: Callable[[], bool], what: Callable[[], object]) -> None:
    end = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < end, what()
        time.sleep(0.02)


def heard(one: socket.socket, kind: int) -> None:
    """Read until a packet of a kind has come; packets here are shorter than 128 bytes."""
    data = b""
    while True:
        while len(data) >= 2 and len(data) >= 2 + data[1]:
            if data[0] >> 4 == kind:
                return
            data = data[2 + data[1] :]
        more = one.recv(4096)
        assert more, "closed"
        data += more


def live(port: int, number: int) -> None:
    """A client that comes, does something, and goes: with a word, without, or before it has said anything."""
    name = f"c{number}"
    with socket.create_connection(("127.0.0.1", port), PATIENCE) as one:
        if number % 4 == 3:
            one.sendall(b"\x10")
            return
        will = p.Will(f"will/{name}", b"gone") if number % 2 else None
        kept = {Property.SESSION_EXPIRY_INTERVAL: 1} if number % 3 == 0 else {}
        said = (p.Connect(name, V5, keep_alive=65_535, will=will, properties=kept),)
        said += (p.Subscribe(1, (p.Request(f"t/{name}"), p.Request(f"{name}/#", 1))),)
        one.sendall(b"".join(encode(each, V5) for each in said))
        heard(one, 9)  # SUBACK
        said = (
            p.Publish(f"r/{name}", b"x" * 1000, 1, True, packet_id=1),
            p.Publish(f"r/{name}", b"", 1, True, packet_id=2),
        )
        one.sendall(b"".join(encode(each, V5) for each in (*said, p.Pingreq())))
        heard(one, 13)  # PINGRESP
        if number % 2 == 0:
            one.sendall(encode(p.Disconnect(), V5))


def test_descriptors_and_rows_go_with_the_clients_that_they_were_for(tmp_path: Path) -> None:
    data = tmp_path / "master"
    master = Master("--data", str(data))
    with running(master):
        nodes = [Node(master, name, "--data", str(tmp_path / name)) for name in "ab"]
        with running(*nodes):
            master.await_up("a", "b")
            processes = [master, *nodes]
            for node in nodes:  # what is opened once
                live(node.mqtt, 1000)
            until(lambda: master.ask("status")["sessions"] == 0, lambda: master.ask("status"))
            before, store = {one: descriptors(one) for one in processes}, rows(data)
            for number in range(CLIENTS):
                live(nodes[number % 2].mqtt, number)
            until(lambda: master.ask("status")["sessions"] == 0, lambda: master.ask("status"))
            until(lambda: rows(data) == store, lambda: (rows(data), store))
            until(lambda: all(descriptors(one) <= before[one] for one in processes), lambda: before)
