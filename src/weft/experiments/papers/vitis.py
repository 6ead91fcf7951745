"""Vitis, section 4: Figs. 3-7. Beyond the paper: the sizes that it does not give, what n trades, what the gain of
locality depends on, and how failures heal.

Every statement of the paper from section 4.2 on is of n = 1, so that it is asked of n = 1 here, and of our n beside.
"""

from collections.abc import Mapping
from dataclasses import replace
from itertools import product
from typing import Any

from weft.experiments.engine.dataset import USUAL_LATENCIES, usual_hosts
from weft.experiments.engine.experiment import Effort, Experiment, Panel, Plan, Point, Reading
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
from weft.protocol.vitis.parameters import LOCALITY, Parameters

PATTERNS = ("random", "low", "high")
PAPER_EXPONENT, EXPONENT = 1.0, LOCALITY  # n: the paper's, and ours
HOW = {"": 0.0, ", locality": EXPONENT, f", n = {PAPER_EXPONENT:g}": PAPER_EXPONENT}

# Readings: claims are of n = 1, "hereafter" (section 4.1), by formula (1) as printed. All others are ours.

OURS = {
    **{f"{pattern}, n = {PAPER_EXPONENT:g}": f"{pattern}, locality" for pattern in PATTERNS},
    f"n = {PAPER_EXPONENT:g}": "locality",
    f"n = {PAPER_EXPONENT:g}, churn": "locality, churn",
}
READINGS = (Reading("formula (1), n = 1"), Reading(f"formula (1), n = {EXPONENT:g}", OURS))

# Fig. 3: the exponent, and what it may stand for.

FLOOR = 100.0  # milliseconds: "a typical round-trip delay is around 100ms"
FORMS: Mapping[str, dict[str, Any]] = {
    "formula (1)": {},
    "formula (1), d from 100 ms": {"floor": FLOOR},
    "sum": {"utility": "sum"},
    "sum, d from 100 ms": {"utility": "sum", "floor": FLOOR},
    "exponent 1 / n": {"inverse": True},
    "exponent 1 / n, d from 100 ms": {"inverse": True, "floor": FLOOR},
}
OTHER_FORMS = ("sum, d from 100 ms", "exponent 1 / n", "exponent 1 / n, d from 100 ms")
HOMES = "formula (1), homes"
FIG3_READINGS = (READINGS[0], *(Reading(name, {"formula (1)": name}) for name in (*OTHER_FORMS, HOMES)))
FIG3_SYSTEMS = (*FORMS, HOMES)
FIG3_EXPONENTS = (0.5, 1.0, 2.0, 3.0)  # "sampling from the range 0.5 to 3.0"


def _fig3_plan(effort: Effort, folders: Mapping[str, str]) -> Plan:
    hosts = usual_hosts(folders)
    systems = {name: Variant(Surroundings("random", 500, hosts=hosts), **form) for name, form in FORMS.items()}
    systems[HOMES] = Variant(Surroundings("random", 500, hosts=hosts, homes=True))
    return by_exponent(FIG3_EXPONENTS, systems, SEEDS[effort], settings(folders, 1000))


FIG3 = Experiment(
    name="vitis-fig3",
    title="Vitis, Fig. 3: the exponent n, 500 nodes, random",
    paper="vitis",
    axis="n",
    systems=FIG3_SYSTEMS,
    metrics=METRICS,
    plan=_fig3_plan,
    panels=trade(FIG3_SYSTEMS),
    extra_metrics=(
        "relays a delivery ratio",
        "delivery time",
        "relay share",
        "hit ratio",
        "clusters a topic",
        "highest degree",
    ),
    datasets=USUAL_LATENCIES,
    logarithmic_axis=True,
    note=f"`d from {FLOOR:g} ms` takes shorter round trips for {FLOOR:g} ms. `sum` adds (1 / d)^n to the similarity "
    "instead of multiplying: it is what the paper's explanation describes. `1 / n` stands for n in formula (1). "
    "`homes` has other latencies: 0.7 of the measured, and access lines of 40 ms on the mean.",
    readings=FIG3_READINGS,
)

# Figs. 4 and 5: size and pattern.

SIZES: Mapping[Effort, tuple[int, ...]] = {"quick": (250, 500, 1000), "full": (500, 1000, 2000, 4000)}
SIZE_SYSTEMS = tuple(f"{pattern}{how}" for how, pattern in product(HOW, PATTERNS))


def _size_plan(effort: Effort, folders: Mapping[str, str]) -> Plan:
    points = [Point(f"V={nodes}", f"{nodes:,} nodes, 1,000 topics", nodes) for nodes in SIZES[effort]]
    seeds = SEEDS[effort]
    runs = {
        (f"{pattern}{how}", f"V={nodes}", seed): VitisRun(
            Surroundings(pattern, nodes, hosts=usual_hosts(folders)), 1000, Parameters(exponent=exponent), seed
        )
        for nodes, pattern, (how, exponent), seed in product(SIZES[effort], PATTERNS, HOW.items(), range(1, seeds + 1))
    }
    return Plan(points, seeds, runs, settings(folders, 1000))


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
        readings=READINGS,
    )


WITH = SIZE_SYSTEMS[3:]
FIG4 = _size_figure(
    4,
    "delivery time",
    (
        Panel("delivery time, ms", "delivery time", SIZE_SYSTEMS),
        Panel("delivery time / that without locality", "time ratio", WITH),
    ),
    "hops",
    "hit ratio",
    "rounds to settle",
    "clusters a topic",
    "cluster size",
)
FIG5 = _size_figure(
    5,
    "relay traffic",
    (
        Panel("relay share of a node's traffic", "relay share", SIZE_SYSTEMS),
        Panel("relay share / that without locality", "relay ratio", WITH),
    ),
    "relay traffic",
    "relays a delivery",
    "relays a delivery ratio",
    "clusters a topic",
    "gateways a topic",
    "degree",
    "highest degree",
    "upkeep messages",
)

# Figs. 6 and 7: Twitter, with and without churn.

COUNTS = (250, 500, 750, 1000)
CHURN = {"": False, ", churn": True}
CHURN_HOW = {how.removeprefix(", ") or "plain": exponent for how, exponent in HOW.items()}
CHURN_SYSTEMS = tuple(f"{how}{churn}" for churn, how in product(CHURN, CHURN_HOW))


def _churn_plan(effort: Effort, folders: Mapping[str, str]) -> Plan:
    surroundings = Surroundings(TWITTER, 1000, folders.get(TWITTER), usual_hosts(folders))
    points = [Point(f"{count} events", f"{count} publications", count) for count in COUNTS]
    seeds = SEEDS[effort]
    runs = {
        (f"{how}{suffix}", f"{count} events", seed): VitisRun(
            surroundings, count, Parameters(exponent=exponent), seed, churn
        )
        for count, (suffix, churn), (how, exponent), seed in product(
            COUNTS, CHURN.items(), CHURN_HOW.items(), range(1, seeds + 1)
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
        f"follows, so that fewer than 1,000 remain. Locality is with n = {EXPONENT:g}, our default; "
        f"n = {PAPER_EXPONENT:g} is the paper's.",
        readings=READINGS,
    )


LOCAL = tuple(system for system in CHURN_SYSTEMS if not system.startswith("plain"))
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
        Panel("relay share / that without locality", "relay ratio", LOCAL),
    ),
    "relay traffic",
    "relays a delivery",
    "highest degree",
    "rounds to heal",
    "lowest hit ratio",
)

# Beyond the paper: what n trades, for each pattern, size and set of latencies.

TRADE_SIZES: Mapping[Effort, tuple[int, ...]] = {"quick": (500,), "full": (500, 1000)}
TRADE_EXPONENTS = (0.1, 0.25, 0.5, 1.0)
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
    about = "PL: PlanetLab, WP: WonderProxy; without their files both are generated"
    return by_exponent(TRADE_EXPONENTS, systems, 1, about)


TRADE_PANELS = tuple(
    Panel(f"{title}, {pattern}, {short}", metric, tuple(_trade_systems(pattern, short, "full").values()))
    for short in TRADE_LATENCIES.values()
    for title, metric in (("delivery time", "time ratio"), ("relay share", "relay ratio"))
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
    extra_metrics=("relays a delivery ratio", "hit ratio"),
    datasets=tuple(TRADE_LATENCIES),
    logarithmic_axis=True,
    note="Times and relays are relative to the same network without locality.",
)

# What the gain depends on.

FAR = (20.0, 60.0)  # milliseconds of access delay
CAUSE_EXPONENTS = {f"n = {n:g}": n for n in (EXPONENT, PAPER_EXPONENT)}
CAUSES = tuple(CAUSE_EXPONENTS)


def _cause_inputs(folders: Mapping[str, str]) -> list[tuple[Point, Surroundings, Parameters]]:
    planetlab, plain = folders.get("planetlab"), Parameters()
    usual, homes = (Surroundings("random", 500, hosts=planetlab, homes=homes) for homes in (False, True))
    many, many_homes = (replace(each, nodes=1000) for each in (usual, homes))
    bounded = Parameters(in_degree=Parameters().table)
    return [
        (Point("usual", "500 nodes on PlanetLab's 490 hosts, access 0.5-5 ms, floor 1 ms"), usual, plain),
        (Point("one a host", "490 nodes, no access delay"), replace(usual, nodes=490, access=(0, 0)), plain),
        (Point("slow access", "access 20-60 ms"), replace(usual, access=FAR), plain),
        (Point("floor 100 ms", "a shorter round trip counts as 100 ms"), usual, Parameters(floor=FLOOR)),
        (Point("homes", "0.7 of PlanetLab's times, access 40 ms on the mean, exponential"), homes, plain),
        (Point("homes, bounded", f"at most {bounded.in_degree} choose a node as a friend"), homes, bounded),
        (Point("2 a host", "1,000 nodes"), many, plain),
        (Point("1,000 homes", "1,000 nodes"), many_homes, plain),
        (Point("1,000 homes, bounded", "the same with bounded in-degrees"), many_homes, bounded),
        (Point("WonderProxy", "222 hosts"), replace(usual, hosts=folders.get("wonderproxy")), plain),
        (Point("OverSim", "plane coordinates"), replace(usual, hosts=folders.get("oversim")), plain),
        (Point("high", "subscriptions highly correlated"), replace(usual, pattern="high"), plain),
    ]


def _cause_plan(effort: Effort, folders: Mapping[str, str]) -> Plan:
    inputs, seeds = _cause_inputs(folders), SEEDS[effort]
    runs = {
        (system, point.label, seed): VitisRun(surroundings, 1000, replace(parameters, exponent=n), seed)
        for (point, surroundings, parameters), (system, n), seed in product(
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
    extra_metrics=("relays a delivery ratio", "delivery time", "highest degree", "clusters a topic", "hit ratio"),
    datasets=(*USUAL_LATENCIES, "oversim"),
)

# Traffic across ISPs, the paper's aim, and rates that differ, which formula (1) has and no figure of the paper.

NEAR_PLACES = (5.0, 15.0, 40.0)  # milliseconds
ISP_SYSTEMS = {"plain": 0.0, "locality": EXPONENT, "n = 1": PAPER_EXPONENT}


def _isp_plan(effort: Effort, folders: Mapping[str, str]) -> Plan:
    hosts, seeds = usual_hosts(folders), SEEDS[effort]
    points = [
        Point(f"{near:g} ms", f"500 nodes; hosts within {near:g} ms of one of them are a place", near)
        for near in NEAR_PLACES
    ]
    runs = {
        (system, f"{near:g} ms", seed): VitisRun(
            Surroundings("random", 500, hosts=hosts, near=near), 1000, Parameters(exponent=n), seed
        )
        for (system, n), near, seed in product(ISP_SYSTEMS.items(), NEAR_PLACES, range(1, seeds + 1))
    }
    return Plan(points, seeds, runs, settings(folders, 1000))


ISP = Experiment(
    name="vitis-isp",
    title="Vitis, section 3.2: traffic across ISPs, and clusters, 500 nodes, random",
    paper="vitis",
    axis="nearness of a place, ms",
    systems=tuple(ISP_SYSTEMS),
    metrics=METRICS,
    plan=_isp_plan,
    panels=(
        Panel("contents that go from place to place", "contents across places", tuple(ISP_SYSTEMS)),
        Panel("clusters of a topic", "clusters a topic", tuple(ISP_SYSTEMS)),
        Panel("nodes of a cluster", "cluster size", tuple(ISP_SYSTEMS)),
    ),
    extra_metrics=("notifications across places", "time ratio", "relay ratio"),
    datasets=USUAL_LATENCIES,
    readings=(Reading(READINGS[0].name), Reading(READINGS[1].name, {"n = 1": "locality"})),
    note="No measurement names ISPs: a place is hosts that are near one of them, behind whatever access line.",
)

SKEWS = (0.0, 1.0, 2.0)
RATE_SYSTEMS = {"rates unknown": False, "rates known": True}


def _rates_plan(effort: Effort, folders: Mapping[str, str]) -> Plan:
    hosts, seeds = usual_hosts(folders), SEEDS[effort]
    points = [Point(f"s={skew:g}", f"500 nodes; rates by a Zipf law of exponent {skew:g}", skew) for skew in SKEWS]
    runs = {
        (system, f"s={skew:g}", seed): VitisRun(
            Surroundings("random", 500, hosts=hosts, skew=skew), 1000, Parameters(), seed, weigh_rates=known
        )
        for (system, known), skew, seed in product(RATE_SYSTEMS.items(), SKEWS, range(1, seeds + 1))
    }
    return Plan(points, seeds, runs, settings(folders, 1000))


RATES = Experiment(
    name="vitis-rates",
    title="Vitis, section 3.2: topics with more publications, 500 nodes, random",
    paper="vitis",
    axis="Zipf exponent of the rates",
    systems=tuple(RATE_SYSTEMS),
    metrics=METRICS,
    plan=_rates_plan,
    panels=(
        Panel("clusters of a publication's topic", "clusters a publication", tuple(RATE_SYSTEMS)),
        Panel("delivery time, ms", "delivery time", tuple(RATE_SYSTEMS)),
    ),
    extra_metrics=("relay share", "clusters a topic"),
    datasets=USUAL_LATENCIES,
    note="Topics are published on by their rates either way; known rates weigh in formula (1), without locality.",
    readings=READINGS[:1],
)

# Failure of many nodes at once.

SHARES = (0.05, 0.1, 0.2, 0.3, 0.4)
FAILURE_SYSTEMS = {"plain": 0.0, "locality": EXPONENT}


def _failure_plan(effort: Effort, folders: Mapping[str, str]) -> Plan:
    surroundings = Surroundings("random", 500, hosts=usual_hosts(folders))
    seeds = 3 if effort == "quick" else 5
    runs = {
        (system, f"{share:.0%}", seed): FailureRun(surroundings, share, Parameters(exponent=exponent), seed)
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

# What the paper does not give: how many links a node opens, and how far a gateway may be.

TABLES: Mapping[Effort, tuple[int, ...]] = {"quick": (15, 30), "full": (15, 20, 25, 30, 35)}
HOPS: Mapping[Effort, tuple[int, ...]] = {"quick": (5,), "full": (5, 10, 20)}
SWEEP_SIZES = {"random 500": ("random", 500), "random 1000": ("random", 1000), "high 500": ("high", 500)}
SWEEP_SIZES |= {"high 1000": ("high", 1000), TWITTER: (TWITTER, 1000)}
SWEEP_SYSTEMS = tuple(f"{size}{how}" for size in SWEEP_SIZES for how in ("", ", n = 1"))


def _sweep_plan(effort: Effort, folders: Mapping[str, str]) -> Plan:
    hosts = usual_hosts(folders)
    inputs = {
        name: Surroundings(pattern, nodes, folders.get(pattern), hosts)
        for name, (pattern, nodes) in SWEEP_SIZES.items()
    }
    sizes = list(product(TABLES[effort], HOPS[effort]))
    runs = {
        (f"{name}{how}", f"{table}, {hops}", 1): VitisRun(
            inputs[name],
            1000,
            Parameters(table=table, gateway_hops=hops, expiry=hops + MEMORY, exponent=exponent),
            1,
        )
        for (table, hops), name, (how, exponent) in product(sizes, inputs, (("", 0.0), (", n = 1", PAPER_EXPONENT)))
    }
    points = [Point(f"{table}, {hops}", f"tables of {table}, gateways within {hops} hops") for table, hops in sizes]
    return Plan(points, 1, runs, settings(folders, 1000))


MEMORY = 3  # rounds that a link or relay path stays in use beyond those that a lost gateway's proposals go round for
SWEEP = Experiment(
    name="vitis-table",
    title="Vitis: links of a node, and hops to a gateway",
    paper="vitis",
    axis="table, hops",
    systems=SWEEP_SYSTEMS,
    metrics=METRICS,
    plan=_sweep_plan,
    panels=(
        Panel("delivery time, ms", "delivery time", SWEEP_SYSTEMS),
        Panel("relay share of a node's traffic", "relay share", SWEEP_SYSTEMS),
        *trade(SWEEP_SYSTEMS[1::2]),
    ),
    extra_metrics=("relay traffic", "relays a delivery ratio", "hit ratio", "gateways a topic", "clusters a topic"),
    datasets=(TWITTER, *USUAL_LATENCIES),
    note=f"Links and relay paths stay in use for the hops and {MEMORY} rounds more.",
)

EXPERIMENTS = (FIG3, FIG4, FIG5, FIG6, FIG7, ISP, RATES, SWEEP, TRADE, CAUSE, FAILURE)
