"""weft run"""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from weft.cli import options as o
from weft.cli.ingest import warn_of_unmatched
from weft.cli.line import say
from weft.cli.output import ConsoleProgress, print_result, readable
from weft.cli.plan import say_need
from weft.ending import CONTINUES, remark

if TYPE_CHECKING:
    from weft.pipeline.run import Generated, Proof
    from weft.pipeline.stages import Outcome
    from weft.raw.source import Source
    from weft.workloads.sample import Sampling

EXAMPLE = "weft run twitter_combined.txt.gz --as follows --nodes 10000 --out twitter-run"

OutRun = Annotated[Path, typer.Option("--out", help="Folder of the run.", show_default=False)]

RunForce = Annotated[bool, typer.Option("--force", help="Replace a finished run of other options or data.")]


def run(
    source: Annotated[
        list[str], typer.Argument(metavar="INPUT...", help="An instance, or files as for ingest.", show_default=False)
    ],
    out: OutRun,
    nodes: Annotated[int | None, typer.Option(help="Sample so many nodes. Default: take all.")] = None,
    method: Annotated[Literal["bfs", "closure"], typer.Option(metavar="bfs|closure", help="How to sample.")] = "bfs",
    overlay: o.OverlayName = "swico-even",
    router: o.RouterName = "weave",
    links: o.Links = None,
    distance: o.RingDistance = None,
    pivots: o.PivotNodes = None,
    fan_out: o.FanOut = None,
    load_weight: o.LoadWeight = None,
    rates: o.Rates = None,
    latency: o.Latency = None,
    draw_hosts: o.DrawHosts = False,
    publications: Annotated[int, typer.Option(help="How many to publish for the proof.")] = 10_000,
    seed: o.Seed = 1,
    kind: o.As = None,
    format: o.FileFormat = None,  # noqa: A002
    columns: o.Columns = None,
    delimiter: o.Delimiter = None,
    header: o.Header = True,
    on_bad_row: o.BadRow = "stop",
    topics: o.Topics = None,
    master: o.Master = None,
    conf: o.Conf = [],  # noqa: B006
    force: RunForce = False,
    json: o.Json = False,
) -> None:
    """Run the whole pipeline on Spark. A finished stage is not run again, so a killed run continues."""
    from weft.pipeline.run import Proof
    from weft.raw.ingest import check
    from weft.raw.source import Source
    from weft.sim.catalog import forwarding_for
    from weft.workloads.sample import Sampling

    given: Path | Source = Path(source[0])
    if not o.is_instance(source):
        given = o.source_of(source, kind, format, columns, delimiter, header, on_bad_row, topics)
    sampling = None if nodes is None else Sampling(nodes, method, seed)
    by_topic = None if rates is None else str(rates)
    forwarding = forwarding_for(router, links, distance, pivots)
    proof = Proof(overlay, router, publications, seed, fan_out, latency, load_weight, by_topic, draw_hosts, forwarding)
    proof.check()
    if isinstance(given, Source):
        check(given)
    run_pipeline(given, sampling, proof, out, master, conf, json, force)


def run_pipeline(
    given: "Source | Generated | Path",
    sampling: "Sampling | None",
    proof: "Proof",
    out: Path,
    master: str | None,
    conf: list[str],
    json: bool,
    force: bool = False,
) -> None:
    from weft.model.output import claimed
    from weft.pipeline.run import instance_stages, proof_stages
    from weft.pipeline.session import spark_when_needed
    from weft.pipeline.stages import Stage, run_stages
    from weft.raw.source import Source
    from weft.report.run import verdict_lines, write_run_report

    settings = o.spark_settings("spark", master, conf)
    inputs = list(given.paths) if isinstance(given, Source) else o.given(given if isinstance(given, Path) else None)
    topics = given.topics if isinstance(given, Source) else None
    inputs = [*inputs, *o.given(proof.latency, proof.rates, topics)]
    with claimed(out, inputs=inputs, resumes=True), spark_when_needed(*settings) as session:
        progress = ConsoleProgress()
        stages, instance = instance_stages(session, given, sampling, out, progress)
        before = partial(say_need, instance, proof.overlay, {"latency": proof.latency})
        stages += proof_stages(session, instance, proof, out, progress, before)
        stages.append(Stage("report", "report.html", {}, lambda path: write_run_report(path, instance, out)))
        remark(CONTINUES)
        outcomes = []
        for outcome in run_stages(out, stages, force):
            outcomes.append(outcome)
            if not json:
                _print_outcome(outcome)
            if outcome.stage == "ingest":
                warn_of_unmatched(outcome.result)
    if json:
        print_result({outcome.stage: dict(outcome.result) for outcome in outcomes}, json)
    else:
        say(*verdict_lines(instance, out), f"Report:   {out / 'report.html'}")


def _print_outcome(outcome: "Outcome") -> None:
    """Print a finished stage to stderr, as progress is: the result begins with the verdict."""
    how = "done before" if outcome.reused else f"{outcome.seconds:.1f} s"
    figures = [
        f"{name.replace('_', ' ')} {readable(value)}" for name, value in outcome.result.items() if _is_number(value)
    ]
    say(f"{outcome.stage:<9} {how:>11}   {', '.join(figures)}", err=True)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
