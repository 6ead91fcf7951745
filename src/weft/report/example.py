"""One publication, routed three ways on a small social graph: what all the figures are about."""

from weft.overlays.catalog import design
from weft.report.page import figure
from weft.report.ring import SIZE, draw_publication, telling_topic
from weft.workloads.catalog import generate

NODES = 120
SEED = 1
HEAD = 70  # of the strip, in units of its pictures
SYSTEMS = {
    "Scribe on random fingers": ("random", "scribe"),
    "Pie on SWICO": ("swico-sl", "pie"),
    "Weave on SWICO": ("swico-sl", "weave"),
}


def example_pictures() -> str:
    """A paragraph, and a figure for every system."""
    figures = "".join(figure(picture, f"{name}: {caption}.") for name, picture, caption in _drawn())
    return f"""<p>{NODES} users of a generated social graph stand on a ring. One of them (green) publishes to the others
that follow it (blue). Users who do not care but must pass the message on are relays (orange): the fewer, the
better.</p>
<div class="panels">{figures}</div>"""


def example_strip() -> str:
    """One picture of all systems, with the caption of each in two lines above it."""
    parts = []
    for number, (name, picture, caption) in enumerate(_drawn()):
        left = number * (SIZE + 20)
        placed = picture.replace("<svg ", f'<svg x="{left}" y="{HEAD}" width="{SIZE}" height="{SIZE}" ', 1)
        told = caption.split(", ")
        half = len(told) // 2
        above = [name, f"{', '.join(told[:half])},", ", ".join(told[half:])]
        parts += [f'<text x="{left + SIZE / 2}" y="{18 + 20 * row}">{line}</text>' for row, line in enumerate(above)]
        parts.append(placed)
    width = len(SYSTEMS) * (SIZE + 20) - 20
    style = 'font-family="sans-serif" font-size="14" text-anchor="middle" fill="#7d7d7d"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {SIZE + HEAD}" {style}>'
    return f"{head}{''.join(parts)}</svg>\n"


def _drawn() -> list[tuple[str, str, str]]:
    """The name of each system, its picture, and what that shows."""
    instance = generate("social", nodes=NODES, seed=SEED)
    topic, issuer = telling_topic(instance)
    return [
        (name, *draw_publication(instance, design(instance, overlay, seed=SEED), router, topic, issuer))
        for name, (overlay, router) in SYSTEMS.items()
    ]
