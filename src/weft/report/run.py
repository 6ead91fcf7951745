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
from weft.report.verdict import Verdict, verdict
from weft.sim.catalog import routing

MARKS = {"gain": "+", "price": "-", "same": "="}  # before a finding on a terminal


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
    return {"verdict": _verdict(folder).columns}


def verdict_lines(instance: Path, folder: Path) -> list[str]:
    """The verdict for a terminal: a line a finding with both figures, then what was compared on what."""
    found = _verdict(folder)
    width = max(len(finding.text) for finding in found.findings)
    users = read_meta(instance, "an instance")
    return [
        *(f"{MARKS[each.sign]} {each.text:<{width}}   {each.beside}" for each in found.findings),
        "",
        f"Ours:     {found.ours}",
        f"Baseline: {found.baseline}",
        f"On:       {users['nodes']:,} brokers, {users['topics']:,} topics, {users['subscriptions']:,} subscriptions",
        f"Proof:    {found.proof}",
    ]


def _verdict(folder: Path) -> Verdict:
    overlays = {name: read_meta(folder / name, "an overlay") for name in ("overlay", "baseline")}
    return verdict(json.loads((folder / "evaluation.json").read_text()), overlays)


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
