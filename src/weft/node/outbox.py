"""What an event leads to, in order: effects of the broker, frames to peers, and who is not read from.

A connection may have to wait for several reasons at a time, the broker's among them: it is held from the first on and
resumed after the last. What a client is sent may have to wait for the network (an answer to SUBSCRIBE); what follows on
its connection then waits too.
"""

from collections.abc import Hashable

from weft.broker.effect import Close, Effect, Hold, Note, Resume, Send
from weft.node.effect import Tell
from weft.wire.frame import Frame


class Outbox:
    def __init__(self) -> None:
        self._effects: list[Effect] = []
        self._holds: dict[int, set[Hashable]] = {}  # connection -> reasons
        self._gates: dict[int, list[Effect]] = {}  # connection -> what waits

    def add(self, effect: Effect) -> None:
        self._effects.append(effect)

    def tell(self, peer: int, frame: Frame) -> None:
        self._effects.append(Tell(peer, frame))

    def note(self, event: str, client: str = "", detail: str = "") -> None:
        self._effects.append(Note(event, 0, client, detail))

    def send(self, effect: Send | Close) -> None:
        waiting = self._gates.get(effect.connection)
        (self._effects if waiting is None else waiting).append(effect)

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

    def shut(self, connection: int) -> None:
        """Keep what the connection is sent from now on."""
        self._gates.setdefault(connection, [])

    def open(self, connection: int) -> None:
        self._effects += self._gates.pop(connection, [])

    def drop(self, connection: int) -> None:
        """The connection is gone."""
        self._holds.pop(connection, None)
        self._gates.pop(connection, None)

    def flush(self) -> list[Effect]:
        effects, self._effects = self._effects, []
        return effects
