"""One publisher: a socket, what was published on it, and what the broker has not acknowledged.

A line is blocked while its socket takes no more, or its window is full. At a rate, publications are due at even times,
and one that was due while the line was blocked counts its time from when it was due: otherwise a broker that stalls
would not be charged with what it held up.
"""

from collections.abc import Iterator
from struct import Struct

import numpy as np

from weft.arrays import Int64s
from weft.live.bench.client import Channel
from weft.live.bench.cycle import Cycle
from weft.live.bench.layout import Layout
from weft.wire.mqtt.field import VARINT_MAXIMUM
from weft.wire.mqtt.packet import Version
from weft.wire.mqtt.parser import frame
from weft.wire.mqtt.writer import acknowledgement

BLOCK = 64 * 1024  # bytes that are written at once, at most
FEW = 4  # packets that are packed one by one

PACKET = Struct(">BxH")  # an acknowledgement: its head and packet identifier
PUBACK, PUBREC, PUBREL, PUBCOMP = 0x40, 0x50, 0x62, 0x70
HEADS, LENGTHS = {PUBACK, PUBREC, PUBCOMP}, {2}


class Line:
    def __init__(self, channel: Channel, cycle: Cycle, names: list[bytes], layout: Layout, window: int) -> None:
        """`names` are the topics of the cycle's streams."""
        self._rest = channel.rest()
        self.socket = channel.socket
        self.socket.setblocking(False)
        self.cycle = cycle
        self.published = 0
        self.start = 0  # nanoseconds, when the first publication is due
        self.rate = 0.0  # publications a second; 0 is as fast as it goes
        self.phase = 0.0  # seconds from the beginning of the run to its own, so that lines do not publish in step
        self.closed = False
        self.queued = False  # whether it waits for its time, and not for the broker
        self._layout = layout
        self._beginnings = [layout.beginning(name) for name in names]
        self._grid = np.array([np.frombuffer(beginning, np.uint8) for beginning in self._beginnings])
        self._most = max(1, BLOCK // layout.size)
        self._unsent = memoryview(b"")
        self._free = list(range(window, 0, -1)) if layout.qos else []  # packet identifiers
        self._open: dict[int, int] = {}  # packet identifier -> which publication
        self._held_up = False

    @property
    def writing(self) -> bool:
        return bool(self._unsent)

    @property
    def blocked(self) -> bool:
        return bool(self._unsent) or (self._layout.qos > 0 and not self._free)

    @property
    def under_way(self) -> bool:
        """Whether something is not written or not acknowledged."""
        return not self.closed and bool(self._unsent or self._open)

    def due_at(self) -> int:
        """Nanoseconds of the next publication."""
        return self.start + int(self.published / self.rate * 1e9) if self.rate else self.start

    def publish(self, now: int) -> None:
        """Publish a block of what is due, as far as it may."""
        count = 0 if self.blocked else min(self._most, self._due(now))
        if self._layout.qos:
            count = min(count, len(self._free))
        if count > 0:
            self._unsent = memoryview(self._packets(count, now))
            self.flush()
        self._held_up = self.blocked

    def _due(self, now: int) -> int:
        return int((now - self.start) * self.rate / 1e9) + 1 - self.published if self.rate else self._most

    def _packets(self, count: int, now: int) -> bytes:
        first, self.published = self.published, self.published + count
        places, numbers = self.cycle.numbers(first, count)
        streams, ids, times = (
            self.cycle.streams[places],
            self._identifiers(first, count),
            self._times(first, count, now),
        )
        if count > FEW:
            return self._layout.block(self._grid[places], ids, streams, numbers, times)
        rows = zip(places.tolist(), ids.tolist(), streams.tolist(), numbers.tolist(), times.tolist(), strict=True)
        return b"".join(self._layout.packet(self._beginnings[place], *rest) for place, *rest in rows)

    def _times(self, first: int, count: int, now: int) -> Int64s:
        if not (self.rate and self._held_up):
            return np.full(count, now)
        return self.start + (np.arange(first, first + count) / self.rate * 1e9).astype(np.int64)

    def _identifiers(self, first: int, count: int) -> Int64s:
        if not self._layout.qos:
            return np.zeros(count, np.int64)
        ids = [self._free.pop() for _ in range(count)]
        self._open.update(zip(ids, range(first, first + count), strict=True))
        return np.array(ids)

    def flush(self) -> None:
        try:
            while self._unsent:
                self._unsent = self._unsent[self.socket.send(self._unsent) :]
        except BlockingIOError:
            pass
        except OSError:
            self.close()

    def read(self) -> None:
        """Take acknowledgements and answer those of QoS 2."""
        try:
            data = self.socket.recv(65536)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self.close()
            return
        data, self._rest = _parted(self._rest + data)
        answers = [
            acknowledgement(PUBREL, packet_id)
            for head, packet_id in PACKET.iter_unpack(data)
            if self._releases(head, packet_id)
        ]
        if answers:
            self._unsent = memoryview(bytes(self._unsent) + b"".join(answers))
            self.flush()

    def _releases(self, head: int, packet_id: int) -> bool:
        """Whether an acknowledgement is to be answered; others end the handshake."""
        if head == PUBREC:
            return True
        if head in (PUBACK, PUBCOMP) and self._open.pop(packet_id, None) is not None:
            self._free.append(packet_id)
        return False

    def close(self) -> None:
        """End it. What was not written as a whole has not been published."""
        if not self._layout.qos:
            self.published -= -(-len(self._unsent) // self._layout.size)
        self._unsent = memoryview(b"")
        self.closed = True
        self.socket.close()

    def unacknowledged(self) -> Iterator[tuple[int, int]]:
        """Stream and number of what is open."""
        for index in self._open.values():
            place, number = self.cycle.number(index)
            yield int(self.cycle.streams[place]), number


def _parted(data: bytes) -> tuple[bytes, bytes]:
    """Acknowledgements, of four bytes each, and what is left over of a packet. A publisher heeds nothing else."""
    whole = len(data) & ~3
    if HEADS.issuperset(data[:whole:4]) and LENGTHS.issuperset(data[1:whole:4]):
        return data[:whole], data[whole:]
    kept, at = [], 0
    while (framed := frame(data, at, len(data), VARINT_MAXIMUM + 5, Version.V311)) is not None and framed[1] <= len(
        data
    ):
        if data[at] in HEADS and framed[1] - at == PACKET.size:
            kept.append(data[at : framed[1]])
        at = framed[1]
    return b"".join(kept), data[at:]
