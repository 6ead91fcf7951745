"""The inputs that several experiments share: synthetic workloads along an axis, and social graphs."""

from collections.abc import Mapping

from weft.experiments.dataset import DATASETS
from weft.experiments.experiment import SAMPLE, Input, Point, Scale

SITES = {"FB": "facebook", "TW": "twitter"}


def node_points(scale: Scale, folders: Mapping[str, str]) -> list[Point]:
    return [
        Point(f"V={nodes}", Input("unif", nodes, 2000), f"Unif, {nodes:,} nodes, 2,000 topics", nodes)
        for nodes in scale.steps
    ]


def unif_points(scale: Scale, folders: Mapping[str, str]) -> list[Point]:
    return [_topic_point("unif", topics) for topics in scale.steps]


def zipf_points(scale: Scale, folders: Mapping[str, str]) -> list[Point]:
    return [_topic_point("zipf", topics) for topics in scale.steps]


def _topic_point(workload: str, topics: int) -> Point:
    about = f"{workload.title()}, 1,023 nodes, {topics:,} topics"
    return Point(f"T={topics}", Input(workload, 1023, topics), about, topics)


def social_points(sites: tuple[str, ...], scale: Scale, folders: Mapping[str, str]) -> list[Point]:
    """Of 1K and 10K nodes: samples of the datasets whose instances are in the folders, generated graphs otherwise."""
    return [
        _social_point(f"{site} {nodes // 1000}K", SITES[site], nodes, folders.get(SITES[site]))
        for site in sites
        for nodes in (1_000, 10_000)
    ]


def _social_point(label: str, key: str, nodes: int, folder: str | None) -> Point:
    if folder is None:
        about = f"a generated social graph of {nodes:,} nodes like {key.title()}"
        return Point(label, Input("social", nodes, like=key), about)
    dataset = DATASETS[key]
    about = f"a breadth-first sample of {nodes:,} nodes of {dataset.name}"
    if nodes >= dataset.nodes:
        about = f"all {dataset.nodes:,} nodes of {dataset.name}, which has no more"
    return Point(label, Input(SAMPLE, min(nodes, dataset.nodes), folder=folder), about)
