"""The journal on a real disk, with a thread beside an event loop, and with processes that end without notice."""

import asyncio
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from weft.errors import SurroundingsError, WeftError
from weft.journal.event import AppendFailed, Broken, Compacted, CompactionFailed, Synced
from weft.journal.parameters import Parameters, Sync
from weft.journal.recovery import recovered
from weft.live import disk as live_disk
from weft.live import journal as live_journal
from weft.live.disk import Disk
from weft.live.journal import open_journal
from weft.wire.journal import FRAME_BYTES, HEADER_BYTES

SMALL = Parameters(segment_bytes=20_000, frame_bytes=5_000, compact_bytes=50_000)


class Owner:
    """Keeps numbers, and hears what the journal says."""

    def __init__(self, folder, **options):
        self.records, self.events = [], []
        self.journal = open_journal(folder, self.records.extend, **options)
        self._arrived = None

    def start(self):
        self.journal.start(self._report, lambda: iter(list(self.records)))
        return self

    def append(self, *records):
        self.records += records
        return self.journal.append(list(records))

    async def heard(self, wanted):
        """The first event that is wanted, past or to come."""
        while not (found := [event for event in self.events if wanted(event)]):
            self._arrived = asyncio.get_running_loop().create_future()
            await asyncio.wait_for(self._arrived, 60)
        return found[0]

    async def synced(self, position):
        return await self.heard(lambda event: isinstance(event, Synced) and event.position >= position)

    def _report(self, event):
        self.events.append(event)
        if self._arrived and not self._arrived.done():
            self._arrived.set_result(None)


def found_in(folder):
    records, disk = [], Disk(folder)
    recovered(disk, records.extend)
    disk.close()
    return records


@pytest.mark.parametrize("sync", Sync)
def test_what_is_appended_is_reported_and_there_after_a_restart(tmp_path, sync):
    async def first():
        owner = Owner(tmp_path / "new" / "folder", sync=sync).start()
        assert owner.append(b"one", b"two") == 2
        assert owner.append(b"three") == 3
        assert owner.journal.synced == (3 if sync is Sync.NONE else 0)
        await owner.synced(3)
        assert owner.journal.synced == 3
        owner.append(b"four")
        await owner.journal.close()
        assert owner.events[-1] == Synced(4)

    async def second():
        owner = Owner(tmp_path / "new" / "folder", sync=sync).start()
        assert owner.records == [b"one", b"two", b"three", b"four"]
        assert owner.append(b"five") == 5
        await owner.synced(5)
        await owner.journal.close()

    asyncio.run(first())
    asyncio.run(second())
    assert found_in(tmp_path / "new" / "folder") == [b"one", b"two", b"three", b"four", b"five"]


def test_a_journal_that_was_only_read_is_closed_in_order(tmp_path):
    asyncio.run(open_journal(tmp_path, list).close())
    assert (tmp_path / f"{0:020d}.segment").stat().st_size == HEADER_BYTES + FRAME_BYTES
    Disk(tmp_path).close()


def test_one_sync_serves_all_that_came_meanwhile(tmp_path, monkeypatch):
    syncs = []
    sync = live_disk.File.sync
    monkeypatch.setattr(live_disk.File, "sync", lambda file: (syncs.append(file), sync(file)))

    async def run():
        owner = Owner(tmp_path).start()
        before = len(syncs)
        for number in range(1000):
            owner.append(b"%d" % number)
        await owner.synced(1000)
        assert len(syncs) - before == len(owner.events)
        assert len(owner.events) < 100
        positions = [event.position for event in owner.events]
        assert positions == sorted(set(positions))
        await owner.journal.close()

    asyncio.run(run())


def test_it_is_compacted_while_appends_go_on(tmp_path, monkeypatch):
    monkeypatch.setattr(live_journal, "SLICE", 10)

    async def run():
        owner = Owner(tmp_path, parameters=SMALL).start()
        number = 0
        while sum(isinstance(event, Compacted) for event in owner.events) < 3:
            for _ in range(20):
                owner.append(b"%d %s" % (number, bytes(100)))
                number += 1
            del owner.records[:10]  # what the log still has, and a snapshot does not
            await owner.synced(number)
        await owner.journal.close()
        return owner.records, [event.position for event in owner.events if isinstance(event, Compacted)]

    records, compacted = asyncio.run(run())
    found = found_in(tmp_path)
    assert found[-len(records) :] == records
    numbers = [int(record.split()[0]) for record in found]
    assert numbers == list(range(numbers[0], numbers[-1] + 1))
    assert numbers[0] > 0
    names = sorted(os.listdir(tmp_path))
    assert [name for name in names if name.endswith("snapshot")] == [f"{compacted[-1]:020d}.snapshot"]
    assert min(name for name in names if name.endswith("segment")) == f"{compacted[-1]:020d}.segment"


def test_a_second_compaction_waits_for_the_next_call(tmp_path):
    async def run():
        owner = Owner(tmp_path).start()
        owner.append(b"one")
        owner.journal.compact()
        owner.journal.compact()
        assert (await owner.heard(lambda event: isinstance(event, Compacted))).position == 1
        await owner.journal.close()
        assert sum(isinstance(event, Compacted) for event in owner.events) == 1

    asyncio.run(run())
    assert found_in(tmp_path) == [b"one"]


def test_closing_gives_up_a_compaction(tmp_path):
    async def run():
        owner = Owner(tmp_path, parameters=SMALL).start()
        owner.append(*(b"%d" % number for number in range(5000)))
        owner.journal.compact()
        await owner.journal.close()

    asyncio.run(run())
    assert found_in(tmp_path) == [b"%d" % number for number in range(5000)]
    assert not any(name.endswith(("part", "snapshot")) for name in os.listdir(tmp_path))


def test_a_second_process_is_told_of_the_first(tmp_path):
    process = subprocess.Popen(
        [sys.executable, Path(__file__).with_name("journal_process.py"), tmp_path, "process"],
        stdout=subprocess.PIPE,
    )
    try:
        process.stdout.readline()
        with pytest.raises(WeftError, match=f"^{tmp_path} is in use by process {process.pid}: end that one, or choose"):
            Disk(tmp_path)
    finally:
        process.kill()
        process.communicate()
    Disk(tmp_path).close()


@pytest.mark.parametrize(("sync", "times"), [("disk", 20), ("process", 20)])
def test_a_killed_process_loses_nothing_that_it_reported(tmp_path, sync, times):
    random = Random(17)
    for _ in range(times):
        process = subprocess.Popen(
            [sys.executable, Path(__file__).with_name("journal_process.py"), tmp_path, sync], stdout=subprocess.PIPE
        )
        for _ in range(random.randint(1, 40)):
            reported = int(process.stdout.readline())
        process.send_signal(signal.SIGKILL)
        rest, _ = process.communicate()
        reported = max([reported, *map(int, rest.split(b"\n")[:-1])])
        found = found_in(tmp_path)
        assert reported <= len(found)
        assert found == [b"%d" % number for number in range(len(found))]
    assert any(name.endswith("snapshot") for name in os.listdir(tmp_path))


def limit_file_size(size):
    """Files of this process: a disk that is full, for want of one."""
    hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard if size is None else size, hard))


@pytest.fixture
def file_size_limit():
    yield limit_file_size
    limit_file_size(None)


def test_a_full_disk_fails_appends_which_go_on_by_themselves(tmp_path, monkeypatch, file_size_limit):
    monkeypatch.setattr(live_journal, "RETRY", 0.01)

    async def run():
        owner = Owner(tmp_path).start()
        await owner.synced(owner.append(b"one"))
        file_size_limit(1000)
        owner.append(b"two", bytes(2000))
        failed = await owner.heard(lambda event: isinstance(event, AppendFailed))
        assert failed == AppendFailed(1, "File too large")
        assert owner.append(b"three") == 4
        owner.journal.compact()
        await owner.heard(lambda event: isinstance(event, CompactionFailed))
        file_size_limit(None)
        await owner.synced(4)
        await owner.journal.close()

    asyncio.run(run())
    assert found_in(tmp_path) == [b"one", b"two", bytes(2000), b"three"]


@pytest.fixture
def tiny_disk(tmp_path):
    """A file system of 128 KiB, where this process may mount one."""
    path = tmp_path / "tiny"
    path.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=128k", "tmpfs", path], capture_output=True)
    if mounted.returncode:
        pytest.skip("a file system cannot be mounted here")
    yield path
    subprocess.run(["umount", "--lazy", path], check=True)  # a test that failed may still have files open


def test_a_tiny_disk_fills_up_and_goes_on_when_there_is_room(tiny_disk, monkeypatch):
    monkeypatch.setattr(live_journal, "RETRY", 0.01)

    async def run():
        (tiny_disk / "ballast").write_bytes(bytes(64_000))
        owner = Owner(tiny_disk, parameters=SMALL).start()
        for _ in range(200):
            owner.append(b"%d" % len(owner.records) + bytes(300))
        failed = await owner.heard(lambda event: isinstance(event, AppendFailed))
        assert failed.reason == "No space left on device"
        copy = tiny_disk.parent / "copy"
        copy.mkdir()
        for path in tiny_disk.glob("*.s*"):
            (copy / path.name).write_bytes(path.read_bytes())
        assert found_in(copy) == owner.records[: failed.position]
        (tiny_disk / "ballast").unlink()
        await owner.synced(200)
        await owner.journal.close()
        return owner.records

    records = asyncio.run(run())
    assert found_in(tiny_disk) == records


def test_closing_on_a_full_disk_keeps_what_was_reported(tmp_path, file_size_limit):
    async def run():
        owner = Owner(tmp_path).start()
        await owner.synced(owner.append(b"one"))
        file_size_limit(100)
        owner.append(bytes(200))
        await owner.heard(lambda event: isinstance(event, AppendFailed))
        await owner.journal.close()

    asyncio.run(run())
    file_size_limit(None)
    assert found_in(tmp_path) == [b"one"]


def test_a_failed_sync_ends_it_with_a_sentence(tmp_path, monkeypatch):
    async def run():
        owner = Owner(tmp_path).start()
        await owner.synced(owner.append(b"one"))

        def failing(file):
            raise OSError(5, "Input/output error")

        monkeypatch.setattr(live_disk.File, "sync", failing)
        owner.append(b"two")
        broken = await owner.heard(lambda event: isinstance(event, Broken))
        assert "could not be synced (Input/output error)" in broken.reason
        assert "start again" in broken.reason
        owner.append(b"three")
        await owner.journal.close()
        assert owner.journal.synced == 1

    asyncio.run(run())


def test_a_folder_that_cannot_be_made_is_told(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(SurroundingsError, match=r"file cannot be made a folder \(.*\): choose another"):
        Disk(tmp_path / "file" / "folder")


def test_damage_leaves_the_folder_free(tmp_path):
    async def run():
        owner = Owner(tmp_path).start()
        await owner.synced(owner.append(b"one"))
        await owner.journal.close()

    asyncio.run(run())
    segment = tmp_path / f"{0:020d}.segment"
    content = bytearray(segment.read_bytes())
    content[-FRAME_BYTES - 1] ^= 1  # before the end
    segment.write_bytes(content)
    with pytest.raises(WeftError, match=f"^{segment} is damaged at byte 28: restore the folder from a copy"):
        open_journal(tmp_path, list)
    Disk(tmp_path).close()
