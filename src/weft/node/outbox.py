"""What an event leads to, in order: effects of the broker, and frames to peers.

What a client is sent may have to wait for the network (an answer to SUBSCRIBE); what follows on its connection then
waits too. It may be no more than a driver would keep for a client: the connection is congested from there on.
"""

from collections import deque
from dataclasses import dataclass, field

from weft.broker.effect import Close, Effect, Note, Send, Unsay
from weft.node.effect import Tell
from weft.wire.frame import Frame

HIGH = 1 << 20  # bytes that wait for the network on a connection: more is congested


@dataclass(slots=True, eq=False)
class Gate:
    """A point in what is sent to a client, which may be passed when the network is ready."""

    waiting: list[Effect] = field(default_factory=list)  # behind it, up to the next
    is_open: bool = False


class Outbox:
    def __init__(self) -> None:
        self._effects: list[Effect] = []
        self.gates: dict[int, deque[Gate]] = {}  # by connection, those that are shut, in order
        self._sizes: dict[int, int] = {}  # by connection: bytes that wait behind its gates
        self._full: set[int] = set()  # connections that are congested by that

    def add(self, effect: Effect) -> None:
        self._effects.append(effect)

    def tell(self, peer: int, frame: Frame) -> None:
        self._effects.append(Tell(peer, frame))

    def note(self, event: str, client: str = "", detail: str = "") -> None:
        self._effects.append(Note(event, 0, client, detail))

    def send(self, effect: Send | Close) -> None:
        gates = self.gates.get(effect.connection)
        if gates is None:
            self._effects.append(effect)
            return
        gates[-1].waiting.append(effect)
        if type(effect) is Send:
            self._sizes[effect.connection] = self._sizes.get(effect.connection, 0) + len(effect.data)

    def unsay(self, effect: Unsay) -> None:
        """Drop what waits behind gates too."""
        self.gates.pop(effect.connection, None)
        self._sizes.pop(effect.connection, None)
        self._effects.append(effect)

    def congestion(self) -> tuple[list[int], list[int]]:
        """Connections for which too much waits since the last time, and those for which nothing does any more."""
        full = {one for one, size in self._sizes.items() if size > HIGH}
        filled, emptied = full - self._full, {one for one in self._full if one not in self._sizes}
        self._full = (self._full | filled) - emptied
        return sorted(filled), sorted(emptied)

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
            self._sizes.pop(connection, None)

    def drop(self, connection: int) -> None:
        """The connection is gone."""
        self.gates.pop(connection, None)
        self._sizes.pop(connection, None)
        self._full.discard(connection)

    def flush(self) -> list[Effect]:
        effects, self._effects = self._effects, []
        return effects
