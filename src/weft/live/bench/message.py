"""What the processes of a run tell each other."""

from dataclasses import dataclass

from weft.arrays import Int64s
from weft.live.bench.histogram import Histogram
from weft.live.bench.load import Manner, Publisher, Subscriber


@dataclass(frozen=True, slots=True)
class Part:
    """The clients of a process: publishers, or subscribers."""

    manner: Manner
    names: list[bytes]  # of all topics
    stream_topics: Int64s
    publishers: list[Publisher]
    rates: list[float]  # of the publishers; 0 is as fast as it goes
    phases: list[float]  # seconds from the beginning to their first publications
    subscribers: list[Subscriber]
    seed: int


@dataclass(frozen=True, slots=True)
class Ready:
    """All clients of a process are connected and subscribed."""


@dataclass(frozen=True, slots=True)
class Failed:
    sentence: str
    options: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Begin:
    """Times in nanoseconds: when to begin and to end; latencies are of what arrives from `since` on."""

    start: int
    since: int
    end: int


@dataclass(frozen=True, slots=True)
class Stop:
    """Publish no more."""


@dataclass(frozen=True, slots=True)
class Finish:
    """Wait for what is missing of what was sent, and tell what became of it."""

    sent: Int64s  # by stream
    excused: set[tuple[int, int]]  # stream and number of what nobody promised to deliver
    wait: float  # seconds without a delivery


@dataclass(frozen=True, slots=True)
class Progress:
    count: int  # published, or delivered
    latencies: Histogram  # since the last progress


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the subscribers of a process got."""

    distinct: int
    duplicates: int
    late: int
    strays: int
    lowered: int
    missing: int
    closed: int
    cut_off: bool  # whether deliveries still came when it ended
    bins: dict[int, int]  # deliveries by time
    latencies: Histogram  # since the last progress
