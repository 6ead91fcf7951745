"""Records of a node in its journal, beside those of its broker.

What clients of this node publish, and the network is to have, is in the broker's records with its number (Queued). It
is owed until `Settled`.
"""

from dataclasses import dataclass

from weft.wire.frame_field import BLOB, COUNT, NUMBER, TEXT, Kind, many, record_of, together

FIRST = 128  # numbers below are the broker's


class Record:
    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Started(Record):
    """This node numbers its publications from here on: none that it has ever numbered has as high a count."""

    incarnation: int
    count: int


@dataclass(frozen=True, slots=True)
class Settled(Record):
    """Nothing is owed any more of own publications."""

    ranges: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Taken(Record):
    """Publications of others that sessions of this node were given. Only in snapshots; else Queued says so."""

    issuer: int
    incarnation: int
    counts: tuple[tuple[int, bytes], ...]  # with the names that they were on


@dataclass(frozen=True, slots=True)
class Fetching(Record):
    """A client's session is here, and what waits for it is at another node still."""

    client: str
    node: int
    ring_id: int


@dataclass(frozen=True, slots=True)
class Fetched(Record):
    client: str


@dataclass(frozen=True, slots=True)
class Given(Record):
    """A session that has left this node, kept until the other has it, and for a time in which more may come for it."""

    client: str
    node: int
    ring_id: int
    records: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class GivenUp(Record):
    """The other node has it, and nothing more will come."""

    client: str


@dataclass(frozen=True, slots=True)
class Owing(Record):
    """Of an own publication: everybody has it but these nodes."""

    count: int
    nodes: tuple[tuple[int, int], ...]  # with their places on the ring


@dataclass(frozen=True, slots=True)
class Had(Record):
    """What a session has had since it came, while it still waits for the rest. Only in snapshots."""

    client: str
    origins: tuple[tuple[int, int, int], ...]


KINDS: dict[int, tuple[type[Record], Kind]] = {
    128: (Started, record_of(Started, NUMBER, NUMBER)),
    129: (Settled, record_of(Settled, many(together(NUMBER, NUMBER)))),
    130: (Taken, record_of(Taken, COUNT, NUMBER, many(together(NUMBER, BLOB)))),
    131: (Fetching, record_of(Fetching, TEXT, COUNT, NUMBER)),
    132: (Fetched, record_of(Fetched, TEXT)),
    133: (Given, record_of(Given, TEXT, COUNT, NUMBER, many(BLOB))),
    134: (GivenUp, record_of(GivenUp, TEXT)),
    136: (Had, record_of(Had, TEXT, many(together(COUNT, NUMBER, NUMBER)))),
    135: (Owing, record_of(Owing, NUMBER, many(together(COUNT, NUMBER)))),
}
_NUMBERS = {made: (number.to_bytes(), kind.write) for number, (made, kind) in KINDS.items()}


def encode(record: Record) -> bytes:
    number, write = _NUMBERS[type(record)]
    return number + write(record)


def decode(data: bytes) -> Record:
    record: Record = KINDS[data[0]][1].read(data, 1)[0]
    return record
