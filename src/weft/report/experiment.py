"""What an experiment leaves behind: its rows as Parquet, the paper's figures beside ours, and the figure."""

from pathlib import Path

import pyarrow as pa

from weft.experiments.claim import Comparison, claims_of, compare
from weft.experiments.results import Results, Row, figures_of
from weft.model.storage import new_folder, write_columns
from weft.report.markdown import experiment_page
from weft.report.panel import draw_panels

# Columns that may be empty throughout, where the type cannot be told from the values.
_TYPES = {"x": pa.int64(), "topics": pa.int64(), "like": pa.string(), "folder": pa.string(), "error": pa.string()}


def write_experiment(results: Results, folder: Path, *, force: bool = False) -> list[Comparison]:
    figures = figures_of(results)
    comparisons = [compare(claim, figures) for claim in claims_of(results.experiment)]
    with new_folder(folder, force=force) as partial:
        write_columns(partial / "results.parquet", _columns(results.rows))
        (partial / "table.md").write_text(experiment_page(results, figures, comparisons))
        (partial / "figure.svg").write_text(draw_panels(results, figures))
    return comparisons


def _columns(rows: list[Row]) -> dict[str, pa.Array]:
    names = dict.fromkeys(name for row in rows for name in row)  # a run that failed has no figures
    return {name: pa.array([row.get(name) for row in rows], _TYPES.get(name)) for name in names}
