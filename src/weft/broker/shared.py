"""Shared subscriptions: of the members of a group with a filter, one gets each publication.

Members take turns. One whose client is connected and keeps up comes before one that is away; with QoS 0, said or
subscribed, there is no use in a member that is away. A publication that a member has not taken when its session ends
goes to another, and so does what comes from another node with its session, where it has given up the filter meanwhile;
but what it was sent with QoS 2 goes to nobody else, as the standard asks (MQTT-4.8.2-5).
"""

from weft.broker.session import Session
from weft.broker.subscription import Subscription
from weft.wire.mqtt.topic import SHARE


class Group:
    __slots__ = ("filter", "members", "name", "turn", "whole")

    def __init__(self, name: str, pattern: str) -> None:
        self.name = name
        self.filter = pattern  # without $share/NAME/
        self.whole = f"{SHARE}{name}/{pattern}"
        self.members: dict[Session, Subscription] = {}  # in the order of joining
        self.turn = 0

    def choose(self, qos: int) -> tuple[Session, Subscription] | None:
        """The member whose turn it is."""
        able = self._able(qos)
        if not able:
            return None
        self.turn += 1
        return able[self.turn % len(able)]

    def has_taker(self, qos: int) -> bool:
        return bool(self._able(qos))

    def is_over(self) -> bool:
        """Whether all members have ended, and have yet to leave."""
        return all(one.ended for one in self.members)

    def _able(self, qos: int) -> list[tuple[Session, Subscription]]:
        ready = [one for one in self.members.items() if one[0].is_ready()]
        return ready or [one for one in self.members.items() if min(qos, one[1].qos) and not one[0].ended]
