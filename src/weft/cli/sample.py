"""weft sample"""

from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Literal

import typer

from weft.cli import options as o
from weft.cli.output import ConsoleProgress, print_result

EXAMPLE = "weft sample twitter --nodes 10000 --method bfs --seed 1 --out twitter-10k"


def sample(
    source: Annotated[
        list[str], typer.Argument(metavar="INSTANCE|FILE...", help="An instance, or files as for ingest.")
    ],
    nodes: Annotated[int, typer.Option(help="How many nodes.", show_default=False)],
    out: o.OutInstance,
    method: Annotated[
        Literal["bfs", "closure"], typer.Option(metavar="bfs|closure", help="Breadth-first search, or Vitis' closure.")
    ] = "bfs",
    seeds: Annotated[int, typer.Option(help="How many nodes the search starts from.")] = 3,
    seed: o.Seed = 1,
    kind: o.As = None,
    format: o.FileFormat = None,  # noqa: A002
    columns: o.Columns = None,
    delimiter: o.Delimiter = None,
    header: o.Header = True,
    on_bad_row: o.BadRow = "stop",
    master: o.Master = "local[*]",
    conf: o.Conf = [],  # noqa: B006
    force: o.Force = False,
    json: o.Json = False,
) -> None:
    """Cut a smaller instance out of a large one, on Spark, with all subscriptions among its nodes."""
    from weft.model.instance import read_instance_meta
    from weft.model.storage import require_absent
    from weft.workloads.sample import Sampling

    require_absent(out, force)
    sampling, raw = Sampling(nodes, method, seed, seeds), None
    if o.is_instance(source):
        sampling.check(read_instance_meta(Path(source[0])))
    else:
        raw = o.source_of(source, kind, format, columns, delimiter, header, on_bad_row)

    from weft.pipeline.ingest import ingest as ingest_on_spark
    from weft.pipeline.sample import sample as sample_on_spark
    from weft.pipeline.session import spark_session

    progress = ConsoleProgress()
    with spark_session(master, o.spark_conf(conf)) as spark, TemporaryDirectory(dir=o.existing_parent(out)) as scratch:
        instance = Path(source[0])
        if raw is not None:
            instance = Path(scratch) / "instance"
            ingest_on_spark(spark, raw, instance, progress=progress)
        result = sample_on_spark(spark, instance, sampling, out, force=force, progress=progress)
    print_result({"instance": str(out), **asdict(result)}, json)
