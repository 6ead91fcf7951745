"""The report of a run."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from weft.model.instance import Instance, read_instance
from weft.model.overlay import Overlay
from weft.model.profile import profile
from weft.model.storage import read_meta
from weft.model.tree import Trees
from weft.pipeline.run import TREES
from weft.report.figure import ccdf
from weft.report.page import comparison, facts, figure, section, write_page
from weft.report.ring import LEGEND, draw_publication, telling_topic
from weft.sim.catalog import routing


def write_run_report(out: Path, instance: Path, folder: Path) -> dict[str, Any]:
    made = read_instance(instance)
    degrees = {"topics of a node": made.interest.counts, "subscribers of a topic": made.subscribers.counts}
    overlays = {name: read_meta(folder / name, "an overlay") for name in ("overlay", "baseline")}
    evaluation = json.loads((folder / "evaluation.json").read_text())
    costs = {_system(evaluation[name]): _figures(overlays[name], evaluation[name]) for name in overlays}
    sections = (
        section("What it costs to publish", comparison(costs)),
        section("One publication on the ring", _pictures(made, evaluation, folder)),
        section("The instance", facts(profile(made))),
        section("Who listens to how much", figure(ccdf(degrees, "count"), wide=True)),
    )
    write_page(out, f"Weft: {made.nodes:,} nodes, {made.topics:,} topics", "\n".join(sections))
    ours, theirs = evaluation["overlay"], evaluation["baseline"]
    return {
        "relays_of_baseline": _share(ours["routing_overhead"], theirs["routing_overhead"]),
        "path_of_baseline": _share(ours["average_path"], theirs["average_path"]),
    }


def report_in_words(instance: Path, folder: Path) -> list[str]:
    """What the report shows, in five lines, or six with latencies."""
    meta = read_meta(folder / "overlay", "an overlay")
    evaluation = json.loads((folder / "evaluation.json").read_text())
    ours, theirs = evaluation["overlay"], evaluation["baseline"]
    users = read_meta(instance, "an instance")
    degree, support = meta["links"] / meta["nodes"], meta["quality"]["tco_support_ratio"]
    relays = f"{_a_delivery(ours)} relayed messages a delivery; {_system(theirs)}: {_a_delivery(theirs)}"
    return [
        f"instance  {users['nodes']:,} nodes, {users['topics']:,} topics, {users['subscriptions']:,} subscriptions",
        f"design    {meta['algorithm']}: {degree:.1f} links a node give {support:.1%} of all topic-connectivity",
        f"proof     {ours['publications']:,} publications came to all {ours['deliveries']:,} subscribers, once each",
        f"relays    {_system(ours)}: {relays}",
        f"path      {ours['average_path']:.1f} hops on average; {theirs['average_path']:.1f} with {_system(theirs)}",
        *([] if ours["times"] is None else [f"time      {_mean(ours)}; {_mean(theirs)} with {_system(theirs)}"]),
    ]


def _mean(evaluation: Mapping[str, Any]) -> str:
    return f"{evaluation['times']['delivery']['mean']:.0f} ms"


def _a_delivery(evaluation: Mapping[str, Any]) -> str:
    return f"{evaluation['routing_overhead'] / max(evaluation['deliveries'], 1):.3f}"


def _pictures(instance: Instance, evaluation: Mapping[str, Any], folder: Path) -> str:
    topic, issuer = telling_topic(instance)
    figures = []
    for name, figures_of in evaluation.items():
        overlay, router = Overlay.read(folder / name), figures_of["router"]
        trees = Trees.read(folder / TREES, instance, overlay) if routing(router).has_trees else None
        picture, caption = draw_publication(instance, overlay, router, topic, issuer, trees=trees)
        figures.append(figure(picture, f"{_system(figures_of)}: {caption}."))
    return f'<p class="soft">{LEGEND}</p><div class="panels">{"".join(figures)}</div>'


def _system(evaluation: Mapping[str, Any]) -> str:
    return f"{evaluation['router']} on {evaluation['overlay']}"


def _figures(overlay: Mapping[str, Any], evaluation: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "links a node": round(overlay["links"] / overlay["nodes"], 2),
        "support of topic-connectivity (TcoSuppR)": round(overlay["quality"]["tco_support_ratio"], 4),
        "publications": evaluation["publications"],
        "deliveries": evaluation["deliveries"],
        "messages": evaluation["messages"],
        "messages to relays (routing overhead)": evaluation["routing_overhead"],
        "average path, hops": round(evaluation["average_path"], 2),
        "longest path, hops": evaluation["maximum_path"],
        "messages of the busiest node": evaluation["load"]["most_loaded_messages"],
        **_times(evaluation["times"]),
    }


def _times(times: Mapping[str, Any] | None) -> dict[str, Any]:
    if times is None:
        return {}
    delivery = times["delivery"]
    return {
        "time of a delivery, mean, ms": round(delivery["mean"], 1),
        "time of a delivery, 99th percentile, ms": round(delivery["percentile_99"], 1),
    }


def _share(part: float, whole: float) -> float | None:
    return round(part / whole, 3) if whole else None
