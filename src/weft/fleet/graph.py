"""The links of a plan for tools that draw or measure graphs: GraphML, Graphviz' DOT, JSON."""

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np

from weft.fleet.plan import Plan
from weft.model.storage import new_path

Link = tuple[str, str, int, int]  # owner, remote, topics out and in


def write_graph(plan: Plan, to: str, out: Path, *, force: bool = False) -> None:
    """Write brokers and links with how many topics cross them each way: as GraphML, for Graphviz, or as JSON."""
    text = {"graphml": _graphml, "dot": _dot, "json": _json}[to](_links(plan), plan.brokers)
    with new_path(out, force=force) as partial:
        partial.write_text(text, "utf-8")


def _links(plan: Plan) -> list[Link]:
    number = {name: node for node, name in enumerate(plan.brokers)}
    keys = plan.flows.sources.astype(np.int64) * len(plan.brokers) + plan.flows.targets
    counts = dict(zip(*(each.tolist() for each in np.unique(keys, return_counts=True)), strict=True))

    def crossing(one: str, other: str) -> int:
        return int(counts.get(number[one] * len(plan.brokers) + number[other], 0))

    return [
        (each.owner, each.remote, crossing(each.owner, each.remote), crossing(each.remote, each.owner))
        for each in plan.bridges
    ]


def _graphml(links: list[Link], brokers: tuple[str, ...]) -> str:
    root = ET.Element("graphml", xmlns="http://graphml.graphdrawing.org/xmlns")
    for key in ("out", "in"):
        ET.SubElement(root, "key", {"id": key, "for": "edge", "attr.name": f"topics_{key}", "attr.type": "int"})
    graph = ET.SubElement(root, "graph", edgedefault="directed")
    for name in brokers:
        ET.SubElement(graph, "node", id=name)
    for owner, remote, out, back in links:
        edge = ET.SubElement(graph, "edge", source=owner, target=remote)
        for key, count in (("out", out), ("in", back)):
            ET.SubElement(edge, "data", key=key).text = str(count)
    ET.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def _dot(links: list[Link], brokers: tuple[str, ...]) -> str:
    nodes = "".join(f"  {_quoted(name)};\n" for name in brokers)
    edges = "".join(
        f'  {_quoted(owner)} -> {_quoted(remote)} [dir=both, label="{out}/{back}"];\n'
        for owner, remote, out, back in links
    )
    return f"digraph fleet {{\n{nodes}{edges}}}\n"


def _quoted(name: str) -> str:
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _json(links: list[Link], brokers: tuple[str, ...]) -> str:
    rows = [
        {"owner": owner, "remote": remote, "topics_out": out, "topics_in": back} for owner, remote, out, back in links
    ]
    return json.dumps({"brokers": list(brokers), "links": rows}, indent=1) + "\n"
