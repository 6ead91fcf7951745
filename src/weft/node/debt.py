"""What this node, as an issuer, still owes to the network: publications of QoS 1 and 2 that not everybody has.

    under way   an attempt travels; when it ends well, it is settled or owed
    resting     an attempt has failed, and the next is due at a time, or when tables change
    late        one of these two for longer than an attempt has: somebody does not answer, and publishers do not wait
                for it any more, or one node with a full disk, or that means no good, would stop those of all nodes
    owed        everybody has it but nodes that are down, which it is sent to when they are back
    doubted     everybody has it that this node knew of, which may not have been all (lease.py): it is sent again

Publications are settled in any order. `floor` is the lowest count that may be sent again to everybody.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice

from weft.broker.publication import Publication
from weft.node.parameters import Parameters


@dataclass(slots=True)
class Debt:
    publication: Publication
    count: int
    since: float
    attempt: int = 0
    first: int = 0  # of its attempts since this node started; others have seen those before
    due: float | None = None  # when to try again, or to give an attempt up
    is_under_way: bool = False
    owed: set[int] = field(default_factory=set)  # nodes that are down; all others have it
    targets: set[int] = field(default_factory=set)  # nodes that were: it is for these alone
    group: str = ""  # it is for one member of this shared filter alone
    chosen: int | None = None  # the node that was chosen for it
    groups: dict[str, int] = field(default_factory=dict)  # shared filters that it was issued for, and those debts
    left: tuple[str, ...] | None = None  # the shared filters that it is for, where it is not for all that match
    parent: "Debt | None" = None  # of such a debt
    is_sound: bool = False  # the attempt was made with a lease
    is_over: bool = False  # but for those of groups
    is_late: bool = False  # publishers do not wait for it
    answers: list[Callable[[], None]] = field(default_factory=list)  # tell a publisher who waits (acknowledge = tree)

    def size(self) -> int:
        return self.publication.size() + 100


class Debts:
    def __init__(self, parameters: Parameters) -> None:
        self._parameters = parameters
        self._open: dict[int, Debt] = {}  # by count, in order: to everybody
        self._owed: dict[int, Debt] = {}  # by count: to nodes that are down
        self._doubted: dict[int, Debt] = {}  # by count, in order
        self._by_node: dict[int, dict[int, None]] = {}  # node -> counts
        self._late: dict[int, Debt] = {}  # of the open ones, those that have been for too long
        self.open_bytes = 0  # without those
        self.owed_bytes = 0  # with those
        self.dropped = 0  # that were owed for too long, or were too many
        self._settled: list[int] = []

    def __len__(self) -> int:
        return len(self._open) + len(self._owed) + len(self._doubted)

    def __iter__(self) -> Iterator[Debt]:
        yield from self._open.values()
        yield from self._owed.values()
        yield from self._doubted.values()

    @property
    def under_way(self) -> int:
        return len(self._open)

    @property
    def owed(self) -> dict[int, int]:
        """How many publications are owed to which nodes."""
        return {node: len(counts) for node, counts in self._by_node.items() if counts}

    def floor(self, count: int) -> int:
        """The lowest count that is not settled; the next one where all are."""
        return min(next(iter(self._open), count), next(iter(self._doubted), count))

    def is_full(self) -> bool:
        count = len(self._open) - len(self._late)
        return count >= self._parameters.window or self.open_bytes >= self._parameters.window_bytes

    def has_room(self) -> bool:
        count = len(self._open) - len(self._late)
        return count <= self._parameters.window // 2 and self.open_bytes <= self._parameters.window_bytes // 2

    def add(self, publication: Publication, now: float, group: str = "") -> Debt:
        assert publication.origin is not None
        debt = Debt(publication, publication.origin[2], now, group=group)
        self._open[debt.count] = debt
        self.open_bytes += debt.size()
        return debt

    def kept(self, count: int) -> Debt | None:
        """A debt that is under way or owed."""
        return self._open.get(count) or self._owed.get(count)

    def get(self, count: int) -> Debt | None:
        return self._open.get(count)

    def unsettled(self, publisher: str) -> list[Debt]:
        """What of a client's publications not all nodes have that are there."""
        open_ = (*self._open.values(), *self._doubted.values())
        return [debt for debt in open_ if debt.publication.publisher == publisher and not debt.group]

    def settle(self, debt: Debt) -> None:
        self._end(debt)
        if self._doubted.pop(debt.count, None) is not None:
            self.owed_bytes -= debt.size()
        if self._owed.pop(debt.count, None) is not None:
            self.owed_bytes -= debt.size()
            for node in debt.owed:
                self._by_node.get(node, {}).pop(debt.count, None)
        self._settled.append(debt.count)
        _tell(debt)

    def drop(self, debt: Debt) -> None:
        """Give up what has been owed for too long."""
        self.dropped += 1
        self.settle(debt)

    def owe(self, debt: Debt, nodes: Iterable[int], now: float) -> None:
        """Everybody has it but these, which are down."""
        self._end(debt)
        debt.owed, debt.targets, debt.due, debt.is_under_way = set(nodes), set(), None, False
        self._owed[debt.count] = debt
        self.owed_bytes += debt.size()
        for node in debt.owed:
            self._by_node.setdefault(node, {})[debt.count] = None
        _tell(debt)
        self._bound(now)

    def doubt(self, debt: Debt, now: float) -> None:
        """Everybody has it as far as is known; there may be others."""
        self._end(debt)
        debt.due, debt.is_under_way = None, False
        is_late = debt.count < next(reversed(self._doubted), 0)
        self._doubted[debt.count] = debt
        if is_late:
            self._doubted = dict(sorted(self._doubted.items()))
        self.owed_bytes += debt.size()
        self._bound(now)

    def doubted(self, most: int) -> list[Debt]:
        """Some of those, the oldest first, to be sent again."""
        debts = [self._doubted.pop(count) for count in sorted(self._doubted)[:most]]
        for debt in debts:
            self.owed_bytes -= debt.size()
            self._open[debt.count] = debt
            self.open_bytes += debt.size()
        if debts:
            self._open = dict(sorted(self._open.items()))
        return debts

    def reopen(self, node: int, most: int) -> list[Debt]:
        """A node is back: some of what is owed to it, the oldest first, for it alone."""
        counts = self._by_node.get(node, {})
        debts = [self._owed[count] for count in sorted(islice(counts, most))]
        for debt in debts:
            self.owed_bytes -= self._owed.pop(debt.count).size()
            for other in debt.owed:
                self._by_node[other].pop(debt.count, None)
            debt.owed = debt.owed - {node} if not debt.group else set()  # one member is enough
            debt.targets = {node} if not debt.group else set()
            self._open[debt.count] = debt
            self.open_bytes += debt.size()
        if debts:
            self._open = dict(sorted(self._open.items()))
        return debts

    def forgive(self, node: int, but: Callable[[str], bool] = lambda _: False) -> None:
        """Nothing is owed to a node any more, but on some names."""
        for count in list(self._by_node.get(node, {})):
            debt = self._owed[count]
            if but(debt.publication.topic.decode()):
                continue
            del self._by_node[node][count]
            debt.owed.discard(node)
            if not debt.owed:
                self.settle(debt)

    @property
    def late(self) -> int:
        return len(self._late)

    def delay(self, debt: Debt) -> None:
        """Let publishers wait for it no longer."""
        if debt.count in self._open and not debt.is_late:
            debt.is_late = True
            self._late[debt.count] = debt
            self.open_bytes -= debt.size()
            self.owed_bytes += debt.size()

    def late_under_way(self) -> int:
        return sum(debt.is_under_way for debt in self._late.values())

    def excess(self) -> Debt | None:
        """The one that goes first, where there is too much of these and of what is owed."""
        return next(iter(self._late.values()), None) if self._is_too_much() else None

    def _end(self, debt: Debt) -> None:
        """Close a debt that is open."""
        if self._open.pop(debt.count, None) is None:
            return
        if self._late.pop(debt.count, None) is not None:
            debt.is_late = False
            self.owed_bytes -= debt.size()
        else:
            self.open_bytes -= debt.size()

    def _is_too_much(self) -> bool:
        messages = len(self._owed) + len(self._doubted) + len(self._late)
        return messages > self._parameters.owed_messages or self.owed_bytes > self._parameters.owed_bytes

    def take_settled(self) -> list[int]:
        settled, self._settled = self._settled, []
        return settled

    def resting(self) -> Iterator[Debt]:
        """Debts whose last attempt has failed."""
        return (debt for debt in self._open.values() if not debt.is_under_way and debt.due is not None)

    def due(self, now: float) -> list[Debt]:
        return [debt for debt in self._open.values() if debt.due is not None and debt.due <= now]

    def _bound(self, now: float) -> None:
        """Nothing is kept for ever: the oldest goes first."""
        while kept := self._owed or self._doubted:
            debt = next(iter(kept.values()))
            if not self._is_too_much() and debt.since + self._parameters.owed_age > now:
                return
            self.drop(debt)


def _tell(debt: Debt) -> None:
    """All nodes that are there have it."""
    answers, debt.answers = debt.answers, []
    for answer in answers:
        answer()
