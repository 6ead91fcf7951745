"""A publication to everybody at this node who gets it.

Of what is owed to persistent sessions the journal has one record for all of them, before anything of it is sent.
"""

from collections.abc import Callable, Collection
from dataclasses import replace
from math import inf

from weft.broker.effect import Accepted, Declined
from weft.broker.issuer import Issuer
from weft.broker.outbound import Outbound
from weft.broker.outbox import Outbox
from weft.broker.publication import Delivery, Publication
from weft.broker.record import Queued, ReceiptNoted, any_member, receiver
from weft.broker.retained import RetainedMessages
from weft.broker.route import Route
from weft.broker.session import Session
from weft.broker.shared import Group
from weft.broker.subscription import Subscription, Target
from weft.broker.subscriptions import Subscriptions
from weft.wire.mqtt.topic import split_shared

Owed = list[tuple[Session, Delivery]]


class Distribution:
    def __init__(
        self,
        outbox: Outbox,
        outbound: Outbound,
        subscriptions: Subscriptions,
        retained: RetainedMessages,
        issuer: Issuer | None,
        number: Callable[[], int],
    ) -> None:
        self._outbox = outbox
        self._outbound = outbound
        self._routes = subscriptions.routes
        self._index = subscriptions.index
        self._retained = retained
        self._issuer = issuer  # in a network
        self._number = number  # of the next publication that the journal keeps

    def accept(self, publication: Publication, now: float, receipt: int = 0) -> bool:
        """What a client of this node has published. Whether anybody here gets it.

        A receipt is the packet identifier that the journal must know together with the publication.
        """
        if self._issuer is not None:
            groups = bool(self._routes.route(publication.topic).groups)
            before = self._retained.latest(publication.topic) if publication.retain else None
            self._issuer.sign(publication, now, groups, before)
        if publication.retain:
            self._retained.publish(publication)
        matched = self.deliver(publication, now, receipt)
        if publication.origin is not None:
            self._outbox.add(Accepted(publication))
        return matched or publication.origin is not None

    def arrive(self, publication: Publication, now: float) -> None:
        """What a client of another node has published."""
        if publication.retain:
            self._retained.publish(publication)
        self.deliver(publication, now)

    def deliver(self, publication: Publication, now: float, receipt: int = 0) -> bool:
        route = self._routes.route(publication.topic)
        owed: Owed = []
        for target in route.targets:
            self._to_target(target, publication, owed, now)
        if self._issuer is None:
            for group in route.groups:
                self.to_group(group, publication, owed, now)
        self._commit(publication, owed, now, receipt, self._is_own(publication))
        return _has_receivers(route)

    def to_member(self, filter_: str, publication: Publication, now: float) -> None:
        """Give it to one member of a shared subscription at this node; in a network only."""
        route = self._routes.route(publication.topic)
        found = [group for group in route.groups if group.whole == filter_]
        if not found or any(session.knows(publication.origin) for session in found[0].members):
            return
        owed: Owed = []
        copy = replace(publication, number=0)
        self.to_group(found[0], copy, owed, now)
        self._commit(copy, owed, now)
        for session, _ in owed:
            if publication.origin is not None and session.persistent:
                session.had[publication.origin] = inf

    def to_client(self, client: str, publication: Publication, now: float) -> None:
        """Give it to the session of one client, if that still wants it, and is owed it; in a network only."""
        owed: Owed = []
        for target in self._routes.route(publication.topic).targets:
            if target.session.client == client and min(publication.qos, target.qos):
                self._to_target(target, publication, owed, now)
        self._commit(publication, owed, now)

    def offer_again(self, publication: Publication, clients: Collection[str], now: float) -> None:
        """Give it to sessions that have come to this node since it came before; in a network only."""
        owed: Owed = []
        for target in self._routes.route(publication.topic).targets:
            session = target.session
            if session.client in clients and session.persistent and min(publication.qos, target.qos):
                self._to_target(target, publication, owed, now)
        self._commit(publication, owed, now)

    def groups(self, name: str) -> list[str]:
        """Shared filters with members here that match a name."""
        found = [group for holders in self._index.match(name) for group in holders.groups.values()]
        return [group.whole for group in found if not group.is_over()]

    def has_taker(self, filter_: str, name: bytes, qos: int) -> bool:
        """Whether a member of a shared subscription here would get a publication, now or when its client is back."""
        return any(one.whole == filter_ and one.has_taker(qos) for one in self._routes.route(name).groups)

    def bequeath(self, delivery: Delivery, now: float) -> None:
        """Let another member have what one should have had of a shared subscription, and will not take.

        Not what it was sent with QoS 2: it may have seen that, and nobody else may then (MQTT-4.8.2-5). If it is to be
        one at another node, this one answers for it until then: the journal has it before the first has lost it.
        """
        if not delivery.group or (delivery.qos == 2 and delivery.packet_id):
            return
        group, copy = self._group(delivery.group), replace(delivery.publication, number=0)
        owed: Owed = []
        if group is not None and self.to_group(group, copy, owed, now):
            self._commit(copy, owed, now)
        elif self._issuer is not None:
            self._issuer.numbered(copy)
            if copy.qos:
                copy.number = self._number()
                self._outbox.append(Queued(copy, (any_member(copy, delivery.group),)))
            self._outbox.add(Declined(copy, delivery.group))

    def _group(self, filter_: str) -> Group | None:
        """The members of a shared subscription here, if there are any."""
        parts = split_shared(filter_)
        holders = self._index.get(parts[1]) if parts is not None else None
        return holders.groups.get(parts[0]) if parts is not None and holders is not None else None

    def _is_own(self, publication: Publication) -> bool:
        """Whether this node answers for it in the network: the journal must have it."""
        if self._issuer is None or not publication.qos or publication.origin is None:
            return False
        return publication.origin[1] == self._issuer.incarnation

    def give_retained(self, session: Session, subscription: Subscription, one: Publication, now: float) -> None:
        """A retained message for a new subscription: a delivery of its own, which the session may have had before."""
        owed = self._retained_for(session, subscription, one, now)
        if owed:
            self._outbound.fill(session, now)

    def owe_retained(self, session: Session, subscription: Subscription, one: Publication, now: float) -> None:
        """The same, for the journal to keep; it is sent when all is owed."""
        for _, delivery in self._retained_for(session, subscription, one, now):
            if self._outbox.durable:
                self._record(delivery.publication, [(session, delivery)], 0)

    def _retained_for(self, session: Session, subscription: Subscription, one: Publication, now: float) -> Owed:
        owed: Owed = []
        copy = replace(one, number=0, origin=None)
        ids = (subscription.identifier,) if subscription.identifier else ()
        self._give(session, copy, min(one.qos, subscription.qos), True, ids, "", owed, now)
        return owed

    def to_group(self, group: Group, publication: Publication, owed: Owed, now: float) -> bool:
        """Give it to the member whose turn it is. Whether there is one that takes it."""
        chosen = group.choose(publication.qos)
        if chosen is None:
            return False
        session, subscription = chosen
        ids = (subscription.identifier,) if subscription.identifier else ()
        retain = publication.retain and subscription.retain_as_published
        qos = min(publication.qos, subscription.qos)
        self._give(session, publication, qos, retain, ids, group.whole, owed, now)
        return True

    def _to_target(self, target: Target, publication: Publication, owed: Owed, now: float) -> None:
        session = target.session
        if session.knows(publication.origin):
            return
        if publication.publisher == session.client:
            if target.own is None:
                return
            target = target.own
        qos = min(publication.qos, target.qos)
        retain = publication.retain and target.retain_as_published
        self._give(session, publication, qos, retain, target.identifiers, "", owed, now)
        is_given = bool(qos) or (session.connection is not None and not session.alone)  # more may wait for it elsewhere
        if publication.origin is not None and session.persistent and is_given:
            session.had[publication.origin] = inf if publication.qos else now

    def _give(
        self,
        session: Session,
        publication: Publication,
        qos: int,
        retain: bool,
        ids: tuple[int, ...],
        group: str,
        owed: Owed,
        now: float,
    ) -> None:
        if qos == 0:
            self._outbound.pass_by(session, publication, retain, ids, now)
            return
        delivery = Delivery(publication, qos, retain, ids, group)
        if self._outbound.offer(session, delivery):
            owed.append((session, delivery))

    def _commit(
        self, publication: Publication, owed: Owed, now: float, receipt: int = 0, custody: bool = False
    ) -> None:
        kept = [(session, one) for session, one in owed if session.persistent]
        if (kept or custody) and self._outbox.durable:
            self._record(publication, kept, receipt)
        elif receipt:
            self._outbox.append(ReceiptNoted(publication.publisher, receipt, publication.content()))
        for session, _ in owed:
            self._outbound.fill(session, now)

    def _record(self, publication: Publication, kept: Owed, receipt: int) -> None:
        """A session that is owed it twice, as a member of a group besides, has it under two numbers."""
        publication.number = self._number()
        once: dict[Session, Delivery] = {}
        again = [(session, one) for session, one in kept if once.setdefault(session, one) is not one]
        for session in once:
            session.last = publication.number
        receivers = tuple(receiver(session.client, one) for session, one in once.items())
        self._outbox.append(Queued(publication, receivers, receipt))
        for session, one in again:
            one.publication = replace(publication)
            self._record(one.publication, [(session, one)], 0)


def _has_receivers(route: Route) -> bool:
    return bool(route.targets or route.groups)
