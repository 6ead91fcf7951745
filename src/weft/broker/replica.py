"""Retained messages as all nodes of a network agree on them.

Each message has a stamp, and the highest stamp of a topic wins, that of a taking away included (a tombstone), and that
of what has expired, which leaves a tombstone too. So it does not matter in which order nodes hear of them, and when.

Tombstones are kept for a day, and where they are too many, or their names too long, the oldest go first. All nodes have
the same bounds, which are no option, and go by stamps and names only: nodes that agree on what is newest agree on what
is kept, and do not give each other again and again what one of them has forgotten.

Two nodes find what they differ in by digests: names are spread over 256 parts, and the digest of a part is the
exclusive or of a hash of each name and stamp in it.
"""

from collections.abc import Iterator
from hashlib import blake2b

from weft.broker.keyed_heap import KeyedHeap
from weft.broker.publication import Publication

PARTS = 256
TOMBSTONE = 86_400.0  # seconds
TOMBSTONES, TOMBSTONES_BYTES = 100_000, 16 * 2**20  # that are kept, and what their names may take


class Replica:
    def __init__(self) -> None:
        self.digests = [0] * PARTS
        self._known: dict[str, Publication] = {}  # the latest by name; one with an empty payload is a tombstone
        self._parts: list[dict[str, None]] = [{} for _ in range(PARTS)]  # names
        self._tombstones: KeyedHeap[str] = KeyedHeap()  # names, the oldest first
        self._size = 0  # bytes of those

    def is_news(self, publication: Publication) -> bool:
        before = self._known.get(publication.topic.decode())
        return before is None or before.stamp() < publication.stamp()

    def latest(self, name: str) -> Publication | None:
        return self._known.get(name)

    def note(self, publication: Publication) -> None:
        name = publication.topic.decode()
        self.forget(name)
        publication = publication if publication.payload else _tombstone(publication)
        part, digest = _hashed(publication)
        self._known[name] = publication
        self._parts[part][name] = None
        self.digests[part] ^= digest
        if not publication.payload:
            self._tombstones.put(name, publication.stamp())
            self._size += len(publication.topic)
            while len(self._tombstones) > TOMBSTONES or self._size > TOMBSTONES_BYTES:
                self.forget(self._tombstones.first())

    def forget(self, name: str) -> None:
        before = self._known.pop(name, None)
        if before is not None:
            part, digest = _hashed(before)
            del self._parts[part][name]
            self.digests[part] ^= digest
            if name in self._tombstones:
                self._tombstones.remove(name)
                self._size -= len(before.topic)

    def differing(self, digests: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(part for part in range(PARTS) if digests[part] != self.digests[part])

    def of_part(self, part: int) -> Iterator[Publication]:
        """Walk over a part, which may change meanwhile."""
        found = (self._known.get(name) for name in list(self._parts[part]))
        return (one for one in found if one is not None)

    def bury(self, now: float) -> None:
        """Forget tombstones that are old enough for everybody to have heard of them."""
        while self._tombstones and self._known[name := self._tombstones.first()].issued < now - TOMBSTONE:
            self.forget(name)


def _tombstone(publication: Publication) -> Publication:
    """What must be remembered of a taking away."""
    return Publication(publication.topic, b"", retain=True, origin=publication.origin, issued=publication.issued)


def _hashed(publication: Publication) -> tuple[int, int]:
    name = blake2b(publication.topic, digest_size=1).digest()[0]
    stamped = b"%b\0%a" % (publication.topic, publication.stamp())
    return name, int.from_bytes(blake2b(stamped, digest_size=8).digest())
