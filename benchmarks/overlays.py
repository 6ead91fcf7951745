"""Small-world overlays: seconds, memory and TcoSuppR, beside the textbook's Algorithm 1.

    python benchmarks/overlays.py --data twitter_combined.txt.gz

The data is ego-Twitter as SNAP has it, "follower followee" a line; without it, only the generated instances are run.
Every row has a process of its own, which designs a small overlay before the clock starts, so that compiling does not
count. Seconds are the median of three designs; memory is the peak of the process, interpreter and libraries included.
Linux only: the peak is read from /proc.
"""

import argparse
import statistics
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from snap import read_snap
from textbook import textbook_swico_sl
from weft.model.instance import Instance, read_instance
from weft.overlays.catalog import design
from weft.overlays.quality import tcc_counts, tco_support_ratio, topic_subgraph
from weft.workloads.catalog import generate
from weft.workloads.sample import Sampling, sample

RUNS = 3
TEXTBOOK = {"textbook, as printed": False, "textbook, stopped at zero": True}


def built(instance: Instance, maker: str):
    if maker in TEXTBOOK:
        return textbook_swico_sl(instance, 1, stop_at_zero=TEXTBOOK[maker])
    return design(instance, maker, seed=1)


def measured(folder: Path, maker: str) -> dict[str, float]:
    instance = read_instance(folder)
    built(generate("unif", nodes=100, topics=20, subscriptions=5, seed=1), maker)
    times = []
    for _ in range(RUNS):
        start = time.perf_counter()
        overlay = built(instance, maker)
        times.append(time.perf_counter() - start)
    memory = peak_megabytes()
    support = tco_support_ratio(instance.subscriptions, tcc_counts(instance, topic_subgraph(instance, overlay)))
    return {"seconds": statistics.median(times), "memory": memory, "support": support}


def peak_megabytes() -> float:
    """The peak of this process alone; getrusage would count its parent's."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1024


def cases(data: Path | None, toy: bool) -> list[tuple[str, Instance, list[str]]]:
    compared = ["swico-sl", *TEXTBOOK]
    if toy:
        return [("Unif, 40 topics", generate("unif", nodes=60, topics=40, subscriptions=5, seed=1), compared)]
    found = [
        ("Unif, 1,000 topics", generate("unif", nodes=1000, topics=1000, subscriptions=20, seed=1), compared),
        (
            "Unif, 2,000 topics",
            generate("unif", nodes=10_000, topics=2000, subscriptions=20, seed=1),
            ["chord", "random", "grswico", "swico-s", "swico-l", "swico-sl"],
        ),
    ]
    if data:
        whole = read_snap(data, both_ways=False)
        found += [
            ("ego-Twitter", sample(whole, Sampling(1000)), compared),
            ("ego-Twitter", sample(whole, Sampling(10_000)), ["swico-sl"]),
            ("ego-Twitter", whole, ["swico-sl"]),
        ]
    return found


def rows(name: str, instance: Instance, makers: list[str], pool: ProcessPoolExecutor):
    with tempfile.TemporaryDirectory() as folder:
        instance.write(Path(folder) / "instance")
        results = {maker: pool.submit(measured, Path(folder) / "instance", maker).result() for maker in makers}
    for maker, result in results.items():
        ratio = f"{result['seconds'] / results[makers[0]]['seconds']:,.0f}" if maker in TEXTBOOK else ""
        figures = f"{result['seconds']:.3g} | {ratio} | {result['support']:.4f} | {result['memory']:,.0f}"
        yield f"| {name} | {instance.nodes:,} | {instance.subscriptions:,} | {maker} | {figures} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="twitter_combined.txt.gz")
    parser.add_argument("--toy", action="store_true", help="whether it works")
    options = parser.parse_args()
    print("| instance | nodes | subscriptions | overlay | seconds | times swico-sl | TcoSuppR | peak MB |")
    print("|---|---|---|---|---|---|---|---|")
    a_row = None if options.toy else 1  # tasks of a process
    with ProcessPoolExecutor(1, mp_context=get_context("spawn"), max_tasks_per_child=a_row) as pool:
        for name, instance, makers in cases(options.data, options.toy):
            for row in rows(name, instance, makers, pool):
                print(row, flush=True)


if __name__ == "__main__":
    main()
