"""Changes that nodes have not been told of yet; bulletin.py makes frames of them."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from weft.protocol.loom import Assignment
from weft.wire.frame import Frame


@dataclass
class Changes:
    """What nodes have not been told yet."""

    frames: dict[int, list[Frame]] = field(default_factory=dict)  # by node, in order
    late: dict[int, list[Frame]] = field(default_factory=dict)  # behind all others
    rewired: set[int] = field(default_factory=set)  # nodes with other peers, or other places on the ring
    woven_in: set[int] = field(default_factory=set)
    tables: dict[int, dict[int, frozenset[int] | None]] = field(default_factory=dict)  # topic -> node -> table
    answered: dict[int, set[int]] = field(default_factory=dict)  # node -> topics whose table it waits for
    filters: set[str] = field(default_factory=set)
    interests: dict[int, tuple[set[int], set[int]]] = field(default_factory=dict)  # node -> topics added, removed
    ways: set[str] = field(default_factory=set)  # filters whose trees or holders have changed
    links_gone: bool = False
    moved: set[int] = field(default_factory=set)  # nodes with other places on the ring
    gone: set[int] = field(default_factory=set)  # nodes that need not be told any more
    repeated: set[int] = field(default_factory=set)  # nodes that may have missed what they were told
    records: set[tuple[str, str | int]] = field(default_factory=set)  # kind and key of what is to be kept

    def tell(self, node: int, frame: Frame) -> None:
        self.frames.setdefault(node, []).append(frame)

    def tell_late(self, node: int, frame: Frame) -> None:
        self.late.setdefault(node, []).append(frame)

    def assign(self, assignments: Iterable[Assignment]) -> None:
        for each in assignments:
            self.tables.setdefault(each.topic, {})[each.node] = each.neighbours

    def forget(self, node: int) -> None:
        """A node that is gone is told nothing."""
        for kept in (self.frames, self.late, self.answered):
            kept.pop(node, None)
        self.woven_in.discard(node)
