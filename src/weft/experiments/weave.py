"""Weave beside Pie and Scribe, on all overlays; what bounds on degrees and the weight of the load cost; who publishes.

The trees of the first three experiments are woven each by itself, with no weight of the load. Publishers that are known
count where the overlay is swico-even.
"""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from weft.experiments.experiment import Experiment, Metric, Panel, Point
from weft.experiments.point import social_input
from weft.experiments.routing import (
    Input,
    Inputs,
    Routed,
    Scale,
    System,
    figures_of,
    instance_of,
    overlay_of,
    routing_plan,
)
from weft.model.ring import phase_count
from weft.sim.bulk import evaluate
from weft.sim.issuer_tree import average_path
from weft.trees.load import LOAD_WEIGHT
from weft.trees.weave import FAN_OUT, mesh_of, weave
from weft.workloads.publication import By, publications

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
    "TcoSuppR": Metric("tco_support_ratio"),
    "most links": Metric("most_links"),
    "most links / ceil(log2 n)": Metric("links_over_phases"),
    "busiest sender / busiest receiver": Metric("busiest_over_receiver"),
    "99th percentile, sent / received": Metric("percentile_over_receivers"),
}
SCRIBE, ISSUER = "Scribe on random", "a tree from each issuer"
DATASETS = ("facebook", "twitter", "wiki-vote")
EVEN = "swico-even"


@dataclass(frozen=True)
class WovenRun:
    """Weave on an overlay; with `from_issuers`, the path is that of a tree grown from each issuer."""

    input: Input
    overlay: str
    fan_out: int
    publications: int
    seed: int
    from_issuers: bool = False
    load_weight: float = 0.0
    in_degree: int | None = None  # for every phase

    @property
    def batch(self) -> Hashable:
        return self.input, self.overlay, self.options, self.publications, self.seed

    @property
    def cost(self) -> float:
        return 1e-4 * self.input.nodes + 1e-5 * self.publications

    @property
    def options(self) -> tuple[tuple[str, Any], ...]:
        """Of the overlay."""
        return () if self.in_degree is None else (("in_degree", self.in_degree * phase_count(self.input.nodes)),)

    def measure(self) -> dict[str, Any]:
        instance = instance_of(self.input, self.seed)
        overlay = overlay_of(self.input, self.overlay, self.options, self.seed)
        drawn = publications(instance, self.publications, self.seed, by=self.input.issuers)
        made_for = instance if self.overlay == EVEN else instance.without_publishers
        trees = weave(made_for, overlay, fan_out=self.fan_out, load_weight=self.load_weight)
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
    load_weight: float = 0.0
    in_degree: int | None = None  # for every phase

    def run(self, given: Input, publications: int, seed: int) -> WovenRun:
        what = self.overlay, self.fan_out, publications, seed, self.from_issuers
        return WovenRun(given, *what, self.load_weight, self.in_degree)


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


LOADS: Mapping[str, Routed] = {
    "no bound, weight 0": Woven("swico-sl"),
    "no bound, weight 1": Woven("swico-sl", load_weight=1),
    "in-degree 3 log n, weight 1": Woven("swico-sl", load_weight=1, in_degree=3),
    **{f"even, weight {weight}": Woven(EVEN, load_weight=weight) for weight in (0, 0.5, 1, 2)},
    SCRIBE: ROUTERS[SCRIBE],
}
DEFAULT: Mapping[str, Routed] = {"Weave": Woven(EVEN, load_weight=LOAD_WEIGHT), SCRIBE: ROUTERS[SCRIBE]}


def _load_inputs(scale: Scale, folders: Mapping[str, str]) -> list[tuple[Point, Input]]:
    """The social graphs, and a generated one."""
    generated = Point("social 10K", "a generated social graph of 10,000 nodes"), Input("social", 10_000)
    return [*(place for place in _inputs(scale, folders) if place[0].label != "Unif"), generated]


def _issuer_inputs(scale: Scale, folders: Mapping[str, str]) -> list[tuple[Point, Input]]:
    """The same graphs, with two kinds of issuers."""
    kinds: tuple[tuple[str, By], ...] = (("the user itself", "publisher"), ("anyone", "anyone"))
    return [
        (Point(f"{point.label}, {who}", f"{point.about}; {who} publishes"), replace(given, issuers=by))
        for who, by in kinds
        for point, given in _load_inputs(scale, folders)
    ]


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


def _experiment(
    name: str, title: str, systems: Mapping[str, Routed], baseline: str, *extra: str, inputs: Inputs = _inputs
) -> Experiment:
    ours = tuple(system for system in systems if system != baseline)
    return Experiment(
        name=name,
        title=title,
        paper="weft",
        axis="instance",
        systems=tuple(systems),
        metrics=METRICS,
        plan=routing_plan(inputs, systems),
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
SHARES = (
    "TcoSuppR",
    "most links",
    "most links / ceil(log2 n)",
    "sent by the busiest / mean",
    "busiest sender / busiest receiver",
    "99th percentile, sent / received",
)
EXPERIMENTS = (
    _experiment("weave-routers", "Weave and Pie on swico-sl against Scribe", ROUTERS, SCRIBE, *LOAD),
    _experiment("weave-overlays", "Weave on every kind of overlay against Scribe", OVERLAYS, SCRIBE, *LOAD),
    _experiment("weave-fan-out", "Weave's shared trees against a tree from each issuer", FAN_OUTS, ISSUER, *LOAD),
    _experiment(
        "weave-load",
        "What nodes have to send, by the bound on their in-degree and the weight of the load",
        LOADS,
        SCRIBE,
        *SHARES,
        inputs=_load_inputs,
    ),
    _experiment(
        "weave-issuers",
        "Who publishes without subscribing: the user itself, known beforehand, and anyone, unknown",
        DEFAULT,
        SCRIBE,
        *SHARES,
        inputs=_issuer_inputs,
    ),
)
