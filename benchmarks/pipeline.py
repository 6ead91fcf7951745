"""Ingest and sampling on Spark, whole commands with Spark's start; prints a Markdown table.

python benchmarks/pipeline.py --data DATA                      # ego-Twitter, beside pyarrow and numpy
python benchmarks/pipeline.py --edges 100000000 --scratch /big/disk      # a generated follower graph
"""

import argparse
import gzip
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc

from measure import measure
from weft.workloads.catalog import workload

WEFT = Path(sys.executable).with_name("weft")
SPREAD = 1_000_003  # ids in the files are multiples of it: neither dense nor in the order of the users
FILES = 16


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder with social/twitter_combined.txt.gz")
    parser.add_argument("--edges", type=int, help="edges of the generated follower graph, about")
    parser.add_argument("--scratch", type=Path, help="folder for the generated graph")
    parser.add_argument("--sample", type=int, default=10_000, help="users that are sampled")
    options = parser.parse_args()
    print("| what | time | peak memory |\n|---|---|---|")
    with TemporaryDirectory(dir=options.scratch) as folder:
        scratch = Path(folder)
        if options.data:
            ego_twitter(options.data / "social" / "twitter_combined.txt.gz", scratch, options.sample)
        if options.edges:
            follower_graph(options.edges, scratch, options.sample)


def ego_twitter(file: Path, scratch: Path, sampled: int) -> None:
    cost = measure(WEFT, "ingest", file, "--as", "follows", "--out", scratch / "twitter")
    with gzip.open(file) as lines:
        rows = sum(1 for _ in lines)
    print(f"| `weft ingest` of ego-Twitter, {rows:,} rows | {cost.row()} |")
    start = time.perf_counter()
    with gzip.open(file) as lines:
        options = pc.ReadOptions(column_names=["u", "v"]), pc.ParseOptions(delimiter=" ")
        table = pc.read_csv(lines, *options)
    users, ids = np.unique(np.concatenate([table["u"].to_numpy(), table["v"].to_numpy()]), return_inverse=True)
    pairs = np.unique(ids[: len(table)] * len(users) + ids[len(table) :])
    print(
        f"| the same by pyarrow and numpy in memory ({len(users):,} users, {len(pairs):,} pairs) "
        f"| {time.perf_counter() - start:.1f} s | |"
    )
    report_sample(scratch / "twitter", scratch / "sample", sampled)


def report_sample(instance: Path, out: Path, nodes: int) -> None:
    cost = measure(WEFT, "sample", instance, "--nodes", nodes, "--out", out)
    print(f"| `weft sample` of {nodes:,} of its users by BFS | {cost.row()} |")


def follower_graph(edges: int, scratch: Path, sampled: int) -> None:
    users = max(1000, edges // 50)
    rows = sum(write_edges(users, seed=1, folder=scratch / "edges"))
    size = sum(file.stat().st_size for file in (scratch / "edges").iterdir()) / 1e9
    cost = measure(WEFT, "ingest", scratch / "edges", "--as", "follows", "--out", scratch / "all")
    print(f"| `weft ingest` of {rows:,} generated rows, {users:,} users, {size:.1f} GB of text | {cost.row()} |")
    report_sample(scratch / "all", scratch / "some", sampled)


def write_edges(users: int, seed: int, folder: Path) -> Iterator[int]:
    """Text files of a social graph; how many rows each has."""
    folder.mkdir()
    graph = workload("social", nodes=users, subscriptions=50)
    for part in range(FILES):
        first, last = users * part // FILES, users * (part + 1) // FILES
        nodes, topics = (ids.astype(np.int64) * SPREAD % 2_147_483_647 for ids in graph.pairs(seed, first, last))
        options = pc.WriteOptions(include_header=False, delimiter=" ")
        pc.write_csv(pa.table({"u": nodes, "v": topics}), folder / f"part-{part:02}.txt", options)
        yield len(nodes)


if __name__ == "__main__":
    main()
