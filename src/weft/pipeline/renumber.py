"""Dense integers for keys: the rank of every key among the distinct ones, whatever the number of partitions.

Keys are sorted in ranges, and the place of a key in its range is written down with it (in Parquet, which also fixes
the ranges); then the sizes of the ranges, a handful of numbers, give each range its first rank.
"""

from itertools import accumulate
from pathlib import Path

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from weft.pipeline.table import rewritten

_PLACE_BITS = 33  # monotonically_increasing_id keeps the place in the lower 33 bits, the partition above


def dense_ids(keys: DataFrame, scratch: Path) -> tuple[DataFrame, int]:
    """key, id: ids 0, 1, ... in the order of the distinct values of the column `key`; and how many these are."""
    ordered = keys.select("key").distinct().repartitionByRange("key").sortWithinPartitions("key")
    written = ordered.select("key", F.monotonically_increasing_id().alias("place"))
    placed = rewritten(written, scratch).withColumn("range", F.shiftright("place", _PLACE_BITS))
    sizes = sorted((row["range"], row["n"]) for row in placed.groupBy("range").agg(F.count("*").alias("n")).collect())
    firsts = accumulate((size for _, size in sizes), initial=0)
    first_of = [F.lit(number) for (range_, _), first in zip(sizes, firsts, strict=False) for number in (range_, first)]
    first = F.create_map(*first_of)[F.col("range")] if first_of else F.lit(0)
    numbered = (first + F.col("place").bitwiseAND(2**_PLACE_BITS - 1)).cast("long").alias("id")
    return placed.select("key", numbered), sum(size for _, size in sizes)
