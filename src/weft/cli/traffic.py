"""weft traffic"""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from weft.cli import options as o
from weft.cli.line import say
from weft.cli.output import print_result

if TYPE_CHECKING:
    from weft.model.instance import Instance
    from weft.raw.traffic import Traffic

NAMED = 5  # topics in a warning
EXAMPLE = "weft traffic clients publications.csv --out clients-with-traffic"


def traffic(
    instance: o.InInstance,
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="CSV with a heading, or Parquet, by names: topic; where known node (or broker), rate, bytes as size. "
            "A row a publication, as in a log, or a row a rate.",
            show_default=False,
        ),
    ],
    out: o.OutInstance,
    columns: Annotated[
        str | None,
        typer.Option(
            metavar="OURS=THEIRS,...",
            help="What the file calls our columns topic, node, rate and size, as in node=client,size=bytes.",
        ),
    ] = None,
    force: o.Force = False,
    json: o.Json = False,
) -> None:
    """Tell an instance who publishes what, how often and how large: what is designed, drawn and counted goes by it."""
    from dataclasses import replace

    from weft.model.instance import read_instance
    from weft.model.output import claimed
    from weft.raw.traffic import read_traffic

    names = {} if columns is None else o.named_columns(columns)
    with claimed(out, inputs=[instance, file], force=force):
        given = read_instance(instance)
        told = read_traffic(file, given, names)
        publishers = told.publishers(given)
        made = replace(given, given_publishers=publishers).with_meta(traffic=str(file))
        made.write(out, force=force)
    figures: dict[str, Any] = {
        "instance": str(out),
        "rows": len(told.topics),
        "rows_nobody_hears": told.unheard,
        "topics_nobody_hears": len(told.unheard_topics),
        "unused_columns": list(told.unused),
    }
    figures |= {"publishers": len(publishers), "rate": float(publishers.rates.sum())}
    if publishers.sizes is not None:
        mean = float((publishers.rates * publishers.sizes).sum() / max(publishers.rates.sum(), 1e-300))
        figures["bytes_of_a_publication"] = mean
    print_result(figures, json)
    for warning in _warnings(told, given, str(file)):
        say("", warning, err=True)


def _warnings(told: "Traffic", instance: "Instance", file: str) -> Iterator[str]:
    """What the user may have meant otherwise."""
    from weft.model.topic import matches
    from weft.model.wildcard import plain_filter

    if told.nodes is None:
        named = f" If one of {', '.join(told.unused)} is, give --columns node=THEIRS." if told.unused else ""
        yield f"{file} has no publisher column: the subscribers of a topic share its rate.{named}"
    if told.unheard:
        shown = ", ".join(told.unheard_topics[:NAMED]) + (", ..." if len(told.unheard_topics) > NAMED else "")
        yield (
            f"{told.unheard:,} of {len(told.topics) + told.unheard:,} rows are on topics without subscribers in the "
            f"instance, and left out: {shown}."
        )
        held = () if instance.filters is None else sorted(set(instance.filters.texts))
        missed = [topic for topic in told.unheard_topics if any(matches(plain_filter(text), topic) for text in held)]
        if missed:
            yield (
                f"Of these, filters of the instance match {', '.join(missed[:NAMED])}"
                f"{', ...' if len(missed) > NAMED else ''}: ingest again with --topics {file}."
            )
