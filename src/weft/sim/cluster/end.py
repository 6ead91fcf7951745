"""Ends of wires at a node: a client's connection, and a link with another node or the master.

They stand between bytes and events, as the sockets of the live network do. A client's end keeps what it is sent until
the journal has been written, and what it has read while it is held; it sends in order, and closes when all is sent. A
link's counts when both ends have said Hello, and nothing is handed on before.
"""

from typing import TYPE_CHECKING

from weft.broker import effect as e
from weft.node import effect as n
from weft.sim.cluster.wire import Wire
from weft.wire import frame as w
from weft.wire.frame_codec import BETWEEN_NODES, FROM_MASTER, FrameReader, encode
from weft.wire.frame_field import FrameError
from weft.wire.turn import TurnReader

if TYPE_CHECKING:
    from weft.sim.cluster.process import NodeProcess


WAITING = 16  # sends that wait for the journal, until the broker is told


class ClientEnd:
    """A client's connection, at the node."""

    def __init__(self, process: "NodeProcess", wire: Wire, number: int) -> None:
        self.process = process
        self.wire = wire
        self.number = number
        self.waiting: list[e.Send] = []  # for the journal
        self.heard = process.cluster.agenda.now  # when the last of it came to this node
        self.held = False
        self.unread: list[bytes] = []
        self.closing = False

    def received(self, wire: Wire, data: bytes) -> None:
        self.heard = self.process.cluster.agenda.now
        if self.process.is_hanging:
            self.process.later(lambda: self.received(wire, data))
        elif self.held or self.unread:
            self.unread.append(data)
        else:
            self.process.happen(e.Received(self.number, data))

    def broken(self, wire: Wire) -> None:
        if self.process.is_hanging:
            self.process.later(lambda: self.broken(wire))
            return
        self.process.clients.pop(self.number, None)
        self.process.happen(e.Closed(self.number))

    def send(self, effect: e.Send, synced: int) -> None:
        if self.waiting or effect.after > synced:
            self.waiting.append(effect)
            if len(self.waiting) == WAITING:
                self.process.later(lambda: self.process.happen(e.Unwritten(self.number)))
        else:
            self.wire.send(self, effect.data)

    def release(self, synced: int) -> None:
        before = len(self.waiting)
        while self.waiting and self.waiting[0].after <= synced:
            self.wire.send(self, self.waiting.pop(0).data)
        if before >= WAITING > len(self.waiting):
            self.process.later(lambda: self.process.happen(e.Written(self.number)))
        if self.closing:
            self.close()

    def close(self) -> None:
        self.closing = True
        if not self.waiting and self.number in self.process.clients:
            del self.process.clients[self.number]
            self.wire.close(self)
            self.process.later(lambda: self.process.happen(e.Closed(self.number)))

    def resume(self) -> None:
        self.held = False
        self.process.later(self._read_on)

    def _read_on(self) -> None:
        """Hand over what waited, unless it is held again meanwhile."""
        while self.unread and not self.held:
            self.process.happen(e.Received(self.number, self.unread.pop(0)))


class LinkEnd:
    """A link with another node or the master, at a node. Both ends say Hello before it counts."""

    def __init__(self, process: "NodeProcess", peer: int | None) -> None:
        self.process = process
        self.peer = peer  # None until its Hello
        self.wire: Wire | None = None
        self.is_up = False
        self._reader = FrameReader(kinds=FROM_MASTER if peer == n.MASTER else BETWEEN_NODES)
        self._turns = TurnReader()

    def tell(self, frame: w.Frame) -> None:
        assert self.wire is not None
        self.wire.send(self, encode(frame))

    def received(self, wire: Wire, data: bytes) -> None:
        if self.process.is_hanging:
            self.process.later(lambda: self.received(wire, data))
            return
        try:
            frames = self._reader.feed(data)
        except FrameError:
            self.process.end_link(self)
            return
        if not self.is_up and frames:
            first = frames.pop(0)
            if isinstance(first, w.Hello):
                self._greet(first)
            elif isinstance(first, w.Refused):
                self.process.happen(n.Heard(n.MASTER, (first,)))
                return
        if self.is_up and self.peer == n.MASTER:
            frames = self._turns.take(frames)
        if frames and self.is_up:
            assert self.peer is not None
            self.process.happen(n.Heard(self.peer, tuple(frames)))

    def broken(self, wire: Wire) -> None:
        if self.process.is_hanging:
            self.process.later(lambda: self.broken(wire))
        else:
            self.process.lose(self)

    def _greet(self, hello: w.Hello) -> None:
        if self.peer is None:
            self.peer = hello.node
            self.tell(self.process.hello())
        self.process.link_up(self)
