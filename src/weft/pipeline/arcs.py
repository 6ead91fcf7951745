"""SWICO divided, on Spark: weft.overlays.arcs.swico in a workshop of tasks and files."""

import shutil
import time
from pathlib import Path
from typing import Any

import numpy as np
from pyspark.sql import SparkSession

from weft.model.instance import read_instance_meta
from weft.model.overlay import Overlay
from weft.overlays.arcs.swico import ARC, design_in
from weft.overlays.quality import link_figures
from weft.pipeline.layout import lay_out, mapped_instance
from weft.pipeline.progress import SILENCE, Progress
from weft.pipeline.workshop import SparkWorkshop


def design_divided(
    spark: SparkSession,
    instance: Path,
    folder: Path,
    *,
    seed: int,
    arc: int | None,
    in_degree: int | None,
    for_publishers: bool,
    progress: Progress = SILENCE,
) -> Overlay:
    """The overlay with its quality. What `folder` has of a run that was killed is used; it is removed at the end."""
    start = time.perf_counter()
    about: dict[str, Any] = {"seed": seed, "arc": arc or ARC, "in_degree": in_degree}
    changed = (instance / "meta.json").stat().st_mtime_ns
    key = {**about, "publishers": for_publishers, "changed": changed, "meta": read_instance_meta(instance)}
    workshop = SparkWorkshop(spark, folder, key, progress)
    lay_out(spark, instance, workshop, progress)
    given = mapped_instance(instance, workshop)
    overlay = design_in(workshop, given.publishers if for_publishers else None, **about)
    tccs = np.asarray(workshop.arrays["parts"]).astype(np.int64)
    quality, fingerprint, times = link_figures(given.subscriptions, overlay, tccs), given.fingerprint, workshop.times
    shutil.rmtree(folder)
    seconds = time.perf_counter() - start
    return overlay.with_meta(seconds=seconds, quality=quality, instance=fingerprint, task_seconds=times)
