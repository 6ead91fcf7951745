"""A plan for Zenoh as a folder: a configuration for every router, NAME.json5: where it listens, to whom it connects.

Zenoh's routers find a tree of the links for every publisher by themselves, so that links are all they are told.
Scouting is off, or they would link with everybody in reach.
"""

import json
from pathlib import Path
from typing import Any

from weft.fleet.broker import Broker, Brokers
from weft.fleet.plan import Plan
from weft.model.storage import new_folder, write_meta


def write_zenoh(plan: Plan, brokers: Brokers, out: Path, *, force: bool = False) -> None:
    with new_folder(out, force=force) as folder:
        for name in plan.brokers:
            peers = [brokers[bridge.remote] for bridge in plan.bridges if bridge.owner == name]
            text = json.dumps(_zenoh(brokers[name], peers), indent=2)
            (folder / f"{name}.json5").write_text(f"{text}\n", "utf-8")
        write_meta(folder, {"export": "zenoh", **plan.figures})


def _zenoh(own: Broker, peers: list[Broker]) -> dict[str, Any]:
    return {
        "mode": "router",
        "listen": {"endpoints": [_endpoint(own, "0.0.0.0")]},
        "connect": {"endpoints": [_endpoint(peer, peer.host) for peer in peers]},
        "scouting": {"multicast": {"enabled": False}, "gossip": {"enabled": False}},
        **_tls(own, peers),
    }


def _tls(own: Broker, peers: list[Broker]) -> dict[str, Any]:
    """Paths of certificates, under the names that Zenoh has for them since 1.0; none without TLS."""
    authority = next((each.cafile for each in (own, *peers) if each.cafile), None)
    if authority is None:
        return {}
    tls = {"root_ca_certificate": authority}
    if own.certfile and own.keyfile:
        tls |= {"listen_certificate": own.certfile, "listen_private_key": own.keyfile}
    return {"transport": {"link": {"tls": tls}}}


def _endpoint(broker: Broker, host: str) -> str:
    return f"{'tls' if broker.cafile else 'tcp'}/{host}:{broker.port}"
