"""Locality in Vitis beyond the paper: what n trades and what the gain depends on; and how failures heal."""

from collections.abc import Mapping
from itertools import product

from weft.experiments.experiment import Effort, Experiment, Panel, Plan, Point
from weft.experiments.vitis import EXPONENT, PATTERNS
from weft.experiments.vitis_run import (
    METRICS,
    SEEDS,
    FailureRun,
    Surroundings,
    Variant,
    VitisRun,
    by_exponent,
    hosts_in,
    settings,
    trade,
)

FAR = (20.0, 60.0)  # milliseconds of access delay

# What n trades, for each pattern, size and set of latencies.

TRADE_SIZES: Mapping[Effort, tuple[int, ...]] = {"quick": (500,), "full": (500, 1000, 2000, 4000)}
TRADE_LATENCIES = {"planetlab": "PL", "wonderproxy": "WP"}


def _trade_systems(pattern: str, latencies: str, effort: Effort) -> dict[int, str]:
    """By size."""
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
    datasets=("planetlab", "wonderproxy", "oversim"),
)

# Failure of many nodes at once.

SHARES = (0.05, 0.1, 0.2, 0.3, 0.4)
FAILURE_SYSTEMS = {"plain": 0.0, "locality": EXPONENT}


def _failure_plan(effort: Effort, folders: Mapping[str, str]) -> Plan:
    surroundings = Surroundings("random", 500, hosts=hosts_in(folders))
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
    datasets=("planetlab", "wonderproxy"),
)

EXPERIMENTS = (TRADE, CAUSE, FAILURE)
