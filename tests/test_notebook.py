"""The notebook in docs/ is executed, and shows what it says it shows."""

from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

NOTEBOOK = Path(__file__).parents[1] / "docs" / "weft.ipynb"


def told(notebook: Any) -> list[str]:
    """What the cells print or return, as text."""
    cells = (cell for cell in notebook.cells if cell.cell_type == "code")
    outputs = (output for cell in cells for output in cell.outputs if output.get("name") != "stderr")
    return [output["text"] if output.output_type == "stream" else output["data"]["text/plain"] for output in outputs]


def test_the_notebook_gives_what_it_shows() -> None:
    stored = nbformat.read(NOTEBOOK, as_version=4)  # type: ignore[no-untyped-call]
    again = nbformat.read(NOTEBOOK, as_version=4)  # type: ignore[no-untyped-call]
    NotebookClient(again, timeout=600, kernel_name="python3").execute()
    assert told(again) == told(stored)
    assert len(told(stored)) >= 8
