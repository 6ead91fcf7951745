"""The master's stores: what was said last of a key is what the next process finds."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from weft.errors import WeftError
from weft.live.store import SqliteStore
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
