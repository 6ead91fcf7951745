"""Registration with the master: how this node joins the network, under which number, and how it leaves.

A node speaks when its journal has the record of this start (`Started`): until then it could lose, with its power, which
numbers its publications have, and give them to others after the next start. So it joins when the master is linked and
the journal is written up to there, whichever is later, and says all that it holds; what changes from then on the
directory tells (directory.py).

A node without a number gets one with the first Welcome, and keeps it with its data. Where the master refuses it, or
sends it away, it does not try again: the driver ends the process and says why.

A node that is to stop waits until everybody has what its clients have published, but not for ever, and tells the master
before it ends, so that it is not taken for lost.
"""

from collections.abc import Callable

from weft.broker.broker import Broker
from weft.broker.deadline import Deadlines
from weft.broker.issuer import Issuer
from weft.node.assignment import Assignments
from weft.node.atlas import Atlas
from weft.node.carrier import Carrier
from weft.node.directory import Directory
from weft.node.effect import MASTER, Left, Named, Turned
from weft.node.fetch import Fetches
from weft.node.identity import Identity
from weft.node.issuing import Issuing
from weft.node.outbox import Outbox
from weft.node.parameters import Parameters
from weft.wire.frame import Held, Join, Leave, Leaving, Refused, Welcome


class Registration:
    def __init__(
        self,
        identity: Callable[[], Identity],  # the driver may learn more of it
        broker: Broker,
        issuer: Issuer,
        atlas: Atlas,
        carrier: Carrier,
        directory: Directory,
        outbox: Outbox,
        deadlines: Deadlines,
        parameters: Parameters,
        issuing: Issuing,
        fetches: Fetches,
        assignments: Assignments,
        changed: Callable[[], None],  # publications may go elsewhere
    ) -> None:
        self._identity = identity
        self._broker = broker
        self._issuer = issuer
        self._atlas = atlas
        self._carrier = carrier
        self._directory = directory
        self._outbox = outbox
        self._retries = deadlines.timer(lambda _, now: fetches.retry(now))
        self._leavings = deadlines.timer(lambda *_: self.leave())
        self._parameters = parameters
        self._issuing = issuing
        self._assignments = assignments
        self._changed = changed
        self._synced = broker.position
        self._ready = 0  # the position from which on this node may speak
        self.is_stopping = False
        self._take_number(identity().node)

    # In

    def start(self) -> None:
        """The journal has been told that this node has started."""
        self._ready = self._broker.position

    def sync(self, position: int) -> None:
        """The journal has been written."""
        was_ready = self._synced >= self._ready
        self._synced = position
        if not was_ready and self._synced >= self._ready and MASTER in self._atlas.up:
            self._join()

    def find_master(self) -> None:
        """Join over a new link with the master, or when what is kept has been synced."""
        if self._synced >= self._ready:
            self._join()

    def be_welcome(self, frame: Welcome, now: float) -> None:
        self._atlas.place(frame.ring_id, frame.ring_size)
        self._assignments.begin()
        if frame.node != self._atlas.node:
            self._take_number(frame.node)
            self._outbox.add(Named(frame.node))
        self._carrier.rewire(now)
        self._changed()
        self._issuing.ask_again(now)
        self._retries.at(now + self._parameters.settling)

    def be_refused(self, frame: Refused, now: float) -> None:
        self._outbox.add(Turned(frame.reason))

    def _join(self) -> None:
        identity, held = self._identity(), self._broker.held()
        self._outbox.tell(
            MASTER,
            Join(
                identity.name,
                identity.incarnation,
                self._atlas.node,
                identity.address,
                identity.listeners,
                self._atlas.version,
                tuple(Held(filter_, one.members, one.persistent > 0) for filter_, one in held.items()),
                tuple(self._directory.owned(session) for session in self._broker.sessions()),
                tuple(sorted(one for one in self._atlas.up if one != MASTER)),
                self._directory.sequence,
            ),
        )

    def _take_number(self, number: int) -> None:
        self._atlas.node = number
        self._issuer.node = max(number, 0)
        self._carrier.name(number, self._identity().incarnation)

    # Out

    def be_sent_away(self, frame: Leave, now: float) -> None:
        self._outbox.add(Turned("The master has told this node to leave."))

    def stop(self, now: float) -> None:
        self.is_stopping = True
        self._leavings.at(now + self._parameters.leaving)

    def leave(self) -> None:
        """All is said, or has had its time: the master is told, and the driver, once."""
        if self.is_stopping:
            self.is_stopping = False
            self._directory.let_all_go()
            self._directory.flush()
            if MASTER in self._atlas.up:
                self._outbox.tell(MASTER, Leaving())
            self._outbox.add(Left())
