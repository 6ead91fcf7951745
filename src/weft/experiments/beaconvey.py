"""BeaConvey, section 5: Tables 3-5 and Figs. 4-8."""

from collections.abc import Mapping
from functools import partial

from weft.experiments.experiment import Experiment, Panel
from weft.experiments.point import SITES, node_inputs, social_inputs, unif_inputs, zipf_inputs
from weft.experiments.routing import METRICS, Inputs, System, routing_plan

# Table 2 of the paper. "-" and S take Chord's long fingers (the paper: Chord or RandomL).
OVERLAYS = {"SL": "swico-sl", "S": "swico-s", "L": "swico-l", "-": "chord"}
BASELINE = "Scribe(-)"
NOTE = (
    "Scribe(-) and all systems on S or - have the long fingers of Chord; the paper leaves open Chord or RandomL, "
    "so two systems are measured with RandomL as well."
)


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
REFERENCE = {
    BASELINE: ALL_SYSTEMS[BASELINE],
    "Scribe(-) with RandomL": System("random", "scribe"),
    "BeaConvey(-, Pie) with RandomL": System("random", "pie"),
}


def _table(number: int, title: str, sites: tuple[str, ...], systems: Mapping[str, System]) -> Experiment:
    return Experiment(
        name=f"beaconvey-table{number}",
        title=f"BeaConvey, Table {number}: {title}",
        paper="beaconvey",
        axis="sample",
        systems=tuple({**systems, **REFERENCE}),
        metrics=METRICS,
        plan=routing_plan(partial(social_inputs, sites), {**systems, **REFERENCE}),
        baseline=BASELINE,
        panels=(
            Panel("routing overhead / that of Scribe(-)", "overhead ratio", tuple(systems)),
            Panel("average path / that of Scribe(-)", "path ratio", tuple(systems)),
        ),
        extra_metrics=("average path", "TcoSuppR"),
        datasets=tuple(SITES[site] for site in sites),
        note=NOTE,
    )


def _by_topics(number: int, title: str, inputs: Inputs, metric: str, *extra: str) -> Experiment:
    return Experiment(
        name=f"beaconvey-fig{number}",
        title=f"BeaConvey, Fig. {number}: {title}",
        paper="beaconvey",
        axis="topics",
        systems=tuple({**ALL_SYSTEMS, **REFERENCE}),
        metrics=METRICS,
        plan=routing_plan(inputs, {**ALL_SYSTEMS, **REFERENCE}),
        baseline=BASELINE,
        panels=tuple(Panel(family, metric, tuple(systems)) for family, systems in FAMILIES.items()),
        extra_metrics=extra,
        note=NOTE,
    )


EXPERIMENTS = (
    _table(3, "systems against Scribe(-), Facebook", ("FB",), ALL_SYSTEMS),
    _table(4, "systems against Scribe(-), Twitter", ("TW",), ALL_SYSTEMS),
    _table(5, "BeaConvey's routers against Scribe(-)", ("FB", "TW"), ROUTERS),
    _by_topics(4, "routing overhead against Scribe(-), Zipf, 1,023 nodes", zipf_inputs, "overhead ratio"),
    _by_topics(5, "average path against Scribe(-), Zipf, 1,023 nodes", zipf_inputs, "path ratio", "average path"),
    _by_topics(6, "routing overhead against Scribe(-), Unif, 1,023 nodes", unif_inputs, "overhead ratio"),
    _by_topics(7, "average path against Scribe(-), Unif, 1,023 nodes", unif_inputs, "path ratio", "average path"),
    Experiment(
        name="beaconvey-fig8",
        title="BeaConvey, Fig. 8: its routers against Scribe(-), Unif, 2,000 topics",
        paper="beaconvey",
        axis="nodes",
        systems=tuple({**ROUTERS, **REFERENCE}),
        metrics=METRICS,
        plan=routing_plan(node_inputs, {**ROUTERS, **REFERENCE}),
        baseline=BASELINE,
        panels=(
            Panel("routing overhead / that of Scribe(-)", "overhead ratio", tuple(ROUTERS)),
            Panel("average path / that of Scribe(-)", "path ratio", tuple(ROUTERS)),
            Panel("longest path / that of Scribe(-)", "longest path ratio", tuple(ROUTERS)),
        ),
        extra_metrics=("average path",),
        note=NOTE,
    ),
)
