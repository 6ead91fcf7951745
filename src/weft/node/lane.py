"""The fast lane of a network: publications of QoS 0 that come alone, passed on as the bytes they came in.

At a moderate rate every publication is a read of its own. What it costs then is less what is computed than how much is
touched: other processes have used the caches meanwhile, and every function and object on the way has to be fetched
again. The lane does in one place what the long way does in many (node.py, carrier.py, the broker's distribution.py):
it notes the publication where the router and `seen` note it, so that the two may be mixed as they come; it tells the
neighbours in the tree, and sends to clients.

It leaves to the long way, before it has done anything, what it is not sure of: trees whose table changed a short time
ago or has a neighbour without a link, names whose receivers are not known, clients and links that do not keep up, what
a client is sent behind an answer that waits for the network, and all that the broker's lane leaves.
"""

from typing import cast

from weft.broker.broker import Broker
from weft.broker.effect import Effect, Received
from weft.broker.issuer import Issuer
from weft.node.atlas import Atlas
from weft.node.carrier import MOST_HOPS, Carrier
from weft.node.effect import Tell
from weft.node.figure import Figures
from weft.node.issuing import Issuing, Trees
from weft.node.outbox import Outbox
from weft.node.seen import Seen
from weft.protocol.weave import DELIVERED, PASSED_ON
from weft.wire.content import Run
from weft.wire.frame import Passing
from weft.wire.frame_codec import PLACE

_AT = PLACE.size  # where the publisher stands
Peers = tuple[int, ...]
Entry = tuple[int, Peers, bool]  # a topic, who is told, and whether it enters the tree there


class Lane:
    def __init__(
        self,
        atlas: Atlas,
        carrier: Carrier,
        issuing: Issuing,
        issuer: Issuer,
        seen: Seen,
        outbox: Outbox,
        figures: Figures,
        broker: Broker,
    ) -> None:
        self._atlas = atlas
        self._carrier = carrier
        self._issuing = issuing
        self._issuer = issuer
        self._seen = seen
        self._gates = outbox.gates
        self._figures = figures
        self._broker = broker
        self._lane = broker.lane
        self._tables: dict[tuple[int | None, bytes], Peers] = {}  # by sender and topic, as long as all rests
        self._entries: dict[Trees, list[Entry]] = {}  # by the trees of a name

    def forget(self) -> None:
        """A table, a link or a way may not be what it was."""
        self._tables.clear()
        self._entries.clear()

    def pass_on(self, peer: int, frame: Passing, now: float) -> list[Effect] | None:
        """What a message of a peer leads to; None is left to the long way."""
        rest, sender = frame.rest, None if frame.enters else peer
        peers = self._tables.get((sender, rest[:8]))
        if peers is None:
            peers = self._find(sender, rest[:8], now)
        if peers is None or len(rest) < _AT + 2 or self._gates or frame.hops >= MOST_HOPS:
            return None
        lone = self._lane.find(rest[_AT + 2 + (rest[_AT] << 8 | rest[_AT + 1]) :], arrives=True)
        if lone is None or rest[12:20] == self._carrier.own_bytes:
            return None
        topic = int.from_bytes(rest[:8])
        is_delivered = self._carrier.router.take(rest[:_AT], topic, now * 1000)
        if is_delivered is None:
            return None
        figures = self._figures
        figures.messages_received += 1
        figures.relayed += topic not in self._atlas.held
        figures.delivered += is_delivered
        figures.messages_sent += len(peers)
        on = Passing(frame.hops + 1, False, rest)
        effects: list[Effect] = [Tell(one, on) for one in peers]
        if self._seen.is_first(rest[8:_AT], now):
            figures.arrived += 1
            effects += self._lane.give(lone)
        return effects

    def publish(self, event: Received, now: float) -> list[Effect] | None:
        """What a publication of a client leads to; None is left to the long way."""
        lone = None if self._gates else self._broker.lone(event)
        if lone is None:
            return None
        trees = cast(Trees, lone.route.lead or ())
        entries = self._entries.get(trees)
        if entries is None:
            entries = self._find_entries(trees, now)
        if entries is None:
            return None
        client, sends = self._broker.take_lone(event, lone, now)
        return self._issue(entries, Run(lone.packet, 1, lone.name, client), now) + sends if entries else sends

    def _issue(self, entries: list[Entry], run: Run, now: float) -> list[Effect]:
        self._issuing.count(run)
        origin, publisher, router = self._issuer.next_origin(), run.publisher.encode(), self._carrier.router
        said = len(publisher).to_bytes(2) + publisher + run.packets
        effects: list[Effect] = []
        for topic, peers, enters in entries:
            place = PLACE.pack(topic, *origin)
            router.own(place, now * 1000, DELIVERED if enters else DELIVERED | PASSED_ON)
            on = Passing(1, enters, place + said)
            effects += [Tell(one, on) for one in peers]
            self._figures.messages_sent += len(peers)
        return effects

    def _find(self, sender: int | None, topic: bytes, now: float) -> Peers | None:
        peers = self._carrier.relied_on(int.from_bytes(topic), sender, now)
        if peers is not None:
            self._tables[sender, topic] = peers
        return peers

    def _find_entries(self, trees: Trees, now: float) -> list[Entry] | None:
        found: list[Entry] = []
        for filter_, topic in trees:
            way = () if topic in self._carrier.router.tables else self._issuing.way(filter_) or ()
            peers = way if way else self._carrier.relied_on(topic, None, now)
            if peers is None or len(way) > 1 or not self._atlas.up.issuperset(peers):
                return None
            found.append((topic, peers, bool(way)))
        self._entries[trees] = found
        return found
