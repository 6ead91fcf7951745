"""weft evaluate"""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from weft.cli import options as o
from weft.cli.output import ConsoleProgress, print_result
from weft.errors import WeftError

if TYPE_CHECKING:
    from weft.model.instance import Instance
    from weft.model.publication import Publications

EXAMPLE = "weft evaluate twitter-10k twitter-10k-sl --router pie --publications 100000 --seed 1"


def evaluate(
    instance: o.InInstance,
    overlay: Annotated[Path, typer.Argument(metavar="OVERLAY", help="Folder of an overlay.", show_default=False)],
    router: o.RouterName,
    publications: Annotated[str, typer.Option(metavar="FILE|N", help="A file of them, or how many to draw.")] = "10000",
    seed: o.Seed = 1,
    topics: Annotated[Path | None, typer.Option(help="File for the figures of every topic.")] = None,
    engine: o.Engine = "local",
    master: o.Master = "local[*]",
    conf: o.Conf = [],  # noqa: B006
    force: o.Force = False,
    json: o.Json = False,
) -> None:
    """Publish over an overlay, check every delivery, and tell what it cost."""
    from weft.model.instance import read_instance
    from weft.model.overlay import read_overlay
    from weft.model.storage import new_path, require_absent, write_columns
    from weft.sim.bulk import evaluate as evaluate_here

    if topics is not None:
        require_absent(topics, force)
    given, built = read_instance(instance), read_overlay(overlay)
    drawn = _publications(publications, given, seed)
    progress, per_topic = ConsoleProgress(), topics is not None
    if engine == "spark":
        from weft.pipeline.evaluate import evaluate as evaluate_on_spark
        from weft.pipeline.session import spark_session

        with spark_session(master, o.spark_conf(conf)) as spark:
            result = evaluate_on_spark(
                spark, instance, overlay, router, drawn, seed=seed, per_topic=per_topic, progress=progress
            )
    else:
        with progress.step(f"Routing {len(drawn):,} publications by {router}"):
            result = evaluate_here(given, built, router, drawn, seed=seed, per_topic=per_topic)
    if topics is not None and result.topics is not None:
        with new_path(topics, force=force) as partial:
            write_columns(partial, result.topics)
    figures = asdict(result)
    figures.pop("topics")
    print_result(figures, json)


def _publications(wanted: str, instance: "Instance", seed: int) -> "Publications":
    from weft.model.publication import read_publications
    from weft.workloads.publication import publications

    if wanted.isdecimal():
        return publications(instance, int(wanted), seed)
    if not Path(wanted).exists():
        raise WeftError(f"--publications is {wanted!r}: neither a number nor a file that exists.")
    return read_publications(wanted, instance)
