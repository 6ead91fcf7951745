"""Publications that a node has had, so that its clients get each once.

Of QoS 0 they are remembered for a time, longer than any travels. Of QoS 1 and 2 until the issuer does not send them
again: it says with each message from which count on it may. What persistent sessions have been given is in the journal
with its number, so that a node that comes back remembers it; to forget waits some time, for the issuer may have more to
send to a node that was away than it says to others.

Their names are remembered too: where a session moves, the node that it moves to must know what it has had.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping

from weft.broker.publication import Origin

Issuer = tuple[int, int]  # node and incarnation


class _Taken:
    __slots__ = ("floor", "names", "pruned")

    def __init__(self, now: float) -> None:
        self.names: dict[int, bytes] = {}  # by count
        self.floor = 0
        self.pruned = now


class Seen:
    def __init__(self, memory: float) -> None:
        self._memory = memory  # seconds
        self._new: dict[Origin, bytes] = {}
        self._old: dict[Origin, bytes] = {}
        self._turned = 0.0
        self._taken: dict[Issuer, _Taken] = {}

    def is_first(self, origin: Origin, name: bytes, now: float) -> bool:
        """Of QoS 0, and of this node's own."""
        if now - self._turned > self._memory / 2:
            self._old, self._new, self._turned = self._new, {}, now
        if origin in self._new or origin in self._old:
            return False
        self._new[origin] = name
        return True

    def take(self, origin: Origin, name: bytes, floor: int, now: float) -> bool:
        """Of QoS 1 and 2: whether it is the first time."""
        taken = self._taken.get(origin[:2])
        if taken is None:
            taken = self._taken[origin[:2]] = _Taken(now)
        taken.floor = floor
        if now - taken.pruned > self._memory:
            taken.names = {count: one for count, one in taken.names.items() if count >= floor}
            taken.pruned = now
        if origin[2] in taken.names:
            return False
        taken.names[origin[2]] = name
        return True

    def had(self, matches: Callable[[str], object]) -> Iterator[Origin]:
        """Those that are remembered on names of some kind."""
        known: dict[bytes, object] = {}
        for origin, name in self._all():
            if name not in known:
                known[name] = matches(name.decode())
            if known[name]:
                yield origin

    def restore(self, issuer: int, incarnation: int, names: Mapping[int, bytes], now: float) -> None:
        self._taken.setdefault((issuer, incarnation), _Taken(now)).names.update(names)

    def taken(self) -> Iterator[tuple[int, int, list[tuple[int, bytes]]]]:
        """For a snapshot, of this moment."""
        return iter([(*issuer, sorted(one.names.items())) for issuer, one in self._taken.items()])

    def _all(self) -> Iterable[tuple[Origin, bytes]]:
        yield from self._old.items()
        yield from self._new.items()
        for issuer, one in self._taken.items():
            for count, name in one.names.items():
                yield (*issuer, count), name
