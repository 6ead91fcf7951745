"""weft popsub"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from weft.cli import options as o
from weft.cli.line import say
from weft.cli.output import ConsoleProgress, print_result
from weft.errors import WeftError

if TYPE_CHECKING:
    from weft.protocol.popsub.parameters import Way
    from weft.sim.popsub_case import Case, Plan, PopSubResult, WayResult

EXAMPLE = (
    "weft popsub --links links.csv --advertisements ads.csv --subscriptions subs.csv --publications log.csv "
    "--unpopular tree,direct,batch,gossip,adaptive --out compared"
)


def popsub(
    instance: Annotated[
        Path | None,
        typer.Argument(metavar="[INSTANCE]", help="Of topics, instead of advertisements and subscriptions."),
    ] = None,
    links: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The tree of brokers: a,b,ms (round trips).", show_default=False)
    ] = None,
    advertisements: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="id,broker,class,filter, and perhaps priority: high or normal."),
    ] = None,
    subscriptions: Annotated[Path | None, typer.Option(metavar="FILE", help="id,broker,class,filter.")] = None,
    publications: Annotated[
        str | None,
        typer.Option(
            metavar="FILE|N",
            help="A log: time,advertisement and a column an attribute, or payload (JSON). Or rates: advertisement,rate "
            "and what attributes are drawn from, as uniform(0, 100). With an instance, a file of weft publish or how "
            "many to draw; default: 10000.",
            show_default=False,
        ),
    ] = None,
    latency: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Round trips between any two brokers. Without --links the paper's tree is made of them.",
        ),
    ] = None,
    nearest: Annotated[
        int | None, typer.Option(metavar="N", help="Of that tree: hosts that a host is linked to. Default: all.")
    ] = None,
    brokers: Annotated[int | None, typer.Option(metavar="N", help="Of that tree. Default: all hosts.")] = None,
    unpopular: Annotated[
        str,
        typer.Option(
            metavar="WAY,...",
            help="For what is unpopular on a link: tree, direct, batch, gossip, adaptive; lpbcast is gossip among all "
            "brokers.",
        ),
    ] = "tree,direct,batch,gossip,adaptive",
    phi: Annotated[
        str,
        typer.Option(
            metavar="auto|X,...",
            help="Share of a broker's capacity for what is popular, or several. auto: by utilisation and gains.",
        ),
    ] = "auto",
    headroom: Annotated[float, typer.Option(help="Share of the capacity that --phi auto leaves free at least.")] = 0.2,
    capacity: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Of weft bench --capacity. Default: as measured on our own.")
    ] = None,
    high_priority: Annotated[
        str | None,
        typer.Option(metavar="FILTER", help="Publications that go by the tree whatever they gain."),
    ] = None,
    batch_by: Annotated[
        Literal["entry", "link"],
        typer.Option(metavar="entry|link", help="A batch is of a link and an advertisement, or of a link."),
    ] = "entry",
    history: Annotated[
        int | None, typer.Option(metavar="N", help="Publications that a gossip has at most. Default: all that are new.")
    ] = None,
    sweep: Annotated[
        bool, typer.Option("--sweep/--no-sweep", help="Whether gossip loses nothing; without, some is missed.")
    ] = True,
    time_unit: Annotated[
        Literal["s", "ms"], typer.Option(metavar="s|ms", help="Of times in the log that are not ISO 8601.")
    ] = "s",
    seconds: Annotated[float, typer.Option(help="To publish for, where rates or a number are given.")] = 60.0,
    seeds: Annotated[
        int | None, typer.Option(metavar="N", help="Do all of it with the seeds 1 to N.", show_default=False)
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for ways.csv, links.csv, advertisements.csv and popsub.html."),
    ] = None,
    deliveries: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="CSV of every delivery: way, row of the publication, subscription, ms."),
    ] = None,
    messages: Annotated[
        bool,
        typer.Option("--by-messages", help="By the brokers' own code, message by message: slow, to check the rest."),
    ] = False,
    seed: o.Seed = 1,
    engine: o.Engine = "local",
    master: o.Master = None,
    conf: o.Conf = [],  # noqa: B006
    force: o.Force = False,
    json: o.Json = False,
) -> None:
    """Simulate PopSub on a tree of brokers, by each way for what is unpopular; check every delivery."""
    from weft.model.output import claimed
    from weft.model.storage import new_folder
    from weft.report.popsub import lines, write_results
    from weft.sim.popsub_case import Case, Plan, capacity_of, ways_of

    ways = ways_of([way.strip() for way in unpopular.split(",")])
    said: Any = int(publications) if instance and publications and publications.isdecimal() else publications
    case = Case(
        links=_text(links),
        advertisements=_text(advertisements),
        subscriptions=_text(subscriptions),
        publications=said,
        instance=_text(instance),
        latency=latency,
        nearest=nearest,
        brokers=brokers,
        time_unit=time_unit,
        high_priority=high_priority,
        seconds=seconds,
    )
    able = capacity_of(capacity)
    plans = tuple(Plan(value, headroom, batch_by, history, sweep, able) for value in _phis(phi))
    settings = o.spark_settings(engine, master, conf)
    files = o.given(instance, links, advertisements, subscriptions, latency, capacity)
    files += o.given(publications if isinstance(said, str) else None)
    is_one = seeds is None and len(plans) == 1 and engine == "local"
    if deliveries is not None and not is_one:
        raise WeftError("--deliveries is of one run of each way: give one --phi and no --seeds.")
    if messages:
        if not is_one or o.given(out, deliveries):
            raise WeftError(
                "--by-messages prints one run of each way: give one --phi, and no --seeds or files to write."
            )
        _print_by_messages(case, ways, plans[0], seed, json)
        return
    with claimed(*o.given(out, deliveries), inputs=files, force=force):
        result: PopSubResult | None = None
        if is_one:
            result = _one(case, ways, plans[0], seed, deliveries, force)
            summary = result.summary()
        else:
            summary = _swept(case, ways, plans, range(1, seeds + 1) if seeds else [seed], engine, settings)
        if out is not None:
            with new_folder(out, force=force) as partial:
                write_results(partial, summary, result)
    if json:
        print_result(summary, json)
    else:
        _print_table(summary, lines(summary["ways"]))


def _text(path: Path | None) -> str | None:
    return None if path is None else str(path)


def _phis(text: str) -> list[Any]:
    try:
        return [word.strip() if word.strip() == "auto" else float(word) for word in text.split(",")]
    except ValueError:
        raise WeftError(f"`phi` is {text!r}: give auto, or shares with commas between.", "phi") from None


def _one(
    case: "Case", ways: "list[Way]", plan: "Plan", seed: int, deliveries: Path | None, force: bool
) -> "PopSubResult":
    """One run of each way, with all that it leaves."""
    from weft.model.storage import new_path
    from weft.sim.popsub_case import PopSubResult, by_ways, prepare, sizes_of

    progress = ConsoleProgress()
    with progress.step("Reading and matching"):
        prepared = prepare(case, seed)
    results: list[WayResult] = []
    with progress.step(f"Simulating {len(ways)} ways", lambda: (len(results), len(ways))):
        results.extend(by_ways(prepared, ways, plan, seed, arrivals=deliveries is not None))
    if deliveries is not None:
        with progress.step("Writing deliveries"), new_path(deliveries, force=force) as partial:
            _write_deliveries(partial, results)
    return PopSubResult(tuple(results), **sizes_of(prepared))


def _print_by_messages(case: "Case", ways: "list[Way]", plan: "Plan", seed: int, json: bool) -> None:
    from weft.sim.popsub_case import by_messages, prepare, sizes_of

    with ConsoleProgress().step(f"Sending messages of {len(ways)} ways"):
        prepared = prepare(case, seed)
        found = by_messages(prepared, ways, plan, seed)
    if json:
        print_result({**sizes_of(prepared), "ways": found}, json)
    for way in [] if json else found:
        print_result(way, json)


def _write_deliveries(path: Path, results: "list[WayResult]") -> None:
    import pyarrow as pa
    import pyarrow.csv as arrow

    with pa.OSFile(str(path), "wb") as file:
        for number, result in enumerate(results):
            for place, batch in enumerate(result.each_delivery()):
                names = pa.array([result.unpopular] * batch.num_rows, pa.string())
                table = pa.Table.from_batches([batch]).add_column(0, "unpopular", names)
                arrow.write_csv(table, file, arrow.WriteOptions(include_header=number + place == 0))


def _swept(case: "Case", ways: Any, plans: Any, seeds: Any, engine: str, settings: Any) -> dict[str, Any]:
    """All runs, in this process or on Spark; both give the same."""
    from weft.sim.popsub_case import Sweep, figures_of_sweep

    sweeps = [Sweep(case, tuple(ways), plans, seed) for seed in seeds]
    progress = ConsoleProgress()
    if engine == "spark":
        from weft.pipeline.popsub import sweep_on_spark
        from weft.pipeline.session import spark_session

        with spark_session(*settings) as spark:
            found = sweep_on_spark(spark, sweeps, progress)
    else:
        found = []
        with progress.step(f"Simulating under {len(sweeps)} seeds", lambda: (len(found), len(sweeps))):
            for sweep in sweeps:
                found.append(figures_of_sweep(sweep))
    return {**found[0], "ways": [way for each in found for way in each["ways"]]}


def _print_table(summary: dict[str, Any], rows: list[list[str]]) -> None:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for first, *others in rows:
        cells = (f"{text:>{width}}" for text, width in zip(others, widths[1:], strict=True))
        say("  ".join([f"{first:<{widths[0]}}", *cells]))
    say(
        "",
        f"{summary['brokers']:,} brokers, {summary['subscriptions']:,} subscriptions, {summary['publications']:,} "
        "publications; every delivery is checked. Gain: deliveries for a hop, of what issuers decide on. Milliseconds: "
        "the 99th percentile. Cost: matchings and messages.",
    )
