"""Messages between brokers as bytes: one JSON document a message, whose first name is that of the message.

A text without a text after it has null. Bytes that are no message are the sender's fault, and
say so; a broker is never handed anything that its tables cannot hold.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any

from weft.errors import WeftError
from weft.model.content import (
    Advertisement,
    Conjunction,
    Content,
    Filter,
    Subscription,
    Values,
    values_of,
)
from weft.protocol.popsub.message import (
    Advertise,
    Batch,
    Direct,
    Forward,
    Gossip,
    Join,
    MessageError,
    Publication,
    Retrieve,
    Retrieved,
    Subscribe,
    Sweep,
    Switch,
    Unadvertise,
    Unsubscribe,
)
from weft.protocol.router import Packet

_compact = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode


def encode(message: Packet) -> bytes:
    return _compact(_document(message)).encode()


def decode(data: bytes) -> Packet:
    try:
        document = json.loads(data)
        return _READERS[next(iter(document))](document)
    except (ValueError, TypeError, KeyError, AttributeError, StopIteration, WeftError) as error:
        raise MessageError(f"A message of another broker cannot be read: {error!r}.") from error


def _document(message: Packet) -> dict[str, Any]:
    match message:
        case Batch(publications, hops):
            return {"batch": [_said(each) for each in publications], "hops": hops}
        case Forward(Publication() as publication, hops, switch, view, digest):
            plain = {"forward": _said(publication), "hops": hops}
            return plain if switch is Switch.NONE else plain | {"switch": switch, "view": view, "digest": digest}
        case Advertise(advertisement):
            described = _filter(advertisement.filter)
            return {"advertise": advertisement.number, "filter": described, "priority": advertisement.priority}
        case Unadvertise(number):
            return {"unadvertise": number}
        case Subscribe(subscription, origin, hops):
            described = _filter(subscription.filter)
            return {"subscribe": subscription.number, "filter": described, "origin": origin, "hops": hops}
        case Unsubscribe(number):
            return {"unsubscribe": number}
    return _out_of_overlay(message)


def _out_of_overlay(message: Packet) -> dict[str, Any]:
    match message:
        case Sweep(advertisement, issuer, digest):
            return {"sweep": advertisement, "issuer": issuer, "digest": digest}
        case Direct(publication):
            return {"direct": _said(publication)}
        case Join(advertisement, issuer, latest, view):
            return {"join": advertisement, "issuer": issuer, "latest": latest, "view": view}
        case Gossip(advertisement, publications, digest, joined, left):
            pushed = [_said(each) for each in publications]
            return {"gossip": advertisement, "pushed": pushed, "digest": digest, "joined": joined, "left": left}
        case Retrieve(advertisement, numbers):
            return {"retrieve": advertisement, "numbers": numbers}
        case Retrieved(publications):
            return {"retrieved": [_said(each) for each in publications]}
    raise TypeError(f"{type(message).__name__} is no message between brokers")


def _said(publication: Publication) -> list[Any]:
    said = publication.said
    content = publication.content.decode("latin-1")  # a character a byte
    return [publication.issuer, publication.number, publication.topic, said.kind, dict(said.values), content]


def _filter(wanted: Filter) -> list[Any]:
    return [wanted.kind, *({name: _values(each) for name, each in one.items()} for one in wanted.conjunctions)]


def _values(values: Values) -> list[Any]:
    return [values.numbers, values.texts, values.absent]


def _read_said(row: list[Any]) -> Publication:
    issuer, number, topic, kind, values, content = row
    return Publication(
        _number(issuer), _number(number), _number(topic), content.encode("latin-1"), said=Content(kind, values)
    )


def _read_all(rows: list[Any]) -> tuple[Publication, ...]:
    return tuple(_read_said(row) for row in rows)


def _read_filter(row: list[Any]) -> Filter:
    kind, *conjunctions = row
    return Filter(_text(kind), *map(_read_conjunction, conjunctions))


def _read_conjunction(document: Mapping[str, Any]) -> Conjunction:
    return {name: _read_values(*given) for name, given in document.items()}


def _read_values(numbers: list[Any], texts: list[Any], absent: bool) -> Values:
    ends = [(float(low), float(high)) for low, high in numbers]
    values = values_of(
        ends, [(_text(start), None if stop is None else _text(stop)) for start, stop in texts], absent is True
    )
    if not values:
        raise ValueError("an attribute may have no value at all")
    return values


def _text(given: Any) -> str:
    if not isinstance(given, str):
        raise ValueError(f"{given!r} is no text")
    return given


def _number(given: Any) -> int:
    if not isinstance(given, int):
        raise ValueError(f"{given!r} is no whole number")
    return given


def _numbers(given: list[Any]) -> tuple[int, ...]:
    return tuple(map(_number, given))


def _hops(given: Any) -> int:
    if _number(given) < 1:
        raise ValueError(f"{given} hops are none")
    return int(given)


def _forward(document: Mapping[str, Any]) -> Forward:
    return Forward(
        _read_said(document["forward"]),
        _hops(document["hops"]),
        Switch(document.get("switch", "none")),
        _numbers(document.get("view", ())),
        _numbers(document.get("digest", ())),
    )


def _subscribe(document: Mapping[str, Any]) -> Subscribe:
    wanted = Subscription(_number(document["subscribe"]), _read_filter(document["filter"]))
    return Subscribe(wanted, _number(document["origin"]), _hops(document["hops"]))


def _advertise(document: Mapping[str, Any]) -> Advertise:
    number, filter_ = _number(document["advertise"]), _read_filter(document["filter"])
    return Advertise(Advertisement(number, filter_, bool(document["priority"])))


_READERS: dict[str, Callable[[Mapping[str, Any]], Packet]] = {
    "forward": _forward,
    "batch": lambda document: Batch(_read_all(document["batch"]), _hops(document["hops"])),
    "advertise": _advertise,
    "unadvertise": lambda document: Unadvertise(_number(document["unadvertise"])),
    "subscribe": _subscribe,
    "unsubscribe": lambda document: Unsubscribe(_number(document["unsubscribe"])),
    "sweep": lambda document: Sweep(
        _number(document["sweep"]), _number(document["issuer"]), _numbers(document["digest"])
    ),
    "direct": lambda document: Direct(_read_said(document["direct"])),
    "join": lambda document: Join(
        _number(document["join"]), _number(document["issuer"]), _number(document["latest"]), _numbers(document["view"])
    ),
    "gossip": lambda document: Gossip(
        _number(document["gossip"]),
        _read_all(document["pushed"]),
        _numbers(document["digest"]),
        _numbers(document["joined"]),
        _numbers(document["left"]),
    ),
    "retrieve": lambda document: Retrieve(_number(document["retrieve"]), _numbers(document["numbers"])),
    "retrieved": lambda document: Retrieved(_read_all(document["retrieved"])),
}
