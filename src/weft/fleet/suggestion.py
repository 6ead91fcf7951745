"""Where the clients of a fleet should be: placement with the limits that a user gives."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from weft.arrays import Bools, Floats
from weft.errors import WeftError
from weft.fleet.broker import read_brokers, require_brokers
from weft.fleet.fleet import Fleet
from weft.fleet.placement import Allotment, Groups, allot, capacities, groups_of, suggestions
from weft.model.latency import placed_latency


@dataclass(frozen=True, eq=False)
class Limits:
    room: tuple[int | None, ...]  # clients of every broker; None: as capacities() has it
    near: Bools | None  # from which broker to which a client may move; None: from any to any
    rates: Floats  # of every topic


def limits_of(
    fleet: Fleet,
    brokers: Path | None,
    latency: str | None,
    within: float | None,
    seed: int,
    *,
    draw_hosts: bool = False,
) -> Limits:
    known = fleet.instance.publishers
    rates = np.ones(len(fleet.topics)) if known is None else known.topic_rates(len(fleet.topics))
    room: tuple[int | None, ...] = (None,) * len(fleet.brokers)
    if brokers is not None:
        given = read_brokers(brokers)
        require_brokers(list(fleet.brokers), given, str(brokers))
        room = tuple(given[name].capacity for name in fleet.brokers)
    return Limits(room, _near(fleet, latency, within, seed, draw_hosts), rates)


def _near(fleet: Fleet, latency: str | None, within: float | None, seed: int, draw_hosts: bool) -> Bools | None:
    if latency is None or within is None:
        return None
    if within < 0:
        raise WeftError(f"`within` {within} is out of range: give milliseconds from 0.", "within")
    placed = placed_latency(latency, len(fleet.brokers), seed, fleet.instance.node_names, draw_hosts=draw_hosts)
    sources, targets = np.indices((len(fleet.brokers), len(fleet.brokers)))
    near: Bools = placed.round_trip(sources.ravel(), targets.ravel()).reshape(sources.shape) <= within
    return near


def suggest(fleet: Fleet, limits: Limits) -> tuple[pa.Table, dict[str, Any]]:
    """client, broker and suggested of every client, and what it comes to."""
    require_clients(fleet)
    units, groups = groups_of(fleet.clients, fleet.filters, fleet.brokers, len(fleet.topics))
    allotment = allotted(groups, limits)
    return suggestions(units, allotment, fleet.brokers), allotment.figures(groups)


def allotted(groups: Groups, limits: Limits) -> Allotment:
    return allot(groups, capacities(groups, limits.room), limits.rates, limits.near)


def require_clients(fleet: Fleet) -> None:
    if not fleet.clients.num_rows:
        raise WeftError("The fleet has no clients to place: import it again, with its clients.")
