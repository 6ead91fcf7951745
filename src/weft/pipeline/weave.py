"""Weave's trees on Spark: a task weaves a range of topics, by the same kernels as `weft.trees.weave`.

A task is sent two numbers. Instance, overlay and latencies a worker reads from where they are, and keeps for all its
tasks.
"""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession

from weft.model.instance import Instance, read_instance
from weft.model.latency import Latency, placed_latency
from weft.model.overlay import Overlay, read_overlay, require_made_for
from weft.model.tree import Trees
from weft.pipeline.progress import SILENCE, Progress, spark_tasks
from weft.pipeline.stamp import Stamped, stamped
from weft.trees.weave import FAN_OUT, Mesh, Strand, making, mesh_of, ranges, require_fan_out, strand, trees_of

TASKS = 16  # each weaves some of the ranges, one after the other

_ARRAYS = ("sizes", "parts", "members", "parents")
_SCHEMA = "first BIGINT, " + ", ".join(f"{name} ARRAY<INT>" for name in _ARRAYS)


class Given(NamedTuple):
    instance: Instance
    overlay: Overlay
    latency: Latency | None
    mesh: Mesh


def weave(
    spark: SparkSession,
    instance: Path,
    overlay: Path,
    *,
    fan_out: int = FAN_OUT,
    latency: str | None = None,
    seed: int = 0,
    progress: Progress = SILENCE,
) -> Trees:
    """The seed places the nodes on the hosts of the latencies.

    All three must lie where driver and executors find them under the same path.
    """
    require_fan_out(fan_out)
    given = stamped(instance), stamped(overlay), None if latency is None else stamped(Path(latency)), seed
    made, links, placed, mesh = _given(*given)

    def weave_ranges(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for topics in (row for batch in batches for row in batch.to_pylist()):
            yield _row(topics["first"], _strand_of(_given(*given), fan_out, topics))

    firsts, lasts = zip(*ranges(made.subscribers), strict=True)
    rows = spark.createDataFrame(pa.table({"first": pa.array(firsts), "last": pa.array(lasts)}))
    with progress.step(f"Weaving {made.topics:,} topics", spark_tasks(spark)):
        done = rows.repartition(TASKS).mapInArrow(weave_ranges, _SCHEMA).toArrow()
    in_order = np.argsort(done["first"].to_numpy(), kind="stable").tolist()
    trees = trees_of(mesh, [_strand(done, row) for row in in_order])
    return trees.with_meta(**making(made, links, fan_out, placed))


@lru_cache(maxsize=1)
def _given(instance: Stamped, overlay: Stamped, latency: Stamped | None, seed: int) -> Given:
    given, links = read_instance(instance[0]), read_overlay(overlay[0])
    require_made_for(given, links)
    placed = None if latency is None else placed_latency(latency[0], links.nodes, seed)
    return Given(given, links, placed, mesh_of(links, placed))


def _strand_of(given: Given, fan_out: int, topics: Mapping[str, int]) -> Strand:
    return strand(given.mesh, given.instance.subscribers, fan_out, (topics["first"], topics["last"]))


def _row(first: int, woven: Strand) -> pa.RecordBatch:
    columns = {name: pa.array([getattr(woven, name)], pa.list_(pa.int32())) for name in _ARRAYS}
    return pa.RecordBatch.from_pydict({"first": pa.array([first], pa.int64()), **columns})


def _strand(table: pa.Table, row: int) -> Strand:
    return Strand(**{name: table[name][row].values.to_numpy() for name in _ARRAYS})
