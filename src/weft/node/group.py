"""Shared subscriptions across nodes: which node's member gets a publication.

The issuer chooses a node with members, and sends to it alone; nodes take turns by the number of their members
(atlas.py). In later attempts it is the same node, if it still has any: another would give the publication to a second
member. If all who have members are down, they are owed it, and the first that is back gets it.

Members may be away when it comes to the node that was chosen, and would miss it, or have left. Then it goes round by
the numbers of nodes, which are all asked one after the other, and ends at the first who has a taker. A node whose last
member has left passes it on once by each attempt; if it comes back there, nobody has members, and the issuer is to try
again. It is never dropped by a node on its way: only the issuer knows whether anybody has got it.
"""

from collections.abc import Callable
from dataclasses import replace

from weft.broker.broker import Broker
from weft.broker.effect import ArrivedForGroup, Event
from weft.broker.publication import Publication
from weft.node.atlas import Atlas
from weft.node.carrier import Carrier
from weft.node.debt import Debt
from weft.node.message import for_group, key_of, origin_of, publication_of
from weft.protocol.custody import Custody
from weft.wire import content
from weft.wire.frame import Message


class Groups:
    def __init__(
        self,
        broker: Broker,
        atlas: Atlas,
        carrier: Carrier,
        custody: Custody,
        happen: Callable[[Event, float], None],  # an event of the broker
    ) -> None:
        self._broker = broker
        self._atlas = atlas
        self._carrier = carrier
        self._custody = custody
        self._happen = happen

    def give(
        self, filter_: str, message: Message, publication: Publication, now: float, debt: Debt | None = None
    ) -> None:
        """Give a publication of this node's to a member somewhere; one of QoS 1 and 2 has a debt."""
        group = self._atlas.group(filter_)
        before = debt.chosen if debt is not None else None
        if before == self._atlas.node:
            return  # it has it
        chosen = group.choose(before) if group is not None else None
        if chosen is None and debt is not None and (absent := self._absent(filter_, publication)):
            self._custody.owe(key_of(message), absent)
            return
        count = message.count if debt is None or debt.parent is None else debt.parent.count
        part = for_group(message, filter_, count)
        is_own = chosen is None or chosen.node == self._atlas.node
        if is_own and not self._broker.has_taker(filter_, publication.topic, publication.qos) and group is not None:
            chosen = group.next_to(self._atlas.node)
            if chosen is None and debt is not None and not self._has_member(filter_, publication):
                self._custody.fail(key_of(message))  # the last has just left, and the master has yet to say where it is
                return
        if chosen is None or chosen.node == self._atlas.node:
            self._happen(ArrivedForGroup(replace(publication, origin=origin_of(part)), filter_), now)
        else:
            self._carrier.send_to(chosen.ring_id, part, filter_)
        if debt is not None:
            debt.chosen = chosen.node if chosen is not None else self._atlas.node

    def take(self, message: Message, now: float) -> None:
        """Give a message of another node's to a member here, or to another node."""
        publication = publication_of(content.decode(message.content), origin_of(message), now)
        if self._broker.has_taker(message.group, publication.topic, publication.qos):
            self._happen(ArrivedForGroup(publication, message.group), now)
        elif self._has_member(message.group, publication):
            self._pass_on(message)
        elif not self._carrier.is_to_pass(message, now) or not self._pass_on(message):
            self._carrier.give_up(message)  # it has come back, or there is nobody else: nobody had a member

    def _pass_on(self, message: Message) -> bool:
        """Send it to the next node with members. Whether there is one."""
        group = self._atlas.group(message.group)
        following = group.next_to(self._atlas.node) if group is not None else None
        if following is not None:
            self._carrier.send_to(following.ring_id, message, message.group)
        return following is not None

    def _absent(self, filter_: str, publication: Publication) -> list[int]:
        """Nodes that are down and have members, where no others have."""
        return [] if self._has_member(filter_, publication) else self._atlas.absent_holders(filter_)

    def _has_member(self, filter_: str, publication: Publication) -> bool:
        """Whether there is one here, who may be away."""
        return filter_ in self._broker.groups(publication.topic.decode())
