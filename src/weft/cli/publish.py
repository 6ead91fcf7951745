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
        Literal["topic", "node"],
        typer.Option(metavar="topic|node", help="A random topic and one of its subscribers, or the other way round."),
    ] = "topic",
    seed: o.Seed = 1,
    force: o.Force = False,
    json: o.Json = False,
) -> None:
    """Draw publications: which topic, from which node."""
    from weft.model.instance import read_instance
    from weft.model.output import claimed
    from weft.workloads.publication import publications

    with claimed(out, inputs=[instance], force=force):
        drawn = publications(read_instance(instance), count, seed, by=by)
        drawn.write(out, force=force)
    print_result({"publications": str(out), "count": len(drawn)}, json)
