"""The DC paper, section VIII: Tables I and II, Figs. 4-11.

Where the text has lost the size of a workload, ours is in the point's description. 200 topics and 50 subscriptions a
node fit what it tells: with 1,000 nodes Algorithm 5 then takes 10 partitions, around which Fig. 7 has its lowest point.
Along the subscriptions (Figs. 9, 10(c)) 1,000 nodes and 450 topics come nearest to the distances of DC from GM and of
DCBC from DC together, of six sizes that were tried: so that DC is as far above GM as in the paper proves nothing.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any

from weft.experiments.engine.experiment import Effort, Experiment, Metric, Panel, Plan, Point, Reading
from weft.experiments.runs.connected import (
    ELBOW,
    JOINS,
    PARTITION_SIZE,
    STATISTICS,
    ConnectedRun,
    Drawn,
    Part,
    StatisticRun,
)
from weft.experiments.runs.gap import OPTIMUM, GapRun
from weft.experiments.runs.input import SCALES, SITES, Input, social_inputs

if TYPE_CHECKING:
    from weft.workloads.independent import Popularity

METRICS = {
    "average degree": Metric("average_degree"),
    "degree above GM": Metric("degree_above_gm", difference=True),
    "degree / GM": Metric("average_degree", relative=True),
    "degree / RingPT's": Metric("average_degree", relative=True, to="RingPT"),
    "degree below DC": Metric("degree_below_dc", difference=True),
    "maximum degree": Metric("maximum_degree"),
    "topic diameter": Metric("topic_diameter"),
    "average topic diameter": Metric("average_topic_diameter"),
    "time / GM": Metric("of_gm_time", unit=1.0),
    "time / DC": Metric("of_dc_time", unit=1.0),
    "our time / our GM": Metric("of_our_gm_time", unit=1.0),
    "our time / our DC": Metric("of_our_dc_time", unit=1.0),
    "time": Metric("printed_seconds"),
    "our time": Metric("design_seconds"),
    "potential-neighbour ratio": Metric("potential_neighbour_ratio"),
    "partitions": Metric("chosen_partitions"),
    "partition size": Metric("partition_size"),
}
TIME = (
    "Time is told like with like: algorithms as the paper prints them, compiled, as a share of GM as printed, and ours "
    "as a share of our GM, on the same instance."
)
READINGS = (
    Reading("as printed"),
    Reading(
        "lazy greedy",
        metrics={"time / GM": "our time / our GM", "time / DC": "our time / our DC", "time": "our time"},
    ),
)
NOTE = (
    f"{TIME} Degrees and diameters are of ours, which take the same links up to ties. The topic diameter is the "
    "largest of all topics, as in the paper. In synthetic workloads a node subscribes to every topic with a "
    "probability, as in the paper."
)
TITLES = {"time / GM": "time / that of GM, as printed", "topic diameter": "largest topic diameter"}
SEEDS: Mapping[Effort, int] = {"quick": 1, "full": 3}


@dataclass(frozen=True)
class System:
    overlay: str
    popularity: "Popularity | None" = None  # none: that of the point
    partition: str | None = None
    part: Part = "all"


@dataclass(frozen=True)
class Place:
    point: Point
    input: Drawn | Input
    partitions: int | None = None  # or overlays to join


Places = Callable[[Effort, Mapping[str, str]], Sequence[Place]]

GM_DC_DCBC = {"GM": System("gm"), "DC": System("dc"), "DCBC": System("dcbc")}
AS_MANY = "K-means, as many as DC"
POPULARITIES: "dict[str, Popularity]" = {"Unif": "unif", "Zipf": "zipf", "Expo": "expo"}


def _plan(places: Places, systems: Mapping[str, System], effort: Effort, folders: Mapping[str, str]) -> Plan:
    there = places(effort, folders)
    runs = {
        (name, place.point.label, seed): _run(place, system, seed)
        for place, seed, (name, system) in product(there, range(1, SEEDS[effort] + 1), systems.items())
    }
    return Plan([place.point for place in there], SEEDS[effort], runs)


def _run(place: Place, system: System, seed: int) -> ConnectedRun:
    given = place.input
    if system.popularity is not None and isinstance(given, Drawn):
        given = replace(given, popularity=system.popularity)
    partitions = place.partitions if system.overlay in ("dc", *JOINS) else None
    return ConnectedRun(given, system.overlay, seed, partitions, system.partition, system.part)


def _unif_steps(
    axis: str, steps: Mapping[Effort, Sequence[int]], others: Mapping[str, int], effort: Effort, _: Mapping[str, str]
) -> list[Place]:
    letter = {"nodes": "V", "topics": "T", "subscriptions": "S"}[axis]
    inputs = [(step, Drawn("unif", **{**others, axis: step})) for step in steps[effort]]
    return [Place(Point(f"{letter}={step}", _about(given), step), given) for step, given in inputs]


def _about(given: Drawn) -> str:
    law = given.popularity.title()
    return f"{law}, {given.nodes:,} nodes, {given.topics:,} topics, {given.subscriptions} subscriptions"


def _joins(effort: Effort, folders: Mapping[str, str]) -> list[Place]:
    size, counts = (500, (2, 4, 8)) if effort == "quick" else (1000, (2, 4, 6, 8))
    about = "{} overlays of {:,} nodes, 200 topics, 50 subscriptions"
    return [
        Place(Point(f"p={count}", about.format(count, size), count), Drawn("unif", count * size, 200, 50), count)
        for count in counts
    ]


def _partitions(effort: Effort, folders: Mapping[str, str]) -> list[Place]:
    counts = {
        "quick": (1, 2, 5, 10, 20, 50, 200, 1000),
        "full": (1, 2, 3, 5, 7, 10, 14, 20, 30, 50, 70, 100, 200, 300, 500, 700, 1000),
    }
    about = "{} partitions of 1,000 nodes, 200 topics, 50 subscriptions"
    return [
        Place(Point(f"p={count}", about.format(count), count), Drawn("unif", 1000, 200, 50), count)
        for count in counts[effort]
    ]


def _zipf_topics(effort: Effort, folders: Mapping[str, str]) -> list[Place]:
    inputs = [Drawn("zipf", 1000, topics, 50) for topics in range(200, 1001, 400 if effort == "quick" else 200)]
    return [Place(Point(f"T={given.topics}", _about(given), given.topics), given) for given in inputs]


def _social(effort: Effort, folders: Mapping[str, str]) -> list[Place]:
    return [Place(point, given) for point, given in social_inputs(tuple(SITES), SCALES[effort], folders)]


def _table1_plan(effort: Effort, folders: Mapping[str, str]) -> Plan:
    given, repetitions = Drawn("unif", 1000, 200, 50), 20 if effort == "quick" else 400
    runs = {(name, "DC", 1): StatisticRun(name, given, repetitions, 1) for name in TABLE1}
    return Plan([Point("DC", f"{_about(given)}, {repetitions} times")], 1, runs)


TABLE1 = (*STATISTICS, PARTITION_SIZE)


def _experiment(
    name: str,
    title: str,
    axis: str,
    places: Places,
    systems: Mapping[str, System],
    panels: Sequence[tuple[str, Sequence[str]]],
    *extra: str,
    note: str = "",
    **options: Any,
) -> Experiment:
    return Experiment(
        name=f"dc-{name}",
        title=f"DC, {title}",
        paper="dc",
        axis=axis,
        systems=tuple(systems),
        metrics=METRICS,
        plan=partial(_plan, places, systems),
        baseline="GM" if "GM" in systems else None,
        panels=tuple(
            Panel(TITLES.get(metric, metric), metric, tuple(shown), logarithmic=metric.startswith("time"))
            for metric, shown in panels
        ),
        extra_metrics=(*extra, *_ours(shown for shown, _ in panels), *_ours(extra)),
        readings=READINGS,
        note=f"{NOTE} {note}".strip(),
        **options,
    )


def _ours(metrics: Iterable[str]) -> list[str]:
    return [READINGS[1].metrics[metric] for metric in metrics if metric in READINGS[1].metrics]


def _by_popularity(*overlays: str) -> dict[str, System]:
    return {
        f"{overlay.upper()}, {law}": System(overlay, popularity)
        for (law, popularity), overlay in product(POPULARITIES.items(), overlays)
    }


JOIN_SYSTEMS = _by_popularity("gm", "nm", "sm")
PARTITION_SYSTEMS = _by_popularity("gm", "dc")
NODES: Mapping[Effort, Sequence[int]] = {"quick": (1000, 2000, 4000), "full": range(1000, 8001, 1000)}
TOPICS: Mapping[Effort, Sequence[int]] = {"quick": (200, 600, 1000, 2000), "full": range(200, 2001, 200)}
MANY_TOPICS: Mapping[Effort, Sequence[int]] = {"quick": (1000, 4000, 7000, 10000), "full": range(1000, 10001, 1000)}
SUBSCRIPTIONS: Mapping[Effort, Sequence[int]] = {"quick": (50, 100, 150), "full": range(50, 151, 10)}
BY_NODES = partial(_unif_steps, "nodes", NODES, {"topics": 200, "subscriptions": 50})
BY_TOPICS = partial(_unif_steps, "topics", TOPICS, {"nodes": 2000, "subscriptions": 50})
BY_MANY_TOPICS = partial(_unif_steps, "topics", MANY_TOPICS, {"nodes": 4000, "subscriptions": 50})
BY_SUBSCRIPTIONS = partial(_unif_steps, "subscriptions", SUBSCRIPTIONS, {"nodes": 1000, "topics": 450})


def _figure10(letter: str, axis: str, places: Places) -> Experiment:
    systems = GM_DC_DCBC
    metrics = ("average degree", "time / GM", "topic diameter")
    extra = (
        "degree above GM",
        "degree / GM",
        "degree below DC",
        "time / DC",
        "time",
        "average topic diameter",
        "partitions",
        "partition size",
    )
    title = f"Fig. 10({letter}): GM, DC and DCBC as the {axis} grow, Unif"
    panels = [(metric, tuple(GM_DC_DCBC)) for metric in metrics]
    return _experiment(f"fig10{letter}", title, axis, places, systems, panels, *extra)


# How near the greedy is to the fewest links of any topic-connected overlay, where integer programming finds them.

GAP_NODES: Mapping[Effort, tuple[int, ...]] = {"quick": (8, 10, 12, 14), "full": (8, 10, 12, 14, 16, 20)}
BUILDERS = {
    "GM": "gm",
    "DC, 2 partitions": "dc",
    "DCBC, 2 partitions": "dcbc",
    "NM of two halves": "nm",
    "SM of two halves": "sm",
    OPTIMUM: OPTIMUM,
}


def _gap_plan(effort: Effort, folders: Mapping[str, str]) -> Plan:
    seeds = 10 if effort == "quick" else 100
    runs = {
        (name, f"V={nodes}", seed): GapRun(overlay, nodes, seed)
        for nodes, seed, (name, overlay) in product(GAP_NODES[effort], range(1, seeds + 1), BUILDERS.items())
    }
    points = [
        Point(f"V={nodes}", f"Unif, {nodes} nodes and topics, 5 subscriptions", nodes) for nodes in GAP_NODES[effort]
    ]
    return Plan(points, seeds, runs)


GAP = Experiment(
    name="optimality-gap",
    title="Links of the greedy against the fewest of any topic-connected overlay",
    paper="dc",
    axis="nodes",
    systems=tuple(BUILDERS),
    metrics={"links / fewest": Metric("links", relative=True), "links": Metric("links")},
    plan=_gap_plan,
    panels=(Panel("links / fewest", "links / fewest", tuple(BUILDERS)),),
    extra_metrics=("links",),
    baseline=OPTIMUM,
    note="The fewest are found by integer programming.",
)

FIGURES = (
    Experiment(
        name="dc-table1",
        title="DC, Table I: random partitioning, Unif",
        paper="dc",
        axis="algorithm",
        systems=TABLE1,
        metrics={**METRICS, "star set": Metric("star_set")},
        plan=_table1_plan,
        panels=(
            Panel("average degree", "average degree", STATISTICS),
            Panel("time / GM", "time / GM", STATISTICS),
            Panel("star set", "star set", TABLE1),
        ),
        extra_metrics=("our time / our GM",),
        readings=READINGS,
        note=TIME,
    ),
    _experiment(
        "table2",
        "Table II: Facebook and Twitter",
        "sample",
        _social,
        GM_DC_DCBC,
        [(metric, tuple(GM_DC_DCBC)) for metric in ("average degree", "topic diameter", "time / GM")],
        *("average topic diameter", "maximum degree", "degree below DC", "time / DC", "partitions"),
        datasets=tuple(SITES.values()),
    ),
    _experiment(
        "fig4",
        "Fig. 4: average degree of joined overlays",
        "overlays",
        _joins,
        JOIN_SYSTEMS,
        [("average degree", [name for name in JOIN_SYSTEMS if law in name]) for law in POPULARITIES],
        "degree above GM",
    ),
    _experiment(
        "fig5",
        "Fig. 5: running time of joins",
        "overlays",
        _joins,
        JOIN_SYSTEMS,
        [
            ("time / GM", [name for name in JOIN_SYSTEMS if "Unif" in name]),
            ("potential-neighbour ratio", [name for name in JOIN_SYSTEMS if "Unif" in name]),
        ],
        "time",
    ),
    _experiment(
        "fig6",
        "Fig. 6: random partitions and clusters, Zipf",
        "topics",
        _zipf_topics,
        {"DC": System("dc"), "K-means": System("dc", partition=ELBOW), AS_MANY: System("dc", partition="kmeans")},
        [(metric, ("DC", "K-means", AS_MANY)) for metric in ("average degree", "time / GM")],
        "partitions",
        note=f"K-means has the number of clusters that the elbow method finds, as in the paper; {AS_MANY} that of DC.",
    ),
    _experiment(
        "fig7",
        "Fig. 7: DC by the number of partitions",
        "partitions",
        _partitions,
        PARTITION_SYSTEMS,
        [
            ("average degree", tuple(PARTITION_SYSTEMS)),
            ("time / GM", [name for name in PARTITION_SYSTEMS if "DC" in name]),
            ("potential-neighbour ratio", [name for name in PARTITION_SYSTEMS if "DC" in name]),
        ],
        "degree above GM",
        logarithmic_axis=True,
    ),
    _experiment(
        "fig8",
        "Fig. 8: inner and outer links of DC by the number of partitions, Unif",
        "partitions",
        _partitions,
        {"inner": System("dc", part="inner"), "outer": System("dc", part="outer")},
        [(metric, ("inner", "outer")) for metric in ("average degree", "time / GM")],
        logarithmic_axis=True,
    ),
    _experiment(
        "fig9",
        "Fig. 9: degrees against a ring per topic, Unif",
        "subscriptions",
        BY_SUBSCRIPTIONS,
        {**GM_DC_DCBC, "RingPT": System("ring-per-topic")},
        [
            ("average degree", (*GM_DC_DCBC, "RingPT")),
            ("degree above GM", ("DC", "DCBC")),
        ],
        "degree below DC",
        "degree / RingPT's",
    ),
    _figure10("a", "nodes", BY_NODES),
    _figure10("b", "topics", BY_TOPICS),
    _figure10("c", "subscriptions", BY_SUBSCRIPTIONS),
    _experiment(
        "fig11",
        "Fig. 11: DC and DCBC with many topics, Unif",
        "topics",
        BY_MANY_TOPICS,
        GM_DC_DCBC,
        [("average degree", tuple(GM_DC_DCBC)), ("topic diameter", tuple(GM_DC_DCBC))],
        *("degree below DC", "time / GM", "partitions"),
    ),
)

EXPERIMENTS = (*FIGURES, GAP)
