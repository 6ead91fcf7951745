"""weft place"""

from pathlib import Path
from typing import Annotated

import typer

from weft.cli import options as o
from weft.cli.output import ConsoleProgress, print_result
from weft.errors import WeftError

EXAMPLE = "weft place fleet --brokers brokers.csv --latency pings.csv --within 20 --out placement.parquet"


def place(
    fleet: Annotated[Path, typer.Argument(metavar="FLEET", help="Folder of weft import.", show_default=False)],
    out: Annotated[
        Path, typer.Option(help="File for client, broker and suggested broker; with Spark, a folder of parts.")
    ],
    brokers: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="CSV: name,host,capacity. Default: a fifth over the mean, or as now."),
    ] = None,
    latency: Annotated[
        str | None, typer.Option(metavar="FILE", help="Round-trip times between brokers, by name: a,b,ms.")
    ] = None,
    within: Annotated[
        float | None, typer.Option(metavar="MS", help="How far from the broker of today a client may move.")
    ] = None,
    draw_hosts: o.DrawHosts = False,
    seed: o.Seed = 1,
    engine: o.Engine = "local",
    master: o.Master = None,
    conf: o.Conf = [],  # noqa: B006
    force: o.Force = False,
    json: o.Json = False,
) -> None:
    """Suggest a broker for every client, so that clients that share interests are together, and tell what it saves."""
    from weft.fleet.fleet import read_fleet
    from weft.fleet.suggestion import limits_of, suggest
    from weft.model.output import claimed
    from weft.model.storage import new_path, write_columns

    if (latency is None) != (within is None):
        raise WeftError("--latency and --within go together: times, and how many milliseconds are near.")
    settings = o.spark_settings(engine, master, conf)
    with claimed(out, inputs=o.given(fleet, brokers, latency), force=force):
        given, progress = read_fleet(fleet), ConsoleProgress()
        limits = limits_of(given, brokers, latency, within, seed, draw_hosts=draw_hosts)
        if engine == "spark":
            from weft.pipeline.placement import suggest as suggest_on_spark
            from weft.pipeline.session import spark_session

            with spark_session(*settings) as spark:
                figures = suggest_on_spark(spark, fleet, given, limits, out, force=force, progress=progress)
        else:
            with progress.step("Placing clients"):
                found, figures = suggest(given, limits)
            with new_path(out, force=force) as partial:
                write_columns(partial, {name: found[name] for name in found.column_names})
    print_result({"placement": str(out), **figures}, json)
