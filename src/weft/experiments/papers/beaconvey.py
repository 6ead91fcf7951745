"""BeaConvey, section 5: Tables 3-5 and Figs. 3-8, and the tables and Fig. 3 once more on samples of generated crawls.

The paper sampled crawls of millions, which are not to be had; the ego networks that stand in for them differ from any
such sample. So graphs as large are generated, with as many friends or followees a user as the crawls had and nothing
of the tables, and sampled as the paper did.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from itertools import product

from weft.experiments.engine.dataset import CRAWLS, DATASETS, Crawl, CrawlSample
from weft.experiments.engine.experiment import Effort, Experiment, Metric, Panel, Plan, Point
from weft.experiments.runs.input import (
    CRAWL,
    SCALES,
    SITES,
    Input,
    Inputs,
    Scale,
    node_inputs,
    social_input,
    social_inputs,
    unif_inputs,
    zipf_inputs,
)
from weft.experiments.runs.popularity import PopularityRun, Side
from weft.experiments.runs.routing import (
    METRICS,
    PATH_RATIOS,
    PATHS,
    RoutingRun,
    System,
    plan_by_readings,
    ratio_panels,
    read_plan,
    readings_of,
    variants_of,
)

# Fig. 3: how many friends or followers users have, in the whole graphs and in samples of them.

COUNTS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000)
SIZES = {"all": None, "10K": 10_000, "1K": 1_000}
GENERATED = 40_000  # stands in for a whole graph that is not given
SIDES: Mapping[str, Side] = {"followees": "topics", "followers": "subscribers"}


def _users(site: str, size: str, side: str) -> str:
    return f"{site} {size}, {side}"


def _fig3_plan(effort: Effort, folders: Mapping[str, str]) -> Plan:
    points = [Point(f"{count}", f"users with at least {count}", count) for count in COUNTS]
    runs = {
        (_users(site, size, name), f"{count}", 1): PopularityRun(
            _fig3_input(key, nodes, folders.get(key)), side, count, 1
        )
        for (site, key), (size, nodes), (name, side), count in product(
            SITES.items(), SIZES.items(), SIDES.items(), COUNTS
        )
    }
    return Plan(points, 1, runs)


def _fig3_input(key: str, nodes: int | None, folder: str | None) -> Input:
    whole = DATASETS[key].nodes if folder else GENERATED
    return social_input("", key, min(nodes or whole, whole), folder)[1]


FIG3_PANELS = tuple(
    Panel(
        f"{site}: share of users", "share of users", tuple(_users(site, *each) for each in product(SIZES, SIDES)), True
    )
    for site in SITES
)
FIG3 = Experiment(
    name="beaconvey-fig3",
    title="BeaConvey, Fig. 3: followees and followers, whole graphs and samples",
    paper="beaconvey",
    axis="at least so many",
    systems=tuple(system for panel in FIG3_PANELS for system in panel.systems),
    metrics={"share of users": Metric("share")},
    plan=_fig3_plan,
    panels=FIG3_PANELS,
    datasets=tuple(SITES.values()),
    logarithmic_axis=True,
    note="Users with none are left out. Facebook's edges go both ways, so that its two sides are the same.",
)

# Tables 3-5 and Figs. 4-8: routers on overlays.

# Table 2 of the paper. "-" and S take Chord's long fingers (the paper: Chord or RandomL).
OVERLAYS = {"SL": "swico-sl", "S": "swico-s", "L": "swico-l", "-": "chord"}
BASELINE = "Scribe(-)"
NOTE = (
    "Scribe(-) and all systems on S or - have the long fingers of Chord, but for the readings with RandomL; the paper "
    "leaves open which. A node has floor(log2 |V|) fingers. With links both ways a node sends also to those that have "
    "a finger to it, by the absolute distance."
)
READINGS = readings_of(long=True)


def _beaconvey(router: str, *overlays: str) -> dict[str, System]:
    return {f"BeaConvey({name}, {router})": System(OVERLAYS[name], router.lower()) for name in overlays}


def _rendezvous(family: str) -> dict[str, System]:
    return {f"{family}({name})": System(overlay, family.lower()) for name, overlay in OVERLAYS.items()}


FAMILIES = {
    "BeaConvey with Pie": _beaconvey("Pie", *OVERLAYS),
    "iScribe": _rendezvous("iScribe"),
    "Scribe": _rendezvous("Scribe"),
}
ALL_SYSTEMS = {name: system for family in FAMILIES.values() for name, system in family.items()}
ROUTERS = {**_beaconvey("Pie", "SL"), **_beaconvey("Po", "SL"), **_beaconvey("Pal", "SL")}
REFERENCE = {BASELINE: ALL_SYSTEMS[BASELINE]}


def _table(number: int, title: str, sites: tuple[str, ...], systems: Mapping[str, System]) -> Experiment:
    return Experiment(
        name=f"beaconvey-table{number}",
        title=f"BeaConvey, Table {number}: {title}",
        paper="beaconvey",
        axis="sample",
        systems=tuple({**systems, **REFERENCE}),
        metrics=METRICS,
        plan=read_plan(partial(social_inputs, sites), variants_of({**systems, **REFERENCE}, long=True)),
        readings=READINGS,
        baseline=BASELINE,
        panels=ratio_panels(BASELINE, tuple(systems)),
        extra_metrics=(*PATHS, *PATH_RATIOS, "TcoSuppR"),
        datasets=tuple(SITES[site] for site in sites),
        note=NOTE,
    )


def _by_topics(number: int, title: str, inputs: Inputs, metric: str, *extra: str) -> Experiment:
    return Experiment(
        name=f"beaconvey-fig{number}",
        title=f"BeaConvey, Fig. {number}: {title}",
        paper="beaconvey",
        axis="topics",
        systems=tuple(ALL_SYSTEMS),
        metrics=METRICS,
        plan=read_plan(inputs, variants_of(ALL_SYSTEMS, long=True)),
        readings=READINGS,
        baseline=BASELINE,
        panels=tuple(Panel(family, metric, tuple(systems)) for family, systems in FAMILIES.items()),
        extra_metrics=extra,
        note=NOTE,
    )


# The same on samples of generated crawls.

CRAWLS_OF: Mapping[Effort, Mapping[str, Crawl]] = {
    "quick": {"FB": Crawl("facebook-crawl", 30_000), "TW": Crawl("twitter-crawl", 30_000)},
    "full": {"FB": Crawl("facebook-crawl", 3_000_000), "TW": Crawl("twitter-crawl", 1_000_000)},
}
CRAWL_SEEDS: Mapping[Effort, int] = {"quick": 1, "full": 1}  # a sample goes over the whole crawl several times
CRAWL_SYSTEMS = {**ALL_SYSTEMS, **ROUTERS}


def _crawl_input(crawl: Crawl, nodes: int, folders: Mapping[str, str]) -> Input:
    return Input(CRAWL, nodes, like=crawl.like, folder=folders.get(CRAWLS, ""), whole=crawl.nodes)


def _crawl_points(effort: Effort, folders: Mapping[str, str]) -> list[tuple[Point, Input]]:
    return [
        (
            Point(f"{site} {nodes // 1000}K", f"{nodes:,} nodes of {crawl.nodes:,} generated, {crawl.like}"),
            _crawl_input(crawl, nodes, folders),
        )
        for (site, crawl), nodes in product(CRAWLS_OF[effort].items(), (1_000, 10_000))
    ]


def _crawl_plan(effort: Effort, folders: Mapping[str, str]) -> Plan:
    points, seeds = _crawl_points(effort, folders), CRAWL_SEEDS[effort]
    scale = Scale(SCALES[effort].publications, seeds, steps=())
    plan = plan_by_readings(scale, lambda _, __: points, variants_of(CRAWL_SYSTEMS, long=True), folders)
    return replace(plan, samples=_samples_of(plan))


def _samples_of(plan: Plan) -> tuple[CrawlSample, ...]:
    runs = (run for run in plan.runs.values() if isinstance(run, RoutingRun | PopularityRun))
    wanted = ((run.input, run.seed) for run in runs)
    return tuple(
        dict.fromkeys(
            CrawlSample(Crawl(given.like, given.whole), given.nodes, seed)
            for given, seed in wanted
            if given.like and given.whole
        )
    )


CRAWLED = Experiment(
    name="beaconvey-crawl",
    title="BeaConvey, Tables 3-5, on samples of generated crawls",
    paper="beaconvey",
    axis="sample",
    systems=tuple(CRAWL_SYSTEMS),
    metrics=METRICS,
    plan=_crawl_plan,
    baseline=BASELINE,
    panels=ratio_panels(BASELINE, tuple(CRAWL_SYSTEMS)),
    extra_metrics=(*PATHS, *PATH_RATIOS, "TcoSuppR"),
    note=NOTE,
    readings=READINGS,
)


def _crawl_fig3_plan(effort: Effort, folders: Mapping[str, str]) -> Plan:
    points = [Point(f"{count}", f"users with at least {count}", count) for count in COUNTS]
    runs = {
        (_users(site, size, name), f"{count}", 1): PopularityRun(
            _crawl_input(crawl, nodes or crawl.nodes, folders), side, count, 1
        )
        for (site, crawl), (size, nodes), (name, side), count in product(
            CRAWLS_OF[effort].items(), SIZES.items(), SIDES.items(), COUNTS
        )
    }
    plan = Plan(points, 1, runs)
    return replace(plan, samples=_samples_of(plan))


CRAWLED_FIG3 = replace(
    FIG3,
    name="beaconvey-crawl-fig3",
    title="BeaConvey, Fig. 3, of generated crawls and samples of them",
    plan=_crawl_fig3_plan,
    datasets=(),
)

EXPERIMENTS = (
    FIG3,
    CRAWLED_FIG3,
    CRAWLED,
    _table(3, "systems against Scribe(-), Facebook", ("FB",), ALL_SYSTEMS),
    _table(4, "systems against Scribe(-), Twitter", ("TW",), ALL_SYSTEMS),
    _table(5, "BeaConvey's routers against Scribe(-)", ("FB", "TW"), ROUTERS),
    _by_topics(4, "routing overhead against Scribe(-), Zipf, 1,023 nodes", zipf_inputs, "overhead ratio"),
    _by_topics(5, "average path against Scribe(-), Zipf, 1,023 nodes", zipf_inputs, "path ratio", *PATHS, *PATH_RATIOS),
    _by_topics(6, "routing overhead against Scribe(-), Unif, 1,023 nodes", unif_inputs, "overhead ratio"),
    _by_topics(7, "average path against Scribe(-), Unif, 1,023 nodes", unif_inputs, "path ratio", *PATHS, *PATH_RATIOS),
    Experiment(
        name="beaconvey-fig8",
        title="BeaConvey, Fig. 8: its routers against Scribe(-), Unif, 2,000 topics",
        paper="beaconvey",
        axis="nodes",
        systems=tuple({**ROUTERS, **REFERENCE}),
        metrics=METRICS,
        plan=read_plan(node_inputs, variants_of({**ROUTERS, **REFERENCE}, long=True)),
        readings=READINGS,
        baseline=BASELINE,
        panels=(
            *ratio_panels(BASELINE, tuple(ROUTERS)),
            Panel("longest path / that of Scribe(-)", "longest path ratio", tuple(ROUTERS)),
        ),
        extra_metrics=(*PATHS, *PATH_RATIOS),
        note=NOTE,
    ),
)
