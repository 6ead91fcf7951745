"""What an experiment leaves behind: its rows as Parquet, the paper's figures beside ours, and the figure."""

import json
import os
import platform
from dataclasses import asdict
from datetime import date
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from weft import __version__
from weft.errors import WeftError
from weft.experiments.engine.claim import Comparison, claims_of, compare
from weft.experiments.engine.code import code_hash
from weft.experiments.engine.experiment import Experiment, Point
from weft.experiments.engine.results import Results, Row, figures_by
from weft.model.storage import new_folder, write_columns
from weft.report.markdown import experiment_page
from weft.report.panel import draw_panels

META = "experiment.json"

# Columns that may be empty throughout, so that their type does not follow from the values.
_TYPES = {"x": pa.float64(), "topics": pa.int64(), "like": pa.string(), "folder": pa.string(), "error": pa.string()}


def write_experiment(results: Results, folder: Path, *, force: bool = False) -> list[Comparison]:
    """The comparisons by the first reading."""
    figures = figures_by(results, results.experiment.readings[0])
    by_reading = comparisons_of(results)
    with new_folder(folder, force=force) as partial:
        write_columns(partial / "results.parquet", _columns(results.rows))
        (partial / META).write_text(json.dumps(_meta(results), indent=2) + "\n")
        (partial / "table.md").write_text(experiment_page(results, figures, by_reading))
        (partial / "figure.svg").write_text(draw_panels(results, figures))
    return next(iter(by_reading.values()))


def read_experiment(experiment: Experiment, folder: Path) -> Results:
    """Results as they were written."""
    try:
        meta = json.loads((folder / META).read_text())
        rows = pq.read_table(folder / "results.parquet").to_pylist()
        points = [Point(**point) for point in meta["points"]]
        return Results(experiment, meta["effort"], points, meta["seeds"], meta["settings"], rows)
    except (ValueError, TypeError, KeyError, OSError) as error:
        raise WeftError(
            f"{folder} does not hold whole results: remove it, and run `weft experiment {experiment.name}` again."
        ) from error


def comparisons_of(results: Results) -> dict[str, list[Comparison]]:
    """Every claim by every reading, the first reading first."""
    claims = claims_of(results.experiment)
    return {
        reading.name: [compare(claim, figures, results.points) for claim in claims]
        for reading in results.experiment.readings
        for figures in (figures_by(results, reading),)
    }


def _meta(results: Results) -> dict[str, object]:
    points = [asdict(point) for point in results.points]
    settings = {"effort": results.effort, "seeds": results.seeds, "settings": results.settings, "points": points}
    return {**settings, "made": _surroundings()}


def _surroundings() -> dict[str, str]:
    """What a reader needs to judge times, and nothing that names the machine."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return {
        "date": date.today().isoformat(),
        "machine": f"{os.cpu_count()} cores, {memory:.0f} GiB",
        "versions": f"weft {__version__}, code {code_hash()}, Python {platform.python_version()}",
    }


def _columns(rows: list[Row]) -> dict[str, pa.Array]:
    names = dict.fromkeys(name for row in rows for name in row)  # a run that failed has no figures
    return {name: pa.array([row.get(name) for row in rows], _TYPES.get(name)) for name in names}
