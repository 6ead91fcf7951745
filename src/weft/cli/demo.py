"""weft demo"""

from pathlib import Path
from typing import Annotated

import typer

from weft.cli import options as o
from weft.cli.run import OutRun, RunForce, run_pipeline

EXAMPLE = "weft demo --out demo"


def demo(
    out: OutRun = Path("demo"),
    nodes: Annotated[int, typer.Option(help="How many users to make.")] = 2000,
    seed: o.Seed = 1,
    master: o.Master = None,
    conf: o.Conf = [],  # noqa: B006
    force: RunForce = False,
    json: o.Json = False,
) -> None:
    """Run the whole pipeline on a generated social graph: no data needed."""
    from weft.pipeline.run import Generated, Proof

    proof = Proof("swico-even", "weave", 10_000, seed)
    run_pipeline(Generated("social", nodes, seed), None, proof, out, master, conf, json, force)
