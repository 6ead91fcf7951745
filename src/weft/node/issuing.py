"""Publications of this node's clients, put on the trees of the network.

A publication goes on the tree of each filter that another node holds (destination.py). A retained one goes to everybody
besides, on one tree, to be kept there: who subscribes gets it on the tree that those before and behind it come on, in
order. Messages of one tree must never overtake each other: while it is not known how to get into a tree (entry.py), all
that is for it waits, in order, and goes together when the master has answered, or has not in time.

Of QoS 0 that is all. Of QoS 1 and 2 it is one attempt of several (attempt.py): its custody is held while a message of
it waits, so that it cannot end well before the message has gone.
"""

from collections.abc import Callable

from weft.broker.deadline import Deadlines
from weft.broker.publication import Origin, Publication
from weft.broker.route import SHORT
from weft.node.atlas import Atlas
from weft.node.carrier import Carrier
from weft.node.destination import Destinations, Trees
from weft.node.effect import MASTER
from weft.node.entry import Entries, Entry
from weft.node.figure import Figures
from weft.node.group import Groups
from weft.node.message import key_of, message_for, on_tree
from weft.node.outbox import Outbox
from weft.protocol.custody import Custody
from weft.wire import content
from weft.wire.content import Run
from weft.wire.frame import EVERYBODY, FindWay, ForgetWays, Form, Message, topic_of

COUNTED = 20_000  # names in a report
TOLD = 500  # filters in a frame
WAITING = 10_000  # publications of QoS 0 that wait for an answer of the master, of one filter


class Issuing:
    def __init__(
        self,
        atlas: Atlas,
        carrier: Carrier,
        custody: Custody,
        entries: Entries,
        destinations: Destinations,
        groups: Groups,
        outbox: Outbox,
        deadlines: Deadlines,
        figures: Figures,
        patience: float,  # seconds that a message waits for the master's answer
        next_origin: Callable[[], Origin],  # number of another publication
    ) -> None:
        self._atlas = atlas
        self._carrier = carrier
        self._custody = custody
        self._entries = entries
        self._destinations = destinations
        self._groups = groups
        self._outbox = outbox
        self._patiences = deadlines.timer(self._give_up)  # by filter
        self._figures = figures
        self._patience = patience
        self._next_origin = next_origin
        self.rates: dict[str, list[int]] = {}  # publications and bytes by name, since last asked

    # Out

    def issue(self, publication: Publication, now: float) -> None:
        """Issue a publication of QoS 0."""
        self.count_one(publication)
        destination = self._destinations.of(publication.topic)
        message = message_for(publication, self._carrier.own, now)
        self.put_on_trees(message, destination.trees, publication.retain, now)
        for group in destination.groups:
            self._groups.give(group, message, publication, now)

    def issue_for_group(self, filter_: str, publication: Publication, now: float) -> None:
        """Issue it for one member of a shared subscription alone."""
        self._groups.give(filter_, message_for(publication, self._carrier.own, now), publication, now)

    def issue_run(self, trees: Trees, run: Run, now: float) -> None:
        """Issue publications of QoS 0 that go on the same trees, under one number."""
        self.count(run.name, run.count, len(run.packets))
        message = Message(Form.WOVEN, 0, *self._next_origin(), 0, content.encode_run(run, now))
        for filter_, topic in trees:
            self._carrier.issue(on_tree(message, topic), self.way(filter_), now)

    def put_on_trees(self, message: Message, trees: Trees, retain: bool, now: float) -> None:
        if retain:
            self._carrier.issue(on_tree(message, EVERYBODY), None, now)
        for filter_, topic in trees:
            one = on_tree(message, topic)
            if not self._is_waiting(filter_, one, now):
                self._carrier.issue(one, self.way(filter_), now)

    def way(self, filter_: str) -> tuple[int, ...] | None:
        """Nodes over which messages get into a tree, if the master has named them."""
        entry = self._entries.get(filter_)
        return entry.way if entry is not None else None

    def count(self, name: bytes, publications: int, size: int) -> None:
        self._figures.issued += publications
        rate = self.rates.get(name.decode())
        if rate is not None:
            rate[0] += publications
            rate[1] += size
        elif len(name) <= SHORT and len(self.rates) < COUNTED:
            self.rates[name.decode()] = [publications, size]

    def count_one(self, publication: Publication) -> None:
        self.count(publication.topic, 1, len(publication.payload))

    # Messages that wait

    def learn_way(self, filter_: str, is_held: bool, way: tuple[int, ...], now: float) -> None:
        """The master's answer about an entry."""
        self._patiences.drop(filter_)
        waiting = self._entries.learn(filter_, is_held, way)
        self._destinations.forget()
        self._go_on(filter_, waiting, now)

    def ask_again(self, now: float) -> None:
        """The master is there again, and may not remember who asked what."""
        for filter_ in self._entries.renew():
            self._outbox.tell(MASTER, FindWay(filter_))
            self._patiences.at(now + self._patience, filter_)

    def _is_waiting(self, filter_: str, message: Message, now: float) -> bool:
        """Let a message wait until it is known how to get into the tree, if it is not."""
        if message.topic in self._carrier.router.tables:
            return False
        entry = self._entries.get(filter_) or self._ask(filter_, now)
        if entry.is_held is not None or entry.gave_up:
            return False
        if message.kept:
            self._custody.hold(key_of(message))
            entry.waiting.append(message)
        elif len(entry.waiting) < WAITING:
            entry.waiting.append(message)
        else:
            self._figures.dropped += 1
        return True

    def _ask(self, filter_: str, now: float) -> Entry:
        if MASTER in self._atlas.up:
            self._outbox.tell(MASTER, FindWay(filter_))
            wait = self._patience
        else:
            wait = 0.0
        self._make_room()
        self._patiences.at(now + wait, filter_)
        return self._entries.ask(filter_)

    def _make_room(self) -> None:
        """Forget old entries, and what was worked out by them."""
        dropped = self._entries.make_room()
        if not dropped:
            return
        self._destinations.forget()
        if MASTER in self._atlas.up:
            for at in range(0, len(dropped), TOLD):
                self._outbox.tell(MASTER, ForgetWays(tuple(dropped[at : at + TOLD])))

    def _give_up(self, filter_: str, now: float) -> None:
        waiting = self._entries.give_up(filter_)
        self._destinations.forget()
        self._go_on(filter_, waiting, now)

    def _go_on(self, filter_: str, waiting: list[Message], now: float) -> None:
        """Go on, now that the way into a tree is known, or that all who are in it are down at the moment."""
        is_held = self._destinations.is_held_elsewhere(filter_, topic_of(filter_))
        for message in waiting:
            key = key_of(message)
            if message.kept and not self._custody.is_engaged(key):
                continue  # another attempt has been made
            if is_held:
                self._carrier.issue(message, self.way(filter_), now)
            if message.kept:
                self._custody.owe(key, self._atlas.owed(content.name_of(message.content).decode()))
                self._custody.release(key)
