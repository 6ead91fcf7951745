"""Entries: how this node's publications on a filter get into its tree.

A node in the tree has a table. Another asks the master once, and is told when the answer changes: a way, or that nobody
holds the filter. While it does not know, messages wait, in order, for a short time; without an answer they go over the
whole ring.

Names may be used once and never again, so entries are bounded in number and bytes. When they are too many the older
half goes at once, and the master is told, for it tells of changes only who wants to know: what was worked out by these
entries must be forgotten then, which would be too dear for one at a time.
"""

from dataclasses import dataclass, field
from itertools import islice

from weft.wire.frame import Message

Way = tuple[int, ...]
MEAN = 256  # bytes of a filter, at most, in the mean


@dataclass(slots=True)
class Entry:
    is_held: bool | None = None  # by another node; None while it is not known
    way: Way = ()
    waiting: list[Message] = field(default_factory=list)
    gave_up: bool = False  # nobody has answered: over the ring


class Entries:
    def __init__(self, most: int) -> None:
        self._most = most
        self._entries: dict[str, Entry] = {}
        self._size = 0  # of their filters

    def get(self, filter_: str) -> Entry | None:
        return self._entries.get(filter_)

    def ask(self, filter_: str) -> Entry:
        """An entry that is not known yet."""
        entry = self._entries[filter_] = Entry()
        self._size += len(filter_)
        return entry

    def make_room(self) -> list[str]:
        """Forget the older half, where there are too many, but for those that something waits for; which they were."""
        if len(self._entries) < self._most and self._size < self._most * MEAN:
            return []
        older = list(islice(self._entries.items(), (len(self._entries) + 1) // 2))
        dropped = [filter_ for filter_, entry in older if entry.is_held is not None or entry.gave_up]
        for filter_ in dropped:
            del self._entries[filter_]
            self._size -= len(filter_)
        return dropped

    def learn(self, filter_: str, is_held: bool, way: Way) -> list[Message]:
        """The messages that waited for the answer."""
        entry = self._entries.get(filter_)
        if entry is None:
            return []  # it has been forgotten since
        entry.is_held, entry.way, entry.gave_up = is_held, way, False
        waiting, entry.waiting = entry.waiting, []
        return waiting

    def renew(self) -> list[str]:
        """All that was asked is to be asked again, and nothing is known until it is answered."""
        for entry in self._entries.values():
            entry.is_held, entry.gave_up = None, False
        return list(self._entries)

    def give_up(self, filter_: str) -> list[Message]:
        entry = self._entries.get(filter_)
        if entry is None or entry.is_held is not None:
            return []
        entry.gave_up = True
        waiting, entry.waiting = entry.waiting, []
        return waiting
