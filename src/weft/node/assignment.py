"""Assignments of the master: links, tables of trees, ways into others, and the filters of all nodes.

They come in order, and are put in place at once. What is assigned has a version, the plan's, which the node confirms
at the end of the event (Applied, node.py): a client anywhere hears that it is subscribed only when every node has, so
nothing may be put off here beyond the event that it came with. What was worked out by the tables of before is forgotten
in the same event.

A link that is not wanted any more is ended some time later (`settling`): messages are still on it, and others still
send by the tables of before.

What was retained before the tree of all nodes had its neighbours of now has not gone to them, and with QoS 0 nobody
sends it again: when others have their tables too, retained messages are compared.
"""

from collections.abc import Callable
from itertools import count

from weft.broker.deadline import Deadlines
from weft.node.absence import Absences
from weft.node.admission import Admissions
from weft.node.atlas import Atlas
from weft.node.attempt import Attempts
from weft.node.carrier import Carrier
from weft.node.directory import Directory
from weft.node.effect import MASTER, Link, Unlink
from weft.node.grafting import Grafting
from weft.node.issuing import Issuing
from weft.node.lease import Reliance
from weft.node.outbox import Outbox
from weft.node.retention import Retention
from weft.wire.frame import (
    EVERYBODY,
    Confirm,
    Filters,
    InPlace,
    LinkMade,
    NeighbourInterests,
    Peers,
    Places,
    Tables,
    Way,
)
from weft.wire.frame_field import FrameError


class Assignments:
    def __init__(
        self,
        atlas: Atlas,
        carrier: Carrier,
        outbox: Outbox,
        deadlines: Deadlines,
        grafting: Grafting,
        directory: Directory,
        reliance: Reliance,
        issuing: Issuing,
        attempts: Attempts,
        admissions: Admissions,
        absences: Absences,
        retention: Retention,
        settling: float,  # seconds until everybody has the tables of a change
        changed: Callable[[], None],  # tables, filters or links are not what they were
    ) -> None:
        self._atlas = atlas
        self._carrier = carrier
        self._outbox = outbox
        self._comparisons = deadlines.timer(lambda *_: retention.compare_with_all())  # by number
        self._numbers = count()
        self._endings = deadlines.timer(lambda peer, _: self._unlink(peer))
        self._grafting = grafting
        self._directory = directory
        self._reliance = reliance
        self._issuing = issuing
        self._attempts = attempts
        self._admissions = admissions
        self._absences = absences
        self._settling = settling
        self._changed = changed
        self._is_listed = False  # the master has named all filters since this node started
        self._is_new = False  # this node has joined, and has yet to hear of its links

    def begin(self) -> None:
        """This node has joined: all is assigned anew."""
        self._is_new = True
        self._absences.begin()

    def rewire(self, frame: Peers, now: float) -> None:
        made, ended = self._atlas.rewire(frame)
        for one in made:
            self._outbox.add(Link(one))
        for one in frame.peers if self._is_new else made:
            if one.node in self._atlas.up:  # since before it was wanted, perhaps
                self._outbox.tell(MASTER, LinkMade(one.node, 0.0))
        self._is_new = False
        for node in ended:
            self._end_link(node, now)
        self._carrier.rewire(now)
        self._apply(frame.version, now)

    def put_tables(self, frame: Tables, now: float) -> None:
        named = {one.topic for one in frame.tables}
        if frame.whole:
            for topic in [one for one in self._carrier.router.tables if one not in named]:
                self._grafting.assign(topic, None, False, now)
        for one in frame.tables:
            neighbours = None if one.neighbours is None else frozenset(one.neighbours)
            if self._atlas.node in (neighbours or ()):
                raise FrameError("This node is its own neighbour in a table.")
            if not frame.whole or self._grafting.table(one.topic) != neighbours:
                self._grafting.assign(one.topic, neighbours, one.safe, now)
                if one.topic == EVERYBODY:
                    self._comparisons.at(now + self._settling, next(self._numbers))
        if self._is_listed:
            self._reliance.is_informed = True
        if frame.whole:
            self._admissions.join(now)
            self._outbox.tell(MASTER, Confirm(self._reliance.lease.ask(now)))
        self._apply(frame.version, now)

    def put_filters(self, frame: Filters, now: float) -> None:
        self._atlas.enlist(frame)
        self._is_listed |= frame.whole
        if frame.whole:
            self._absences.complete(now)
        self._apply(frame.version, now)

    def put_way(self, frame: Way, now: float) -> None:
        """How to get into the tree of a filter."""
        self._atlas.version = max(self._atlas.version, frame.version)
        self._changed()
        self._issuing.learn_way(frame.filter, frame.is_held, frame.peers, now)

    def note_interests(self, frame: NeighbourInterests, now: float) -> None:
        self._atlas.learn(frame)

    def note_places(self, frame: Places, now: float) -> None:
        if frame.whole:
            self._atlas.places.clear()
        self._atlas.places.update(frame.places)

    def note_in_place(self, frame: InPlace, now: float) -> None:
        """Filters of this node are known to all."""
        self._directory.in_place(frame.sequence, now)
        self._grafting.settle(self._directory.unknown_topics(), now)

    def _apply(self, version: int, now: float) -> None:
        self._atlas.version = max(self._atlas.version, version)
        self._changed()
        self._attempts.hurry(now)

    def _end_link(self, node: int, now: float) -> None:
        """When what is on it has arrived, and others know as well."""
        self._endings.at(now + self._settling, node)

    def _unlink(self, node: int) -> None:
        if node not in self._atlas.peers:
            self._outbox.add(Unlink(node))
