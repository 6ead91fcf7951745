"""Why clients are not heard: the one place where it is kept.

A connection may be held for several reasons at a time: a receiver that cannot keep up, a link or a window of the
network that is full, an answer of its own that is awaited. It is heard again when the last of them is gone.
"""

from collections.abc import Callable, Hashable, Mapping

from weft.broker.connection import Connection


class Holds:
    def __init__(self, connections: Mapping[int, Connection], free: Callable[[Connection], None]) -> None:
        self._connections = connections
        self._free = free
        self._held: dict[Hashable, dict[int, Connection]] = {}  # by reason

    def hold(self, number: int, reason: Hashable) -> None:
        connection = self._connections.get(number)
        if connection is None or connection.closing:
            return
        held = self._held.setdefault(reason, {})
        if number not in held:
            held[number] = connection
            connection.holds += 1

    def release(self, reason: Hashable) -> None:
        """All that were held for a reason."""
        for _, connection in sorted(self._held.pop(reason, {}).items()):
            self._let_go(connection)

    def free(self, number: int, reason: Hashable) -> None:
        held = self._held.get(reason, {})
        connection = held.pop(number, None)
        if connection is not None:
            if not held:
                del self._held[reason]
            self._let_go(connection)

    def drop(self, connection: Connection) -> None:
        """The connection has ended."""
        if connection.holds:
            for reason in [reason for reason, held in self._held.items() if connection.number in held]:
                self.free(connection.number, reason)

    def reasons(self, connection: Connection) -> list[Hashable]:
        return [reason for reason, held in self._held.items() if connection.number in held]

    def _let_go(self, connection: Connection) -> None:
        connection.holds -= 1
        if not connection.holds:
            self._free(connection)
