"""A Weft network beside what else carries the same: relays, throughput and latency, subscribing, failing.

    python benchmarks/network.py [--parts relays,fleets,subscriptions,failures] [--nodes 32] [--fleet 16] [--seconds 5]

All nodes, Mosquittos and clients share the cores of one machine, on loopback: the ratios are what counts. The load is
`weft bench`'s, in the shape of a generated social instance: its users are clients, user i at broker i modulo their
number.
"""

import argparse
import contextlib
import json
import math
import os
import signal
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from bridged import WEFT, Fleet, await_joined, mosquitto_mesh, mosquitto_star, named_by_origin, weft_network

from weft.live.address import Address
from weft.live.bench.client import connected, subscribe
from weft.live.bench.load import Load, Manner, instance_load
from weft.live.bench.measurement import measure
from weft.model.instance import Instance, read_instance
from weft.model.overlay import read_overlay
from weft.sim.bulk import evaluate
from weft.sim.network import network_for
from weft.wire.mqtt.packet import Publish, Request, Subscribe, Version
from weft.wire.mqtt.parser import Parser
from weft.wire.mqtt.writer import encode
from weft.workloads.catalog import generate
from weft.workloads.publication import publications

V = Version.V311
PORT = 26_000


def weft(*arguments: object) -> dict[str, Any]:
    """What a command of Weft answers."""
    done = subprocess.run([*WEFT, *map(str, arguments), "--json"], stdout=subprocess.PIPE, text=True, check=True)
    return dict(json.loads(done.stdout))


def row(*cells: object) -> None:
    print("| " + " | ".join(str(cell) for cell in cells) + " |", flush=True)


def head(*cells: str) -> None:
    print()
    row(*cells)
    row(*("---" for _ in cells))


# Relays


def relays(nodes: int, users: int, seconds: float, rate: float) -> None:
    """Relays a delivery that nodes count, and those of other routers over the same links, simulated."""
    social = generate("social", nodes=users, seed=1)
    head("router", "nodes", "topics", "links of a node, at most", "3 log2 n", "deliveries to nodes", "relays a delivery")
    with tempfile.TemporaryDirectory() as folder, weft_network(nodes, PORT) as fleet, held(social, fleet):
        path = Path(folder)
        weft("snapshot", "--master", fleet.master, "--out", path / "live")
        weft("design", path / "live", "--overlay", "swico-even", "--seed", 1, "--out", path / "overlay")
        weft("apply", path / "overlay", "--master", fleet.master, "--yes")
        await_quiet(fleet)
        live, overlay = read_instance(path / "live"), read_overlay(path / "overlay")
        bound, links = 3 * math.log2(nodes), int(overlay.degrees.max())
        before = counters(fleet)
        measure(instance_load(social, fleet.targets), Manner(rate=rate, seconds=seconds))
        after = counted(fleet)
        delivered, relayed = (after[name] - before[name] for name in ("delivered", "relayed"))
        row("Weave, live", nodes, live.topics, links, f"{bound:.1f}", f"{delivered:,}", f"{relayed / delivered:.4f}")
        drawn = publications(live, 20_000, seed=1)
        for router in ("weave", "pie", "scribe"):
            found = evaluate(network_for(router, live, overlay), router, drawn)
            told = f"{router.capitalize()}, simulated"
            share = found.routing_overhead / found.deliveries
            row(told, nodes, live.topics, links, f"{bound:.1f}", f"{found.deliveries:,}", f"{share:.4f}")
