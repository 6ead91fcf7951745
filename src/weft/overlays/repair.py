"""A topic-connected overlay stays one while nodes join, leave and change what they subscribe to.

Only the topics that the node takes up or gives up can fall apart, so only these are looked at. All links stay, but for
those of a node that leaves, and the greedy of GM goes on from them. A node that joins is thus linked with few others
that together have all its topics; where one leaves, what it held together is joined again.

Repaired again and again, an overlay has more links than a new design (section III of the DC paper has a bad case).
"""

import numpy as np
import numpy.typing as npt

from weft.arrays import Int64s
from weft.errors import WeftError
from weft.kernels.greedy.constraint import any_link
from weft.model.csr import Csr
from weft.model.instance import Instance, instance_from_pairs
from weft.model.overlay import Overlay, overlay_from_links
from weft.overlays.lazy_greedy import lazy_greedy


def joined(instance: Instance, overlay: Overlay, topics: npt.ArrayLike, *, seed: int) -> tuple[Instance, Overlay]:
    """Add a node, which gets the next number."""
    return changed(instance, overlay, instance.nodes, topics, seed=seed)


def left(instance: Instance, overlay: Overlay, node: int, *, seed: int) -> tuple[Instance, Overlay]:
    """Remove the interests and the links of the node; its number stays, so that all others keep theirs."""
    return changed(instance, overlay, node, [], seed=seed)


def changed(
    instance: Instance, overlay: Overlay, node: int, topics: npt.ArrayLike, *, seed: int
) -> tuple[Instance, Overlay]:
    """Let the node subscribe to the given topics and to no others."""
    if not 0 <= node <= instance.nodes:
        raise WeftError(f"There is no node {node}: give 0 to {instance.nodes - 1}, or {instance.nodes} for a new one.")
    wanted = np.unique(np.asarray(topics, np.int64))
    given_up = instance.interest[node] if node < instance.nodes else np.empty(0, np.int32)
    after = _with_interest(instance, node, wanted)
    kept = overlay if len(wanted) else _without_links(overlay, node)
    touched = _restricted(after.interest, np.union1d(wanted, given_up))
    links = lazy_greedy(
        Instance(touched),
        any_link(),
        np.random.default_rng(seed),
        sources=kept.sources,
        targets=kept.targets,
    )
    return after, overlay_from_links(
        after.nodes,
        np.concatenate([kept.sources, links.owners]),
        np.concatenate([kept.targets, links.others]),
        **{**kept.meta, "instance": after.fingerprint},
    )


def _with_interest(instance: Instance, node: int, topics: Int64s) -> Instance:
    rows, columns = instance.interest.row_of_each(), instance.interest.indices
    others = rows != node
    names = instance.node_names
    return instance_from_pairs(
        np.append(rows[others], np.full(len(topics), node)),
        np.append(columns[others], topics),
        node_count=max(instance.nodes, node + 1),
        topic_count=instance.topics,
        node_names=np.append(names, str(node)) if names is not None and node == instance.nodes else names,
        topic_names=instance.topic_names,
        **instance.meta,
    )


def _without_links(overlay: Overlay, node: int) -> Overlay:
    stay = (overlay.sources != node) & (overlay.targets != node)
    return overlay_from_links(overlay.nodes, overlay.sources[stay], overlay.targets[stay], **overlay.meta)


def _restricted(interest: Csr, topics: Int64s) -> Csr:
    """The instance with these topics only, renumbered in their order."""
    stay = np.isin(interest.indices, topics)
    indptr = np.append(0, np.cumsum(stay))[interest.indptr]
    return Csr(indptr, np.searchsorted(topics, interest.indices[stay]).astype(np.int32), len(topics))
