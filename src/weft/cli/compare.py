"""weft compare"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from weft.cli import options as o
from weft.cli.line import say
from weft.cli.output import ConsoleProgress, print_result

if TYPE_CHECKING:
    from weft.sim.trial import Trials

EXAMPLE = "weft compare twitter-10k --overlays full-mesh,star,random,swico-even --routers scribe,weave --out compared"


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
        typer.Option(metavar="A,B,...", help="As in evaluate; those that need a ring go with overlays that have one."),
    ] = "scribe,pie,weave",
    seeds: Annotated[int, typer.Option(help="How often all of it is done, with the seeds 1, 2, ...")] = 10,
    publications: Annotated[int, typer.Option(help="How many to draw with each seed.")] = 10_000,
    links: o.Links = None,
    distance: o.RingDistance = None,
    pivots: o.PivotNodes = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for trials.csv, summary.csv, summary.json and figure.svg.")
    ] = None,
    force: o.Force = False,
    json: o.Json = False,
) -> None:
    """Compare every pair of an overlay and a router: means over seeds, with 95 % confidence intervals."""
    from weft.model.instance import read_instance
    from weft.model.output import claimed
    from weft.report.trial import write_trials
    from weft.sim.trial import compare as compare_here

    with claimed(*o.given(out), inputs=[instance], force=force):
        given, done = read_instance(instance), _SeedsDone()
        wanted = [name.strip() for name in overlays.split(",")], [name.strip() for name in routers.split(",")]
        with ConsoleProgress().step(f"Comparing under {seeds} seeds", lambda: (done.count, seeds)):
            trials = compare_here(
                given,
                *wanted,
                seeds=seeds,
                publications=publications,
                each_seed=done,
                links=links,
                distance=distance,
                pivots=pivots,
            )
        if out is not None:
            meta = {"instance": given.fingerprint, "seeds": seeds, "publications": publications}
            meta |= trials.forwarding.columns
            write_trials(trials, out, meta, force=force)
    if json:
        found = {"systems": trials.summary(), "left_out": trials.left_out}
        print_result({**found, **trials.forwarding.columns}, json)
    else:
        _print_table(trials)


class _SeedsDone:
    count = 0

    def __call__(self, seed: int) -> None:
        self.count = seed - 1


def _print_table(trials: "Trials") -> None:
    from weft.report.trial import lines, name

    rows = lines(trials)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for first, *others in rows:
        cells = (f"{text:>{width}}" for text, width in zip(others, widths[1:], strict=True))
        say("  ".join([f"{first:<{widths[0]}}", *cells]))
    say(
        "",
        "Means ± 95 % confidence. Hops to a subscriber; messages of the broker that sends most; connections of the "
        "broker that has most.",
    )
    if trials.left_out:
        pairs = ", ".join(map(name, trials.left_out))
        say(f"Left out, since the router goes by a ring that the overlay does not have: {pairs}.")
