"""Weave beside Pie and Scribe, on all overlays, and what a bound on the degree of its trees costs."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

from weft.experiments.experiment import Experiment, Metric, Panel, Point
from weft.experiments.point import social_input
from weft.experiments.routing import Input, Routed, Scale, System, figures_of, instance_of, overlay_of, routing_plan
from weft.sim.bulk import evaluate
from weft.sim.issuer_tree import average_path
from weft.trees.weave import FAN_OUT, mesh_of, weave
from weft.workloads.publication import publications

METRICS = {
    "overhead ratio": Metric("routing_overhead", relative=True),
    "path ratio": Metric("average_path", relative=True),
    "messages / delivery": Metric("messages_per_delivery"),
    "average path": Metric("average_path"),
    "longest path": Metric("maximum_path"),
    "sent by the busiest / mean": Metric("busiest_over_mean"),
    "sent, 99th percentile / mean": Metric("percentile_over_mean"),
    "table entries a node": Metric("table_entries"),
    "table entries, most": Metric("most_table_entries"),
}
SCRIBE, ISSUER = "Scribe on random", "a tree from each issuer"
DATASETS = ("facebook", "twitter", "wiki-vote")


@dataclass(frozen=True)
class WovenRun:
    """Weave on an overlay; with `from_issuers`, the path is that of a tree grown from each issuer."""

    input: Input
    overlay: str
    fan_out: int
    publications: int
    seed: int
    from_issuers: bool = False

    @property
    def batch(self) -> Hashable:
        return self.input, self.overlay, (), self.publications, self.seed

    @property
    def cost(self) -> float:
        return 1e-4 * self.input.nodes + 1e-5 * self.publications

    def measure(self) -> dict[str, Any]:
        instance, overlay = instance_of(self.input, self.seed), overlay_of(self.input, self.overlay, (), self.seed)
        drawn = publications(instance, self.publications, self.seed)
        trees = weave(instance, overlay, fan_out=self.fan_out)
        figures = figures_of(instance, overlay, evaluate(instance, overlay, "weave", drawn, trees=trees))
        if not self.from_issuers:
            return figures
        kept = ("routing_overhead", "messages_per_delivery")
        path = average_path(instance, mesh_of(overlay), trees, drawn)
        return {"average_path": path} | {name: figures[name] for name in kept}


@dataclass(frozen=True)
class Woven:
    overlay: str
    fan_out: int = FAN_OUT
    from_issuers: bool = False

    def run(self, given: Input, publications: int, seed: int) -> WovenRun:
        return WovenRun(given, self.overlay, self.fan_out, publications, seed, self.from_issuers)


ROUTERS: Mapping[str, Routed] = {
    "Weave": Woven("swico-sl"),
    ISSUER: Woven("swico-sl", from_issuers=True),
    "Pie": System("swico-sl", "pie"),
    SCRIBE: System("random", "scribe"),
}
OVERLAYS: Mapping[str, Routed] = {
    **{f"Weave on {name}": Woven(name) for name in ("swico-sl", "swico-l", "grswico", "random", "chord", "gm", "dc")},
    SCRIBE: ROUTERS[SCRIBE],
}
NO_BOUND = 2**31 - 1
FAN_OUTS: Mapping[str, Routed] = {
    **{f"at most {bound}": Woven("swico-sl", bound) for bound in (8, 16, 32, 64)},
    "no bound": Woven("swico-sl", NO_BOUND),
    ISSUER: ROUTERS[ISSUER],
}


def _inputs(scale: Scale, folders: Mapping[str, str]) -> list[tuple[Point, Input]]:
    """wiki-Vote only where its data is given: nothing is generated like it."""
    facebook, twitter, votes = (folders.get(key) for key in DATASETS)
    return [
        social_input("FB 1K", "facebook", 1_000, facebook),
        social_input("FB 4K", "facebook", 4_039, facebook),
        social_input("TW 1K", "twitter", 1_000, twitter),
        social_input("TW 10K", "twitter", 10_000, twitter),
        *([] if votes is None else [social_input("wiki-Vote", "wiki-vote", 7_115, votes)]),
        (Point("Unif", "Unif, 1,023 nodes, 10,000 topics"), Input("unif", 1023, 10_000)),
    ]


def _experiment(name: str, title: str, systems: Mapping[str, Routed], baseline: str, *extra: str) -> Experiment:
    ours = tuple(system for system in systems if system != baseline)
    return Experiment(
        name=name,
        title=title,
        paper="weft",
        axis="instance",
        systems=tuple(systems),
        metrics=METRICS,
        plan=routing_plan(_inputs, systems),
        baseline=baseline,
        panels=(
            Panel(f"routing overhead / that of {baseline}", "overhead ratio", ours),
            Panel(f"average path / that of {baseline}", "path ratio", ours),
            Panel("messages of the 99th percentile of nodes / mean", "sent, 99th percentile / mean", ours),
        ),
        extra_metrics=("messages / delivery", "average path", *extra),
        datasets=DATASETS,
    )


LOAD = ("longest path", "sent by the busiest / mean", "table entries a node", "table entries, most")
EXPERIMENTS = (
    _experiment("weave-routers", "Weave and Pie on swico-sl against Scribe", ROUTERS, SCRIBE, *LOAD),
    _experiment("weave-overlays", "Weave on every kind of overlay against Scribe", OVERLAYS, SCRIBE, *LOAD),
    _experiment("weave-fan-out", "Weave's shared trees against a tree from each issuer", FAN_OUTS, ISSUER, *LOAD),
)
