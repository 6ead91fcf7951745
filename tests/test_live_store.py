"""The master's stores: what was said last of a key is what the next process finds."""

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from random import Random

import pytest

from weft.errors import WeftError
from weft.live.disk import STORE
from weft.live.fleet import Fleet
from weft.live.fleet import run as run_fleet
from weft.live.journal import open_journal
from weft.live.store import DamagedStoreError, SqliteStore, read_damaged, write_store
from weft.master.record import Record, Store
from weft.sim.store import MemoryStore

RECORDS = [
    Record("node", "a", {"number": 1}),
    Record("filter", "1 x/#", [2, True]),
    Record("node", "b", {"number": 2}),
    Record("node", "a", {"number": 1, "state": "down"}),
    Record("filter", "1 x/#", None),
]


@pytest.fixture(params=["sqlite", "memory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    if request.param == "memory":
        yield MemoryStore()
    else:
        made = SqliteStore(tmp_path / "data")
        yield made
        made.close()


def test_what_was_said_last_holds(store: Store) -> None:
    store.keep(RECORDS[:3])
    store.keep(RECORDS[3:])
    assert list(store.records()) == [RECORDS[3], RECORDS[2]]


def test_records_are_there_for_the_next_process(tmp_path: Path) -> None:
    first = SqliteStore(tmp_path)
    first.keep(RECORDS)
    with pytest.raises(WeftError, match="is in use by process"):
        SqliteStore(tmp_path)
    first.close()
    second = SqliteStore(tmp_path)
    assert [record.key for record in second.records()] == ["a", "b"]
    second.close()


def test_what_is_kept_is_on_the_disk(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path)
    store.keep([Record("filter", "1 x", [1, True])])
    assert store._database.execute("PRAGMA synchronous").fetchone() == (2,)  # FULL: each commit syncs
    store.close()


def test_a_full_disk_takes_all_or_nothing(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path)
    store.keep(RECORDS[:1])
    pages = store._database.execute("PRAGMA page_count").fetchone()[0]
    store._database.execute(f"PRAGMA max_page_count = {pages}")
    large = [Record("node", "c", {"number": 3}), Record("filter", "1 y", ["x" * 100_000, True])]
    with pytest.raises(WeftError, match=r"cannot be written \(database or disk is full\): make room"):
        store.keep(large)
    assert list(store.records()) == RECORDS[:1]
    store._database.execute("PRAGMA max_page_count = 1000000")
    store.keep(large)
    assert len(list(store.records())) == 3
    store.close()


def many_records(random: Random) -> list[Record]:
    nodes = [Record("node", f"node-{number}", {"number": number}) for number in range(40)]
    filters = [Record("filter", f"{one} a/{one}/#", ["x" * random.randrange(300), True]) for one in range(300)]
    return [Record("cluster", "", {"name": "harbour"}), *nodes, *filters]


def killed_store(folder: Path, random: Random) -> tuple[Path, list[Record], list[Record]]:
    """Files as a killed process leaves them, a part of them in SQLite's log; the records, and without the last turn."""
    store = SqliteStore(folder)
    records = many_records(random)
    random.shuffle(records)
    store.keep(records)
    store._database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    for _ in range(6):
        before = list(store.records())
        store.keep([Record("filter", f"{random.randrange(300)} b", ["y", False]), *random.sample(records, 1)])
        store.keep([Record(one.kind, one.key, None) for one in random.sample(records[1:], 1) if one.kind == "filter"])
    after = list(store.records())
    copy = folder.parent / "killed"
    copy.mkdir()
    for name in (STORE, f"{STORE}-wal"):
        shutil.copy(folder / name, copy / name)
    store.close()
    return copy, after, before


def what_a_start_finds(folder: Path) -> list[Record]:
    store = SqliteStore(folder)
    try:
        return list(store.records())
    finally:
        store.close()


@pytest.mark.parametrize("name", [STORE, f"{STORE}-wal"])
@pytest.mark.parametrize("kind", ["flip", "cut"])
def test_a_damaged_store_says_so_or_gives_what_it_was_given(tmp_path: Path, name: str, kind: str) -> None:
    """Any bit, any length: there is no traceback, and no start with other records than were kept."""
    random = Random(f"{name} {kind}")
    killed, after, _ = killed_store(tmp_path / "data", random)
    whole, told = (killed / name).read_bytes(), 0
    for turn in range(120):
        folder = tmp_path / f"copy-{turn}"
        shutil.copytree(killed, folder)
        at = turn if turn < 60 and kind == "flip" else random.randrange(len(whole))
        damaged = bytearray(whole) if kind == "flip" else whole[:at]
        if isinstance(damaged, bytearray):
            damaged[at] ^= 1 << random.randrange(8)
        (folder / name).write_bytes(damaged)
        try:
            found = what_a_start_finds(folder)
        except DamagedStoreError:  # all else would be a traceback, or wrong
            told += 1
        else:
            assert found == after or (name != STORE and len(found) > 300)
        shutil.rmtree(folder)
    assert told > 20 or (kind == "cut" and name != STORE)  # what was in the log last is nowhere else


@pytest.mark.parametrize("change", ["DELETE FROM record", "UPDATE record SET key = 'c'"])
def test_a_record_that_is_missing_or_another_is_damage(tmp_path: Path, change: str) -> None:
    """Though all that is there is as SQLite and its checksum have it."""
    store = SqliteStore(tmp_path)
    store.keep(RECORDS)
    store.close()
    with closing(sqlite3.connect(tmp_path / STORE)) as database:
        database.execute(f"{change} WHERE key = 'b'")
        database.commit()
    with pytest.raises(DamagedStoreError, match=r"records are missing|a record is not as it was written"):
        what_a_start_finds(tmp_path)


def test_a_store_that_was_cut_to_nothing_is_damaged(tmp_path: Path) -> None:
    SqliteStore(tmp_path).close()
    (tmp_path / STORE).write_bytes(b"")
    with pytest.raises(DamagedStoreError, match="it is empty"):
        SqliteStore(tmp_path)


def test_an_error_about_damage_has_the_name_of_the_network_where_it_can_be_read(tmp_path: Path) -> None:
    killed, _, _ = killed_store(tmp_path / "data", Random(3))
    content = (killed / STORE).read_bytes()
    (killed / STORE).write_bytes(content[: len(content) // 2])
    with pytest.raises(
        DamagedStoreError, match=r"have `weft salvage` .* start a master on an empty folder with `cluster` harbour"
    ) as caught:
        what_a_start_finds(killed)
    assert caught.value.options == ("cluster",)


def test_what_can_be_read_of_a_damaged_store_is_read_and_the_rest_counted(tmp_path: Path) -> None:
    killed, after, _ = killed_store(tmp_path / "data", Random(4))
    assert (read_damaged(killed / STORE).records, read_damaged(killed / STORE).lost) == (after, 0)
    assert what_a_start_finds(killed) == after  # which takes the log into the file
    content = bytearray((killed / STORE).read_bytes())
    content[4096 * 3 : 4096 * 5] = bytes(4096 * 2)
    (killed / STORE).write_bytes(content)
    found = read_damaged(killed / STORE)
    assert found.lost
    assert len(found.records) + found.lost == len(after)
    assert [one for one in found.records if one not in after] == []
    write_store(tmp_path / STORE, found.records)
    assert what_a_start_finds(tmp_path) == found.records


@pytest.mark.parametrize("bit", [0, 4, 7])
def test_one_bit_of_a_store_costs_one_record_at_most(tmp_path: Path, bit: int) -> None:
    """Bits of the header, which says how long pages are, and of the schema, cost nothing."""
    records = many_records(Random(6))
    write_store(tmp_path / STORE, records)
    whole, random = (tmp_path / STORE).read_bytes(), Random(bit)
    for at in [*range(100), *range(4096 - 300, 4096, 5), *(random.randrange(4096, len(whole)) for _ in range(60))]:
        damaged = bytearray(whole)
        damaged[at] ^= 1 << bit
        (tmp_path / STORE).write_bytes(damaged)
        lost = len(records) - len(read_damaged(tmp_path / STORE).records)
        page = whole[at - at % 4096 :]
        in_header = at % 4096 < 12 + 2 * int.from_bytes(page[3:5])  # where cells of the page are
        assert lost <= (0 if at < 4096 else 1 if not in_header else 60), at


def test_a_store_of_the_format_before_is_taken_over(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / STORE, isolation_level=None)) as database:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute(
            "CREATE TABLE record (kind TEXT, key TEXT, value TEXT NOT NULL, PRIMARY KEY (kind, key)) WITHOUT ROWID"
        )
        database.execute("INSERT INTO record VALUES ('node', 'a', '{\"number\": 1}')")
        database.execute("PRAGMA user_version = 1")
    for _ in range(2):
        assert what_a_start_finds(tmp_path) == [Record("node", "a", {"number": 1})]


def test_a_folder_is_taken_by_nobody_but_its_owner(tmp_path: Path) -> None:
    """The folders of a node, of a master, and of a network whose processes have theirs in it."""
    folders = {"a node": tmp_path / "node", "a master": tmp_path / "master", "`weft up`": tmp_path / "up"}
    open_journal(folders["a node"], list)._disk.close()
    SqliteStore(folders["a master"]).close()
    SqliteStore(folders["`weft up`"] / "master").close()
    open_journal(folders["`weft up`"] / "node-0", list)._disk.close()
    before = {path: path.stat().st_size for path in tmp_path.rglob("*")}

    def start_network(folder: Path) -> None:
        run_fleet(Fleet(2, 20_000, folder, "disk", None, False), _refused, _refused, [], _refused)

    takers = {"a node": lambda folder: open_journal(folder, list), "a master": SqliteStore, "`weft up`": start_network}
    for owner, folder in folders.items():
        for other, take in takers.items():
            if other != owner:
                with pytest.raises(WeftError, match=f"is the folder of {owner}: give another `data` folder") as told:
                    take(folder)
                assert told.value.options == ("data",)
    assert {path: path.stat().st_size for path in tmp_path.rglob("*")} == before


def _refused(*_: object) -> None:
    raise AssertionError
