"""Publications of other nodes, as they come on links: which of this node's clients get them.

The carrier passes each message on, and says whether it is news here (carrier.py). If it is, it depends on what the
message is for (message.py) who gets it:

    all nodes          nobody; it is kept as retained, and clients get it on the trees of their filters
    a tree, or a debt  the clients that want it
    a shared filter    one member here; where none would take it, a member at another node (group.py)
    a session          that session alone, here or where it has gone since

What comes on a tree for a session that has gone from here goes after it besides (trail.py).

Custody of a message ends when what its clients got is in the journal, and the journal on the disk: so all that one read
brings is handed to the broker first, and then kept up to the position that the journal has by then. An attempt that
finds this node in doubt (lease.py), or others down that want it, says so to the issuer, who is the only one to try
again.

What comes again is not given again: only sessions that have come to this node since are offered it, for they may have
missed it where they were.
"""

from collections.abc import Callable, Iterable

from weft.broker.broker import Broker
from weft.broker.effect import ArrivedForSession, ArrivedTogether, Event
from weft.broker.publication import Publication
from weft.node.atlas import Atlas
from weft.node.carrier import Carrier
from weft.node.fetch import Fetches
from weft.node.figure import Figures
from weft.node.group import Groups
from weft.node.lease import Reliance
from weft.node.message import SESSION, Key, is_for_all, is_for_group, is_for_many, key_of, publication_of
from weft.node.trace import Traces
from weft.node.trail import Trails
from weft.protocol.custody import Custody
from weft.wire import content
from weft.wire.content import Run
from weft.wire.frame import Message


class Arrivals:
    def __init__(
        self,
        broker: Broker,
        atlas: Atlas,
        carrier: Carrier,
        custody: Custody,
        figures: Figures,
        reliance: Reliance,
        groups: Groups,
        trails: Trails,
        fetches: Fetches,
        traces: Traces,
        happen: Callable[[Event, float], None],  # an event of the broker
        retain: Callable[[Publication, float], None],
        offer: Callable[[Publication, float], None],  # again, to sessions that have come to this node since
    ) -> None:
        self._broker = broker
        self._atlas = atlas
        self._carrier = carrier
        self._custody = custody
        self._figures = figures
        self._reliance = reliance
        self._groups = groups
        self._trails = trails
        self._fetches = fetches
        self._traces = traces
        self._happen = happen
        self._retain = retain
        self._offer = offer
        self._arrived: list[Publication | Run] = []  # for the broker, when all of a read has come
        self._kept: list[tuple[Key, bytes]] = []  # in custody, with the name where it came on a tree

    def take(self, peer: int, messages: Iterable[Message], now: float) -> None:
        checked: bytes | None = None
        for message in messages:
            if message.content is not checked:  # messages that follow each other may share one
                content.check(message.content)
                checked = message.content
            is_first = self._carrier.receive(peer, message, now)
            if message.token:
                self._traces.note(peer, message, now)
                continue
            if message.kept:
                self._kept.append((key_of(message), b"" if message.group else content.name_of(message.content)))
            if is_for_all(message):
                if is_first:
                    self._retain(_publication(message, now), now)
                continue
            if message.kept and is_for_many(message):
                for trail in self._trails.matching(content.name_of(message.content).decode()):
                    self._trails.send_after(message, trail)
            if is_first:
                self._take_first(message, now)
            elif message.kept and message.attempt > 1 and is_for_many(message):
                self._offer(_publication(message, now), now)

    def hand_over(self, now: float) -> None:
        """Give what has come to the broker. What is in custody is done with when that is on the disk."""
        if self._arrived:
            arrived, self._arrived = tuple(self._arrived), []
            self._happen(ArrivedTogether(arrived), now)
        kept, self._kept = self._kept, []
        for key, name in kept:
            if self._custody.is_engaged(key):
                self._custody.keep(key, self._broker.position)
                if not self._reliance.is_sure:
                    self._custody.doubt(key)
                if name and self._atlas.down:
                    self._custody.owe(key, self._atlas.owed(name.decode()))

    def _take_first(self, message: Message, now: float) -> None:
        self._figures.arrived += content.count_of(message.content)
        if is_for_group(message):
            self._groups.take(message, now)
        elif not is_for_many(message):
            self._take_for_session(message, now)
        elif content.is_run(message.content):
            self._arrived.append(content.decode_run(message.content))
        elif content.is_retained(message.content) or self._broker.audience(content.name_of(message.content)):
            self._arrived.append(_publication(message, now))

    def _take_for_session(self, message: Message, now: float) -> None:
        client = message.group.removeprefix(SESSION)
        origin = (message.issuer, message.incarnation, message.count)
        session = self._broker.session(client)
        if session is not None:
            self._happen(ArrivedForSession(_publication(message, now), client), now)
            if not session.knows(origin) and self._fetches.missing(client) and self._carrier.is_to_pass(message, now):
                self._carrier.give_up(message)  # the subscription that it comes for is to come
        trail = self._trails.get(client) if self._trails.leads_on(client) else None
        if trail is not None and origin not in trail.had and self._carrier.is_to_pass(message, now):
            self._trails.send_after(message, trail)
        if session is None and trail is None:
            self._carrier.forget(message)  # sent to who was at this place on the ring before; its session may come yet


def _publication(message: Message, now: float) -> Publication:
    return publication_of(content.decode(message.content), (message.issuer, message.incarnation, message.count), now)
