"""Publications on links: between messages of the wire and the router, with custody kept of QoS 1 and 2.

The router decides where a publication goes (protocol/weave.py); here it is put on links, and what a link does not take
is told to the router. A publication on several trees is as many publications to the router, one a topic, and another
with each attempt; to clients it is one (seen.py).

A message may also be for one node alone (message.py). It goes from finger to finger, and only the node that it is for
takes it.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from weft.node.atlas import Atlas
from weft.node.figure import Figures
from weft.node.message import Key, for_node, is_for_all, is_for_another, is_for_many, key_of, origin_of
from weft.node.parameters import Parameters
from weft.node.seen import ORIGIN, Seen
from weft.protocol.convey import Ranged
from weft.protocol.custody import Custody
from weft.protocol.router import (
    Deliver,
    Event,
    Packet,
    Publication,
    Published,
    Received,
    Rewired,
    Undelivered,
)
from weft.protocol.router import Message as RouterMessage
from weft.protocol.weave import Entering, Patience, Weave, Woven
from weft.wire.content import count_of
from weft.wire.frame import NOBODY, Carry, Form, Message
from weft.wire.frame_codec import CARRY_BYTES, CARRY_MESSAGES, PLACE

MOST_HOPS = 250


@dataclass(frozen=True, slots=True)
class Carried(Publication):
    """A publication as the router has it, with what its messages carry besides."""

    incarnation: int = 0
    count: int = 0
    attempt: int = 0
    floor: int = 0
    kept: bool = False
    token: int = 0

    @property
    def key(self) -> Key:
        return self.issuer, self.incarnation, self.count, self.attempt

    @property
    def identity(self) -> bytes:
        return _identity(self.topic, self.issuer, self.incarnation, self.count, self.attempt)


def _identity(topic: int, issuer: int, incarnation: int, count: int, attempt: int) -> bytes:
    """The bytes by which a message in custody of nobody begins, and the attempt where it is."""
    place = PLACE.pack(topic, issuer, incarnation, count)
    return place + attempt.to_bytes(2) if attempt else place


def _carried(message: Message) -> Carried:
    return Carried(
        message.issuer,
        _number(message),
        message.topic,
        message.content,
        message.incarnation,
        message.count,
        message.attempt,
        message.floor,
        message.kept,
        message.token,
    )


def _number(message: Message) -> int:
    """Number of a publication and an attempt, for the router."""
    return message.incarnation << 80 | message.count << 16 | message.attempt


def _identity_of(message: Message) -> bytes:
    return _identity(message.topic, message.issuer, message.incarnation, message.count, message.attempt)


class Carrier:
    def __init__(self, atlas: Atlas, custody: Custody, seen: Seen, figures: Figures, parameters: Parameters) -> None:
        self._atlas = atlas
        self._custody = custody
        self._seen = seen
        self._figures = figures
        self._patience = Patience(parameters.settling * 1000, parameters.memory * 1000)
        self.router = Weave(atlas.node, atlas, atlas.fingers, patience=self._patience)
        self.own: tuple[int, int] = (atlas.node, 0)  # number and incarnation
        self.own_bytes = bytes(8)  # the incarnation
        self.stuck: set[int] = set()  # peers that have not kept up for too long
        self._out: dict[int, list[Message]] = {}

    def name(self, node: int, incarnation: int) -> None:
        """This node has got its number."""
        if self.own != (node, incarnation):
            self.own, self.own_bytes = (node, incarnation), incarnation.to_bytes(8)
            self.router = Weave(node, self._atlas, self._atlas.fingers, patience=self._patience)

    def rewire(self, now: float) -> None:
        self._atlas.refresh()
        self.router.handle(Rewired(self._atlas.fingers), now * 1000)

    def issue(self, message: Message, way: tuple[int, ...] | None, now: float) -> None:
        """Send a publication of this node's on one topic; without a way and a table, over the whole ring."""
        if self._is_plain(message, None, now):
            self.router.own(_identity_of(message), now * 1000)
            self._spread(message, None, now)
            return
        publication = _carried(message)
        if publication.topic in self.router.tables:
            self._route(Published(publication), publication, now)
        elif way:
            self.router.ways[publication.topic] = way
            self._route(Published(publication), publication, now)
        else:
            self._fall_back(publication, 0, now)

    def receive(self, peer: int, message: Message, now: float) -> bool:
        """Whether it has come for the first time, and is for clients of this node."""
        span = count_of(message.content)
        self._figures.messages_received += span
        if message.kept:
            self._custody.receive(peer, key_of(message))
        if message.group:
            return self.direct(message) and self._is_first(message, now)
        if message.topic not in self._atlas.held:
            self._figures.relayed += span
        if message.hops >= MOST_HOPS:
            self._fail(_carried(message))
        elif self._is_plain(message, peer, now):
            self._spread(message, peer, now)
        else:
            self._pass_on(peer, message, now)
        return self._is_first(message, now)

    def send_to(self, ring_id: int, message: Message, group: str) -> None:
        """Send a message to the node at a place on the ring alone."""
        self.direct(for_node(message, ring_id, self._atlas.ring_size, group))

    def direct(self, message: Message) -> bool:
        """Send it on to the node that it is for. Whether that is this one.

        The issuer may not know yet that places on the ring have changed: told that it failed, it tries again.
        """
        if message.low == self._atlas.ring_id:
            if is_for_another(message, self._atlas.node):
                self._fail(_carried(message))
                return False
            return True
        here = [one.node for one in self._atlas.peers.values() if one.ring_id == message.low]
        peer = self._atlas.towards(here[0] if here else NOBODY, message.low)
        publication = _carried(message)
        if peer is None or message.hops >= MOST_HOPS:
            self._fail(publication)
        else:
            self._put(
                peer, publication, Ranged(publication, message.hops + 1, message.low, message.high), message.group
            )
        return False

    def lose(self, peer: int, now: float) -> None:
        """A link is lost: what was on it goes by other ways."""
        self._out.pop(peer, None)
        self.stuck.discard(peer)
        for _, message in self._custody.lose(peer):
            if isinstance(message, Message):
                self.direct(replace(message, hops=message.hops - 1))
            elif isinstance(message, RouterMessage) and isinstance(message.publication, Carried):
                self._route(_undelivered(peer, message), message.publication, now)

    def take(self) -> list[tuple[int, Carry]]:
        """What is to be sent, by peer. Who is sent the same gets the same frame, which need be written once."""
        if not self._out:
            return []
        out, self._out = self._out, {}
        frames: dict[tuple[int, ...], Carry] = {}
        return [
            (peer, frames.setdefault(tuple(map(id, some)), Carry(tuple(some))))
            for peer, messages in out.items()
            for some in _portions(messages)
        ]

    def _is_plain(self, message: Message, sender: int | None, now: float) -> bool:
        """Whether it is of QoS 0, within its tree, and the table alone says where it goes."""
        if message.form is not Form.WOVEN or message.kept or message.token:
            return False
        return self.relied_on(message.topic, sender, now) is not None

    def relied_on(self, topic: int, sender: int | None, now: float) -> tuple[int, ...] | None:
        """Where the table says that what comes from a sender goes; None if there is more to it than the table."""
        table = self.router.tables.get(topic)
        if table is None or self.stuck or not table <= self._atlas.up:
            return None
        return tuple(sorted(table - {sender})) if self.router.relies_on_table(topic, sender, now * 1000) else None

    def _spread(self, message: Message, sender: int | None, now: float) -> None:
        """The short way of what is plain, which most messages are: one message for all neighbours."""
        found = self.router.spread(_identity_of(message), message.topic, sender, now * 1000)
        if found is None:
            return
        peers, is_delivered = found
        span = count_of(message.content)
        self._figures.delivered += span * is_delivered
        self._figures.messages_sent += span * len(peers)
        made = Message(
            Form.WOVEN,
            message.topic,
            message.issuer,
            message.incarnation,
            message.count,
            message.hops + 1,
            message.content,
        )
        for peer in sorted(peers):
            self._out.setdefault(peer, []).append(made)

    def _pass_on(self, peer: int, message: Message, now: float) -> None:
        publication = _carried(message)
        if message.form is Form.WOVEN:
            if publication.kept and publication.topic not in self.router.tables:
                self._custody.doubt(publication.key)  # who sent it knows an old tree, and may not know who is in it now
            self._route(Received(peer, Woven(publication, message.hops)), publication, now)
        elif message.form is Form.RANGED:
            if not self._atlas.is_whole:
                self._fail(publication)
            event = Received(peer, Ranged(publication, message.hops, message.low, message.high))
            self._route(event, publication, now)
        elif message.way or publication.topic in self.router.tables:
            self._route(Received(peer, Entering(publication, message.hops, message.way)), publication, now)
        else:
            self._fall_back(publication, message.hops, now)

    def _fall_back(self, publication: Carried, hops: int, now: float) -> None:
        self._route(Undelivered(NOBODY, Woven(publication, hops + 1)), publication, now)

    def _route(self, event: Event, publication: Carried, now: float) -> None:
        if self._leads_nowhere(event):
            self._fail(publication)
            return
        todo = self.router.handle(event, now * 1000)
        ranged = False
        while todo:
            again = []
            for effect in todo:
                if isinstance(effect, Deliver):
                    self._figures.delivered += count_of(publication.content)
                    continue
                ranged |= type(effect.message) is Ranged
                if effect.peer in self._atlas.up:
                    self._put(effect.peer, publication, effect.message)
                else:
                    self._fail(publication)
                    again += self.router.handle(_undelivered(effect.peer, effect.message), now * 1000)
            todo = again
        if ranged and not isinstance(event, Received):
            self._figures.fallen_back += 1
        if (ranged or publication.topic not in self.router.tables) and not self._atlas.is_whole:
            self._fail(publication)

    def _leads_nowhere(self, event: Event) -> bool:
        """Whether it is on its way over a ring that this node has no link of."""
        message = event.message if isinstance(event, Received | Undelivered) else None
        if not isinstance(message, Ranged) or self._atlas.fingers.fingers:
            return False
        return isinstance(event, Undelivered) or message.low != self._atlas.ring_id

    def _put(self, peer: int, publication: Carried, message: Packet, group: str = "") -> None:
        if peer in self.stuck and not publication.kept:
            self._figures.dropped += count_of(publication.content)
            return
        made = _message(publication, message, group)
        if publication.kept:
            self._custody.send(peer, publication.key, made if group else message)
        self._figures.messages_sent += count_of(publication.content)
        self._out.setdefault(peer, []).append(made)

    def _fail(self, publication: Carried) -> None:
        if publication.kept and self._custody.is_engaged(publication.key):
            self._custody.fail(publication.key)

    def give_up(self, message: Message) -> None:
        """Nobody is known here who should have it: the issuer is to try again."""
        self._fail(_carried(message))

    def is_to_pass(self, message: Message, now: float) -> bool:
        """Whether a message for somebody who is elsewhere is to go there: by every attempt, and once by each."""
        origin = origin_of(message)
        self._seen.forget(origin)
        return self._seen.is_first(ORIGIN.pack(*origin) + message.attempt.to_bytes(2), now)

    def forget(self, message: Message) -> None:
        """Take a message for new when it comes again."""
        self._seen.forget(origin_of(message))

    def _is_first(self, message: Message, now: float) -> bool:
        is_own = message.incarnation == self.own[1]  # the number may be another than before this node had one
        if is_own and is_for_many(message) and not is_for_all(message):
            return False
        if message.kept:
            issuer = message.issuer, message.incarnation
            return self._seen.take(origin_of(message), message.floor, now, issuer)
        return self._seen.is_first(ORIGIN.pack(*origin_of(message)), now)


def _portions(messages: list[Message]) -> Iterator[list[Message]]:
    """What goes in one frame each: an event may lead to more than a frame takes."""
    begin = size = 0
    for at, one in enumerate(messages):
        if at > begin and (size + len(one.content) > CARRY_BYTES or at - begin == CARRY_MESSAGES):
            yield messages[begin:at]
            begin, size = at, 0
        size += len(one.content)
    yield messages[begin:] if begin else messages


def _undelivered(peer: int, message: Packet) -> Undelivered:
    """What the router is told; it is to fall back also where a way into the tree has broken off."""
    if isinstance(message, Entering):
        return Undelivered(peer, Woven(message.publication, message.hops))
    return Undelivered(peer, message)


def _message(publication: Carried, message: Packet, group: str) -> Message:
    made = Message(
        Form.WOVEN,
        publication.topic,
        publication.issuer,
        publication.incarnation,
        publication.count,
        0,
        publication.content,
        publication.kept,
        publication.attempt,
        publication.floor,
    )
    made.token = publication.token
    made.group = group
    if isinstance(message, Woven):
        made.hops = message.hops
    elif isinstance(message, Entering):
        made.form, made.hops, made.way = Form.ENTERING, message.hops, message.way
    elif isinstance(message, Ranged):
        made.form, made.hops, made.low, made.high = Form.RANGED, message.hops, message.low, message.high
    return made
