"""weft vitis"""

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

import typer

from weft.cli import options as o
from weft.cli.compare import print_table
from weft.cli.output import ConsoleProgress, print_result
from weft.errors import WeftError

if TYPE_CHECKING:
    from weft.sim.vitis_task import VitisTask

EXAMPLE = "weft vitis twitter-1k --latency planetlab-490.txt.gz --exponent 0,0.25,1 --seeds 3"

SHOWN = {
    "hit_ratio": "hit ratio",
    "lost_unexplained": "lost",
    "delivery_time": "ms",
    "average_hops": "hops",
    "relays_per_delivery": "relays/delivery",
    "relay_share": "relay share",
    "clusters": "clusters",
    "cluster_size": "size",
    "gateways": "gateways",
    "maximum_degree": "most links",
    "upkeep_messages": "upkeep",
}
Number = TypeVar("Number", int, float)


def vitis(
    instance: o.InInstance,
    latency: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Round-trip times, as in evaluate; without, all take a millisecond."),
    ] = None,
    draw_hosts: o.DrawHosts = False,
    publications: Annotated[
        str,
        typer.Option(
            metavar="FILE|N", help="A file of weft publish, a log by names (CSV: node, topic), or how many at least."
        ),
    ] = "1000",
    exponent: Annotated[
        str | None,
        typer.Option(
            metavar="N,...", help="How much nearness counts: n in formula (1). Default: 0.25, or 0 without --latency."
        ),
    ] = None,
    utility: Annotated[
        Literal["product", "sum"],
        typer.Option(metavar="product|sum", help="Common interest times nearness, as printed, or their sum."),
    ] = "product",
    floor: Annotated[float, typer.Option(metavar="MS", help="A shorter round trip counts as so long.")] = 1.0,
    round_trips: Annotated[
        Literal["known", "measured"],
        typer.Option(
            metavar="known|measured",
            help="Brokers know all round trips, as in the paper, or measure those of links and estimate others.",
        ),
    ] = "known",
    table: Annotated[str, typer.Option(metavar="N,...", help="Links that a broker opens.")] = "30",
    small_world: Annotated[int, typer.Option(metavar="N", help="Of them by distance on the ring.")] = 2,
    in_degree: Annotated[
        str | None, typer.Option(metavar="N,...", help="Brokers that may befriend a broker. Default: any number.")
    ] = None,
    gateway_hops: Annotated[
        str, typer.Option(metavar="N,...", help="Hops to the first gateway of a cluster at most.")
    ] = "5",
    gateway_step: Annotated[
        str | None,
        typer.Option(metavar="N,...", help="A further gateway for every so many hops from the first. Default: none."),
    ] = None,
    rates: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="How often topics are published on: topic and rate, or publications to count."
        ),
    ] = None,
    places: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Where brokers are, broker,place: what goes from place to place is counted."),
    ] = None,
    churn: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Who comes and goes: time,node,event,topic, a row a change.")
    ] = None,
    node_rate: Annotated[
        float, typer.Option(metavar="N", help="Instead: how often an hour a broker fails or leaves, and comes back.")
    ] = 0.0,
    subscription_rate: Annotated[
        float, typer.Option(metavar="N", help="Instead: how often an hour a subscription of a broker comes or goes.")
    ] = 0.0,
    hours: Annotated[float, typer.Option(help="Of both rates: for how long.")] = 0.05,
    away: Annotated[float, typer.Option(metavar="HOURS", help="Of --node-rate: until it comes back.")] = 0.01,
    per_round: Annotated[int, typer.Option(metavar="N", help="Publications of a round, which is a second.")] = 20,
    check: Annotated[
        int,
        typer.Option(metavar="ROUNDS", help="Let nodes of the protocol itself go through so many rounds, and compare."),
    ] = 0,
    seed: o.Seed = 1,
    seeds: Annotated[int, typer.Option(help="How often all of it is done, from --seed on.")] = 1,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for summary.json and, of a single run, rounds.csv, nodes.csv and figure.svg."),
    ] = None,
    engine: o.Engine = "local",
    master: o.Master = None,
    conf: o.Conf = [],  # noqa: B006
    force: o.Force = False,
    json: o.Json = False,
) -> None:
    """Simulate Vitis, brokers that find their links by gossip; several values of an option are tried one by one."""
    from weft.model.instance import read_instance
    from weft.model.output import claimed
    from weft.report.vitis import write_vitis
    from weft.sim.vitis_task import VitisTask, run_of

    if seeds < 1:
        raise WeftError(f"--seeds {seeds} is out of range: give at least 1.")
    lists: dict[str, list[Any]] = {
        "exponent": _numbers("--exponent", exponent, float),
        "table": _numbers("--table", table, int),
        "in_degree": _numbers("--in-degree", in_degree, int),
        "gateway_hops": _numbers("--gateway-hops", gateway_hops, int),
        "gateway_step": _numbers("--gateway-step", gateway_step, int),
    }
    fixed: dict[str, Any] = {"utility": utility, "floor": floor, "small_world": small_world, "per_round": per_round}
    fixed |= {"measured": round_trips == "measured", "check": check}
    by_rate = bool(node_rate or subscription_rate)
    if by_rate and churn is not None:
        raise WeftError("--churn says who comes and goes: leave --node-rate and --subscription-rate out.")
    rate_options = {"hours": hours, "node_rate": node_rate, "subscription_rate": subscription_rate, "away": away}
    file = None if publications.isdecimal() else publications
    if file is not None and not Path(file).exists():
        raise WeftError(f"--publications is {publications!r}: neither a number nor a file that exists.")
    variants = [dict(zip(lists, values, strict=True)) for values in product(*lists.values())]
    settings = o.spark_settings(engine, master, conf)
    files = {"latency": latency, "rates": rates, "places": places, "churn": churn}
    with claimed(*o.given(out), inputs=o.given(instance, file, *files.values()), force=force):
        tasks = [
            VitisTask(
                str(instance.absolute()),
                number,
                publications=publications if file is None else str(Path(file).absolute()),
                draw_hosts=draw_hosts,
                churn_rates=rate_options if by_rate else {},
                options={**fixed, **variant},
                **{name: None if path is None else str(Path(path).absolute()) for name, path in files.items()},
            )
            for variant in variants
            for number in range(seed, seed + seeds)
        ]
        meta = {"instance": read_instance(instance).fingerprint, "seed": seed, "seeds": seeds}
        progress = ConsoleProgress()
        if len(tasks) == 1 and engine == "local":
            with progress.step("Simulating Vitis"):
                run = run_of(tasks[0])
            if out is not None:
                write_vitis(run, out, {**meta, **tasks[0].options}, force=force)
            print_result(run.figures, json)
            return
        found = _all_figures(tasks, engine, settings, progress)
        if len(tasks) == 1:
            print_result(found[0], json)
            return
        shown = {name: values for name, values in lists.items() if len(values) > 1}
        _tell_sweep(tasks, found, list(shown), out, meta, force, json)


def _numbers(flag: str, given: str | None, kind: Callable[[str], Number]) -> list[Number | None]:
    """The values of a list; one None where nothing is given."""
    if given is None:
        return [None]
    try:
        return [kind(word) for word in given.split(",")]
    except ValueError as error:
        raise WeftError(f"{flag} is {given!r}: give a number, or several with commas between them.") from error


def _all_figures(
    tasks: "list[VitisTask]", engine: str, settings: tuple[str, dict[str, str]], progress: ConsoleProgress
) -> list[dict[str, Any]]:
    """The figures of all runs, in their order, in process or as a sweep on Spark."""
    from weft.sim.vitis_task import figures_of

    if engine == "local":
        found: list[dict[str, Any]] = []
        with progress.step(f"Simulating Vitis {len(tasks)} times", lambda: (len(found), len(tasks))):
            for task in tasks:
                found.append(figures_of(task))  # noqa: PERF401 - the progress counts them
        return found
    from weft.pipeline.session import spark_session
    from weft.pipeline.sweep import sweep

    outcomes: dict[int, Any] = {}
    with spark_session(*settings) as spark:
        for number, (outcome,) in sweep(
            spark, figures_of, [[task] for task in tasks], [1.0] * len(tasks), progress=progress
        ):
            if outcome.error is not None:
                raise WeftError(outcome.error.removeprefix("WeftError: "))
            outcomes[number] = outcome.figures
    return [outcomes[number] for number in range(len(tasks))]


def _tell_sweep(
    tasks: "Sequence[VitisTask]",
    found: Sequence[Mapping[str, Any]],
    varied: list[str],
    out: Path | None,
    meta: Mapping[str, Any],
    force: bool,
    json: bool,
) -> None:
    from json import dumps

    from weft.model.storage import new_folder, write_meta
    from weft.report.trial import cell
    from weft.sim.trial import interval, mean_over

    settings = [{name: task.options[name] for name in varied} for task in tasks]
    runs = [
        {**varied_, "seed": task.seed, **figures} for varied_, task, figures in zip(settings, tasks, found, strict=True)
    ]
    groups: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for setting, figures in zip(settings, found, strict=True):
        groups.setdefault(tuple(setting.values()), []).append(figures)
    means = {key: {name: mean_over([one[name] for one in group]) for name in SHOWN} for key, group in groups.items()}
    rows = [
        {**dict(zip(varied, key, strict=True)), **{name: interval(mean) for name, mean in of.items()}}
        for key, of in means.items()
    ]
    if out is not None:
        with new_folder(out, force=force) as partial:
            write_meta(partial, dict(meta))
            (partial / "summary.json").write_text(dumps({"runs": runs, "means": rows}, indent=2) + "\n")
    if json:
        print_result({"runs": runs, "means": rows}, json)
        return
    heading = [" ".join(name.replace("_", " ") for name in varied) or "all", *SHOWN.values()]
    lines = [
        [", ".join("-" if value is None else f"{value:g}" for value in key) or "mean", *map(cell, of.values())]
        for key, of in means.items()
    ]
    print_table([heading, *lines])
