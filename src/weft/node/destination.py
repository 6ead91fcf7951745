"""Destinations: where publications on a name go in the network.

A publication goes on the trees of all filters that match its name: the name itself, and wildcard filters. For each
shared subscription that matches, one of the nodes with members gets it (group.py). Nodes that are down and will want it
are owed it, and sessions that have gone from here get it where they are.

What is found for a name is kept until something changes, and then all is forgotten, for a filter may match any name:
whoever changes tables, ways, filters or who is down must say so (`forget`), or publications go where they went before.
The broker's routes are forgotten with it (broker/route.py), as they tell whether a name leads into the network at all.

Whoever does not know yet who wants what, or may not rely on it (lease.py), says that all is wanted of QoS 1 and 2, and
leaves no name to the lane.
"""

from collections.abc import Callable
from dataclasses import dataclass

from weft.broker.publication import Publication
from weft.broker.route import SHORT, UNSURE, Lead
from weft.node.atlas import Atlas
from weft.node.carrier import Carrier
from weft.node.entry import Entries
from weft.node.lease import Reliance
from weft.node.trail import Trail
from weft.wire.frame import NOBODY, topic_of

Trees = tuple[tuple[str, int], ...]  # filters and their topics


@dataclass(frozen=True, slots=True)
class Destination:
    trees: Trees
    groups: tuple[str, ...]  # shared filters
    owed: tuple[int, ...]  # nodes that are down and will want it
    trails: tuple[Trail, ...] = ()  # of sessions that have gone from here

    def is_anywhere(self) -> bool:
        return bool(self.trees or self.groups or self.owed or self.trails)


class Destinations:
    def __init__(
        self,
        atlas: Atlas,
        carrier: Carrier,
        entries: Entries,
        reliance: Reliance,
        own_groups: Callable[[str], list[str]],  # shared filters with members at this node that match a name
        trails: Callable[[str], list[Trail]],  # of sessions that have gone from here, and want a name
        reroute: Callable[[], None],  # routes of names may lead elsewhere
        most: int,  # names whose destinations are kept
    ) -> None:
        self._atlas = atlas
        self._carrier = carrier
        self._entries = entries
        self._reliance = reliance
        self._own_groups = own_groups
        self._trails = trails
        self._reroute = reroute
        self._most = most
        self._by_name: dict[bytes, Destination] = {}

    def of(self, name: bytes) -> Destination:
        found = self._by_name.get(name)
        if found is None:
            found = self._find(name.decode())
            if len(name) <= SHORT:
                if len(self._by_name) >= self._most:
                    self._by_name.clear()
                self._by_name[name] = found
        return found

    def forget(self) -> None:
        """Tables, ways, filters or nodes have changed."""
        if self._by_name:
            self._by_name.clear()
            self._reroute()

    def is_wanted(self, publication: Publication) -> bool:
        """Whether the network is to have it; while this node does not know, what it answers for waits."""
        if publication.qos and not (self._reliance.is_informed and self._reliance.is_sure):
            return True
        if not self._reliance.is_informed:
            return False
        return self.of(publication.topic).is_anywhere()

    def lead(self, name: bytes) -> Lead:
        """Trees that publications go on, if that is all there is to say; none where they stay here."""
        found = self.of(name)
        if found.groups or found.owed or found.trails or not self._reliance.is_sure:
            return UNSURE
        for filter_, topic in found.trees:
            entry = self._entries.get(filter_)
            if topic not in self._carrier.router.tables and (entry is None or entry.is_held is None):
                return UNSURE
        return found.trees or None

    def is_held_elsewhere(self, filter_: str, topic: int) -> bool:
        """Whether another node holds the filter, as far as this one knows."""
        table = self._carrier.router.tables.get(topic)
        if table is not None:
            return bool(table)
        entry = self._entries.get(filter_)
        if entry is None or entry.is_held is None:
            return bool(self._atlas.peers)
        return entry.is_held

    def _find(self, name: str) -> Destination:
        groups = tuple(dict.fromkeys([*self._atlas.shared(name), *self._own_groups(name)]))
        if self._atlas.node == NOBODY:
            return Destination((), groups, ())
        filters = [name, *self._atlas.wild.match(name)]
        trees = tuple((one, topic_of(one)) for one in filters)
        held = tuple((one, topic) for one, topic in trees if self.is_held_elsewhere(one, topic))
        return Destination(held, groups, tuple(self._atlas.owed(name)), tuple(self._trails(name)))
