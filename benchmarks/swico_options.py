"""What `tie` and `fill` do to swico-sl: TcoSuppR, and overhead and path of Pie and Weave relative to Scribe on random.

    python benchmarks/swico_options.py --data ../shared/data/social

Prints a Markdown table; figures are means over the seeds, each of which draws its own sample, overlay and publications.
"""

import argparse
from collections.abc import Callable
from itertools import product
from pathlib import Path

import numpy as np

import weft
from snap import read_snap
from weft.overlays.quality import link_quality
from weft.workloads.sample import Sampling

PUBLICATIONS = 20_000
CHOICES = ("random", "overlap")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder with SNAP's facebook_combined and twitter_combined .txt.gz")
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    print("| instance | tie | fill | TcoSuppR | Pie: overhead | path | Weave: overhead | path |")
    print("|---|---|---|---|---|---|---|---|")
    for name, made in instances(options.data).items():
        for tie, fill in product(CHOICES, CHOICES):
            rows = [figures(made(seed), tie, fill, seed) for seed in range(1, options.seeds + 1)]
            support, *pie, relays, path = np.mean(rows, axis=0)
            ratios = f"{pie[0]:.3f} | {pie[1]:.3f} | {relays:.4f} | {path:.3f}"
            print(f"| {name} | {tie} | {fill} | {support:.4f} | {ratios} |", flush=True)


def instances(data: Path | None) -> dict[str, Callable[[int], weft.Instance]]:
    made: dict[str, Callable[[int], weft.Instance]] = {
        "Unif, 1,023 nodes, 2,000 topics": lambda seed: weft.generate("unif", nodes=1023, topics=2000, seed=seed)
    }
    if data:
        facebook = read_snap(data / "facebook_combined.txt.gz", both_ways=True)
        twitter = read_snap(data / "twitter_combined.txt.gz", both_ways=False)
        made["ego-Facebook, 1,000 nodes"] = lambda seed: weft.sample(facebook, Sampling(1000, seed=seed))
        made["ego-Twitter, 1,000 nodes"] = lambda seed: weft.sample(twitter, Sampling(1000, seed=seed))
        made["ego-Twitter, 10,000 nodes"] = lambda seed: weft.sample(twitter, Sampling(10_000, seed=seed))
    return made


def figures(instance: weft.Instance, tie: str, fill: str, seed: int) -> tuple[float, ...]:
    """TcoSuppR, then overhead and path of each router."""
    publications = weft.publications(instance, PUBLICATIONS, seed)
    overlay = weft.design(instance, "swico-sl", seed=seed, tie=tie, fill=fill)
    scribe = weft.evaluate(instance, weft.design(instance, "random", seed=seed), "scribe", publications, seed=seed)
    found = [link_quality(instance, overlay)["tco_support_ratio"]]
    for router in ("pie", "weave"):
        ours = weft.evaluate(instance, overlay, router, publications, seed=seed)
        found += [ours.routing_overhead / scribe.routing_overhead, ours.average_path / scribe.average_path]
    return tuple(found)


if __name__ == "__main__":
    main()
