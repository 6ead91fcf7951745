"""The master's records in memory, for networks under virtual time."""

from collections.abc import Iterable, Iterator

from weft.master.record import Record


class MemoryStore:
    def __init__(self) -> None:
        self._kept: dict[tuple[str, str], Record] = {}

    def records(self) -> Iterator[Record]:
        return iter([self._kept[key] for key in sorted(self._kept)])

    def keep(self, records: Iterable[Record]) -> None:
        for record in records:
            if record.value is None:
                self._kept.pop((record.kind, record.key), None)
            else:
                self._kept[record.kind, record.key] = record
