"""The network as it is meant to be and as it is: the plan, the links that are up, the trees over these, and what every
node has been told of it all.

Make before break. A link that the plan wants is told to both ends, and the loom uses it when they say that it is up. A
link that the plan wants no more stays until all links that its ends wait for are up, or have had their time; then the
loom joins the trees without it, and both ends are told. A node is woven in, which is to say that it gets tables and is
part of all this for others, when its first link is up: nobody is half in.

What nodes must hear of all this gathers in `changes`.
"""

from collections.abc import Iterable, Mapping

import numpy as np

from weft.master.changes import Changes
from weft.master.directory import Directory, filter_key
from weft.master.gathering import Gathering
from weft.master.link import Link, link
from weft.master.parameters import Parameters
from weft.master.plan import Plan
from weft.master.quality import Judgement
from weft.master.ring import SIZE
from weft.master.roster import Member, Roster, State
from weft.master.traffic import Traffic
from weft.model.csr import Csr
from weft.model.instance import Instance
from weft.model.tree import Trees
from weft.protocol.loom import Loom, Publishers
from weft.wire import frame as w
from weft.wire.frame import EVERYBODY, topic_of
from weft.wire.mqtt.topic import is_shared

LOAD_WEIGHT = 0.25  # hops by which a tree may be longer to spare a node that sends the mean. A hop costs every receiver
# time: with a weight of 1, 16 nodes that all subscribe to one topic are 3.1 hops apart in the mean, and 2.4 with this
# one; over many topics the load is spread as evenly


def _empty_loom(fan_out: int, publishers: Publishers) -> Loom:
    nothing = Csr(np.zeros(1, np.int64), np.empty(0, np.int32), 0)
    trees = Trees(0, np.zeros(1, np.int64), np.empty(0, np.int32), np.empty(0, np.int32))
    return Loom(Instance(nothing), nothing, trees, fan_out, None, LOAD_WEIGHT, publishers)


class Network:
    def __init__(self, parameters: Parameters, cluster: str) -> None:
        self.parameters = parameters
        self.cluster = cluster
        self.version = 0
        self.roster = Roster()
        self.directory = Directory()
        self.gathering = Gathering(self.directory)
        self.traffic = Traffic()
        self.plan = Plan()
        self.loom = _empty_loom(parameters.fan_out, self._publishers)
        self.judgement = Judgement(self.loom, self.directory, self.traffic)
        self.links: set[Link] = set()  # that nodes are told to have
        self.made: set[Link] = set()  # of these, those that are up
        self.said_up: dict[int, set[int]] = {}  # node -> peers that it says it is linked with
        self.waiting: dict[Link, float] = {}  # those that are not, and until when others wait for them, in order
        self.peers: dict[int, set[int]] = {}  # of every node that has a place, by these links
        self.returning: set[int] = set()  # nodes that others may take to be down
        self.others: dict[int, tuple[str, ...]] = {}  # of nodes that are down, filters of sessions that are not kept
        self.changed_at = 0.0  # when somebody came or went
        self.old_fingers: dict[int, set[int]] = {}  # that go with the places on the ring, until these are changed
        self.hold_links = False  # while a re-design is being put in place, no link is given up
        self._fingers: dict[int, set[int]] = {}  # as they were told
        self._spare: set[Link] = set()  # as they were kept
        self._appeared: list[Link] = []  # up, and not known to the loom
        self.changes = Changes()

    # Who is there

    @property
    def placed(self) -> set[int]:
        """Nodes with a place on the ring."""
        return set(self.plan.fingers)

    @property
    def woven(self) -> set[int]:
        return set(self.loom.links)

    def place(
        self, members: Iterable[Member], now: float, fingers: Mapping[int, list[int]], spare: Iterable[Link] = ()
    ) -> None:
        """Nodes join together: one change of the plan. Links are those that they had before the master restarted."""
        self.changed_at = now
        for member in members:
            self.directory.welcome(member.number)
            self.plan.join(member.number, self.directory.interests, member.ring_id)
            ring_id = self.plan.ring.id_of[member.number]
            if member.ring_id is not None and member.ring_id != ring_id:
                self.changes.moved.add(member.number)
            self.keep(self.roster.change(member.number, state=State.JOINING, ring_id=ring_id, down_since=None))
            self.changes.tell(member.number, w.Welcome(member.number, ring_id, SIZE, self.cluster))
        self.plan.take_up(fingers, spare)
        self.plan.mend(self.directory.interests)
        self.rewire(now)

    def remove(self, number: int, now: float, *, expected: bool) -> None:
        """A node is gone: it left or failed. Where it is expected back, others keep what it is owed."""
        self.changed_at = now
        was_woven = number in self.loom.links
        if number in self.plan.fingers:
            self.plan.leave(number)
            self.plan.mend(self.directory.interests)
        for each in [each for each in self.links if number in each]:
            self._forget_link(each)
        if was_woven:
            self.changes.assign(self.loom.fail(number))
        self.said_up.pop(number, None)
        self.changes.forget(number)
        self.changes.gone.add(number)
        self.peers.pop(number, None)
        held_there = self.directory.held.get(number, {})
        others = tuple(sorted(pattern for pattern, held in held_there.items() if not held.persistent))
        for pattern, held in list(held_there.items()):
            self.changes.filters.add(pattern)
            self.changes.ways.add(pattern)
            if not held.persistent:
                self.changes.records.add(("filter", filter_key(number, pattern)))
                self.directory.release(number, pattern)
        if expected:
            member = self.roster.change(number, state=State.DOWN, down_since=now)
            self.traffic.fall_silent(number)
            self.keep(member)
            self.others[number] = others
            self.changes.records.add(("others", number))
            self._announce(self._down(member))
        else:
            self.forget(number)
        self.rewire(now)

    def refresh(self, number: int) -> None:
        """A node has come back on another connection, and may have missed what it was told."""
        self.changes.repeated.add(number)
        member = self.roster[number]
        self.changes.tell(number, w.Welcome(number, member.ring_id or 0, SIZE, self.cluster))
        self.changes.rewired |= {number, *self.peers[number]}
        if number in self.loom.links:
            self.changes.woven_in.add(number)
            self._tell_who_is_down(number)

    def forget(self, number: int) -> None:
        """Nothing is owed any more to a node that is gone."""
        for client, session in self.directory.sessions.items():
            if number in (session.node, *session.rest):
                self.changes.records.add(("session", client))
        for pattern in self.directory.held.get(number, ()):
            self._touch_filter(number, pattern)
        self.directory.forget(number)
        self.others.pop(number, None)
        self.said_up.pop(number, None)
        self.traffic.forget(number)
        member = self.roster.remove(number)
        self.changes.records |= {("node", member.name), ("fingers", number), ("others", number), ("cluster", "")}
        self._announce(w.Removed(number))

    def announce_loss(self, number: int) -> None:
        """A node is back with an empty disk: what it was to send after sessions that had left it is lost."""
        self._announce(w.Removed(number))

    # Links

    def link_made(self, node: int, peer: int) -> bool:
        """A node says that a link is up, which counts when both ends do. Whether it does from now on."""
        between = link(node, peer)
        self.said_up.setdefault(node, set()).add(peer)
        if between not in self.links or between in self.made or node not in self.said_up.get(peer, ()):
            return False
        self.waiting.pop(between, None)
        self.made.add(between)
        self._appeared.append(between)
        return True

    def link_lost(self, node: int, peer: int, now: float) -> bool:
        between = link(node, peer)
        self.said_up.get(node, set()).discard(peer)
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
            self.changes.rewired |= set(each)
        busy = {node for each, until in self.waiting.items() if until > now for node in each}
        for each in sorted(self.links - wanted):
            if not self.hold_links and not (busy & set(each)):
                self._forget_link(each)
        self._note_fingers()

    def _note_fingers(self) -> None:
        """Nodes are told, and it is kept, who owns a link, also where the link itself stays."""
        for node, fingers in self.plan.fingers.items():
            if self._fingers.get(node) != fingers:
                self._fingers[node] = set(fingers)
                self.changes.rewired.add(node)
                self.changes.records.add(("fingers", node))
        for node in self._fingers.keys() - self.plan.fingers.keys():
            del self._fingers[node]
            self.changes.records.add(("fingers", node))
        if self._spare != self.plan.spare:
            self._spare = set(self.plan.spare)
            self.changes.records.add(("spare", ""))

    def connect(self) -> None:
        """Let the loom have the links that have come up since it was last told."""
        appeared, self._appeared = self._appeared, []
        ready = [each for each in appeared if each in self.made]
        newcomers = sorted({node for each in ready for node in each} - self.woven)
        for node in newcomers:
            self.loom.join(node, (), ())
        self.changes.assign(self.loom.connect_all(ready))
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
        more, less = self.changes.interests.setdefault(node, (set(), set()))
        for held in added:
            topic = self.directory.hold(node, held)
            self._touch_filter(node, held.filter)
            if not is_shared(held.filter):
                self.changes.answered.setdefault(node, set()).add(topic_of(held.filter))
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
                    self.changes.assign(self.loom.unsubscribe(node, topic))

    # Sessions

    def own(self, node: int, owned: w.Owned) -> None:
        """Note what a node says that a session is like, unless another has claimed it since."""
        if self.directory.own(node, owned):
            self.changes.records.add(("session", owned.client))

    def claim(self, node: int, client: str, is_in: bool) -> tuple[int, ...]:
        self.changes.records |= {("session", client), ("cluster", "")}
        return self.directory.claim(node, client, is_in)

    def gather(self, node: int, client: str, other: int) -> None:
        self.changes.records.add(("session", client))
        self.directory.gather(node, client, other)

    def lose_session(self, client: str) -> None:
        """Forget the owner, which does not have the session any more."""
        self.directory.lose(client)
        self.changes.records.add(("session", client))

    def end_session(self, client: str) -> None:
        if client in self.directory.sessions:
            del self.directory.sessions[client]
        self.changes.records.add(("session", client))

    # Trees

    def adopt(self, topic: int, tables: dict[int, set[int]]) -> None:
        self.changes.assign(self.loom.adopt(topic, tables))

    def _publishers(self, topic: int) -> Mapping[int, float]:
        """Nodes whose clients publish on a topic's name, as far as that has been measured, and how often."""
        found: dict[int, float] = {}
        for name in self.directory.names.get(topic, ()):
            found |= self.traffic.publishers.get(name, {})
        return found

    @property
    def is_parted(self) -> bool:
        """Whether the links that are up do not join all nodes."""
        return EVERYBODY in self.loom.parted

    def parted(self) -> list[str]:
        """Topics whose subscribers no links join at the moment."""
        return sorted(self.directory.name_of(topic) for topic in self.loom.parted if topic != EVERYBODY)

    # What is told

    def keep(self, member: Member) -> None:
        self.changes.records.add(("node", member.name))
        self.changes.records.add(("cluster", ""))

    def rename_places(self, places: dict[int, int]) -> None:
        """All nodes have other places on the ring from now on."""
        for number, ring_id in places.items():
            if number in self.roster:
                self.keep(self.roster.change(number, ring_id=ring_id))
                self.changes.rewired.add(number)
        self.changes.moved |= places.keys()
        self.changes.filters |= {pattern for pattern in self.directory.holders if is_shared(pattern)}

    # Changes

    def _subscribe(self, node: int, topic: int) -> None:
        if node in self.loom.links:
            self.changes.assign(self.loom.subscribe(node, topic))

    def _weave_in(self, nodes: list[int]) -> None:
        for node in nodes:
            self.changes.assign(self.loom.subscribe(node, EVERYBODY))
            for topic in sorted(self.directory.interests[node]):
                self.changes.assign(self.loom.subscribe(node, topic))
            member = self.roster.change(node, state=State.UP)
            self.keep(member)
            if self.others.pop(node, None) is not None:
                self.changes.records.add(("others", node))
            self.changes.woven_in.add(node)
            self.changes.filters |= set(self.directory.held[node])
            self.changes.ways |= set(self.directory.held[node])
            if node in self.returning:
                self.returning.discard(node)
                for other in sorted(self.woven - {node}):
                    self.changes.tell_late(other, w.Back(node, member.ring_id or 0))
            self._tell_who_is_down(node)

    def _tell_who_is_down(self, node: int) -> None:
        for other in self.roster:
            is_known = other.state is State.UP or other.number in self.returning  # since before a restart
            if other.state is State.DOWN or (is_known and other.number not in self.loom.links):
                self.changes.tell(node, self._down(other))

    def _down(self, member: Member) -> w.Down:
        owed = self.directory.owed(member.number)
        held = self.directory.held.get(member.number, ())
        others = self.others.get(member.number) or tuple(sorted(set(held) - set(owed)))
        return w.Down(member.number, member.ring_id or 0, owed, others)

    def _cut(self, between: Link) -> None:
        one, other = between
        if one in self.loom.links and other in self.loom.links:
            self.changes.assign(self.loom.disconnect(one, other))
        self.changes.links_gone = True

    def _forget_link(self, between: Link) -> None:
        self.links.discard(between)
        self.peers[between[0]].discard(between[1])
        self.peers[between[1]].discard(between[0])
        self.waiting.pop(between, None)
        if between in self.made:
            self.made.discard(between)
            self._cut(between)
        self.changes.rewired |= set(between)

    def _touch_filter(self, node: int, pattern: str) -> None:
        self.changes.filters.add(pattern)
        self.changes.ways.add(pattern)
        self.changes.records.add(("filter", filter_key(node, pattern)))

    def _announce(self, frame: w.Frame) -> None:
        for node in sorted(self.woven):
            self.changes.tell(node, frame)
