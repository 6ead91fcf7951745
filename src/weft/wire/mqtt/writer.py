"""Packets to bytes, in the shortest form that the version has."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from weft.wire.mqtt import field as f
from weft.wire.mqtt import packet as p
from weft.wire.mqtt.property import Properties, Property, write_properties
from weft.wire.mqtt.reason import Reason

FOR_PEOPLE = (Property.REASON_STRING, Property.USER_PROPERTY)
_ACKNOWLEDGEMENT_HEADS = {p.Puback: 0x40, p.Pubrec: 0x50, p.Pubrel: 0x62, p.Pubcomp: 0x70}


def encode(packet: p.Packet, version: p.Version) -> bytes:
    head, body = _WRITERS[type(packet)](packet, version)
    return f.u8(head) + f.varint(len(body)) + body


def encode_within(packet: p.Connack | p.Disconnect, version: p.Version, most: int) -> bytes | None:
    """The packet in so many bytes: without words for people, if it is too large with them; None if it still is."""
    data = encode(packet, version)
    if len(data) <= most:
        return data
    terms = {one: value for one, value in packet.properties.items() if one not in FOR_PEOPLE}
    data = encode(replace(packet, properties=terms), version)
    return data if len(data) <= most else None


def _publish_body(topic: bytes, packet_id: int, properties: bytes, payload: bytes) -> bytes:
    """The body of a PUBLISH whose parts are bytes already; `properties` is empty before MQTT 5."""
    identifier = f.u16(packet_id) if packet_id else b""
    return b"".join((f.u16(len(topic)), topic, identifier, properties, payload))


def acknowledgement(head: int, packet_id: int) -> bytes:
    """A PUBACK, PUBREC, PUBREL or PUBCOMP that says success, the same in all versions."""
    return bytes((head, 2, packet_id >> 8, packet_id & 255))


def _properties(properties: Properties, version: p.Version) -> bytes:
    return write_properties(properties) if version is p.Version.V5 else b""


def _connect(packet: p.Connect, version: p.Version) -> tuple[int, bytes]:
    will = packet.will
    flags = packet.clean << 1 | (packet.username is not None) << 7 | (packet.password is not None) << 6
    if will is not None:
        flags |= 4 | will.qos << 3 | will.retain << 5
    name, level = "MQIsdp" if version is p.Version.V31 else "MQTT", version | packet.bridge << 7
    parts = [f.string(name), f.u8(level), f.u8(flags), f.u16(packet.keep_alive)]
    parts += [_properties(packet.properties, version), f.string(packet.client)]
    if will is not None:
        parts += [_properties(will.properties, version), f.string(will.topic), f.binary(will.payload)]
    if packet.username is not None:
        parts.append(f.string(packet.username))
    if packet.password is not None:
        parts.append(f.binary(packet.password))
    return 0x10, b"".join(parts)


def _connack(packet: p.Connack, version: p.Version) -> tuple[int, bytes]:
    return 0x20, f.u8(packet.session_present) + f.u8(packet.code) + _properties(packet.properties, version)


def _publish(packet: p.Publish, version: p.Version) -> tuple[int, bytes]:
    head = 0x30 | packet.dup << 3 | packet.qos << 1 | packet.retain
    properties = _properties(packet.properties, version)
    return head, _publish_body(packet.topic.encode(), packet.packet_id, properties, packet.payload)


def _acknowledgement(packet: p.Acknowledgement, version: p.Version) -> tuple[int, bytes]:
    tail = _reason_and_properties(packet.reason, packet.properties, version)
    return _ACKNOWLEDGEMENT_HEADS[type(packet)], f.u16(packet.packet_id) + tail


def _reason_and_properties(reason: int, properties: Properties, version: p.Version) -> bytes:
    if version is not p.Version.V5 or (reason == Reason.SUCCESS and not properties):
        return b""
    return f.u8(reason) + (write_properties(properties) if properties else b"")


def _subscribe(packet: p.Subscribe, version: p.Version) -> tuple[int, bytes]:
    parts = [f.u16(packet.packet_id), _properties(packet.properties, version)]
    for one in packet.requests:
        options = one.qos | one.no_local << 2 | one.retain_as_published << 3 | one.retain_handling << 4
        parts += [f.string(one.filter), f.u8(options)]
    return 0x82, b"".join(parts)


def _suback(packet: p.Suback, version: p.Version) -> tuple[int, bytes]:
    return 0x90, f.u16(packet.packet_id) + _properties(packet.properties, version) + bytes(packet.codes)


def _unsubscribe(packet: p.Unsubscribe, version: p.Version) -> tuple[int, bytes]:
    filters = [f.string(one) for one in packet.filters]
    return 0xA2, b"".join((f.u16(packet.packet_id), _properties(packet.properties, version), *filters))


def _unsuback(packet: p.Unsuback, version: p.Version) -> tuple[int, bytes]:
    codes = bytes(packet.codes) if version is p.Version.V5 else b""
    return 0xB0, f.u16(packet.packet_id) + _properties(packet.properties, version) + codes


def _disconnect(packet: p.Disconnect, version: p.Version) -> tuple[int, bytes]:
    return 0xE0, _reason_and_properties(packet.reason, packet.properties, version)


def _auth(packet: p.Auth, version: p.Version) -> tuple[int, bytes]:
    return 0xF0, _reason_and_properties(packet.reason, packet.properties, version)


_WRITERS: dict[type[p.Packet], Callable[[Any, p.Version], tuple[int, bytes]]] = {
    p.Connect: _connect,
    p.Connack: _connack,
    p.Publish: _publish,
    p.Puback: _acknowledgement,
    p.Pubrec: _acknowledgement,
    p.Pubrel: _acknowledgement,
    p.Pubcomp: _acknowledgement,
    p.Subscribe: _subscribe,
    p.Suback: _suback,
    p.Unsubscribe: _unsubscribe,
    p.Unsuback: _unsuback,
    p.Pingreq: lambda _, __: (0xC0, b""),
    p.Pingresp: lambda _, __: (0xD0, b""),
    p.Disconnect: _disconnect,
    p.Auth: _auth,
}
