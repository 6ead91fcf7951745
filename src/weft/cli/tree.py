"""weft tree"""

from pathlib import Path
from typing import Annotated

import typer

from weft.cli import options as o
from weft.cli.line import say
from weft.cli.output import print_result

EXAMPLE = "weft tree clients clients-sl sensors/hall/temperature"


def tree(
    instance: o.InInstance,
    overlay: o.InOverlay,
    topic: Annotated[str, typer.Argument(metavar="TOPIC", help="Its name, or its number.", show_default=False)],
    issuer: Annotated[
        str | None,
        typer.Option(metavar="NODE", help="Who publishes, by name or number. Default: the root of the tree."),
    ] = None,
    router: o.RouterName = "weave",
    trees: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Of weft weave. Default: weave them, if the router has trees.")
    ] = None,
    seed: o.Seed = 1,
    json: o.Json = False,
) -> None:
    """Show the tree of a topic in names: how one publication travels, hop by hop."""
    from weft.model.instance import read_instance
    from weft.model.overlay import read_overlay
    from weft.model.tree import read_trees
    from weft.sim.hop import journey

    given, built = read_instance(instance), read_overlay(overlay)
    number = given.topic_called(topic)
    start = None if issuer is None else given.node_called(issuer)
    woven = None if trees is None else read_trees(trees, given, built)
    told = journey(given, built, number, start, router=router, trees=woven, seed=seed)
    if json:
        about = {"topic": given.topic_name(number), "issuer": given.node_name(told.issuer), "router": router}
        print_result({**about, "messages": told.rows()}, json)
        return
    say(f"Topic {given.topic_name(number)}, {router} on {built.meta.get('algorithm', overlay)}: {told.in_words}", "")
    say(*told.lines())
