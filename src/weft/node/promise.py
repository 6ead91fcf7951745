"""Promises: what is said to another node, or the master, when the journal has been written up to a position.

To say that a session is here, or has gone, before the disk knows would be to lose it with the power: the other end
deletes what it has then. Who waits for such an answer asks again, so a promise that is repeated takes the place of the
one before: a disk that is full for an hour has one answer for each who asks, not one for every time it was asked.
"""

from collections.abc import Callable, Iterator

from weft.wire.frame import Frame, SessionGathered, SessionMoved, SessionTaken

Answer = SessionMoved | SessionTaken | SessionGathered
Promise = tuple[int, type[Answer], str, int]  # to whom, what, of which client, which of several


class Promises:
    def __init__(self, synced: int, send: Callable[[int, int, Frame], None]) -> None:
        self.synced = synced  # position up to which the journal has been written
        self._send = send  # to any node, by number and ring id
        self._open: dict[Promise, tuple[int, int, int, Frame]] = {}  # position, node, ring id, what to say then

    def __iter__(self) -> Iterator[Frame]:
        """What is yet to be said, in order."""
        return (frame for *_, frame in self._open.values())

    def make(self, position: int, node: int, ring_id: int, frame: Answer, which: int = 0) -> None:
        """Say something when all records up to a position are on the disk, once to who asks again."""
        if position <= self.synced:
            self._send(node, ring_id, frame)
            return
        promise = (node, type(frame), frame.client, which)
        self._open.pop(promise, None)
        self._open[promise] = (position, node, ring_id, frame)

    def sync(self, position: int) -> None:
        self.synced = position
        while self._open and (first := next(iter(self._open.values())))[0] <= position:
            del self._open[next(iter(self._open))]
            self._send(*first[1:])
