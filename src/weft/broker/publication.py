"""A publication, and its delivery to one session.

Both are made a hundred thousand times a second, so they are not frozen, which would double what making one costs. A
publication is not changed once it is made, but for the number that the journal knows it by. A delivery is changed by
the handshake that it is in.
"""

from dataclasses import dataclass, field
from zlib import crc32

from weft.wire.mqtt import field as f
from weft.wire.mqtt.packet import Version
from weft.wire.mqtt.property import Properties, Property, write_properties

Origin = tuple[int, int, int]  # the node that issued a publication, its incarnation, the count
UNISSUED = 2**32 - 1  # in the place of the node: it has left its node with sessions alone


@dataclass(slots=True)
class Publication:
    topic: bytes  # valid UTF-8
    payload: bytes
    qos: int = 0
    retain: bool = False
    properties: Properties = field(default_factory=dict)  # those that are passed on, without expiry
    expires: float | None = None  # seconds since 1970
    publisher: str = ""  # the client, for no local
    number: int = 0  # in the journal; 0 is none
    issued: float = 0.0  # in a network: seconds since 1970, by the issuer's clock
    origin: Origin | None = None  # in a network
    kept: int = field(default=0, compare=False)  # counts what is published and retained

    def size(self) -> int:
        size = len(self.topic) + len(self.payload)
        return size + len(write_properties(self.properties)) if self.properties else size

    def content(self) -> int:
        """A checksum, by which it is told from others that its client says under the same identifier."""
        return crc32(self.payload, crc32(self.topic))

    def stamp(self) -> tuple[float, int, int]:
        """Orders publications on a topic: the one with the highest stamp is retained, whoever asks."""
        issuer, _, count = self.origin or (0, 0, 0)
        return self.issued, issuer, count

    def encode_properties(self, version: Version, now: float, identifiers: tuple[int, ...] = ()) -> bytes:
        """What is between topic, or packet identifier, and payload."""
        if version is not Version.V5:
            return b""
        if not self.properties and self.expires is None and not identifiers:
            return b"\0"
        return write_properties(self._properties_at(now, identifiers))

    def _properties_at(self, now: float, identifiers: tuple[int, ...]) -> Properties:
        properties = dict(self.properties)
        if self.expires is not None:
            properties[Property.MESSAGE_EXPIRY_INTERVAL] = max(0, round(self.expires - now))
        if identifiers:
            properties[Property.SUBSCRIPTION_IDENTIFIER] = identifiers
        return properties


@dataclass(slots=True)
class Delivery:
    publication: Publication
    qos: int
    retain: bool = False
    identifiers: tuple[int, ...] = ()  # of the subscriptions that it is for (MQTT 5)
    group: str = ""  # the shared filter that it is for
    packet_id: int = 0  # 0 until it is sent
    released: bool = False  # QoS 2: the client has it, and PUBREL was sent
    position: int = 0  # of the journal, which knows its packet identifier

    def head(self, version: Version, now: float, dup: bool) -> bytes:
        return head(self.publication, version, now, self.qos, self.retain, dup, self.packet_id, self.identifiers)


def head(
    publication: Publication,
    version: Version,
    now: float,
    qos: int = 0,
    retain: bool = False,
    dup: bool = False,
    packet_id: int = 0,
    identifiers: tuple[int, ...] = (),
    topic: bytes | None = None,  # another than the publication's: empty, with an alias
) -> bytes:
    """A PUBLISH, but for its payload, which all receivers share."""
    name = publication.topic if topic is None else topic
    properties = publication.encode_properties(version, now, identifiers)
    length = 2 + len(name) + len(properties) + len(publication.payload) + (2 if qos else 0)
    first = bytes((0x30 | dup << 3 | qos << 1 | retain,)) + f.varint(length) + f.u16(len(name))
    return b"".join((first, name, f.u16(packet_id), properties) if qos else (first, name, properties))
