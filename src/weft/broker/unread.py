"""What a client has sent and is not handled yet: the rest of a packet, or more than there was time or leave for.

A client whose publications have to wait may have said PINGREQ behind them, and waits for its answer: so what comes
meanwhile is looked through for these, packet by packet, once, as it comes. They stay where they are, and are passed
over when their turn has come.
"""

import re

from weft.wire.mqtt.field import VARINT_MAXIMUM
from weft.wire.mqtt.parser import frame
from weft.wire.mqtt.reason import PacketError

PINGREQ = 0xC0
ROW = re.compile(rb"(?:.\0)+", re.DOTALL)  # packets of two bytes: there may be a hundred thousand of them in a read
NEVER = 2**62  # bytes: nothing can be told of what follows
_SHORT = 128  # bytes after the head of a packet, from which on their number takes more than one


class Unread:
    __slots__ = ("_ahead", "_data", "_head", "_more", "_skip", "answered", "at", "need", "size")

    def __init__(self, data: bytes = b"") -> None:
        self._data = data
        self._more = bytearray()
        self.at = 0
        self.size = len(data)
        self.need = 0  # bytes that are worth a look: those of the first packet, as far as that can be told
        self.answered = 0  # requests ahead that are answered already
        # looking ahead
        self._ahead = False  # has begun
        self._skip = 0  # bytes of what comes next that belong to a packet which has begun
        self._head = b""  # of the next packet, too short to tell where it ends

    def add(self, data: bytes) -> None:
        self._more += data
        self.size += len(data)

    def take(self) -> bytes:
        """All of it, in one piece, which is read from `at` on."""
        if self._more:
            self._data = b"".join((memoryview(self._data)[self.at :], self._more))
            self._more, self.at = bytearray(), 0
        return self._data

    def leave(self, at: int, need: int) -> None:
        """Leave what has not been read from a place on; so many bytes of it are worth another look."""
        self.at, self.need = at, need
        self.size = len(self._data) - at

    def look_ahead(self, last: bytes) -> tuple[int, int]:
        """Whole packets in what has come since the last look, and requests among them. `last` was added since."""
        piece = last if self._ahead else b"".join((memoryview(self._data)[self.at :], self._more))
        self._ahead = True
        return self._look(piece)

    def _look(self, piece: bytes) -> tuple[int, int]:
        if self._head:
            piece, self._head = self._head + piece, b""
        at, end, requests = self._skip, len(piece), 0
        whole = int(0 < at <= end)  # one that had begun before
        while at + 1 < end:
            length = piece[at + 1]
            if not length:
                row = ROW.match(piece, at)
                assert row is not None
                stop = row.end()
                whole += (stop - at) // 2
                requests += piece.count(PINGREQ, at, stop)
                at = stop
                continue
            if length >= _SHORT:
                stop = _end(piece, at)
                if not stop:
                    break
            else:
                stop = at + 2 + length
            if stop <= end:
                whole += 1
                requests += piece[at] == PINGREQ
            at = stop
        if at < end:
            self._head = piece[at:]
        self._skip = max(0, at - end)
        return whole, requests


def _end(piece: bytes, at: int) -> int:
    """Where the packet at a place ends; 0 if that cannot be told yet. Behind what is no packet there is none."""
    try:
        framed = frame(piece, at, len(piece), VARINT_MAXIMUM + 5, None)
    except PacketError:
        return NEVER
    return framed[1] if framed is not None else 0
