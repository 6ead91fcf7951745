"""Weave's trees on Spark: a task weaves ranges of topics, by the same kernels as `weft.trees.weave`.

A job is a batch of topics, with the prices of all nodes; small batches the driver weaves itself. A task is told two
numbers for each of its ranges. Instance, overlay, rates and latencies a worker reads from where they are, and keeps for
all its tasks.
"""

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession

from weft.arrays import Floats
from weft.model.instance import Instance, read_instance
from weft.model.latency import Latency, placed_latency
from weft.model.overlay import Overlay, read_overlay, require_made_for
from weft.model.tree import Trees
from weft.pipeline.progress import SILENCE, Progress, spark_tasks
from weft.pipeline.stamp import Stamped, stamped
from weft.raw.traffic import read_topic_rates
from weft.trees.load import LOAD_WEIGHT, Agenda, Range, agenda_of
from weft.trees.weave import FAN_OUT, Mesh, Strand, making, mesh_of, require_fan_out, strand, woven

TASKS = 16  # at most; each weaves some of the ranges of a batch, one after the other
FEW = 100_000  # subscriptions of a batch that the driver weaves in less time than a job takes to start

_ARRAYS = ("sizes", "parts", "members", "parents")
_SCHEMA = "first BIGINT, " + ", ".join(f"{name} ARRAY<INT>" for name in _ARRAYS)


class Given(NamedTuple):
    instance: Instance
    overlay: Overlay
    rates: Floats | None
    latency: Latency | None
    mesh: Mesh
    agenda: Agenda


def weave(
    spark: SparkSession,
    instance: Path,
    overlay: Path,
    *,
    fan_out: int = FAN_OUT,
    load_weight: float = LOAD_WEIGHT,
    rates: str | None = None,
    latency: str | None = None,
    seed: int = 1,
    progress: Progress = SILENCE,
) -> Trees:
    """Rates and latencies are files; the seed places the nodes on the hosts of the latencies.

    All must lie where driver and executors find them under the same path.
    """
    require_fan_out(fan_out)
    given = stamped(instance), stamped(overlay), _stamped(rates), _stamped(latency), load_weight, seed
    made = _given(*given)

    def strands(topics: list[Range], prices: Floats) -> list[Strand]:
        indptr = made.agenda.subscribers.indptr
        if indptr[topics[-1][1]] - indptr[topics[0][0]] < FEW:
            return [strand(made.mesh, made.agenda, prices, fan_out, each) for each in topics]

        def weave_ranges(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for row in (row for batch in batches for row in batch.to_pylist()):
                own = _given(*given)
                yield _row(row["first"], strand(own.mesh, own.agenda, prices, fan_out, (row["first"], row["last"])))

        firsts, lasts = zip(*topics, strict=True)
        rows = spark.createDataFrame(pa.table({"first": pa.array(firsts), "last": pa.array(lasts)}))
        done = rows.repartition(min(TASKS, len(topics))).mapInArrow(weave_ranges, _SCHEMA).toArrow()
        return [_strand(done, row) for row in np.argsort(done["first"].to_numpy(), kind="stable").tolist()]

    with progress.step(f"Weaving {made.instance.topics:,} topics", spark_tasks(spark)):
        trees = woven(made.agenda, made.instance.topics, strands)
    return trees.with_meta(**making(made.instance, made.overlay, fan_out, load_weight, made.rates, made.latency))


def _stamped(path: str | None) -> Stamped | None:
    return None if path is None else stamped(Path(path))


@lru_cache(maxsize=1)
def _given(
    instance: Stamped, overlay: Stamped, rates: Stamped | None, latency: Stamped | None, load_weight: float, seed: int
) -> Given:
    made, links = read_instance(instance[0]), read_overlay(overlay[0])
    require_made_for(made, links)
    by_topic = None if rates is None else read_topic_rates(rates[0], made)
    placed = None if latency is None else placed_latency(latency[0], links.nodes, seed, made.node_names)
    return Given(made, links, by_topic, placed, mesh_of(links, placed), agenda_of(made, load_weight, by_topic))


def _row(first: int, woven: Strand) -> pa.RecordBatch:
    columns = {name: pa.array([getattr(woven, name)], pa.list_(pa.int32())) for name in _ARRAYS}
    return pa.RecordBatch.from_pydict({"first": pa.array([first], pa.int64()), **columns})


def _strand(table: pa.Table, row: int) -> Strand:
    return Strand(**{name: table[name][row].values.to_numpy() for name in _ARRAYS})
