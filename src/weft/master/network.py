"""The network as it is meant to be and as it is: the plan, the links that are up, the trees over these, and what every
node has been told of it all.

Make before break. A link that the plan wants is told to both ends, and the loom uses it when they say that it is up. A
link that the plan wants no more stays until all links that its ends wait for are up, or have had their time; then the
loom joins the trees without it, and both ends are told. A node is woven in, which is to say that it gets tables and is
part of all this for others, when its first link is up: nobody is half in.

Changes gather in here; `flush` says, in one go, what each node is to be told of them.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from weft.master.directory import Directory, Session, filter_key, filter_of, is_listed, session_value
from weft.master.parameters import Parameters
from weft.master.plan import Link, Plan, link
from weft.master.quality import Quality, Tree, quality_of
from weft.master.record import Record
from weft.master.ring import SIZE
from weft.master.roster import Member, Roster, State
from weft.master.traffic import Traffic
from weft.model.csr import Csr
from weft.model.instance import Instance
from weft.model.tree import Trees
from weft.protocol.loom import Assignment, Loom
from weft.wire import frame as w
from weft.wire.frame import EVERYBODY, topic_of
from weft.wire.mqtt.topic import is_shared


def empty_loom(fan_out: int) -> Loom:
    nothing = Csr(np.zeros(1, np.int64), np.empty(0, np.int32), 0)
    trees = Trees(0, np.zeros(1, np.int64), np.empty(0, np.int32), np.empty(0, np.int32))
    return Loom(Instance(nothing), nothing, trees, fan_out)


@dataclass
class Changes:
    """What nodes have not been told yet."""

    frames: dict[int, list[w.Frame]] = field(default_factory=dict)  # by node, in order
    late: dict[int, list[w.Frame]] = field(default_factory=dict)  # behind all others
    rewired: set[int] = field(default_factory=set)  # nodes whose peers, or whose or whose peers' places, are others
    woven_in: set[int] = field(default_factory=set)
    tables: dict[int, dict[int, frozenset[int] | None]] = field(default_factory=dict)  # topic -> node -> table
    answered: dict[int, set[int]] = field(default_factory=dict)  # node -> topics whose table it waits for
    filters: set[str] = field(default_factory=set)
    interests: dict[int, tuple[set[int], set[int]]] = field(default_factory=dict)  # node -> topics added, removed
    ways: set[str] = field(default_factory=set)  # filters whose trees or holders have changed
    links_gone: bool = False
    records: set[tuple[str, str | int]] = field(default_factory=set)  # kind and key of what is to be kept


class Network:
    def __init__(self, parameters: Parameters, cluster: str) -> None:
        self.parameters = parameters
        self.cluster = cluster
        self.version = 0
        self.roster = Roster()
        self.directory = Directory()
        self.traffic = Traffic()
        self.plan = Plan()
        self.loom = empty_loom(parameters.fan_out)
        self.links: set[Link] = set()  # that nodes are told to have
        self.made: set[Link] = set()  # of these, those that are up
        self.waiting: dict[Link, float] = {}  # those that are not, and until when others wait for them, in order
        self.peers: dict[int, set[int]] = {}  # of every node that has a place, by these links
        self.returning: set[int] = set()  # nodes that others may take to be down
        self.hold_links = False  # while a re-design is being put in place, no link is given up
        self._appeared: list[Link] = []  # up, and not known to the loom
        self._told: dict[int, set[int]] = {}  # peers
        self._given: dict[int, dict[int, frozenset[int]]] = {}  # tables
        self._listed: dict[str, w.Listed] = {}
        self._asked: dict[str, dict[int, tuple[bool, tuple[int, ...]] | None]] = {}  # filter -> node -> its way
        self._changes = Changes()

    # Who is there

    @property
    def placed(self) -> set[int]:
        """Nodes with a place on the ring."""
        return set(self.plan.fingers)

    @property
    def woven(self) -> set[int]:
        return set(self.loom.links)

    def place(self, members: Iterable[Member], now: float, fingers: Mapping[int, list[int]]) -> None:
        """Nodes join together: one change of the plan. Fingers are those that they had before the master restarted."""
        for member in members:
            self.directory.welcome(member.number)
            self.plan.join(member.number, self.directory.interests, member.ring_id)
            ring_id = self.plan.ring.id_of[member.number]
            self.keep(self.roster.change(member.number, state=State.JOINING, ring_id=ring_id))
            self.tell(member.number, w.Welcome(member.number, ring_id, SIZE, self.cluster))
        self.plan.take_up(fingers)
        self.plan.mend(self.directory.interests)
        self.rewire(now)

    def remove(self, number: int, now: float, *, expected: bool) -> None:
        """A node is gone: it left or failed. Where it is expected back, others keep what it is owed."""
        was_woven = number in self.loom.links
        if number in self.plan.fingers:
            self.plan.leave(number)
            self.plan.mend(self.directory.interests)
        for each in [each for each in self.links if number in each]:
            self._forget_link(each)
        if was_woven:
            self._assign(self.loom.fail(number))
        self._forget_told(number)
        self.peers.pop(number, None)
        for pattern, held in list(self.directory.held.get(number, {}).items()):
            self._changes.filters.add(pattern)
            self._changes.ways.add(pattern)
            if not held.persistent:
                self._changes.records.add(("filter", filter_key(number, pattern)))
                self.directory.release(number, pattern)
        if expected:
            member = self.roster.change(number, state=State.DOWN)
            self.keep(member)
            self._announce(w.Down(number, member.ring_id or 0, self.directory.owed(number)))
        else:
            self.forget(number)
        self.rewire(now)

    def refresh(self, number: int) -> None:
        """A node has come back on another connection, and may have missed what it was told."""
        self._told.pop(number, None)
        member = self.roster[number]
        self.tell(number, w.Welcome(number, member.ring_id or 0, SIZE, self.cluster))
        self._changes.rewired |= {number, *self.peers[number]}
        if number in self.loom.links:
            self._changes.woven_in.add(number)
            self._tell_who_is_down(number)

    def forget(self, number: int) -> None:
        """Nothing is owed any more to a node that is gone."""
        for client in self.directory.clients(number):
            self._changes.records.add(("session", client))
        for pattern in self.directory.held.get(number, ()):
            self._touch_filter(number, pattern)
        self.directory.forget(number)
        self.traffic.forget(number)
        member = self.roster.remove(number)
        self._changes.records |= {("node", member.name), ("fingers", number), ("cluster", "")}
        self._announce(w.Removed(number))

    # Links

    def link_made(self, node: int, peer: int) -> bool:
        """Whether it is news."""
        between = link(node, peer)
        self.waiting.pop(between, None)
        if between not in self.links or between in self.made:
            return False
        self.made.add(between)
        self._appeared.append(between)
        return True

    def link_lost(self, node: int, peer: int, now: float) -> bool:
        between = link(node, peer)
        if between not in self.made:
            return False
        self.made.discard(between)
        self.waiting.pop(between, None)
        self.waiting[between] = now + self.parameters.making
        self._cut(between)
        return True

    def rewire(self, now: float) -> None:
        """Nodes are to be told of the links that the plan wants now; others go when they can be spared."""
        wanted = self.plan.links
        for node in self.plan.fingers:
            self.peers.setdefault(node, set())
        for each in sorted(wanted - self.links):
            self.links.add(each)
            self.peers[each[0]].add(each[1])
            self.peers[each[1]].add(each[0])
            self.waiting[each] = now + self.parameters.making
            self._changes.rewired |= set(each)
        busy = {node for each, until in self.waiting.items() if until > now for node in each}
        for each in sorted(self.links - wanted):
            if not self.hold_links and not (busy & set(each)):
                self._forget_link(each)
        self._changes.records |= {("fingers", number) for number in self._changes.rewired}

    def connect(self) -> None:
        """Let the loom have the links that have come up since it was last told."""
        appeared, self._appeared = self._appeared, []
        ready = [each for each in appeared if each in self.made]
        newcomers = sorted({node for each in ready for node in each} - self.woven)
        for node in newcomers:
            self.loom.join(node, (), ())
        self._assign(self.loom.connect_all(ready))
        self._weave_in(newcomers)

    def weave_in_alone(self, number: int) -> None:
        """The first node of a network has nobody to link with."""
        self.loom.join(number, (), ())
        self._weave_in([number])

    def overdue(self, now: float) -> list[Link]:
        """Links that have had their time to come up, once each."""
        late = sorted(each for each, until in self.waiting.items() if until <= now)
        for each in late:
            del self.waiting[each]
        return late

    # Interest

    def interest(self, node: int, added: Iterable[w.Held], removed: Iterable[str]) -> None:
        more, less = self._changes.interests.setdefault(node, (set(), set()))
        for held in added:
            topic = self.directory.hold(node, held)
            self._touch_filter(node, held.filter)
            if not is_shared(held.filter):
                self._changes.answered.setdefault(node, set()).add(topic_of(held.filter))
            if topic is not None:
                more.add(topic)
                less.discard(topic)
                self._subscribe(node, topic)
        for pattern in removed:
            topic = self.directory.release(node, pattern)
            self._touch_filter(node, pattern)
            if topic is not None:
                less.add(topic)
                more.discard(topic)
                if node in self.loom.links:
                    self._assign(self.loom.unsubscribe(node, topic))

    def find_way(self, node: int, pattern: str) -> None:
        self._asked.setdefault(pattern, {})[node] = None
        self._changes.ways.add(pattern)

    # Sessions

    def own(self, node: int, owned: w.Owned) -> None:
        self.directory.sessions[owned.client] = Session(node, owned)
        self._changes.records.add(("session", owned.client))

    def end_session(self, node: int, client: str) -> None:
        session = self.directory.sessions.get(client)
        if session is not None and session.node == node:
            del self.directory.sessions[client]
            self._changes.records.add(("session", client))

    # Trees

    def adopt(self, topic: int, tables: dict[int, set[int]]) -> None:
        self._assign(self.loom.adopt(topic, tables))

    def topics(self) -> list[int]:
        """Topics that somebody who is there subscribes to, the one of all nodes apart."""
        return sorted({topic for node in self.loom.links for topic in self.directory.interests[node]})

    def rate_of(self, topic: int) -> float:
        return sum(self.traffic.topic_rate(name) for name in self.directory.names.get(topic, ()))

    def trees(self) -> Iterator[Tree]:
        topics = self.topics()
        rates = {topic: self.rate_of(topic) for topic in topics}
        equal = not any(rates.values())
        for topic in topics:
            yield Tree(self.loom.tree(topic), self.loom.subscribers(topic), 1.0 if equal else rates[topic])

    def quality(self) -> Quality:
        return quality_of(self.trees(), len(self.loom.links))

    def parted(self) -> list[str]:
        """Topics whose subscribers no links join at the moment."""
        return sorted(self.directory.name_of(topic) for topic in self.loom.parted if topic != EVERYBODY)

    # What is told

    def tell(self, node: int, frame: w.Frame) -> None:
        self._changes.frames.setdefault(node, []).append(frame)

    def keep(self, member: Member) -> None:
        self._changes.records.add(("node", member.name))
        self._changes.records.add(("cluster", ""))

    def cluster_record(self) -> Record:
        return Record("cluster", "", {"name": self.cluster, "version": self.version, "next": self.roster.next_number})

    def rename_places(self, places: dict[int, int]) -> None:
        """All nodes have other places on the ring from now on."""
        for number, ring_id in places.items():
            if number in self.roster:
                self.keep(self.roster.change(number, ring_id=ring_id))
                self._changes.rewired.add(number)
        self._changes.filters |= {pattern for pattern in self.directory.holders if is_shared(pattern)}

    def flush(self) -> tuple[dict[int, list[w.Frame]], list[Record]]:
        """What every node is to be told, in order, and what is to be kept.

        The order keeps debts right: that a node is down comes before tables without it, that it is back behind those
        with it.
        """
        changes, self._changes = self._changes, Changes()
        if changes == Changes():
            return {}, []
        self.version += 1
        told = changes.frames
        self._tell_filters(changes, told)
        self._tell_peers(changes, told)
        self._tell_tables(changes, told)
        self._tell_ways(changes, told)
        for node, frames in changes.late.items():
            told.setdefault(node, []).extend(frames)
        return told, self._records(changes)

    def _tell_filters(self, changes: Changes, told: dict[int, list[w.Frame]]) -> None:
        added, removed = [], []
        for pattern in sorted(filter(is_listed, changes.filters)):
            listed = self._listing(pattern)
            if listed is None and self._listed.pop(pattern, None) is not None:
                removed.append(pattern)
            elif listed is not None and self._listed.get(pattern) != listed:
                self._listed[pattern] = listed
                added.append(listed)
        for node in sorted(self.woven):
            if node in changes.woven_in:
                every = tuple(self._listed[pattern] for pattern in sorted(self._listed))
                told.setdefault(node, []).append(w.Filters(self.version, every, (), whole=True))
            elif added or removed:
                told.setdefault(node, []).append(w.Filters(self.version, tuple(added), tuple(removed)))

    def _listing(self, pattern: str) -> w.Listed | None:
        """A filter as all nodes are told of it; None where nobody who is there holds it."""
        holders = sorted(self.directory.holders.get(pattern, set()) & self.woven)
        if not holders:
            return None
        if not is_shared(pattern):
            return w.Listed(pattern)
        return w.Listed(
            pattern,
            tuple(w.Holder(node, self._ring_id(node), self.directory.held[node][pattern].members) for node in holders),
        )

    def _tell_peers(self, changes: Changes, told: dict[int, list[w.Frame]]) -> None:
        for node in sorted(changes.rewired & self.placed):
            before, self._told[node] = self._told.get(node, set()), set(self.peers[node])
            frames = told.setdefault(node, [])
            peers = tuple(self._peer(node, peer) for peer in sorted(self.peers[node]))
            frames.append(w.Peers(self.version, self._ring_id(node), SIZE, peers))
            frames += [
                w.NeighbourInterests(peer, tuple(sorted(self.directory.interests[peer])), (), whole=True)
                for peer in sorted(self.peers[node] - before)
            ]
        for node, (added, removed) in changes.interests.items():
            if (added or removed) and node in self.placed:
                self._tell_interest(node, tuple(sorted(added)), tuple(sorted(removed)), self.peers[node], told)

    def _tell_interest(
        self,
        node: int,
        added: tuple[int, ...],
        removed: tuple[int, ...],
        peers: set[int],
        told: dict[int, list[w.Frame]],
    ) -> None:
        for peer in sorted(peers):
            told.setdefault(peer, []).append(w.NeighbourInterests(node, added, removed))

    def _peer(self, node: int, peer: int) -> w.Peer:
        member = self.roster[peer]
        is_finger = peer in self.plan.fingers[node]
        return w.Peer(peer, member.name, member.address, self._ring_id(peer), is_finger, opens=node < peer)

    def _tell_tables(self, changes: Changes, told: dict[int, list[w.Frame]]) -> None:
        tables: dict[int, dict[int, w.Table]] = {}
        for topic, assigned in changes.tables.items():
            safe = self._is_safe(topic, assigned)
            for node, table in assigned.items():
                if node not in self.loom.links:
                    continue
                tables.setdefault(node, {})[topic] = _table(topic, table, safe)
                self._remember(node, topic, table)
        for node, topics in changes.answered.items():
            for topic in topics & self._given.get(node, {}).keys():
                tables.setdefault(node, {}).setdefault(topic, _table(topic, self._given[node][topic], True))
        for node in sorted(changes.woven_in & self.woven):
            whole = tuple(_table(topic, table, False) for topic, table in sorted(self._given.get(node, {}).items()))
            told.setdefault(node, []).append(w.Tables(self.version, whole, whole=True))
        for node in sorted((tables.keys() & self.woven) - changes.woven_in):
            some = tuple(tables[node][topic] for topic in sorted(tables[node]))
            told.setdefault(node, []).append(w.Tables(self.version, some))

    def _is_safe(self, topic: int, assigned: dict[int, frozenset[int] | None]) -> bool:
        """Whether the tree has only grown, or only shrunk, since it was last told."""
        nothing: frozenset[int] = frozenset()
        pairs = [(self._given.get(node, {}).get(topic, nothing), table or nothing) for node, table in assigned.items()]
        return all(old <= new for old, new in pairs) or all(new <= old for old, new in pairs)

    def _remember(self, node: int, topic: int, table: frozenset[int] | None) -> None:
        given = self._given.setdefault(node, {})
        if table is None:
            given.pop(topic, None)
        else:
            given[topic] = table

    def _tell_ways(self, changes: Changes, told: dict[int, list[w.Frame]]) -> None:
        names = {name for topic in changes.tables for name in self.directory.names.get(topic, ())}
        patterns = set(self._asked) if changes.links_gone else (changes.ways | names) & self._asked.keys()
        for pattern in sorted(patterns):
            for node, before in sorted(self._asked[pattern].items()):
                way = self._way(node, pattern)
                if way != before and node in self.placed:
                    self._asked[pattern][node] = way
                    told.setdefault(node, []).append(w.Way(self.version, pattern, *way))

    def _way(self, node: int, pattern: str) -> tuple[bool, tuple[int, ...]]:
        """Whether others hold a filter, and the peers on a way into its tree."""
        is_held = any(other != node and other in self.loom.links for other in self.directory.holders.get(pattern, ()))
        known = is_held and node in self.loom.links
        return is_held, self.loom.way(node, topic_of(pattern)) if known else ()

    def _records(self, changes: Changes) -> list[Record]:
        keys = changes.records | {("tree", topic) for topic in changes.tables}
        return [self._record(kind, key) for kind, key in sorted(keys, key=lambda each: (each[0], str(each[1])))]

    def _record(self, kind: str, key: str | int) -> Record:
        if isinstance(key, int):
            return Record(kind, str(key), self._value_of_number(kind, key))
        if kind == "node":
            member = self.roster.called(key)
            return Record(kind, key, None) if member is None else member.record()
        if kind == "filter":
            number, pattern = filter_of(key)
            held = self.directory.held.get(number, {}).get(pattern)
            return Record(kind, key, None if held is None else [held.members, held.persistent])
        if kind == "session":
            session = self.directory.sessions.get(key)
            return Record(kind, key, None if session is None else session_value(session))
        return self.cluster_record()

    def _value_of_number(self, kind: str, number: int) -> object:
        if kind == "fingers":
            fingers = self.plan.fingers.get(number)
            return None if fingers is None else sorted(fingers)
        tables = self.loom.tree(number)
        return {str(node): sorted(peers) for node, peers in sorted(tables.items())} or None

    # Changes

    def _subscribe(self, node: int, topic: int) -> None:
        if node in self.loom.links:
            self._assign(self.loom.subscribe(node, topic))

    def _weave_in(self, nodes: list[int]) -> None:
        for node in nodes:
            self._assign(self.loom.subscribe(node, EVERYBODY))
            for topic in sorted(self.directory.interests[node]):
                self._assign(self.loom.subscribe(node, topic))
            member = self.roster.change(node, state=State.UP)
            self.keep(member)
            self._changes.woven_in.add(node)
            self._changes.filters |= set(self.directory.held[node])
            self._changes.ways |= set(self.directory.held[node])
            if node in self.returning:
                self.returning.discard(node)
                for other in sorted(self.woven - {node}):
                    self._changes.late.setdefault(other, []).append(w.Back(node, member.ring_id or 0))
            self._tell_who_is_down(node)

    def _tell_who_is_down(self, node: int) -> None:
        for other in self.roster:
            if other.state is State.DOWN:
                self.tell(node, w.Down(other.number, other.ring_id or 0, self.directory.owed(other.number)))

    def _assign(self, assignments: Iterable[Assignment]) -> None:
        for each in assignments:
            self._changes.tables.setdefault(each.topic, {})[each.node] = each.neighbours

    def _cut(self, between: Link) -> None:
        one, other = between
        if one in self.loom.links and other in self.loom.links:
            self._assign(self.loom.disconnect(one, other))
        self._changes.links_gone = True

    def _forget_link(self, between: Link) -> None:
        self.links.discard(between)
        self.peers[between[0]].discard(between[1])
        self.peers[between[1]].discard(between[0])
        self.waiting.pop(between, None)
        if between in self.made:
            self.made.discard(between)
            self._cut(between)
        self._changes.rewired |= set(between)

    def _forget_told(self, number: int) -> None:
        for kept in (self._told, self._given, self._changes.frames, self._changes.late, self._changes.answered):
            kept.pop(number, None)
        for peers in self._told.values():
            peers.discard(number)
        for asked in self._asked.values():
            asked.pop(number, None)
        self._changes.woven_in.discard(number)

    def _touch_filter(self, node: int, pattern: str) -> None:
        self._changes.filters.add(pattern)
        self._changes.ways.add(pattern)
        self._changes.records.add(("filter", filter_key(node, pattern)))

    def _announce(self, frame: w.Frame) -> None:
        for node in sorted(self.woven):
            self.tell(node, frame)

    def _ring_id(self, node: int) -> int:
        return self.roster[node].ring_id or 0


def _table(topic: int, table: frozenset[int] | None, safe: bool) -> w.Table:
    return w.Table(topic, None if table is None else tuple(sorted(table)), safe)
