"""Topic aliases of MQTT 5: a number stands for a topic, for one direction of one connection."""

from weft.wire.mqtt.packet import Publish
from weft.wire.mqtt.property import Property
from weft.wire.mqtt.reason import PacketError, Reason


class InboundAliases:
    """What a client has said its numbers mean."""

    __slots__ = ("_topics", "maximum")

    def __init__(self, maximum: int) -> None:
        self.maximum = maximum
        self._topics: dict[int, str] = {}

    def resolve(self, packet: Publish) -> str:
        """The topic of a publication that has an alias."""
        alias = packet.properties[Property.TOPIC_ALIAS]
        if not 0 < alias <= self.maximum:
            raise PacketError(Reason.TOPIC_ALIAS_INVALID, f"Topic alias {alias} is not within 1 to {self.maximum}.")
        if packet.topic:
            self._topics[alias] = packet.topic
        elif alias not in self._topics:
            raise PacketError(Reason.PROTOCOL_ERROR, f"Topic alias {alias} has not been set.")
        return self._topics[alias]


class OutboundAliases:
    """Numbers for the first topics that a client is sent, as many as it allows."""

    __slots__ = ("_numbers", "maximum")

    def __init__(self, maximum: int) -> None:
        self.maximum = maximum
        self._numbers: dict[bytes, int] = {}

    def shorten(self, topic: bytes) -> tuple[bytes, int]:
        """What to write for a topic, and the alias to write beside it; 0 is none."""
        known = self._numbers.get(topic)
        if known is not None:
            return b"", known
        if len(self._numbers) >= self.maximum:
            return topic, 0
        self._numbers[topic] = len(self._numbers) + 1
        return topic, len(self._numbers)
