"""Figures of Weave on an overlay."""

from typing import Any

from weft.experiments.measures.input import instance_of
from weft.experiments.measures.routing import evaluation_figures, overlay_of
from weft.experiments.runs.woven import WovenRun
from weft.sim.bulk import evaluate
from weft.sim.issuer_tree import average_path
from weft.trees.weave import mesh_of, weave
from weft.workloads.publication import publications


def measure_woven(run: WovenRun) -> dict[str, Any]:
    instance, overlay = instance_of(run.input, run.seed), overlay_of(run.input, run.overlay, (), run.seed)
    drawn = publications(instance, run.publications, run.seed)
    trees = weave(instance, overlay, fan_out=run.fan_out)
    figures = evaluation_figures(instance, overlay, evaluate(instance, overlay, "weave", drawn, trees=trees))
    if not run.from_issuers:
        return figures
    kept = ("routing_overhead", "messages_per_delivery")
    path = average_path(instance, mesh_of(overlay), trees, drawn)
    return {"average_path": path} | {name: figures[name] for name in kept}
