"""A node's state out of the records of its journal, its broker's included."""

from collections.abc import Iterable
from math import inf

from weft.broker import record as r
from weft.broker.publication import UNISSUED, Origin, Publication
from weft.broker.recovery import Recovery as BrokerRecovery
from weft.node import record

STRIDE = 2**32  # counts that one run of a node has to itself


class Recovery:
    def __init__(self, incarnation: int) -> None:
        self._incarnation = incarnation
        self.broker = BrokerRecovery()
        self.count = 0  # the highest that may have been used
        self.owed: dict[int, Publication] = {}  # own ones, by count
        self.groups: dict[int, str] = {}  # shared filters, by count: of those that are for one member alone
        self.fetching: dict[tuple[str, int], record.Fetching] = {}  # by client and node
        self.had: dict[str, dict[Origin, None]] = {}  # by client: publications that its session was given
        self.given: dict[str, record.Given] = {}
        self._claims: dict[str, int] = {}  # by client
        self.owing: dict[int, record.Owing] = {}  # own ones that only some nodes miss, by count

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

    @property
    def run(self) -> int:
        """How often this node has started, this time included."""
        return self.count // STRIDE + 1

    def start_behind(self, runs: int) -> record.Started:
        """Start that leaves out all that so many runs, of which nothing is known, may have numbered."""
        return record.Started(self._incarnation, self.count + runs * STRIDE)

    @property
    def claims(self) -> dict[str, int]:
        """Claims by client, of sessions that are here or are fetched: others have not outlived the crash."""
        here = self.broker.sessions.keys() | {client for client, _ in self.fetching}
        return {client: claim for client, claim in self._claims.items() if client in here}

    def _note(self, applied: r.Record) -> None:
        """The broker's records have the numbers of publications.

        An own one is owed from its first record on, which has the highest count so far; later ones are of sessions.
        """
        if isinstance(applied, r.SessionEnded):
            self.had.pop(applied.client, None)
            self._claims.pop(applied.client, None)
        if not isinstance(applied, r.Queued) or applied.publication.origin is None:
            return
        issuer, incarnation, count = applied.publication.origin
        is_new = issuer != UNISSUED and incarnation == self._incarnation and count > self.count
        if is_new:
            self.count = count
            self.owed[count] = applied.publication
        for client, _, _, group in applied.receivers:
            if client:
                self.had.setdefault(client, {})[applied.publication.origin] = None
            elif is_new:
                self.groups[count] = group

    def _apply(self, applied: record.Record) -> None:
        match applied:
            case record.Started(incarnation, count):
                self._claims = self.claims
                if incarnation == self._incarnation:
                    self.count = max(self.count, count)
            case record.Settled(ranges):
                for first, last in ranges:
                    self._settle(first, last)
            case record.Fetching(client, node):
                self.fetching[client, node] = applied
            case record.Fetched(client, node):
                self.fetching.pop((client, node), None)
            case record.Had(client, origins):
                self.had.setdefault(client, {}).update(dict.fromkeys(origins))
            case record.NotHad(client, origins):
                for origin in origins:
                    self.had.get(client, {}).pop(origin, None)
            case record.Forgotten(client, oldest):
                least = {origin[:2]: origin[2] for origin in oldest}
                had = self.had.pop(client, {})
                self.had[client] = {one: None for one in had if one[2] >= least.get(one[:2], inf)}
            case record.Given(client):
                self.given[client] = applied
            case record.Owing(count):
                self.owing[count] = applied
            case record.Claimed(client, 0):
                self._claims.pop(client, None)
            case record.Claimed(client, claim):
                self._claims[client] = claim
            case record.GivenUp(client):
                self.given.pop(client, None)

    def _settle(self, first: int, last: int) -> None:
        for count in range(first, last + 1) if last - first < len(self.owed) else list(self.owed):
            if first <= count <= last:
                self.owed.pop(count, None)
                self.owing.pop(count, None)
                self.groups.pop(count, None)
