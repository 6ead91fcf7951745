"""What no paper states: Weave beside other routers, SWICO's options, degrees, optimality, and locality by design."""

from collections.abc import Mapping
from dataclasses import replace
from itertools import product

from weft.experiments.engine.dataset import USUAL_LATENCIES, usual_hosts
from weft.experiments.engine.experiment import Effort, Experiment, Metric, Panel, Plan, Point
from weft.experiments.papers.vitis import EXPONENT, PATTERNS
from weft.experiments.runs.budget import BudgetRun
from weft.experiments.runs.designed import DesignedRun
from weft.experiments.runs.input import SITES, Input, Inputs, Scale, social_input, social_inputs
from weft.experiments.runs.routing import METRICS, Routed, System, ratio_panels, routing_plan
from weft.experiments.runs.vitis import SEEDS, TWITTER, Surroundings, VitisRun, settings
from weft.experiments.runs.woven import Woven
from weft.protocol.vitis.parameters import Parameters

# Weave beside Pie and Scribe, on all overlays; what bounds on degrees and the weight of the load cost; who publishes.
# The trees of the first three experiments are woven each by itself, with no weight of the load.

WEAVE_METRICS = {
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
WEAVE_DATASETS = ("facebook", "twitter", "wiki-vote")


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


EVEN = "swico-even"
LOADS: Mapping[str, Routed] = {
    "no bound, weight 0": Woven("swico-sl"),
    "no bound, weight 1": Woven("swico-sl", load_weight=1),
    "in-degree 3 log n, weight 1": Woven("swico-sl", load_weight=1, in_degree=3),
    **{f"even, weight {weight}": Woven(EVEN, load_weight=weight) for weight in (0, 0.5, 1, 2)},
    SCRIBE: ROUTERS[SCRIBE],
}
DEFAULT: Mapping[str, Routed] = {"Weave": Woven(EVEN, load_weight=None), SCRIBE: ROUTERS[SCRIBE]}


def _load_inputs(scale: Scale, folders: Mapping[str, str]) -> list[tuple[Point, Input]]:
    """The social graphs, and a generated one."""
    generated = Point("social 10K", "a generated social graph of 10,000 nodes"), Input("social", 10_000)
    return [*(place for place in _weave_inputs(scale, folders) if place[0].label != "Unif"), generated]


def _issuer_inputs(scale: Scale, folders: Mapping[str, str]) -> list[tuple[Point, Input]]:
    """The same graphs, with two kinds of issuers."""
    graphs = _load_inputs(scale, folders)
    users = [
        (Point(f"{point.label}, the user itself", f"{point.about}; users publish"), replace(given, issuers="publisher"))
        for point, given in graphs
    ]
    return users + [
        (Point(f"{point.label}, anyone", f"{point.about}; anyone publishes"), replace(given, issuers="anyone"))
        for point, given in graphs
    ]


def _weave_inputs(scale: Scale, folders: Mapping[str, str]) -> list[tuple[Point, Input]]:
    """Social graphs and Unif; wiki-Vote only where its data is given, since nothing is generated like it."""
    facebook, twitter, votes = (folders.get(key) for key in WEAVE_DATASETS)
    return [
        social_input("FB 1K", "facebook", 1_000, facebook),
        social_input("FB 4K", "facebook", 4_039, facebook),
        social_input("TW 1K", "twitter", 1_000, twitter),
        social_input("TW 10K", "twitter", 10_000, twitter),
        *([] if votes is None else [social_input("wiki-Vote", "wiki-vote", 7_115, votes)]),
        (Point("Unif", "Unif, 1,023 nodes, 10,000 topics"), Input("unif", 1023, 10_000)),
    ]


def _weave(
    name: str, title: str, systems: Mapping[str, Routed], baseline: str, *extra: str, inputs: Inputs = _weave_inputs
) -> Experiment:
    ours = tuple(system for system in systems if system != baseline)
    return Experiment(
        name=name,
        title=title,
        paper="weft",
        axis="instance",
        systems=tuple(systems),
        metrics=WEAVE_METRICS,
        plan=routing_plan(inputs, systems),
        baseline=baseline,
        panels=(
            *ratio_panels(baseline, ours),
            Panel("messages of the 99th percentile of nodes / mean", "sent, 99th percentile / mean", ours),
        ),
        extra_metrics=("messages / delivery", "average path", *extra),
        datasets=WEAVE_DATASETS,
    )


SHARES = (
    "TcoSuppR",
    "most links",
    "most links / ceil(log2 n)",
    "sent by the busiest / mean",
    "busiest sender / busiest receiver",
    "99th percentile, sent / received",
)
LOAD = ("longest path", "sent by the busiest / mean", "table entries a node", "table entries, most")
WEAVE = (
    _weave("weave-routers", "Weave and Pie on swico-sl against Scribe", ROUTERS, SCRIBE, *LOAD),
    _weave("weave-overlays", "Weave on every kind of overlay against Scribe", OVERLAYS, SCRIBE, *LOAD),
    _weave("weave-fan-out", "Weave's shared trees against a tree from each issuer", FAN_OUTS, ISSUER, *LOAD),
    _weave(
        "weave-load",
        "What nodes have to send, by the bound on their in-degree and the weight of the load",
        LOADS,
        SCRIBE,
        *SHARES,
        inputs=_load_inputs,
    ),
    _weave(
        "weave-issuers",
        "Who publishes without subscribing: the user itself, known beforehand, and anyone, unknown",
        DEFAULT,
        SCRIBE,
        *SHARES,
        inputs=_issuer_inputs,
    ),
)

# What the options of SWICO do: how ties are broken, and what fills the fingers that contribute nothing.

CHOICES = ("random", "overlap")


def _options_name(router: str, tie: str, fill: str) -> str:
    return f"{router.title()}, tie {tie}, fill {fill}"


OPTIONS_OURS = {
    _options_name(router, tie, fill): System("swico-sl", router, (("tie", tie), ("fill", fill)))
    for router, tie, fill in product(("pie", "weave"), CHOICES, CHOICES)
}
OPTIONS_SYSTEMS = {**OPTIONS_OURS, SCRIBE: ROUTERS[SCRIBE]}


def _options_inputs(scale: Scale, folders: Mapping[str, str]) -> list[tuple[Point, Input]]:
    unif = Point("Unif", "Unif, 1,023 nodes, 2,000 topics"), Input("unif", 1023, 2000)
    return [*social_inputs(tuple(SITES), scale, folders), unif]


OPTIONS = Experiment(
    name="swico-options",
    title="SWICO's options: ties broken and fingers filled by chance or by overlap",
    paper="weft",
    axis="instance",
    systems=tuple(OPTIONS_SYSTEMS),
    metrics=METRICS,
    plan=routing_plan(_options_inputs, OPTIONS_SYSTEMS),
    panels=(
        Panel("routing overhead / that of Scribe", "overhead ratio", tuple(OPTIONS_OURS)),
        Panel("average path / that of Scribe", "path ratio", tuple(OPTIONS_OURS)),
        Panel("TCO support ratio", "TcoSuppR", tuple(OPTIONS_OURS)),
    ),
    baseline=SCRIBE,
    datasets=tuple(SITES.values()),
)

# What a budget of degrees buys: TcoSuppR of GM stopped at an average degree (GPA) or at a maximum degree (GPM).

DEGREES: Mapping[Effort, tuple[int, ...]] = {"quick": (2, 4, 8, 12, 20, 30), "full": tuple(range(2, 41, 2))}
BUDGET_SYSTEMS = ("FB 1K", "TW 1K", "Unif")


def _budget_plan(effort: Effort, folders: Mapping[str, str]) -> Plan:
    inputs = {f"{site} 1K": social_input("", key, 1000, folders.get(key))[1] for site, key in SITES.items()}
    inputs["Unif"] = Input("unif", 1000, 1000)
    degrees = DEGREES[effort]
    runs = {
        (name, f"{degree}", 1): BudgetRun(given, degree, 1)
        for (name, given), degree in product(inputs.items(), degrees)
    }
    return Plan([Point(f"{degree}", f"degree {degree} at most", degree) for degree in degrees], 1, runs)


BUDGET = Experiment(
    name="degree-budget",
    title="What a budget of degrees buys: GM stopped at an average or a maximum degree",
    paper="weft",
    axis="degree",
    systems=BUDGET_SYSTEMS,
    metrics={"TcoSuppR by average": Metric("by_average"), "TcoSuppR by maximum": Metric("by_maximum")},
    plan=_budget_plan,
    panels=(
        Panel("TcoSuppR, average degree at most (GPA)", "TcoSuppR by average", BUDGET_SYSTEMS),
        Panel("TcoSuppR, every degree at most (GPM)", "TcoSuppR by maximum", BUDGET_SYSTEMS),
    ),
    datasets=tuple(SITES.values()),
)

# Locality in the designed overlay: SWICO with links, and Weave with trees, by latency; beside Vitis on the same input.

PUBLICATIONS: Mapping[Effort, int] = {"quick": 300, "full": 1000}
GOSSIPED_PUBLICATIONS = 1000  # as in the paper; they cost next to nothing
NODES = 1000
# A system is an overlay with its router and whether round-trip times count, or Vitis with its exponent.
DESIGNED = {
    "SWICO, Pie": ("pie", False),
    "SWICO by latency, Pie": ("pie", True),
    "SWICO, Weave": ("weave", False),
    "SWICO and Weave by latency": ("weave", True),
}
GOSSIPED = {"Vitis": 0.0, "Vitis, locality": EXPONENT}
LOCALITY_SYSTEMS = (*GOSSIPED, *DESIGNED)
LOCALITY_METRICS = {
    "delivery time": Metric("delivery_time"),
    "notification time": Metric("notification_time"),
    "relays a delivery": Metric("relays_per_delivery"),
    "relay share": Metric("relay_share"),
    "hops": Metric("average_hops"),
    "hit ratio": Metric("hit_ratio"),
}


def _locality_plan(effort: Effort, folders: Mapping[str, str]) -> Plan:
    from weft.overlays.preference import CLOSENESS

    hosts, count, seeds = usual_hosts(folders), PUBLICATIONS[effort], SEEDS[effort]
    inputs = {pattern: Surroundings(pattern, NODES, hosts=hosts) for pattern in PATTERNS}
    inputs[TWITTER] = Surroundings(TWITTER, NODES, folders.get(TWITTER), hosts)
    runs: dict[tuple[str, str, int], VitisRun | DesignedRun] = {}
    for (label, surroundings), seed in product(inputs.items(), range(1, seeds + 1)):
        for system, exponent in GOSSIPED.items():
            runs[system, label, seed] = VitisRun(
                surroundings, GOSSIPED_PUBLICATIONS, Parameters(exponent=exponent), seed
            )
        for system, (router, by_latency) in DESIGNED.items():
            closeness = CLOSENESS if by_latency else 0.0
            runs[system, label, seed] = DesignedRun(surroundings, router, closeness, count, seed)
    points = [Point(label, f"{label}, {NODES:,} nodes") for label in inputs]
    counts = f"{settings(folders, count)} of a designed overlay, {GOSSIPED_PUBLICATIONS:,} of Vitis"
    return Plan(points, seeds, runs, counts)


LOCALITY = Experiment(
    name="locality-designed",
    title="Locality in designed and in gossiped overlays",
    paper="weft",
    axis="workload",
    systems=LOCALITY_SYSTEMS,
    metrics=LOCALITY_METRICS,
    plan=_locality_plan,
    panels=(
        Panel("delivery time, ms", "delivery time", LOCALITY_SYSTEMS),
        Panel("first notice, ms", "notification time", LOCALITY_SYSTEMS),
        Panel("relays a delivery", "relays a delivery", LOCALITY_SYSTEMS),
    ),
    extra_metrics=("relay share", "hops", "hit ratio"),
    datasets=(TWITTER, *USUAL_LATENCIES),
    note="Vitis notifies first and has the content pulled, a round trip more; SWICO's routers send it along. "
    "Of Vitis the first notice is the notification. A SWICO node has 10 fingers of its own, "
    f"a Vitis node {Parameters().table} links.",
)

EXPERIMENTS = (*WEAVE, OPTIONS, BUDGET, LOCALITY)
