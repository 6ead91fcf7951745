"""Design on Spark, with the same result as `weft.design`.

SWICO of many nodes is divided into arcs (arcs.py), DC and DCBC into their partitions (divide.py). The other overlays
are one task, which reads the instance and writes the overlay: Spark lends it memory and a processor.
"""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

from weft.model.instance import read_instance, read_instance_meta, read_names
from weft.model.latency import placed_latency
from weft.model.overlay import Overlay, read_overlay
from weft.overlays import catalog
from weft.overlays.arcs.swico import is_divided
from weft.overlays.swico import even_in_degree, may_divide
from weft.pipeline import divide
from weft.pipeline.arcs import design_divided
from weft.pipeline.probe import require_shared
from weft.pipeline.progress import SILENCE, Progress, spark_tasks
from weft.pipeline.task import map_in_tasks

ARCS = ("swico-sl", "swico-even")
UNDIVIDED = ("partition", "latency", "closeness", "diameter")
DIVIDED: Mapping[str, Callable[..., Any]] = {"dc": divide.dc, "dcbc": divide.dcbc}


def design(
    spark: SparkSession,
    instance: Path,
    name: str,
    scratch: Path,
    *,
    seed: int,
    kept: Path | None = None,
    latency: str | None = None,
    draw_hosts: bool = False,
    progress: Progress = SILENCE,
    **options: Any,
) -> Overlay:
    """`scratch`, a folder, and the file of latencies are where driver and executors find them under the same path.

    What a divided design has done is in the folder `kept` if it is killed, and is not done again.
    """
    chosen = catalog.chosen_options(name, {**options, "latency": latency})
    if latency is not None:
        names, nodes = read_names(instance, "node"), read_instance_meta(instance)["nodes"]
        placed_latency(latency, nodes, seed, names, draw_hosts=draw_hosts)  # here as well: errors before a task is sent
        latency = str(Path(latency).absolute())
    target = scratch.absolute() / "overlay"
    if is_in_arcs(instance, name, chosen):
        even, nodes = name == "swico-even", read_instance_meta(instance)["nodes"]
        in_degree = even_in_degree(nodes) if even else chosen["in_degree"]
        how: dict[str, Any] = {"arc": chosen["arc"], "in_degree": in_degree, "for_publishers": even}
        folder = kept or scratch.absolute() / "arrays"
        made = design_divided(spark, instance, folder, seed=seed, progress=progress, **how)
        return made.with_meta(algorithm=name, parameters=chosen, seed=seed)
    if name in DIVIDED and _may_divide(chosen):
        own = {option: value for option, value in chosen.items() if option not in UNDIVIDED}
        DIVIDED[name](spark, instance, target, seed=seed, progress=progress, **own)
        return read_overlay(target).with_meta(parameters=chosen)
    with progress.step(f"Designing {name}", spark_tasks(spark)):
        _design_in_a_task(spark, instance.absolute(), target, name, seed, latency, draw_hosts, options)
    return read_overlay(target)


def _may_divide(chosen: Mapping[str, Any]) -> bool:
    """Whether DC or DCBC can be divided among tasks: some options need all of the instance in one."""
    return not chosen["latency"] and not chosen["diameter"] and chosen.get("partition", "random") == "random"


def is_in_arcs(instance: Path, name: str, options: Mapping[str, Any]) -> bool:
    """Whether a design is divided into arcs."""
    if name not in ARCS:
        return False
    chosen = catalog.chosen_options(name, options)
    whole = not may_divide(chosen["tie"], chosen["fill"], chosen["latency"], chosen.get("phases", "cut"))
    return not whole and is_divided(read_instance_meta(instance)["nodes"], chosen["arc"])


def _design_in_a_task(
    spark: SparkSession,
    instance: Path,
    target: Path,
    name: str,
    seed: int,
    latency: str | None,
    draw_hosts: bool,
    options: Mapping[str, Any],
) -> None:
    require_shared(spark, target)

    def build(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            given = read_instance(instance)
            placed = None
            if latency is not None:
                placed = placed_latency(latency, given.nodes, seed, given.node_names, draw_hosts=draw_hosts)
            catalog.design(given, name, seed=seed, latency=placed, **options).write(target, force=True)
        yield pa.RecordBatch.from_pydict({"done": [1]})

    map_in_tasks(spark.range(1, numPartitions=1), build, "done BIGINT").collect()
