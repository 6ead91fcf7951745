"""PopSub, section 5: Figs. 3 and 4, panel by panel, and our own way beside the paper's three.

A seed is a topology and a workload: five of each make the paper's 25 runs a point.

Our brokers were measured at several times what the paper's load asks for: with all of that, nothing is ever overloaded.
So each has a tenth of it, as if ten shared a core. Then, as in the paper, Fig. 3 is within what brokers can do, and
Fig. 4 is beyond.
"""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from weft.experiments.dataset import DATASETS, LATENCIES
from weft.experiments.experiment import Effort, Experiment, Metric, Panel, Plan, Point
from weft.model.instance import Instance, read_instance
from weft.model.latency import Latency, place, read_latency
from weft.overlays.broker_tree import BrokerTree, Neighbourhood, broker_tree
from weft.protocol.popsub.parameters import Parameters, Way
from weft.sim.capacity import Capacity, measured_capacity
from weft.sim.popsub import simulate
from weft.sim.stage import Stage, stage_of
from weft.workloads.catalog import generate
from weft.workloads.followers import follower_popularity, zipf_popularity
from weft.workloads.geography import geographic_latency
from weft.workloads.popsub import Setting, content_workload

PUBLISHERS = 200
HOSTS = 490  # of PlanetLab; others are made as many
USERS = 20_000  # of the generated social graph
TOPOLOGIES = 5
SHARE = 0.1  # of the measured capacity

BASELINE = "baseline"
SYSTEMS = {
    BASELINE: Way.TREE,
    "Direct Delivery": Way.DIRECT,
    "Batching": Way.BATCH,
    "Gossiping": Way.GOSSIP,
    "adaptive": Way.ADAPTIVE,
}
UNPOPULAR = tuple(system for system in SYSTEMS if system != BASELINE)
METRICS = {
    "gain ratio": Metric("gain_ratio"),
    "gain / baseline's": Metric("gain_ratio", relative=True),
    "gain at issuers / baseline's": Metric("issuer_gain_ratio", relative=True),
    "pure forwards": Metric("pure_forwards"),
    "pure forwards / baseline's": Metric("pure_forwards", relative=True),
    "unpopular deliveries": Metric("unpopular_deliveries"),
    "popular PDL": Metric("popular_latency"),
    "popular PDL / baseline's": Metric("popular_latency", relative=True),
    "unpopular PDL": Metric("unpopular_latency"),
    "unpopular PDL, 90th percentile": Metric("unpopular_latency_90"),
    "queue": Metric("queue"),
    "queue / baseline's": Metric("queue", relative=True),
    "direct forwards": Metric("direct_forwards"),
    "gossip groups": Metric("groups"),
    "gossip false positives": Metric("gossip_false_positives"),
    "matches per gossip": Metric("matches_per_gossip"),
}
SEEDS: Mapping[Effort, int] = {"quick": 2, "full": 25}


@dataclass(frozen=True)
class Input:
    brokers: int = 200
    subscriptions: int = 22_000
    rate: float = 10.0  # publications a second and publisher
    exponent: float | None = None  # of a Zipf law; none: publishers are as popular as users of a social graph
    followers: str | None = None  # the folder of ego-Twitter; none: a generated graph
    latency: str | None = None  # a file; none: generated latencies


@dataclass(frozen=True)
class PopSubRun:
    input: Input
    way: Way
    phi: float  # 1 for the baseline, which has none
    seed: int

    @property
    def batch(self) -> Hashable:
        return self.input, self.seed

    @property
    def cost(self) -> float:
        return 1e-7 * self.input.subscriptions * self.input.rate * 60

    def measure(self) -> dict[str, Any]:
        stage, diameter = _stage(self.input, self.seed)
        capacity = _capacity()
        parameters = Parameters(diameter, capacity.publications_per_second, self.phi)
        made = asdict(simulate(stage, self.way, parameters, capacity, self.seed))
        return made | {"simulated_seconds": made.pop("seconds")} | _without_meaning(made)


def _without_meaning(made: Mapping[str, Any]) -> dict[str, None]:
    """The figures of ways that were not taken."""
    needs = {
        "unpopular_latency": "unpopular_deliveries",
        "unpopular_latency_90": "unpopular_deliveries",
        "direct_forwards": "direct_forwards",
        "gossip_false_positives": "groups",
        "matches_per_gossip": "groups",
        "groups": "groups",
    }
    return {figure: None for figure, needed in needs.items() if not made[needed]}


@lru_cache(maxsize=1)
def _stage(given: Input, seed: int) -> tuple[Stage, float]:
    """And the longest time between two brokers, along the tree or out of it."""
    workload_seed, topology = divmod(seed - 1, TOPOLOGIES)
    tree = broker_tree(_hosts(given.latency), Neighbourhood(given.brokers), topology)
    setting = Setting(given.subscriptions, given.rate)
    workload = content_workload(_popularity(given, workload_seed), tree.top, given.brokers, setting, workload_seed)
    return stage_of(tree, workload), _diameter(tree)


def _diameter(tree: BrokerTree) -> float:
    """At most: twice the way from the root to the farthest broker."""
    from_root = np.zeros(tree.brokers)
    for broker in np.argsort(tree.depths, kind="stable")[1:]:
        parent = tree.parents[broker]
        from_root[broker] = from_root[parent] + tree.delays[parent, broker]
    return float(max(2 * from_root.max(), tree.delays.max()))


@lru_cache(maxsize=1)
def _hosts(path: str | None) -> Latency:
    """Sets of fewer hosts have several brokers on one."""
    latency = geographic_latency(HOSTS, seed=0) if path is None else read_latency(path)
    return latency if latency.nodes >= HOSTS else place(latency, HOSTS, seed=0)


def _popularity(given: Input, seed: int) -> npt.ArrayLike:
    if given.exponent is not None:
        return zipf_popularity(PUBLISHERS, given.exponent)
    return follower_popularity(_social_graph(given.followers), PUBLISHERS, seed)


@lru_cache(maxsize=1)
def _social_graph(folder: str | None) -> Instance:
    return generate("social", nodes=USERS, like="twitter", seed=0) if folder is None else read_instance(folder)


@lru_cache(maxsize=1)
def _capacity() -> Capacity:
    measured = measured_capacity()
    return replace(measured, publications_per_second=SHARE * measured.publications_per_second)


@dataclass(frozen=True)
class Axis:
    quick: tuple[float, ...]
    full: tuple[float, ...]
    label: str  # of a point, with {x}
    about: str  # with {x}
    input_at: Callable[[float], Input]
    phi_at: Callable[[float], float] = lambda x: 0.05


def _plan(axis: Axis) -> Callable[[Effort, Mapping[str, str]], Plan]:
    def plan(effort: Effort, folders: Mapping[str, str]) -> Plan:
        steps = axis.quick if effort == "quick" else axis.full
        points = {x: Point(axis.label.format(x=x), axis.about.format(x=x), x) for x in steps}
        runs = {
            (system, points[x].label, seed): _run(axis, x, way, folders, seed)
            for x, seed, (system, way) in product(steps, range(1, SEEDS[effort] + 1), SYSTEMS.items())
        }
        return Plan(list(points.values()), SEEDS[effort], runs, _settings(folders))

    return plan


def _run(axis: Axis, x: float, way: Way, folders: Mapping[str, str], seed: int) -> PopSubRun:
    given = replace(axis.input_at(x), latency=folders.get("planetlab", folders.get("wonderproxy")))
    if given.exponent is None:
        given = replace(given, followers=folders.get("twitter"))
    return PopSubRun(given, way, 1.0 if way is Way.TREE else axis.phi_at(x), seed)


def _settings(folders: Mapping[str, str]) -> str:
    latency = next((LATENCIES[key].name for key in ("planetlab", "wonderproxy") if key in folders), "generated")
    followers = DATASETS["twitter"].name if "twitter" in folders else "generated"
    capacity = _capacity().publications_per_second
    return f"Latencies: {latency}; followers: {followers}; brokers forward {capacity:,.0f} publications/s"


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
        extra_metrics=("gain / baseline's", "gain at issuers / baseline's", "pure forwards / baseline's", *extra),
        datasets=("twitter", "planetlab", "wonderproxy"),
        logarithmic_axis=name == "fig3-phi",
    )


def _gain(letter: str) -> Panel:
    return Panel(f"({letter}) publication gain ratio", "gain ratio", tuple(SYSTEMS))


def _pure(letter: str) -> Panel:
    return Panel(f"({letter}) pure forwards", "pure forwards", tuple(SYSTEMS))


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

EXPERIMENTS = (
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
        ("popular PDL",),
    ),
    _figure(
        "fig3-subscriptions",
        "3h-3k",
        "the number of subscriptions",
        "subscriptions",
        SUBSCRIPTIONS,
        (_gain("h"), _pure("i"), _unpopular("j"), _direct("k"), _of_gossip("k", "gossip groups")),
        ("popular PDL",),
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
        ("queue / baseline's", "popular PDL / baseline's"),
    ),
)
