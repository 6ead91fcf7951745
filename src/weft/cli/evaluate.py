"""weft evaluate"""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from weft.cli import options as o
from weft.cli.output import ConsoleProgress, print_result
from weft.errors import WeftError

if TYPE_CHECKING:
    from weft.model.instance import Instance
    from weft.model.publication import Publications

EXAMPLE = "weft evaluate twitter-10k twitter-10k-sl --router weave --fan-out 16 --latency planetlab-490.txt.gz --seed 1"


def evaluate(
    instance: Annotated[
        Path, typer.Argument(metavar="INSTANCE|FLEET", help="Folder of an instance, or of a fleet.", show_default=False)
    ],
    overlay: Annotated[
        Path | None, typer.Argument(metavar="OVERLAY", help="Folder of an overlay; a fleet and vitis have their own.")
    ] = None,
    router: Annotated[
        str | None, typer.Option("--router", metavar="NAME", help=f"{o.ROUTERS}; or {o.SYSTEMS}. A fleet has its own.")
    ] = None,
    publications: Annotated[
        str,
        typer.Option(
            metavar="FILE|N", help="A file of weft publish, a log by names (CSV: node, topic), or how many to draw."
        ),
    ] = "10000",
    links: o.Links = None,
    distance: o.RingDistance = None,
    pivots: o.PivotNodes = None,
    fan_out: o.FanOut = None,
    latency: o.Latency = None,
    draw_hosts: o.DrawHosts = False,
    trees: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Of weft weave. Default: weave them, if the router has trees.")
    ] = None,
    seed: o.Seed = 1,
    topics: Annotated[Path | None, typer.Option(help="File for the figures of every topic.")] = None,
    report: o.FleetReport = None,
    engine: o.Engine = "local",
    master: o.Master = None,
    conf: o.Conf = [],  # noqa: B006
    force: o.Force = False,
    json: o.Json = False,
) -> None:
    """Publish over an overlay, check every delivery, and print what it cost; over a fleet, beside a plan for it."""
    from weft.fleet.fleet import is_fleet
    from weft.model.instance import named_in, read_instance, read_name, read_names
    from weft.model.latency import latency_for
    from weft.model.output import claimed
    from weft.model.overlay import read_overlay
    from weft.model.storage import new_path, write_columns
    from weft.model.tree import read_trees
    from weft.sim.bulk import evaluate as evaluate_here
    from weft.sim.catalog import SYSTEMS, forwarding_for, needs_no_overlay, require_options
    from weft.sim.evaluation import figures_of, with_names

    if is_fleet(instance):
        unused = {"the overlay": overlay, "--router": router, "--fan-out": fan_out, "--latency": latency}
        unused |= {"--links": links, "--distance": distance, "--pivots": pivots}
        unused |= {"--trees": trees, "--topics": topics, "--engine spark": "spark" if engine == "spark" else None}
        _require_none(instance, unused)
        _evaluate_fleet(instance, publications, report, seed, force, json)
        return
    if router is None or (overlay is None and not needs_no_overlay(router)):
        raise WeftError(f"{instance} is an instance: name an overlay beside it, and a router with --router.")
    if report is not None:
        raise WeftError(f"--report compares a fleet with a plan, and {instance} is no fleet.")
    require_options(router, fan_out, trees is not None)
    forwarding = forwarding_for(router, links, distance, pivots)
    settings = o.spark_settings(engine, master, conf)
    file = None if publications.isdecimal() else publications
    with claimed(*o.given(topics), inputs=o.given(instance, overlay, trees, latency, file), force=force):
        options: dict[str, Any] = {"seed": seed, "per_topic": topics is not None, "fan_out": fan_out}
        progress = ConsoleProgress()
        if engine == "spark":
            from weft.pipeline.evaluate import evaluate as evaluate_on_spark
            from weft.pipeline.evaluate import evaluate_whole, laid_out
            from weft.pipeline.session import spark_session

            options |= {"latency": latency, "draw_hosts": draw_hosts, "progress": progress}
            if router in SYSTEMS:
                with spark_session(*settings) as spark:
                    drawn = publications_of(publications, read_instance(instance), seed)
                    result = evaluate_whole(spark, instance, overlay, router, drawn, **options)
            elif overlay is not None:
                with spark_session(*settings) as spark, laid_out(spark, instance, overlay, progress) as given:
                    known = given.instance if file is None else named_in(given.instance, instance)
                    drawn = publications_of(publications, known, seed)
                    options |= {"trees": trees, "forwarding": forwarding}
                    result = evaluate_on_spark(given, overlay, router, drawn, **options)
        else:
            made, built = read_instance(instance), None if overlay is None else read_overlay(overlay)
            placed = None
            if latency is not None:
                placed = latency_for(built or made, latency, seed, made.node_names, draw_hosts=draw_hosts)
            drawn = publications_of(publications, made, seed)
            woven = None if trees is None or built is None else read_trees(trees, made, built)
            options |= {"links": links, "distance": distance, "pivots": pivots}
            with progress.step(f"Routing {len(drawn):,} publications by {router}"):
                result = evaluate_here(made, built, router, drawn, latency=placed, trees=woven, **options)
        if topics is not None and result.topics is not None:
            with new_path(topics, force=force) as partial:
                write_columns(partial, with_names(result.topics, read_names(instance, "topic")))
    print_result(figures_of(result, read_name(instance, "node", result.load.most_loaded_node)), json)


def publications_of(wanted: str, instance: "Instance", seed: int) -> "Publications":
    """Publications of a file, or so many that are drawn."""
    from weft.model.publication import read_publications
    from weft.model.storage import has_column
    from weft.raw.traffic import read_traffic
    from weft.workloads.publication import publications

    if wanted.isdecimal():
        return publications(instance, int(wanted), seed)
    if not Path(wanted).exists():
        raise WeftError(f"--publications is {wanted!r}: neither a number nor a file that exists.")
    if has_column(Path(wanted), "publication"):
        return read_publications(wanted, instance)
    return read_traffic(wanted, instance).publications()


def _require_none(folder: Path, unused: Mapping[str, object]) -> None:
    for flag, value in unused.items():
        if value is not None:
            raise WeftError(f"{folder} is a fleet, which has bridges of its own: leave {flag} out.")


def _evaluate_fleet(
    folder: Path,
    wanted: str,
    report: Path | None,
    seed: int,
    force: bool,
    json: bool,
) -> None:
    """Publish over the bridges of a fleet, from any of its brokers, or from known publishers."""
    from weft.cli.inspect import tell_score
    from weft.fleet.comparison import require_subscriptions
    from weft.fleet.fleet import read_fleet
    from weft.workloads.publication import publications

    fleet = read_fleet(folder)
    require_subscriptions(fleet)
    if wanted.isdecimal():
        drawn = publications(fleet.instance, int(wanted), seed, "publisher" if fleet.instance.publishers else "anyone")
    else:
        drawn = publications_of(wanted, fleet.instance, seed)
    tell_score(folder, drawn, report, seed, force, json)
