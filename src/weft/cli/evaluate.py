"""weft evaluate"""

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
    instance: o.InInstance,
    overlay: o.InOverlay,
    router: o.RouterName,
    publications: Annotated[
        str,
        typer.Option(
            metavar="FILE|N", help="A file of weft publish, a log by names (CSV: node, topic), or how many to draw."
        ),
    ] = "10000",
    fan_out: o.FanOut = None,
    latency: o.Latency = None,
    trees: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Of weft weave. Default: weave them, if the router has trees.")
    ] = None,
    seed: o.Seed = 1,
    topics: Annotated[Path | None, typer.Option(help="File for the figures of every topic.")] = None,
    engine: o.Engine = "local",
    master: o.Master = None,
    conf: o.Conf = [],  # noqa: B006
    force: o.Force = False,
    json: o.Json = False,
) -> None:
    """Publish over an overlay, check every delivery, and print what it cost."""
    from weft.model.instance import read_instance
    from weft.model.latency import latency_for
    from weft.model.output import claimed
    from weft.model.overlay import read_overlay
    from weft.model.storage import new_path, write_columns
    from weft.model.tree import read_trees
    from weft.sim.bulk import evaluate as evaluate_here
    from weft.sim.catalog import require_options
    from weft.sim.evaluation import figures_of, with_names

    require_options(router, fan_out, trees is not None)
    settings = o.spark_settings(engine, master, conf)
    file = None if publications.isdecimal() else publications
    with claimed(*o.given(topics), inputs=o.given(instance, overlay, trees, latency, file), force=force):
        made, built = read_instance(instance), read_overlay(overlay)
        placed = None if latency is None else latency_for(built, latency, seed, made.node_names)
        drawn = _publications(publications, made, seed)
        options: dict[str, Any] = {"seed": seed, "per_topic": topics is not None, "fan_out": fan_out}
        progress = ConsoleProgress()
        if engine == "spark":
            from weft.pipeline.evaluate import evaluate as evaluate_on_spark
            from weft.pipeline.session import spark_session

            with spark_session(*settings) as spark:
                given = spark, instance, overlay, router, drawn
                result = evaluate_on_spark(*given, latency=latency, trees=trees, progress=progress, **options)
        else:
            woven = None if trees is None else read_trees(trees, made, built)
            with progress.step(f"Routing {len(drawn):,} publications by {router}"):
                result = evaluate_here(made, built, router, drawn, latency=placed, trees=woven, **options)
        if topics is not None and result.topics is not None:
            with new_path(topics, force=force) as partial:
                write_columns(partial, with_names(result.topics, made))
    print_result(figures_of(result, made), json)


def _publications(wanted: str, instance: "Instance", seed: int) -> "Publications":
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
