"""A fleet as it runs beside what Weft would plan for it: the same publications over both."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from weft.errors import WeftError
from weft.fleet.fleet import Fleet
from weft.fleet.flow import Flows, flows_of
from weft.fleet.score import Score, edges_of_fleet, edges_of_flows, everything, score
from weft.model.instance import Instance
from weft.model.overlay import Overlay, overlay_from_links
from weft.model.publication import Publications
from weft.overlays.catalog import design
from weft.overlays.quality import degrees
from weft.trees.weave import weave

OVERLAY = "swico-even"
DUE = ("publications", "expected_deliveries")  # whatever the links


@dataclass(frozen=True, eq=False)
class Side:
    """One of the two."""

    overlay: Overlay
    score: Score
    is_known: bool = True  # which links there are

    def figures(self, fleet: Fleet) -> dict[str, Any]:
        """Figures; of links that are not known, none but what is due."""
        figures = {
            "links": self.overlay.links,
            "most_links": int(degrees(self.overlay).max(initial=0)),
            **self.score.figures(fleet.instance),
        }
        return figures if self.is_known else {name: value if name in DUE else None for name, value in figures.items()}


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
            "loops": self.now.score.looping(instance) if self.now.is_known else [],
            "misses": self.now.score.missing(instance) if self.now.is_known else [],
        }


def compare(fleet: Fleet, publications: Publications | None = None, *, seed: int = 1) -> Comparison:
    """Both, with one publication on every topic from everybody who may publish on it, unless others are given."""
    require_subscriptions(fleet)
    drawn = everything(fleet.instance) if publications is None else publications
    now = score(fleet.instance, edges_of_fleet(fleet), drawn)
    flows = _planned(fleet.instance, seed)
    then = score(fleet.instance, edges_of_flows(flows, len(fleet.brokers)), drawn)
    return Comparison(
        fleet, Side(fleet.overlay, now, fleet.has_known_links), Side(_links(flows, len(fleet.brokers)), then)
    )


def require_subscriptions(fleet: Fleet) -> None:
    if not fleet.instance.subscriptions:
        raise WeftError(
            "Nobody in the fleet subscribes to a known topic: import it again, with its clients, or with topics that "
            "their filters match."
        )


def _planned(instance: Instance, seed: int) -> Flows:
    overlay = design(instance, OVERLAY, seed=seed)
    return flows_of(instance, overlay, weave(instance, overlay))


def _links(flows: Flows, brokers: int) -> Overlay:
    """Links that are used."""
    low, high = np.minimum(flows.sources, flows.targets), np.maximum(flows.sources, flows.targets)
    links = np.unique(low.astype(np.int64) * brokers + high)
    return overlay_from_links(brokers, links // brokers, links % brokers, algorithm=OVERLAY)
