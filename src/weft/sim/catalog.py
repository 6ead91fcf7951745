"""Routers by name: a row says how one is made, by which kernel publications are routed in bulk, and what it needs.

A new router is its own files, in protocol/, kernels/routing/ and sim/routing/, and a row here; besides, the help of the
command line names it. Systems, which are simulated whole, have rows of their own (weft.sim.system).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from weft.arrays import Int64s
from weft.errors import WeftError, listed
from weft.model.forwarding import AS_PRINTED, Distance, Ends, Forwarding, Pivots
from weft.model.instance import Instance
from weft.model.latency import Latency
from weft.model.overlay import Overlay, require_made_for
from weft.model.tree import Trees, require_woven_for
from weft.protocol.convey import Pal, Pie, Po
from weft.protocol.finger import FingerTable
from weft.protocol.router import Membership, Router
from weft.protocol.scribe import IScribe, Scribe
from weft.protocol.weave import Weave
from weft.sim import vitis_system
from weft.sim.network import Network, network_with
from weft.sim.popsub_system import popsub_systems
from weft.sim.routing import convey, scribe, weave
from weft.sim.runs import Kernel
from weft.sim.system import System
from weft.trees.load import LOAD_WEIGHT
from weft.trees.weave import FAN_OUT, require_fan_out
from weft.trees.weave import weave as woven


@dataclass(frozen=True)
class Place:
    """What the router of a node is given."""

    node: int
    membership: Membership
    fingers: FingerTable | None  # None without a ring
    rendezvous: Callable[[int], int]  # topic -> ring id
    tables: Mapping[int, frozenset[int]]  # topic -> neighbours in its tree

    @property
    def ring(self) -> FingerTable:
        if self.fingers is None:
            raise WeftError(f"Node {self.node} has no fingers: the router goes by a ring, and the overlay has none.")
        return self.fingers


@dataclass(frozen=True)
class Routing:
    words: str  # for somebody who has read no paper
    make: Callable[[Place], Router]
    kernel: Kernel
    entries: Callable[[Network, int], Int64s]  # what the node at every position knows of topics; by the seed
    needs_ring: bool = True
    has_trees: bool = False  # publications of a topic travel on its tree, and nobody subscribes by messages


ROUTERS: Mapping[str, Routing] = {
    "po": Routing(
        "a message for each range of the ring (Po)",
        lambda at: Po(at.node, at.ring, at.membership),
        convey.po,
        convey.entries,
    ),
    "pal": Routing(
        "a message for each half of the ring (Pal)",
        lambda at: Pal(at.node, at.ring, at.membership),
        convey.pal,
        convey.entries,
    ),
    "pie": Routing(
        "a message for each half of the ring where a link leads there (Pie)",
        lambda at: Pie(at.node, at.ring, at.membership),
        convey.pie,
        convey.entries,
    ),
    "scribe": Routing(
        "a meeting broker for each topic (Scribe)",
        lambda at: Scribe(at.node, at.ring, at.membership, at.rendezvous),
        scribe.scribe,
        scribe.scribe_entries,
    ),
    "iscribe": Routing(
        "a meeting broker for each topic, from the root (iScribe)",
        lambda at: IScribe(at.node, at.ring, at.membership, at.rendezvous),
        scribe.iscribe,
        scribe.iscribe_entries,
    ),
    "weave": Routing(
        "a tree of links for each topic (Weave)",
        lambda at: Weave(at.node, at.membership, at.fingers, at.tables),
        weave.weave,
        weave.entries,
        needs_ring=False,
        has_trees=True,
    ),
}

SYSTEMS: Mapping[str, System] = {
    "vitis": System("links and clusters by gossip, and a meeting broker for each topic (Vitis)", vitis_system.measure),
    **popsub_systems(),
}


def require_router(name: str) -> None:
    if name not in ROUTERS and name not in SYSTEMS:
        raise WeftError(f"There is no router {name!r}: choose one of {', '.join([*ROUTERS, *SYSTEMS])}.")


def needs_no_overlay(router: str) -> bool:
    return router in SYSTEMS and SYSTEMS[router].makes_links


def routing(router: str) -> Routing:
    """The row of a router that goes by an overlay's fingers or trees."""
    require_router(router)
    if router in SYSTEMS:
        raise WeftError(
            f"{router} is simulated whole, which evaluate and compare do: choose one of {', '.join(ROUTERS)} here."
        )
    return ROUTERS[router]


def without_ring() -> str:
    """The routers that need no ring."""
    return " or ".join(name for name, row in ROUTERS.items() if not row.needs_ring)


def _with_trees() -> str:
    """The routers that have trees."""
    return " and ".join(name for name, row in ROUTERS.items() if row.has_trees)


def require_options(router: str, fan_out: int | None, trees_given: bool = False) -> None:
    require_router(router)
    has_trees = router in ROUTERS and ROUTERS[router].has_trees
    if fan_out is not None and not has_trees:
        raise WeftError(
            f"{router} takes no option `fan_out`: only {_with_trees()} has trees whose degree it bounds.", "fan_out"
        )
    if trees_given and not has_trees:
        raise WeftError(f"{router} has no trees to go by: only {_with_trees()} takes them.")
    if trees_given and fan_out is not None:
        raise WeftError("The trees are woven already: a fan-out is given when they are.")
    if fan_out is not None:
        require_fan_out(fan_out)


def forwarding_for(
    router: str, links: Ends | None = None, distance: Distance | None = None, pivots: Pivots | None = None
) -> Forwarding:
    """Choose who may send where, as printed where an option is None; an error where the router has no such options."""
    given = {"links": links, "distance": distance, "pivots": pivots}
    chosen = {option: value for option, value in given.items() if value is not None}
    require_router(router)
    if chosen and not (router in ROUTERS and ROUTERS[router].needs_ring):
        raise WeftError(
            f"{router} takes no option {listed(chosen)}: they are for routers that send over fingers, {_on_ring()}.",
            *chosen,
        )
    return Forwarding(**chosen)  # type: ignore[arg-type]


def _on_ring() -> str:
    """The routers that need a ring."""
    *others, last = [name for name, row in ROUTERS.items() if row.needs_ring]
    return f"{', '.join(others)} and {last}"


def trees_for(
    router: str,
    instance: Instance,
    overlay: Overlay,
    *,
    fan_out: int | None = None,
    load_weight: float = LOAD_WEIGHT,
    latency: Latency | None = None,
    given: Trees | None = None,
) -> Trees | None:
    """The given trees, or else new ones; None for a router without trees."""
    require_options(router, fan_out, given is not None)
    require_made_for(instance, overlay)
    if not routing(router).has_trees:
        return None
    if given is not None:
        require_woven_for(instance, overlay, given.meta)
        return given
    bound = FAN_OUT if fan_out is None else fan_out
    return woven(instance, overlay, fan_out=bound, load_weight=load_weight, latency=latency)


def network_for(
    router: str,
    instance: Instance,
    overlay: Overlay,
    *,
    trees: Trees | None = None,
    forwarding: Forwarding = AS_PRINTED,
) -> Network:
    """The network, with trees if the router has them."""
    return network_with(instance, overlay, trees_for(router, instance, overlay, given=trees), forwarding)
