"""weft publish"""

from pathlib import Path
from typing import Annotated, Literal

import typer

from weft.cli import options as o
from weft.cli.output import print_result

EXAMPLE = "weft publish twitter-10k --count 100000 --seed 1 --out publications.parquet"


def publish(
    instance: o.InInstance,
    count: Annotated[int, typer.Option(help="How many publications.", show_default=False)],
    out: Annotated[Path, typer.Option(help="File for the publications.", show_default=False)],
    by: Annotated[
        Literal["topic", "node", "publisher", "anyone"] | None,
        typer.Option(
            metavar="topic|node|publisher|anyone",
            help="A random topic and one of its subscribers, the other way round, a publisher by its rate, or a random "
            "topic and any node. Default: publisher where they are known, else topic.",
        ),
    ] = None,
    seed: o.Seed = 1,
    force: o.Force = False,
    json: o.Json = False,
) -> None:
    """Draw publications: which topic, from which node."""
    from weft.model.instance import read_instance
    from weft.model.output import claimed
    from weft.workloads.publication import publications

    with claimed(out, inputs=[instance], force=force):
        given = read_instance(instance)
        drawn = publications(given, count, seed, by=by or ("topic" if given.publishers is None else "publisher"))
        drawn.write(out, force=force, instance=given)
    print_result({"publications": str(out), "count": len(drawn)}, json)
