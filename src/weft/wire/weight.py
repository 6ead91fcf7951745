"""What a node may state to its master of its clients: the filters that they hold, their sessions, what these hold.

It says all of it when it joins, in one frame, and the master keeps it. So a node refuses clients what would be more
(`AT_NODE`), and a master parts with a node that states far more, which none does whose clients it has bounded. In
between is what comes with sessions from other nodes, which is not refused.
"""

from collections.abc import Iterable

EACH = 100  # bytes of a filter or session, beside its text
AT_NODE = 128 * 2**20
FOR_CLIENTS = 32 * 2**20  # besides, for sessions alone: filters of some must not keep others from connecting
AT_MASTER = 192 * 2**20
OF_SESSION = 4 * 2**20  # bytes of the filters of one session


def weight_of(text: str) -> int:
    return EACH + len(text.encode())


def weight_of_all(texts: Iterable[str]) -> int:
    return sum(map(weight_of, texts))
