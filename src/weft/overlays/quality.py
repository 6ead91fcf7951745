"""What an overlay is worth for an instance, measured on its links alone, not by the code that designed it.

A link counts in both directions. The sub-overlay of a topic is its subscribers with the links among them; its connected
parts are topic-connected components (TCCs). TcoSuppR (BeaConvey, equation 7) is the share of the avoidable TCCs that
the links avoid: 0 without links, 1 when every topic is connected.

All sub-overlays together are one graph, whose vertices are the subscriptions in the order of `instance.subscribers`.
"""

from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from weft.arrays import Int32s, Int64s
from weft.kernels.parallel import chunk_bounds, threads_for
from weft.kernels.quality.diameter import diameters
from weft.kernels.quality.topic_link import shared_subscriptions, shared_topic_counts
from weft.model.instance import Instance
from weft.model.overlay import NO_PHASE, Overlay, require_made_for, undirected
from weft.model.ring import Phases, clockwise, phase, phase_count

SHOWN = 10


def link_quality(instance: Instance, overlay: Overlay) -> dict[str, Any]:
    """The figures that are cheap at any size, which `design` writes into the overlay's meta."""
    tccs = tcc_counts(instance, topic_subgraph(instance, overlay))
    return link_figures(instance.subscriptions, overlay, tccs)


def quality(instance: Instance, overlay: Overlay, phases: Phases | None = None) -> dict[str, Any]:
    """All figures of an overlay, for `inspect`; the phases are those of `ring_violations`."""
    subgraph = topic_subgraph(instance, overlay)
    tccs = tcc_counts(instance, subgraph)
    return {
        **link_figures(instance.subscriptions, overlay, tccs),
        "nodes_by_out_degree": distribution(out_degrees(overlay)),
        "nodes_by_in_degree": distribution(in_degrees(overlay)),
        "topic_diameter": _summary(topic_diameters(instance, subgraph)[tccs > 0]),
        **({} if overlay.ring_ids is None else {"phases": phases or phases_of(overlay)}),
        "ring_violations": ring_violations(overlay, phases),
    }


def link_figures(subscriptions: int, overlay: Overlay, tccs: Int64s) -> dict[str, Any]:
    """The same, from how many TCCs every topic has."""
    return {
        "tco_support_ratio": tco_support_ratio(subscriptions, tccs),
        "tccs": int(tccs.sum()),
        "connected_topics": int(np.count_nonzero(tccs == 1)),
        "subscribed_topics": int(np.count_nonzero(tccs)),
        "out_degree": _summary(out_degrees(overlay)),
        "in_degree": _summary(in_degrees(overlay)),
        "degree": _summary(degrees(overlay)),
    }


def _summary(values: Int64s | Int32s) -> dict[str, float]:
    if not len(values):
        return {}
    return {"minimum": int(values.min()), "average": float(values.mean()), "maximum": int(values.max())}


def distribution(values: Int64s) -> dict[int, int]:
    """How often each value occurs."""
    found, counts = np.unique(values, return_counts=True)
    return dict(zip(found.tolist(), counts.tolist(), strict=True))


def topic_subgraph(instance: Instance, overlay: Overlay) -> sparse.csr_array:
    require_made_for(instance, overlay)
    interest = instance.interest
    sources, targets = undirected(overlay)
    with threads_for(int(interest.counts[sources].sum() + interest.counts[targets].sum())):
        counts = shared_topic_counts(interest.indptr, interest.indices, sources, targets)
        offsets = np.append(0, np.cumsum(counts))
        ones, others = shared_subscriptions(interest.indptr, interest.indices, sources, targets, offsets)
    place = np.empty(instance.subscriptions, np.int32)
    place[np.argsort(interest.indices, kind="stable")] = np.arange(instance.subscriptions, dtype=np.int32)
    ends = (np.concatenate([place[ones], place[others]]), np.concatenate([place[others], place[ones]]))
    size = instance.subscriptions
    return sparse.coo_array((np.ones(len(ends[0]), np.int8), ends), shape=(size, size)).tocsr()


def tcc_counts(instance: Instance, subgraph: sparse.csr_array) -> Int64s:
    """How many TCCs every topic has; none without subscribers."""
    count, tcc_of = csgraph.connected_components(subgraph, directed=False)
    topic_of = np.empty(count, np.int32)
    topic_of[tcc_of] = instance.subscribers.row_of_each()
    return np.bincount(topic_of, minlength=instance.topics)


def tco_support_ratio(subscriptions: int, tccs: Int64s) -> float:
    """TcoSuppR; 1 where nothing is to be connected."""
    avoidable = subscriptions - np.count_nonzero(tccs)
    return float((subscriptions - tccs.sum()) / avoidable) if avoidable else 1.0


def topic_diameters(instance: Instance, subgraph: sparse.csr_array) -> Int32s:
    """The longest of the shortest paths inside every topic's sub-overlay, within its TCCs; 0 without subscribers."""
    starts = instance.subscribers.indptr
    searches = instance.subscribers.counts * np.diff(subgraph.indptr[starts]) + instance.subscribers.counts
    with threads_for(int(searches.sum())):
        return diameters(starts, subgraph.indptr.astype(np.int64), subgraph.indices, chunk_bounds(searches))


def out_degrees(overlay: Overlay) -> Int64s:
    return np.bincount(overlay.sources, minlength=overlay.nodes)


def in_degrees(overlay: Overlay) -> Int64s:
    return np.bincount(overlay.targets, minlength=overlay.nodes)


def degrees(overlay: Overlay) -> Int64s:
    """How many other nodes each node is linked with, whoever owns the links."""
    low, high = undirected(overlay)
    return np.bincount(low, minlength=overlay.nodes) + np.bincount(high, minlength=overlay.nodes)


def phases_of(overlay: Overlay) -> Phases:
    """The phases that its nodes have fingers in, as designed; else whole where none has one in a phase cut short."""
    known: Phases | None = (overlay.meta.get("parameters") or {}).get("phases")
    if known is not None:
        return known
    most = int(overlay.phases.max(initial=NO_PHASE)) + 1
    return "whole" if most == phase_count(overlay.nodes, "whole") else "cut"


def ring_violations(overlay: Overlay, phases: Phases | None = None) -> list[str]:
    """Where Property 1 does not hold: ids 0 to |V| - 1, one finger in every phase, each finger in the phase it says.

    Empty if it holds. Names up to SHOWN fingers and SHOWN phases. With `whole` phases none in one that |V| cuts short.
    """
    if overlay.ring_ids is None:
        return ["The overlay has no ring."]
    nodes, count = overlay.nodes, phase_count(overlay.nodes)
    expected = (np.arange(count) < phase_count(nodes, phases or phases_of(overlay))).astype(np.int64)
    if overlay.ring_size != nodes or not np.array_equal(np.sort(overlay.ring_ids), np.arange(nodes)):
        return [f"The ring ids are not 0 to {nodes - 1}, each once."]
    finger = overlay.phases != NO_PHASE
    sources, targets, said = overlay.sources[finger], overlay.targets[finger], overlay.phases[finger]
    true = phase(clockwise(overlay.ring_ids[sources], overlay.ring_ids[targets], nodes))
    counts = np.bincount(sources * np.int64(count) + true, minlength=nodes * count).reshape(nodes, count)
    in_other_phase = (
        f"The finger of node {sources[k]} to node {targets[k]} is in phase {true[k]}, not in {said[k]}."
        for k in np.flatnonzero(true != said)[:SHOWN]
    )
    not_one = (
        f"Node {k // count} has {counts.flat[k]} fingers in phase {k % count} instead of "
        f"{'one' if expected[k % count] else 'none'}."
        for k in np.flatnonzero(counts != expected)[:SHOWN]
    )
    return [*in_other_phase, *not_one]


def design_figures(overlay: Overlay) -> dict[str, Any]:
    """Figures that the design of DC, DCBC or a join wrote down, since they cannot be seen in the links."""
    written = ("partitions", "bulk_nodes", "star_set", "potential_neighbour_ratio", "star_nodes", "links_across")
    return {name: overlay.meta[name] for name in written if name in overlay.meta}
