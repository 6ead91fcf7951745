"""A re-design: asked for, forecast, and put in place while everything runs.

    making    both ends of every new link are told of it; the places on the ring and the trees are those of before
    settling  all links are up, or have had their time: places, fingers and trees are the new ones, by which every
              publication from now on travels; the links of before stay for those that are under way
    done      the links of before are given up

A node that joins meanwhile waits for the end of making; one that fails ends it.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from weft.errors import WeftError
from weft.master.engine import Design, Job
from weft.master.link import Link, link
from weft.master.network import Network
from weft.master.quality import Quality, Scale
from weft.master.ring import SIZE, even_places
from weft.master.snapshot import Snapshot, snapshot_of, with_roots
from weft.model.overlay import NO_PHASE, Overlay

LOCAL = 2.0  # milliseconds: where no round trip is longer, all nodes are as near to each other as can be


class Stage(StrEnum):
    NONE = "none"
    MAKING = "making links"
    SETTLING = "settling"


@dataclass(frozen=True, slots=True)
class Proposal:
    places: dict[int, int]  # node -> ring id
    fingers: tuple[tuple[int, int], ...]
    spare: frozenset[Link]
    trees: dict[int, dict[int, set[int]]]  # topic -> tables
    opened: int  # links that it would open
    closed: int
    links: int  # that it would have
    before: Quality
    after: Quality

    @property
    def forecast(self) -> dict[str, Any]:
        return {
            "links": self.links,
            "links_to_open": self.opened,
            "links_to_close": self.closed,
            "relays_a_delivery": {"now": self.before.relays, "then": self.after.relays},
            "hops": {"now": self.before.hops, "then": self.after.hops},
            "busiest_node": {"now": self.before.busiest, "then": self.after.busiest},
        }

    @property
    def gain(self) -> float:
        """The share of the relays or of the hops that it spares, whichever is more."""
        return max(_spared(self.before.relays, self.after.relays), _spared(self.before.hops, self.after.hops))


def _spared(before: float, after: float) -> float:
    return 1 - after / before if before else 0.0


def job_of(network: Network, seed: int, overlay: Overlay | None = None) -> tuple[Job, Snapshot]:
    members = [network.roster[number] for number in sorted(network.woven)]
    if len(members) < 2:
        raise WeftError("There is nothing to design: the network has fewer than two nodes.")
    snapshot = snapshot_of(members, network.directory, network.traffic)
    place = snapshot.place_of
    ends = [(place[a], place[b]) for a, b in sorted(network.made) if a in place and b in place]
    sources, targets = np.array(ends, np.int32).reshape(-1, 2).T
    far = snapshot.latency is not None and snapshot.latency.matrix.max() > LOCAL
    latency = snapshot.latency if far else None
    order = [number for number in network.plan.ring.order if number in place]
    ranks = np.empty(len(order), np.int64)
    ranks[[place[number] for number in order]] = np.arange(len(order))
    found = {at: network.loom.next_root(topic) for at, topic in enumerate(snapshot.topics)}
    instance = with_roots(snapshot.instance, {at: place[root] for at, root in found.items() if root is not None})
    job = Job(instance, latency, sources, targets, ranks, seed, network.parameters.fan_out, overlay)
    return job, snapshot


def proposal_of(network: Network, snapshot: Snapshot, scale: Scale, before: Quality, design: Design) -> Proposal:
    """What a design would change and gain. Both are of the moment for which it was made: there may be other topics now,
    and others who subscribe."""
    numbers, overlay = snapshot.numbers, design.overlay
    assert overlay.ring_ids is not None
    order = [numbers[node] for node in np.argsort(overlay.ring_ids).tolist()]
    places = {number: network.plan.ring.id_of.get(number, -1) for number in order}
    if not _is_in_order(list(places.values())):
        places = even_places(order)
    ends = zip(overlay.sources.tolist(), overlay.targets.tolist(), (overlay.phases != NO_PHASE).tolist(), strict=True)
    pairs = [(numbers[owner], numbers[peer], is_finger) for owner, peer, is_finger in ends]
    fingers = tuple((owner, peer) for owner, peer, is_finger in pairs if is_finger)
    spare = frozenset(link(one, other) for one, other, is_finger in pairs if not is_finger)
    trees = {topic: _tables(design, place, numbers) for place, topic in enumerate(snapshot.topics)}
    links = spare | {link(*pair) for pair in fingers}
    now = network.plan.links
    return Proposal(
        places,
        fingers,
        spare,
        trees,
        len(links - now),
        len(now - links),
        len(links),
        before,
        scale.quality_of(trees),
    )


def _is_in_order(ring_ids: list[int]) -> bool:
    """Whether they are clockwise, beginning anywhere: the ring is the same."""
    steps = [(after - before) % SIZE for before, after in zip(ring_ids, ring_ids[1:] + ring_ids[:1], strict=True)]
    return min(ring_ids) >= 0 and sum(steps) == SIZE


def _tables(design: Design, place: int, numbers: list[int]) -> dict[int, set[int]]:
    tables = design.trees.tables(place)
    return {numbers[node]: {numbers[peer] for peer in peers} for node, peers in tables.items()}


class Redesign:
    """The one that is being put in place, if any."""

    def __init__(self, network: Network) -> None:
        self._network = network
        self.stage = Stage.NONE
        self.until: float | None = None  # when the stage ends at the latest
        self._trees: dict[int, dict[int, set[int]]] = {}

    def begin(self, proposal: Proposal, now: float) -> None:
        if self.stage is not Stage.NONE:
            raise WeftError("A re-design is being put in place: wait until it is done.")
        network = self._network
        network.hold_links = True
        network.old_fingers = {node: set(fingers) for node, fingers in network.plan.fingers.items()}
        self._replace(proposal)
        network.rewire(now)
        self._trees = proposal.trees
        self.stage, self.until = Stage.MAKING, now + network.parameters.making

    def go_on(self, now: float) -> bool:
        """Whether it is done with this step."""
        if self.stage is Stage.MAKING and (self._is_made() or now >= (self.until or 0.0)):
            self.switch(now)
        elif self.stage is Stage.SETTLING and now >= (self.until or 0.0):
            self.stage, self.until = Stage.NONE, None
            self._network.hold_links = False
            self._network.rewire(now)
            return True
        return False

    def switch(self, now: float) -> None:
        """Publications travel by the new plan from now on."""
        network = self._network
        network.connect()
        network.old_fingers = {}
        network.rename_places(network.plan.ring.id_of)
        for topic, tables in self._trees.items():
            network.adopt(topic, tables)
        self._trees = {}
        self.stage, self.until = Stage.SETTLING, now + network.parameters.settling

    def _is_made(self) -> bool:
        return self._network.plan.links <= self._network.made

    def _replace(self, proposal: Proposal) -> None:
        """The plan for the nodes that are there; some may have come or gone since it was designed."""
        plan, interests = self._network.plan, self._network.directory.interests
        here = self._network.placed
        newcomers = sorted(here - proposal.places.keys())
        for number in newcomers:
            plan.leave(number)
        places = {number: ring_id for number, ring_id in proposal.places.items() if number in here}
        fingers, spare = ([pair for pair in pairs if set(pair) <= here] for pairs in (proposal.fingers, proposal.spare))
        plan.replace(places, fingers, spare)
        for number in newcomers:
            plan.join(number, interests)
        plan.mend(interests, fill=False)
