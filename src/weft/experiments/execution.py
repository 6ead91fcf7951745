"""Experiments on Spark: the runs of all of them in one sweep, each run once however many experiments ask for it."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path

from weft.errors import WeftError
from weft.experiments.dataset import DATASETS
from weft.experiments.experiment import Experiment, Point, Run, Scale, runs_of
from weft.experiments.measure import measure
from weft.experiments.results import Results, Row
from weft.pipeline.progress import SILENCE, Progress
from weft.pipeline.run import Session, instance_stages
from weft.pipeline.source import Source
from weft.pipeline.stages import run_stages
from weft.pipeline.sweep import Outcome, sweep


def sources_in(data: Path, experiments: Iterable[Experiment]) -> dict[str, Source]:
    """The datasets of the experiments whose files are there; that none is there is an error."""
    wanted = list(dict.fromkeys(key for experiment in experiments for key in experiment.datasets))
    found = {key: source for key in wanted if (source := DATASETS[key].source(data)) is not None}
    if wanted and not found:
        names = " or ".join(DATASETS[key].file for key in wanted)
        raise WeftError(f"--data {data} has no {names}: get them from snap.stanford.edu, or leave --data out.")
    return found


def execute(
    session: Session,
    experiments: Sequence[Experiment],
    scale: Scale,
    sources: dict[str, Source],
    cache: Path,
    progress: Progress = SILENCE,
) -> list[Results]:
    """Ingested data is kept in the cache folder and not ingested again."""
    folders = {key: _ingested(session, source, cache / key, progress) for key, source in sources.items()}
    points = {experiment.name: experiment.points(scale, folders) for experiment in experiments}
    runs = {experiment.name: runs_of(experiment, points[experiment.name], scale) for experiment in experiments}
    batches = _batches(run for wanted in runs.values() for run in wanted.values())
    outcomes = sweep(session(), measure, batches, progress=progress)
    outcome_of = {
        run: outcome
        for batch, together in zip(batches, outcomes, strict=True)
        for run, outcome in zip(batch, together, strict=True)
    }
    return [
        Results(experiment, scale, points[experiment.name], _rows(points[experiment.name], wanted, outcome_of))
        for experiment, wanted in zip(experiments, runs.values(), strict=True)
    ]


def _ingested(session: Session, source: Source, folder: Path, progress: Progress) -> str:
    stages, instance = instance_stages(session, source, None, folder, progress)
    for _ in run_stages(folder, stages):
        pass
    return str(instance.absolute())


def _batches(runs: Iterable[Run]) -> list[list[Run]]:
    """Those that differ in the router only together, the longest first."""
    together: dict[tuple[object, ...], list[Run]] = {}
    for run in dict.fromkeys(runs):
        together.setdefault((run.input, run.overlay, run.publications, run.seed), []).append(run)
    return sorted(together.values(), key=lambda batch: -batch[0].input.nodes * len(batch))


def _rows(points: list[Point], runs: dict[tuple[str, str, int], Run], outcomes: dict[Run, Outcome]) -> list[Row]:
    x = {point.label: point.x for point in points}
    rows = []
    for (system, label, _), run in runs.items():
        parameters = asdict(run)
        outcome = outcomes[run]
        rows.append(
            {"system": system, "at": label, "x": x[label]}
            | parameters.pop("input")
            | parameters
            | outcome.figures
            | {"seconds": outcome.seconds, "error": outcome.error}
        )
    return rows
