"""What PopSub's figures owe to our readings of the paper: each choice that it leaves open, taken otherwise.

    python benchmarks/popsub_choices.py --data DATA

Section 5.3's first setting (200 brokers, 22,000 subscriptions, phi 0.05) and its overloaded one (300 brokers, 30,000
subscriptions, 15 publications/s), one topology and one workload each. All figures but latencies are relative to the
baseline's: D, B, G are Direct Delivery, Batching and Gossiping.
"""

import argparse
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from weft.experiments.measures.popsub import SHARE
from weft.model.latency import Latency, read_latency
from weft.overlays.broker_tree import Neighbourhood, broker_tree
from weft.protocol.popsub.parameters import Parameters, Way
from weft.sim.capacity import measured_capacity
from weft.sim.popsub import Outcome, simulate
from weft.sim.stage import stage_of
from weft.workloads.followers import zipf_popularity
from weft.workloads.geography import geographic_latency
from weft.workloads.popsub import CONTENT, ContentWorkload, Setting, content_workload


@dataclass(frozen=True)
class Choice:
    name: str
    nearest: int = 3
    share: float = SHARE
    additional: float | None = None  # none: as measured
    wanted: Callable[[ContentWorkload], ContentWorkload] = lambda workload: workload


def wanting_all(workload: ContentWorkload) -> ContentWorkload:
    return replace(workload, ranges=np.full_like(workload.ranges, 0) + np.array([0, CONTENT - 1], np.int32))


def wanting_between(workload: ContentWorkload) -> ContentWorkload:
    """Two uniform ends: a third matches."""
    ends = np.random.default_rng(1).integers(CONTENT, size=workload.ranges.shape, dtype=np.int32)
    return replace(workload, ranges=np.sort(ends, axis=1))


CHOICES = (
    Choice("as in the experiments"),
    Choice("8 nearest hosts", nearest=8),
    Choice("subscriptions of all content", wanted=wanting_all),
    Choice("subscriptions of a range, a third", wanted=wanting_between),
    Choice("every link costs a unit", additional=1.0),
    Choice("every link costs a unit, 1/4 of a core", additional=1.0, share=0.25),
    Choice("a whole core", share=1.0),
)
NORMAL = 200, Setting()
OVERLOADED = 300, Setting(30_000, rate=15.0)
TOY = 20, Setting(200, rate=5.0, seconds=4.0)
WAYS = (Way.DIRECT, Way.BATCH, Way.GOSSIP)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder with latency/planetlab-490.txt.gz; default: generated")
    parser.add_argument("--toy", action="store_true", help="whether it works")
    given = parser.parse_args()
    normal, overloaded = (TOY, TOY) if given.toy else (NORMAL, OVERLOADED)
    latency: Latency = geographic_latency(490, seed=0)
    if given.data is not None:
        latency = read_latency(given.data / "latency" / "planetlab-490.txt.gz")
    print("| choice | baseline's gain | gain, D / B / G | at issuers | pure forwards | unpopular PDL, s | ", end="")
    print("baseline's queue, overloaded | queue, D / B / G |\n|---|---:|---|---|---|---|---:|---|")
    for choice in CHOICES:
        baseline, *ways = outcomes(choice, latency, *normal)
        jammed, *relieved = outcomes(choice, latency, *overloaded)
        print(
            f"| {choice.name} | {baseline.gain_ratio:.2f} | {ratios(baseline, ways, 'gain_ratio')} | "
            f"{ratios(baseline, ways, 'issuer_gain_ratio')} | {ratios(baseline, ways, 'pure_forwards')} | "
            f"{' / '.join(f'{way.unpopular_latency / 1000:.1f}' for way in ways)} | {jammed.queue:,.0f} | "
            f"{ratios(jammed, relieved, 'queue')} |",
            flush=True,
        )


def outcomes(choice: Choice, latency: Latency, brokers: int, setting: Setting) -> list[Outcome]:
    """Outcomes of the baseline and the three ways."""
    tree = broker_tree(latency, Neighbourhood(brokers, choice.nearest), seed=1)
    workload = content_workload(zipf_popularity(200, 1.0), tree.top, brokers, setting, seed=1)
    stage = stage_of(tree, choice.wanted(workload))
    measured = measured_capacity()
    capacity = replace(
        measured,
        publications_per_second=choice.share * measured.publications_per_second,
        additional=measured.additional if choice.additional is None else choice.additional,
    )
    parameters = Parameters(diameter=1_000.0, capacity=capacity.publications_per_second)
    return [simulate(stage, way, parameters, capacity) for way in (Way.TREE, *WAYS)]


def ratios(baseline: Outcome, ways: list[Outcome], figure: str) -> str:
    return " / ".join(f"{getattr(way, figure) / getattr(baseline, figure):.2f}" for way in ways)


if __name__ == "__main__":
    main()
