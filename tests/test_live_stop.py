"""SIGTERM: an end in order, and an end in any case, whatever the event loop does."""

import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from live_node import PATIENCE
from weft.errors import WeftError
from weft.live.disk import Disk
from weft.live.journal import open_journal
from weft.live.settings import read_settings

BUSY = """
import asyncio, sys, time
from pathlib import Path
from weft.live.clock import Clock
from weft.live.driver import Driver
from weft.live.journal import open_journal
from weft.live.log import Log
from weft.live.stop import Stop

class Broker:
    def next_deadline(self):
        return None
    def records(self):
        return iter(())

async def main():
    log = Log(Clock())
    driver = Driver(Broker(), Clock(), log, open_journal(Path(sys.argv[1]), lambda records: None))
    driver.start()
    stop = Stop(0.2, log)
    stop.at_last = driver.close_at_last
    for number in range(1000):
        driver._journal.append([b"%d" % number])
    print("ready", flush=True)
    {busy}

{run}(main())
"""
ASYNCIO, UVLOOP = "asyncio.run", "__import__('uvloop').run"
ENDLESS = "while True: pass"
WAITING = "await asyncio.sleep(3600)"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("run", [ASYNCIO, UVLOOP])
@pytest.mark.parametrize("busy", [ENDLESS, WAITING])
def test_a_process_that_does_not_come_to_its_end_ends_with_its_journal_closed(
    tmp_path: Path, number: signal.Signals, run: str, busy: str
) -> None:
    script = BUSY.replace("{busy}", busy).replace("{run}", run)
    command = [sys.executable, "-c", script, str(tmp_path)]
    one = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert one.stdout is not None
    assert one.stdout.readline() == "ready\n"
    one.send_signal(number)
    _, err = one.communicate(timeout=PATIENCE)
    assert one.returncode == 0
    assert " ended_late " in err
    assert records_of(tmp_path) == [b"%d" % place for place in range(1000)]


def records_of(folder: Path) -> list[bytes]:
    found: list[bytes] = []

    def replay(records: Sequence[bytes]) -> None:
        found.extend(records)

    journal = open_journal(folder, replay)
    journal._log.close()
    journal._disk.close()
    Disk(folder).close()  # nobody holds it
    return found


def test_how_long_a_node_waits_for_others_is_an_option() -> None:
    assert read_settings(None, {}).leaving == 3.0
    assert read_settings(None, {"leaving": 0.5}).leaving == 0.5
    with pytest.raises(WeftError, match=r"leaving is -1\.0: give 0 or more"):
        read_settings(None, {"leaving": -1.0})
