"""The report of a run: the verdict first, then the pictures that show why, then the figures.

Written for somebody who has read no paper: a node is called a broker, and terms are explained where they first stand.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from weft.arrays import Int64s
from weft.model.forwarding import AS_PRINTED
from weft.model.instance import Instance, read_instance
from weft.model.overlay import Overlay
from weft.model.profile import profile
from weft.model.publication import Publications
from weft.model.storage import read_meta
from weft.model.tree import FILE as TREES
from weft.model.tree import Trees
from weft.overlays.quality import degrees
from weft.pipeline.run import LOADS, TOPICS
from weft.report.community import SHOWN, draw_communities, map_of, share_inside
from weft.report.distribution import spread
from weft.report.figure import ccdf
from weft.report.journey import draw_journey
from weft.report.page import comparison, download, facts, figure, section, table, write_page
from weft.report.ring import draw_ring, telling_topic
from weft.report.verdict import Finding, Verdict, percent, verdict
from weft.report.words import TERMS
from weft.sim.bulk import trace
from weft.sim.catalog import forwarding_for, network_for, routing
from weft.sim.hop import journey
from weft.workloads.publication import publications

MARKS = {"gain": "+", "price": "-", "same": "="}  # before a finding on a terminal
TOP = 10  # rows of the tables of the worst
ROWS = 5_000  # of a file of CSV inside the page, at most
TRACED = 300  # publications whose paths are drawn

LEAD = """<p>Every broker subscribes to some topics, for its clients. A publication on a topic has to come to all
brokers that subscribe to it, from broker to broker, over links that are there. Weft chose the links from who subscribes
to what (<b>ours</b>), and publishes over them beside a network that does not look at it (<b>baseline</b>). A
<b>message</b> is one publication on one link; a <b>relay</b> is a broker that has to pass on what it does not subscribe
to; a <b>path</b> is all hops from the one who publishes to a subscriber.</p>"""


@dataclass(frozen=True, eq=False)
class System:
    """One of the two networks of a run."""

    label: str  # ours, baseline
    overlay: Overlay
    evaluation: Mapping[str, Any]
    trees: Trees | None
    sent: Int64s  # messages of every broker
    received: Int64s
    topics: Mapping[str, Any]  # a column a figure, a row a topic

    @property
    def router(self) -> str:
        return str(self.evaluation["router"])

    @property
    def forwarding(self) -> dict[str, Any]:
        return {option: self.evaluation.get(option) for option in AS_PRINTED.columns}

    @property
    def name(self) -> str:
        return f"{self.label}: {self.router} on {self.evaluation['overlay']}"

    @cached_property
    def connections(self) -> Int64s:
        return degrees(self.overlay)


def write_run_report(out: Path, instance: Path, folder: Path) -> dict[str, Any]:
    made = read_instance(instance)
    found, systems = _verdict(folder), _systems(made, folder)
    sections = (
        _verdict_tiles(found),
        LEAD,
        section("One publication, hop by hop", _journey(made, systems)),
        section("Who is linked with whom", _networks(made, systems)),
        section("How evenly it is spread", _distributions(made, systems)),
        f'<div class="pair">{section("The busiest brokers", _busiest(made, systems))}',
        f"{section('The topics with the longest paths', _longest(made, systems))}</div>",
        section("All figures", comparison({each.name: _figures(each) for each in systems}) + _terms()),
        section("The data", facts(profile(made)) + _interest(made)),
    )
    title = f"Weft: {made.nodes:,} brokers, {made.topics:,} topics"
    write_page(out, title, "\n".join(sections), scripts=["journey.js"], wide=True)
    return {"verdict": found.columns}


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


def _systems(instance: Instance, folder: Path) -> list[System]:
    evaluation = json.loads((folder / "evaluation.json").read_text())
    loads, topics = pq.read_table(folder / LOADS), pq.read_table(folder / TOPICS)
    return [
        _system(instance, folder, name, label, evaluation[name], loads, topics)
        for name, label in (("overlay", "ours"), ("baseline", "baseline"))
    ]


def _system(
    instance: Instance, folder: Path, name: str, label: str, evaluation: Mapping[str, Any], loads: Any, topics: Any
) -> System:
    overlay = Overlay.read(folder / name)
    trees = Trees.read(folder / TREES, instance, overlay) if routing(evaluation["router"]).has_trees else None
    own = {column.removeprefix(f"{name}_"): topics[column] for column in topics.column_names if column.startswith(name)}
    columns = {figure: values.to_numpy() for figure, values in own.items()}
    sent, received = (loads[f"{name}_{kind}"].to_numpy() for kind in ("sent", "received"))
    return System(label, overlay, evaluation, trees, sent, received, columns)


def _verdict_tiles(found: Verdict) -> str:
    tiles = "".join(map(_tile, found.findings))
    return f"""<ul class="verdict">{tiles}</ul>
<p><b>Ours:</b> {escape(found.ours)}. <b>Baseline:</b> {escape(found.baseline)}. {escape(found.proof)}</p>"""


def _tile(finding: Finding) -> str:
    text = f"{finding.text[0].upper()}{finding.text[1:]}".replace(" %", "\N{NO-BREAK SPACE}%")
    return f'<li class="{finding.sign}"><b>{escape(text)}</b><span>{escape(finding.beside)}</span></li>'


def _journey(instance: Instance, systems: Sequence[System]) -> str:
    topic, issuer = telling_topic(instance)
    told = [
        journey(instance, each.overlay, topic, issuer, router=each.router, trees=each.trees, **each.forwarding)
        for each in systems
    ]
    hops = max(int(each.messages.hops.max(initial=0)) for each in told)
    figures = []
    for system, each in zip(systems, told, strict=True):
        caption = f"<b>{escape(system.name)}</b>: {escape(each.in_words)}.<output></output>"
        figures.append(f"<figure>{draw_journey(each, hops)}<figcaption>{caption}</figcaption></figure>")
    about = (
        f"Broker {instance.node_name(issuer)} (green, in the middle) publishes on topic {instance.topic_name(topic)}."
    )
    return f"""<p>{escape(about)} Every circle is one hop farther. Blue dots are subscribers, orange ones relays.</p>
<div class="journey"><div class="controls" hidden><button type="button">Play</button>
<input type="range" min="0" value="0" step="1" aria-label="Hop"></div>
<div class="pair">{"".join(figures)}</div></div>"""


def _networks(instance: Instance, systems: Sequence[System]) -> str:
    drawn_on = map_of(instance, systems[0].overlay)
    groups, rings = [], []
    for each in systems:
        inside = percent(share_inside(each.overlay, drawn_on))
        caption = f"{each.name}: {inside} of the links stay inside a community."
        groups.append(figure(draw_communities(each.overlay, drawn_on), caption))
        picture, shared = draw_ring(instance, each.overlay)
        rings.append(
            figure(picture, f"{each.name}: {percent(shared)} of the links join brokers with a topic in common.")
        )
    return f"""<p>Discs are communities: brokers that subscribe to much the same, found in subscriptions
alone (the {SHOWN} largest; grey: all others). Links inside a community have its colour. Of large networks some
brokers and links are drawn. The rings are the same networks, brokers in the order in which each has them:
blue links join brokers with a topic in common, grey ones others.</p>
<div class="four">{"".join(groups)}{"".join(rings)}</div>"""


def _distributions(instance: Instance, systems: Sequence[System]) -> str:
    sent = {each.name: each.sent for each in systems}
    connections = {each.name: each.connections for each in systems}
    hops = {each.name: _hops(instance, each) for each in systems}
    pictures = (
        figure(
            spread(sent, "messages that a broker sends", "brokers", logarithmic=True),
            "Load: the farther to the right, the more a broker has to send. Brokers that send nothing are left out.",
        ),
        figure(spread(hops, "hops to a subscriber", "deliveries"), f"Paths, of {TRACED:,} publications at most."),
        figure(spread(connections, "connections of a broker", "brokers"), "Connections, whoever opened them."),
    )
    return f'<div class="thirds">{"".join(pictures)}</div>'


def _hops(instance: Instance, system: System) -> Int64s:
    """Hops of the deliveries of some publications."""
    count = min(TRACED, system.evaluation["publications"])
    drawn: Publications = publications(instance, count, 1)
    forwarding = forwarding_for(system.router, **system.forwarding)
    network = network_for(system.router, instance, system.overlay, trees=system.trees, forwarding=forwarding)
    found = [
        messages.hops[messages.delivered == 1]
        for topic, node in zip(drawn.topics.tolist(), drawn.nodes.tolist(), strict=True)
        for messages in [trace(network, system.router, topic, node, seed=1)]
    ]
    return np.concatenate([np.empty(0, np.int64), *found]).astype(np.int64)


def _busiest(instance: Instance, systems: Sequence[System]) -> str:
    ours, theirs = systems
    order = np.argsort(-ours.sent, kind="stable")
    heading = ("broker", "topics", "connections", "sends", "receives", "sends in the baseline")
    rows = [
        (
            instance.node_name(node),
            int(instance.interest.counts[node]),
            int(ours.connections[node]),
            int(ours.sent[node]),
            int(ours.received[node]),
            int(theirs.sent[node]),
        )
        for node in order[:ROWS].tolist()
    ]
    return _table(heading, rows, "brokers.csv", instance.nodes)


def _longest(instance: Instance, systems: Sequence[System]) -> str:
    ours, theirs = systems
    published = np.flatnonzero(ours.topics["deliveries"] > 0)
    order = published[np.argsort(-ours.topics["average_path"][published], kind="stable")]
    heading = (
        "topic",
        "subscribers",
        "hops",
        "messages a delivery",
        "hops in the baseline",
        "messages there",
    )
    rows = [
        (
            instance.topic_name(topic),
            int(instance.subscribers.counts[topic]),
            round(float(ours.topics["average_path"][topic]), 2),
            _messages(ours, topic),
            round(float(theirs.topics["average_path"][topic]), 2),
            _messages(theirs, topic),
        )
        for topic in order[:ROWS].tolist()
    ]
    return _table(heading, rows, "topics.csv", len(published))


def _messages(system: System, topic: int) -> float:
    return round(float(system.topics["messages"][topic] / max(system.topics["deliveries"][topic], 1)), 2)


def _table(heading: Sequence[str], rows: Sequence[Sequence[Any]], name: str, count: int) -> str:
    """The first rows as a table, more of them as a file."""
    shown = [[escape(str(first)), *map(_number, others)] for first, *others in rows[:TOP]]
    which = f"all {count:,}" if len(rows) == count else f"the first {len(rows):,} of {count:,}"
    return f'{table(heading, shown)}<p class="soft">{download(name, [heading, *rows])} has {which}.</p>'


def _number(value: float) -> str:
    return f"{value:,.2f}" if isinstance(value, float) else f"{value:,}"


def _figures(system: System) -> dict[str, Any]:
    evaluation, quality = system.evaluation, system.overlay.meta["quality"]
    return {
        "links": system.overlay.links,
        "connections of a broker, average": round(float(system.connections.mean()), 2),
        "connections of a broker, most": int(system.connections.max(initial=0)),
        "support of topic-connectivity (TcoSuppR)": round(quality["tco_support_ratio"], 4),
        "publications": evaluation["publications"],
        "deliveries": evaluation["deliveries"],
        "messages": evaluation["messages"],
        "messages to relays (routing overhead)": evaluation["routing_overhead"],
        "average path, hops": round(evaluation["average_path"], 2),
        "longest path, hops": evaluation["maximum_path"],
        **({} if evaluation.get("bytes") is None else {"bytes of all messages": evaluation["bytes"]}),
        **dict(_loads(evaluation["load"])),
        **_times(evaluation["times"]),
    }


def _terms() -> str:
    explained = (TERMS["tco_support_ratio"], f"Routing overhead: {TERMS['routing_overhead']}")
    return "".join(f'<p class="soft">{escape(term)}.</p>' for term in explained)


def _loads(load: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    for kind, verb in (("sent", "sends"), ("received", "receives")):
        yield f"messages that a broker {verb}, average", round(load[kind]["mean"], 1)
        yield f"messages that a broker {verb}, 99th percentile", round(load[kind]["percentile_99"])
        yield f"messages that a broker {verb}, most", int(load[kind]["maximum"])


def _times(times: Mapping[str, Any] | None) -> dict[str, Any]:
    if times is None:
        return {}
    delivery = times["delivery"]
    return {
        "time of a delivery, mean, ms": round(delivery["mean"], 1),
        "time of a delivery, 99th percentile, ms": round(delivery["percentile_99"], 1),
    }


def _interest(instance: Instance) -> str:
    counts = {"topics of a broker": instance.interest.counts, "subscribers of a topic": instance.subscribers.counts}
    return figure(
        ccdf(counts, "count"), "How many topics brokers subscribe to, and how many brokers to a topic.", wide=True
    )
