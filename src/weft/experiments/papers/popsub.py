"""PopSub, section 5: Figs. 3 and 4, panel by panel, and our own way beside the paper's three.

The paper leaves open what most of its numbers depend on. The choices run its first setting and its overloaded one by
other readings: what brokers can forward, on both kinds of trees; how wide subscriptions are, what additional links
cost, and what batches gain; and the cross runs tree, capacity, cost of links and width in all combinations. All of them
tell gains by the three readings of who records them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING

from weft.experiments.engine.dataset import DATASETS, LATENCIES, USUAL_LATENCIES, usual_hosts, usual_latencies
from weft.experiments.engine.experiment import Effort, Experiment, Metric, Panel, Plan, Point, Reading
from weft.experiments.runs.popsub import Input, PopSubRun, Power
from weft.protocol.popsub.parameters import Way

if TYPE_CHECKING:
    from weft.workloads.popsub import Wanted

BASELINE = "baseline"
SYSTEMS = {
    BASELINE: Way.TREE,
    "Direct Delivery": Way.DIRECT,
    "Batching": Way.BATCH,
    "Gossiping": Way.GOSSIP,
    "adaptive": Way.ADAPTIVE,
}
RELATIVE = (
    "gain of issuers' messages",
    "gain of all messages",
    "gain / baseline's",
    "gain of issuers' messages / baseline's",
    "gain of all messages / baseline's",
    "pure forwards / baseline's",
)
RECORDINGS = {
    "issuers, every message": "gain of issuers' messages",
    "all brokers, every message": "gain of all messages",
    "issuers, once a link": "gain ratio",
}
READINGS = tuple(
    Reading(name, metrics={"gain ratio": gain, "gain / baseline's": f"{gain.removesuffix(' ratio')} / baseline's"})
    for name, gain in RECORDINGS.items()
)
SYSTEMS_OF_PAPER = tuple(system for system in SYSTEMS if system != "adaptive")
UNPOPULAR = tuple(system for system in SYSTEMS if system != BASELINE)
METRICS = {
    "gain ratio": Metric("gain_ratio"),
    "gain of issuers' messages": Metric("issuer_gain_ratio"),
    "gain of all messages": Metric("message_gain_ratio"),
    "gain / baseline's": Metric("gain_ratio", relative=True),
    "gain of issuers' messages / baseline's": Metric("issuer_gain_ratio", relative=True),
    "gain of all messages / baseline's": Metric("message_gain_ratio", relative=True),
    "pure forwards": Metric("pure_forwards"),
    "pure forwards / baseline's": Metric("pure_forwards", relative=True),
    "unpopular deliveries": Metric("unpopular_deliveries"),
    "popular PDL": Metric("popular_latency"),
    "popular PDL / baseline's": Metric("popular_latency", relative=True),
    "unpopular PDL": Metric("unpopular_latency"),
    "unpopular PDL / Direct Delivery's": Metric("unpopular_latency", relative=True, to="Direct Delivery"),
    "unpopular PDL, 90th percentile": Metric("unpopular_latency_90"),
    "90th percentile / Direct Delivery's": Metric("unpopular_latency_90", relative=True, to="Direct Delivery"),
    "popular PDL / unpopular": Metric("popular_to_unpopular", unit=1.0),
    "load of the busiest": Metric("load", unit=1.0),
    "missed deliveries": Metric("missed"),
    "queue": Metric("queue"),
    "queue / baseline's": Metric("queue", relative=True),
    "queue in messages": Metric("message_queue"),
    "queue in messages / baseline's": Metric("message_queue", relative=True),
    "direct forwards": Metric("direct_forwards"),
    "gossip groups": Metric("groups"),
    "gossip false positives": Metric("gossip_false_positives"),
    "matches per gossip": Metric("matches_per_gossip"),
}
PHI_USED = 0.05
SHARE = "share of the measured capacity"

Planned = Callable[[Effort, Mapping[str, str]], Plan]
SEEDS: Mapping[Effort, int] = {"quick": 2, "full": 25}


@dataclass(frozen=True)
class Axis:
    quick: tuple[float, ...]
    full: tuple[float, ...]
    label: str  # of a point, with {x}
    about: str  # with {x}
    input_at: Callable[[float], Input]
    phi_at: Callable[[float], float] = lambda x: PHI_USED
    power_at: Callable[[float], Power] = lambda x: Power()


def _plan(axis: Axis, systems: tuple[str, ...] = tuple(SYSTEMS)) -> Planned:
    def plan(effort: Effort, folders: Mapping[str, str]) -> Plan:
        steps = axis.quick if effort == "quick" else axis.full
        points = {x: Point(axis.label.format(x=x), axis.about.format(x=x), x) for x in steps}
        runs = {
            (system, points[x].label, seed): _run(axis, x, way, folders, seed)
            for x, seed, (system, way) in product(steps, range(1, SEEDS[effort] + 1), SYSTEMS.items())
            if system in systems
        }
        return Plan(list(points.values()), SEEDS[effort], runs, _settings(folders))

    return plan


def _run(axis: Axis, x: float, way: Way, folders: Mapping[str, str], seed: int) -> PopSubRun:
    phi = 1.0 if way is Way.TREE else axis.phi_at(x)
    return PopSubRun(_on(axis.input_at(x), folders), way, phi, seed, axis.power_at(x))


def _on(given: Input, folders: Mapping[str, str]) -> Input:
    followers = folders.get("twitter") if given.exponent is None else None
    return replace(given, latency=usual_hosts(folders), followers=followers)


def _settings(folders: Mapping[str, str]) -> str:
    from weft.experiments.measures.popsub import broker_capacity

    capacity = broker_capacity(Power()).publications_per_second
    return f"{_data(folders)}; brokers forward {capacity:,.0f} publications/s where nothing else is said"


def _data(folders: Mapping[str, str]) -> str:
    key = usual_latencies(folders)
    latency = "generated" if key is None else LATENCIES[key].name
    followers = DATASETS["twitter"].name if "twitter" in folders else "generated"
    return f"Latencies: {latency}; followers: {followers}"


def _figure(
    name: str, panels: str, title: str, axis_name: str, axis: Axis, drawn: tuple[Panel, ...], extra: tuple[str, ...]
) -> Experiment:
    return Experiment(
        name=f"popsub-{name}",
        title=f"PopSub, Fig. {panels}: {title}",
        paper="popsub",
        axis=axis_name,
        systems=tuple(SYSTEMS),
        metrics=METRICS,
        plan=_plan(axis),
        panels=drawn,
        baseline=BASELINE,
        extra_metrics=(*RELATIVE, *extra),
        datasets=("twitter", *USUAL_LATENCIES),
        logarithmic_axis=name == "fig3-phi",
        readings=READINGS,
    )


def _gain(letter: str, systems: tuple[str, ...] = tuple(SYSTEMS)) -> Panel:
    return Panel(f"({letter}) publication gain ratio", "gain ratio", systems)


def _pure(letter: str, systems: tuple[str, ...] = tuple(SYSTEMS)) -> Panel:
    return Panel(f"({letter}) pure forwards", "pure forwards", systems)


def _unpopular(letter: str) -> Panel:
    return Panel(f"({letter}) unpopular PDL, ms", "unpopular PDL", UNPOPULAR, logarithmic=True)


def _direct(letter: str) -> Panel:
    return Panel(f"({letter}) direct forwards of a publication", "direct forwards", ("Direct Delivery", "adaptive"))


def _of_gossip(letter: str, metric: str) -> Panel:
    return Panel(f"({letter}) {metric}", metric, ("Gossiping",))


PHI = Axis(
    quick=(0.01, 0.05, 0.1, 0.5),
    full=(0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0),
    label="phi={x:g}",
    about="phi {x:g}, 200 brokers, 22,000 subscriptions",
    input_at=lambda x: Input(),
    phi_at=lambda x: x,
)
SIZE = Axis(
    quick=(100, 200, 300),
    full=(100, 150, 200, 250, 300),
    label="{x:g} brokers",
    about="{x:g} brokers, 22,000 subscriptions, phi 0.05",
    input_at=lambda x: Input(brokers=int(x)),
)
SUBSCRIPTIONS = Axis(
    quick=(20_000, 22_000, 25_000),
    full=(20_000, 21_000, 22_000, 23_000, 24_000, 25_000),
    label="{x:g} subscriptions",
    about="{x:g} subscriptions at 200 brokers, phi 0.05",
    input_at=lambda x: Input(subscriptions=int(x)),
)
SKEW = Axis(
    quick=(0.05, 0.5, 1.0),
    full=(0.05, 0.25, 0.5, 0.75, 1.0),
    label="s={x:g}",
    about="Zipf with exponent {x:g}, 200 brokers, 22,000 subscriptions, phi 0.05",
    input_at=lambda x: Input(exponent=x),
)
OVERLOAD = Axis(
    quick=(30_000, 50_000),
    full=(30_000, 35_000, 40_000, 45_000, 50_000),
    label="{x:g} subscriptions",
    about="{x:g} subscriptions at 300 brokers, 15 publications/s, phi 0.05",
    input_at=lambda x: Input(brokers=300, subscriptions=int(x), rate=15.0),
)

FIGURES = (
    _figure(
        "fig3-phi",
        "3a-3c",
        "the share of capacity for popular publications",
        "phi",
        PHI,
        (_gain("a"), Panel("(b) unpopular deliveries", "unpopular deliveries", UNPOPULAR), _pure("c")),
        ("popular PDL",),
    ),
    _figure(
        "fig3-size",
        "3d-3g",
        "the size of the overlay",
        "brokers",
        SIZE,
        (
            _gain("d"),
            _pure("e"),
            _unpopular("f"),
            Panel("(g) the same, 90th percentile, ms", "unpopular PDL, 90th percentile", UNPOPULAR, logarithmic=True),
        ),
        (
            "popular PDL",
            "popular PDL / unpopular",
            "unpopular PDL / Direct Delivery's",
            "90th percentile / Direct Delivery's",
        ),
    ),
    _figure(
        "fig3-subscriptions",
        "3h-3k",
        "the number of subscriptions",
        "subscriptions",
        SUBSCRIPTIONS,
        (_gain("h"), _pure("i"), _unpopular("j"), _direct("k"), _of_gossip("k", "gossip groups")),
        ("popular PDL", "unpopular deliveries"),
    ),
    _figure(
        "fig3-skew",
        "3l-3o",
        "the skew of the workload",
        "Zipf exponent",
        SKEW,
        (
            _gain("l"),
            _pure("m"),
            _of_gossip("n", "gossip false positives"),
            _of_gossip("n", "matches per gossip"),
            _of_gossip("o", "gossip groups"),
            _direct("o"),
        ),
        ("popular PDL", "unpopular PDL"),
    ),
    _figure(
        "fig4",
        "4a-4d",
        "overloaded brokers",
        "subscriptions",
        OVERLOAD,
        (
            _gain("a"),
            Panel("(b) average queue", "queue", tuple(SYSTEMS), logarithmic=True),
            Panel("(c) popular PDL, ms", "popular PDL", tuple(SYSTEMS), logarithmic=True),
            _unpopular("d"),
        ),
        ("queue / baseline's", "queue in messages / baseline's", "popular PDL / baseline's", "popular PDL / unpopular"),
    ),
)

OVERLOADED = Input(brokers=300, subscriptions=30_000, rate=15.0)


def _choice(name: str, title: str, axis_name: str, plan: Planned, extra: tuple[str, ...] = ()) -> Experiment:
    queue = Panel("(c) average queue", "queue", SYSTEMS_OF_PAPER, logarithmic=True)
    return Experiment(
        name=f"popsub-choice-{name}",
        title=f"PopSub, what is left open: {title}",
        paper="popsub",
        axis=axis_name,
        systems=SYSTEMS_OF_PAPER,
        metrics=METRICS,
        plan=plan,
        panels=(_gain("a", SYSTEMS_OF_PAPER), _pure("b", SYSTEMS_OF_PAPER), queue),
        baseline=BASELINE,
        extra_metrics=(
            *RELATIVE,
            "load of the busiest",
            "popular PDL",
            "unpopular PDL",
            "direct forwards",
            *extra,
        ),
        datasets=("twitter", *USUAL_LATENCIES),
    )


def _by_capacity(given: Input) -> Planned:
    axis = Axis(
        quick=(0.25, 1.0),
        full=(0.1, 0.25, 0.5, 0.7, 1.0),
        label="{x:g} of the capacity",
        about="{x:g} of the measured capacity, phi 0.05",
        input_at=lambda x: given,
        power_at=lambda x: Power(share=x),
    )
    return _plan(axis, SYSTEMS_OF_PAPER)


def _by_reading(given: Input) -> Planned:
    readings = {
        "as in the figures": (given, Power()),
        "8 nearest hosts": (replace(given, nearest=8), Power()),
        "a third is wanted": (replace(given, wanted="third"), Power()),
        "all is wanted": (replace(given, wanted="all"), Power()),
        "other links cost writing": (given, Power(additional=None)),
        "batches gain 1.2 at most": (given, Power(batch_gain=1.2)),
    }

    def plan(effort: Effort, folders: Mapping[str, str]) -> Plan:
        runs = {
            (system, label, seed): PopSubRun(_on(read, folders), way, 1.0 if way is Way.TREE else PHI_USED, seed, power)
            for (label, (read, power)), seed in product(readings.items(), range(1, SEEDS[effort] + 1))
            for system, way in SYSTEMS.items()
            if system in SYSTEMS_OF_PAPER
        }
        return Plan([Point(label, label) for label in readings], SEEDS[effort], runs, _settings(folders))

    return plan


TREES = {"matrix": (None, "trees of all latencies"), "nearest": (3, "trees of the 3 nearest hosts")}
QUEUES = ("queue / baseline's", "queue in messages / baseline's")
CHOICES = (
    *(
        _choice(tree, f"capacity, {about}", SHARE, _by_capacity(Input(nearest=nearest)))
        for tree, (nearest, about) in TREES.items()
    ),
    *(
        _choice(
            f"{tree}-overloaded",
            f"capacity, {about}, overloaded",
            SHARE,
            _by_capacity(replace(OVERLOADED, nearest=nearest)),
            QUEUES,
        )
        for tree, (nearest, about) in TREES.items()
    ),
    _choice("reading", "what subscriptions want, links cost and batches gain", "reading", _by_reading(Input())),
    _choice("reading-overloaded", "the same, overloaded", "reading", _by_reading(OVERLOADED), QUEUES),
)

# The same choices all at once, in the first setting of Fig. 3 and in that of Fig. 4.

SHARES = (0.1, 0.25, 0.5, 0.7, 1.0)
LINKS: Mapping[str, float | None] = {"a unit a link": 1.0, "writing only": None}
WIDTHS: "tuple[Wanted, ...]" = ("third", "half", "all")
CELL = "the setting"  # the point that claims are about, which every reading has elsewhere


@dataclass(frozen=True)
class Cell:
    tree: str
    share: float
    link: str
    wanted: "Wanted"

    @property
    def label(self) -> str:
        return f"{self.tree}, {self.share:g}, {self.link}, {self.wanted}"

    def run(self, given: Input, way: Way, folders: Mapping[str, str], seed: int) -> PopSubRun:
        power = Power(share=self.share, additional=LINKS[self.link])
        read = replace(given, nearest=TREES[self.tree][0], wanted=self.wanted)
        return PopSubRun(_on(read, folders), way, 1.0 if way is Way.TREE else PHI_USED, seed, power)


CELLS = [Cell(*choices) for choices in product(TREES, SHARES, LINKS, WIDTHS)]


def _cross(name: str, title: str, given: Input, *extra: str) -> Experiment:
    def plan(effort: Effort, folders: Mapping[str, str]) -> Plan:
        seeds = 1 if effort == "quick" else SEEDS[effort]
        runs = {
            (system, cell.label, seed): cell.run(given, SYSTEMS[system], folders, seed)
            for cell, seed, system in product(CELLS, range(1, seeds + 1), SYSTEMS_OF_PAPER)
        }
        return Plan([Point(cell.label, cell.label) for cell in CELLS], seeds, runs, _settings(folders))

    whole = _choice(name, title, "tree, share of the capacity, cost of further links, what is wanted", plan, extra)
    readings = (
        Reading(f"{cell.label}; {recording.name}", metrics=recording.metrics, points={CELL: cell.label})
        for cell, recording in product(CELLS, READINGS)
    )
    return replace(whole, extra_metrics=(*whole.extra_metrics, "missed deliveries"), readings=tuple(readings))


CROSSES = (
    _cross("cross", "tree, capacity, cost of links and width, all at once", Input()),
    _cross("cross-overloaded", "the same, overloaded", OVERLOADED, *QUEUES, "popular PDL / baseline's"),
)
EXPERIMENTS = (*FIGURES, *CHOICES, *CROSSES)
