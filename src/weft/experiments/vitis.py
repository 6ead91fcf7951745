"""Vitis, section 4: Figs. 3-7."""

from collections.abc import Mapping
from itertools import product

from weft.experiments.experiment import Effort, Experiment, Panel, Plan, Point
from weft.experiments.vitis_run import (
    METRICS,
    SEEDS,
    TWITTER,
    Surroundings,
    Variant,
    VitisRun,
    by_exponent,
    hosts_in,
    settings,
    trade,
)
from weft.protocol.vitis.parameters import LOCALITY

PATTERNS = ("random", "low", "high")
PAPER_EXPONENT, EXPONENT = 1.0, LOCALITY  # n: the paper's, and ours

# Fig. 3: the exponent.


def _fig3_plan(effort: Effort, folders: Mapping[str, str]) -> Plan:
    surroundings = Surroundings("random", 500, hosts=hosts_in(folders))
    variants = Variant(surroundings), Variant(surroundings, floor=FLOOR), Variant(surroundings, "sum")
    systems = dict(zip(FORMS, variants, strict=True))
    return by_exponent(effort, systems, SEEDS[effort], settings(folders, 1000))


FLOOR = 100.0  # milliseconds
FORMS = ("formula (1)", f"formula (1), d from {FLOOR:g} ms", "sum")
FIG3 = Experiment(
    name="vitis-fig3",
    title="Vitis, Fig. 3: the exponent n, 500 nodes, random",
    paper="vitis",
    axis="n",
    systems=FORMS,
    metrics=METRICS,
    plan=_fig3_plan,
    panels=trade(FORMS),
    extra_metrics=("delivery time", "relay share", "hit ratio", "clusters a topic"),
    datasets=("planetlab", "wonderproxy"),
    logarithmic_axis=True,
    note=f"`d from {FLOOR:g} ms` takes shorter round trips for {FLOOR:g} ms. `sum` adds (1 / d)^n to the similarity "
    "instead of multiplying: it is what the paper's explanation describes.",
)

# Figs. 4 and 5: size and pattern.

SIZES: Mapping[Effort, tuple[int, ...]] = {"quick": (250, 500, 1000), "full": (500, 1000, 2000, 3000, 4000)}
HOW = {"": 0.0, ", locality": EXPONENT, f", n = {PAPER_EXPONENT:g}": PAPER_EXPONENT}
SIZE_SYSTEMS = tuple(f"{pattern}{how}" for how, pattern in product(HOW, PATTERNS))


def _size_plan(effort: Effort, folders: Mapping[str, str]) -> Plan:
    points = [Point(f"V={nodes}", f"{nodes:,} nodes, 1,000 topics", nodes) for nodes in SIZES[effort]]
    runs = {
        (f"{pattern}{how}", f"V={nodes}", 1): VitisRun(
            Surroundings(pattern, nodes, hosts=hosts_in(folders)), 1000, exponent, 1
        )
        for nodes, pattern, (how, exponent) in product(SIZES[effort], PATTERNS, HOW.items())
    }
    return Plan(points, 1, runs, settings(folders, 1000))


def _size_figure(number: int, title: str, panels: tuple[Panel, ...], *extra: str) -> Experiment:
    return Experiment(
        name=f"vitis-fig{number}",
        title=f"Vitis, Fig. {number}: {title} as the nodes grow",
        paper="vitis",
        axis="nodes",
        systems=SIZE_SYSTEMS,
        metrics=METRICS,
        plan=_size_plan,
        panels=panels,
        extra_metrics=extra,
        datasets=("planetlab", "wonderproxy"),
        note=f"Locality is with n = {EXPONENT:g}, our default; n = {PAPER_EXPONENT:g} is the paper's.",
    )


PLAIN, WITH = SIZE_SYSTEMS[:3], SIZE_SYSTEMS[3:]
FIG4 = _size_figure(
    4,
    "delivery time",
    (
        Panel("delivery time, ms", "delivery time", SIZE_SYSTEMS[:6]),
        Panel("delivery time / that without locality", "time ratio", WITH),
    ),
    "hops",
    "hit ratio",
)
FIG5 = _size_figure(
    5,
    "relay traffic",
    (
        Panel("relay share of a node's traffic", "relay share", SIZE_SYSTEMS[:6]),
        Panel("relay traffic / that without locality", "relay ratio", WITH),
    ),
    "relays a delivery",
    "clusters a topic",
    "degree",
    "upkeep messages",
)

# Figs. 6 and 7: Twitter, with and without churn.

COUNTS = (250, 500, 750, 1000)
CHURN = {"": False, ", churn": True}
CHURN_SYSTEMS = tuple(f"{how}{churn}" for churn, how in product(CHURN, ("plain", "locality")))


def _churn_plan(effort: Effort, folders: Mapping[str, str]) -> Plan:
    surroundings = Surroundings(TWITTER, 1000, folders.get(TWITTER), hosts_in(folders))
    points = [Point(f"{count} events", f"{count} publications", count) for count in COUNTS]
    seeds = SEEDS[effort]
    runs = {
        (f"{how}{suffix}", f"{count} events", seed): VitisRun(surroundings, count, exponent, seed, churn)
        for count, (suffix, churn), (how, exponent), seed in product(
            COUNTS, CHURN.items(), (("plain", 0.0), ("locality", EXPONENT)), range(1, seeds + 1)
        )
    }
    return Plan(points, seeds, runs, settings(folders, 1000))


def _churn_figure(number: int, title: str, panels: tuple[Panel, ...], *extra: str) -> Experiment:
    return Experiment(
        name=f"vitis-fig{number}",
        title=f"Vitis, Fig. {number}: {title}, Twitter, 1,000 nodes",
        paper="vitis",
        axis="publications",
        systems=CHURN_SYSTEMS,
        metrics=METRICS,
        plan=_churn_plan,
        panels=panels,
        extra_metrics=extra,
        datasets=(TWITTER, "planetlab", "wonderproxy"),
        note="Twitter is a sample by the closure method, which removes nodes that follow nobody or that nobody "
        f"follows, so that fewer than 1,000 remain. Locality is with n = {EXPONENT:g}.",
    )


LOCAL = tuple(system for system in CHURN_SYSTEMS if system.startswith("locality"))
FIG6 = _churn_figure(
    6,
    "delivery time",
    (
        Panel("delivery time, ms", "delivery time", CHURN_SYSTEMS),
        Panel("delivery time / that without locality", "time ratio", LOCAL),
    ),
    "hit ratio",
    "hops",
)
FIG7 = _churn_figure(
    7,
    "relay traffic",
    (
        Panel("relay share of a node's traffic", "relay share", CHURN_SYSTEMS),
        Panel("relay traffic / that without locality", "relay ratio", LOCAL),
    ),
    "relays a delivery",
    "rounds to heal",
    "lowest hit ratio",
)

EXPERIMENTS = (FIG3, FIG4, FIG5, FIG6, FIG7)
