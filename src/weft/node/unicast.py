"""Frames for one node, which need not be a neighbour: sent from finger to finger, over the ring.

Each node on the way decides by the number and the ring id of the target alone, and reads nothing of what is inside. A
frame whose target has gone ends where no finger leads nearer, or after so many nodes; nobody is told, and who waits for
an answer asks again (moving.py).

Who sends a frame on its way is named on it, and its first receiver sees to it that the name is right: else a node could
fetch the sessions of clients in the name of another.
"""

from weft.node.atlas import Atlas
from weft.node.effect import MASTER
from weft.node.outbox import Outbox
from weft.wire.frame import Frame, Routed
from weft.wire.frame_codec import decode_body, encode_body

RELAYS = 64  # nodes that a frame may pass


class Unicast:
    def __init__(self, atlas: Atlas, outbox: Outbox) -> None:
        self._atlas = atlas
        self._outbox = outbox

    def send(self, node: int, ring_id: int, frame: Frame) -> None:
        """Send a frame to the master, or to any node."""
        if node == MASTER:
            self._outbox.tell(MASTER, frame)
            return
        ring_id = self._atlas.places.get(node, ring_id)
        routed = Routed(node, ring_id, self._atlas.node, self._atlas.ring_id, 0, encode_body(frame))
        towards = self._atlas.towards(node, ring_id)
        if towards is not None:
            self._outbox.tell(towards, routed)

    def receive(self, peer: int, routed: Routed) -> Frame | None:
        """The frame inside, if it is for this node; else it goes on."""
        if not routed.hops and routed.source != peer:
            return None
        if routed.target == self._atlas.node:
            return decode_body(routed.frame)
        towards = self._atlas.towards(routed.target, routed.ring_id)
        if routed.hops < RELAYS and towards is not None:
            source = (routed.source, routed.source_ring_id)
            self._outbox.tell(towards, Routed(routed.target, routed.ring_id, *source, routed.hops + 1, routed.frame))
        return None
