"""The PUBLISH packets of a run, as rows of an array.

    | head | remaining length | topic | packet identifier, if QoS > 0 | stream | number | nanoseconds | filler |

All have one length, so that a block of them is an array whose columns are filled, or read, at once. A few at a time are
packed one by one: an array would take longer.
"""

from struct import Struct

import numpy as np
import numpy.typing as npt

from weft.arrays import Bytes, Int64s
from weft.wire.mqtt.packet import Publish, Version
from weft.wire.mqtt.writer import encode

STAMP = Struct(">IIQ")  # stream, number, time
STAMP_BYTES = STAMP.size
MARKS = 0xF6  # bits of the head that tell type and QoS: DUP and RETAIN may differ

Rows = npt.NDArray[np.void]


class Layout:
    """The layout of packets with names and payloads of one length."""

    def __init__(self, name_bytes: int, payload: int, qos: int) -> None:
        sample = encode(Publish("n" * name_bytes, bytes(payload), qos, packet_id=1 if qos else 0), Version.V311)
        self.qos = qos
        self.size = len(sample)
        self.id_at = len(sample) - payload - 2  # only where there is one
        self.stamp_at = len(sample) - payload
        self.before = sample[: sample.index(b"n") - 2]  # head and remaining length
        self.filler = bytes(payload - STAMP_BYTES)
        at = self.stamp_at
        columns = {"stream": (">u4", at), "number": (">u4", at + 4), "time": (">u8", at + 8)}
        if qos:
            columns["packet_id"] = (">u2", self.id_at)
        self.row = np.dtype(
            {
                "names": list(columns),
                "formats": [kind for kind, _ in columns.values()],
                "offsets": [offset for _, offset in columns.values()],
                "itemsize": self.size,
            }
        )

    def beginning(self, name: bytes) -> bytes:
        """All that stands before the packet identifier or the stamp."""
        return self.before + len(name).to_bytes(2) + name

    def packet(self, beginning: bytes, packet_id: int, stream: int, number: int, time: int) -> bytes:
        identifier = packet_id.to_bytes(2) if self.qos else b""
        return b"".join((beginning, identifier, STAMP.pack(stream, number, time), self.filler))

    def block(
        self, beginnings: Bytes, packet_ids: Int64s, streams: Int64s, numbers: Int64s, time: int | Int64s
    ) -> bytes:
        """The packets one behind the other, each with its row of `beginnings`."""
        rows = np.zeros(len(streams), self.row)
        rows.view(np.uint8).reshape(-1, self.size)[:, : beginnings.shape[1]] = beginnings
        rows["stream"], rows["number"], rows["time"] = streams, numbers, time
        if self.qos:
            rows["packet_id"] = packet_ids
        return rows.tobytes()

    def rows(self, data: bytes) -> Rows:
        """The packets in bytes that are whole packets."""
        return np.frombuffer(data, self.row)

    def fits(self, data: bytes) -> bool:
        """Whether bytes of the right length are packets of this layout, by what stands before their topics."""
        grid = np.frombuffer(data, np.uint8).reshape(-1, self.size)
        head, *length = self.before
        fit = (grid[:, 0] & MARKS == head).all()
        return bool(fit and all((grid[:, at] == byte).all() for at, byte in enumerate(length, 1)))
