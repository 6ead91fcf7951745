"""The page of a fleet: as it runs, and as Weft would link it, drawn side by side with what each costs."""

import math
from collections.abc import Iterator, Mapping
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from weft.fleet.comparison import Comparison, Side
from weft.fleet.fleet import Fleet
from weft.model.overlay import undirected
from weft.model.profile import profile
from weft.report.figure import COLOURS, INK
from weft.report.page import comparison, download, facts, figure, section, table, write_page
from weft.report.ring import some

SIZE, RADIUS = 400, 150
REACH = 19  # from the ring to names; a dot reaches out 11
LABELS = 48  # brokers whose names can be read
FONT, WIDTH = 9, 6.0  # of a name, and of its widest letters
LONGEST = 28  # letters of a name; the rest shows when it is pointed at
TOP = 20  # rows of a table

LEAD = """<p>Brokers pass a message on to every bridge that lets its topic pass, but the one that it came by. <b>Now</b>
is the fleet as its configurations have it. The <b>plan</b> has bridges along one tree for every topic, chosen from who
subscribes to what. Both are given the same publications. A <b>relay</b> is a message to a broker without a subscriber,
a <b>duplicate</b> comes to a broker that has it already; a <b>loop</b> never ends, and is counted once round.</p>"""


def write_fleet_report(out: Path, found: Comparison) -> None:
    fleet = found.fleet
    sides = {"now": found.now, "plan": found.plan}
    most = max(int((side.score.sent + side.score.received).max()) for side in sides.values())
    pictures = "".join(figure(_drawn(side, fleet, most), _caption(name, side)) for name, side in sides.items())
    sections = (
        LEAD,
        section("Who is linked with whom", f'<div class="pair">{pictures}</div>'),
        section("What it costs", comparison({name: _spaced(side.figures(fleet)) for name, side in sides.items()})),
        section("What goes wrong now", _faults(found)),
        section("Brokers", _brokers(found)),
        section("The data", facts({**profile(fleet.instance), **fleet.counts})),
    )
    title = f"Weft: a fleet of {len(fleet.brokers):,} brokers, {len(fleet.topics):,} topics"
    write_page(out, title, "\n".join(sections), wide=True)


def _spaced(figures: Mapping[str, Any]) -> dict[str, Any]:
    return {name.replace("_", " "): value for name, value in figures.items()}


def _caption(name: str, side: Side) -> str:
    if not side.is_known:
        return f"{name}: no links are known."
    return f"{name}: {side.overlay.links:,} links, {side.score.messages_a_delivery:.2f} messages a delivery."


def _drawn(side: Side, fleet: Fleet, most: int) -> str:
    """Brokers on a circle, the larger the more messages they have to do with, and the links between them."""
    at = [_place(node, len(fleet.brokers), RADIUS) for node in range(len(fleet.brokers))]
    xy = [f"{x:.1f} {y:.1f}" for x, y in at]
    lines = "".join(f"M{xy[u]}L{xy[v]}" for u, v in some(undirected(side.overlay)))
    label = f'role="img" aria-label="{len(at)} brokers"'
    beside = _margin(fleet)
    box = f"{-beside:.0f} 0 {SIZE + 2 * beside:.0f} {SIZE}"
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{box}" {label}>'
    path = f'<path d="{lines}" fill="none" stroke="{COLOURS[0]}" stroke-opacity=".45"/>'
    return f"{head}{path}{''.join(_dots(side, fleet, most))}</svg>"


def _margin(fleet: Fleet) -> float:
    """How far names reach out of the square, on either side."""
    if len(fleet.brokers) > LABELS:
        return 0.0
    longest = max((len(_shown(name)) for name in fleet.brokers), default=0)
    return max(0.0, RADIUS + REACH + WIDTH * longest - SIZE / 2)


def _shown(name: str) -> str:
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}\N{HORIZONTAL ELLIPSIS}"


def _dots(side: Side, fleet: Fleet, most: int) -> Iterator[str]:
    busy = side.score.sent + side.score.received
    sizes = 2 + 9 * np.sqrt(busy / max(most, 1))
    for node, name in enumerate(fleet.brokers):
        x, y = _place(node, len(fleet.brokers), RADIUS)
        tip = escape(f"{name}: sends {side.score.sent[node]:,}, receives {side.score.received[node]:,}")
        yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{sizes[node]:.1f}" fill="{COLOURS[1]}" data-tip="{tip}"/>'
        if len(fleet.brokers) <= LABELS:
            u, v = _place(node, len(fleet.brokers), RADIUS + REACH)
            anchor = "start" if u > SIZE / 2 + 1 else "end" if u < SIZE / 2 - 1 else "middle"
            style = f'font-size="{FONT}" fill="{INK}" text-anchor="{anchor}"'
            yield f'<text x="{u:.1f}" y="{v + 3:.1f}" {style}>{escape(_shown(name))}</text>'


def _place(node: int, nodes: int, radius: float) -> tuple[float, float]:
    angle = 2 * math.pi * node / max(nodes, 1)
    return SIZE / 2 + radius * math.sin(angle), SIZE / 2 - radius * math.cos(angle)


def _faults(found: Comparison) -> str:
    instance, now = found.fleet.instance, found.now.score
    if not found.fleet.has_known_links:
        return f"<p>No links are known of this fleet ({found.fleet.kind}): only the plan has figures.</p>"
    told = (
        ("Topics whose messages go round and never end", int(now.endless.sum()), now.looping(instance)),
        ("Topics that do not come to all their subscribers", int(np.count_nonzero(now.missed)), now.missing(instance)),
        ("Filters that match no known topic", len(found.fleet.unresolved), found.fleet.unresolved[:TOP]),
    )
    rows = [(escape(text), f"{count:,}", escape(", ".join(names)) or "-") for text, count, names in told]
    return table(("", "how many", "some of them"), rows)


def _brokers(found: Comparison) -> str:
    heading = ("broker", "topics", "sends now", "receives now", "sends in the plan", "receives in the plan")
    busy = found.now.score.sent + found.now.score.received
    rows = [_broker(found, node) for node in np.argsort(-busy, kind="stable").tolist()]
    cells = [[escape(str(row[0])), *(f"{value:,}" for value in row[1:])] for row in rows[:TOP]]
    return table(heading, cells) + f"<p>{download('brokers.csv', [heading, *rows])}</p>"


def _broker(found: Comparison, node: int) -> tuple[str | int, ...]:
    now, plan = found.now.score, found.plan.score
    loads = (now.sent[node], now.received[node], plan.sent[node], plan.received[node])
    return (found.fleet.brokers[node], len(found.fleet.instance.interest[node]), *map(int, loads))
