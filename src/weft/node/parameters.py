"""Limits and times of a node in a network. The comment of a field is the rule that validation enforces."""

from dataclasses import dataclass, fields

from weft.errors import WeftError
from weft.wire.lease import RELIED


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameters:
    patience: float = 1.0  # seconds that a client waits for an answer of the network, at least 0
    acknowledge: str = "disk"  # disk: QoS 1 and 2 when it is on this node's; tree: when all nodes that want it have it
    lease: float = RELIED  # seconds for which a node relies on what the master has confirmed, above 0, at most RELIED
    doubt: float = 4.0  # seconds that a node with a new lease waits for others to be told of, at least 0
    moving: float = 5.0  # seconds that a client waits for its session from another node, at least 0
    linger: float = 600.0  # seconds for which a node passes on what still comes for a session that has left, at least 0
    settling: float = 2.0  # seconds until everybody has the tables of a change, at least 0
    memory: float = 60.0  # seconds for which a publication is remembered, at least `settling`
    retry: float = 0.5  # seconds until another attempt, doubled each time, above 0
    most_retry: float = 10.0  # seconds, at least `retry`
    attempt: float = 15.0  # seconds after which an attempt is given up for the next, above 0
    window: int = 5_000  # publications of QoS 1 and 2 under way until publishers wait, at least 1
    window_bytes: int = 32 * 2**20  # of those, at least 1
    owed_messages: int = 1_000_000  # kept for nodes that are down, at least 0; the oldest are dropped
    owed_bytes: int = 256 * 2**20  # of those, at least 0
    absence: float = 60.0  # seconds for which a node that is gone may only be cut off, its clients there, at least 0
    owed_age: float = 7 * 86_400.0  # seconds that they are kept, above 0
    link_patience: float = 0.2  # seconds that publishers wait for a link that cannot keep up, at least 0
    leaving: float = 3.0  # seconds that a node which stops waits for others to have what it owes them, at least 0
    measuring: float = 1.0  # seconds between reports to the master, above 0
    gossip: float = 30.0  # seconds between comparisons of retained messages with a peer, above 0

    def __post_init__(self) -> None:
        if self.acknowledge not in ("disk", "tree"):
            raise WeftError(f"acknowledge is {self.acknowledge!r}: give disk or tree.")
        for one in fields(self):
            if one.name != "acknowledge" and getattr(self, one.name) < 0:
                raise WeftError(f"{one.name} is {getattr(self, one.name)}: give 0 or more.")
        for name in ("retry", "attempt", "window", "window_bytes", "owed_age", "measuring", "gossip", "lease"):
            if not getattr(self, name):
                raise WeftError(f"{name} is 0: give more.")
        if self.lease > RELIED:
            raise WeftError(f"lease is {self.lease}: give at most {RELIED}, for the master does not wait longer.")
        if self.memory < self.settling or self.most_retry < self.retry:
            raise WeftError("memory is at least settling, and most_retry at least retry: give others.")


DEFAULT = Parameters()
