"""Seconds and memory to generate instances, compiled code warm.

python benchmarks/generate.py            # the papers' sizes
python benchmarks/generate.py --large    # a social graph of 2 million users and 100 million edges
python benchmarks/generate.py --toy      # whether it works
"""

import argparse
import resource
import time

from weft.workloads.catalog import generate

PAPERS = {
    "unif": {"nodes": 10_000, "topics": 10_000},
    "zipf": {"nodes": 10_000, "topics": 10_000},
    "expo": {"nodes": 10_000, "topics": 10_000},
    "random": {"nodes": 4_000},
    "low": {"nodes": 4_000},
    "high": {"nodes": 4_000},
    "social": {"nodes": 81_306, "subscriptions": 21.75},
}
LARGE = {"social": {"nodes": 2_000_000, "subscriptions": 50}}
TOY: dict[str, dict[str, int]] = {name: {"nodes": 200} for name in PAPERS}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--toy", action="store_true")
    options = parser.parse_args()
    print("| workload | nodes | subscriptions in all | seconds |\n|---|---:|---:|---:|")
    for name, sizes in (TOY if options.toy else LARGE if options.large else PAPERS).items():
        generate(name, nodes=1_000, seed=1)
        start = time.perf_counter()
        made = generate(name, seed=1, **sizes)
        seconds = time.perf_counter() - start
        print(f"| {name} | {made.nodes:,} | {made.subscriptions:,} | {seconds:.3f} |")
    print(f"\npeak memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:,.0f} MB")


if __name__ == "__main__":
    main()
