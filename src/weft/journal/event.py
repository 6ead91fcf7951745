"""What a journal tells its owner. A position is a number of records: n is the position behind the n-th record."""

from dataclasses import dataclass


class Event:
    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Synced(Event):
    """The records up to this position are as safe as the journal was asked to make them."""

    position: int


@dataclass(frozen=True, slots=True)
class AppendFailed(Event):
    """The disk is full: no record behind this position is on it.

    They are kept in memory and tried again, so that none is missing between others; the next `Synced` says that there
    was room.
    """

    position: int
    reason: str


@dataclass(frozen=True, slots=True)
class Compacted(Event):
    """What came before this position is one snapshot now."""

    position: int
    snapshot_bytes: int


@dataclass(frozen=True, slots=True)
class CompactionFailed(Event):
    """The journal is as it was, only longer than it could be."""

    reason: str


@dataclass(frozen=True, slots=True)
class Broken(Event):
    """The disk has failed in a way that leaves open what is on it: nothing is appended any more.

    A failed sync is not tried again, for the kernel may have dropped what it could not write and say yes the second
    time. What had been synced is safe, and a restart finds it.
    """

    reason: str
