"""Divide and conquer on Spark finds the overlay that it finds in memory."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pyspark.sql import SparkSession

from greedy_reference import random_instance
from weft.model.instance import Instance, instance_from_pairs
from weft.model.overlay import read_overlay
from weft.overlays.catalog import design
from weft.overlays.verify import topic_violations
from weft.pipeline import divide
from weft.workloads.catalog import generate

SOCIAL = generate("social", nodes=300, subscriptions=8, seed=1)
SPARSE = random_instance(2, 90, 30, 0.02)


@pytest.mark.parametrize(
    ("instance", "name", "options"),
    [
        (SOCIAL, "dc", {}),
        (SOCIAL, "dcbc", {"partitions": 4}),
        (SPARSE, "dc", {"partitions": 60, "tie": "overlap"}),  # nodes, and partitions, without interest
        (SPARSE, "dcbc", {"bulk": 0.0, "partitions": 2}),
        (SPARSE, "dcbc", {"bulk": 1.0}),  # nobody is left
        (SPARSE, "dcbc", {"eta": 4, "partitions": 2}),
    ],
    ids=["dc", "dcbc", "many partitions", "small bulk", "only bulk", "threshold"],
)
def test_both_engines_find_the_same(
    spark: SparkSession, tmp_path: Path, instance: Instance, name: str, options: dict[str, Any]
) -> None:
    instance.write(tmp_path / "instance")
    told = getattr(divide, name)(spark, tmp_path / "instance", tmp_path / "overlay", seed=7, **options)
    there, here = read_overlay(tmp_path / "overlay"), design(instance, name, seed=7, **options)
    assert np.array_equal(there.sources, here.sources)
    assert np.array_equal(there.targets, here.targets)
    assert told["links"] == here.links
    made = ("algorithm", "seed", "partitions", "potential_neighbour_ratio", "star_set", "bulk_nodes")
    assert {key: there.meta.get(key) for key in made} == {key: here.meta.get(key) for key in made}
    assert topic_violations(instance, there) == []
    assert sorted(path.name for path in (tmp_path / "overlay").iterdir()) == [
        "links.parquet",
        "meta.json",
        "nodes.parquet",
    ]


def test_a_task_sees_its_partition_only(spark: SparkSession, tmp_path: Path) -> None:
    instance_from_pairs([0, 1, 2, 3], [5, 5, 6, 7], node_count=4, topic_count=8).write(tmp_path / "instance")
    interest = spark.read.parquet(str(tmp_path / "instance" / "interest.parquet"))
    divided = divide.by_partition(interest, np.array([0, 1, 2]), np.array([0, 1, 1], np.int32))
    rows = sorted((row.partition, row.node, row.topic, row.shared) for row in divided.collect())
    assert rows == [(0, 0, 5, True), (1, 1, 5, True), (1, 2, 6, False)]
