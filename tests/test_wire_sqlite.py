"""Rows and logs of SQLite, read without it: what it would say of the same files is the oracle."""

import sqlite3
from contextlib import closing
from pathlib import Path
from random import Random

import pytest

from weft.wire.sqlite import pages_of, read_log, rows

TABLE = "CREATE TABLE record (kind TEXT, key TEXT, value TEXT, number INTEGER, PRIMARY KEY (kind, key)) WITHOUT ROWID"


def table(path: Path, *, page_bytes: int = 4096) -> sqlite3.Connection:
    database = sqlite3.connect(path, isolation_level=None)
    for pragma in (f"page_size = {page_bytes}", "journal_mode = WAL", "secure_delete = ON"):
        database.execute(f"PRAGMA {pragma}")
    database.execute(TABLE)
    return database


def found_in(path: Path) -> list[tuple[object, ...]]:
    wal = path.with_name(f"{path.name}-wal")
    log = read_log(wal.read_bytes() if wal.exists() else b"")
    return sorted(rows(pages_of(path.read_bytes(), log)))


@pytest.mark.parametrize("page_bytes", [512, 4096, 65_536])
def test_rows_are_those_that_sqlite_gives(tmp_path: Path, page_bytes: int) -> None:
    random = Random(page_bytes)
    path = tmp_path / "file"
    with closing(table(path, page_bytes=page_bytes)) as database:
        for _ in range(40):
            database.execute("BEGIN")
            for _ in range(50):
                text = "ü" * int(random.paretovariate(0.5) % 20_000)
                number = random.choice([0, 1, -1, 2**15, 2**31, -(2**40), 2**62])
                row = (f"kind {random.randrange(3)}", f"key {random.randrange(400)}", text, number)
                database.execute("INSERT OR REPLACE INTO record VALUES (?, ?, ?, ?)", row)
            database.execute("DELETE FROM record WHERE key = ?", (f"key {random.randrange(400)}",))
            database.execute("COMMIT")
        expected = database.execute("SELECT * FROM record ORDER BY kind, key").fetchall()
        assert found_in(path) == expected
    assert found_in(path) == expected  # without a log


def copied(path: Path, folder: Path) -> Path:
    """The files as a process that was killed leaves them."""
    folder.mkdir()
    for name in (path.name, f"{path.name}-wal"):
        (folder / name).write_bytes((path.parent / name).read_bytes())
    return folder / path.name


def log_of_commits(folder: Path, commits: int) -> tuple[Path, list[int]]:
    """A database with all in its log; bytes of the log after each commit."""
    path, ends = folder / "file", []
    with closing(table(path)) as database:
        for number in range(commits):
            database.execute("INSERT INTO record VALUES ('kind', ?, 'value', 1)", (f"{number}",))
            ends.append((folder / "file-wal").stat().st_size)
        return copied(path, folder / "copy"), ends


def test_a_log_whose_end_is_torn_is_no_damage_and_the_rest_counts(tmp_path: Path) -> None:
    path, ends = log_of_commits(tmp_path, 5)
    wal = path.with_name("file-wal")
    whole = wal.read_bytes()
    for size in range(ends[3], ends[4]):
        log = read_log(whole[:size])
        assert log.damaged_at is None
        wal.write_bytes(whole[:size])
        assert len(found_in(path)) == 4
    assert read_log(whole[: ends[4]]).unread == 0


def test_a_flip_anywhere_before_the_last_commit_is_damage(tmp_path: Path) -> None:
    path, ends = log_of_commits(tmp_path, 5)
    wal = path.with_name("file-wal")
    whole, random = wal.read_bytes(), Random(1)
    for at in [*range(56), *(random.randrange(ends[3]) for _ in range(150))]:
        flipped = bytearray(whole)
        flipped[at] ^= 1 << random.randrange(8)
        assert read_log(bytes(flipped)).damaged_at is not None, at


def test_a_flip_in_the_last_commit_is_told_as_bytes_that_say_nothing(tmp_path: Path) -> None:
    path, ends = log_of_commits(tmp_path, 5)
    whole = path.with_name("file-wal").read_bytes()
    for at in range(ends[3], ends[4], 7):
        flipped = bytearray(whole)
        flipped[at] ^= 1
        log = read_log(bytes(flipped))
        assert (log.damaged_at, log.unread) == (None, ends[4] - ends[3]), at


def test_any_damage_is_read_without_an_error(tmp_path: Path) -> None:
    """Rows may be missing or be none; who reads them looks at their checksums."""
    path, _ = log_of_commits(tmp_path, 40)
    random, whole, log = Random(5), path.read_bytes(), path.with_name("file-wal").read_bytes()
    for turn in range(300):
        data, waiting = bytearray(whole), bytearray(log)
        for content in (data, waiting):
            for _ in range(random.choice((1, 4, 200))):
                content[random.randrange(len(content))] = random.randrange(256)
            if turn % 3 == 0:
                del content[random.randrange(len(content)) :]
        list(rows(pages_of(bytes(data), read_log(bytes(waiting)))))
