"""weft experiment"""

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from weft.cli import options as o
from weft.cli.output import ConsoleProgress, print_result
from weft.ending import CONTINUES, remark
from weft.errors import Exit, SurroundingsError, WeftError

if TYPE_CHECKING:
    from weft.experiments.engine.results import Results

EXAMPLE = "weft experiment beaconvey-table3 nsmf-fig2 --full --data snap --out experiments"


def experiment(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="NAME...", help="Of --list; all: every one.", show_default=False)
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Folder for the results, one a name.", show_default=False)] = None,
    links: o.Links = None,
    distance: o.RingDistance = None,
    pivots: o.PivotNodes = None,
    full: Annotated[bool, typer.Option("--full/--quick", help="The papers' sizes and repetitions, or fewer.")] = False,
    data: Annotated[
        Path | None, typer.Option(help="Folder with the data sets of docs/experiments.md. Default: generate them.")
    ] = None,
    listed: Annotated[bool, typer.Option("--list", help="Name all experiments.")] = False,
    master: o.Master = None,
    conf: o.Conf = [],  # noqa: B006
    force: Annotated[bool, typer.Option("--force", help="Make all runs again.")] = False,
    json: o.Json = False,
) -> None:
    """Repeat tables and figures of the papers on Spark, and show where ours agree.

    Runs that were finished before are not made again, so a stopped experiment continues.
    """
    from weft.experiments.catalog import EXPERIMENTS, experiments_of

    if listed:
        print_result({experiment.name: experiment.title for experiment in EXPERIMENTS.values()}, json)
        return
    wanted = experiments_of(names or [])
    if not wanted or out is None:
        raise WeftError(f"Which experiments, and where to? As in: {EXAMPLE}")

    from weft.experiments.engine.execution import execute, files_in, journal_in, require_variants
    from weft.model.output import claimed
    from weft.pipeline.session import spark_when_needed
    from weft.report.experiment import write_experiment
    from weft.report.reproduction import write_reproduction

    given = {"links": links, "distance": distance, "pivots": pivots}
    options = {option: value for option, value in given.items() if value is not None}
    require_variants(wanted, options)
    files = {} if data is None else files_in(data, wanted)
    settings = o.spark_settings("spark", master, conf)
    with claimed(out, inputs=files.values(), resumes=True):
        journal_in(out, force=force)
        remark(CONTINUES)
        with spark_when_needed(*settings) as session:
            done = execute(session, wanted, "full" if full else "quick", files, out, ConsoleProgress(), options)
        verdicts = {}
        for results in done:
            comparisons = write_experiment(results, out / results.experiment.name, force=True)
            verdicts[results.experiment.name] = Counter(comparison.verdict for comparison in comparisons)
        path = write_reproduction(out)
    print_result(verdicts if json else {**verdicts, "report": str(path)}, json)
    _report_failures(done)
    if any(found["differs"] for found in verdicts.values()):
        raise typer.Exit(Exit.NOT_HELD)


def _report_failures(done: "list[Results]") -> None:
    errors = [error for results in done for error in results.errors]
    if errors:
        raise SurroundingsError(f"{len(errors)} runs failed, the others are written. The first one: {errors[0]}")
