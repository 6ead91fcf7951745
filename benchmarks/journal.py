"""What the journal takes: records/s, and replay, beside SQLite's write-ahead log in the same run on the same disk.

python benchmarks/journal.py [--folder FOLDER] [--seconds 0.5] [--rounds 5]

Records of 100 bytes come in batches of 1, 10 and 100. `waiting`: the next batch is appended when the last one is
reported, as one publisher would that waits for each acknowledgement. `window`: up to 1,000 records are on their way,
as with many publishers, so that one sync serves many; a million with `none`, where nobody waits, so that there is no
figure for waiting. SQLite commits a transaction a batch on its one connection, in the calling thread and without an
event loop, so that it has no window (`synchronous` is FULL for disk, OFF for process and none). Beside them the bare
system calls, a write and an fdatasync a batch: what the disk allows. Figures are medians over rounds in which all take
turns, for the disk is shared.
"""

import argparse
import asyncio
import os
import sqlite3
import tempfile
import time
from collections.abc import Callable
from itertools import product
from math import isnan, nan
from pathlib import Path
from statistics import median

from weft.journal.event import Event, Synced
from weft.journal.parameters import Parameters, Sync
from weft.live.journal import open_journal

RECORD = bytes(range(100))
Rate = Callable[[Path, Sync, int, float], float]
SIZES = (1, 10, 100)
NO_COMPACTION = Parameters(compact_bytes=1 << 40)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, help="on the disk to measure; a temporary one if not given")
    parser.add_argument("--seconds", type=float, default=0.5, help="for each figure in each round")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    print("| sync | batch | journal, waiting | journal, window | SQLite | bare calls |")
    print("|---|---:|---:|---:|---:|---:|")
    for sync, size in product(Sync, SIZES):
        rounds = [[measured(rate, sync, size, options) for rate in RATES] for _ in range(options.rounds)]
        rates = (median(column) for column in zip(*rounds, strict=True))
        cells = [sync, str(size), *("" if isnan(rate) else f"{rate:,.0f}" for rate in rates)]
        print(f"| {' | '.join(cells)} |", flush=True)
    replays = [measured(replayed, Sync.PROCESS, 100, options) for _ in range(options.rounds)]
    print(f"\nreplay: {median(replays):,.0f} records/s")


def measured(rate: Rate, sync: Sync, size: int, options: argparse.Namespace) -> float:
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        return rate(Path(folder) / "log", sync, size, options.seconds)


def waiting(folder: Path, sync: Sync, size: int, seconds: float) -> float:
    return nan if sync is Sync.NONE else asyncio.run(appended(folder, sync, size, seconds, 1))


def window(folder: Path, sync: Sync, size: int, seconds: float) -> float:
    return asyncio.run(appended(folder, sync, size, seconds, 1_000_000 if sync is Sync.NONE else 1_000))


async def appended(folder: Path, sync: Sync, size: int, seconds: float, window: int) -> float:
    """Records/s until all of them are written, with no more on the way than a window and a batch."""
    journal = open_journal(folder, list, sync=sync, parameters=NO_COMPACTION)
    reported, progress = 0, asyncio.Event()

    def report(event: Event) -> None:
        nonlocal reported
        assert isinstance(event, Synced), event
        reported = event.position
        progress.set()

    journal.start(report, lambda: iter(()))
    start = time.perf_counter()
    while time.perf_counter() < start + seconds:
        while journal.position - reported < window:
            journal.append([RECORD] * size)
        progress.clear()
        await progress.wait()
    await journal.close()
    return journal.position / (time.perf_counter() - start)


def sqlite(folder: Path, sync: Sync, size: int, seconds: float) -> float:
    connection = sqlite3.connect(folder.with_suffix(".db"), isolation_level=None)
    connection.execute("pragma journal_mode = wal")
    connection.execute(f"pragma synchronous = {'full' if sync is Sync.DISK else 'off'}")
    connection.execute("create table record (position integer primary key, content blob)")
    start, count, rows = time.perf_counter(), 0, [(RECORD,)] * size
    while time.perf_counter() < start + seconds:
        connection.execute("begin")
        connection.executemany("insert into record (content) values (?)", rows)
        connection.execute("commit")
        count += size
    connection.close()
    return count / (time.perf_counter() - start)


def bare(folder: Path, sync: Sync, size: int, seconds: float) -> float:
    descriptor, data = os.open(folder, os.O_CREAT | os.O_WRONLY | os.O_APPEND), RECORD * size
    start, count = time.perf_counter(), 0
    while time.perf_counter() < start + seconds:
        os.write(descriptor, data)
        if sync is Sync.DISK:
            os.fdatasync(descriptor)
        count += size
    os.close(descriptor)
    return count / (time.perf_counter() - start)


def replayed(folder: Path, sync: Sync, size: int, seconds: float) -> float:
    window(folder, sync, size, seconds)
    count = 0

    def replay(records: list[bytes]) -> None:
        nonlocal count
        count += len(records)

    start = time.perf_counter()
    open_journal(folder, replay)
    return count / (time.perf_counter() - start)


RATES: tuple[Rate, ...] = (waiting, window, sqlite, bare)

if __name__ == "__main__":
    main()
