"""Evaluation on Spark: publications sharded by topic, the counts of the shards added up on the driver.

Counts are a few numbers for every node and topic, and go to the driver by files, one shard after the other: all of them
at once would be more than it may be sent, from a million nodes on.

Instance and overlay go to the executors as the folders they are: a worker process reads them when its first shard
comes, and keeps them for all others. A broadcast would be unpacked by every process too, after a way through the
driver's memory, and Spark Connect has none. By topic, because a router prepares something for each topic that it meets.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache, partial
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
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

SHARDS = 16
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
    step = progress.step(f"Routing {len(publications):,} publications by {router}", spark_tasks(spark))
    with step, TemporaryDirectory(dir=overlay.absolute().parent, prefix=".evaluate-") as folder:
        shards = Path(folder) / "shards"
        map_in_tasks(rows.repartition(SHARDS, "topic"), count_shard, _SCHEMA).write.parquet(str(shards))
        counts = merged(chain([count(network, publications=NOTHING)], _read(shards)))
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


def _read(shards: Path) -> Iterator[Counts]:
    for path in sorted(shards.glob("*.parquet")):
        for batch in pq.ParquetFile(path).iter_batches(batch_size=1):
            yield _counts(batch)


def _counts(row: pa.RecordBatch) -> Counts:
    values: dict[str, Any] = {name: row[name][0].as_py() for name in _TYPES if name not in _ARRAYS}
    values |= {name: None if row[name].null_count else row[name].flatten().to_numpy() for name in _ARRAYS}
    if values["topics"] is not None:
        values["topics"] = values["topics"].reshape(-1, len(TOPIC_COLUMNS))
    return Counts(**values)
