"""Links with peers: what follows when one comes up, is lost, or does not keep up, and what is put on it.

All that an event has for a peer goes on the link at the end of the event, messages before acknowledgements. A link that
comes up is a chance for what has failed: debts are tried again, trees looked for, retained messages compared. One that
is lost takes with it what was on it, which the carrier sends by other ways, and perhaps what was to be retained, which
peers are compared for a while later.

A link that cannot keep up (congested) holds the clients whose publications go there, so that they do not fill this
node's memory. They do not wait for ever for one slow peer: after `link_patience` the link is stuck, they go on, and
messages of QoS 0 for it are dropped, while those in custody wait.
"""

from itertools import count

from weft.broker.deadline import Deadlines
from weft.broker.hold import Holds
from weft.node.atlas import Atlas
from weft.node.attempt import Attempts
from weft.node.carrier import Carrier
from weft.node.effect import MASTER
from weft.node.grafting import Grafting
from weft.node.lane import Lane
from weft.node.outbox import Outbox
from weft.node.parameters import Parameters
from weft.node.retention import Retention
from weft.protocol.custody import Custody
from weft.wire.frame import Acked, LinkLost, LinkMade, Trouble


class Links:
    def __init__(
        self,
        atlas: Atlas,
        carrier: Carrier,
        custody: Custody,
        outbox: Outbox,
        holds: Holds,
        deadlines: Deadlines,
        parameters: Parameters,
        attempts: Attempts,
        grafting: Grafting,
        retention: Retention,
        lane: Lane,
    ) -> None:
        self._atlas = atlas
        self._carrier = carrier
        self._custody = custody
        self._outbox = outbox
        self._holds = holds
        self._comparisons = deadlines.timer(lambda *_: retention.compare_with_all())  # by number
        self._numbers = count()
        self._patiences = deadlines.timer(lambda peer, _: self._lose_patience(peer))
        self._parameters = parameters
        self._attempts = attempts
        self._grafting = grafting
        self._retention = retention
        self._lane = lane

    def make(self, peer: int, round_trip: float, now: float) -> None:
        self._custody.open(peer)
        self._carrier.rewire(now)
        self._attempts.hurry(now)
        self._retention.compare_with(peer)
        self._grafting.link(peer, now)
        if MASTER in self._atlas.up:
            self._outbox.tell(MASTER, LinkMade(peer, round_trip))

    def lose(self, peer: int, now: float) -> None:
        self._carrier.rewire(now)
        self._carrier.lose(peer, now)
        self._grafting.unlink(peer, now)
        self._comparisons.at(now + self._parameters.settling, next(self._numbers))
        self.drain(peer)
        if MASTER in self._atlas.up:
            self._outbox.tell(MASTER, LinkLost(peer))

    def congest(self, peer: int, now: float) -> None:
        self._atlas.congested.add(peer)
        self._patiences.at(now + self._parameters.link_patience, peer)

    def drain(self, peer: int) -> None:
        self._atlas.congested.discard(peer)
        self._patiences.drop(peer)
        self._carrier.stuck.discard(peer)
        self._holds.release(("link", peer))

    def acknowledge(self, peer: int, frame: Acked, now: float) -> None:
        """A peer has told what became of messages that it was sent."""
        troubles = [(one.sequence, one.owed, one.failed, one.unsure) for one in frame.troubles]
        self._custody.acknowledge(peer, frame.ranges, troubles)

    def flush(self, source: int | None) -> None:
        """Put on links what an event has led to, and hold the client that it came from if one cannot keep up."""
        for peer, carry in self._carrier.take():
            self._outbox.tell(peer, carry)
            if peer in self._atlas.congested and source is not None and peer not in self._carrier.stuck:
                self._holds.hold(source, ("link", peer))
        for peer, ranges, troubles in self._custody.acknowledgements():
            named = tuple(Trouble(one[0], tuple(sorted(one[1])), *one[2:]) for one in troubles)
            self._outbox.tell(peer, Acked(ranges, named))

    def _lose_patience(self, peer: int) -> None:
        self._carrier.stuck.add(peer)
        self._lane.forget()
        self._holds.release(("link", peer))
