"""Messages that carry publications along the tree, as bytes: one JSON document a message."""

import json
from typing import Any

from weft.model.content import Content
from weft.protocol.popsub.message import Batch, Forward, Publication, Switch

_compact = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode


def encode(message: Forward | Batch) -> bytes:
    match message:
        case Batch(publications, hops):
            document: dict[str, Any] = {"batch": [_publication(said) for said in publications], "hops": hops}
        case Forward(publication, hops, switch, view, digest):
            assert isinstance(publication, Publication)
            document = {"forward": _publication(publication), "hops": hops}
            if switch is not Switch.NONE:
                document |= {"switch": switch, "view": view, "digest": digest}
    return _compact(document).encode()


def decode(data: bytes) -> Forward | Batch:
    document = json.loads(data)
    if "batch" in document:
        return Batch(tuple(_read(said) for said in document["batch"]), document["hops"])
    return Forward(
        _read(document["forward"]),
        document["hops"],
        Switch(document.get("switch", "none")),
        tuple(document.get("view", ())),
        tuple(document.get("digest", ())),
    )


def _publication(publication: Publication) -> list[Any]:
    said = publication.said
    content = publication.content.decode("latin-1")  # a character a byte
    return [publication.issuer, publication.number, publication.topic, said.kind, dict(said.values), content]


def _read(row: list[Any]) -> Publication:
    issuer, number, topic, kind, values, content = row
    return Publication(issuer, number, topic, content.encode("latin-1"), said=Content(kind, values))
