"""A snapshot that is being written: a part until it is whole and on the disk, and then under its name."""

from collections.abc import Sequence

from weft.journal.name import needless_in, part_name, snapshot_name
from weft.journal.output import new_output
from weft.journal.port import Folder
from weft.wire.journal import Header, Kind


class Snapshot:
    def __init__(self, folder: Folder, position: int, salt: bytes) -> None:
        self.position = position
        self._folder = folder
        self._output = new_output(folder, part_name(position), Header(Kind.SNAPSHOT, salt, position))

    @property
    def size(self) -> int:
        return self._output.size

    def extend(self, records: Sequence[bytes], sync_bytes: int) -> None:
        """Synced now and then, so that no sync is long: appends wait for it."""
        self._output.write(records)
        if self._output.unsynced >= sync_bytes:
            self._output.sync()

    def complete(self) -> None:
        self._output.write(())
        self._output.sync()
        self._folder.rename(part_name(self.position), snapshot_name(self.position))
        self._output.close()

    def succeed(self) -> None:
        """Takes the place of what was before."""
        self._folder.sync()
        for name in needless_in(self._folder.names(), self.position):
            self._folder.delete(name)

    def drop(self) -> None:
        self._output.close()
        self._folder.delete(part_name(self.position))
