"""NM and SM: one topic-connected overlay out of several over disjoint nodes, by links across only (DC paper, IV).

All links that there are stay. NM, Naive Merge, takes the link of highest contribution among all pairs of nodes; SM,
Star Merge, among the nodes of star sets, which finds nearly as few links in a fraction of the time, and needs to know
the interests of the star nodes only.
"""

import time
from collections.abc import Sequence
from typing import Literal

import numpy as np

from weft.errors import WeftError
from weft.model.instance import Instance
from weft.model.overlay import Overlay, named, overlay_from_links
from weft.model.seed import require_seed
from weft.model.union import union
from weft.overlays.lazy_greedy import links_across
from weft.overlays.star import star_nodes
from weft.overlays.verify import topic_violations

Method = Literal["star", "naive"]


def join(
    overlays: Sequence[Overlay], instances: Sequence[Instance], *, seed: int = 1, method: Method = "star"
) -> tuple[Instance, Overlay]:
    """Join topic-connected overlays, each with its instance, to one over the nodes of all, in their order."""
    require_seed(seed)
    if len(instances) != len(overlays):
        raise WeftError(f"{len(overlays)} overlays need {len(overlays)} instances, in their order.")
    for instance, overlay in zip(instances, overlays, strict=True):
        if overlay.meta.get("instance", instance.fingerprint) != instance.fingerprint:
            raise WeftError(f"{named(overlay)} was made for another instance than the one given: keep their order.")
    whole = union(instances)
    about = {"algorithm": f"join-{method}", "parameters": {"join": method}, "seed": seed}
    return whole, joined(whole, overlays, seed=seed, method=method).with_meta(**about, instance=whole.fingerprint)


def joined(instance: Instance, overlays: Sequence[Overlay], *, seed: int, method: Method = "star") -> Overlay:
    """The overlay of an instance that has the nodes of all overlays, in their order."""
    firsts = np.append(0, np.cumsum([overlay.nodes for overlay in overlays]))
    if firsts[-1] != instance.nodes:
        raise WeftError(f"The overlays have {firsts[-1]} nodes together and the instance {instance.nodes}.")
    for number, overlay in enumerate(overlays):
        _require_connected(instance, overlay, int(firsts[number]), f"Overlay {number + 1}")
    start = time.perf_counter()
    group = np.repeat(np.arange(len(overlays), dtype=np.int32), np.diff(firsts))
    nodes = star_nodes(instance.interest, group) if method == "star" else np.arange(instance.nodes)
    chosen = links_across(instance.interest.take(nodes), group[nodes], np.random.default_rng(seed))
    seconds = time.perf_counter() - start
    given = list(zip(firsts, overlays, strict=False))
    return overlay_from_links(
        instance.nodes,
        np.concatenate([*(first + overlay.sources for first, overlay in given), nodes[chosen.owners]]),
        np.concatenate([*(first + overlay.targets for first, overlay in given), nodes[chosen.others]]),
        links_across=len(chosen.owners),
        star_nodes=len(nodes),
        seconds_across=seconds,
    )


def _require_connected(instance: Instance, overlay: Overlay, first: int, name: str) -> None:
    own = Instance(instance.interest.take(np.arange(first, first + overlay.nodes)))
    violations = topic_violations(own, overlay)
    if violations:
        raise WeftError(f"{name} is not topic-connected, so it cannot be joined. {violations[0]}")
