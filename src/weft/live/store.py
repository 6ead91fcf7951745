"""The master's records in SQLite: one table, a row a kind and key.

What belongs together is one transaction, and is on the disk before anybody is told of it. Most of it a master could
learn again from its nodes, but not while they are down: what they subscribe to is owed to them meanwhile.
"""

import json
import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path

from weft.errors import SurroundingsError, WeftError
from weft.live.disk import Disk
from weft.master.record import Record

FILE = "master.sqlite"
FORMAT = 1


class SqliteStore:
    """Takes the folder, which it makes if need be, until `close`."""

    def __init__(self, folder: Path) -> None:
        self._disk = Disk(folder)  # which locks it
        path = self._path = folder / FILE
        try:
            self._database = sqlite3.connect(path, isolation_level=None)
            self._prepare(path)
        except sqlite3.Error as error:
            self._disk.close()
            raise SurroundingsError(
                f"{path} cannot be used ({error}): restore it from a copy, or move it away; nodes will tell a new "
                "master what they know."
            ) from error
        except WeftError:
            self.close()
            raise

    def _prepare(self, path: Path) -> None:
        (format_,) = self._database.execute("PRAGMA user_version").fetchone()
        if format_ > FORMAT:
            raise WeftError(
                f"{path} is of a newer version of Weft (format {format_}, and this one knows {FORMAT}): run that "
                "version, or choose another folder."
            )
        self._database.execute("PRAGMA journal_mode = WAL")
        self._database.execute("PRAGMA synchronous = FULL")
        self._database.execute(
            "CREATE TABLE IF NOT EXISTS record (kind TEXT, key TEXT, value TEXT NOT NULL, PRIMARY KEY (kind, key)) "
            "WITHOUT ROWID"
        )
        self._database.execute(f"PRAGMA user_version = {FORMAT}")

    def records(self) -> Iterator[Record]:
        for kind, key, value in self._database.execute("SELECT kind, key, value FROM record ORDER BY kind, key"):
            yield Record(kind, key, json.loads(value))

    def keep(self, records: Iterable[Record]) -> None:
        """Put all of them on the disk, or none."""
        records = {(record.kind, record.key): record for record in records}.values()  # the last of each key
        gone = [(record.kind, record.key) for record in records if record.value is None]
        kept = [(record.kind, record.key, json.dumps(record.value)) for record in records if record.value is not None]
        try:
            self._database.execute("BEGIN")
            self._database.executemany("DELETE FROM record WHERE kind = ? AND key = ?", gone)
            self._database.executemany("INSERT OR REPLACE INTO record VALUES (?, ?, ?)", kept)
            self._database.execute("COMMIT")
        except sqlite3.Error as error:
            if self._database.in_transaction:
                self._database.execute("ROLLBACK")
            raise SurroundingsError(f"{self._path} cannot be written ({error}): make room or mend it.") from error

    def close(self) -> None:
        self._database.close()
        self._disk.close()
