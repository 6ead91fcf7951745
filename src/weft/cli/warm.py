"""weft warm"""

import os
import time
from typing import Annotated

import typer

from weft.cli import options as o
from weft.cli.output import ConsoleProgress, print_result

EXAMPLE = "weft warm"


def warm(
    processes: Annotated[
        int | None,
        typer.Option(min=1, help="That compile side by side. Default: one for every core.", show_default=False),
    ] = None,
    spark: Annotated[bool, typer.Option(help="Prepare Java for Spark too: a minute, and 210 MB of disk.")] = True,
    json: o.Json = False,
) -> None:
    """Compile what the common commands need, and archive Spark's classes, so that none of them has to wait for it."""
    from weft.cache import cache_folder
    from weft.sim.rehearsal import REHEARSALS, rehearsed

    start, done = time.perf_counter(), list[str]()
    progress = ConsoleProgress()
    with progress.step("Compiling", lambda: (len(done), len(REHEARSALS))):
        for name in rehearsed(processes or len(os.sched_getaffinity(0))):
            done.append(name)
    if spark:
        from weft.pipeline.archive import provide_archive

        with progress.step("Preparing Spark"):
            if provide_archive() is not None:
                done.append("spark")
    seconds = round(time.perf_counter() - start, 1)
    print_result({"ready": sorted(done), "seconds": seconds, "folder": str(cache_folder())}, json)
