"""Sampling on Spark: the same samples as `workloads/sample.py`, which says what they are.

A round joins the steps of the graph with the frontier, which is broadcast, and writes the vertices that it reached as
Parquet; what was visited is the union of those files, so that no plan grows with the rounds before it.
In an instance that is not social the vertices of the search are the nodes and, behind them, the topics.
"""

import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from weft.model.node_filter import FILE as FILTERS
from weft.model.publisher import FILE
from weft.model.storage import Meta, new_folder
from weft.pipeline.parts import read_parts, write_counts, write_interest, write_name_table
from weft.pipeline.progress import SILENCE, Progress, spark_tasks
from weft.pipeline.renumber import dense_ids
from weft.pipeline.table import read_table, rewritten, write_table
from weft.workloads.sample import Sampling, sample_meta


@dataclass(frozen=True)
class Sampled:
    nodes: int
    topics: int
    subscriptions: int


def sample(
    spark: SparkSession,
    instance: str | Path,
    sampling: Sampling,
    out: str | Path,
    *,
    force: bool = False,
    progress: Progress = SILENCE,
) -> Sampled:
    parent = Path(instance).absolute()
    interest, meta = read_parts(spark, parent)
    sampling.check(meta)
    social = bool(meta.get("social"))
    tasks = spark_tasks(spark)
    with new_folder(out, force=force) as folder:
        scratch = folder / "_scratch"
        with progress.step("Searching", tasks):
            chosen = _search(_steps(interest, meta, sampling), meta["nodes"], sampling, scratch)
        if sampling.method == "closure":
            with progress.step("Refining", tasks):
                chosen = _refined(interest, chosen, sampling.nodes, scratch)
        with progress.step("Writing the sample", tasks):
            result = _write_induced(interest, chosen, social, parent, folder)
        about = {
            "source": meta.get("source"),
            "seed": sampling.seed,
            "social": social,
            **sample_meta(sampling),
        }
        write_counts(folder, asdict(result), **about)
        shutil.rmtree(scratch)
    return result


def _steps(interest: DataFrame, meta: Meta, sampling: Sampling) -> DataFrame:
    """source, target: where a search goes from a vertex."""
    shift = 0 if meta.get("social") else meta["nodes"]
    forth = interest.select(F.col("node").alias("source"), (F.col("topic") + shift).alias("target"))
    if sampling.method == "closure":
        return forth
    return forth.union(forth.select(F.col("target").alias("source"), F.col("source").alias("target")))


def _search(steps: DataFrame, nodes: int, sampling: Sampling, scratch: Path) -> DataFrame:
    """vertex: the nodes found, as many as wanted."""
    spark = steps.sparkSession
    rounds: list[Path] = []
    found, draw = 0, sampling.seeds
    frontier: DataFrame | None = None
    while True:
        visited = _read_vertices(spark, rounds)
        if frontier is None:
            unvisited = spark.range(nodes).select(F.col("id").alias("vertex")).join(visited, "vertex", how="left_anti")
            reached, draw = _first(unvisited, draw, sampling.seed), 2 * draw
        else:
            here = F.broadcast(frontier.select(F.col("vertex").alias("source")))
            beyond = steps.join(here, "source", how="inner").select(F.col("target").alias("vertex")).distinct()
            reached = beyond.join(visited, "vertex", how="left_anti")
        is_node, path = F.col("vertex") < nodes, scratch / f"round-{len(rounds)}"
        seen = write_table(reached, path, vertices=F.count("*"), nodes=F.count_if(is_node))
        new = _read_vertices(spark, [path])
        if found + seen["nodes"] >= sampling.nodes:
            last = _first(new.filter(is_node), sampling.nodes - found, sampling.seed)
            return rewritten(visited.filter(is_node).union(last), scratch / "chosen")
        found += seen["nodes"]
        rounds.append(path)
        frontier = new if seen["vertices"] else None


def _first(vertices: DataFrame, count: int, seed: int) -> DataFrame:
    """The `count` vertices that come first in the order of `model/priority.py`."""
    order = F.xxhash64(F.lit(seed).cast("long"), F.col("vertex"))
    return vertices.orderBy(order, "vertex").limit(count)


def _read_vertices(spark: SparkSession, paths: Sequence[Path]) -> DataFrame:
    if not paths:
        return spark.range(0).select(F.col("id").alias("vertex"))
    return read_table(spark, *paths, schema="vertex BIGINT")


def _refined(interest: DataFrame, chosen: DataFrame, count: int, scratch: Path) -> DataFrame:
    """The chosen, `count` at first, who among themselves follow somebody and are followed by somebody."""
    follows = rewritten(_among(interest, chosen), scratch / "follows")
    rounds = 0
    while True:
        among, path = _among(follows, chosen), scratch / f"refined-{rounds}"
        both = among.select(F.col("node").alias("vertex")).intersect(among.select(F.col("topic").alias("vertex")))
        left = write_table(both, path, vertices=F.count("*"))["vertices"]
        chosen, rounds = _read_vertices(interest.sparkSession, [path]), rounds + 1
        if left == count:
            return chosen
        count = left


def _among(interest: DataFrame, chosen: DataFrame) -> DataFrame:
    nodes = chosen.select(F.col("vertex").alias("node"))
    topics = chosen.select(F.col("vertex").alias("topic"))
    return interest.join(nodes, "node", how="left_semi").join(topics, "topic", how="left_semi")


def _write_induced(interest: DataFrame, chosen: DataFrame, social: bool, parent: Path, folder: Path) -> Sampled:
    scratch = folder / "_scratch"
    node_ids, node_count = dense_ids(chosen.select(F.col("vertex").alias("key")), scratch / "nodes")
    if social:
        kept, topic_ids, topic_count = _among(interest, chosen), node_ids, node_count
    else:
        kept = interest.join(chosen.select(F.col("vertex").alias("node")), "node", how="left_semi")
        topic_ids, topic_count = dense_ids(kept.select(F.col("topic").alias("key")), scratch / "topics")
    nodes = node_ids.select(F.col("key").alias("node"), F.col("id").alias("new_node"))
    topics = topic_ids.select(F.col("key").alias("topic"), F.col("id").alias("new_topic"))
    pairs = kept.join(nodes, "node", how="inner").join(topics, "topic", how="inner")
    subscriptions = write_interest(
        pairs.select(F.col("new_node").alias("node"), F.col("new_topic").alias("topic")), folder
    )
    for kind, ids in (("node", node_ids), ("topic", topic_ids)):
        _write_kept_names(ids, kind, parent, folder)
    if (parent / FILE).exists():
        publishers = read_table(interest.sparkSession, parent / FILE)
        kept = publishers.join(nodes, "node", how="inner").join(topics, "topic", how="inner")
        figures = [name for name in publishers.columns if name in ("rate", "size")]
        new = F.col("new_node").alias("node"), F.col("new_topic").alias("topic")
        write_table(kept.select(*new, *figures).sort("node", "topic").coalesce(1), folder / FILE)
    if (parent / FILTERS).exists():
        held = read_table(interest.sparkSession, parent / FILTERS).join(nodes, "node", how="inner")
        ordered = held.select(F.col("new_node").alias("node"), "filter").orderBy("node", "filter")
        write_table(ordered, folder / FILTERS)
    return Sampled(nodes=node_count, topics=topic_count, subscriptions=subscriptions)


def _write_kept_names(ids: DataFrame, kind: str, parent: Path, folder: Path) -> None:
    """Old names, or old numbers where there were none."""
    path = parent / f"{kind}s.parquet"
    if not path.exists():
        write_name_table(ids, F.col("key"), kind, folder)
        return
    names = read_table(ids.sparkSession, path).select(F.col(kind).alias("key"), "name")
    write_name_table(ids.join(names, "key", how="inner"), F.col("name"), kind, folder)
