"""The figures of a run. What runs share is kept: those of one batch differ in nothing but the router."""

from functools import lru_cache
from typing import Any

from weft.experiments.experiment import SAMPLE, Input, Run
from weft.model.instance import Instance, read_instance
from weft.model.overlay import Overlay, overlay_from_links
from weft.overlays.catalog import design
from weft.overlays.quality import link_quality
from weft.sim.bulk import evaluate
from weft.workloads.catalog import generate
from weft.workloads.publication import publications
from weft.workloads.sample import Sampling, sample


def measure(run: Run) -> dict[str, Any]:
    instance, overlay = _instance(run.input, run.seed), _overlay(run.input, run.overlay, run.seed)
    drawn = publications(instance, run.publications, run.seed)
    result = evaluate(instance, overlay, run.router, drawn, seed=run.seed)
    return {
        "subscriptions": instance.subscriptions,
        "design_seconds": overlay.meta["seconds"],
        **overlay.meta["quality"],
        "deliveries": result.deliveries,
        "messages": result.messages,
        "routing_overhead": result.routing_overhead,
        "average_path": result.average_path,
        "maximum_path": result.maximum_path,
        "most_loaded_messages": result.load.most_loaded_messages,
    }


@lru_cache(maxsize=1)
def _instance(given: Input, seed: int) -> Instance:
    if given.workload == SAMPLE and given.folder is not None:
        return sample(_read(given.folder), Sampling(given.nodes, "bfs", seed))
    return generate(given.workload, nodes=given.nodes, topics=given.topics, like=given.like, seed=seed)


@lru_cache(maxsize=1)
def _read(folder: str) -> Instance:
    return read_instance(folder)


@lru_cache(maxsize=1)
def _overlay(given: Input, name: str, seed: int) -> Overlay:
    instance = _instance(given, seed)
    overlay = design(instance, name, seed=seed)
    ratios = {
        "tco_support_ratio": link_quality(instance, overlay)["tco_support_ratio"],
        "whole_phases_support_ratio": link_quality(instance, _with_whole_phases(overlay))["tco_support_ratio"],
    }
    return overlay.with_meta(quality=ratios)


def _with_whole_phases(overlay: Overlay) -> Overlay:
    """Without the last phase where |V| cuts it short: floor(log2 |V|) fingers a node instead of ceil(log2 |V|)."""
    whole = overlay.phases < overlay.nodes.bit_length() - 1
    ends = overlay.sources[whole], overlay.targets[whole], overlay.phases[whole]
    return overlay_from_links(overlay.nodes, *ends, ring_ids=overlay.ring_ids, ring_size=overlay.ring_size)
