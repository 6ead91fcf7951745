"""A disk in memory, with the faults of real ones: the `Folder` of a journal under simulation.

What was written and not synced is in a cache. `killed` is the disk after the end of the process: the cache is kept.
`restarted` is the disk after a loss of power, and it promises no more than POSIX does: of every file, any part of what
was not synced, in sectors, out of order, some of them zeros or with a flipped bit; of the names that were made, changed
and deleted since the folder was synced, any.

Faults before that: the power fails at an operation to come, which for an append means in the middle of it
(`lose_power_after`); there is room for so many bytes (`capacity`); syncs fail and drop the cache, as on Linux
(`failing_syncs`). `seconds` adds up what the disk would have taken, for the driver to wait.
"""

from collections.abc import Callable, Iterator
from errno import EIO, ENOENT, ENOSPC
from os import strerror
from random import Random

SECTOR = 512
CHUNK = 1000  # bytes read at once: no multiple of anything


class PowerLostError(Exception):
    """The process ends here."""


class Inode:
    def __init__(self, content: bytes = b"") -> None:
        self.cached = bytearray(content)
        self.synced = content
        self._common = len(content)  # bytes at the beginning that both have

    def truncate(self, size: int) -> None:
        del self.cached[size:]
        self._common = min(self._common, size)

    def sync(self) -> None:
        self.synced = bytes(self.cached)
        self._common = len(self.synced)

    def drop(self) -> None:
        """The cache, as a failed sync may."""
        self.cached = bytearray(self.synced)
        self._common = len(self.synced)

    def kept(self, random: Random) -> bytes:
        """What a loss of power leaves."""
        if random.random() < 0.3:
            return random.choice((self.synced, bytes(self.cached)))
        size = len(self.cached) if random.random() < 0.5 else random.randint(self._common, len(self.cached))
        content = self.cached[:size]
        start = self._common
        while start < len(content):
            end = start - start % SECTOR + SECTOR
            content[start:end] = _worn(content[start:end], random)
            start = end
        return bytes(content)


def _worn(sector: bytearray, random: Random) -> bytearray:
    fate = random.random()
    if fate < 0.15:
        return bytearray(len(sector))
    if fate < 0.3:
        sector[random.randrange(len(sector))] ^= 1 << random.randrange(8)
    return sector


class File:
    def __init__(self, disk: "Disk", inode: Inode) -> None:
        self._disk, self._inode = disk, inode

    def append(self, data: bytes) -> None:
        self._disk.append(self._inode, data)

    def truncate(self, size: int) -> None:
        self._disk.step()
        self._inode.truncate(size)

    def sync(self) -> None:
        self._disk.sync_file(self._inode)

    def close(self) -> None:
        pass


class Disk:
    def __init__(
        self, random: Random, *, capacity: int | None = None, sync_seconds: float = 0.0, byte_seconds: float = 0.0
    ) -> None:
        self.capacity = capacity  # bytes in all files; None: no bound
        self.failing_syncs = False
        self.seconds = 0.0
        self.operations = 0
        self._random = random
        self._sync_seconds, self._byte_seconds = sync_seconds, byte_seconds
        self._loss: int | None = None  # the operation at which the power is lost
        self._names: dict[str, Inode] = {}
        self._synced_names: dict[str, Inode] = {}
        self._changes: list[Callable[[dict[str, Inode]], None]] = []  # of names, since the folder was synced

    def lose_power_after(self, operations: int) -> None:
        self._loss = self.operations + operations

    def killed(self) -> "Disk":
        """The process has ended, and another one finds this."""
        self._loss = None
        return self

    def restarted(self) -> "Disk":
        """The power was lost, and is back."""
        names = dict(self._synced_names)
        for change in self._changes:
            if self._random.random() < 0.5:
                change(names)
        disk = Disk(
            self._random, capacity=self.capacity, sync_seconds=self._sync_seconds, byte_seconds=self._byte_seconds
        )
        disk._names = {name: Inode(inode.kept(self._random)) for name, inode in names.items()}
        disk._synced_names = dict(disk._names)
        return disk

    @property
    def used(self) -> int:
        return sum(len(inode.cached) for inode in self._names.values())

    def flip(self, name: str, offset: int, bit: int = 0) -> None:
        """A bit of what is on the disk."""
        inode = self._found(name)
        inode.cached[offset] ^= 1 << bit
        inode.sync()

    # The port.

    def where(self, name: str) -> str:
        return name

    def names(self) -> list[str]:
        return list(self._names)

    def chunks(self, name: str) -> Iterator[bytes]:
        content = bytes(self._found(name).cached)
        return (content[start : start + CHUNK] for start in range(0, len(content), CHUNK))

    def create(self, name: str) -> File:
        inode = Inode()
        self._change(lambda names: names.update({name: inode}))
        return File(self, inode)

    def open(self, name: str) -> File:
        return File(self, self._found(name))

    def rename(self, name: str, new_name: str) -> None:
        inode = self._found(name)

        def renamed(names: dict[str, Inode]) -> None:
            names.pop(name, None)
            names[new_name] = inode

        self._change(renamed)

    def delete(self, name: str) -> None:
        self._found(name)

        def deleted(names: dict[str, Inode]) -> None:
            names.pop(name, None)

        self._change(deleted)

    def sync(self) -> None:
        self.step(self._sync_seconds)
        if self.failing_syncs:
            raise _error(EIO)
        self._synced_names = dict(self._names)
        self._changes.clear()

    # What files ask for.

    def append(self, inode: Inode, data: bytes) -> None:
        room = len(data) if self.capacity is None else max(self.capacity - self.used, 0)
        if self._loss == self.operations + 1:
            inode.cached += data[: self._random.randint(0, min(room, len(data)))]
        self.step(len(data) * self._byte_seconds)
        inode.cached += data[:room]
        if room < len(data):
            raise _error(ENOSPC)

    def sync_file(self, inode: Inode) -> None:
        self.step(self._sync_seconds)
        if self.failing_syncs:
            inode.drop()
            raise _error(EIO)
        inode.sync()

    def step(self, seconds: float = 0.0) -> None:
        self.operations += 1
        self.seconds += seconds
        if self._loss is not None and self.operations >= self._loss:
            raise PowerLostError

    def _change(self, change: Callable[[dict[str, Inode]], None]) -> None:
        self.step()
        self._changes.append(change)
        change(self._names)

    def _found(self, name: str) -> Inode:
        if name not in self._names:
            raise _error(ENOENT)
        return self._names[name]


def _error(number: int) -> OSError:
    return OSError(number, strerror(number))
