"""Vitis, section 4: Figs. 3-7. Beyond the paper: what n trades, what the gain depends on, and how failures heal."""

from collections.abc import Mapping
from itertools import product

from weft.experiments.engine.dataset import USUAL_LATENCIES, usual_hosts
from weft.experiments.engine.experiment import Effort, Experiment, Panel, Plan, Point
from weft.experiments.runs.vitis import (
    METRICS,
    SEEDS,
    TWITTER,
    FailureRun,
    Surroundings,
    Variant,
    VitisRun,
    by_exponent,
    settings,
    trade,
)
from weft.protocol.vitis.parameters import LOCALITY

PATTERNS = ("random", "low", "high")
PAPER_EXPONENT, EXPONENT = 1.0, LOCALITY  # n: the paper's, and ours

# Fig. 3: the exponent.


def _fig3_plan(effort: Effort, folders: Mapping[str, str]) -> Plan:
    surroundings = Surroundings("random", 500, hosts=usual_hosts(folders))
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
    datasets=USUAL_LATENCIES,
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
            Surroundings(pattern, nodes, hosts=usual_hosts(folders)), 1000, exponent, 1
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
        datasets=USUAL_LATENCIES,
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
    surroundings = Surroundings(TWITTER, 1000, folders.get(TWITTER), usual_hosts(folders))
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
        datasets=(TWITTER, *USUAL_LATENCIES),
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

# Beyond the paper: what n trades, for each pattern, size and set of latencies.

TRADE_SIZES: Mapping[Effort, tuple[int, ...]] = {"quick": (500,), "full": (500, 1000, 2000, 4000)}
TRADE_LATENCIES = {"planetlab": "PL", "wonderproxy": "WP"}


def _trade_systems(pattern: str, latencies: str, effort: Effort) -> dict[int, str]:
    """The names of systems, a size each."""
    return {nodes: f"{pattern}, {nodes}, {latencies}" for nodes in TRADE_SIZES[effort]}


def _trade_plan(effort: Effort, folders: Mapping[str, str]) -> Plan:
    systems = {
        system: Variant(Surroundings(pattern, nodes, hosts=folders.get(key)))
        for (key, short), pattern in product(TRADE_LATENCIES.items(), PATTERNS)
        for nodes, system in _trade_systems(pattern, short, effort).items()
    }
    return by_exponent(effort, systems, 1, "PL: PlanetLab, WP: WonderProxy; without their files both are generated")


TRADE_PANELS = tuple(
    Panel(f"{title}, {pattern}, {short}", metric, tuple(_trade_systems(pattern, short, "full").values()))
    for short in TRADE_LATENCIES.values()
    for title, metric in (("delivery time", "time ratio"), ("relay traffic", "relay ratio"))
    for pattern in PATTERNS
)
TRADE = Experiment(
    name="vitis-trade",
    title="Vitis: what n trades, by pattern, size and latencies",
    paper="vitis",
    axis="n",
    systems=tuple(dict.fromkeys(system for panel in TRADE_PANELS for system in panel.systems)),
    metrics=METRICS,
    plan=_trade_plan,
    panels=TRADE_PANELS,
    extra_metrics=("hit ratio",),
    datasets=tuple(TRADE_LATENCIES),
    logarithmic_axis=True,
    note="Times and relays are relative to the same network without locality.",
)

# What the gain depends on.

FAR = (20.0, 60.0)  # milliseconds of access delay
CAUSE_EXPONENTS = {f"n = {n:g}": n for n in (0.25, 0.5, 1.0)}
CAUSES = tuple(CAUSE_EXPONENTS)


def _cause_inputs(folders: Mapping[str, str]) -> list[tuple[Point, Surroundings, float]]:
    planetlab = folders.get("planetlab")
    usual = Surroundings("random", 500, hosts=planetlab)
    return [
        (Point("usual", "500 nodes on PlanetLab's 490 hosts, access 0.5-5 ms, floor 1 ms"), usual, 1.0),
        (Point("one a host", "490 nodes, no access delay"), Surroundings("random", 490, None, planetlab, (0, 0)), 1.0),
        (Point("slow access", "access 20-60 ms"), Surroundings("random", 500, None, planetlab, FAR), 1.0),
        (Point("floor 100 ms", "a shorter round trip counts as 100 ms"), usual, 100.0),
        (Point("4 a host", "2,000 nodes"), Surroundings("random", 2000, hosts=planetlab), 1.0),
        (Point("WonderProxy", "222 hosts"), Surroundings("random", 500, hosts=folders.get("wonderproxy")), 1.0),
        (Point("OverSim", "plane coordinates"), Surroundings("random", 500, hosts=folders.get("oversim")), 1.0),
        (Point("high", "subscriptions highly correlated"), Surroundings("high", 500, hosts=planetlab), 1.0),
    ]


def _cause_plan(effort: Effort, folders: Mapping[str, str]) -> Plan:
    inputs, seeds = _cause_inputs(folders), SEEDS[effort]
    runs = {
        (system, point.label, seed): VitisRun(surroundings, 1000, n, seed, floor=floor)
        for (point, surroundings, floor), (system, n), seed in product(
            inputs, CAUSE_EXPONENTS.items(), range(1, seeds + 1)
        )
    }
    return Plan([point for point, _, _ in inputs], seeds, runs, "Without their files all latencies are generated")


CAUSE = Experiment(
    name="vitis-latency",
    title="Vitis: what the gain of locality depends on",
    paper="vitis",
    axis="setting",
    systems=CAUSES,
    metrics=METRICS,
    plan=_cause_plan,
    panels=trade(CAUSES),
    extra_metrics=("hit ratio",),
    datasets=(*USUAL_LATENCIES, "oversim"),
)

# Failure of many nodes at once.

SHARES = (0.05, 0.1, 0.2, 0.3, 0.4)
FAILURE_SYSTEMS = {"plain": 0.0, "locality": EXPONENT}


def _failure_plan(effort: Effort, folders: Mapping[str, str]) -> Plan:
    surroundings = Surroundings("random", 500, hosts=usual_hosts(folders))
    seeds = 3 if effort == "quick" else 5
    runs = {
        (system, f"{share:.0%}", seed): FailureRun(surroundings, share, exponent, seed)
        for (system, exponent), share, seed in product(FAILURE_SYSTEMS.items(), SHARES, range(1, seeds + 1))
    }
    points = [Point(f"{share:.0%}", f"{share:.0%} of 500 nodes fail at once", share) for share in SHARES]
    return Plan(points, seeds, runs, settings(folders, 20).replace("a run", "a round"))


FAILURE = Experiment(
    name="vitis-failure",
    title="Vitis: how it heals when nodes fail at once",
    paper="vitis",
    axis="share of the nodes",
    systems=tuple(FAILURE_SYSTEMS),
    metrics=METRICS,
    plan=_failure_plan,
    panels=(
        Panel("rounds until all is delivered again", "rounds to heal", tuple(FAILURE_SYSTEMS)),
        Panel("lowest hit ratio of a round", "lowest hit ratio", tuple(FAILURE_SYSTEMS)),
    ),
    datasets=USUAL_LATENCIES,
)

EXPERIMENTS = (FIG3, FIG4, FIG5, FIG6, FIG7, TRADE, CAUSE, FAILURE)
