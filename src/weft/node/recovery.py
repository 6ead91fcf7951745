"""A node's state out of the records of its journal, its broker's included."""

from collections.abc import Iterable

from weft.broker import record as r
from weft.broker.publication import Origin, Publication
from weft.broker.recovery import Recovery as BrokerRecovery
from weft.node import record

STRIDE = 2**32  # counts that one run of a node has to itself


class Recovery:
    def __init__(self, incarnation: int) -> None:
        self._incarnation = incarnation
        self.broker = BrokerRecovery()
        self.count = 0  # the highest that may have been used
        self.owed: dict[int, Publication] = {}  # own ones, by count
        self.taken: dict[tuple[int, int], dict[int, bytes]] = {}  # of others: by count, the name
        self.fetching: dict[str, tuple[int, int]] = {}
        self.had: dict[str, set[Origin]] = {}  # of sessions that are being fetched, what has come here meanwhile
        self.given: dict[str, record.Given] = {}
        self.owing: dict[int, tuple[tuple[int, int], ...]] = {}  # own ones that only some nodes miss, by count

    def replay(self, records: Iterable[bytes]) -> None:
        for data in records:
            if data[0] >= record.FIRST:
                self._apply(record.decode(data))
            else:
                self._note(self.broker.apply(data))

    @property
    def next_count(self) -> int:
        """None at or above it has ever been used."""
        return (self.count // STRIDE + 1) * STRIDE

    def _note(self, applied: r.Record) -> None:
        """The broker's records have the numbers of publications."""
        if not isinstance(applied, r.Queued) or applied.publication.origin is None:
            return
        node, incarnation, count = applied.publication.origin
        for client, _, _ in applied.receivers:
            if client in self.fetching:
                self.had.setdefault(client, set()).add(applied.publication.origin)
        if incarnation == self._incarnation:
            self.count = max(self.count, count)
            self.owed[count] = applied.publication
        else:
            self.taken.setdefault((node, incarnation), {})[count] = applied.publication.topic

    def _apply(self, applied: record.Record) -> None:
        match applied:
            case record.Started(incarnation, count) if incarnation == self._incarnation:
                self.count = max(self.count, count)
            case record.Settled(ranges):
                for first, last in ranges:
                    self._settle(first, last)
            case record.Taken(issuer, incarnation, counts):
                self.taken.setdefault((issuer, incarnation), {}).update(counts)
            case record.Fetching(client, node, ring_id):
                self.fetching[client] = node, ring_id
            case record.Fetched(client):
                self.fetching.pop(client, None)
                self.had.pop(client, None)
            case record.Had(client, origins):
                self.had.setdefault(client, set()).update(origins)
            case record.Given(client):
                self.given[client] = applied
            case record.Owing(count, nodes):
                self.owing[count] = nodes
            case record.GivenUp(client):
                self.given.pop(client, None)

    def _settle(self, first: int, last: int) -> None:
        for count in range(first, last + 1) if last - first < len(self.owed) else list(self.owed):
            if first <= count <= last:
                self.owed.pop(count, None)
                self.owing.pop(count, None)
