"""Publications of other nodes, for clients of this one; in a network only.

A run comes as the packets that it went out as, and into the lane (lane.py): what the lane is not sure of is decoded,
one packet after the other. A packet of a run that cannot be read is another node's mistake. What is behind it cannot be
found then, and is nobody's publication; no client is to suffer for it.
"""

from weft.broker.distribution import Distribution
from weft.broker.effect import Arrived, ArrivedAgain, ArrivedForGroup, ArrivedForSession, ArrivedTogether
from weft.broker.lane import Lane
from weft.broker.publication import Publication
from weft.wire.content import Run
from weft.wire.mqtt.packet import Publish, Version
from weft.wire.mqtt.parser import decode, frame
from weft.wire.mqtt.reason import PacketError


class Arrivals:
    def __init__(self, distribution: Distribution, lane: Lane, packet_bytes: int) -> None:
        self._distribution = distribution
        self._lane = lane
        self._packet_bytes = packet_bytes

    def take(self, event: Arrived, now: float) -> None:
        self._distribution.arrive(event.publication, now)

    def take_together(self, event: ArrivedTogether, now: float) -> None:
        for one in event.publications:
            if type(one) is Run:
                self._take_run(one, now)
            else:
                self._distribution.arrive(one, now)  # type: ignore[arg-type]

    def take_for_group(self, event: ArrivedForGroup, now: float) -> None:
        self._distribution.to_member(event.filter, event.publication, now)

    def take_for_session(self, event: ArrivedForSession, now: float) -> None:
        self._distribution.to_client(event.client, event.publication, now)

    def take_again(self, event: ArrivedAgain, now: float) -> None:
        self._distribution.offer_again(event.publication, event.clients, now)

    def _take_run(self, run: Run, now: float) -> None:
        data, at, end = run.packets, 0, len(run.packets)
        while (at := self._lane.pass_in(data, at)) < end:
            try:
                framed = frame(data, at, end, self._packet_bytes, Version.V311)
                if framed is None or framed[1] > end:
                    return
                packet = decode(data, at, framed[0], framed[1], Version.V311)
            except PacketError:
                return
            at = framed[1]
            if type(packet) is Publish:
                one = Publication(packet.topic.encode(), packet.payload, publisher=run.publisher)
                self._distribution.arrive(one, now)
