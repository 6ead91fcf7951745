"""weft inspect"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from weft.cli import options as o
from weft.cli.line import say
from weft.cli.output import ConsoleProgress, print_result, readable
from weft.errors import WeftError

if TYPE_CHECKING:
    from weft.model.publication import Publications

EXAMPLE = "weft inspect twitter-10k-sl --instance twitter-10k"


def inspect(
    folder: Annotated[
        Path, typer.Argument(metavar="INSTANCE|OVERLAY|FLEET", help="Folder of any of them.", show_default=False)
    ],
    instance: Annotated[Path | None, typer.Option(help="The instance that the overlay is for.")] = None,
    phases: o.PhasesOfFingers = None,
    report: o.FleetReport = None,
    seed: o.Seed = 1,
    force: o.Force = False,
    json: o.Json = False,
) -> None:
    """Describe an instance or an overlay, whose ring or topic-connectivity it proves, or tell the score of a fleet."""
    from weft.fleet.fleet import is_fleet
    from weft.model.instance import read_instance
    from weft.model.overlay import Overlay, read
    from weft.overlays.inspection import inspect as figures_of

    if is_fleet(folder):
        if phases is not None:
            raise WeftError(f"--phases goes with an overlay, and {folder} is a fleet, which has no ring.")
        if instance is not None:
            raise WeftError(f"--instance goes with an overlay, and {folder} is a fleet, which has its own.")
        tell_score(folder, None, report, seed, force, json)
        return
    if report is not None:
        raise WeftError(f"--report compares a fleet with a plan, and {folder} is no fleet.")
    given = read(folder)
    if isinstance(given, Overlay) and instance is None:
        raise WeftError(f"{folder} is an overlay: tell with --instance which instance it is for.")
    if not isinstance(given, Overlay):
        for flag, value in (("--instance", instance), ("--phases", phases)):
            if value is not None:
                raise WeftError(f"{flag} goes with an overlay, and {folder} is an instance.")
    with ConsoleProgress().step("Measuring"):
        figures = figures_of(given, None if instance is None else read_instance(instance), phases=phases)
    print_result(figures, json)


def tell_score(
    folder: Path, publications: "Publications | None", report: Path | None, seed: int, force: bool, json: bool
) -> None:
    """Print the score of a fleet beside that of a plan, and write the page where it is wanted."""
    from weft.fleet.comparison import compare
    from weft.fleet.fleet import read_fleet
    from weft.model.output import claimed
    from weft.report.fleet import write_fleet_report

    with claimed(*o.given(report), inputs=[folder], force=force):
        with ConsoleProgress().step("Measuring the fleet, and a plan for it"):
            found = compare(read_fleet(folder), publications, seed=seed)
        if report is not None:
            write_fleet_report(report, found)
    figures = {**found.figures(), **({} if report is None else {"report": str(report)})}
    now, plan = figures.pop("now"), figures.pop("plan")
    if json:
        print_result({**figures, "now": now, "plan": plan}, json)
        return
    print_result(figures, json)
    width = max(map(len, now))
    say("", f"{'':<{width}}  {'now':>14}  {'plan':>14}")
    for name in now:
        cells = (f"{readable(side[name]):>14}" for side in (now, plan))
        say(f"{name.replace('_', ' '):<{width}}  {'  '.join(cells)}")
