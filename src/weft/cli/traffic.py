"""weft traffic"""

from pathlib import Path
from typing import Annotated, Any

import typer

from weft.cli import options as o
from weft.cli.output import print_result

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
    force: o.Force = False,
    json: o.Json = False,
) -> None:
    """Tell an instance who publishes what, how often and how large: what is designed, drawn and counted goes by it."""
    from dataclasses import replace

    from weft.model.instance import read_instance
    from weft.model.output import claimed
    from weft.raw.traffic import read_traffic

    with claimed(out, inputs=[instance, file], force=force):
        given = read_instance(instance)
        told = read_traffic(file, given)
        publishers = told.publishers(given)
        made = replace(given, given_publishers=publishers).with_meta(traffic=str(file))
        made.write(out, force=force)
    figures: dict[str, Any] = {
        "instance": str(out),
        "rows": len(told.topics),
        "rows_nobody_hears": told.unheard,
    }
    figures |= {"publishers": len(publishers), "rate": float(publishers.rates.sum())}
    if publishers.sizes is not None:
        mean = float((publishers.rates * publishers.sizes).sum() / max(publishers.rates.sum(), 1e-300))
        figures["bytes_of_a_publication"] = mean
    print_result(figures, json)
