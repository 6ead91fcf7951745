"""One event: when it happens, and what it leads to."""

from collections.abc import Mapping
from typing import Any

from weft.master import effect as e
from weft.master.record import Record
from weft.wire.frame import EndOfTurn, Frame, Refused


class Turn:
    """The parts of a master share it; `finish` makes effects of what they have left in it."""

    def __init__(self, now: float) -> None:
        self.now = now
        self._effects: list[e.Effect] = []
        self._records: list[Record] = []

    def note(self, event: str, node: str = "", detail: str = "") -> None:
        self._effects.append(e.Note(event, node, detail))

    def answer(self, ticket: int, reply: dict[str, Any]) -> None:
        self._effects.append(e.Answer(ticket, reply))

    def tell(self, connection: int, frame: Frame) -> None:
        self._effects.append(e.Tell(connection, frame))

    def close(self, connection: int) -> None:
        self._effects.append(e.Close(connection))

    def refuse(self, connection: int, reason: str) -> None:
        self._effects += [e.Tell(connection, Refused(reason)), e.Close(connection), e.Note("refused", "", reason)]

    def start(self, design: e.StartDesign) -> None:
        self._effects.append(design)

    def keep(self, record: Record) -> None:
        self._records.append(record)

    def finish(
        self, records: list[Record], told: Mapping[int, list[Frame]], connections: Mapping[int, int]
    ) -> list[e.Effect]:
        """What is kept comes first; what is told, by connection and to its end, before what ends one."""
        records = records + self._records
        effects: list[e.Effect] = [e.Keep(tuple(records))] if records else []
        for node, frames in told.items():
            if node in connections:
                effects += [e.Tell(connections[node], frame) for frame in (*frames, EndOfTurn())]
        effects += self._effects
        self._effects, self._records = [], []
        return effects
