"""The tree of one topic while it changes: cut where something is gone, and joined again with few relays."""

from collections.abc import Iterable, Mapping
from itertools import pairwise

Links = Mapping[int, set[int]]  # the neighbours of every node in the overlay


class SharedTree:
    def __init__(self, tables: dict[int, set[int]]) -> None:
        self.tables = tables  # member -> its neighbours in the tree
        self._before: dict[int, frozenset[int] | None] = {}  # the tables touched, as they were

    def add(self, node: int) -> None:
        """A member without neighbours, for `join` to join."""
        if node not in self.tables:
            self._touch(node)
            self.tables[node] = set()

    def drop(self, node: int) -> None:
        self._touch(node)
        for peer in self.tables.pop(node):
            self._touch(peer)
            self.tables[peer].remove(node)

    def cut(self, one: int, other: int) -> None:
        self._touch(one, other)
        self.tables[one].remove(other)
        self.tables[other].remove(one)

    def parts(self) -> list[set[int]]:
        left, parts = set(self.tables), []
        while left:
            part = self._connected_with(next(iter(left)))
            parts.append(part)
            left -= part
        return parts

    def join(self, links: Links, fan_out: int, preferred: int | None = None) -> bool:
        """Makes the parts one, the smallest first; False where the overlay has no path between some of them."""
        parts, whole = self.parts(), True
        while len(parts) > 1:
            part = min(parts, key=lambda each: (len(each), min(each)))
            parts.remove(part)
            way = self._path_from(part, links, fan_out, preferred)
            if not way:
                whole = False
                continue
            for one, other in pairwise(way):
                self._connect(one, other)
            joined = next(each for each in parts if way[-1] in each)
            joined |= part | set(way)
        return whole

    def trim(self, subscribers: set[int]) -> None:
        """Remove the relays at the tree's ends."""
        ends = [node for node in self._before if self._is_idle(node, subscribers)]
        while ends:
            node = ends.pop()
            peers = self.tables[node].copy()
            self.drop(node)
            ends += [peer for peer in peers if self._is_idle(peer, subscribers)]

    def changes(self) -> dict[int, frozenset[int] | None]:
        """The tables that have changed since it was last asked, as they are now; None for those that are no more."""
        now = {node: frozenset(self.tables[node]) if node in self.tables else None for node in self._before}
        changed = {node: table for node, table in now.items() if table != self._before[node]}
        self._before = {}
        return changed

    def _is_idle(self, node: int, subscribers: set[int]) -> bool:
        return node in self.tables and node not in subscribers and len(self.tables[node]) < 2

    def _touch(self, *nodes: int) -> None:
        for node in nodes:
            table = self.tables.get(node)
            self._before.setdefault(node, None if table is None else frozenset(table))

    def _connect(self, one: int, other: int) -> None:
        self.add(one)
        self.add(other)
        self._touch(one, other)
        self.tables[one].add(other)
        self.tables[other].add(one)

    def _connected_with(self, node: int) -> set[int]:
        found, todo = {node}, [node]
        while todo:
            new = self.tables[todo.pop()] - found
            found |= new
            todo += new
        return found

    def _path_from(self, part: set[int], links: Links, fan_out: int, preferred: int | None) -> list[int]:
        """A path from a part to another with the fewest relays between; empty where there is none."""
        before: dict[int, int] = {}  # of the relays found, the node that they were reached from
        frontier: Iterable[int] = part
        while frontier:
            ends = [
                (node, peer) for node in frontier for peer in links[node] if peer in self.tables and peer not in part
            ]
            if ends:
                node, peer = min(ends, key=lambda end: self._rank(end[0], end[1], fan_out, preferred))
                path = [peer, node]
                while path[-1] in before:
                    path.append(before[path[-1]])
                return path[::-1]
            found = {
                peer: node for node in sorted(frontier) for peer in sorted(links[node]) if self._is_new(peer, before)
            }
            before |= found
            frontier = list(found)
        return []

    def _is_new(self, node: int, before: Mapping[int, int]) -> bool:
        return node not in self.tables and node not in before

    def _rank(self, node: int, peer: int, fan_out: int, preferred: int | None) -> tuple[bool, bool, int, int, int]:
        """Rank of a path that ends by node and peer, lower is better: high degrees first, up to the fan-out."""
        degree = len(self.tables[peer])
        return node != preferred, degree >= fan_out, -degree, node, peer
