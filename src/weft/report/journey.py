"""One publication hop by hop: who publishes in the middle, every circle around is a hop farther.

A dot is a message that has come to a broker, and the line to it comes from whoever passed it on. Messages carry their
hop, by which a page shows them one after the other (assets/journey.js). Two systems drawn to the same number of hops
have circles of the same size.
"""

import math
from collections.abc import Iterator
from html import escape

from weft.sim.hop import FROM_ISSUER, Journey

SIZE = 400
RADIUS = 185
STYLE = """<style>
.hop { fill: none; stroke: #7d7d7d; stroke-opacity: .3; }
.message { fill: none; stroke: #2f6fb0; stroke-width: 1.8; }
.relayed { stroke: #d1662b; }
.subscriber { fill: #2f6fb0; stroke: #2f6fb0; }
.relay { fill: none; stroke: #d1662b; stroke-width: 2; }
.issuer { fill: #3c8d5a; }
</style>"""

Place = tuple[float, float]


def draw_journey(told: Journey, hops: int) -> str:
    """The picture, with a circle for each of so many hops, which are at least those that it takes."""
    at = _places(told, hops)
    middle = SIZE / 2
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {SIZE} {SIZE}" role="img"'
    circles = (
        f'<circle class="hop" cx="{middle}" cy="{middle}" r="{_radius(hop, hops):.1f}"/>' for hop in range(1, hops + 1)
    )
    issuer = escape(told.instance.node_name(told.issuer))
    dot = f'<circle class="issuer" cx="{middle}" cy="{middle}" r="7" data-tip="{issuer} publishes"/>'
    lines, dots = zip(*_messages(told, at), strict=True) if at else ((), ())
    parts = [f'{head} aria-label="{escape(told.in_words)}">', STYLE, *circles, *lines, *dots, dot, "</svg>"]
    return "".join(parts)


def _radius(hop: int, hops: int) -> float:
    return RADIUS * hop / max(hops, 1)


def _places(told: Journey, hops: int) -> list[Place]:
    """Where every message ends: leaves side by side around the circle, others in the middle of what follows them."""
    below, angle = told.below(), [0.0] * len(told.messages.hops)
    leaves = [row for row in _depth_first(below) if row not in below]
    for place, row in enumerate(leaves):
        angle[row] = 2 * math.pi * place / len(leaves)
    for row in reversed(range(len(angle))):  # what follows comes later
        if row in below:
            angle[row] = sum(angle[each] for each in below[row]) / len(below[row])
    return [_at(turn, _radius(int(hop), hops)) for turn, hop in zip(angle, told.messages.hops, strict=True)]


def _depth_first(below: dict[int, list[int]]) -> Iterator[int]:
    stack = list(reversed(below.get(FROM_ISSUER, [])))
    while stack:
        row = stack.pop()
        yield row
        stack += reversed(below.get(row, []))


def _at(turn: float, radius: float) -> Place:
    return SIZE / 2 + radius * math.sin(turn), SIZE / 2 - radius * math.cos(turn)


def _messages(told: Journey, at: list[Place]) -> Iterator[tuple[str, str]]:
    """The line and the dot of every message."""
    came_from = {row: at[above] for above, rows in told.below().items() if above != FROM_ISSUER for row in rows}
    for row, message in enumerate(told.rows()):
        (u, v), (x, y) = came_from.get(row, (SIZE / 2, SIZE / 2)), at[row]
        kind, extra = ("relay", " relayed") if message["relay"] else ("subscriber", "")
        tip = escape(f"hop {message['hop']}: from {message['from']} to {message['to']}, {kind}")
        about = f'data-hop="{message["hop"]}" data-tip="{tip}"'
        line = f'<path class="message{extra}" pathLength="1" d="M{u:.1f} {v:.1f}L{x:.1f} {y:.1f}" {about}/>'
        yield line, f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="5" {about}/>'
