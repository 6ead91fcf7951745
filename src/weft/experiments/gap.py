"""How near the greedy is to the fewest links of any topic-connected overlay, where integer programming finds them."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

from weft.experiments.experiment import Effort, Experiment, Metric, Panel, Plan, Point
from weft.overlays.catalog import design
from weft.overlays.optimum import optimum
from weft.workloads.catalog import generate

NODES: Mapping[Effort, tuple[int, ...]] = {"quick": (8, 10, 12, 14), "full": (8, 10, 12, 14, 16, 20)}
BUILDERS = {"GM": "gm", "DC, 2 partitions": "dc", "DCBC, 2 partitions": "dcbc", "optimum": "optimum"}


@dataclass(frozen=True)
class GapRun:
    """On a Unif instance with as many topics as nodes and five subscriptions a node."""

    overlay: str
    nodes: int
    seed: int

    @property
    def batch(self) -> Hashable:
        return self.nodes, self.seed

    @property
    def cost(self) -> float:
        return 0.1 if self.overlay == "optimum" else 0.01

    def measure(self) -> dict[str, Any]:
        instance = generate("unif", nodes=self.nodes, topics=self.nodes, subscriptions=5, seed=self.seed)
        if self.overlay == "optimum":
            return {"links": optimum(instance).links}
        options = {} if self.overlay == "gm" else {"partitions": 2}
        return {"links": design(instance, self.overlay, seed=self.seed, **options).links}


def _gap_plan(effort: Effort, folders: Mapping[str, str]) -> Plan:
    seeds = 10 if effort == "quick" else 100
    runs = {
        (name, f"V={nodes}", seed): GapRun(overlay, nodes, seed)
        for nodes, seed, (name, overlay) in product(NODES[effort], range(1, seeds + 1), BUILDERS.items())
    }
    points = [Point(f"V={nodes}", f"Unif, {nodes} nodes and topics, 5 subscriptions", nodes) for nodes in NODES[effort]]
    return Plan(points, seeds, runs)


GAP = Experiment(
    name="optimality-gap",
    title="Links of the greedy against the fewest of any topic-connected overlay",
    paper="weft",
    axis="nodes",
    systems=tuple(BUILDERS),
    metrics={"links / fewest": Metric("links", relative=True), "links": Metric("links")},
    plan=_gap_plan,
    panels=(Panel("links / fewest", "links / fewest", tuple(BUILDERS)),),
    extra_metrics=("links",),
    baseline="optimum",
    note="The fewest are found by integer programming.",
)
