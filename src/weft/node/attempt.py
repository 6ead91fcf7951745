"""Attempts: own publications of QoS 1 and 2, issued until everybody has them.

An attempt is a diffusing computation (protocol/custody.py), which ends when all who were sent the publication have it
on their disks, or one says that it has failed. What follows (`conclude`):

    well, with a lease    settled
    well, without         in doubt, and tried again when there is a lease (lease.py)
    well, but some down   owed to these, and sent to them alone when they are back (targets)
    failed                tried again, as another attempt, later each time

Others tell attempts apart by number, and must never take a new one for one that they have passed on: each start of this
node numbers its attempts from a place of its own. An attempt of which nothing is heard is given up for the next.

Each shared subscription that matches gets a debt of its own, for one member anywhere; the publication is settled when
these are.

Of QoS 1 the first attempt does not wait for the journal. Of QoS 2, from a session that is kept, it does: a client whose
node has forgotten a publication with its power says it again, under the same identifier, and it would travel under
another number, as another publication.

Where an attempt does not end well in its time, somebody does not answer: publishers wait for that publication no
longer, and it is tried again, with others of that kind a few at a time, within the bounds of what is owed.

Publishers wait while too much is under way, and so does what nodes that are back are owed: never more is begun than
there is room for, or a node that comes back could fill this one's memory.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import replace

from weft.broker.deadline import ONLY, Deadlines
from weft.broker.hold import Holds
from weft.broker.publication import Publication
from weft.node import record
from weft.node.atlas import Atlas
from weft.node.carrier import Carrier
from weft.node.debt import Debt, Debts
from weft.node.destination import Destination, Destinations
from weft.node.figure import Figures
from weft.node.group import Groups
from weft.node.issuing import Issuing
from weft.node.lease import Reliance
from weft.node.message import DIRECT, key_of, message_for
from weft.node.parameters import Parameters
from weft.node.trail import Trail
from weft.protocol.custody import Conclusion, Custody
from weft.wire.frame import Message

TICK = 0.25  # seconds between looks at what is due
SLICE = 100  # publications that are begun at a time, of those that a node is owed
LATE = 100  # attempts under way at a time of what is late
ATTEMPTS = 256  # of one publication that one run of a node has to itself
MOST_ATTEMPTS = 0xFFFF
ROOM = "window"  # the reason for which publishers wait


class Attempts:
    def __init__(
        self,
        atlas: Atlas,
        carrier: Carrier,
        custody: Custody,
        debts: Debts,
        destinations: Destinations,
        reliance: Reliance,
        issuing: Issuing,
        groups: Groups,
        holds: Holds,
        deadlines: Deadlines,
        figures: Figures,
        parameters: Parameters,
        numbered: Callable[[Publication], Publication],  # as another one
        keep: Callable[[record.Record], None],  # in the journal
        offer: Callable[[Publication, float], None],  # again, to sessions that have come to this node since
        send_after: Callable[[Message, Trail], None],  # to a session that has gone from here
    ) -> None:
        self._atlas = atlas
        self._carrier = carrier
        self._custody = custody
        self._debts = debts
        self._destinations = destinations
        self._reliance = reliance
        self._issuing = issuing
        self._groups = groups
        self._holds = holds
        self._ticks = deadlines.timer(lambda _, now: self._look(now))
        self._figures = figures
        self._parameters = parameters
        self._numbered = numbered
        self._keep = keep
        self._offer = offer
        self._send_after = send_after
        self._unwritten: deque[tuple[int, Debt]] = deque()  # debts that wait for the journal, by position
        self._returning: dict[int, None] = {}  # nodes that are back and still owed

    # Publications

    def issue(
        self,
        publication: Publication,
        source: int | None,
        now: float,
        answer: Callable[[], None] | None = None,
        after: int = 0,
    ) -> None:
        """Issue what a client has published. The answer is due when all nodes that are there have it.

        It waits until the journal has been written up to a position, if one is named.
        """
        self._issuing.count_one(publication)
        debt = self._debts.add(publication, now)
        if answer is not None:
            debt.answers.append(answer)
        if after:
            self._unwritten.append((after, debt))
        else:
            self._attempt(debt, now, is_new=True)
        if source is not None and self._debts.is_full():
            self._holds.hold(source, ROOM)

    def issue_for_group(self, filter_: str, publication: Publication, now: float) -> None:
        """Issue it for one member of a shared subscription alone."""
        self._attempt(self._debts.add(publication, now, filter_), now)

    def restore(self, publication: Publication, group: str, owing: record.Owing | None, run: int, now: float) -> None:
        """What was owed when this node ended, to everybody or to some. Runs number the starts of this node."""
        debt = self._debts.add(publication, now, group)
        debt.due = now
        debt.attempt = debt.first = run * ATTEMPTS % MOST_ATTEMPTS
        if owing is not None:
            debt.targets, debt.left = set(owing.nodes), owing.groups
        self._tick(now)

    def owing(self, debt: Debt) -> record.Owing:
        """What the journal is to know of a debt to some.

        Not where these are: the master says it to a node that starts, and nobody knows it of one that is gone for good,
        or is back after that and has no place yet.
        """
        groups = tuple(group for group, count in debt.groups.items() if self._debts.kept(count) is not None)
        return record.Owing(debt.count, tuple(sorted(debt.owed | debt.targets)), groups)

    # When to try

    def sync(self, position: int, now: float) -> None:
        """The journal has been written."""
        while self._unwritten and self._unwritten[0][0] <= position:
            self._attempt(self._unwritten.popleft()[1], now)

    def hurry(self, now: float) -> None:
        """Tables or links have changed: what has failed may go well now."""
        for debt in self._debts.resting():
            assert debt.due is not None
            debt.due = min(debt.due, now + self._parameters.retry)

    def pay(self, node: int, now: float) -> None:
        """A node is there again: it is sent what it is owed."""
        self._returning[node] = None
        self._pay_all(now)

    def dispel(self, now: float) -> None:
        """Issue again what was issued in doubt, as much at a time as may be under way."""
        while self._reliance.is_sure and self._debts.has_room() and (debts := self._debts.doubted(SLICE)):
            for debt in debts:
                self._attempt(debt, now)

    def _pay_all(self, now: float) -> None:
        """Send as much at a time as may be under way."""
        for node in list(self._returning):
            while self._debts.has_room():
                debts = self._debts.reopen(node, SLICE)
                for debt in debts:
                    self._attempt(debt, now)
                if not debts:
                    self._returning.pop(node, None)
                    break

    def _tick(self, now: float) -> None:
        if ONLY not in self._ticks:
            self._ticks.at(now + TICK)

    def _look(self, now: float) -> None:
        due = self._debts.due(now)
        for debt in due:
            if debt.is_under_way:
                assert debt.publication.origin is not None
                self._custody.forget((*debt.publication.origin, debt.attempt))
                debt.is_under_way = False
                self._delay(debt, now)
        room = LATE - self._debts.late_under_way()
        for debt in due:
            if debt.is_late and room <= 0:
                debt.due = now + self._parameters.retry
            elif self._debts.get(debt.count) is debt:
                room -= debt.is_late
                self._attempt(debt, now)
        self._go_on(now)
        if self._debts.under_way:
            self._tick(now)

    def _delay(self, debt: Debt, now: float) -> None:
        """Let publishers wait no longer for what has had its time, nor for what it is part of."""
        for one in (debt, debt.parent):
            if one is not None and one.since + self._parameters.attempt <= now:
                self._debts.delay(one)
        while (oldest := self._debts.excess()) is not None:
            self._debts.drop(oldest)
            self._finish_parent(oldest, now)

    def _go_on(self, now: float) -> None:
        """Let in again who has waited, if there is room."""
        if self._debts.has_room():
            self._holds.release(ROOM)
            self._pay_all(now)

    # An attempt

    def _attempt(self, debt: Debt, now: float, is_new: bool = False) -> None:
        """Issue a publication, to sessions that have come to this node since as well, if it is not new."""
        publication = debt.publication
        if publication.expires is not None and publication.expires <= now:
            self._debts.settle(debt)
            self._finish_parent(debt, now)
            return
        if debt.since + self._parameters.owed_age <= now:
            self._debts.drop(debt)
            self._finish_parent(debt, now)
            return
        if not self._reliance.is_informed:
            debt.due = now + self._parameters.retry
            self._tick(now)
            return
        if not (is_new or debt.group or debt.targets):
            self._offer(publication, now)
        destination = self._destinations.of(publication.topic)
        if not debt.targets <= self._atlas.places.keys():  # of one that is gone for good a session may be anywhere
            debt.owed, debt.targets = (debt.owed | debt.targets) & self._atlas.down.keys(), set()
        message = self._begin(debt, now)
        if debt.is_sound and debt.left is None:
            debt.left = destination.groups  # all that there are; later ones have subscribed behind it
        if debt.group:
            self._groups.give(debt.group, message, publication, now, debt)
        elif debt.targets:
            self._to_targets(debt, message)
            self._to_groups(debt, destination, now)
        else:
            self._custody.owe(key_of(message), debt.owed.union(destination.owed))
            debt.owed = set()
            self._issuing.put_on_trees(message, destination.trees, publication.retain, now)
            for trail in destination.trails:
                self._send_after(message, trail)
            self._to_groups(debt, destination, now)

    def _begin(self, debt: Debt, now: float) -> Message:
        self._figures.attempts += debt.attempt > 0
        debt.attempt = debt.attempt % MOST_ATTEMPTS + 1
        debt.is_under_way, debt.due = True, now + self._parameters.attempt
        debt.is_sound, debt.is_over = self._reliance.lease.runs(now), False
        self._tick(now)
        message = message_for(debt.publication, self._carrier.own, now)
        message.kept, message.attempt, message.floor = True, debt.attempt, self._debts.floor(debt.count)
        self._custody.begin(key_of(message))
        return message

    def _to_groups(self, debt: Debt, destination: Destination, now: float) -> None:
        """Each shared subscription has a debt of its own, without which the first is not settled."""
        for group in destination.groups if debt.left is None else debt.left:
            if group not in debt.groups:
                copy = self._numbered(replace(debt.publication))
                one = self._debts.add(copy, now, group)
                debt.groups[group], one.parent = one.count, debt
                self._attempt(one, now)

    def _to_targets(self, debt: Debt, message: Message) -> None:
        """Nodes that were down when everybody else got it; some may be again."""
        self._custody.owe(key_of(message), debt.owed)
        for node in sorted(debt.targets):
            if node in self._atlas.down:
                self._custody.owe(key_of(message), (node,))
            else:
                self._carrier.send_to(self._atlas.places[node], message, f"{DIRECT}{node}")

    # Its end

    def conclude(self, conclusion: Conclusion, now: float) -> None:
        """An attempt is over."""
        count, attempt = conclusion.key[2], conclusion.key[3]  # type: ignore[index]
        debt = self._debts.get(count)
        if debt is None or debt.attempt != attempt:
            return
        debt.is_under_way = False
        owed = set(conclusion.owed)
        if not debt.targets and not debt.group:  # some may have gone meanwhile
            owed.update(self._atlas.owed(debt.publication.topic.decode()))
        absent = {node for node in owed if node in self._atlas.down}
        again = conclusion.failed or absent != owed
        is_sound = debt.is_sound and not conclusion.unsure
        if not again and not (is_sound and self._reliance.is_sure) and not debt.targets and not debt.group:
            if not self._reliance.is_sure:
                self._debts.doubt(debt, now)
                return
            again = True
        if debt.targets:
            left = debt.targets - absent if conclusion.failed else set()
            debt.owed, debt.targets = absent, left | (owed - absent)
            again = bool(debt.targets)
        if again:
            wait = self._parameters.retry * 2 ** max(0, min(debt.attempt - debt.first - 1, 10))
            debt.due = now + min(wait, self._parameters.most_retry)
            self._delay(debt, now)
            self._tick(now)
        elif absent:
            self._owe(debt, absent, now)
        else:
            self._finish(debt, now)
        self._go_on(now)

    def _owe(self, debt: Debt, absent: set[int], now: float) -> None:
        """Nodes that are down are to have it; what it is part of waits for them too."""
        self._debts.owe(debt, absent, now)
        if not debt.group:  # one member is enough, wherever it is by the next start
            self._keep(self.owing(debt))
        self._finish_parent(debt, now)

    def _finish(self, debt: Debt, now: float) -> None:
        """All have it; but for its groups perhaps."""
        debt.is_over, debt.due = True, None
        parts = [part for count in debt.groups.values() if (part := self._debts.kept(count)) is not None]
        if any(not part.owed for part in parts):
            return
        if parts:
            self._owe(debt, {node for part in parts for node in part.owed}, now)
            return
        self._figures.settled += 1
        self._debts.settle(debt)
        self._finish_parent(debt, now)

    def _finish_parent(self, debt: Debt, now: float) -> None:
        parent = debt.parent
        if parent is None:
            return
        if parent.owed and self._debts.kept(parent.count) is parent:
            self._keep(self.owing(parent))
        elif parent.is_over and self._debts.get(parent.count) is parent:
            self._finish(parent, now)
