"""Grafts: how a node gets into the tree of a topic while the master is out of its reach.

Tables are the master's. A node that holds a new filter, and cannot tell the master, asks a peer that is in the filter's
tree (Graft). That one takes it for a neighbour in the tree, and says so (Grafted); publications pass between the two
from then on as on any link of the tree. Peers that hold the filter are asked first, one after the other: mostly they
are in the tree. Then all are: one that is in the tree as a relay says yes, and one that has a peer which holds the
filter is grafted there first, and is a relay. So a tree is found that is at most two links away, which with 3 log n
links is nearly all of a network. Who finds none looks again when a link comes up, and who loses its host a moment
later.

A graft is a link of the tree that the master does not know of. It stays beside the tables that the master gives until
one end ends it (Ungrafted), or the link is lost. Who asked for it does so when the master says that the filter is in
place everywhere. A link more than the tree needs keeps no publication from anybody: nodes pass each on once, and drop
what comes again. So custody, and what weave.py says of tables that change, hold as before.

Nobody hangs from itself. Only who is in the tree takes a guest: by a table of the master's, or by a host of its own.
Who is in the tree looks no further: it might become the guest of its guest. So of two nodes one at most is the other's
guest, and Ungrafted need not say which. Who has lost both table and host sends its guests away, and looks for a host
itself, if it holds the filter; so do they. And nobody waits in a circle: who is asked first, since it holds the filter,
answers at once; who is asked then asks nobody else but these.

A refusal by a guest ends no graft: of two that ask each other, one may say both. One by a host does: it says no only
where it has lost the tree since it said yes, and it sent no Ungrafted if it had heard that this node was gone.
"""

from collections.abc import Callable, Set
from dataclasses import dataclass, field

from weft.broker.deadline import Deadlines
from weft.node.atlas import Atlas
from weft.node.carrier import Carrier
from weft.node.effect import MASTER
from weft.node.outbox import Outbox
from weft.protocol.router import Assigned
from weft.wire.frame import Graft, Grafted, Ungrafted

Table = frozenset[int] | None


@dataclass(slots=True)
class _Branch:
    """What a node has of a tree besides the master's table, or looks for."""

    table: Table  # the master's
    is_wanted: bool = False  # this node holds the filter, and the master has not said that it is in place
    host: int | None = None
    guests: set[int] = field(default_factory=set)
    waiting: set[int] = field(default_factory=set)  # peers that want to be guests when there is a host
    asked: int | None = None
    near: list[int] = field(default_factory=list)  # peers still to be asked: they hold the filter
    far: list[int] = field(default_factory=list)  # all, to be asked then

    def is_in_tree(self) -> bool:
        return self.table is not None or self.host is not None

    def whole_table(self) -> Table:
        host = () if self.host is None else (self.host,)
        return (self.table or frozenset()).union(self.guests, host) if self.is_in_tree() else None

    def is_over(self) -> bool:
        return not (self.is_wanted or self.guests or self.waiting or self.host is not None)


class Grafting:
    def __init__(
        self,
        atlas: Atlas,
        carrier: Carrier,
        outbox: Outbox,
        deadlines: Deadlines,
        patience: float,  # seconds that a peer has to answer
        changed: Callable[[], None],  # a table is not what it was
    ) -> None:
        self._atlas = atlas
        self._carrier = carrier
        self._outbox = outbox
        self._searches = deadlines.timer(self._search_again)  # by topic
        self._patiences = deadlines.timer(self._lose_patience)  # the same
        self._patience = patience
        self._changed = changed
        self._branches: dict[int, _Branch] = {}  # by topic

    def __len__(self) -> int:
        """Trees that this node has grafts in, or looks for one."""
        return len(self._branches)

    def table(self, topic: int) -> Table:
        """The master's."""
        branch = self._branches.get(topic)
        return self._carrier.router.tables.get(topic) if branch is None else branch.table

    def assign(self, topic: int, table: Table, safe: bool, now: float) -> None:
        """The master has given a table, or taken one away."""
        branch = self._branches.get(topic)
        if branch is None:
            self._carrier.router.handle(Assigned(topic, table, safe), now * 1000)
            return
        branch.table = table
        self._put_in_place(topic, branch, safe, now)
        if table is not None:
            self._arrive(topic, branch, now)
        self._review(topic, branch, now)

    # This node holds a filter

    def seek(self, topic: int, now: float) -> None:
        """A filter is new here, and the master does not hear of it."""
        branch = self._branch(topic)
        branch.is_wanted = True
        self._look_around(topic, branch, now)

    def settle(self, unknown: Set[int], now: float) -> None:
        """The master has said that the filters of all topics are in place, but for some."""
        for topic, branch in list(self._branches.items()):
            if branch.is_wanted and topic not in unknown:
                self._want_no_more(topic, branch, now)

    def release(self, topic: int, now: float) -> None:
        """The filter is held here no more."""
        branch = self._branches.get(topic)
        if branch is not None and branch.is_wanted:
            self._want_no_more(topic, branch, now)

    def _want_no_more(self, topic: int, branch: _Branch, now: float) -> None:
        branch.is_wanted, branch.far = False, []
        if not branch.waiting:
            branch.asked, branch.near = None, []
        self._review(topic, branch, now)

    # Peers

    def take_in(self, peer: int, frame: Graft, now: float) -> None:
        """A peer wants to be in a tree."""
        topic, branch = frame.topic, self._branch(frame.topic)
        if branch.is_in_tree():
            self._welcome({peer}, topic, branch, now)
        elif frame.further and self._may_find(topic, branch, peer):
            branch.waiting.add(peer)
            if branch.asked is None:
                branch.near = self._holders(topic, branch)
                self._ask_next(topic, branch, now)
        else:
            self._outbox.tell(peer, Grafted(topic, False))
        self._tidy(topic, branch)

    def hear(self, peer: int, frame: Grafted, now: float) -> None:
        """A peer has taken this node in, or has not. What comes late, when another was asked, is undone."""
        topic, branch = frame.topic, self._branches.get(frame.topic)
        is_awaited = branch is not None and branch.asked == peer
        if branch is not None and is_awaited and frame.is_taken:
            self._settle_at(peer, topic, branch, now)
        elif branch is not None and is_awaited:
            self._ask_next(topic, branch, now)
            self._tidy(topic, branch)
        elif frame.is_taken and (branch is None or branch.host != peer):
            self._outbox.tell(peer, Ungrafted(topic))
        elif branch is not None and branch.host == peer and not frame.is_taken:
            self._lose(peer, topic, branch, True, now)

    def end(self, peer: int, frame: Ungrafted, now: float) -> None:
        """A peer is no neighbour in a tree any more."""
        branch = self._branches.get(frame.topic)
        if branch is not None:
            self._lose(peer, frame.topic, branch, True, now)

    def link(self, peer: int, now: float) -> None:
        """Look for trees over a new link, where none has been found."""
        for topic, branch in list(self._branches.items()):
            self._look_around(topic, branch, now)

    def unlink(self, peer: int, now: float) -> None:
        for topic, branch in list(self._branches.items()):
            branch.waiting.discard(peer)
            if peer == branch.asked:
                self._ask_next(topic, branch, now)
            self._lose(peer, topic, branch, False, now)

    def _may_find(self, topic: int, branch: _Branch, peer: int) -> bool:
        """Whether this node may soon be in a tree: a peer holds the filter, and is yet to answer."""
        if branch.asked is not None:
            return branch.asked != peer and self._atlas.subscribes(branch.asked, topic)
        return any(one != peer for one in self._holders(topic, branch))

    def _settle_at(self, host: int, topic: int, branch: _Branch, now: float) -> None:
        branch.host = host
        branch.waiting.discard(host)
        self._arrive(topic, branch, now)
        self._review(topic, branch, now)

    def _arrive(self, topic: int, branch: _Branch, now: float) -> None:
        """Look no further: this node is in the tree, and so are those that waited for it."""
        branch.asked, branch.near, branch.far = None, [], []
        waiting, branch.waiting = branch.waiting, set()
        self._welcome(waiting, topic, branch, now)

    def _welcome(self, peers: set[int], topic: int, branch: _Branch, now: float) -> None:
        branch.guests |= peers
        self._put_in_place(topic, branch, True, now)
        for peer in sorted(peers):
            self._outbox.tell(peer, Grafted(topic, True))

    def _lose(self, peer: int, topic: int, branch: _Branch, safe: bool, now: float) -> None:
        if peer in (branch.host, *branch.guests):
            is_host, branch.host = peer == branch.host, None if peer == branch.host else branch.host
            branch.guests.discard(peer)
            self._put_in_place(topic, branch, safe, now)
            if is_host:  # others lose theirs at the same time
                self._searches.at(now + self._patience, topic)
        self._review(topic, branch, now)

    # Looking for a host

    def _look_around(self, topic: int, branch: _Branch, now: float) -> None:
        is_sought = branch.is_wanted and not branch.is_in_tree() and branch.asked is None
        if not is_sought or MASTER in self._atlas.up:
            return
        branch.near = self._holders(topic, branch)
        branch.far = self._peers(branch)
        self._ask_next(topic, branch, now)

    def _peers(self, branch: _Branch) -> list[int]:
        return sorted(one for one in self._atlas.up if one != MASTER and one not in branch.guests | branch.waiting)

    def _holders(self, topic: int, branch: _Branch) -> list[int]:
        return [one for one in self._peers(branch) if self._atlas.subscribes(one, topic)]

    def _ask_next(self, topic: int, branch: _Branch, now: float) -> None:
        if not branch.near:
            for peer in sorted(branch.waiting):
                self._outbox.tell(peer, Grafted(topic, False))
            branch.waiting.clear()
        further = not branch.near
        left = branch.near or branch.far
        branch.asked = left.pop(0) if left else None
        if branch.asked is None:
            return
        self._outbox.tell(branch.asked, Graft(topic, further))
        self._patiences.at(now + self._patience, topic)

    def _search_again(self, topic: int, now: float) -> None:
        self._look_around(topic, self._branches[topic], now)

    def _lose_patience(self, topic: int, now: float) -> None:
        branch = self._branches[topic]
        if branch.asked is not None:
            self._ask_next(topic, branch, now)
            self._tidy(topic, branch)

    # What follows

    def _branch(self, topic: int) -> _Branch:
        if topic not in self._branches:
            self._branches[topic] = _Branch(self._carrier.router.tables.get(topic))
        return self._branches[topic]

    def _review(self, topic: int, branch: _Branch, now: float) -> None:
        """Send guests away from a node that is not in the tree; leave a host that is of no use any more."""
        if not branch.is_in_tree() and branch.guests:
            for peer in sorted(branch.guests):
                self._outbox.tell(peer, Ungrafted(topic))
            branch.guests.clear()
        is_needed = branch.is_wanted or (branch.table is None and branch.guests)
        if branch.host is not None and not is_needed:
            self._outbox.tell(branch.host, Ungrafted(topic))
            branch.host = None
            self._put_in_place(topic, branch, True, now)
        self._tidy(topic, branch)

    def _tidy(self, topic: int, branch: _Branch) -> None:
        if branch.is_over() and branch.asked is None:
            self._branches.pop(topic, None)
            self._searches.drop(topic)
            self._patiences.drop(topic)

    def _put_in_place(self, topic: int, branch: _Branch, safe: bool, now: float) -> None:
        self._carrier.router.handle(Assigned(topic, branch.whole_table(), safe), now * 1000)
        self._changed()
