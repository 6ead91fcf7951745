"""Overlays as engineers draw them today, without a look at interests: all brokers at one hub, or bridged in a tree.

Baselines, together with the full mesh (weft.sim.direct). A path between two brokers is the only one, so that there is
nothing to choose for a router: publications go where subscribers are, as brokers do that forward subscriptions.
"""

import numpy as np

from weft.errors import WeftError
from weft.model.instance import Instance
from weft.model.overlay import Overlay, overlay_from_links

CHILDREN = 8


def star(instance: Instance, *, seed: int) -> Overlay:
    """All nodes linked to one that the seed draws."""
    return tree(instance, seed=seed, children=max(instance.nodes - 1, 1))


def tree(instance: Instance, *, seed: int, children: int = CHILDREN) -> Overlay:
    """Balanced tree of the nodes in an order that the seed draws; each has so many children, but for the last ones."""
    if children < 1:
        raise WeftError(f"`children` {children} is out of range: give at least 1.", "children")
    order = np.random.default_rng(seed).permutation(instance.nodes)
    places = np.arange(1, instance.nodes)
    return overlay_from_links(instance.nodes, order[places], order[(places - 1) // children])
