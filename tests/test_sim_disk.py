"""The simulated disk: it keeps what was synced, and loses the rest in all the ways that it should."""

from random import Random

import pytest

from weft.sim.disk import SECTOR, Disk, PowerLostError


def content(disk, name):
    return b"".join(disk.chunks(name))


def fates(prepare, times=300):
    """What is there after so many losses of power, by name."""
    found = []
    for seed in range(times):
        disk = Disk(Random(seed))
        prepare(disk)
        after = disk.restarted()
        found.append({name: content(after, name) for name in after.names()})
    return found


def synced_file(disk, name="a", data=b"sure"):
    file = disk.create(name)
    file.append(data)
    file.sync()
    disk.sync()
    return file


def test_what_was_synced_is_kept():
    assert all(found == {"a": b"sure"} for found in fates(synced_file))


def test_what_was_not_synced_is_kept_whole_in_part_with_holes_or_with_flipped_bits():
    tail = bytes([255]) * 3 * SECTOR
    found = {state["a"][4:] for state in fates(lambda disk: synced_file(disk).append(tail))}
    assert {b"", tail} <= found
    assert any(0 < len(part) < len(tail) and set(part) == {255} for part in found)
    assert any(len(part) == len(tail) and b"\0" * 100 in part and part[-1] == 255 for part in found)
    assert any(sum(byte not in (0, 255) for byte in part) for part in found)


def test_files_are_kept_and_lost_apart():
    def prepare(disk):
        files = [synced_file(disk, name) for name in "ab"]
        for file in files:
            file.append(b"!")

    assert {(state["a"], state["b"]) for state in fates(prepare)} >= {(b"sure!", b"sure"), (b"sure", b"sure!")}


def test_a_name_is_sure_only_when_the_folder_is_synced():
    def prepare(disk):
        synced_file(disk)
        disk.rename("a", "b")
        disk.create("c")

    assert {tuple(sorted(state)) for state in fates(prepare)} == {("a",), ("b",), ("a", "c"), ("b", "c")}
    assert all(b"sure" in state.values() for state in fates(prepare))


def test_a_deleted_file_may_come_back():
    assert {tuple(state) for state in fates(lambda disk: (synced_file(disk), disk.delete("a")))} == {(), ("a",)}


def test_a_cut_may_be_lost():
    assert {state["a"] for state in fates(lambda disk: synced_file(disk).truncate(2))} == {b"sure", b"su"}


def test_the_end_of_the_process_loses_nothing():
    disk = Disk(Random(1))
    disk.create("a").append(b"not synced")
    assert content(disk.killed(), "a") == b"not synced"


def test_the_power_is_lost_in_the_middle_of_an_append():
    parts = set()
    for seed in range(100):
        disk = Disk(Random(seed))
        file = disk.create("a")
        disk.lose_power_after(2)
        file.append(b"1")
        with pytest.raises(PowerLostError):
            file.append(b"2345")
        with pytest.raises(PowerLostError):
            file.sync()
        parts.add(content(disk.killed(), "a"))
    assert parts == {b"1", b"12", b"123", b"1234", b"12345"}


def test_a_full_disk_takes_what_fits():
    disk = Disk(Random(1), capacity=6)
    file = disk.create("a")
    file.append(b"1234")
    with pytest.raises(OSError, match="No space left"):
        file.append(b"5678")
    assert content(disk, "a") == b"123456"
    assert disk.used == 6
    file.truncate(4)
    file.append(b"56")


def test_a_failed_sync_drops_what_it_should_have_kept():
    disk = Disk(Random(1))
    file = synced_file(disk)
    file.append(b"!")
    disk.failing_syncs = True
    with pytest.raises(OSError, match="Input/output error"):
        file.sync()
    disk.failing_syncs = False
    file.sync()
    assert content(disk.restarted(), "a") == b"sure"


def test_time_adds_up():
    disk = Disk(Random(1), sync_seconds=0.5, byte_seconds=0.25)
    file = disk.create("a")
    file.append(b"1234")
    file.sync()
    assert disk.seconds == 1.5
