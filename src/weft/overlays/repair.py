"""Repair: the overlay of an instance that has changed, with few of its links opened or closed.

Nodes join and leave, and subscriptions change. Only the links that are there and the instance of now decide; how many
changes lie between does not matter, and one repair after a hundred of them is as good as a hundred repairs.

- A topic-connected overlay (GM, DC, DCBC, and what was joined of such) is designed again by GM, which favours the links
  that are there (favour.py). Links that serve nobody any more are closed.
- In a ring overlay nodes stay in their order, and those that join are put between two that are neighbours, which gives
  them the two links of the ring. Then come the fingers (ring_repair.py).

Section III of the DC paper has a case where an overlay to which links are only added ends up with a clique, and a new
design with a star. A repair finds the star: the node that subscribes to everything contributes more than twice as much.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from weft.arrays import Int32s, Int64s
from weft.errors import WeftError
from weft.kernels.greedy.connectivity import unlinked
from weft.kernels.greedy.constraint import any_link, degree_at_most
from weft.model.instance import Instance
from weft.model.overlay import Overlay, overlay_from_links, require_made_for, undirected
from weft.model.seed import require_seed
from weft.overlays.favour import favoured
from weft.overlays.ring_repair import RINGS, repaired_ring

TOPIC_CONNECTED = ("gm", "dc", "dcbc", "join-star", "join-naive")
GONE = -1

Link = tuple[str, str]


@dataclass(frozen=True, eq=False)
class Repair:
    overlay: Overlay
    opened: tuple[Link, ...]  # by the names of the two nodes, or their numbers where they have none
    closed: tuple[Link, ...]


def repair(overlay: Overlay, was: Instance, instance: Instance, *, seed: int = 1) -> Repair:
    """Repair an overlay that was made for `was`, for the instance that it has become.

    Nodes are the same by name, or by number where there are no names.
    """
    require_seed(seed)
    require_made_for(was, overlay)
    now = _counterparts(was, instance)
    made = _repaired(overlay, instance, now, seed)
    before, after = _pairs(now[overlay.sources], now[overlay.targets]), _pairs(made.sources, made.targets)
    opened = tuple((instance.node_name(low), instance.node_name(high)) for low, high in sorted(after - before))
    there = zip(*(ends.tolist() for ends in undirected(overlay)), strict=True)
    gone = [(low, high) for low, high in there if _pair(int(now[low]), int(now[high])) not in after]
    closed = tuple((was.node_name(low), was.node_name(high)) for low, high in gone)
    counts = {"opened": len(opened), "closed": len(closed), "kept": len(after) - len(opened)}
    return Repair(made.with_meta(repair=counts), opened, closed)


def _repaired(overlay: Overlay, instance: Instance, now: Int64s, seed: int) -> Overlay:
    """The overlay of the instance; `now` has the node that every node of before is, GONE where it is none."""
    algorithm = overlay.meta.get("algorithm")
    parameters: Mapping[str, Any] = overlay.meta.get("parameters") or {}
    if algorithm not in (*TOPIC_CONNECTED, *RINGS):
        raise WeftError(
            f"{algorithm or 'An overlay without a name'} cannot be repaired, only designed anew: "
            f"{', '.join([*TOPIC_CONNECTED[:3], *RINGS])} can."
        )
    if parameters.get("average_degree") is not None:
        raise WeftError("gm with an average degree stops before topics are connected: design it anew.")
    start = time.perf_counter()
    sources, targets = now[overlay.sources], now[overlay.targets]
    there = (sources != GONE) & (targets != GONE)
    sources, targets = sources[there].astype(np.int32), targets[there].astype(np.int32)
    rng = np.random.default_rng(seed)
    if algorithm in RINGS:
        made = repaired_ring(instance, _order(overlay, now), sources, targets, algorithm, parameters, rng)
    else:
        made = _connected(instance, sources, targets, parameters.get("maximum_degree"), rng)
    seconds = time.perf_counter() - start
    return made.with_meta(
        algorithm=algorithm,
        parameters=dict(parameters),
        seed=seed,
        seconds=seconds,
        instance=instance.fingerprint,
    )


def _counterparts(was: Instance, instance: Instance) -> Int64s:
    """The node that every node of before is now, or GONE."""
    if (was.node_names is None) != (instance.node_names is None):
        raise WeftError("One of the instances names its nodes and the other does not: nobody knows which are the same.")
    if was.node_names is None or instance.node_names is None:
        numbers = np.arange(was.nodes)
        return np.where(numbers < instance.nodes, numbers, GONE)
    found = {name: node for node, name in enumerate(instance.node_names.tolist())}
    return np.array([found.get(name, GONE) for name in was.node_names.tolist()], np.int64)


def _connected(
    instance: Instance, sources: Int32s, targets: Int32s, most: int | None, rng: np.random.Generator
) -> Overlay:
    interest = instance.interest
    tcc = unlinked(interest.indptr, interest.indices)
    constraint = any_link() if most is None else degree_at_most(min(most, instance.nodes), instance.nodes)
    found = favoured(interest, tcc, constraint, sources, targets, rng)
    return overlay_from_links(
        instance.nodes,
        np.concatenate([sources[found.kept], found.opened.owners]),
        np.concatenate([targets[found.kept], found.opened.others]),
    )


def _order(overlay: Overlay, now: Int64s) -> Int64s:
    """The nodes of now that were there, in the order of the ring."""
    if overlay.ring_ids is None:
        raise WeftError("The overlay has no ring, though its algorithm makes one: it cannot be repaired.")
    order = now[np.argsort(overlay.ring_ids)]
    there: Int64s = order[order != GONE]
    return there


def _pair(one: int, other: int) -> tuple[int, int]:
    return min(one, other), max(one, other)


def _pairs(sources: Int64s | Int32s, targets: Int64s | Int32s) -> set[tuple[int, int]]:
    """Links between nodes that are there, whoever owns them."""
    pairs = zip(sources.tolist(), targets.tolist(), strict=True)
    return {_pair(source, target) for source, target in pairs if GONE not in (source, target)}
