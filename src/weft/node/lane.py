"""The fast lane of a network: publications of QoS 0 that come alone, passed on as the bytes they came in.

At a moderate rate every publication is a read of its own. What it costs then is less what is computed than how much is
touched: other processes have used the caches meanwhile, and every function and object on the way has to be fetched
again. The lane does in one place what the long way does in many (node.py, carrier.py, the broker's distribution.py):
it notes the publication where the router and `seen` note it, so that the two may be mixed as they come; it tells the
neighbours in the tree, and sends to clients. It reads and writes frames as the bytes that they are between nodes, and
says what is to be sent in plain tuples: to make an event, a frame and an effect for each receiver took longer than all
else that it does.

It leaves to the long way, before it has done anything, what it is not sure of: trees whose table changed a short time
ago or has a neighbour without a link, names whose receivers are not known, clients and links that do not keep up, what
a client is sent behind an answer that waits for the network, and all that the broker's lane leaves.
"""

from typing import cast

from weft.broker.broker import Broker
from weft.broker.effect import Effect, Send
from weft.broker.issuer import Issuer
from weft.broker.lane import Sends
from weft.node.atlas import Atlas
from weft.node.carrier import MOST_HOPS, Carrier
from weft.node.destination import Trees
from weft.node.effect import Tell
from weft.node.figure import Figures
from weft.node.issuing import Issuing
from weft.node.outbox import Outbox
from weft.node.seen import Seen
from weft.protocol.weave import DELIVERED, PASSED_ON
from weft.wire.frame_codec import ENTERS, HOPS, PLACE, REST, passing, passing_of

_TOPIC, _ORIGIN, _PUBLISHER = REST, REST + 8, REST + PLACE.size  # where they begin in a frame
_INCARNATION = slice(REST + 12, REST + 20)
_COUNT, TOO_MUCH = REST + 20, 0x40  # first byte of a message's number; one that is beyond its range is not passed on
Peers = tuple[int, ...]
Entry = tuple[int, Peers, bool]  # a topic, who is told, and whether it enters the tree there
Passed = tuple[list[tuple[Peers, bytes]], Sends]  # frames and who is told them, and what clients are sent


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

    def pass_on(self, peer: int, data: bytes, now: float) -> Passed | None:
        """What a message of a peer leads to; None is left to the long way."""
        topic, sender, hops = data[_TOPIC:_ORIGIN], None if data[ENTERS] else peer, data[HOPS]
        peers = self._tables.get((sender, topic))
        if peers is None:
            peers = self._find(sender, topic, now)
        if peers is None or len(data) < _PUBLISHER + 2 or self._gates or hops >= MOST_HOPS or data[_COUNT] >= TOO_MUCH:
            return None
        said = _PUBLISHER + 2 + (data[_PUBLISHER] << 8 | data[_PUBLISHER + 1])
        lone = self._lane.find(data[said:], arrives=True)
        if lone is None or data[_INCARNATION] == self._carrier.own_bytes or not _is_text(data[_PUBLISHER + 2 : said]):
            return None
        is_held = int.from_bytes(topic) in self._atlas.held
        is_delivered = self._carrier.router.take(data[_TOPIC:_PUBLISHER], is_held, now * 1000)
        if is_delivered is None:
            return None
        figures = self._figures
        figures.messages_received += 1
        figures.relayed += not is_held
        figures.delivered += is_delivered
        tells = []
        if peers:
            figures.messages_sent += len(peers)
            tells.append((peers, passing(hops + 1, False, data[REST:])))
        if not self._seen.is_first(data[_ORIGIN:_PUBLISHER], now):
            return tells, []
        figures.arrived += 1
        route, _, packet, payload = lone
        return tells, self._lane.give(route, packet, payload)

    def publish(self, number: int, data: bytes, now: float) -> Passed | None:
        """What a publication of a client leads to; None is left to the long way."""
        found = None if self._gates else self._broker.lone(number, data)
        if found is None:
            return None
        connection, lone = found
        route, name, packet, _ = lone
        trees = cast(Trees, route.lead or ())
        entries = self._entries.get(trees)
        if entries is None:
            entries = self._find_entries(trees, now)
        if entries is None:
            return None
        tells = self._issue(entries, connection.client, name, packet, now) if entries else []
        return tells, self._broker.take_lone(connection, lone, len(data), now)

    def _issue(
        self, entries: list[Entry], client: str, name: bytes, packet: bytes, now: float
    ) -> list[tuple[Peers, bytes]]:
        self._issuing.count(name, 1, len(packet))
        origin, publisher, router = self._issuer.next_origin(), client.encode(), self._carrier.router
        said = len(publisher).to_bytes(2) + publisher + packet
        tells = []
        for topic, peers, enters in entries:
            place = PLACE.pack(topic, *origin)
            router.own(place, now * 1000, DELIVERED if enters else DELIVERED | PASSED_ON)
            if peers:
                self._figures.messages_sent += len(peers)
                tells.append((peers, passing(1, enters, place + said)))
        return tells

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


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def effects_of(passed: Passed) -> list[Effect]:
    """The same as effects, for who carries these out."""
    tells, sends = passed
    frames = [(peers, passing_of(data)) for peers, data in tells]
    return [
        *(Tell(one, frame) for peers, frame in frames for one in peers),
        *(Send(number, data) for number, data in sends),
    ]
