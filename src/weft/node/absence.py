"""Nodes that are down, as the master says: what they are owed when they are back, and for how long.

The master names a node that is gone (Down) with the filters of its sessions: those that are kept, and, in `others`,
those that end with their connections. While the node may only be cut off, its clients there, both are owed; after
`absence` seconds only what outlives connections is. Down is taken back (Back), or the node is forgotten for good
(Removed), and nothing is owed to it any more. Sessions that had left it may not have got what it was to send after
them: what it was owed is issued to everybody once more.

Time away is counted in steps of a second, so that a clock that jumps, or a process that stood still, is one step, and
forgives nobody. Nothing is concluded from silence: with the master out of reach nobody goes down, and nobody is back
until the master has said all that it knows, once it is there again.
"""

from weft.broker.deadline import Deadlines
from weft.node.atlas import Atlas, absence_of
from weft.node.attempt import Attempts
from weft.node.debt import Debts
from weft.node.destination import Destinations
from weft.node.fetch import Fetches
from weft.wire.frame import Back, Down, Removed

STEP = 1.0  # seconds


class Absences:
    def __init__(
        self,
        atlas: Atlas,
        deadlines: Deadlines,
        debts: Debts,
        destinations: Destinations,
        attempts: Attempts,
        fetches: Fetches,
        seconds: float,  # for which a node that is gone may only be cut off
    ) -> None:
        self._atlas = atlas
        self._steps = deadlines.timer(self._step)  # by node
        self._debts = debts
        self._destinations = destinations
        self._attempts = attempts
        self._fetches = fetches
        self._seconds = seconds
        self._cut_off: dict[int, tuple[Down, float]] = {}  # who may only be cut off, for how many seconds yet
        self._named: set[int] = set()  # by the master, since this node joined

    def begin(self) -> None:
        """The master begins to name them anew."""
        self._named = set()

    def note_down(self, frame: Down, now: float) -> None:
        self._named.add(frame.node)
        self._atlas.down[frame.node] = absence_of(frame.ring_id, (*frame.filters, *frame.others))
        self._atlas.places[frame.node] = frame.ring_id
        self._destinations.forget()
        self._stop_waiting(frame.node)
        if frame.others:
            self._wait_for(frame, self._seconds, now)

    def note_back(self, frame: Back, now: float) -> None:
        self._come_back(frame.node, frame.ring_id, now)

    def note_removed(self, frame: Removed, now: float) -> None:
        self._atlas.down.pop(frame.node, None)
        self._stop_waiting(frame.node)
        self._atlas.places.pop(frame.node, None)
        self._destinations.forget()
        self._attempts.pay(frame.node, now)
        self._fetches.remove(frame.node)

    def complete(self, now: float) -> None:
        """The master has named all: others have come back while it was out of reach."""
        for node in [one for one in self._atlas.down if one not in self._named]:
            if node in self._atlas.places:
                self._come_back(node, self._atlas.places[node], now)
            else:
                self.note_removed(Removed(node), now)

    def _come_back(self, node: int, ring_id: int, now: float) -> None:
        self._atlas.down.pop(node, None)
        self._stop_waiting(node)
        self._atlas.places[node] = ring_id
        self._destinations.forget()
        self._attempts.pay(node, now)
        self._fetches.come_back(node, now)

    def _wait_for(self, frame: Down, seconds: float, now: float) -> None:
        self._cut_off[frame.node] = frame, seconds
        self._steps.at(now + STEP, frame.node)

    def _stop_waiting(self, node: int) -> None:
        self._cut_off.pop(node, None)
        self._steps.drop(node)

    def _step(self, node: int, now: float) -> None:
        """A node that has been gone for long enough is owed only what outlives connections."""
        frame, seconds = self._cut_off.pop(node)
        if seconds > STEP:
            self._wait_for(frame, seconds - STEP, now)
            return
        absence = absence_of(frame.ring_id, frame.filters)
        self._atlas.down[frame.node] = absence
        self._destinations.forget()
        self._debts.forgive(frame.node, absence.wants)
