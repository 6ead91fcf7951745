"""A fleet as it runs beside what Weft would plan for it: the same publications over both."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from weft.errors import WeftError
from weft.fleet.fleet import Fleet
from weft.fleet.plan import Plan, plan_of
from weft.fleet.score import Score, edges_of_fleet, edges_of_flows, everything, score
from weft.model.overlay import Overlay, overlay_from_links
from weft.model.publication import Publications
from weft.overlays.catalog import design
from weft.overlays.quality import degrees
from weft.trees.weave import weave

OVERLAY = "swico-even"


@dataclass(frozen=True, eq=False)
class Side:
    """One of the two."""

    overlay: Overlay
    score: Score

    def figures(self, fleet: Fleet) -> dict[str, Any]:
        connections = degrees(self.overlay)
        return {
            "links": int(connections.sum()) // 2,
            "most_links": int(connections.max(initial=0)),
            **self.score.figures(fleet.instance),
        }


@dataclass(frozen=True, eq=False)
class Comparison:
    fleet: Fleet
    now: Side
    plan: Side

    def figures(self) -> dict[str, Any]:
        instance = self.fleet.instance
        return {
            **self.fleet.counts,
            "now": self.now.figures(self.fleet),
            "plan": self.plan.figures(self.fleet),
            "loops": self.now.score.looping(instance),
            "misses": self.now.score.missing(instance),
        }


def compare(fleet: Fleet, publications: Publications | None = None, *, seed: int = 1) -> Comparison:
    """Both, with one publication on every topic from everybody who may publish on it, unless others are given."""
    require_subscriptions(fleet)
    drawn = everything(fleet.instance) if publications is None else publications
    now = score(fleet.instance, edges_of_fleet(fleet), drawn)
    plan = _planned(fleet, seed)
    then = score(fleet.instance, edges_of_flows(plan.flows, len(fleet.brokers)), drawn)
    return Comparison(fleet, Side(fleet.overlay, now), Side(_links(plan), then))


def require_subscriptions(fleet: Fleet) -> None:
    if not fleet.instance.subscriptions:
        raise WeftError(
            "Nobody in the fleet subscribes to a known topic: import it with `clients`, or with `topics` that their "
            "filters match.",
            "clients",
            "topics",
        )


def _planned(fleet: Fleet, seed: int) -> Plan:
    overlay = design(fleet.instance, OVERLAY, seed=seed)
    return plan_of(fleet.instance, overlay, weave(fleet.instance, overlay), wildcards=False)


def _links(plan: Plan) -> Overlay:
    """Links that the plan has a bridge on."""
    number = {name: node for node, name in enumerate(plan.brokers)}
    ends = [(number[bridge.owner], number[bridge.remote]) for bridge in plan.bridges]
    sources, targets = np.array(ends, np.int64).reshape(-1, 2).T
    return overlay_from_links(len(plan.brokers), sources, targets, algorithm=OVERLAY)
