"""One publication, routed three ways on a small social graph: what all the figures are about."""

from weft.overlays.catalog import design
from weft.report.page import figure
from weft.report.ring import draw_publication, telling_topic
from weft.workloads.catalog import generate

NODES = 120
SEED = 1
SYSTEMS = {
    "Scribe on random fingers": ("random", "scribe"),
    "Pie on SWICO": ("swico-sl", "pie"),
    "Weave on SWICO": ("swico-sl", "weave"),
}


def example_pictures() -> str:
    instance = generate("social", nodes=NODES, seed=SEED)
    topic, issuer = telling_topic(instance)
    figures = []
    for name, (overlay, router) in SYSTEMS.items():
        picture, told = draw_publication(instance, design(instance, overlay, seed=SEED), router, topic, issuer)
        figures.append(figure(picture, f"{name}: {told}."))
    return f"""<p>{NODES} users of a generated social graph stand on a ring. One of them (green) publishes to the others
that follow it (blue). Users who do not care but must pass the message on are relays (orange): the fewer, the
better.</p>
<div class="panels">{"".join(figures)}</div>"""
