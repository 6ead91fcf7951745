"""What an event leads to, in order: effects of the broker, frames to peers, and who is not read from.

A connection may have to wait for several reasons at a time, the broker's among them: it is held from the first on and
resumed after the last. What a client is sent may have to wait for the network (an answer to SUBSCRIBE); what follows on
its connection then waits too.
"""

from collections import deque
from collections.abc import Hashable
from dataclasses import dataclass, field

from weft.broker.effect import Close, Effect, Hold, Note, Resume, Send, Unsay
from weft.node.effect import Tell
from weft.wire.frame import Frame


@dataclass(slots=True, eq=False)
class Gate:
    """A point in what is sent to a client, which may be passed when the network is ready."""

    waiting: list[Effect] = field(default_factory=list)  # behind it, up to the next
    is_open: bool = False


class Outbox:
    def __init__(self) -> None:
        self._effects: list[Effect] = []
        self._holds: dict[int, set[Hashable]] = {}  # connection -> reasons
        self.gates: dict[int, deque[Gate]] = {}  # by connection, those that are shut, in order

    def add(self, effect: Effect) -> None:
        self._effects.append(effect)

    def tell(self, peer: int, frame: Frame) -> None:
        self._effects.append(Tell(peer, frame))

    def note(self, event: str, client: str = "", detail: str = "") -> None:
        self._effects.append(Note(event, 0, client, detail))

    def send(self, effect: Send | Close) -> None:
        gates = self.gates.get(effect.connection)
        (gates[-1].waiting if gates else self._effects).append(effect)

    def unsay(self, effect: Unsay) -> None:
        """Drop what waits behind gates too."""
        self.gates.pop(effect.connection, None)
        self._effects.append(effect)

    def hold(self, connection: int, reason: Hashable) -> None:
        reasons = self._holds.setdefault(connection, set())
        if not reasons:
            self._effects.append(Hold(connection))
        reasons.add(reason)

    def resume(self, connection: int, reason: Hashable) -> None:
        reasons = self._holds.get(connection)
        if reasons is None or reason not in reasons:
            return
        reasons.remove(reason)
        if not reasons:
            del self._holds[connection]
            self._effects.append(Resume(connection))

    def release(self, reason: Hashable) -> None:
        """All that were held for a reason."""
        for connection in sorted(one for one, reasons in self._holds.items() if reason in reasons):
            self.resume(connection, reason)

    def shut(self, connection: int) -> Gate:
        """Keep what the connection is sent from now on, until the gate is opened, and those before it are."""
        gate = Gate()
        self.gates.setdefault(connection, deque()).append(gate)
        return gate

    def open(self, connection: int, gate: Gate) -> None:
        gate.is_open = True
        gates = self.gates.get(connection)
        while gates and gates[0].is_open:
            self._effects += gates.popleft().waiting
        if not gates:
            self.gates.pop(connection, None)

    def drop(self, connection: int) -> None:
        """The connection is gone."""
        self._holds.pop(connection, None)
        self.gates.pop(connection, None)

    def flush(self) -> list[Effect]:
        effects, self._effects = self._effects, []
        return effects
