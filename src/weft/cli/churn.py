"""weft churn"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from weft.cli import options as o
from weft.cli.line import say
from weft.cli.output import ConsoleProgress, print_result

if TYPE_CHECKING:
    from weft.sim.churn import Churned

EXAMPLE = "weft churn sites sites-even --router pie --hours 72 --node-rate 0.02 --subscription-rate 0.1 --rebuild daily"


def churn(
    instance: o.InInstance,
    overlay: o.InOverlay,
    router: o.RouterName,
    schedule: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Rows of time (seconds, or ISO 8601), node, event (join, leave, fail, subscribe, unsubscribe), topic. "
            "Default: by the rates.",
        ),
    ] = None,
    hours: Annotated[
        float | None, typer.Option(help="How long. Default: 48, or until the last change of the schedule.")
    ] = None,
    node_rate: Annotated[float, typer.Option(help="How often an hour a node goes; it comes back in an hour.")] = 0.02,
    subscription_rate: Annotated[
        float, typer.Option(help="How often an hour a node takes up or ends a subscription.")
    ] = 0.1,
    fail_share: Annotated[float, typer.Option(help="Of the nodes that go, those that do not say so.")] = 0.5,
    rate: Annotated[float, typer.Option(help="Publications an hour, in the whole network.")] = 60.0,
    rebuild: Annotated[
        Literal["never", "daily", "weekly"],
        typer.Option(metavar="never|daily|weekly", help="When the overlay is designed again."),
    ] = "daily",
    quality: Annotated[
        float,
        typer.Option(help="Design again also where TcoSuppR or links a node are worse than so much of what they were."),
    ] = 0.0,
    loss: Annotated[float, typer.Option(help="Share of messages, and of acknowledgements, that are lost.")] = 0.0,
    latency: o.Latency = None,
    draw_hosts: o.DrawHosts = False,
    seeds: Annotated[int, typer.Option(help="How often all of it is done, with the seeds from --seed on.")] = 1,
    seed: o.Seed = 1,
    out: Annotated[
        Path | None, typer.Option(help="Folder for churn.csv (a row an interval), summary.json and figure.svg.")
    ] = None,
    engine: o.Engine = "local",
    master: o.Master = None,
    conf: o.Conf = [],  # noqa: B006
    force: o.Force = False,
    json: o.Json = False,
) -> None:
    """Publish while nodes and subscriptions come and go: what is lost, doubled or late between two designs."""
    from weft.model.instance import read_instance
    from weft.model.latency import placed_latency
    from weft.model.output import claimed
    from weft.model.overlay import read_overlay
    from weft.raw.churn import read_churn
    from weft.report.churn import write_churned
    from weft.sim.churn import ChurnSetting
    from weft.sim.churn_runs import Rates, churn_run, churn_runs, summary_of

    settings = o.spark_settings(engine, master, conf)
    with claimed(*o.given(out), inputs=o.given(instance, overlay, schedule, latency), force=force):
        given, built = read_instance(instance), read_overlay(overlay)
        placed = None
        if latency is not None:
            placed = placed_latency(latency, given.nodes, seed, given.node_names, draw_hosts=draw_hosts)
        changes = None if schedule is None else read_churn(schedule, given)
        rates = Rates(hours or 48.0, node_rate, subscription_rate, fail_share)
        setting = ChurnSetting(rate=rate, rebuild=rebuild, quality=quality, loss=loss)
        runs = churn_runs(
            given, built, router, changes or rates, hours=hours, setting=setting, latency=placed, seed=seed, seeds=seeds
        )
        progress = ConsoleProgress()
        if engine == "spark":
            from weft.pipeline.churn import churn_on_spark
            from weft.pipeline.session import spark_session

            with spark_session(*settings) as spark:
                done = churn_on_spark(spark, runs, progress=progress)
        else:
            done = []
            with progress.step(f"Simulating {seeds} runs", lambda: (len(done), seeds)):
                done.extend(churn_run(run) for run in runs)
        if out is not None:
            write_churned(done, out, {"instance": given.fingerprint, "overlay": built.fingerprint}, force=force)
    result = summary_of(done)
    if json:
        print_result(result, json)
    else:
        _print_table(done)
        print_result({name: value for name, value in result.items() if name != "intervals"}, json)


def _print_table(done: "list[Churned]") -> None:
    """Print a row an interval of the first run."""
    shown = ("begins", "changes", "expected", "delivered", "unexplained", "doubled", "late", "links_opened", "links")
    rows = [[name.replace("_", " ") for name in shown]]
    for interval in done[0].intervals:
        cells = [getattr(interval, name) for name in shown]
        rows.append([f"{cell:,.1f}" if isinstance(cell, float) else f"{cell:,}" for cell in cells])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        say("  ".join(f"{cell:>{width}}" for cell, width in zip(row, widths, strict=True)))
    say("")
