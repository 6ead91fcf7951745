"""weft compare"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from weft.cli import options as o
from weft.cli.line import say
from weft.cli.output import ConsoleProgress, print_result

if TYPE_CHECKING:
    from weft.sim.trial import Trials

EXAMPLE = (
    "weft compare twitter-10k --overlays random,swico-sl --routers scribe,pie,weave,vitis --publications log.csv "
    "--baseline random+scribe --out compared"
)


def compare(
    instance: o.InInstance,
    overlays: Annotated[
        str,
        typer.Option(
            metavar="A,B,...",
            help="As in design, and full-mesh. full-mesh, star and tree are what engineers draw today.",
        ),
    ] = "full-mesh,star,tree,random,swico-even",
    routers: Annotated[
        str,
        typer.Option(
            metavar="A,B,...",
            help="As in evaluate; those that need a ring go with overlays that have one, and vitis with none.",
        ),
    ] = "scribe,pie,weave",
    seeds: Annotated[int, typer.Option(help="How often all of it is done, with the seeds 1, 2, ...")] = 10,
    publications: Annotated[
        str,
        typer.Option(
            metavar="FILE|N",
            help="A file of weft publish, a log by names (CSV: node, topic), or how many each seed draws.",
        ),
    ] = "10000",
    baseline: Annotated[
        str | None,
        typer.Option(metavar="OVERLAY+ROUTER", help="Show the ratios of all figures to those of this system, too."),
    ] = None,
    latency: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Round-trip times, as in evaluate: deliveries are timed, vitis and trees go by them."
        ),
    ] = None,
    draw_hosts: o.DrawHosts = False,
    links: o.Links = None,
    distance: o.RingDistance = None,
    pivots: o.PivotNodes = None,
    size: Annotated[
        float | None, typer.Option(metavar="BYTES", help="Of a publication, where the instance does not say.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for trials.csv, summary.csv, summary.json and figure.svg.")
    ] = None,
    force: o.Force = False,
    json: o.Json = False,
) -> None:
    """Compare every pair of an overlay and a router: means over seeds, with 95 % confidence intervals."""
    from weft.cli.evaluate import publications_of
    from weft.model.instance import read_instance
    from weft.model.latency import placed_latency
    from weft.model.output import claimed
    from weft.report.trial import write_trials
    from weft.sim.trial import compare as compare_here

    file = None if publications.isdecimal() else publications
    with claimed(*o.given(out), inputs=o.given(instance, file, latency), force=force):
        given, done = read_instance(instance), _SeedsDone()
        said = int(publications) if file is None else publications_of(file, given, 1)
        placed = None
        if latency is not None:
            placed = placed_latency(latency, given.nodes, 1, given.node_names, draw_hosts=draw_hosts)
        wanted = [name.strip() for name in overlays.split(",")], [name.strip() for name in routers.split(",")]
        with ConsoleProgress().step(f"Comparing under {seeds} seeds", lambda: (done.count, seeds)):
            trials = compare_here(
                given,
                *wanted,
                seeds=seeds,
                publications=said,
                latency=placed,
                size=size,
                each_seed=done,
                links=links,
                distance=distance,
                pivots=pivots,
            )
        if baseline is not None:
            trials.system_called(baseline)
        if out is not None:
            meta = {"instance": given.fingerprint, "seeds": seeds, "publications": publications}
            meta |= trials.forwarding.columns
            write_trials(trials, out, meta, baseline=baseline, force=force)
    if json:
        found = {"systems": trials.summary(baseline), "left_out": trials.left_out}
        print_result({**found, **trials.forwarding.columns}, json)
    else:
        _print_tables(trials, baseline)


class _SeedsDone:
    count = 0

    def __call__(self, seed: int) -> None:
        self.count = seed - 1


def _print_tables(trials: "Trials", baseline: str | None) -> None:
    from weft.report.trial import lines, name, ratio_lines

    print_table(lines(trials))
    if baseline is not None:
        say("")
        print_table(ratio_lines(trials, baseline))
    say(
        "",
        "Means ± 95 % confidence. Messages carry a publication: all of them, and those to relays, a delivery; "
        "controls carry none. Hops to a subscriber, on average and at most; messages of the broker that sends most; "
        "connections of the broker that has most. Peers and entries: what a broker has to know, on average.",
    )
    if trials.left_out:
        pairs = ", ".join(map(name, trials.left_out))
        say(f"Left out, since the router goes by a ring that the overlay does not have: {pairs}.")


def print_table(rows: list[list[str]]) -> None:
    """Print rows of cells, the heading first, under each other."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for first, *others in rows:
        cells = (f"{text:>{width}}" for text, width in zip(others, widths[1:], strict=True))
        say("  ".join([f"{first:<{widths[0]}}", *cells]))
