"""Retained messages of nodes that come, or come back: compared with a peer by digests, both ways, from time to time.

News travels on the tree of all nodes; this is for who was not there. What comes in this way is kept and sent to nobody.

There may be gigabytes of them. So what a peer does not have is given to it frame by frame, each when the link has taken
the one before; a peer that compares again meanwhile is not answered, and compares again later. A part that is too large
for a frame is given, and what the peer has newer of that comes when this node compares with it.
"""

from collections.abc import Callable, Iterable, Iterator

from weft.broker.deadline import Deadlines
from weft.broker.publication import Publication
from weft.broker.replica import PARTS, Replica
from weft.node.atlas import Atlas
from weft.node.message import content_of, publication_of
from weft.node.outbox import Outbox
from weft.wire import content
from weft.wire.frame import RetainedDigest, RetainedSync

FRAME = 1 << 20  # bytes of contents from which on a frame is full; the last part, or message, of it may be longer
PAUSE = 0.02  # seconds between two frames to a peer

Written = tuple[int, int, int, bytes]
Stamp = tuple[float, int, int]
NEVER: Stamp = (0.0, -1, 0)


class Retention:
    def __init__(
        self,
        replica: Replica,
        atlas: Atlas,
        outbox: Outbox,
        deadlines: Deadlines,
        retain: Callable[[Publication, float], None],
    ) -> None:
        self._replica = replica
        self._atlas = atlas
        self._outbox = outbox
        self._turns = deadlines.timer(self._go_on)  # by peer
        self._retain = retain
        self._giving: dict[int, Iterator[RetainedSync]] = {}  # by peer
        self._now = 0.0
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
        if len(digest.digests) == PARTS:
            self._give(peer, self._of(self._replica.differing(digest.digests), {}, wants=True), now)

    def take(self, peer: int, sync: RetainedSync, now: float) -> None:
        got = {}
        for issuer, incarnation, count, data in sync.contents:
            one = publication_of(content.decode(data), (issuer, incarnation, count), now)
            got[one.topic] = one.stamp()
            if self._replica.is_news(one):
                self._retain(one, now)
        if sync.answer:
            self._give(peer, self._of(sync.parts, got, wants=False), now)

    def _give(self, peer: int, frames: Iterator[RetainedSync], now: float) -> None:
        if peer not in self._giving:
            self._giving[peer] = frames
            self._go_on(peer, now)

    def _go_on(self, peer: int, now: float) -> None:
        """Give a peer the next frame, if its link has taken the one before."""
        self._now = now
        if peer not in self._atlas.congested:
            frame = next(self._giving[peer], None) if peer in self._atlas.up else None
            if frame is None:
                del self._giving[peer]
                return
            self._outbox.tell(peer, frame)
        self._turns.at(now + PAUSE, peer)

    def _of(self, parts: Iterable[int], got: dict[bytes, Stamp], wants: bool) -> Iterator[RetainedSync]:
        """What of some parts is newer than what was got; whether the other end should answer with what it has newer."""
        whole: list[int] = []
        some: list[Written] = []
        size = 0
        for part in parts:
            is_whole = True
            for one in self._replica.of_part(part):
                if one.stamp() <= got.get(one.topic, NEVER):
                    continue
                some.append(_written(one, self._now))
                size += len(some[-1][3])
                if size > 2 * FRAME:
                    yield RetainedSync(tuple(whole), tuple(some), wants and bool(whole))
                    whole, some, size, is_whole = [], [], 0, False
            if is_whole:
                whole.append(part)
            if size > FRAME:
                yield RetainedSync(tuple(whole), tuple(some), wants and bool(whole))
                whole, some, size = [], [], 0
        if some or (wants and whole):
            yield RetainedSync(tuple(whole), tuple(some), wants and bool(whole))


def _written(one: Publication, now: float) -> Written:
    return *(one.origin or (0, 0, 0)), content.encode(content_of(one, True, now))
