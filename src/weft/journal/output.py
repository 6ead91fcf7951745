"""A file of a journal that is being written, a segment or a snapshot. After every call it ends with a whole frame."""

from collections.abc import Sequence

from weft.errors import SurroundingsError
from weft.journal.port import File, Folder
from weft.wire.journal import HEADER_BYTES, Header, Kind, frame_bytes, header_bytes


class BrokenFileError(SurroundingsError):
    """What is in a file is not known any more."""


class Output:
    def __init__(self, file: File, where: str, salt: bytes, position: int, size: int) -> None:
        self.position = position  # of the next record
        self.size = size  # bytes
        self._file, self._where, self._salt = file, where, salt
        self._synced = size  # bytes on the disk

    @property
    def unsynced(self) -> int:
        return self.size - self._synced

    def write(self, records: Sequence[bytes]) -> None:
        """A frame of them; OSError if it could not be written."""
        data = frame_bytes(self._salt, self.position, self._synced, records)
        try:
            self._file.append(data)
        except OSError:
            self._take_back()
            raise
        self.position += len(records)
        self.size += len(data)

    def sync(self) -> None:
        try:
            self._file.sync()
        except OSError as error:
            raise BrokenFileError(f"{self._where} could not be synced ({error.strerror}): check the disk.") from error
        self._synced = self.size

    def close(self) -> None:
        self._file.close()

    def _take_back(self) -> None:
        try:
            self._file.truncate(self.size)
        except OSError as error:
            raise BrokenFileError(f"{self._where} could not be cut ({error.strerror}): check the disk.") from error


def new_output(folder: Folder, name: str, header: Header) -> Output:
    """The header is on the disk before anything else is written, so that a file with a bad one has nothing in it."""
    file = folder.create(name)
    try:
        file.append(header_bytes(header))
        file.sync()
        folder.sync()
    except OSError:
        file.close()
        folder.delete(name)
        raise
    position = header.position if header.kind == Kind.SEGMENT else 0
    return Output(file, folder.where(name), header.salt, position, HEADER_BYTES)
