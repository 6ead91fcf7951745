"""The log on a disk that fails: what was reported as synced is there, and what is there is what was appended first.

Records are steps of a state that shows losses, repetitions and changes of order: a list that numbers are added to and
removed from. After a crash at any operation, the state that the log gives back must be that after the first n records,
where n is at least the position that was promised, and is the position that the log continues from.
"""

from contextlib import suppress
from random import Random

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from weft.errors import WeftError
from weft.journal.event import AppendFailed, Compacted, CompactionFailed, Synced
from weft.journal.log import open_log
from weft.journal.output import BrokenFileError
from weft.journal.parameters import Parameters, Sync
from weft.journal.recovery import DamagedError
from weft.sim.disk import Disk, PowerLostError
from weft.wire.journal import FRAME_BYTES, HEADER_BYTES, MAGIC

SMALL = Parameters(segment_bytes=1500, frame_bytes=600, compact_bytes=3000)


def salts(seed=1):
    random = Random(seed)
    return lambda: random.randbytes(4)


def state_after(records):
    state = []
    for record in records:
        verb, number, *_ = record.split()
        state.append(number) if verb == b"add" else state.remove(number)
    return state


def records_of(state):
    return [b"add " + number for number in state]


def opened(disk, parameters=SMALL, salt=None):
    records = []
    log, found = open_log(disk, records.extend, salt or salts(), parameters)
    return log, found, records


class JournalOnAFailingDisk(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.salt = salts()
        self.disk = None
        self.appended = []
        self.promised = 0
        self.snapshot = None  # the records that are yet to be written to it

    @rule(seed=st.integers(0, 2**32))
    @precondition(lambda self: self.disk is None)
    def start(self, seed):
        self.random = Random(seed)
        self.disk = Disk(self.random)
        self.recover()

    def recover(self):
        while True:
            try:
                self.log, found, replayed = opened(self.disk, salt=self.salt)
            except PowerLostError:
                self.disk = self.disk.restarted()
                continue
            except OSError:  # full
                self.disk.capacity = None
                continue
            break
        assert self.promised <= found.position <= len(self.appended)
        assert self.log.position == found.position
        self.appended = self.appended[: found.position]
        assert state_after(replayed) == state_after(self.appended)
        self.promised, self.snapshot = found.position, None

    def crash(self, power):
        self.disk.failing_syncs = False
        self.disk = self.disk.restarted() if power else self.disk.killed()
        self.recover()

    def attempt(self, step, power=True):
        try:
            return step()
        except (PowerLostError, BrokenFileError):
            self.crash(self.random.random() < 0.7)
        except OSError:
            assert self.disk.failing_syncs
            self.crash(power=True)

    @rule(sizes=st.lists(st.integers(0, 700), max_size=6), removals=st.integers(0, 3))
    @precondition(lambda self: self.disk)
    def write(self, sizes, removals):
        records = [b"add %d %s" % (len(self.appended) + n, b"x" * size) for n, size in enumerate(sizes)]
        alive = state_after(self.appended)
        records += [b"remove " + number for number in self.random.sample(alive, min(removals, len(alive)))]
        self.appended += records

        def step():
            failed = self.log.write(records)
            if failed:
                assert self.disk.capacity is not None
                assert self.promised <= failed.position < len(self.appended)
            assert self.log.position == len(self.appended)
            assert self.log.is_waiting == bool(failed)

        self.attempt(step)

    @rule()
    @precondition(lambda self: self.disk)
    def sync(self):
        def step():
            synced = self.log.sync()
            assert self.promised <= synced.position
            assert self.log.is_waiting or synced.position == len(self.appended)
            self.promised = synced.position

        self.attempt(step)

    @rule()
    @precondition(lambda self: self.disk and self.snapshot is None)
    def begin_snapshot(self):
        def step():
            if not self.log.begin_snapshot():
                self.snapshot = records_of(state_after(self.appended))

        self.attempt(step)

    @rule(count=st.integers(1, 30))
    @precondition(lambda self: self.snapshot)
    def extend_snapshot(self, count):
        def step():
            if self.log.extend_snapshot(self.snapshot[:count]):
                self.snapshot = None
            else:
                del self.snapshot[:count]

        self.attempt(step)

    @rule()
    @precondition(lambda self: self.snapshot == [])
    def finish_snapshot(self):
        def step():
            self.snapshot = None
            self.log.finish_snapshot()

        self.attempt(step)

    @rule()
    @precondition(lambda self: self.disk)
    def close(self):
        def step():
            lost = self.log.is_waiting
            self.log.close()
            self.promised = max(self.promised, 0 if lost else len(self.appended))

        self.attempt(step)
        self.crash(power=True)

    @rule(power=st.booleans())
    @precondition(lambda self: self.disk)
    def crash_now(self, power):
        self.crash(power)

    @rule(operations=st.integers(1, 12))
    @precondition(lambda self: self.disk)
    def crash_soon(self, operations):
        self.disk.lose_power_after(operations)

    @rule(room=st.integers(0, 2000))
    @precondition(lambda self: self.disk)
    def fill(self, room):
        self.disk.capacity = self.disk.used + room

    @rule()
    @precondition(lambda self: self.disk)
    def make_room(self):
        self.disk.capacity = None

    @rule()
    @precondition(lambda self: self.disk)
    def fail_syncs(self):
        self.disk.failing_syncs = True

    @invariant()
    def nothing_is_kept_that_is_needless(self):
        if self.disk:
            assert sum(name.endswith(".part") for name in self.disk.names()) == (self.snapshot is not None)

    def teardown(self):
        if self.disk:
            self.crash(power=True)


TestJournalOnAFailingDisk = JournalOnAFailingDisk.TestCase
TestJournalOnAFailingDisk.settings = settings(
    max_examples=200, stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck)
)


class Story:
    """Appends, compacts and continues, and keeps what was appended and what was promised, in case it is cut short."""

    def __init__(self, disk):
        self.disk = disk
        self.appended, self.promised = [], 0

    def run(self):
        log, _, _ = opened(self.disk)
        for number in range(40):
            self.append(log, number)
            if number == 20:
                log.begin_snapshot()
                state = records_of(state_after(self.appended))
            if number in (22, 24):
                log.extend_snapshot(state[:10])
                del state[:10]
            if number == 26:
                log.extend_snapshot(state)
                log.finish_snapshot()
        log.close()

    def append(self, log, number):
        self.appended.append(b"add %d %s" % (number, bytes([97]) * 90))
        log.write(self.appended[-1:])
        if number % 3:
            self.promised = log.sync().position

    def check(self, disk):
        log, found, replayed = opened(disk)
        assert self.promised <= found.position <= len(self.appended)
        assert state_after(replayed) == state_after(self.appended[: found.position])
        self.promised = found.position
        return log


def cut_short(operations, seed):
    story = Story(Disk(Random(seed)))
    story.disk.lose_power_after(operations)
    with pytest.raises(PowerLostError):
        story.run()
    return story


def operations_of_the_story():
    story = Story(Disk(Random(1)))
    story.run()
    return story.disk.operations


@pytest.mark.parametrize("seed", range(10))
def test_the_power_may_be_lost_at_every_operation(seed):
    for operations in range(1, operations_of_the_story() + 1):
        story = cut_short(operations, seed)
        story.check(story.disk.restarted())


@pytest.mark.parametrize("seed", range(10))
def test_the_power_may_be_lost_while_or_after_a_killed_process_is_continued(seed):
    """What a recovery finds in the cache, and builds on, must be made sure first."""
    for operations in range(1, operations_of_the_story() + 1):
        for more in range(1, 7):
            story = cut_short(operations, seed)
            disk = story.disk.killed()
            disk.lose_power_after(more)
            with suppress(PowerLostError):
                story.check(disk)
            story.check(disk.restarted())


def disk_with(batches, parameters=SMALL, close=False):
    disk = Disk(Random(1))
    log, _, _ = opened(disk, parameters)
    for batch in batches:
        log.commit(batch, Sync.DISK)
    if close:
        log.close()
    return disk, log


def batches(count):
    return [[b"add %d" % number] for number in range(count)]


def test_a_commit_is_one_frame_and_one_sync():
    disk, log = disk_with([])
    before = disk.operations
    assert log.commit([b"add 1", b"add 2", b"add 3"], Sync.DISK) == [Synced(3)]
    assert disk.operations - before == 2
    assert log.commit([b"add 4"], Sync.PROCESS) == [Synced(4)]
    assert disk.operations - before == 3
    assert log.commit([], Sync.DISK) == []


def test_what_was_reported_to_the_process_outlives_it():
    disk, log = disk_with([])
    for batch in batches(300):
        log.commit(batch, Sync.PROCESS)
    assert opened(disk.killed())[2] == [b"add %d" % number for number in range(300)]


def test_a_long_commit_is_several_frames():
    disk, log = disk_with([])
    records = [b"add %d" % number for number in range(1000)]
    assert log.commit(records, Sync.DISK) == [Synced(1000)]
    assert opened(disk.restarted())[2] == records
    assert len(disk.names()) > 3


def test_a_full_disk_keeps_records_waiting_in_order():
    disk, log = disk_with(batches(3))
    disk.capacity = disk.used + 50
    assert log.commit([b"add 3"], Sync.DISK) == [Synced(4)]
    assert log.commit([b"add 4"], Sync.DISK) == [AppendFailed(4, "No space left on device")]
    assert log.commit([b"add 5"], Sync.DISK) == []
    assert log.is_waiting
    assert opened(disk.restarted())[2] == [b"add %d" % number for number in range(4)]
    disk.capacity = None
    assert log.commit([], Sync.DISK) == [Synced(6)]
    assert opened(disk.restarted())[2] == [b"add %d" % number for number in range(6)]


def test_what_fitted_of_a_commit_is_synced_and_reported():
    disk, log = disk_with([])
    disk.capacity = disk.used + 1000
    events = log.commit([b"add %d %s" % (number, bytes(490)) for number in range(4)], Sync.DISK)
    assert events == [Synced(1), AppendFailed(1, "No space left on device")]
    disk.capacity += 550
    assert log.commit([], Sync.DISK) == [Synced(2), AppendFailed(2, "No space left on device")]


def test_compaction_leaves_a_snapshot_and_a_segment():
    disk, log = disk_with(batches(200))
    assert log.wants_compaction
    assert log.begin_snapshot() is None
    assert not log.wants_compaction
    log.commit([b"add 200"], Sync.DISK)
    assert log.extend_snapshot([b"add 7"]) is None
    log.commit([b"add 201"], Sync.DISK)
    done = log.finish_snapshot()
    assert isinstance(done, Compacted)
    assert done.position == 200
    names = [f"{200:020d}.segment", f"{200:020d}.snapshot"]
    assert sorted(disk.names()) == names
    assert not log.wants_compaction
    _, found, records = opened(disk.restarted())
    assert (records, found.position) == ([b"add 7", b"add 200", b"add 201"], 202)
    assert found.snapshot_bytes == done.snapshot_bytes


def test_a_snapshot_that_finds_no_room_leaves_nothing_and_is_not_tried_at_once():
    disk, log = disk_with(batches(200))
    disk.capacity = disk.used + 200
    assert log.begin_snapshot() is None
    assert log.extend_snapshot([b"add 1 %s" % bytes(300)]) == CompactionFailed("[Errno 28] No space left on device")
    assert not any(name.endswith("part") for name in disk.names())
    assert not log.wants_compaction
    assert log.commit([b"add 200"], Sync.DISK) == [Synced(201)]
    disk.capacity = None
    for batch in batches(100):
        log.commit(batch, Sync.DISK)
    assert log.wants_compaction


def test_while_records_wait_there_is_no_compaction():
    disk, log = disk_with(batches(3))
    disk.capacity = disk.used
    log.commit([b"add 3"], Sync.DISK)
    assert log.begin_snapshot() == CompactionFailed("the disk is full")


def test_a_failed_sync_is_not_tried_again():
    disk, log = disk_with(batches(3))
    disk.failing_syncs = True
    with pytest.raises(BrokenFileError, match=r"0.segment could not be synced \(Input/output error\)"):
        log.commit([b"add 3"], Sync.DISK)


@pytest.mark.parametrize("bit", [0, 7])
def test_damage_to_anything_in_a_closed_journal_is_told_with_file_and_place(bit):
    disk, _ = disk_with(batches(60), close=True)
    first, last = sorted(disk.names())[0], sorted(disk.names())[-1]
    assert first != last
    frames = (FRAME_BYTES + 4 + len(b"add 0"), FRAME_BYTES)
    sizes = {name: sum(map(len, disk.chunks(name))) for name in disk.names()}
    for name, size in sizes.items():
        for offset in range(size - (frames[1] if name == last else 0)):
            disk.flip(name, offset, bit)
            with pytest.raises(WeftError) as raised:
                opened(disk)
            disk.flip(name, offset, bit)
            if not isinstance(raised.value, DamagedError):
                assert "newer Weft" in str(raised.value)
                assert offset in (len(MAGIC), len(MAGIC) + 1)
                continue
            assert name in str(raised.value)
            place = int(str(raised.value).partition(" at byte ")[2].partition(":")[0])
            assert place <= offset < place + max(HEADER_BYTES, FRAME_BYTES + 4 + len(b"add 00"))
    assert len(opened(disk)[2]) == 60


def test_a_damaged_snapshot_is_told():
    disk, log = disk_with(batches(60))
    log.begin_snapshot()
    log.extend_snapshot([b"add 1"])
    log.finish_snapshot()
    name = f"{60:020d}.snapshot"
    disk.flip(name, HEADER_BYTES + FRAME_BYTES)
    with pytest.raises(DamagedError, match=f"{name} is damaged at byte {HEADER_BYTES}: restore the folder from a copy"):
        opened(disk)


def test_a_snapshot_without_its_end_is_told():
    disk, log = disk_with(batches(60))
    log.begin_snapshot()
    log.finish_snapshot()
    disk.open(f"{60:020d}.snapshot").truncate(HEADER_BYTES)
    with pytest.raises(DamagedError, match=f"snapshot is damaged at byte {HEADER_BYTES}"):
        opened(disk)


def test_a_missing_segment_is_told():
    disk, _ = disk_with(batches(100))
    first, second, *_ = sorted(disk.names())
    disk.delete(second)
    with pytest.raises(DamagedError, match=f"{second} is missing"):
        opened(disk)
    disk.delete(first)
    with pytest.raises(DamagedError, match=f"{first} is missing"):
        opened(disk)


def test_a_snapshot_without_its_segment_is_told():
    disk, log = disk_with(batches(5))
    log.begin_snapshot()
    log.finish_snapshot()
    disk.delete(f"{5:020d}.segment")
    with pytest.raises(DamagedError, match=f"{5:020d}.segment is missing"):
        opened(disk)


def test_a_file_under_another_name_is_told():
    disk, _ = disk_with(batches(100))
    first, second, *_ = sorted(disk.names())
    disk.rename(second, first)
    with pytest.raises(DamagedError, match=f"{first} has the content of another file"):
        opened(disk)


def test_a_newer_format_is_refused_with_the_file():
    disk, _ = disk_with(batches(1))
    disk.flip(f"{0:020d}.segment", len(MAGIC) + 1)
    with pytest.raises(WeftError, match=f"{0:020d}.segment has format 257 of the journal.*use a newer Weft"):
        opened(disk)


@pytest.mark.parametrize("size", range(HEADER_BYTES))
def test_a_segment_that_was_just_begun_is_made_anew(size):
    disk, _ = disk_with(batches(100))
    last = sorted(disk.names())[-1]
    disk.open(last).truncate(size)
    log, found, records = opened(disk)
    assert found.tail is None
    assert log.commit([b"add 1"], Sync.DISK) == [Synced(found.position + 1)]
    assert opened(disk.restarted())[2] == [*records, b"add 1"]


def test_other_files_are_let_alone():
    disk, _ = disk_with(batches(1))
    disk.create("lock")
    disk.create("notes.segment")
    opened(disk)
    assert {"lock", "notes.segment"} <= set(disk.names())


@pytest.mark.parametrize("name", ["segment_bytes", "frame_bytes", "compact_bytes", "compact_ratio"])
def test_parameters_are_validated(name):
    with pytest.raises(WeftError, match=f"{name} is -1: give at least"):
        Parameters(**{name: -1})
