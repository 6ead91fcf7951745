"""GM, Greedy Merge (Chockler et al., PODC 2007; Algorithm 1 of the DC paper): a topic-connected overlay of few links.

It takes the link of highest contribution until every topic is connected; a logarithmic approximation of the fewest
links. Stopped before, it is the best known overlay for a budget: GPA when the average degree is given, GPM when the
maximum degree is (BeaConvey section 3.2, after its reference 9); with a budget topics may stay in several parts.

With latencies contributions are weighed by distance, as in `swico.py`: the topics are connected by links that are
shorter, and a few more (the topology-aware overlays that the DC paper leaves for later).

Links have no phase, and there is no ring.
"""

from dataclasses import dataclass

import numpy as np

from weft.arrays import Floats
from weft.errors import WeftError
from weft.kernels.greedy.constraint import Constraint, any_link, degree_at_most
from weft.model.instance import LIMIT, Instance
from weft.model.latency import Latency
from weft.model.overlay import Overlay, overlay_from_links
from weft.overlays.diameter import require_diameter, within_diameter
from weft.overlays.lazy_greedy import lazy_greedy
from weft.overlays.preference import CLOSENESS, Preference, Tie, closeness_of


def gm(
    instance: Instance,
    *,
    seed: int,
    tie: Tie = "random",
    latency: Latency | None = None,
    closeness: float = CLOSENESS,
    average_degree: float | None = None,
    maximum_degree: int | None = None,
    diameter: int | None = None,
) -> Overlay:
    require_diameter(diameter)
    rng = np.random.default_rng(seed)
    most = LIMIT if average_degree is None else _links_of_degree(average_degree, instance.nodes)
    limit = _degree_limit(maximum_degree, instance.nodes)
    preference = Preference(tie, closeness=closeness_of(instance, latency, closeness))
    chosen = lazy_greedy(instance, limit, rng, preference=preference, most=most)
    return within_diameter(instance, overlay_from_links(instance.nodes, chosen.owners, chosen.others), diameter)


@dataclass(frozen=True, eq=False)
class SupportCurve:
    """Average degree and TcoSuppR after k links, at [k]."""

    average_degree: Floats
    support: Floats


def support_curve(instance: Instance, *, seed: int, maximum_degree: int | None = None) -> SupportCurve:
    """What every budget buys: the greedy with less is the beginning of the greedy with more."""
    rng = np.random.default_rng(seed)
    chosen = lazy_greedy(instance, _degree_limit(maximum_degree, instance.nodes), rng)
    saved = np.append(0, np.cumsum(chosen.contributions, dtype=np.int64))
    avoidable = instance.subscriptions - int(np.count_nonzero(instance.subscribers.counts))
    support = saved / avoidable if avoidable else np.ones(1)
    return SupportCurve(2.0 * np.arange(len(saved)) / instance.nodes, support)


def _links_of_degree(average_degree: float, nodes: int) -> int:
    """The most links with which the average degree stays within the given one."""
    if not average_degree > 0:
        raise WeftError(f"`average_degree` {average_degree} is out of range: give a number above 0.", "average_degree")
    return int(min(average_degree * nodes / 2, LIMIT))


def _degree_limit(maximum_degree: int | None, nodes: int) -> Constraint:
    if maximum_degree is None:
        return any_link()
    if maximum_degree < 1:
        raise WeftError(f"`maximum_degree` {maximum_degree} is out of range: give a number from 1.", "maximum_degree")
    return degree_at_most(min(maximum_degree, nodes), nodes)
