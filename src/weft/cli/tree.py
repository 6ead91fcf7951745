"""weft tree"""

from pathlib import Path
from typing import Annotated, Any

import typer

from weft.cli import options as o
from weft.cli.line import say
from weft.cli.output import print_result
from weft.cli.trees import trees_of

EXAMPLE = "weft tree clients clients-sl sensors/hall/temperature"


def tree(
    instance: o.InInstance,
    overlay: o.InOverlay,
    topic: Annotated[str, typer.Argument(metavar="TOPIC", help="Its name, or its number.", show_default=False)],
    issuer: Annotated[
        str | None,
        typer.Option(
            metavar="NODE", help="Who publishes, by name or number. Default: who publishes most on it, else the root."
        ),
    ] = None,
    router: o.RouterName = "weave",
    links: o.Links = None,
    distance: o.RingDistance = None,
    pivots: o.PivotNodes = None,
    trees: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Of weft weave. Default: trees.parquet in or beside OVERLAY, else new ones."),
    ] = None,
    latency: o.Latency = None,
    draw_hosts: o.DrawHosts = False,
    seed: o.Seed = 1,
    json: o.Json = False,
) -> None:
    """Show the tree of a topic in names: how one publication travels, hop by hop."""
    from weft.model.instance import read_instance
    from weft.model.overlay import read_overlay
    from weft.sim.catalog import forwarding_for, require_options, routing
    from weft.sim.hop import journey

    given, built = read_instance(instance), read_overlay(overlay)
    number = given.topic_called(topic)
    start = None if issuer is None else given.node_called(issuer)
    require_options(router, None, trees is not None)
    forwarding = forwarding_for(router, links, distance, pivots)
    woven, source = None, None
    if routing(router).has_trees:
        woven, source = trees_of(trees, overlay, given, built, latency, seed, draw_hosts=draw_hosts)
    about: dict[str, Any] = {"links": links, "distance": distance, "pivots": pivots}
    told = journey(given, built, number, start, router=router, trees=woven, seed=seed, **about)
    if json:
        found = {
            "topic": given.topic_name(number),
            "issuer": given.node_name(told.issuer),
            "router": router,
            "trees": source,
            **(forwarding.columns if routing(router).needs_ring else {}),
        }
        print_result({**found, "messages": told.rows()}, json)
        return
    say(f"Topic {given.topic_name(number)}, {router} on {built.meta.get('algorithm', overlay)}: {told.in_words}")
    if source is not None:
        say(f"Trees: {source}")
    known = given.known_publishers
    if issuer is None and known is not None and known.first_of(number) is None:
        say("Nobody is known to publish on it.")
    say("")
    for line in told.lines():
        say(line)
