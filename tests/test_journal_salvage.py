"""What is read of a damaged journal: every frame that is whole, in order, and the number of those between them."""

from random import Random

import pytest

from weft.journal.log import open_log
from weft.journal.parameters import Parameters, Sync
from weft.journal.recovery import DamagedError
from weft.journal.salvage import salvaged, write_salvaged
from weft.sim.disk import Disk
from weft.wire.journal import HEADER_BYTES

SMALL = Parameters(segment_bytes=1500, frame_bytes=600, compact_bytes=3000)
RECORDS = [b"%d %s" % (number, b"x" * (number % 90)) for number in range(200)]


def salts(seed=1):
    random = Random(seed)
    return lambda: random.randbytes(4)


def journal(snapshot=True):
    """A journal with a snapshot of the first 100 records, and four segments or so behind it."""
    disk = Disk(Random(1))
    log, _ = open_log(disk, list, salts(), SMALL)
    for first in range(0, 200, 5):
        log.commit(RECORDS[first : first + 5], Sync.DISK)
        if first == 95 and snapshot:
            log.begin_snapshot()
            for start in range(0, 100, 20):
                log.extend_snapshot(RECORDS[start : start + 20])
            log.finish_snapshot()
    log.close()
    return disk


def damaged(disk, name, change):
    content = bytearray(b"".join(disk.chunks(name)))
    file = disk.create(name)
    file.append(bytes(change(content)))
    return disk


def flipped(at, bit):
    def change(content):
        content[at] ^= 1 << bit
        return content

    return change


@pytest.mark.parametrize("snapshot", [True, False])
def test_a_whole_journal_is_read_as_it_is(snapshot):
    found = salvaged(journal(snapshot))
    assert (found.records, found.losses, found.position) == (RECORDS, [], 200)


@pytest.mark.parametrize("snapshot", [True, False])
def test_a_flipped_bit_costs_the_frame_that_it_is_in(snapshot):
    """Anywhere: a header costs nothing, for what it says is said by each frame; the end says how many there were."""
    random, whole = Random(1), journal(snapshot)
    for name in whole.names():
        size = len(b"".join(whole.chunks(name)))
        for at in [*range(HEADER_BYTES + 30), *(random.randrange(size) for _ in range(40)), size - 1]:
            disk = damaged(journal(snapshot), name, flipped(at, random.randrange(8)))
            found = salvaged(disk)
            missing = [one for one in RECORDS if one not in found.records]
            assert found.records == [one for one in RECORDS if one in found.records]
            assert len(missing) <= 20
            assert bool(found.losses) == (at >= HEADER_BYTES)
            if at >= HEADER_BYTES:
                (loss,) = found.losses
                assert loss.begin <= at < loss.end
                assert loss.records in (len(missing), None)
            assert found.position >= 200 - len(missing)


def test_the_end_of_a_cut_file_is_lost_and_counted_where_another_follows():
    names = sorted(name for name in journal().names() if name.endswith("segment"))
    found = salvaged(damaged(journal(), names[1], lambda content: content[: len(content) // 2]))
    (loss,) = found.losses
    assert loss.records == 200 - len(found.records)
    assert found.position == 200


def test_a_missing_segment_is_a_loss():
    disk = journal()
    names = sorted(name for name in disk.names() if name.endswith("segment"))
    disk.delete(names[1])
    found = salvaged(disk)
    assert [loss.records for loss in found.losses] == [200 - len(found.records)]


def test_what_is_written_is_a_journal_that_goes_on_where_the_other_was():
    disk = damaged(journal(), sorted(journal().names())[0], flipped(700, 1))
    with pytest.raises(DamagedError, match="have `weft salvage` write what can be read into another one"):
        open_log(disk, list, salts())
    found = salvaged(disk)
    out, records = Disk(Random(2)), []
    write_salvaged(out, found.records, found.position, salts(2))
    log, recovered = open_log(out, records.extend, salts(3), SMALL)
    assert (records, recovered.position) == (found.records, 200)
    assert log.commit([b"more"], Sync.DISK)[0].position == 201
