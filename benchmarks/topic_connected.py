"""Time and quality of topic-connected overlays, beside GM as the paper prints it; compiled code warm.

python benchmarks/topic_connected.py [--twitter INSTANCE]
python benchmarks/topic_connected.py --diameters INSTANCE  # topics of DCBC beside those of DC
python benchmarks/topic_connected.py --spark INSTANCE      # DC on local Spark, start of Java included

INSTANCE is ego-Twitter, by: weft ingest twitter_combined.txt.gz --as follows --out INSTANCE
"""

import argparse
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from markdown import row
from weft.arrays import Int32s
from weft.kernels.greedy.textbook_gm import textbook_gm
from weft.model.instance import Instance, read_instance
from weft.overlays.catalog import design
from weft.overlays.divide import bulk_nodes
from weft.overlays.optimum import optimum
from weft.overlays.quality import quality, topic_diameters, topic_subgraph
from weft.overlays.verify import topic_violations
from weft.workloads.catalog import generate
from weft.workloads.sample import Sampling, sample

RUNS = 3
COLUMNS = (
    *("instance", "overlay", "seconds", "of textbook", "average degree", "maximum degree"),
    *("average topic diameter", "maximum topic diameter", "partitions"),
)
DIAMETERS = (
    *("sample", "seed", "gm", "dc", "dcbc", "dc, average", "dcbc, average", "topics with dcbc < dc", "dcbc > dc"),
    *("bulk alone", "bulk alone, longest topic of dcbc"),
)
GAPS = ("nodes", "topics", "subscriptions", "optimum", "gm, mean of 20 seeds", "gm, best of them")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--twitter", type=Path)
    parser.add_argument("--spark", type=Path)
    parser.add_argument("--diameters", type=Path)
    parser.add_argument("--toy", action="store_true", help="whether it works")
    given = parser.parse_args()
    if given.spark is not None:
        report_spark(given.spark)
    elif given.diameters is not None:
        report_diameters(given.diameters)
    else:
        report_all(given.twitter, given.toy)
        report_gaps(given.toy)


def report_all(twitter: Path | None, toy: bool) -> None:
    row(*COLUMNS)
    row(*("---:" for _ in COLUMNS))
    warm = generate("unif", nodes=300, topics=30, subscriptions=5, seed=1)
    textbook_seconds(warm)
    for name in ("gm", "dc", "dcbc"):
        design(warm, name, seed=1)
    if toy:
        report("Unif, 30 topics, 300 nodes", warm)
        return print()
    report("Zipf, 100 topics, 1,000 nodes", generate("zipf", nodes=1_000, topics=100, subscriptions=20, seed=1))
    report("Unif, 200 topics, 8,000 nodes", generate("unif", nodes=8_000, topics=200, subscriptions=50, seed=1))
    if twitter is not None:
        whole = read_instance(twitter)
        for seed in (1, 2, 3):
            report(f"ego-Twitter, 10,000 nodes, seed {seed}", sample(whole, Sampling(10_000, "bfs", seed)), False)
    return print()


def report(label: str, instance: Instance, with_textbook: bool = True) -> None:
    textbook = textbook_seconds(instance) if with_textbook else None
    if textbook is not None:
        row(label, "textbook GM", f"{textbook:.3g}", "100 %", *[""] * 5)
    for name in ("gm", "dc", "dcbc", "ring-per-topic"):
        made = [design(instance, name, seed=1) for _ in range(RUNS)]
        seconds = sorted(overlay.meta["seconds"] for overlay in made)[RUNS // 2]
        if topic_violations(instance, made[0]):
            raise SystemExit(f"{name} is not topic-connected")
        found = quality(instance, made[0])
        share = "" if textbook is None else f"{seconds / textbook:.2%}"
        row(
            *(label, name, f"{seconds:.3g}", share),
            *(f"{found['degree']['average']:.2f}", found["degree"]["maximum"]),
            *(f"{found['topic_diameter']['average']:.2f}", found["topic_diameter"]["maximum"]),
            made[0].meta.get("partitions", ""),
        )


def textbook_seconds(instance: Instance) -> float:
    start = time.perf_counter()
    alone = np.arange(instance.nodes, dtype=np.int32)
    textbook_gm(instance.subscribers.indptr, instance.subscribers.indices, instance.nodes, alone)
    return time.perf_counter() - start


def report_gaps(toy: bool) -> None:
    """How far the greedy is from the optimum."""
    row(*GAPS)
    row(*("---:" for _ in GAPS))
    for nodes, topics, subscriptions in ((10, 10, 4), (12, 12, 4), (14, 10, 3), (16, 20, 4))[: 1 if toy else None]:
        instance = generate("unif", nodes=nodes, topics=topics, subscriptions=subscriptions, seed=1)
        fewest = optimum(instance, seconds=120).links
        greedy = [design(instance, "gm", seed=seed).links for seed in range(20)]
        row(nodes, topics, subscriptions, fewest, sum(greedy) / 20, min(greedy))


def report_diameters(twitter: Path) -> None:
    """Topic diameters on samples of 10,000 nodes, and in the overlay of DCBC's bulk alone."""
    whole = read_instance(twitter)
    row(*DIAMETERS)
    row(*("---:" for _ in DIAMETERS))
    for number in (1, 2, 3):
        instance = sample(whole, Sampling(10_000, "bfs", number))
        for seed in (1, 2, 3, 4):
            gm, dc, dcbc = (diameters_of(instance, name, seed) for name in ("gm", "dc", "dcbc"))
            shared = instance.subscribers.counts > 1
            bulk = Instance(instance.interest.take(bulk_nodes(instance.interest, 0.2, seed)))
            alone, longest = diameters_of(bulk, "gm", seed), int(dcbc.argmax())
            shares = (f"{(dcbc < dc)[shared].mean():.0%}", f"{(dcbc > dc)[shared].mean():.0%}")
            averages = (f"{dc[shared].mean():.2f}", f"{dcbc[shared].mean():.2f}")
            row(number, seed, gm.max(), dc.max(), dcbc.max(), *averages, *shares, alone.max(), alone[longest])


def diameters_of(instance: Instance, name: str, seed: int) -> Int32s:
    return topic_diameters(instance, topic_subgraph(instance, design(instance, name, seed=seed)))


def report_spark(twitter: Path) -> None:
    from weft.pipeline.divide import dc
    from weft.pipeline.session import spark_session

    start = time.perf_counter()
    with TemporaryDirectory() as folder, spark_session() as spark:
        made = dc(spark, twitter, Path(folder) / "overlay", seed=1)
    seconds = time.perf_counter() - start
    print(f"{made['nodes']:,} nodes, {made['partitions']} partitions, {made['links']:,} links: {seconds:.0f} s")


if __name__ == "__main__":
    main()
