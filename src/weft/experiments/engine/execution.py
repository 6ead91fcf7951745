"""Experiments on Spark: the runs of all of them in one sweep, each run once however many experiments ask for it.

What a run gave is written to a journal as soon as it is done, with a hash of the code that made it. A sweep that is
started again, after it was stopped or with more experiments, takes from there what the same code has made; runs that
failed, or that other code made, are made again.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path

from weft import __version__
from weft.errors import WeftError, listed
from weft.experiments.engine.code import code_hash
from weft.experiments.engine.dataset import (
    CRAWLS,
    DATASETS,
    LATENCIES,
    Crawl,
    CrawlSample,
    Graph,
    Latencies,
    find,
    source,
)
from weft.experiments.engine.experiment import Effort, Experiment, Plan, Run, Runs
from weft.experiments.engine.results import Results, Row
from weft.model.storage import new_path
from weft.pipeline.progress import SILENCE, Progress
from weft.pipeline.run import Session, instance_stages
from weft.pipeline.stages import Stage, run_stages
from weft.pipeline.sweep import Figures, Outcome, sweep
from weft.raw.source import Source
from weft.workloads.catalog import generate
from weft.workloads.sample import Sampling

JOURNAL = "runs.jsonl"
CRAWL_SEED = 1  # there is one crawl of each kind, and several samples


def files_in(data: Path, experiments: Iterable[Experiment]) -> dict[str, Path]:
    """The datasets of the experiments whose files are there; an error where none is."""
    known: dict[str, Graph | Latencies] = {**DATASETS, **LATENCIES}
    wanted = list(dict.fromkeys(key for experiment in experiments for key in experiment.datasets))
    found = {key: path for key in wanted if (path := find(data, known[key])) is not None}
    if wanted and not found:
        names = " or ".join(known[key].files[0] for key in wanted)
        raise WeftError(f"`data` {data} has no {names}: docs/experiments.md says where they are from.", "data")
    return found


def execute(
    session: Session,
    experiments: Sequence[Experiment],
    effort: Effort,
    files: Mapping[str, Path],
    out: Path,
    progress: Progress = SILENCE,
    options: Mapping[str, str] | None = None,
) -> list[Results]:
    """Ingested data and the journal of runs are kept in the folder.

    Of an experiment's variants those that have the options are run; without options all of them in `full`.
    """
    folders = {key: str(path.absolute()) for key, path in files.items() if key in LATENCIES}
    for key in files.keys() & DATASETS.keys():
        folders[key] = _ingested(session, source(DATASETS[key], files[key]), out / "data" / key, progress)
    folders[CRAWLS] = str((out / "data" / CRAWLS).absolute())
    plans = [_chosen(experiment.plan(effort, folders), effort, options or {}) for experiment in experiments]
    for sample in dict.fromkeys(sample for plan in plans for sample in plan.samples):
        _make_sample(session, sample, Path(folders[CRAWLS]), progress)
    outcomes = _outcomes(session, (run for plan in plans for run in plan.every_run), out / JOURNAL, progress)
    return [
        Results(experiment, effort, plan.points, plan.seeds, plan.settings, _rows(plan, outcomes))
        for experiment, plan in zip(experiments, plans, strict=True)
    ]


def require_variants(experiments: Iterable[Experiment], options: Mapping[str, str]) -> None:
    """Refuse options that an experiment has no variants with."""
    for experiment in experiments if options else ():
        variants = experiment.plan("quick", {}).variants
        if not variants:
            raise WeftError(
                f"{experiment.name} takes no option {listed(options)}: it has no systems that send over fingers.",
                *options,
            )
        if not any(variant.has(options) for variant in variants):
            values = ", ".join(f"`{option}` {value}" for option, value in options.items())
            raise WeftError(f"{experiment.name} is not run with {values}.", *options)


def _chosen(plan: Plan, effort: Effort, options: Mapping[str, str]) -> Plan:
    if not plan.variants:
        return plan
    chosen = {
        variant: runs
        for variant, runs in plan.variants.items()
        if variant.has(options) and (effort == "full" or variant.in_quick or options)
    }
    return replace(plan, runs=next(iter(chosen.values())), variants=chosen)


def _ingested(session: Session, given: Source, folder: Path, progress: Progress) -> str:
    stages, instance = instance_stages(session, given, None, folder, progress)
    _run(folder, stages)
    return str(instance.absolute())


def _run(folder: Path, stages: Sequence[Stage]) -> None:
    for _ in run_stages(folder, stages, force=True):  # what is kept for experiments goes by their options
        pass


def _make_sample(session: Session, sample: CrawlSample, crawls: Path, progress: Progress) -> None:
    """Make crawl and sample, each once: the crawl in this process, which takes it in less time, the sample on Spark."""
    whole, path = replace(sample, nodes=sample.crawl.nodes).path(crawls), sample.path(crawls)
    _run(whole.parent, [_crawl_stage(sample.crawl, progress)])
    if path != whole:
        stages, _ = instance_stages(session, whole, Sampling(sample.nodes, "bfs", sample.seed), path.parent, progress)
        _run(path.parent, stages)


def _crawl_stage(crawl: Crawl, progress: Progress) -> Stage:
    def work(out: Path) -> dict[str, int]:
        with progress.step(f"Drawing {crawl.nodes:,} users"):
            made = generate("social", nodes=crawl.nodes, like=crawl.like, seed=CRAWL_SEED)
            made.write(out, force=True)
        return made.counts

    return Stage("generate", "instance", {**asdict(crawl), "seed": CRAWL_SEED}, work)


def _outcomes(session: Session, runs: Iterable[Run], path: Path, progress: Progress) -> dict[Run, Outcome]:
    known = read_journal(path)
    wanted = list(dict.fromkeys(runs))
    outcomes = {run: known[_key(run)] for run in wanted if _key(run) in known}
    batches = _batches(run for run in wanted if run not in outcomes)
    if not batches:
        return outcomes
    costs = [sum(run.cost for run in batch) for batch in batches]
    with path.open("a") as journal:
        for task, together in sweep(session(), _measure, batches, costs, progress=progress):
            for run, outcome in zip(batches[task], together, strict=True):
                outcomes[run] = outcome
                journal.write(json.dumps({"run": _key(run), "outcome": asdict(outcome)}) + "\n")
            journal.flush()
    return outcomes


def journal_in(out: Path, *, force: bool = False) -> None:
    """Make the folder ready: with a journal of whole lines, which is empty if all runs are to be made again."""
    journal = out / JOURNAL
    if out.exists() and not journal.is_file() and any(out.iterdir()):
        raise WeftError(f"{out} exists and holds no experiments: choose another `out`.", "out")
    out.mkdir(parents=True, exist_ok=True)
    known = "" if force or not journal.is_file() else journal.read_text()
    with new_path(journal, force=True) as partial:
        partial.write_text(known[: known.rfind("\n") + 1])  # a last line that was cut off is none


def read_journal(path: Path) -> dict[str, Outcome]:
    """Outcomes of the runs that did not fail."""
    known = {}
    for number, line in enumerate(path.read_text().splitlines(), 1):
        try:
            entry = json.loads(line)
            run, outcome = entry["run"], Outcome(**entry["outcome"])
        except (ValueError, TypeError, KeyError) as error:
            raise WeftError(
                f"{path}, line {number} is no run: remove the line, or run with `force`.", "force"
            ) from error
        if outcome.error is None:
            known[run] = outcome
    return known


def _key(run: Run) -> str:
    """What a run is known by: its parameters, and the code that made it, so that other code makes it again."""
    return f"weft {__version__}, code {code_hash()} {run!r}"


def _measure(run: Run) -> Figures:
    return run.measure()


def _batches(runs: Iterable[Run]) -> list[list[Run]]:
    """Runs by batch, the longest batch first."""
    together: dict[object, list[Run]] = {}
    for run in runs:
        together.setdefault((type(run), run.batch), []).append(run)
    return sorted(together.values(), key=lambda batch: -sum(run.cost for run in batch))


def _rows(plan: Plan, outcomes: Mapping[Run, Outcome]) -> list[Row]:
    if not plan.variants:
        return _rows_of(plan, plan.runs, outcomes, {})
    return [
        row
        for variant, runs in plan.variants.items()
        for row in _rows_of(plan, runs, outcomes, {"reading": variant.reading})
    ]


def _rows_of(plan: Plan, runs: Runs, outcomes: Mapping[Run, Outcome], reading: Row) -> list[Row]:
    x = {point.label: point.x for point in plan.points}
    rows = []
    for (system, label, _), run in runs.items():
        outcome = outcomes[run]
        rows.append(
            {"system": system, "at": label, "x": x[label]}
            | reading
            | _flat(asdict(run))  # type: ignore[call-overload]
            | dict(outcome.figures)
            | {"seconds": outcome.seconds, "error": outcome.error}
        )
    return rows


def _flat(parameters: Mapping[str, object]) -> Row:
    """Parameters of parameters stand beside the others; lists are written as text."""
    flat: Row = {}
    for name, value in parameters.items():
        if isinstance(value, Mapping):
            flat |= _flat(value)
        else:
            flat[name] = str(value) if isinstance(value, tuple | list) else value
    return flat
