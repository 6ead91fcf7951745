"""Evaluation on Spark: publications sharded by topic, the counts of the shards added up on the driver.

Instance and overlay go to the executors as the folders they are: a worker process reads them when its first shard
comes, and keeps them for all others. A broadcast would be unpacked by every process too, after a way through the
driver's memory, and Spark Connect has none. By topic, because a router prepares something for each topic that it meets.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession

from weft.model.instance import read_instance
from weft.model.latency import latency_for
from weft.model.overlay import read_overlay
from weft.model.publication import Publications
from weft.model.tree import read_trees
from weft.pipeline.progress import SILENCE, Progress, spark_tasks
from weft.pipeline.stamp import Stamped, stamped
from weft.pipeline.task import map_in_tasks
from weft.pipeline.weave import weave
from weft.sim.bulk import evaluate as evaluate_here
from weft.sim.bulk import evaluate_part
from weft.sim.catalog import require_options, routing
from weft.sim.evaluation import TOPIC_COLUMNS, Counts, Evaluation, has_sizes, merged, with_bytes
from weft.sim.network import Network, network_of
from weft.sim.timed import with_times
from weft.trees.weave import FAN_OUT

SHARDS = 16  # each sends a few numbers a node to the driver
NOTHING = Publications(np.empty(0, np.int32), np.empty(0, np.int32))  # Spark makes no shard of nothing

_SUMS = ("publications", "expected_deliveries", "deliveries", "messages", "routing_overhead", "path_sum")
_ARRAYS = ("sent", "received", "topics")
_TYPES = {**dict.fromkeys((*_SUMS, "maximum_path"), pa.int64()), **dict.fromkeys(_ARRAYS, pa.list_(pa.int64()))}
_SCHEMA = ", ".join(f"{name} {'ARRAY<BIGINT>' if name in _ARRAYS else 'BIGINT'}" for name in _TYPES)


def evaluate(
    spark: SparkSession,
    instance: Path,
    overlay: Path,
    router: str,
    publications: Publications,
    *,
    seed: int = 1,
    per_topic: bool = False,
    fan_out: int | None = None,
    latency: str | None = None,
    trees: Path | None = None,
    progress: Progress = SILENCE,
) -> Evaluation:
    """Evaluate as `weft.evaluate` does; the seed also places the nodes on the hosts of the latencies.

    Both folders, and the file of latencies, must lie where driver and executors find them under the same path.
    """
    require_options(router, fan_out, trees is not None)
    names = read_instance(instance).node_names if latency is not None else None
    placed = None if latency is None else latency_for(read_overlay(overlay), latency, seed, names)
    woven = None
    if routing(router).has_trees:
        started, bound = perf_counter(), FAN_OUT if fan_out is None else fan_out
        given = read_instance(instance), read_overlay(overlay)
        if trees is None:
            woven = weave(spark, instance, overlay, fan_out=bound, latency=latency, seed=seed, progress=progress)
        else:
            woven = read_trees(trees, *given)
        # A publication over a tree is a few additions, and not worth sending away.
        result = evaluate_here(*given, router, publications, per_topic=per_topic, trees=woven)
        result = replace(result, seconds=perf_counter() - started)
    else:
        made = read_instance(instance)
        asked = per_topic or has_sizes(made)
        result = _evaluate_in_shards(spark, instance, overlay, router, publications, seed, asked, progress)
        result = with_bytes(result, made, per_topic)
    if placed is None:
        return result
    with progress.step("Timing deliveries"):
        given = read_instance(instance), read_overlay(overlay)
        return with_times(result, *given, placed, publications, seed=seed, trees=woven)


def _evaluate_in_shards(
    spark: SparkSession,
    instance: Path,
    overlay: Path,
    router: str,
    publications: Publications,
    seed: int,
    per_topic: bool,
    progress: Progress,
) -> Evaluation:
    started = perf_counter()
    folders = stamped(instance), stamped(overlay)
    network = _network(*folders)  # here as well, so that a mismatch shows before any shard is sent
    count = partial(evaluate_part, router=router, seed=seed, per_topic=per_topic)

    def count_shard(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield _row(count(_network(*folders), publications=_joined(batches)))

    rows = spark.createDataFrame(pa.table({"topic": publications.topics, "node": publications.nodes}))
    with progress.step(f"Routing {len(publications):,} publications by {router}", spark_tasks(spark)):
        shards = map_in_tasks(rows.repartition(SHARDS, "topic"), count_shard, _SCHEMA).toArrow()
    counts = merged([count(network, publications=NOTHING), *map(_counts, shards.to_pylist())])
    seconds = perf_counter() - started
    return Evaluation.from_counts(
        counts, router=router, overlay=network.overlay, seconds=seconds, most_links=network.most_links
    )


@lru_cache(maxsize=1)
def _network(instance: Stamped, overlay: Stamped) -> Network:
    return network_of(read_instance(instance[0]), read_overlay(overlay[0]))


def _joined(batches: Iterator[pa.RecordBatch]) -> Publications:
    table = pa.Table.from_batches(batches, pa.schema({"topic": pa.int32(), "node": pa.int32()}))
    return Publications(table["topic"].to_numpy(), table["node"].to_numpy())


def _row(counts: Counts) -> pa.RecordBatch:
    values = {**vars(counts), "topics": None if counts.topics is None else counts.topics.ravel()}
    return pa.RecordBatch.from_arrays([pa.array([values[name]], kind) for name, kind in _TYPES.items()], list(_TYPES))


def _counts(row: dict[str, Any]) -> Counts:
    arrays = {name: None if row[name] is None else np.array(row[name], np.int64) for name in _ARRAYS}
    if arrays["topics"] is not None:
        arrays["topics"] = arrays["topics"].reshape(-1, len(TOPIC_COLUMNS))
    return Counts(**{**row, **arrays})
