"""Locality in the designed overlay: SWICO with links, and Weave with trees, by latency; beside Vitis on the same input.

A system is an overlay with its router and how much round-trip times count, or Vitis with its exponent.
"""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from weft.experiments.experiment import Effort, Experiment, Metric, Panel, Plan, Point
from weft.experiments.vitis import EXPONENT, PATTERNS
from weft.experiments.vitis_run import SEEDS, TWITTER, Surroundings, VitisRun, hosts_in, settings, surroundings_of
from weft.overlays.preference import Closeness, Preference
from weft.overlays.swico import CLOSENESS, gswico_sl
from weft.sim.timed import evaluate_in_time
from weft.workloads.publication import publications

PUBLICATIONS: Mapping[Effort, int] = {"quick": 300, "full": 1000}
GOSSIPED_PUBLICATIONS = 1000  # as in the paper; they cost next to nothing
NODES = 1000


@dataclass(frozen=True)
class DesignedRun:
    """SWICO-SL; the seed is that of instance, placement, overlay and publications."""

    surroundings: Surroundings
    router: str
    closeness: float  # how much round-trip times count; 0: not at all
    publications: int
    seed: int

    @property
    def batch(self) -> Hashable:
        return self

    @property
    def cost(self) -> float:
        return 5e-3 * self.surroundings.nodes + 1e-2 * self.publications

    def measure(self) -> dict[str, Any]:
        instance, latency = surroundings_of(self.surroundings, self.seed)
        near = Closeness(latency, self.closeness) if self.closeness else None
        overlay = gswico_sl(instance, np.random.default_rng(self.seed), Preference(closeness=near))
        said = publications(instance, self.publications, self.seed, by="node")
        return evaluate_in_time(instance, overlay, self.router, latency, said, self.seed, by_latency=self.closeness > 0)


# Router and closeness.
DESIGNED = {
    "SWICO, Pie": ("pie", 0.0),
    "SWICO by latency, Pie": ("pie", CLOSENESS),
    "SWICO, Weave": ("weave", 0.0),
    "SWICO and Weave by latency": ("weave", CLOSENESS),
}
GOSSIPED = {"Vitis": 0.0, "Vitis, locality": EXPONENT}
SYSTEMS = (*GOSSIPED, *DESIGNED)
METRICS = {
    "delivery time": Metric("delivery_time"),
    "notification time": Metric("notification_time"),
    "relays a delivery": Metric("relays_per_delivery"),
    "relay share": Metric("relay_share"),
    "hops": Metric("average_hops"),
    "hit ratio": Metric("hit_ratio"),
}


def _plan(effort: Effort, folders: Mapping[str, str]) -> Plan:
    hosts, count, seeds = hosts_in(folders), PUBLICATIONS[effort], SEEDS[effort]
    inputs = {pattern: Surroundings(pattern, NODES, hosts=hosts) for pattern in PATTERNS}
    inputs[TWITTER] = Surroundings(TWITTER, NODES, folders.get(TWITTER), hosts)
    runs: dict[tuple[str, str, int], VitisRun | DesignedRun] = {}
    for (label, surroundings), seed in product(inputs.items(), range(1, seeds + 1)):
        for system, exponent in GOSSIPED.items():
            runs[system, label, seed] = VitisRun(surroundings, GOSSIPED_PUBLICATIONS, exponent, seed)
        for system, (router, closeness) in DESIGNED.items():
            runs[system, label, seed] = DesignedRun(surroundings, router, closeness, count, seed)
    points = [Point(label, f"{label}, {NODES:,} nodes") for label in inputs]
    counts = f"{settings(folders, count)} of a designed overlay, {GOSSIPED_PUBLICATIONS:,} of Vitis"
    return Plan(points, seeds, runs, counts)


LOCALITY = Experiment(
    name="locality-designed",
    title="Locality in designed and in gossiped overlays",
    paper="weft",
    axis="workload",
    systems=SYSTEMS,
    metrics=METRICS,
    plan=_plan,
    panels=(
        Panel("delivery time, ms", "delivery time", SYSTEMS),
        Panel("first notice, ms", "notification time", SYSTEMS),
        Panel("relays a delivery", "relays a delivery", SYSTEMS),
    ),
    extra_metrics=("relay share", "hops", "hit ratio"),
    datasets=(TWITTER, "planetlab", "wonderproxy"),
    note="Vitis notifies first and has the content pulled, a round trip more; SWICO's routers send it along. "
    "Of Vitis the first notice is the notification. A SWICO node has 10 fingers of its own, a Vitis node 15 links.",
)
