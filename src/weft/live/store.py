"""The master's records in SQLite: one table, a row a kind and key.

What belongs together is one transaction, and is on the disk before anybody is told of it. Most of it a master could
learn again from its nodes, but not while they are down: what they subscribe to is owed to them meanwhile.

SQLite does not notice most damage. So each row has a checksum, one row (the seal) has the number of all others and the
sum of their checksums, and the log is looked at before SQLite reads it (`wire.sqlite`): a store either gives back what
it was given, or says that it is damaged. Rows that are deleted are overwritten, so that nobody takes them for rows who
reads a damaged store.
"""

import json
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from zlib import crc32

from weft.errors import SurroundingsError, WeftError
from weft.live.disk import A_MASTER, STORE, Disk, require_own
from weft.master.record import Record
from weft.wire.sqlite import PAGE_BYTES, Value, pages_of, read_log, rows

FORMAT = 2  # 1 had no checksums
SEAL = ("store", "seal")  # kind and key
TABLE = (
    "CREATE TABLE record (kind TEXT, key TEXT, value TEXT NOT NULL, checksum INTEGER NOT NULL, "
    "PRIMARY KEY (kind, key)) WITHOUT ROWID"
)
PUT = "INSERT OR REPLACE INTO record VALUES (?, ?, ?, ?)"


class DamagedStoreError(SurroundingsError):
    """What the master kept is not as it was written."""

    def __init__(self, path: Path, reason: str) -> None:
        name = read_damaged(path).cluster or "NAME"
        super().__init__(
            f"{path} is damaged ({reason}): restore its folder from a copy, or have `weft salvage` write what can be "
            f"read into another one. If neither can be done, start a master on an empty folder with `cluster` {name}, "
            "the name that the network had: its nodes then tell it what they know.",
            "cluster",
        )


@dataclass(frozen=True, slots=True)
class Seal:
    """What a store has: how many rows, and the sum of their checksums."""

    count: int = 0
    total: int = 0

    def row(self) -> tuple[str, str, str, int]:
        return _row(*SEAL, [self.count, self.total])


class SqliteStore:
    """Takes the folder, which it makes if need be, until `close`."""

    def __init__(self, folder: Path) -> None:
        require_own(folder, A_MASTER)
        self._disk = Disk(folder)  # which locks it
        path = self._path = folder / STORE
        self._seal = Seal()
        try:
            self.unread = _unread(path)  # bytes at the end of SQLite's log that say nothing
            if not path.exists():
                _create(path)
            self._database = _connection(path)
        except BaseException:
            self._disk.close()
            raise
        try:
            with self._noticing_damage():
                self._prepare()
        except BaseException:
            self.close()
            raise

    def records(self) -> Iterator[Record]:
        """All that there are; an error where that is not what was kept."""
        found = Seal()
        with self._noticing_damage():
            for kind, key, value, checksum in self._database.execute("SELECT * FROM record ORDER BY kind, key"):
                if checksum != _checksum(kind, key, value):
                    raise DamagedStoreError(self._path, "a record is not as it was written")
                if (kind, key) != SEAL:
                    found = Seal(found.count + 1, found.total + checksum)
                    yield Record(kind, key, json.loads(value))
        if found != self._seal:
            raise DamagedStoreError(self._path, "records are missing")

    def keep(self, records: Iterable[Record]) -> None:
        """Put all of them on the disk, or none."""
        latest = {(record.kind, record.key): record for record in records}
        try:
            self._database.execute("BEGIN")
            seal = self._seal
            for record in latest.values():
                seal = self._replace(record, seal)
            self._database.execute(PUT, seal.row())
            self._database.execute("COMMIT")
        except sqlite3.Error as error:
            if self._database.in_transaction:
                self._database.execute("ROLLBACK")
            raise SurroundingsError(f"{self._path} cannot be written ({error}): make room or mend it.") from error
        self._seal = seal

    def close(self) -> None:
        self._database.close()
        self._disk.close()

    def _replace(self, record: Record, seal: Seal) -> Seal:
        """Put the record in the place of the one before. What there is then."""
        key = (record.kind, record.key)
        before = self._database.execute("SELECT checksum FROM record WHERE kind = ? AND key = ?", key).fetchone()
        if before is not None:
            seal = Seal(seal.count - 1, seal.total - before[0])
        if record.value is None:
            self._database.execute("DELETE FROM record WHERE kind = ? AND key = ?", key)
            return seal
        row = _row(*key, record.value)
        self._database.execute(PUT, row)
        return Seal(seal.count + 1, seal.total + row[3])

    def _prepare(self) -> None:
        (format_,) = self._database.execute("PRAGMA user_version").fetchone()
        columns = [row[1] for row in self._database.execute("PRAGMA table_info(record)")]
        if format_ == 1 and columns == ["kind", "key", "value"]:
            self._add_checksums()
            format_ = FORMAT
        sealed = self._sealed() if len(columns) == 4 or format_ <= FORMAT else None
        if sealed is None and format_ > FORMAT:
            raise WeftError(
                f"{self._path} is of a newer version of Weft (format {format_}, and this one knows {FORMAT}): run that "
                "version, or choose another folder."
            )
        if sealed is None or format_ != FORMAT:
            raise DamagedStoreError(self._path, "what it should have cannot be read")
        self._seal = sealed
        (problem,) = self._database.execute("PRAGMA quick_check(1)").fetchone()
        if problem != "ok":
            raise DamagedStoreError(self._path, problem.replace("\n", " "))
        self._database.execute("PRAGMA wal_checkpoint(TRUNCATE)")  # no frames of a commit that was torn stay in it

    def _sealed(self) -> Seal | None:
        kept = self._database.execute("SELECT * FROM record WHERE kind = ? AND key = ?", SEAL).fetchone()
        return None if kept is None or kept[3] != _checksum(*kept[:3]) else Seal(*json.loads(kept[2]))

    def _add_checksums(self) -> None:
        """Make a store of format 1 one of this format."""
        records = [
            Record(kind, key, json.loads(value))
            for kind, key, value in self._database.execute("SELECT kind, key, value FROM record")
        ]
        self._database.execute("BEGIN")
        self._database.execute("DROP TABLE record")
        _fill(self._database, records)
        self._database.execute("COMMIT")

    @contextmanager
    def _noticing_damage(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, UnicodeDecodeError, ValueError, TypeError, IndexError) as error:
            raise DamagedStoreError(self._path, str(error).replace("\n", " ")) from error


@dataclass(frozen=True, slots=True)
class Damaged:
    """What can be read of a damaged store."""

    records: list[Record]
    lost: int | None  # records that cannot be read; None where it is not known how many there were

    @property
    def cluster(self) -> str:
        return next((str(record.value["name"]) for record in self.records if record.kind == "cluster"), "")


def read_damaged(path: Path) -> Damaged:
    """Whatever is whole. Reads only, and without SQLite."""
    log, data = read_log(_bytes(_log_path(path))), _bytes(path)
    found = max((_records(pages_of(data, log, size)) for size in (0, PAGE_BYTES)), key=len)  # its size may be damaged
    seal = found.pop(SEAL, None)
    lost = None if seal is None or log.damaged_at is not None else max(0, seal.value[0] - len(found))
    return Damaged([found[key] for key in sorted(found)], lost)


def _records(pages: dict[int, bytes]) -> dict[tuple[str, str], Record]:
    read = (_record(row) for row in rows(pages))
    return {(one.kind, one.key): one for one in read if one is not None}


def write_store(path: Path, records: Iterable[Record]) -> None:
    """Make a store of these records, which has its name when it is whole."""
    part = path.with_name(f"{path.name}.part")
    part.unlink(missing_ok=True)
    database = sqlite3.connect(part, isolation_level=None)
    try:
        database.execute("PRAGMA synchronous = FULL")
        database.execute("BEGIN")
        _fill(database, records)
        database.execute("COMMIT")
    except sqlite3.Error as error:
        raise SurroundingsError(f"{path} cannot be written ({error}): make room or mend it.") from error
    finally:
        database.close()
    part.replace(path)


def _create(path: Path) -> None:
    _log_path(path).unlink(missing_ok=True)  # of a store that was moved away
    write_store(path, [])


def _fill(database: sqlite3.Connection, records: Iterable[Record]) -> None:
    made = [_row(record.kind, record.key, record.value) for record in records]
    database.execute(TABLE)
    database.executemany(PUT, [*made, Seal(len(made), sum(row[3] for row in made)).row()])
    database.execute(f"PRAGMA user_version = {FORMAT}")


def _connection(path: Path) -> sqlite3.Connection:
    """Connection to a file that was made whole: one that is empty now is damaged, and not a new one."""
    try:
        if path.stat().st_size == 0:
            raise DamagedStoreError(path, "it is empty")
        database = sqlite3.connect(path, isolation_level=None)
    except (OSError, sqlite3.Error) as error:
        raise SurroundingsError(f"{path} cannot be opened ({error}): choose another folder.") from error
    try:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = FULL")
        database.execute("PRAGMA secure_delete = ON")
    except sqlite3.Error as error:
        database.close()
        raise DamagedStoreError(path, str(error)) from error
    return database


def _unread(path: Path) -> int:
    """How many bytes at the end of the log say nothing; an error if what was promised cannot be read."""
    log = read_log(_bytes(_log_path(path)))
    if log.damaged_at is not None and path.exists():
        raise DamagedStoreError(path, f"its log cannot be read from byte {log.damaged_at} on")
    return log.unread


def _log_path(path: Path) -> Path:
    return path.with_name(f"{path.name}-wal")


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise SurroundingsError(f"{path} cannot be read ({error.strerror}): make it readable.") from error


def _row(kind: str, key: str, value: object) -> tuple[str, str, str, int]:
    text = json.dumps(value)
    return kind, key, text, _checksum(kind, key, text)


def _checksum(kind: str, key: str, value: str) -> int:
    return crc32(f"{kind}\0{key}\0{value}".encode())


def _record(row: tuple[Value, ...]) -> Record | None:
    """The record that a row is, if it is one and its checksum holds."""
    match row:
        case (str(kind), str(key), str(value), checksum) if checksum == _checksum(kind, key, value):
            return Record(kind, key, json.loads(value))
    return None
