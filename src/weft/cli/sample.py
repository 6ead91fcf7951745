"""weft sample"""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from weft.cli import options as o
from weft.cli.output import ConsoleProgress, print_result

if TYPE_CHECKING:
    from weft.raw.source import Source
    from weft.workloads.sample import Sampling

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
    topics: o.Topics = None,
    engine: o.Engine = "spark",
    master: o.Master = None,
    conf: o.Conf = [],  # noqa: B006
    force: o.Force = False,
    json: o.Json = False,
) -> None:
    """Cut a smaller instance out of a large one, with all subscriptions among its nodes; on Spark by default."""
    from weft.model.instance import read_instance_meta
    from weft.model.output import claimed
    from weft.raw.ingest import check
    from weft.workloads.sample import Sampling

    sampling, raw = Sampling(nodes, method, seed, seeds), None
    if o.is_instance(source):
        sampling.check(read_instance_meta(Path(source[0])))
    else:
        raw = o.source_of(source, kind, format, columns, delimiter, header, on_bad_row, topics)
    settings, cut = o.spark_settings(engine, master, conf), _sample_on_spark if engine == "spark" else _sample_here
    with claimed(out, inputs=[*source, *o.given(topics)], force=force):
        if raw is not None:
            check(raw)
        counts = cut(raw or Path(source[0]), sampling, out, force, *settings)
    print_result({"instance": str(out), **counts}, json)


def _sample_on_spark(
    given: "Source | Path", sampling: "Sampling", out: Path, force: bool, master: str, conf: dict[str, str]
) -> dict[str, int]:
    from weft.model.storage import scratch_folder
    from weft.pipeline.ingest import ingest
    from weft.pipeline.sample import sample
    from weft.pipeline.session import spark_session

    progress = ConsoleProgress()
    with spark_session(master, conf) as spark, scratch_folder(out) as scratch:
        if not isinstance(given, Path):
            ingest(spark, given, scratch / "instance", progress=progress)
            given = scratch / "instance"
        return asdict(sample(spark, given, sampling, out, force=force, progress=progress))


def _sample_here(given: "Source | Path", sampling: "Sampling", out: Path, force: bool, *_: object) -> dict[str, int]:
    from weft.model.instance import read_instance
    from weft.raw.ingest import instance_of
    from weft.workloads.sample import sample

    progress = ConsoleProgress()
    with progress.step("Reading"):
        instance = read_instance(given) if isinstance(given, Path) else instance_of(given)
    with progress.step("Searching"):
        found = sample(instance, sampling)
    found.write(out, force=force)
    return found.counts
