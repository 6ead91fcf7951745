"""All sessions: begun, left, resumed, ended."""

from collections import Counter
from collections.abc import Iterator
from itertools import count

from weft.access.name import parted
from weft.broker.backlog import Backlog
from weft.broker.connection import Connection
from weft.broker.deadline import Deadlines
from weft.broker.distribution import Distribution
from weft.broker.effect import Effect, SessionGone, SessionHere
from weft.broker.figure import Figures
from weft.broker.outbox import Outbox
from weft.broker.parameters import Parameters
from weft.broker.record import ReceiptCleared, SessionEnded, SessionLeft, SessionOpened
from weft.broker.session import LATE, Session
from weft.broker.subscriptions import Subscriptions
from weft.broker.will import Wills
from weft.wire.mqtt.packet import Version
from weft.wire.weight import FOR_CLIENTS


class Sessions:
    def __init__(
        self,
        outbox: Outbox,
        deadlines: Deadlines,
        figures: Figures,
        subscriptions: Subscriptions,
        distribution: Distribution,
        wills: Wills,
        backlog: Backlog,
        parameters: Parameters,
    ) -> None:
        self._outbox = outbox
        self._backlog = backlog
        self._parameters = parameters
        self._expiries = deadlines.timer(self._expire)  # by client
        self._figures = figures
        self._subscriptions = subscriptions
        self._distribution = distribution
        self._wills = wills
        self._serials = count(1)
        self._by_client: dict[str, Session] = {}
        self.leaving: dict[Session, None] = {}  # that have ended, and still stand at filters
        self._kept: set[str] = set()  # clients of those that outlive their connections
        self._of_user: Counter[str] = Counter()  # how many of these

    def __len__(self) -> int:
        return len(self._by_client)

    def __iter__(self) -> Iterator[Session]:
        return iter(self._by_client.values())

    def get(self, client: str) -> Session | None:
        return self._by_client.get(client)

    def have_room(self, client: str) -> bool:
        """Whether a session of a client may be kept."""
        user, most = parted(client)[0], self._parameters
        if client in self._kept:
            return True
        return len(self._kept) < most.sessions and not (user and self._of_user[user] >= most.user_sessions)

    def may_come(self, client: str) -> bool:
        """Whether a client may have a session, kept or not: the master of a network is told of all."""
        return client in self._by_client or self._subscriptions.may_weigh(client, FOR_CLIENTS)

    def create(self, client: str, version: Version, expiry: int) -> Session:
        session = self._by_client[client] = Session(client, next(self._serials), version, expiry)
        self._figures.sessions = len(self._by_client)
        self._count(session.client, session.persistent)
        self._subscriptions.weigh(session.client, 1)
        return session

    def attach(self, session: Session, connection: Connection, expiry: int) -> None:
        assert connection.version is not None
        session.connection, connection.session = connection, session
        self._expiries.drop(session.client)
        late = (one for one, receipt in session.received.items() if session.unsure or receipt.position == LATE)
        session.doubted |= frozenset(late)
        session.unsure = False
        self._count(session.client, expiry > 0)
        session.version, session.expiry, session.left = connection.version, expiry, None
        if session.persistent or session.recorded:  # without an expiry it will not outlive a crash either
            session.recorded = True
            self._outbox.append(SessionOpened(session.client, session.version, expiry, session.last))
        self._figures.connected += 1
        self._figures.most_connected = max(self._figures.most_connected, self._figures.connected)
        self._subscriptions.refresh(session)
        self._tell(SessionHere(session.client))

    def detach(self, session: Session, now: float) -> None:
        """The client has no connection any more. The session ends, or waits."""
        connection = session.connection
        assert connection is not None
        session.connection = connection.session = None
        session.left = now
        session.resend = None
        self._figures.connected -= 1
        self._subscriptions.refresh(session)
        if connection.said:
            self._forget_late(session)
        if session.persistent:
            self._outbox.append(SessionLeft(session.client, now, session.expiry))
            self._tell(SessionHere(session.client))
            self.await_return(session)
        else:
            self.end(session, now)

    def _forget_late(self, session: Session) -> None:
        """A client says again at once, when it is let in, what it has not released.

        It has not said again what has come with its session since: nobody may be at the connection any more.
        """
        late = [one for one, receipt in session.received.items() if receipt.position == LATE]
        for packet_id in [one for one in late if one in session.doubted]:
            del session.received[packet_id]
            self._outbox.append(ReceiptCleared(session.client, packet_id))

    def await_return(self, session: Session) -> None:
        """End a session that nobody comes back to in time."""
        expires = session.expires()
        if expires is not None:
            self._expiries.at(expires, session.client)

    def end(self, session: Session, now: float, bequeath: bool = True) -> None:
        """Where it goes on at another node, it takes along what it should have had of shared subscriptions."""
        self._wills.publish(session, now)
        session.ended = True
        self._subscriptions.refresh(session)
        self.leaving[session] = None
        self._backlog.begin(self._leave_filters(session))
        del self._by_client[session.client]
        self._subscriptions.weigh(session.client, -1)
        self._expiries.drop(session.client)
        self._figures.sessions = len(self._by_client)
        self._figures.waiting -= len(session.queue)
        self._count(session.client, False)
        if bequeath:
            for delivery in [*session.inflight.values(), *session.queue]:
                self._distribution.bequeath(delivery, now)
        if session.recorded:
            self._outbox.append(SessionEnded(session.client))
        self._tell(SessionGone(session.client))

    def _leave_filters(self, session: Session) -> Iterator[None]:
        """Nobody gives it anything any more: it leaves its filters in steps."""
        while session.subscriptions:
            self._subscriptions.remove(session, next(reversed(session.subscriptions)))
            yield
        del self.leaving[session]

    def _count(self, client: str, is_kept: bool) -> None:
        if is_kept == (client in self._kept):
            return
        user = parted(client)[0]
        (self._kept.add if is_kept else self._kept.discard)(client)
        self._of_user[user] += 1 if is_kept else -1
        if not self._of_user[user]:
            del self._of_user[user]

    def _tell(self, effect: Effect) -> None:
        if self._parameters.linked:
            self._outbox.add(effect)

    def _expire(self, client: str, now: float) -> None:
        self._figures.expired += 1
        self.end(self._by_client[client], now)
