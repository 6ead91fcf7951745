"""The tree of one topic while it changes: cut where something is gone, and joined again with few relays.

Parts are joined by the fewest relays. Of several such ways the cheapest is taken: a way costs the prices of its nodes,
which grow with what they send over all topics, and the mean paths from its ends to all others of their parts, in hops,
or where members publish to these, by how much they do.
(By the prices alone every newcomer would hang from the last one, who sends nothing, and trees would become chains.) Who
has as many neighbours as the fan-out allows gets no further one, unless there is no other way at all, however long.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from itertools import pairwise

Links = Mapping[int, set[int]]  # the neighbours of every node in the overlay
Price = Callable[[int], float]  # of one more neighbour for a node, in hops

NO_BOUND = 2**31
NO_PUBLISHERS: Mapping[int, float] = {}


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

    def replace(self, tables: Mapping[int, set[int]]) -> None:
        """Another tree, or parts of one, instead of what there is."""
        self._touch(*self.tables, *tables)
        self.tables = {node: set(peers) for node, peers in tables.items()}

    def parts(self) -> list[set[int]]:
        left, parts = set(self.tables), []
        while left:
            part = self._connected_with(next(iter(left)))
            parts.append(part)
            left -= part
        return parts

    def join(
        self,
        links: Links,
        price: Price,
        fan_out: int,
        preferred: int | None = None,
        publishers: Mapping[int, float] = NO_PUBLISHERS,
    ) -> bool:
        """Makes the parts one, the smallest first; False where the overlay has no way between some of them."""
        parts, whole = self.parts(), True
        means = self.mean_paths(parts, publishers) if len(parts) > 1 else {}
        while len(parts) > 1:
            part = min(parts, key=lambda each: (len(each), min(each)))
            parts.remove(part)
            way = self._way_from(part, links, price, means, fan_out, preferred)
            way = way or self._way_from(part, links, price, means, NO_BOUND, preferred)
            if not way:
                whole = False
                continue
            for one, other in pairwise(way):
                self._connect(one, other)
            joined = next(each for each in parts if way[-1] in each)
            joined |= part | set(way)
        return whole

    def trim(self, wanted: Collection[int]) -> None:
        """Remove ends of the tree but those that are wanted."""
        ends = [node for node in self._before if self._is_idle(node, wanted)]
        while ends:
            node = ends.pop()
            if not self._is_idle(node, wanted):
                continue  # dropped already, where two relays were each other's last neighbours
            peers = self.tables[node].copy()
            self.drop(node)
            ends += [peer for peer in peers if self._is_idle(peer, wanted)]

    def more_sent(self) -> dict[int, int]:
        """How many more messages the nodes touched send for a publication than when changes were last asked for."""
        return {node: _sent(self.tables.get(node)) - _sent(before) for node, before in self._before.items()}

    def changes(self) -> dict[int, frozenset[int] | None]:
        """The tables that have changed since it was last asked, as they are now; None for those that are no more."""
        now = {node: frozenset(self.tables[node]) if node in self.tables else None for node in self._before}
        changed = {node: table for node, table in now.items() if table != self._before[node]}
        self._before = {}
        return changed

    def _is_idle(self, node: int, wanted: Collection[int]) -> bool:
        return node in self.tables and node not in wanted and len(self.tables[node]) < 2

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

    def mean_paths(
        self, parts: Iterable[set[int]], publishers: Mapping[int, float] = NO_PUBLISHERS
    ) -> dict[int, float]:
        """Mean paths from every member to those of its part who publish, by their rates; where none does, to all."""
        means: dict[int, float] = {}
        for part in parts:
            root = min(part)
            parents, order = {root: root}, [root]
            for member in order:
                new = [peer for peer in self.tables[member] if peer not in parents]
                parents |= dict.fromkeys(new, member)
                order += new
            below = {member: publishers.get(member, 0.0) for member in order}
            if not any(below.values()):
                below = dict.fromkeys(order, 1.0)
            total = sum(below.values())
            for member in order[:0:-1]:
                below[parents[member]] += below[member]
            means[root] = sum(below[member] for member in order[1:]) / total
            for member in order[1:]:  # a hop nearer to those below it, a hop farther from all others
                means[member] = means[parents[member]] + 1 - 2 * below[member] / total
        return means

    def _way_from(
        self,
        part: set[int],
        links: Links,
        price: Price,
        means: Mapping[int, float],
        fan_out: int,
        preferred: int | None,
    ) -> list[int]:
        """Way from a part to another with the fewest relays between; nothing where there is none."""
        before: dict[int, int] = {}  # of the relays found, the node that they were reached from
        costs = {node: means.get(node, 0.0) + price(node) for node in part if len(self.tables[node]) < fan_out}
        frontier = list(costs)
        while frontier:
            ends = [
                (node != preferred, costs[node] + price(peer) + means.get(peer, 0.0), node, peer)
                for node in frontier
                for peer in links[node]
                if peer in self.tables and peer not in part and len(self.tables[peer]) < fan_out
            ]
            if ends:
                *_, node, peer = min(ends)
                way = [peer, node]
                while way[-1] in before:
                    way.append(before[way[-1]])
                return way[::-1]
            found: dict[int, int] = {}
            for node in sorted(frontier):
                for peer in sorted(links[node]):
                    if self._is_new(peer, before) and (peer not in found or costs[node] < costs[found[peer]]):
                        found[peer] = node
            costs |= {peer: costs[node] + price(peer) for peer, node in found.items()}
            before |= found
            frontier = list(found)
        return []

    def way_to(self, node: int, links: Links, subscribers: set[int]) -> tuple[int, ...]:
        """A shortest one from a node outside: the peers on it, the last of them a member.

        Of the members that are as near, the one with the least sum of paths to the subscribers; else the first way in
        the order of the peers' numbers.
        """
        before, level = {node: node}, [node]
        while level:
            reached: dict[int, int] = {}
            for here in level:
                reached |= {peer: here for peer in sorted(links[here]) if peer not in before and peer not in reached}
            before |= reached
            level = list(reached)
            members = [peer for peer in level if peer in self.tables]
            if members:
                way = [min(members, key=lambda member: self.path_sum(member, subscribers))]
                while before[way[-1]] != node:
                    way.append(before[way[-1]])
                return tuple(way[::-1])
        return ()

    def path_sum(self, member: int, subscribers: set[int]) -> int:
        """Sum of the paths from a member to all subscribers."""
        total, hops, level, seen = 0, 0, {member}, {member}
        while level:
            total += hops * len(level & subscribers)
            level = {peer for here in level for peer in self.tables[here]} - seen
            seen |= level
            hops += 1
        return total

    def _is_new(self, node: int, before: Mapping[int, int]) -> bool:
        return node not in self.tables and node not in before


def _sent(table: Collection[int] | None) -> int:
    """Messages to all neighbours but the one that it came from."""
    return 0 if table is None else len(table) - 1
