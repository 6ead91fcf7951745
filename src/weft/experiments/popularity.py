"""BeaConvey, Fig. 3: how many friends or followers users have, in the whole graphs and in samples of them."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from weft.experiments.dataset import DATASETS
from weft.experiments.experiment import Effort, Experiment, Metric, Panel, Plan, Point
from weft.experiments.point import SITES, social_input
from weft.experiments.routing import Input, instance_of

COUNTS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000)
SIZES = {"all": None, "10K": 10_000, "1K": 1_000}
GENERATED = 40_000  # stands in for a whole graph that is not given
SIDES: Mapping[str, Literal["topics", "subscribers"]] = {"followees": "topics", "followers": "subscribers"}


@dataclass(frozen=True)
class PopularityRun:
    input: Input
    side: Literal["topics", "subscribers"]  # of a node, or of a topic
    count: int
    seed: int

    @property
    def batch(self) -> Hashable:
        return self.input, self.seed

    @property
    def cost(self) -> float:
        return 2e-6 * self.input.nodes

    def measure(self) -> dict[str, Any]:
        instance = instance_of(self.input, self.seed)
        counts = (instance.interest if self.side == "topics" else instance.subscribers).counts
        share = float(np.mean(counts[counts > 0] >= self.count))
        return {"share": share or None}  # none has so many: nothing to draw on a logarithmic axis


def _system(site: str, size: str, side: str) -> str:
    return f"{site} {size}, {side}"


def _plan(effort: Effort, folders: Mapping[str, str]) -> Plan:
    points = [Point(f"{count}", f"users with at least {count}", count) for count in COUNTS]
    runs = {}
    for site, key in SITES.items():
        for size, nodes in SIZES.items():
            given = _input(key, nodes, folders.get(key))
            for side, of in SIDES.items():
                for count in COUNTS:
                    runs[_system(site, size, side), f"{count}", 1] = PopularityRun(given, of, count, 1)
    return Plan(points, 1, runs)


def _input(key: str, nodes: int | None, folder: str | None) -> Input:
    whole = DATASETS[key].nodes if folder else GENERATED
    return social_input("", key, min(nodes or whole, whole), folder)[1]


SYSTEMS = tuple(_system(site, size, side) for site in SITES for size in SIZES for side in SIDES)
FIGURE = Experiment(
    name="beaconvey-fig3",
    title="BeaConvey, Fig. 3: followees and followers, whole graphs and samples",
    paper="beaconvey",
    axis="at least so many",
    systems=SYSTEMS,
    metrics={"share of users": Metric("share")},
    plan=_plan,
    panels=tuple(
        Panel(
            f"{site}: share of users",
            "share of users",
            tuple(_system(site, size, side) for size in SIZES for side in SIDES),
            logarithmic=True,
        )
        for site in SITES
    ),
    datasets=tuple(SITES.values()),
    logarithmic_axis=True,
    note="Users with none are left out. Facebook's edges go both ways, so that its two sides are the same.",
)
