"""weft ingest"""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Annotated, Any

import typer

from weft.cli import options as o
from weft.cli.line import say
from weft.cli.output import ConsoleProgress, print_result

EXAMPLE = "weft ingest twitter_combined.txt.gz --as follows --out twitter"
OF_FILTERS = ("filters", "unmatched", "unmatched_filters")  # not said where there are none


def warn_of_unmatched(result: Mapping[str, Any]) -> None:
    if result["unmatched"]:
        say(
            "",
            f"{result['unmatched']:,} filters match no known topic and bring no subscription: "
            f"{', '.join(result['unmatched_filters'])}. Is the list of --topics complete?",
            err=True,
        )


def ingest(
    files: Annotated[list[str], typer.Argument(metavar="FILE...", help="Text, CSV, JSON or Parquet; .gz too.")],
    out: o.OutInstance,
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
    """Turn raw data into an instance, on Spark by default: clean it, and number nodes and topics densely."""
    from weft.model.output import claimed
    from weft.raw.ingest import check
    from weft.raw.ingest import ingest as ingest_here

    source, settings = (
        o.source_of(files, kind, format, columns, delimiter, header, on_bad_row, topics),
        o.spark_settings(engine, master, conf),
    )
    with claimed(out, inputs=[*files, *o.given(topics)], force=force):
        check(source)
        if engine == "spark":
            from weft.pipeline.ingest import ingest as ingest_on_spark
            from weft.pipeline.session import spark_session

            with spark_session(*settings) as spark:
                result = ingest_on_spark(spark, source, out, force=force, progress=ConsoleProgress())
        else:
            with ConsoleProgress().step("Reading rows"):
                result = ingest_here(source, out, force=force)
    told = asdict(result)
    unsaid = () if json or result.filters else OF_FILTERS
    print_result({"instance": str(out), **{name: told[name] for name in told if name not in unsaid}}, json)
    warn_of_unmatched(told)
