"""What designs: an engine takes a job and gives a design, in this process or on Spark, always the same.

A design is `swico-even` and Weave's trees over it, with few changes where they gain little:

- The present ring is kept where fingers designed on it connect topics as well as those on a new ring, but for KEEPING.
  On generated social graphs this halves the links that change, and leaves every node its place.
- A finger that joins no topic which a present link would not join as well is exchanged for that link, where it is in
  the same phase and nobody gets more links by it.
- Small networks get spare links (spare.py), present ones first: links of the overlay that are no fingers.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from weft.arrays import Int32s, Int64s
from weft.master.spare import FULL, most_links, spare_links
from weft.model.instance import Instance
from weft.model.latency import MatrixLatency
from weft.model.overlay import NO_PHASE, Overlay, overlay_from_links
from weft.model.ring import clockwise, phase, phase_count
from weft.model.tree import Trees

ALGORITHM = "swico-even"
KEEPING = 0.005  # of TcoSuppR, that keeping the ring may cost


@dataclass(frozen=True, eq=False)
class Job:
    instance: Instance
    latency: MatrixLatency | None
    sources: Int32s  # present links, whoever owns them
    targets: Int32s
    ranks: Int64s  # of every node on the present ring
    seed: int
    fan_out: int
    overlay: Overlay | None = None  # given: only trees are wanted


@dataclass(frozen=True, eq=False)
class Design:
    overlay: Overlay
    trees: Trees


Engine = Callable[[Job], Design]


def design_here(job: Job) -> Design:
    """The engine of this process."""
    from weft.trees.weave import weave  # it compiles kernels

    overlay = job.overlay or overlay_of(job)
    return Design(overlay, weave(job.instance, overlay, fan_out=job.fan_out, latency=job.latency))


def overlay_of(job: Job) -> Overlay:
    """Links for a job, on the present ring if that is as good."""
    from weft.overlays.catalog import design  # they compile kernels
    from weft.overlays.quality import link_quality
    from weft.overlays.swico import even_on_ring

    new = design(job.instance, ALGORITHM, seed=job.seed, latency=job.latency)
    kept = even_on_ring(job.instance, job.ranks, seed=job.seed, latency=job.latency).with_meta(**new.meta)
    ratios = [link_quality(job.instance, each)["tco_support_ratio"] for each in (kept, new)]
    return _with_spare_links(job, with_present_links(job, kept if ratios[0] >= ratios[1] - KEEPING else new))


def _with_spare_links(job: Job, overlay: Overlay) -> Overlay:
    """The overlay with as many links as nodes may have, if it is small."""
    if overlay.nodes > FULL:
        return overlay
    nodes = range(overlay.nodes)
    interests = {node: set(job.instance.interest[node].tolist()) for node in nodes}
    peers = dict(enumerate(_neighbours(overlay.nodes, overlay.sources, overlay.targets)))
    present = list(zip(job.sources.tolist(), job.targets.tolist(), strict=True))
    spare = sorted(spare_links(peers, most_links(overlay.nodes), interests, present))
    ends = np.array(spare, np.int32).reshape(-1, 2)
    made = overlay_from_links(
        overlay.nodes,
        np.append(overlay.sources, ends[:, 0]),
        np.append(overlay.targets, ends[:, 1]),
        np.append(overlay.phases, np.full(len(ends), NO_PHASE)),
        ring_ids=overlay.ring_ids,
        ring_size=overlay.ring_size,
    )
    return replace(made, meta=overlay.meta)


def with_present_links(job: Job, overlay: Overlay) -> Overlay:
    """The overlay, with present links instead of fingers where these are as good."""
    assert overlay.ring_ids is not None
    nodes, ring = overlay.nodes, overlay.ring_ids
    interests = [set(job.instance.interest[node].tolist()) for node in range(nodes)]
    present = _neighbours(nodes, job.sources, job.targets)
    fingers = _fingers(overlay)
    linked = [set(row) for row in fingers]
    for owner, row in enumerate(fingers):
        for peer in row:
            linked[peer].add(owner)
    places = _places(nodes, fingers)
    for owner, row in enumerate(fingers):
        for place, peer in enumerate(row[1:], 1):
            if peer in present[owner]:
                continue
            wanted = interests[owner] & interests[peer]
            own_phase = phase(clockwise(int(ring[owner]), int(ring[peer]), nodes))
            for other in sorted(present[owner] - linked[owner]):
                there = phase(clockwise(int(ring[owner]), int(ring[other]), nodes))
                if there == own_phase and places[other] > 0 and wanted <= interests[other]:
                    row[place] = other
                    linked[owner].add(other)
                    linked[other].add(owner)
                    places[peer] += 1
                    places[other] -= 1
                    break
    return _overlay_of(overlay, fingers)


def _neighbours(nodes: int, sources: Int32s, targets: Int32s) -> list[set[int]]:
    found: list[set[int]] = [set() for _ in range(nodes)]
    for one, other in zip(sources.tolist(), targets.tolist(), strict=True):
        found[one].add(other)
        found[other].add(one)
    return found


def _fingers(overlay: Overlay) -> list[list[int]]:
    """Fingers that every node owns, its successor first."""
    return [overlay.of(node).tolist() for node in range(overlay.nodes)]


def _places(nodes: int, fingers: list[list[int]]) -> list[int]:
    """How many more fingers may point at every node."""
    places = [2 * max(1, phase_count(nodes))] * nodes
    for row in fingers:
        for peer in row:
            places[peer] -= 1
    return places


def _overlay_of(overlay: Overlay, fingers: list[list[int]]) -> Overlay:
    sources = np.repeat(np.arange(overlay.nodes), [len(row) for row in fingers])
    targets = np.array([peer for row in fingers for peer in row], np.int64)
    made = overlay_from_links(overlay.nodes, sources, targets, ring_ids=overlay.ring_ids, ring_size=overlay.ring_size)
    return replace(with_phases(made), meta=overlay.meta)


def with_phases(overlay: Overlay) -> Overlay:
    """The overlay, all of whose links are fingers."""
    ring, size = overlay.ring_ids, overlay.ring_size
    assert ring is not None
    phases = phase(clockwise(ring[overlay.sources], ring[overlay.targets], size or 1))
    made = overlay_from_links(overlay.nodes, overlay.sources, overlay.targets, phases, ring_ids=ring, ring_size=size)
    assert not np.any(made.phases == NO_PHASE)
    return replace(made, meta=overlay.meta)
