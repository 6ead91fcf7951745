"""Entries: how this node's publications on a filter get into its tree.

A node in the tree has a table. Another asks the master once, and is told when the answer changes: a way, or that nobody
holds the filter. While it does not know, messages wait, in order, for a short time; without an answer they go over the
whole ring.
"""

from dataclasses import dataclass, field

from weft.wire.frame import Message

Way = tuple[int, ...]


@dataclass(slots=True)
class Entry:
    is_held: bool | None = None  # by another node; None while it is not known
    way: Way = ()
    waiting: list[Message] = field(default_factory=list)
    gave_up: bool = False  # nobody has answered: over the ring


class Entries:
    def __init__(self, most: int = 100_000) -> None:
        self._most = most
        self._entries: dict[str, Entry] = {}

    def get(self, filter_: str) -> Entry | None:
        return self._entries.get(filter_)

    def ask(self, filter_: str) -> Entry:
        """An entry that is not known yet."""
        while len(self._entries) >= self._most:
            self._entries.pop(next(iter(self._entries)))
        entry = self._entries[filter_] = Entry()
        return entry

    def learn(self, filter_: str, is_held: bool, way: Way) -> list[Message]:
        """The messages that waited for the answer."""
        entry = self._entries.setdefault(filter_, Entry())
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
