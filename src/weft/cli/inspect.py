"""weft inspect"""

from pathlib import Path
from typing import Annotated

import typer

from weft.cli import options as o
from weft.cli.output import ConsoleProgress, print_result
from weft.errors import WeftError

EXAMPLE = "weft inspect twitter-10k-sl --instance twitter-10k"


def inspect(
    folder: Annotated[Path, typer.Argument(metavar="INSTANCE|OVERLAY", help="Folder of either.", show_default=False)],
    instance: Annotated[Path | None, typer.Option(help="The instance that the overlay is for.")] = None,
    json: o.Json = False,
) -> None:
    """Describe an instance or an overlay; of an overlay, prove its ring and its topic-connectivity."""
    from weft.model.instance import read_instance
    from weft.model.overlay import Overlay, read
    from weft.overlays.inspection import inspect as figures_of

    given = read(folder)
    if isinstance(given, Overlay) and instance is None:
        raise WeftError(f"{folder} is an overlay: tell with --instance which instance it is for.")
    if not isinstance(given, Overlay) and instance is not None:
        raise WeftError(f"--instance goes with an overlay, and {folder} is an instance.")
    with ConsoleProgress().step("Measuring"):
        figures = figures_of(given, None if instance is None else read_instance(instance))
    print_result(figures, json)
