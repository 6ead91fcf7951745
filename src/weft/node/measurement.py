"""Measurements: what this node tells the master of itself from time to time.

Rates of publications by name, from which the next design is made, are counted since the last report, and those of a
report that nobody hears are gone. The report is also when the lease is asked for (lease.py).
"""

from weft.broker.deadline import Deadlines
from weft.broker.figure import Figures as BrokerFigures
from weft.node.atlas import Atlas
from weft.node.debt import Debts
from weft.node.effect import MASTER
from weft.node.figure import Figures
from weft.node.issuing import Issuing
from weft.node.lease import Lease
from weft.node.outbox import Outbox
from weft.wire.frame import Confirm, Measured

OF_BROKER = ("connected", "sessions", "subscriptions", "publications_received", "publications_sent", "disk_full")


class Measurements:
    def __init__(
        self,
        atlas: Atlas,
        outbox: Outbox,
        deadlines: Deadlines,
        lease: Lease,
        issuing: Issuing,
        debts: Debts,
        traffic: Figures,
        broker: BrokerFigures,
        interval: float,  # seconds
    ) -> None:
        self._atlas = atlas
        self._outbox = outbox
        self._timer = deadlines.timer(lambda _, now: self._report(now))
        self._lease = lease
        self._issuing = issuing
        self._debts = debts
        self._traffic = traffic
        self._broker = broker
        self._interval = interval

    def start(self, now: float) -> None:
        self._timer.at(now + self._interval)

    def _report(self, now: float) -> None:
        self._timer.at(now + self._interval)
        rates, self._issuing.rates = self._issuing.rates, {}
        if MASTER not in self._atlas.up:
            return
        self._outbox.tell(MASTER, Confirm(self._lease.ask(now)))
        measured = tuple((name, rate[0], rate[1]) for name, rate in rates.items())
        self._outbox.tell(MASTER, Measured(measured, (), self._counters()))

    def _counters(self) -> tuple[tuple[str, int], ...]:
        return (
            *self._traffic.counters(),
            *((name, getattr(self._broker, name)) for name in OF_BROKER),
            ("under_way", self._debts.under_way),
            ("late", self._debts.late),
            ("owed", sum(self._debts.owed.values())),
            ("owed_dropped", self._debts.dropped),
        )
