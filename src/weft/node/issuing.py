"""Publications of this node's clients, on their way into the network.

A publication goes on the trees of all filters that match its name: the name itself, and wildcard filters. A retained
one goes to everybody besides, on one tree, to be kept there: who subscribes gets it on the tree that those before and
behind it come on, in order. For each shared subscription that matches, one of the nodes with members is chosen
and sent to directly.

Of QoS 1 and 2 this node keeps custody (debt.py): an attempt is a diffusing computation (protocol/custody.py), and what
has failed is tried again, as another attempt.

Of QoS 1 the first attempt does not wait for the journal. Of QoS 2, from a session that is kept, it does: a client whose
node has forgotten a publication with its power says it again, under the same identifier, and it would travel under
another number, as another publication.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace

from weft.broker.deadline import Deadlines
from weft.broker.publication import Publication
from weft.broker.route import UNSURE, Lead
from weft.node import record
from weft.node.atlas import Atlas
from weft.node.carrier import DIRECT, SESSION, Carrier, Key, is_for_group, origin_of
from weft.node.debt import Debt, Debts
from weft.node.effect import MASTER
from weft.node.entry import Entries, Entry
from weft.node.figure import Figures
from weft.node.lease import Lease
from weft.node.moving import Trail
from weft.node.outbox import Outbox
from weft.node.parameters import Parameters
from weft.protocol.custody import Conclusion, Custody
from weft.wire import content
from weft.wire.content import Content, Run
from weft.wire.frame import EVERYBODY, NOBODY, FindWay, Form, Message, topic_of

TICK = 0.25  # seconds between looks at what is due
WAITING = 10_000  # publications of QoS 0 that wait for an answer of the master, of one filter
SLICE = 100  # publications that a node that is back is sent at a time
ATTEMPTS = 256  # of one publication that one run of a node has to itself
MOST_ATTEMPTS = 0xFFFF
ROOM = "window"  # the reason for which publishers wait


Trees = tuple[tuple[str, int], ...]  # filters and their topics


@dataclass(frozen=True, slots=True)
class Plan:
    """Where publications on a name go, while nothing changes."""

    trees: Trees
    groups: tuple[str, ...]  # shared filters
    owed: tuple[int, ...]  # nodes that are down and will want it
    trails: tuple[Trail, ...] = ()  # of sessions that have gone from here

    def is_wanted(self) -> bool:
        return bool(self.trees or self.groups or self.owed or self.trails)


class Issuing:
    def __init__(
        self,
        atlas: Atlas,
        carrier: Carrier,
        custody: Custody,
        debts: Debts,
        outbox: Outbox,
        deadlines: Deadlines,
        figures: Figures,
        parameters: Parameters,
        own_groups: Callable[[str], list[str]],  # shared filters with members at this node that match a name
        has_own_taker: Callable[[str, bytes, int], bool],  # whether a member at this node would get it, by name and QoS
        choose_own: Callable[[str, Publication, float], None],  # gives it to a member at this node
        reroute: Callable[[], None],  # routes of names may lead elsewhere
        numbered: Callable[[Publication], Publication],  # as another one
        keep: Callable[[record.Record], None],  # in the journal
        offer: Callable[[Publication, float], None],  # again, to sessions that have come to this node since
        trails: Callable[[str], list[Trail]],  # of sessions that have gone from here, and want a name
    ) -> None:
        self._atlas = atlas
        self._carrier = carrier
        self._custody = custody
        self._debts = debts
        self._outbox = outbox
        self._deadlines = deadlines
        self._figures = figures
        self._parameters = parameters
        self._own_groups = own_groups
        self._has_own_taker = has_own_taker
        self._choose_own = choose_own
        self._reroute = reroute
        self._numbered = numbered
        self._keep = keep
        self._offer = offer
        self._trails = trails
        self.entries = Entries(carrier.router.tables)
        self._plans: dict[bytes, Plan] = {}
        self.is_informed = False  # the master has told this node, since it started, who wants what
        self.lease = Lease(parameters.lease)
        self.is_sure = False  # the lease ran when that was last looked at
        self._returning: dict[int, None] = {}  # nodes that are back and still owed
        self._ticking = False
        self._unwritten: deque[tuple[int, Debt]] = deque()  # debts that wait for the journal, by position
        self.rates: dict[str, list[int]] = {}  # publications and bytes by name, since last asked

    # Where to

    def is_wanted(self, publication: Publication) -> bool:
        """Whether the network is to have it; while this node does not know, what it answers for waits."""
        if publication.qos and not (self.is_informed and self.is_sure):
            return True
        if not self.is_informed:
            return False
        return self.plan(publication.topic).is_wanted()

    def plan(self, name: bytes) -> Plan:
        plan = self._plans.get(name)
        if plan is None:
            if len(self._plans) >= 100_000:
                self._plans.clear()
            plan = self._plans[name] = self._made(name.decode())
        return plan

    def replan(self) -> None:
        """Tables, ways, filters or nodes have changed."""
        if self._plans:
            self._plans.clear()
            self._reroute()

    def lead(self, name: bytes) -> Lead:
        """Trees that publications go on, if that is all there is to say; none where they stay here."""
        plan = self.plan(name)
        if plan.groups or plan.owed or plan.trails or not self.is_sure:
            return UNSURE
        for filter_, topic in plan.trees:
            entry = self.entries.get(filter_)
            if topic not in self._carrier.router.tables and (entry is None or entry.is_held is None):
                return UNSURE
        return plan.trees or None

    def _made(self, name: str) -> Plan:
        groups = tuple(dict.fromkeys([*self._atlas.shared(name), *self._own_groups(name)]))
        if self._atlas.node == NOBODY:
            return Plan((), groups, ())
        filters = [name, *self._atlas.wild.match(name)]
        trees = tuple((one, topic_of(one)) for one in filters)
        wanted = tuple((one, topic) for one, topic in trees if self._leads_on(one, topic))
        return Plan(wanted, groups, tuple(self._atlas.owed(name)), tuple(self._trails(name)))

    def _leads_on(self, filter_: str, topic: int) -> bool:
        """Whether another node holds the filter, as far as this one knows."""
        table = self._carrier.router.tables.get(topic)
        if table is not None:
            return bool(table)
        entry = self.entries.get(filter_)
        if entry is None or entry.is_held is None:
            return bool(self._atlas.peers)
        return entry.is_held

    # The lease

    def look_at_lease(self, now: float) -> None:
        """Notice that the lease has ended, before anything else happens: this process may have stood still."""
        if self.is_sure and not self.lease.runs(now):
            self.is_sure = False
            self._reroute()

    def take_lease(self, token: int, now: float) -> None:
        until = self.lease.grant(token)
        if self.lease.runs(now) and self.is_informed and not self.is_sure:
            self.is_sure = True
            self._reroute()
            self._deadlines.at(now + self._parameters.doubt, self._dispel)
        self._deadlines.at(until, self.look_at_lease)

    def lose_lease(self, now: float) -> None:
        self.lease.lose()
        self.look_at_lease(now)

    def _dispel(self, now: float) -> None:
        """Issue again what was issued in doubt, as much at a time as may be under way."""
        while self.is_sure and self._debts.has_room() and (debts := self._debts.doubted(SLICE)):
            for debt in debts:
                self._attempt(debt, now)

    # Out

    def issue(
        self,
        publication: Publication,
        source: int | None,
        now: float,
        answer: Callable[[], None] | None = None,
        after: int = 0,
    ) -> None:
        """What a client of this node has published. The answer is due when all nodes that are there have it.

        It waits until the journal has been written up to a position, if one is named.
        """
        self._figures.issued += 1
        rate = self.rates.setdefault(publication.topic.decode(), [0, 0])
        rate[0] += 1
        rate[1] += len(publication.payload)
        if publication.qos:
            debt = self._debts.add(publication, now)
            if answer is not None:
                debt.answers.append(answer)
            if after:
                self._unwritten.append((after, debt))
            else:
                self._attempt(debt, now, is_new=True)
            if source is not None and self._debts.is_full():
                self._outbox.hold(source, ROOM)
        else:
            self._send_once(publication, now)

    def sync(self, position: int, now: float) -> None:
        """The journal has been written."""
        while self._unwritten and self._unwritten[0][0] <= position:
            self._attempt(self._unwritten.popleft()[1], now)

    def issue_run(self, trees: Trees, run: Run, now: float) -> None:
        """Publications of QoS 0 that go the same way."""
        self.count(run)
        publication = self._numbered(Publication(run.name, b""))
        assert publication.origin is not None
        message = Message(Form.WOVEN, 0, *publication.origin, 0, content.encode_run(run, now))
        for filter_, topic in trees:
            self._carrier.issue(_on(message, topic), self.way(filter_), now)

    def count(self, run: Run) -> None:
        self._figures.issued += run.count
        rate = self.rates.setdefault(run.name.decode(), [0, 0])
        rate[0] += run.count
        rate[1] += len(run.packets)

    def trace(self, name: str, token: int, now: float) -> None:
        message = self._message(Publication(name.encode(), b"", issued=now, origin=(*self._carrier.own, 0)), now)
        message.token = token
        for filter_, topic in self.plan(name.encode()).trees:
            self._carrier.issue(_on(message, topic), self.way(filter_), now)

    def restore(self, publication: Publication, owing: record.Owing | None, run: int, now: float) -> None:
        """What was owed when this node ended, to everybody or to some. Runs number the starts of this node."""
        debt = self._debts.add(publication, now)
        debt.due = now
        debt.attempt = debt.first = run * ATTEMPTS % MOST_ATTEMPTS
        if owing is not None:
            debt.targets, debt.left = {node for node, _ in owing.nodes}, owing.groups
            for node, ring_id in owing.nodes:
                self._atlas.places.setdefault(node, ring_id)
        self._tick(now)

    def answer(self, filter_: str, is_held: bool, way: tuple[int, ...], now: float) -> None:
        """The master's answer about an entry."""
        waiting = self.entries.learn(filter_, is_held, way)
        self.replan()
        self._go_on(filter_, waiting, now)

    def give_up(self, filter_: str, now: float) -> None:
        waiting = self.entries.give_up(filter_)
        self.replan()
        self._go_on(filter_, waiting, now)

    def ask_again(self, now: float) -> None:
        """The master is there again, and may not remember who asked what."""
        asked = self.entries.renew()
        for filter_ in asked:
            self._outbox.tell(MASTER, FindWay(filter_))
        self._deadlines.at(now + self._parameters.patience, lambda then: self._give_all_up(asked, then))

    def _give_all_up(self, filters: list[str], now: float) -> None:
        for filter_ in filters:
            self.give_up(filter_, now)

    def reissue(self, filter_: str, publication: Publication, now: float) -> None:
        """Issue it for one member of a shared subscription alone."""
        if publication.qos:
            self._attempt(self._debts.add(publication, now, filter_), now)
        else:
            self._to_group(filter_, self._message(publication, now), publication, now)

    def send_after(self, message: Message, trail: Trail) -> None:
        """A message that has come for a session which is at another node now."""
        ring_id = self._atlas.places.get(trail.given.node, trail.given.ring_id)
        self._carrier.direct(self._for_one(message, ring_id, SESSION + trail.client))

    def _go_on(self, filter_: str, waiting: list[Message], now: float) -> None:
        """It is known now how to get into a tree, or that nobody is in it who is not down at the moment."""
        leads_on = self._leads_on(filter_, topic_of(filter_))
        for message in waiting:
            key = _debt_key(message)
            if message.kept and not self._custody.is_engaged(key):
                continue  # another attempt has been made
            if leads_on:
                self._carrier.issue(message, self.way(filter_), now)
            if message.kept:
                self._custody.owe(key, self._atlas.owed(content.name_of(message.content).decode()))
                self._custody.release(key)

    def _await_way(self, filter_: str, message: Message, now: float) -> bool:
        """Let a message wait until it is known how to get into the tree, if it is not."""
        if message.topic in self._carrier.router.tables:
            return False
        entry = self.entries.get(filter_) or self._ask(filter_, now)
        if entry.is_held is not None or entry.gave_up:
            return False
        if message.kept:
            self._custody.hold(_debt_key(message))
            entry.waiting.append(message)
        elif len(entry.waiting) < WAITING:
            entry.waiting.append(message)
        else:
            self._figures.dropped += 1
        return True

    def _ask(self, filter_: str, now: float) -> Entry:
        if MASTER in self._atlas.up:
            self._outbox.tell(MASTER, FindWay(filter_))
            wait = self._parameters.patience
        else:
            wait = 0.0
        self._deadlines.at(now + wait, lambda then: self.give_up(filter_, then))
        return self.entries.ask(filter_)

    def _send_once(self, publication: Publication, now: float) -> None:
        """QoS 0."""
        plan = self.plan(publication.topic)
        message = self._message(publication, now)
        self._to_trees(plan, message, publication.retain, now)
        for group in plan.groups:
            self._to_group(group, message, publication, now)

    def _attempt(self, debt: Debt, now: float, is_new: bool = False) -> None:
        """Issue a publication, to sessions that have come to this node since as well, if it is not new."""
        publication = debt.publication
        if publication.expires is not None and publication.expires <= now:
            self._debts.settle(debt)
            return
        if debt.since + self._parameters.owed_age <= now:
            self._debts.drop(debt)
            return
        if not self.is_informed:
            debt.due = now + self._parameters.retry
            self._tick(now)
            return
        if not is_new and not debt.group:
            self._offer(publication, now)
        plan = self.plan(publication.topic)
        message = self._begin(debt, now)
        if debt.is_sound and debt.left is None:
            debt.left = plan.groups  # all that there are; later ones have subscribed behind it
        if debt.group:
            self._to_group(debt.group, message, publication, now, debt)
        elif debt.targets:
            self._to_targets(debt, message)
            self._to_groups(debt, plan, now)
        else:
            self._custody.owe(_debt_key(message), plan.owed)
            self._to_trees(plan, message, publication.retain, now)
            for trail in plan.trails:
                self.send_after(message, trail)
            self._to_groups(debt, plan, now)

    def _to_groups(self, debt: Debt, plan: Plan, now: float) -> None:
        """Each shared subscription has a debt of its own, without which the first is not settled."""
        for group in plan.groups if debt.left is None else debt.left:
            if group not in debt.groups:
                copy = self._numbered(replace(debt.publication))
                one = self._debts.add(copy, now, group)
                debt.groups[group], one.parent = one.count, debt
                self._attempt(one, now)

    def _begin(self, debt: Debt, now: float) -> Message:
        self._figures.attempts += debt.attempt > 0
        debt.attempt = debt.attempt % MOST_ATTEMPTS + 1
        debt.is_under_way, debt.due = True, now + self._parameters.attempt
        debt.is_sound, debt.is_over = self.lease.runs(now), False
        self._tick(now)
        message = self._message(debt.publication, now)
        message.kept, message.attempt, message.floor = True, debt.attempt, self._debts.floor(debt.count)
        self._custody.begin(_debt_key(message))
        return message

    def _to_targets(self, debt: Debt, message: Message) -> None:
        """Nodes that were down when everybody else got it; some may be again."""
        self._custody.owe(_debt_key(message), debt.owed)
        for node in sorted(debt.targets):
            if node in self._atlas.down or node not in self._atlas.places:
                self._custody.owe(_debt_key(message), (node,))
            else:
                self._carrier.direct(self._for_one(message, self._atlas.places[node], DIRECT))

    def _to_trees(self, plan: Plan, message: Message, retain: bool, now: float) -> None:
        if retain:
            self._carrier.issue(_on(message, EVERYBODY), None, now)
        for filter_, topic in plan.trees:
            one = _on(message, topic)
            if not self._await_way(filter_, one, now):
                self._carrier.issue(one, self.way(filter_), now)

    def _to_group(
        self, filter_: str, message: Message, publication: Publication, now: float, debt: Debt | None = None
    ) -> None:
        """One node of those with members; in later attempts the same one, if it still has any."""
        group = self._atlas.group(filter_)
        before = debt.chosen if debt is not None else None
        if before == self._atlas.node:
            return  # it has it
        chosen = group.choose(before) if group is not None else None
        if chosen is None and debt is not None and (absent := self._absent(filter_, publication)):
            self._custody.owe(_debt_key(message), absent)
            return
        part = _part_of(message, filter_, debt)
        is_own = chosen is None or chosen.node == self._atlas.node
        if is_own and not self._has_own_taker(filter_, publication.topic, publication.qos) and group is not None:
            chosen = group.next_to(self._atlas.node)
        if chosen is None or chosen.node == self._atlas.node:
            self._choose_own(filter_, replace(publication, origin=origin_of(part)), now)
        else:
            self._carrier.direct(self._for_one(part, chosen.ring_id, filter_))
        if debt is not None:
            debt.chosen = chosen.node if chosen is not None else self._atlas.node

    def _absent(self, filter_: str, publication: Publication) -> list[int]:
        """Nodes that are down and have members, where no others have."""
        if filter_ in self._own_groups(publication.topic.decode()):
            return []
        return self._atlas.absent_holders(filter_)

    def pass_round(self, message: Message) -> None:
        """A message for a shared subscription whose members here are away, and would miss it: to the next node."""
        group = self._atlas.group(message.group)
        chosen = group.next_to(self._atlas.node) if group is not None else None
        if chosen is not None:
            self._carrier.direct(self._for_one(message, chosen.ring_id, message.group))

    def pass_on(self, message: Message) -> bool:
        """A message for a shared subscription that has no member here any more: to another node."""
        group = self._atlas.group(message.group)
        chosen = group.choose(but=self._atlas.node) if group is not None else None
        if chosen is not None:
            self._carrier.direct(self._for_one(message, chosen.ring_id, message.group))
        return chosen is not None

    def _for_one(self, message: Message, ring_id: int, group: str) -> Message:
        one = _on(message, message.topic if is_for_group(message) else EVERYBODY)
        one.form, one.low, one.high = Form.RANGED, ring_id, (ring_id + 1) % self._atlas.ring_size
        one.group = group
        return one

    def way(self, filter_: str) -> tuple[int, ...] | None:
        entry = self.entries.get(filter_)
        return entry.way if entry is not None else None

    def _message(self, publication: Publication, now: float) -> Message:
        life = None if publication.expires is None else publication.expires - now
        written = content.encode(
            Content(
                publication.topic,
                publication.payload,
                publication.qos,
                publication.retain,
                publication.properties,
                life,
                publication.publisher,
                publication.issued,
            )
        )
        issuer, incarnation, count = publication.origin or (*self._carrier.own, 0)
        return Message(Form.WOVEN, 0, issuer, incarnation, count, 0, written)

    # Debts

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
        if not again and not (is_sound and self.is_sure) and not debt.targets and not debt.group:
            if not self.is_sure:
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
            self._tick(now)
        elif absent:
            self._owe(debt, absent, now)
        else:
            self._finish(debt, now)
        if self._debts.has_room():
            self._outbox.release(ROOM)
            self._pay(now)

    def _owe(self, debt: Debt, absent: set[int], now: float) -> None:
        """Nodes that are down are to have it; what it is part of waits for them too."""
        self._debts.owe(debt, absent, now)
        self._keep(self.owing(debt))
        self._finish_parent(debt, now)

    def owing(self, debt: Debt) -> record.Owing:
        """What the journal is to know of a debt to some."""
        groups = tuple(group for group, count in debt.groups.items() if self._debts.kept(count) is not None)
        nodes = sorted(debt.owed | debt.targets)
        return record.Owing(debt.count, tuple((node, self._atlas.places[node]) for node in nodes), groups)

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

    def hurry(self, now: float) -> None:
        """Tables or links have changed: what has failed may go well now."""
        for debt in self._debts.resting():
            assert debt.due is not None
            debt.due = min(debt.due, now + self._parameters.retry)

    def come_back(self, node: int, now: float) -> None:
        """A node is there again: it is sent what it is owed."""
        self._returning[node] = None
        self._pay(now)

    def _pay(self, now: float) -> None:
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
        if not self._ticking:
            self._ticking = True
            self._deadlines.at(now + TICK, self._look)

    def _look(self, now: float) -> None:
        self._ticking = False
        for debt in self._debts.due(now):
            if debt.is_under_way:
                assert debt.publication.origin is not None
                self._custody.forget((*debt.publication.origin, debt.attempt))
                debt.is_under_way = False
            self._attempt(debt, now)
        if self._debts.under_way:
            self._tick(now)


def _part_of(message: Message, filter_: str, debt: Debt | None) -> Message:
    """A message for a group, which has the count of the publication that it is part of in the place of a topic.

    Issued again by a node that was restarted it has another number, and is the same to who has got it.
    """
    part = _on(message, message.count if debt is None or debt.parent is None else debt.parent.count)
    part.group = filter_
    return part


def _debt_key(message: Message) -> Key:
    return message.issuer, message.incarnation, message.count, message.attempt


def _on(message: Message, topic: int) -> Message:
    """The same on a tree."""
    return Message(
        message.form,
        topic,
        message.issuer,
        message.incarnation,
        message.count,
        message.hops,
        message.content,
        message.kept,
        message.attempt,
        message.floor,
        token=message.token,
    )
