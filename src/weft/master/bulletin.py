"""Bulletins: what every node is told of the changes of the network, in an order that nobody can mistake.

Remembers what each node was told last, so that it hears of every change once, and of what stays the same never. Ways
are told to nodes that have asked, until they say that they do not want to know any more. Of what a node asks beyond a
bound nothing is remembered, and it gets no answer: what it publishes goes over the ring then, as without a master.
"""

from collections.abc import Iterable

from weft.master.changes import Changes
from weft.master.directory import is_listed
from weft.master.network import Network
from weft.master.ring import SIZE
from weft.wire import frame as w
from weft.wire.frame import topic_of
from weft.wire.mqtt.topic import is_shared

Told = dict[int, list[w.Frame]]  # node -> frames, in order
Way = tuple[bool, tuple[int, ...]]  # whether others hold a filter, and the peers on a way into its tree
WAYS, WAYS_BYTES = 1_000_000, 256 * 2**20  # that one node may want to know, and what their filters may take


class _Asked:
    """What one node wants to know."""

    def __init__(self) -> None:
        self.ways: dict[str, Way | None] = {}  # by filter: what it was told
        self._size = 0  # of the filters

    def add(self, pattern: str) -> bool:
        """Whether there was room."""
        if pattern not in self.ways:
            if len(self.ways) >= WAYS or self._size + len(pattern) > WAYS_BYTES:
                return False
            self._size += len(pattern)
        self.ways[pattern] = None
        return True

    def remove(self, pattern: str) -> None:
        if pattern in self.ways:
            del self.ways[pattern]
            self._size -= len(pattern)


class Bulletin:
    def __init__(self, network: Network) -> None:
        self._network = network
        self._told: dict[int, set[int]] = {}  # peers
        self._given: dict[int, dict[int, frozenset[int]]] = {}  # tables
        self._listed: dict[str, w.Listed] = {}
        self._asked: dict[int, _Asked] = {}  # by node

    def find_way(self, node: int, pattern: str) -> None:
        """A node wants to know its way into a tree, now and whenever that changes."""
        if self._asked.setdefault(node, _Asked()).add(pattern):
            self._network.changes.ways.add(pattern)

    def forget_ways(self, node: int, patterns: Iterable[str]) -> None:
        """A node does not want to know these any more."""
        if node in self._asked:
            for pattern in patterns:
                self._asked[node].remove(pattern)

    def forget_all_ways(self, node: int) -> None:
        """A node asks anew for all that it wants to know."""
        self._asked.pop(node, None)

    def issue(self, changes: Changes) -> Told:
        """What every node is told of changes.

        The order keeps debts right: that a node is down comes before tables without it, that it is back behind those
        with it. Places on the ring come before both: who is owed something may have another when it is back.
        """
        for node in changes.gone:
            self._forget(node)
        for node in changes.repeated:
            self._told.pop(node, None)
        told = changes.frames
        self._tell_places(changes, told)
        self._tell_filters(changes, told)
        self._tell_peers(changes, told)
        self._tell_tables(changes, told)
        self._tell_ways(changes, told)
        for node, frames in changes.late.items():
            told.setdefault(node, []).extend(map(self._placed, frames))
        return told

    def _forget(self, node: int) -> None:
        self._told.pop(node, None)
        self._given.pop(node, None)
        for peers in self._told.values():
            peers.discard(node)
        self.forget_all_ways(node)

    def _placed(self, frame: w.Frame) -> w.Frame:
        """Where a node that is back is now: it may have been moved since that was noted."""
        return w.Back(frame.node, self._ring_id(frame.node)) if isinstance(frame, w.Back) else frame

    def _tell_places(self, changes: Changes, told: Told) -> None:
        every = tuple((one.number, one.ring_id) for one in self._network.roster if one.ring_id is not None)
        some = tuple(each for each in every if each[0] in changes.moved)
        for node in sorted(self._network.woven):
            whole = node in changes.woven_in
            if places := every if whole else some:
                told.setdefault(node, []).append(w.Places(places, whole))

    def _tell_filters(self, changes: Changes, told: Told) -> None:
        added, removed = [], []
        for pattern in sorted(filter(is_listed, changes.filters)):
            listed = self._listing(pattern)
            if listed is None and self._listed.pop(pattern, None) is not None:
                removed.append(pattern)
            elif listed is not None and self._listed.get(pattern) != listed:
                self._listed[pattern] = listed
                added.append(listed)
        for node in sorted(self._network.woven):
            if node in changes.woven_in:
                every = tuple(self._listed[pattern] for pattern in sorted(self._listed))
                told.setdefault(node, []).append(w.Filters(self._network.version, every, (), whole=True))
            elif added or removed:
                told.setdefault(node, []).append(w.Filters(self._network.version, tuple(added), tuple(removed)))

    def _listing(self, pattern: str) -> w.Listed | None:
        """A filter as all nodes are told of it; None where nobody who is there holds it."""
        directory = self._network.directory
        holders = sorted(directory.holders.get(pattern, set()) & self._network.woven)
        if not holders:
            return None
        if not is_shared(pattern):
            return w.Listed(pattern)
        return w.Listed(
            pattern,
            tuple(
                w.Holder(node, self._ring_id(node), self._network.directory.held[node][pattern].members)
                for node in holders
            ),
        )

    def _tell_peers(self, changes: Changes, told: Told) -> None:
        for node in sorted(changes.rewired & self._network.placed):
            before, self._told[node] = self._told.get(node, set()), set(self._network.peers[node])
            frames = told.setdefault(node, [])
            peers = tuple(self._peer(node, peer) for peer in sorted(self._network.peers[node]))
            frames.append(w.Peers(self._network.version, self._ring_id(node), SIZE, peers))
            frames += [
                w.NeighbourInterests(peer, tuple(sorted(self._network.directory.interests[peer])), (), whole=True)
                for peer in sorted(self._network.peers[node] - before)
            ]
        for node, (added, removed) in changes.interests.items():
            if (added or removed) and node in self._network.placed:
                self._tell_interest(node, tuple(sorted(added)), tuple(sorted(removed)), self._network.peers[node], told)

    def _tell_interest(
        self,
        node: int,
        added: tuple[int, ...],
        removed: tuple[int, ...],
        peers: set[int],
        told: Told,
    ) -> None:
        for peer in sorted(peers):
            told.setdefault(peer, []).append(w.NeighbourInterests(node, added, removed))

    def _ring_id(self, node: int) -> int:
        return self._network.roster[node].ring_id or 0

    def _peer(self, node: int, peer: int) -> w.Peer:
        member = self._network.roster[peer]
        is_finger = peer in self._network.plan.fingers[node] or peer in self._network.old_fingers.get(node, ())
        return w.Peer(peer, member.name, member.address, self._ring_id(peer), is_finger, opens=node < peer)

    def _tell_tables(self, changes: Changes, told: Told) -> None:
        tables: dict[int, dict[int, w.Table]] = {}
        for topic, assigned in changes.tables.items():
            safe = self._is_safe(topic, assigned)
            for node, table in assigned.items():
                if node not in self._network.loom.links:
                    continue
                tables.setdefault(node, {})[topic] = _table(topic, table, safe)
                self._remember(node, topic, table)
        for node, topics in changes.answered.items():
            for topic in topics & self._given.get(node, {}).keys():
                tables.setdefault(node, {}).setdefault(topic, _table(topic, self._given[node][topic], True))
        for node, frames in told.items():
            if any(isinstance(frame, w.Down) for frame in frames):
                tables.setdefault(node, {})  # which it answers, so that it is known who has heard (applying.py)
        for node in sorted(changes.woven_in & self._network.woven):
            whole = tuple(_table(topic, table, False) for topic, table in sorted(self._given.get(node, {}).items()))
            told.setdefault(node, []).append(w.Tables(self._network.version, whole, whole=True))
        for node in sorted((tables.keys() & self._network.woven) - changes.woven_in):
            some = tuple(tables[node][topic] for topic in sorted(tables[node]))
            told.setdefault(node, []).append(w.Tables(self._network.version, some))

    def _is_safe(self, topic: int, assigned: dict[int, frozenset[int] | None]) -> bool:
        """Whether the tree has only grown, or only shrunk, since it was last told.

        Who is not in it any more, and has not heard, sends by its old table: to somebody who still is.
        """
        nothing: frozenset[int] = frozenset()
        before = {node: self._given.get(node, {}).get(topic, nothing) for node in assigned}
        if all(old <= (assigned[node] or nothing) for node, old in before.items()):
            return True
        gone = {node for node, table in assigned.items() if table is None}
        parted = any(gone & before[node] for node in gone)
        return not parted and all((assigned[node] or nothing) <= old for node, old in before.items())

    def _remember(self, node: int, topic: int, table: frozenset[int] | None) -> None:
        given = self._given.setdefault(node, {})
        if table is None:
            given.pop(topic, None)
        else:
            given[topic] = table

    def _tell_ways(self, changes: Changes, told: Told) -> None:
        names = {name for topic in changes.tables for name in self._network.directory.names.get(topic, ())}
        changed = changes.ways | names
        for node in sorted(self._asked.keys() & self._network.placed):
            ways = self._asked[node].ways
            for pattern in sorted(ways if changes.links_gone else changed & ways.keys()):
                way = self._way(node, pattern)
                if way != ways[pattern]:
                    ways[pattern] = way
                    told.setdefault(node, []).append(w.Way(self._network.version, pattern, *way))

    def _way(self, node: int, pattern: str) -> tuple[bool, tuple[int, ...]]:
        """Whether others hold a filter, and the peers on a way into its tree."""
        is_held = any(
            other != node and other in self._network.loom.links
            for other in self._network.directory.holders.get(pattern, ())
        )
        known = is_held and node in self._network.loom.links
        return is_held, self._network.loom.way(node, topic_of(pattern)) if known else ()


def _table(topic: int, table: frozenset[int] | None, safe: bool) -> w.Table:
    return w.Table(topic, None if table is None else tuple(sorted(table)), safe)
