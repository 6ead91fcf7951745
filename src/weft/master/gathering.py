"""Sessions that are to be gathered: their owners have yet to fetch what other nodes have of them (directory.py).

Nobody waits for that for long: a client is let in without it (node/moving.py). But it is owed, and where both nodes are
there and it does not come, one of the two does not do what it should, and an operator must look at them.
"""

from collections import Counter
from collections.abc import Set

from weft.master.directory import Directory

PATIENCE = 60.0  # seconds from when both nodes were there


class Gathering:
    def __init__(self, directory: Directory) -> None:
        self._directory = directory
        self._since: dict[str, float] = {}  # by client

    def look_at(self, client: str, now: float) -> None:
        """A session was claimed, gathered or ended."""
        session = self._directory.sessions.get(client)
        if session is not None and session.rest and session.owned.expiry:
            self._since.setdefault(client, now)
        else:
            self._since.pop(client, None)

    def restore(self, now: float) -> None:
        for client in self._directory.sessions:
            self.look_at(client, now)

    def late(self, now: float, up: Set[int], changed_at: float) -> Counter[tuple[int, int]]:
        """How many sessions each node has not fetched from each other one, of nodes that have long been there."""
        for client in list(self._since):
            self.look_at(client, now)
        if changed_at > now - PATIENCE:
            return Counter()
        late = (self._directory.sessions[client] for client, since in self._since.items() if since <= now - PATIENCE)
        return Counter((one.node, other) for one in late for other in one.rest if {one.node, other} <= up)
