"""An overlay drawn on its ring, and the messages of one publication on it, hop by hop.

Nodes stand in the order of the ring, subscribers filled, relays hollow. Links lie in the background: all of them where
they are few enough to be seen, else some. Of many nodes only those that take part are drawn.
"""

import math
from collections.abc import Iterator
from html import escape

import numpy as np

from weft.arrays import Int32s
from weft.kernels.quality.topic_link import shared_topic_counts
from weft.model.instance import Instance
from weft.model.overlay import Overlay, undirected
from weft.model.tree import Trees
from weft.sim.hop import Journey, journey

LEGEND = "Green: who publishes. Blue: subscribers, and messages to them. Orange: relays, and messages to them."
SIZE = 400
RADIUS = 185
FEW = 2000  # links or nodes that can be seen one by one
STYLE = """<style>
.links { stroke: #7d7d7d; stroke-opacity: .16; stroke-width: .6; fill: none; }
.shared { stroke: #2f6fb0; stroke-opacity: .5; stroke-width: .6; fill: none; }
.apart { stroke: #7d7d7d; stroke-opacity: .22; stroke-width: .6; fill: none; }
.ring { fill: none; stroke: #7d7d7d; stroke-opacity: .5; }
.node { fill: #7d7d7d; fill-opacity: .6; }
.subscriber { fill: #2f6fb0; stroke: #2f6fb0; }
.relay { fill: none; stroke: #d1662b; stroke-width: 2; }
.issuer { fill: #3c8d5a; }
.message { fill: none; stroke: #2f6fb0; stroke-width: 1.6; }
.relayed { stroke: #d1662b; }
</style>"""

Place = tuple[float, float]


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
    told = journey(instance, overlay, topic, issuer, router=router, trees=trees)
    at = _places(overlay)
    shown = told.in_words
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {SIZE} {SIZE}" role="img" aria-label="{escape(shown)}">',
        STYLE,
        f'<circle class="ring" cx="{SIZE / 2}" cy="{SIZE / 2}" r="{RADIUS}"/>',
        _background(overlay, at),
        *_messages(told, at),
        *_nodes(told, at),
        "</svg>",
    ]
    return "".join(parts), shown


def draw_ring(instance: Instance, overlay: Overlay) -> tuple[str, float]:
    """The ring with its links, or some of them, and the share of links that join nodes with a topic in common."""
    at, links = _places(overlay), undirected(overlay)
    shared = shared_topic_counts(instance.interest.indptr, instance.interest.indices, *links) > 0
    kinds = {"apart": ~shared, "shared": shared}
    most = {kind: round(FEW * chosen.mean()) if len(shared) > FEW else FEW for kind, chosen in kinds.items()}
    lines = "".join(
        f'<path class="{kind}" d="{_lines(at, (links[0][chosen], links[1][chosen]), most[kind])}"/>'
        for kind, chosen in kinds.items()
    )
    label = f"{overlay.nodes:,} brokers on a ring"
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {SIZE} {SIZE}" role="img" aria-label="{label}">'
    ring = f'<circle class="ring" cx="{SIZE / 2}" cy="{SIZE / 2}" r="{RADIUS}"/>'
    return f"{head}{STYLE}{ring}{lines}</svg>", float(shared.mean()) if len(shared) else 0.0


def telling_topic(instance: Instance) -> tuple[int, int]:
    """The topic whose number of subscribers, not none, is nearest to a dozen, and who publishes on it.

    Where publishers are known, it is one on which somebody publishes, and its issuer is who does so most; else its
    first subscriber.
    """
    counts = instance.subscribers.counts
    can_be, known = counts > 0, instance.known_publishers
    if known is not None:
        can_be = can_be & (np.bincount(known.topics, known.rates, minlength=instance.topics) > 0)
    topic = int(np.argmin(np.where(can_be, np.abs(counts - 12), instance.nodes + 12)))
    issuer = None if known is None else known.first_of(topic)
    return topic, int(instance.subscribers[topic][0]) if issuer is None else issuer


def some(links: tuple[Int32s, Int32s], most: int = FEW) -> Iterator[tuple[int, int]]:
    """Some of the links, at most so many, drawn with a seed of their own."""
    low, high = links
    if len(low) > most:
        chosen = np.sort(np.random.default_rng(0).choice(len(low), most, replace=False))
        low, high = low[chosen], high[chosen]
    return zip(low.tolist(), high.tolist(), strict=True)


def _background(overlay: Overlay, at: list[Place]) -> str:
    path = _lines(at, undirected(overlay), FEW)
    return f'<path class="links" d="{path}"/>' if path else ""


def _lines(at: list[Place], links: tuple[Int32s, Int32s], most: int) -> str:
    return "".join(f"M{_xy(at[u])}L{_xy(at[v])}" for u, v in some(links, most))


def _places(overlay: Overlay) -> list[Place]:
    """Where every node stands: in the order of the ring, or of the nodes where there is none."""
    order = np.arange(overlay.nodes) if overlay.ring_ids is None else np.argsort(np.argsort(overlay.ring_ids))
    return [_place(position, overlay.nodes) for position in order.tolist()]


def _place(position: int, nodes: int) -> Place:
    angle = 2 * math.pi * position / nodes
    return SIZE / 2 + RADIUS * math.sin(angle), SIZE / 2 - RADIUS * math.cos(angle)


def _xy(place: Place) -> str:
    return f"{place[0]:.1f} {place[1]:.1f}"


def _messages(told: Journey, at: list[Place]) -> Iterator[str]:
    """Messages as lines bent towards the centre, so that short ones do not lie on the ring."""
    name, messages = told.instance.node_name, told.messages
    rows = zip(messages.sources, messages.targets, messages.hops, messages.delivered, strict=True)
    for source, target, hop, delivered in rows:
        (x, y), (u, v) = at[source], at[target]
        bend = 0.75 * (x + u) / 2 + 0.25 * SIZE / 2, 0.75 * (y + v) / 2 + 0.25 * SIZE / 2
        kind = "message" if delivered else "message relayed"
        tip = escape(f"hop {hop}: from {name(source)} to {name(target)}")
        line = f'd="M{_xy((x, y))}Q{_xy(bend)} {_xy((u, v))}"'
        yield f'<path class="{kind}" {line} data-tip="{tip}"/>'


def _nodes(told: Journey, at: list[Place]) -> Iterator[str]:
    """Nodes that take part, above the others."""
    subscribers, relays = set(told.instance.subscribers[told.topic].tolist()), told.relays
    taking_part = subscribers | relays | {told.issuer}
    others = set(range(0, len(at), _step(at))) - taking_part
    for node in [*sorted(others), *sorted(taking_part)]:
        (x, y), kind = at[node], _kind(node, told.issuer, subscribers, relays)
        radius = _dot(at) if kind == "node" else max(4.0, _dot(at))
        tip = escape(f"{told.instance.node_name(node)}, {'takes no part' if kind == 'node' else kind}")
        yield f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" data-tip="{tip}"/>'


def _kind(node: int, issuer: int, subscribers: set[int], relays: set[int]) -> str:
    if node == issuer:
        return "issuer"
    return "subscriber" if node in subscribers else "relay" if node in relays else "node"


def _step(at: list[Place]) -> int:
    return -(-len(at) // FEW) or 1


def _dot(at: list[Place]) -> float:
    return max(1.0, min(4.0, 400 / max(len(at), 1)))
