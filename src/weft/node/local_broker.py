"""This node's broker within the network: events for it, and what each of its effects means for others.

The broker knows nothing of other nodes. What its effects say of publications is issued, what they say of filters and
sessions the master is told (directory.py), and the rest goes to the driver as it is. Effects are carried out at once
and in the order in which they come, for what a client is sent must stay behind what its packets led to. No other part
may hand the broker an event: its effects would be lost.

Two answers wait for the network, and with each all that the client is sent behind it (Gate):

    SUBACK            until the filter is in place at all nodes, or this node goes on alone without the master
    PUBACK, PUBREC    with acknowledge = tree, until all nodes that are there have the publication

Nothing else may hold an answer back: a client that does not hear in time says the same again.
"""

from collections.abc import Callable, Iterable

from weft.broker import effect as e
from weft.broker.broker import Broker
from weft.broker.publication import Publication
from weft.broker.recovery import Recovery
from weft.node import record
from weft.node.admission import Admissions
from weft.node.atlas import Atlas
from weft.node.attempt import Attempts
from weft.node.debt import Debts
from weft.node.destination import Destinations
from weft.node.directory import Directory
from weft.node.effect import MASTER
from weft.node.fetch import Fetches
from weft.node.grafting import Grafting
from weft.node.issuing import Issuing
from weft.node.moving import Moving
from weft.node.outbox import Gate, Outbox
from weft.node.seen import ORIGIN, Seen
from weft.wire.frame import topic_of
from weft.wire.mqtt.topic import is_shared


class LocalBroker:
    def __init__(
        self,
        broker: Broker,
        atlas: Atlas,
        seen: Seen,
        outbox: Outbox,
        directory: Directory,
        destinations: Destinations,
        issuing: Issuing,
        attempts: Attempts,
        admissions: Admissions,
        fetches: Fetches,
        moving: Moving,
        grafting: Grafting,
        debts: Debts,
        durable: bool,  # there is a journal
        waits_for_tree: bool,  # acknowledge = tree
    ) -> None:
        self._broker = broker
        self._atlas = atlas
        self._seen = seen
        self._outbox = outbox
        self._directory = directory
        self._destinations = destinations
        self._issuing = issuing
        self._attempts = attempts
        self._admissions = admissions
        self._fetches = fetches
        self._moving = moving
        self._grafting = grafting
        self._debts = debts
        self._durable = durable
        self._waits_for_tree = waits_for_tree
        self.source: int | None = None  # the connection that is heard with the node's event
        self._asking: set[int] = set()  # connections that have asked for what others do not know yet

    def handle(self, event: e.Event, now: float) -> None:
        self._carry_out(self._broker.handle(event, now), now)

    def on_timer(self, now: float) -> None:
        due = self._broker.next_deadline()
        if due is not None and due <= now:
            effects = self._broker.on_timer(now)
            self.source = self._broker.source
            self._carry_out(effects, now)

    def restore(self, recovery: Recovery, now: float) -> None:
        self._carry_out(self._broker.restore(recovery, now), now)

    def retain(self, publication: Publication, now: float) -> None:
        """Take over what another node has retained."""
        self._carry_out(self._broker.retain(publication), now)

    def keep(self, kept: record.Record) -> None:
        """Write a record of the node's into the journal, which is the broker's."""
        for effect in self._broker.append(record.encode(kept)):
            self._outbox.add(effect)

    def _carry_out(self, effects: Iterable[e.Effect], now: float) -> None:
        answered: set[int] = set()  # connections whose next bytes are an answer that waits
        for effect in effects:
            kind = type(effect)
            if kind is e.Send or kind is e.Close:
                if effect.connection in answered:  # type: ignore[attr-defined]
                    self._await_network(effect.connection, now)  # type: ignore[attr-defined]
                    answered.discard(effect.connection)  # type: ignore[attr-defined]
                self._outbox.send(effect)  # type: ignore[arg-type]
            elif kind is e.Accepted:
                self._issue(effect.publication, now)  # type: ignore[attr-defined]
            elif kind is e.AcceptedRun:
                self._issuing.issue_run(effect.lead, effect.run, now)  # type: ignore[attr-defined]
            elif kind is e.FilterHeld:
                self._note_filter(effect, now)  # type: ignore[arg-type]
            elif kind is e.SessionSubscribed:
                self._note_subscription(effect)  # type: ignore[arg-type]
            elif kind is e.FilterAsked:
                self._note_asked(effect)  # type: ignore[arg-type]
            elif kind is e.Granted and effect.connection in self._asking:  # type: ignore[attr-defined]
                self._asking.discard(effect.connection)  # type: ignore[attr-defined]
                answered.add(effect.connection)  # type: ignore[attr-defined]
            else:
                self._carry_out_rare(effect, now)

    def drop(self, connection: int) -> None:
        """The connection is gone."""
        self._asking.discard(connection)
        self._outbox.drop(connection)

    def weigh(self, now: float) -> None:
        """Tell the broker of clients for which too much waits for the network."""
        filled, emptied = self._outbox.congestion()
        for connection in filled:
            self.handle(e.Congested(connection, e.NETWORK), now)
        for connection in emptied:
            self.handle(e.Drained(connection, e.NETWORK), now)

    def _carry_out_rare(self, effect: e.Effect, now: float) -> None:
        match effect:
            case e.Granted():
                pass
            case e.Unsay():
                self._outbox.unsay(effect)
            case e.Connecting(connection, client, clean):
                self._admissions.connect(connection, client, clean, now)
            case e.SessionHere(client):
                self._directory.note_session(client, self._broker.session(client))
                self._moving.doubt_session(client)
            case e.SessionGone(client):
                self._end_session(client)
            case e.Repeated(connection, client):
                self._await_tree_again(connection, client)
            case e.Declined(publication, filter_):
                self._issue_for_group(filter_, publication, now)
            case _:
                self._outbox.add(effect)

    def _end_session(self, client: str) -> None:
        """End a session with its claim, unless its client has begun another in its place: that has the same claim."""
        self._fetches.end_session(client)
        is_claimed, next_one = client in self._directory.claims, self._broker.session(client)
        self._directory.note_session(client, next_one)
        if is_claimed:  # the journal has ended it; or not, where the session was not kept
            self.keep(record.Claimed(client, self._directory.claims.get(client, 0)))
        if next_one is None:
            self._admissions.withdraw(client)

    # Filters

    def _note_subscription(self, effect: e.SessionSubscribed) -> None:
        self._directory.note_subscription(effect)
        if self.source is not None:  # its client's doing, and not what came with a session
            self._admissions.note_subscription(effect.client, effect.filter, effect.subscription is not None)

    def _note_asked(self, effect: e.FilterAsked) -> None:
        if effect.kept or self._directory.is_unknown(effect.filter):
            self._asking.add(effect.connection)

    def _note_filter(self, effect: e.FilterHeld, now: float) -> None:
        self._directory.note_filter(effect)
        if self._directory.is_leaving(effect.filter):
            return
        if MASTER not in self._atlas.up and not is_shared(effect.filter):
            self._graft(effect, now)
        self._destinations.forget()

    def _graft(self, effect: e.FilterHeld, now: float) -> None:
        """Get into the tree of a filter that is new here without the master, or out of it."""
        if not effect.members:
            self._grafting.release(topic_of(effect.filter), now)
        elif self._directory.is_unknown(effect.filter):
            self._grafting.seek(topic_of(effect.filter), now)

    def _await_network(self, connection: int, now: float) -> None:
        """The answer to SUBSCRIBE waits until what was subscribed to is in place."""
        gate = self._outbox.shut(connection)
        self._directory.wait(lambda _, alone: self._open_gate(connection, gate, alone), now)

    def _open_gate(self, connection: int, gate: Gate, alone: bool) -> None:
        if alone:
            self._outbox.add(e.Note("subscribed_alone", connection))
        self._outbox.open(connection, gate)

    # Publications

    def _issue(self, publication: Publication, now: float) -> None:
        assert publication.origin is not None
        self._seen.is_first(ORIGIN.pack(*publication.origin), now)
        if publication.qos:
            answer, after = self._answer_to(publication), self._position_of(publication)
            self._attempts.issue(publication, self.source, now, answer, after)
        else:
            self._issuing.issue(publication, now)

    def _issue_for_group(self, filter_: str, publication: Publication, now: float) -> None:
        """Let another member of a shared subscription have what one has declined."""
        if publication.qos:
            self._attempts.issue_for_group(filter_, publication, now)
        else:
            self._issuing.issue_for_group(filter_, publication, now)

    def _position_of(self, publication: Publication) -> int:
        """What of the journal must be written before it goes to others, which may not get it under another number."""
        session = self._broker.session(publication.publisher)
        waits = self._durable and publication.qos == 2 and session is not None and session.persistent
        return self._broker.position if waits else 0

    def _answer_to(self, publication: Publication) -> Callable[[], None] | None:
        """What lets the acknowledgement go; None where it does not wait for the tree."""
        session = self._broker.session(publication.publisher)
        if not self._waits_for_tree or session is None or session.connection is None:
            return None
        return self._shut(session.connection.number)

    def _await_tree_again(self, connection: int, client: str) -> None:
        """A client has said again what this node has: the answer waits as the first one did."""
        for debt in self._debts.unsettled(client) if self._waits_for_tree else []:
            debt.answers.append(self._shut(connection))

    def _shut(self, connection: int) -> Callable[[], None]:
        """Keep what a client is sent from now on until it is let go."""
        gate = self._outbox.shut(connection)
        return lambda: self._outbox.open(connection, gate)
