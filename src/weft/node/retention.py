"""Retained messages of nodes that come, or come back: compared with a peer by digests, both ways, from time to time.

News travels on the tree of all nodes; this is for who was not there. What comes in this way is kept and sent to nobody.
"""

from collections.abc import Callable, Iterable

from weft.broker.publication import Publication
from weft.broker.replica import PARTS, Replica
from weft.node.atlas import Atlas
from weft.node.message import content_of, publication_of
from weft.node.outbox import Outbox
from weft.wire import content
from weft.wire.frame import RetainedDigest, RetainedSync

FRAME = 4 << 20  # bytes of contents in a frame, one part more or less


class Retention:
    def __init__(
        self, replica: Replica, atlas: Atlas, outbox: Outbox, retain: Callable[[Publication, float], None]
    ) -> None:
        self._replica = replica
        self._atlas = atlas
        self._outbox = outbox
        self._retain = retain
        self._compared = 0  # peers so far

    def compare(self) -> None:
        """Compare with one peer, another each time."""
        peers = sorted(node for node in self._atlas.up if node >= 0)
        if peers:
            self._compared += 1
            self.compare_with(peers[self._compared % len(peers)])

    def compare_with_all(self) -> None:
        """Compare with every peer: a link was lost, or a tree changed, and something may not have gone that way."""
        for peer in sorted(node for node in self._atlas.up if node >= 0):
            self.compare_with(peer)

    def compare_with(self, peer: int) -> None:
        self._outbox.tell(peer, RetainedDigest(tuple(self._replica.digests)))

    def answer(self, peer: int, digest: RetainedDigest, now: float) -> None:
        if len(digest.digests) != PARTS:
            return
        parts: list[int] = []
        contents: list[tuple[int, int, int, bytes]] = []
        for part in self._replica.differing(digest.digests):
            parts.append(part)
            contents += [_written(one, now) for one in self._replica.of_part(part)]
            if sum(len(one[3]) for one in contents) > FRAME:
                self._outbox.tell(peer, RetainedSync(tuple(parts), tuple(contents), answer=True))
                parts, contents = [], []
        if parts:
            self._outbox.tell(peer, RetainedSync(tuple(parts), tuple(contents), answer=True))

    def take(self, peer: int, sync: RetainedSync, now: float) -> None:
        got = {}
        for issuer, incarnation, count, data in sync.contents:
            one = publication_of(content.decode(data), (issuer, incarnation, count), now)
            got[one.topic] = one.stamp()
            if self._replica.is_news(one):
                self._retain(one, now)
        if sync.answer:
            newer = [
                _written(one, now) for one in self._of(sync.parts) if one.stamp() > got.get(one.topic, (0.0, -1, 0))
            ]
            if newer:
                self._outbox.tell(peer, RetainedSync(sync.parts, tuple(newer), answer=False))

    def _of(self, parts: Iterable[int]) -> Iterable[Publication]:
        return (one for part in parts for one in self._replica.of_part(part))


def _written(one: Publication, now: float) -> tuple[int, int, int, bytes]:
    return *(one.origin or (0, 0, 0)), content.encode(content_of(one, True, now))
