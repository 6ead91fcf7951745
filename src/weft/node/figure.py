"""What a node counts of the network, since it started."""

from dataclasses import dataclass, fields


@dataclass(slots=True)
class Figures:
    issued: int = 0  # publications of own clients that went into the network
    messages_sent: int = 0  # to peers, one a publication and link
    messages_received: int = 0
    arrived: int = 0  # publications of other nodes, once each
    delivered: int = 0  # of those, for which a filter is held here
    relayed: int = 0  # messages that came on a topic which nobody here holds
    fallen_back: int = 0  # publications that were given to Pie
    dropped: int = 0  # messages of QoS 0 that a link did not take
    attempts: int = 0  # of QoS 1 and 2, after the first
    settled: int = 0  # of QoS 1 and 2, that everybody has
    sessions_fetched: int = 0
    sessions_given: int = 0

    def counters(self) -> tuple[tuple[str, int], ...]:
        return tuple((one.name, getattr(self, one.name)) for one in fields(self))
