"""The instances that several experiments share: synthetic workloads along an axis, and social graphs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from weft.experiments.engine.dataset import DATASETS
from weft.experiments.engine.experiment import Effort, Point

SITES = {"FB": "facebook", "TW": "twitter"}
SAMPLE = "sample"
CRAWL = "crawl"


@dataclass(frozen=True)
class Input:
    workload: str  # a name of weft.workloads.catalog, SAMPLE or CRAWL
    nodes: int
    topics: int | None = None
    like: str | None = None  # of a social graph
    folder: str | None = None  # the instance that is sampled, breadth-first; of a CRAWL, the folder of all crawls
    whole: int | None = None  # users of the CRAWL
    issuers: Literal["topic", "publisher", "anyone"] = "topic"  # how publications are drawn


@dataclass(frozen=True)
class Scale:
    publications: int
    seeds: int
    steps: tuple[int, ...]  # of an axis of nodes or topics


# The papers say neither how many publications nor how many repetitions they made.
SCALES: Mapping[Effort, Scale] = {
    "quick": Scale(publications=10_000, seeds=1, steps=(1000, 4000, 7000, 10000)),
    "full": Scale(publications=50_000, seeds=5, steps=tuple(range(1000, 10001, 1000))),
}

Inputs = Callable[[Scale, Mapping[str, str]], list[tuple[Point, Input]]]  # given where the datasets are


def node_inputs(scale: Scale, folders: Mapping[str, str]) -> list[tuple[Point, Input]]:
    return [
        (Point(f"V={nodes}", f"Unif, {nodes:,} nodes, 2,000 topics", nodes), Input("unif", nodes, 2000))
        for nodes in scale.steps
    ]


def unif_inputs(scale: Scale, folders: Mapping[str, str]) -> list[tuple[Point, Input]]:
    return [_topic_input("unif", topics) for topics in scale.steps]


def zipf_inputs(scale: Scale, folders: Mapping[str, str]) -> list[tuple[Point, Input]]:
    return [_topic_input("zipf", topics) for topics in scale.steps]


def _topic_input(workload: str, topics: int) -> tuple[Point, Input]:
    about = f"{workload.title()}, 1,023 nodes, {topics:,} topics"
    return Point(f"T={topics}", about, topics), Input(workload, 1023, topics)


def social_inputs(sites: tuple[str, ...], scale: Scale, folders: Mapping[str, str]) -> list[tuple[Point, Input]]:
    """Samples of 1K and 10K nodes of each site."""
    return [
        social_input(f"{site} {nodes // 1000}K", SITES[site], nodes, folders.get(SITES[site]))
        for site in sites
        for nodes in (1_000, 10_000)
    ]


def social_input(label: str, key: str, nodes: int, folder: str | None) -> tuple[Point, Input]:
    """A sample of the dataset whose instance is in the folder; a generated graph without one."""
    if folder is None:
        about = f"a generated social graph of {nodes:,} nodes like {key.title()}"
        return Point(label, about), Input("social", nodes, like=key)
    dataset = DATASETS[key]
    about = f"a breadth-first sample of {nodes:,} nodes of {dataset.name}"
    if nodes >= dataset.nodes:
        about = f"all {dataset.nodes:,} nodes of {dataset.name}, which has no more"
    return Point(label, about), Input(SAMPLE, min(nodes, dataset.nodes), folder=folder)
