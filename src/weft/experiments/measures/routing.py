"""Figures of a router on an overlay. Where it has trees, each is woven by itself, whatever the load."""

from functools import lru_cache
from typing import Any

from weft.experiments.measures.input import instance_of
from weft.experiments.runs.input import Input
from weft.experiments.runs.routing import RoutingRun
from weft.model.instance import Instance
from weft.model.overlay import Overlay
from weft.model.ring import phase_count
from weft.overlays.catalog import design
from weft.overlays.quality import link_quality
from weft.sim.bulk import evaluate
from weft.sim.catalog import trees_for
from weft.sim.evaluation import Evaluation
from weft.workloads.publication import publications


def measure_routing(run: RoutingRun) -> dict[str, Any]:
    instance = instance_of(run.input, run.seed)
    overlay = overlay_of(run.input, run.overlay, run.options, run.seed)
    drawn = publications(instance, run.publications, run.seed, by=run.input.issuers)
    trees = trees_for(run.router, instance.without_publishers, overlay, load_weight=0.0)
    forwarding: dict[str, Any] = {} if trees is not None else run.forwarding.columns
    result = evaluate(instance, overlay, run.router, drawn, seed=run.seed, trees=trees, **forwarding)
    return evaluation_figures(instance, overlay, result)


def evaluation_figures(instance: Instance, overlay: Overlay, result: Evaluation) -> dict[str, Any]:
    sent, received, entries = result.load.sent, result.load.received, result.table_entries
    tables = {} if entries is None else {"table_entries": entries.mean, "most_table_entries": entries.maximum}
    return {
        "subscriptions": instance.subscriptions,
        "design_seconds": overlay.meta["seconds"],
        **overlay.meta["quality"],
        "deliveries": result.deliveries,
        "messages": result.messages,
        "messages_per_delivery": result.messages / max(result.deliveries, 1),
        "routing_overhead": result.routing_overhead,
        "average_path": result.average_path,
        "average_path_by_message": result.average_path_by_message,
        "average_path_by_publication": result.average_path_by_publication,
        "maximum_path": result.maximum_path,
        "most_loaded_messages": result.load.most_loaded_messages,
        "busiest_over_mean": sent.maximum / max(sent.mean, 1e-9),
        "percentile_over_mean": sent.percentile_99 / max(sent.mean, 1e-9),
        "busiest_over_receiver": sent.maximum / max(received.maximum, 1e-9),
        "percentile_over_receivers": sent.percentile_99 / max(received.percentile_99, 1e-9),
        "most_links": result.load.most_links,
        "links_over_phases": result.load.most_links / max(phase_count(instance.nodes), 1),
        **tables,
    }


@lru_cache(maxsize=1)
def overlay_of(given: Input, name: str, options: tuple[tuple[str, str], ...], seed: int) -> Overlay:
    instance = instance_of(given, seed)
    overlay = design(instance, name, seed=seed, **dict(options))
    return overlay.with_meta(quality={"tco_support_ratio": link_quality(instance, overlay)["tco_support_ratio"]})
