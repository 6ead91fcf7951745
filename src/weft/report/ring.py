"""An overlay drawn on its ring, and the messages of one publication on it.

Nodes stand in the order of the ring, subscribers filled, relays hollow. All links lie in the background where they are
few enough to be seen.
"""

import math
from collections.abc import Iterator
from html import escape

import numpy as np

from weft.model.instance import Instance
from weft.model.overlay import Overlay
from weft.model.tree import Trees
from weft.sim.bulk import Trace, trace
from weft.sim.catalog import network_for

LEGEND = "Green: the issuer. Blue: subscribers, and messages to them. Orange: relays, and messages that they pass on."
SIZE = 400
RADIUS = 185
FEW = 2500  # links that can be seen one by one
STYLE = """<style>
.links { stroke: #7d7d7d; stroke-opacity: .16; stroke-width: .6; }
.ring { fill: none; stroke: #7d7d7d; stroke-opacity: .5; }
.node { fill: #7d7d7d; fill-opacity: .6; }
.subscriber { fill: #2f6fb0; }
.relay { fill: none; stroke: #d1662b; stroke-width: 2; }
.issuer { fill: #3c8d5a; }
.message { fill: none; stroke: #2f6fb0; stroke-width: 1.6; }
.relayed { stroke: #d1662b; }
</style>"""


def draw_publication(
    instance: Instance,
    overlay: Overlay,
    router: str,
    topic: int,
    issuer: int,
    *,
    trees: Trees | None = None,
) -> tuple[str, str]:
    """The picture, and what it shows in words; without trees, a router that has them weaves its own."""
    network = network_for(router, instance, overlay, trees=trees)
    messages = trace(network, router, topic, issuer, seed=1)
    subscribers = set(instance.subscribers[topic].tolist())
    relays = set(messages.targets.tolist()) - subscribers
    at = [_place(position, network.nodes) for position in network.position_of.tolist()]
    links = zip(overlay.sources.tolist(), overlay.targets.tolist(), strict=True) if overlay.links <= FEW else ()
    background = "".join(f"M{_xy(at[u])}L{_xy(at[v])}" for u, v in links)
    delivered = int(messages.delivered.sum())
    relayed = len(messages.delivered) - delivered
    shown = f"{len(messages.delivered)} messages, {delivered} to subscribers and {relayed} to relays"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {SIZE} {SIZE}" role="img" aria-label="{escape(shown)}">',
        STYLE,
        f'<circle class="ring" cx="{SIZE / 2}" cy="{SIZE / 2}" r="{RADIUS}"/>',
        f'<path class="links" d="{background}"/>' if background else "",
        *_messages(messages, at),
        *_nodes(at, subscribers, relays, issuer),
        "</svg>",
    ]
    return "".join(parts), shown


def telling_topic(instance: Instance) -> tuple[int, int]:
    """The topic whose number of subscribers, not none, is nearest to a dozen; its first subscriber is the issuer."""
    counts = instance.subscribers.counts
    topic = int(np.argmin(np.where(counts > 0, np.abs(counts - 12), instance.nodes + 12)))
    return topic, int(instance.subscribers[topic][0])


def _place(position: int, nodes: int) -> tuple[float, float]:
    angle = 2 * math.pi * position / nodes
    return SIZE / 2 + RADIUS * math.sin(angle), SIZE / 2 - RADIUS * math.cos(angle)


def _xy(place: tuple[float, float]) -> str:
    return f"{place[0]:.1f} {place[1]:.1f}"


def _messages(messages: Trace, at: list[tuple[float, float]]) -> Iterator[str]:
    """Messages as lines bent towards the centre, so that short ones do not lie on the ring."""
    rows = zip(messages.sources, messages.targets, messages.hops, messages.delivered, strict=True)
    for source, target, hop, delivered in rows:
        (x, y), (u, v) = at[source], at[target]
        bend = 0.75 * (x + u) / 2 + 0.25 * SIZE / 2, 0.75 * (y + v) / 2 + 0.25 * SIZE / 2
        kind = "message" if delivered else "message relayed"
        tip = f"hop {hop}: from node {source} to node {target}"
        yield f'<path class="{kind}" d="M{_xy((x, y))}Q{_xy(bend)} {_xy((u, v))}" data-tip="{tip}"/>'


def _nodes(at: list[tuple[float, float]], subscribers: set[int], relays: set[int], issuer: int) -> Iterator[str]:
    dot = max(1.0, min(4.0, 400 / len(at)))
    for node, (x, y) in enumerate(at):
        kind = "node"
        if node == issuer:
            kind = "issuer"
        elif node in subscribers:
            kind = "subscriber"
        elif node in relays:
            kind = "relay"
        radius = dot if kind == "node" else max(4.0, dot)
        yield f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" data-tip="node {node}, {kind}"/>'
