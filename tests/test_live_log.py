"""Logs: whatever is behind standard error, nobody waits for it, and nothing fails for it."""

import errno
import io
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from threading import Event as Flag
from threading import Thread
from typing import Any

import pytest

from live_node import Node, Paho, http, node, until
from ports import free_run
from weft.errors import WeftError
from weft.live import log as logs
from weft.live.clock import Clock
from weft.live.log import EVENTS, LEVELS, LONGEST, MOST, Log, Writer
from weft.live.master_settings import read_master_settings
from weft.live.settings import read_settings
from weft.wire.mqtt import packet as p
from weft.wire.mqtt.writer import encode

SOURCE = Path(__file__).parents[1] / "src" / "weft"


def lines_of(*given: tuple[str, dict[str, object]], **options: object) -> list[str]:
    out = io.StringIO()
    log = Log(Clock(), out=out, **options)  # type: ignore[arg-type]
    for event, fields in given:
        log.write(event, **fields)
    return out.getvalue().splitlines()


# Bounds


@pytest.mark.parametrize("as_json", [False, True])
def test_names_from_outside_are_cut_in_every_field(as_json: bool) -> None:
    name = "begin" + "x" * 65_000 + "end"
    (line,) = lines_of(("connected", {"client": name, "detail": name, "connection": 7}), as_json=as_json)
    assert len(line) < 2 * LONGEST + 200
    assert "beginxxx" in line
    assert "xxx...xxx" in line
    assert line.count("xend") == 2
    (whole,) = lines_of(("connected", {"client": "y" * LONGEST}), as_json=as_json)
    assert "y" * LONGEST in whole


def test_a_nodes_log_has_no_line_that_a_client_makes_long() -> None:
    name = "c" * 60_000
    with node() as one:
        with Paho(one.port, name) as client:
            client.publish("t", "x")
        code, log = one.stop()
    assert code == 0
    assert log.count("client=ccc") == 2
    assert max(map(len, log.splitlines())) < 1000


# Levels


@pytest.mark.parametrize(("level", "count"), [("debug", 4), ("info", 3), ("warning", 2), ("error", 1)])
def test_what_is_less_than_the_level_is_not_logged(level: str, count: int) -> None:
    events = ["journal_broken", "tls_refused", "connected", "journal_compacted"]
    lines = lines_of(*((event, {}) for event in events), level=level)
    assert [line.split()[1] for line in lines] == events[:count]
    assert lines_of(("journal_broken", {}), level=level, quiet=True) == []


@pytest.mark.parametrize("read", [read_settings, read_master_settings])
def test_the_level_is_an_option(read: Callable[..., Any]) -> None:
    assert read(None, {}).log_level == "info"
    assert read(None, {"log_level": "warning"}).log_level == "warning"
    with pytest.raises(WeftError, match="log-level is 'loud': give debug, info, warning or error"):
        read(None, {"log_level": "loud"})


def test_json_tells_the_level() -> None:
    told = [json.loads(line) for line in lines_of(("connected", {}), ("defect", {}), as_json=True)]
    assert [one["level"] for one in told] == ["info", "error"]


def test_events_with_a_level_are_those_that_are_written() -> None:
    """A name that is written nowhere any more would be one that has been renamed, and lost its level."""
    files = [path for room in ("live", "broker", "node", "master") for path in (SOURCE / room).glob("*.py")]
    text = "".join(path.read_text().partition("\nLEVEL_OF")[2 * (path.name == "log.py")] for path in files)
    assert [event for events in EVENTS.values() for event in events if f'"{event}"' not in text] == []
    assert set(EVENTS) <= set(LEVELS)


# Whoever does not take it


def test_a_pipe_that_nobody_reads_holds_nobody_up() -> None:
    read, write = os.pipe()
    log = Log(Clock(), out=Writer(write))
    line, count = "x" * LONGEST, 3 * MOST // LONGEST
    for _ in range(count):
        log.write("connected", client=line)
    assert 0 < log.dropped < count  # as many as the pipe and the buffer have no room for
    before = log.dropped
    lines: list[str] = []
    with os.fdopen(read) as reader:
        thread = Thread(target=lambda: lines.extend(reader))
        thread.start()
        until(lambda: sum("connected" in line for line in list(lines)) == count - before, "writing")
        log.write("connected", client="again")
        log.close()
        os.close(write)
        thread.join()
    assert f"log_dropped lines={before}" in lines[-2]
    assert "again" in lines[-1]


def test_a_pipe_that_is_closed_ends_the_log_and_nothing_else() -> None:
    read, write = os.pipe()
    os.close(read)
    log = Log(Clock(), out=Writer(write))
    log.write("connected")
    until(lambda: log.dropped == 1, "noticing")
    log.write("connected")
    assert log.dropped == 2
    log.close()
    os.close(write)


def test_a_full_disk_drops_lines_and_the_first_that_is_written_again_tells_how_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    full, real, room = Flag(), os.write, [10]  # the last bytes that there is room for

    def write(descriptor: int, data: memoryview) -> int:
        if not full.is_set():
            return real(descriptor, data)
        if room:
            return real(descriptor, data[: room.pop()])
        raise OSError(errno.ENOSPC, "No space left on device")

    with (tmp_path / "log").open("wb") as file:
        log = Log(Clock(), out=Writer(file.fileno()))
        log.write("connected", client="before")
        until(lambda: (tmp_path / "log").stat().st_size > 0, "writing")
        monkeypatch.setattr(logs.os, "write", write)
        full.set()
        for _ in range(3):
            log.write("connected", client="lost")
        until(lambda: log.dropped >= 3, "dropping")
        full.clear()
        log.write("connected", client="after")
        log.close()
    lines = (tmp_path / "log").read_text().splitlines()
    assert [line.split()[-1] for line in lines if " connected " in line] == ["client=before", "client=after"]
    assert f"log_dropped lines={log.dropped}" in lines[-2]


def test_a_descriptor_that_does_not_block_is_waited_for_by_the_thread() -> None:
    read, write = os.pipe()
    os.set_blocking(write, False)
    log = Log(Clock(), out=Writer(write))
    for _ in range(2000):
        log.write("connected", client="x" * 100)
    with os.fdopen(read) as reader:
        assert sum(1 for _ in zip(range(2000), reader, strict=False)) == 2000
    assert log.dropped == 0
    os.close(write)


# Processes


def test_a_node_goes_on_whose_output_nobody_reads_any_more() -> None:
    """`weft node 2>&1 | head -n 1`, with a client before it and after it."""
    command = [sys.executable, "-m", "weft", "node", "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0"]
    one = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert one.stdout is not None
    port = int(one.stdout.readline().rpartition(":")[2])
    one.stdout.close()
    for round_ in range(5):
        with Paho(port, f"c{round_}") as client:
            client.subscribe("t")
            client.publish("t", "x", 1)
            until(lambda heard=client: heard.payloads() == ["x"], "delivery")
    one.send_signal(signal.SIGTERM)
    assert one.wait(20) == 0


def test_a_node_serves_though_nobody_hears_that_it_is_ready() -> None:
    read, write = os.pipe()
    os.close(read)
    port = free_run(40)
    command = [sys.executable, "-m", "weft", "node", "--listen", f"127.0.0.1:{port}"]
    one = subprocess.Popen(command, stdout=write, stderr=subprocess.PIPE, text=True)
    os.close(write)
    until(lambda: is_served(port), "serving")
    with Paho(port) as client:
        client.subscribe("t")
    one.send_signal(signal.SIGTERM)
    _, err = one.communicate(timeout=20)
    assert one.returncode == 0
    assert "Broken" not in err


def is_served(port: int) -> bool:
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) == 0


def test_a_node_goes_on_whose_log_is_a_pipe_that_is_full() -> None:
    command = [sys.executable, "-m", "weft", "node", "--listen", "127.0.0.1:0"]
    one = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert one.stdout is not None
    port = int(one.stdout.readline().rpartition(":")[2])
    for _ in range(3):  # of each, the name makes two lines, and a pipe takes 64 KiB
        for number in range(130):
            with Paho(port, f"{number}" + "n" * 250):
                pass
    with Paho(port) as client:
        client.subscribe("t")
        client.publish("t", "x", 1)
        until(lambda: client.payloads() == ["x"], "delivery")
    one.send_signal(signal.SIGTERM)
    assert one.wait(20) == 0


def test_lines_that_were_dropped_are_counted_for_prometheus(tmp_path: Path) -> None:
    port = 20_000 + os.getpid() % 9_000
    with node("--http", f"127.0.0.1:{port}") as one:
        assert isinstance(one, Node)
        assert "\nweft_log_dropped_total 0\n" in http(port, "/metrics")


def test_whoever_is_gone_is_told_with_where_it_was(tmp_path: Path) -> None:
    """Clients that reset the connection too: the system has forgotten them by then."""
    with node() as one:
        for end in (b"\1\0\0\0\0\0\0\0", b"\0\0\0\0\0\0\0\0"):  # at once, and in order
            with socket.create_connection(("127.0.0.1", one.port)) as client:
                client.sendall(encode(p.Connect(f"c{end[0]}", p.Version.V311), p.Version.V311))
                assert client.recv(100)
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, end)
                port = client.getsockname()[1]
            until(lambda port=port: logged(one, "disconnected", port), "the end")  # type: ignore[misc]
        one.stop()


def logged(one: Node, event: str, port: int) -> bool:
    one._log.seek(0)
    return any(f" {event} " in line and f"peer=127.0.0.1:{port} " in line for line in one._log)
