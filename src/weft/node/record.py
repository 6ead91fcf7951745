"""Records of a node in its journal, beside those of its broker.

What clients of this node publish, and the network is to have, is in the broker's records with its number (Queued);
so is what one member of a shared subscription leaves to one at another node. It is owed until `Settled`.
"""

from dataclasses import dataclass

from weft.wire.frame_field import BLOB, COUNT, FLAG, NODE, NUMBER, TEXT, Kind, many, perhaps, record_of, together

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
class Fetching(Record):
    """A client's session is here, and what waits for it is at another node still, or, with NOBODY, perhaps at one."""

    client: str
    node: int
    ring_id: int
    known: tuple[str, ...] | None  # filters that it came with; None until its client is in
    claim: int = 0  # as in Fetch
    clean: bool = False  # it is to be ended there


@dataclass(frozen=True, slots=True)
class Fetched(Record):
    client: str
    node: int


@dataclass(frozen=True, slots=True)
class Given(Record):
    """A session that has left this node, kept until the other has it, and for a time in which more may come for it."""

    client: str
    node: int
    ring_id: int
    records: tuple[bytes, ...]  # none when the other node has them
    had: tuple[tuple[int, int, int], ...]  # publications that it was given here
    rest: tuple[tuple[int, int, tuple[str, ...]], ...]  # as in SessionMoved
    filters: tuple[str, ...]  # by which it is known what goes after it
    claim: int = 0  # by which this node had it


@dataclass(frozen=True, slots=True)
class GivenUp(Record):
    """The other node has it, and nothing more will come."""

    client: str


@dataclass(frozen=True, slots=True)
class Owing(Record):
    """Everybody has an own publication but these nodes, and members of these shared subscriptions."""

    count: int
    nodes: tuple[int, ...]
    groups: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Had(Record):
    """Publications that a session was given, here or before it came; those that came here Queued says too."""

    client: str
    origins: tuple[tuple[int, int, int], ...]


@dataclass(frozen=True, slots=True)
class NotHad(Record):
    """Publications that waited for a session, and are to come with the rest of it."""

    client: str
    origins: tuple[tuple[int, int, int], ...]


@dataclass(frozen=True, slots=True)
class Forgotten(Record):
    """Publications that a session was given, and that may come again: these and later ones of their issuers alone."""

    client: str
    oldest: tuple[tuple[int, int, int], ...]


@dataclass(frozen=True, slots=True)
class Claimed(Record):
    """Number of the claim by which this node has a session; 0 where it has none any more."""

    client: str
    claim: int


_ORIGIN = together(COUNT, NUMBER, NUMBER)
KINDS: dict[int, tuple[type[Record], Kind]] = {
    128: (Started, record_of(Started, NUMBER, NUMBER)),
    129: (Settled, record_of(Settled, many(together(NUMBER, NUMBER)))),
    131: (Fetching, record_of(Fetching, TEXT, NODE, NUMBER, perhaps(many(TEXT)), NUMBER, FLAG)),
    132: (Fetched, record_of(Fetched, TEXT, NODE)),
    133: (
        Given,
        record_of(
            Given,
            *(TEXT, COUNT, NUMBER, many(BLOB), many(_ORIGIN), many(together(COUNT, NUMBER, many(TEXT)))),
            *(many(TEXT), NUMBER),
        ),
    ),
    134: (GivenUp, record_of(GivenUp, TEXT)),
    135: (Owing, record_of(Owing, NUMBER, many(COUNT), many(TEXT))),
    136: (Had, record_of(Had, TEXT, many(_ORIGIN))),
    137: (Claimed, record_of(Claimed, TEXT, NUMBER)),
    138: (Forgotten, record_of(Forgotten, TEXT, many(_ORIGIN))),
    139: (NotHad, record_of(NotHad, TEXT, many(_ORIGIN))),
}
_NUMBERS = {made: (number.to_bytes(), kind.write) for number, (made, kind) in KINDS.items()}


def encode(record: Record) -> bytes:
    number, write = _NUMBERS[type(record)]
    return number + write(record)


def decode(data: bytes) -> Record:
    record: Record = KINDS[data[0]][1].read(data, 1)[0]
    return record
