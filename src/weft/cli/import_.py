"""weft import"""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from weft.cli import options as o
from weft.cli.line import say
from weft.cli.output import ConsoleProgress, print_result

EXAMPLE = "weft import conf/ --from mosquitto --brokers brokers.csv --clients clients.csv --out fleet"


def import_(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="PATH...",
            help="mosquitto: NAME.conf of every broker, or a folder of these. nats, emqx: saved JSON. csv: one file.",
            show_default=False,
        ),
    ],
    kind: Annotated[
        Literal["mosquitto", "nats", "emqx", "csv"],
        typer.Option("--from", metavar="mosquitto|nats|emqx|csv", help="What runs there.", show_default=False),
    ],
    out: Annotated[Path, typer.Option(help="Folder for the fleet.", show_default=False)],
    brokers: Annotated[
        Path | None, typer.Option(metavar="FILE", help="CSV: name,host,port. For mosquitto and csv.")
    ] = None,
    clients: Annotated[
        Path | None, typer.Option(metavar="FILE", help="CSV: client,broker,filter. For mosquitto.")
    ] = None,
    log: Annotated[
        list[str],
        typer.Option(
            metavar="FILE",
            help="Of mosquitto, instead of --clients: NAME.log of broker NAME, or NAME=FILE, written with log_type "
            "subscribe; may be repeated.",
        ),
    ] = [],  # noqa: B006
    publishers: Annotated[
        Path | None, typer.Option(metavar="FILE", help="CSV: broker,topic,rate. Default: anybody may publish anything.")
    ] = None,
    topics: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Topics that are published on, one a line, for wildcards.")
    ] = None,
    force: o.Force = False,
    json: o.Json = False,
) -> None:
    """Read the topology and the subscriptions of a running fleet; `weft inspect` tells its score."""
    from weft.fleet.reading import read_running
    from weft.model.output import claimed

    with claimed(out, inputs=[*paths, *o.given(brokers, clients, publishers, topics), *_files(log)], force=force):
        with ConsoleProgress().step("Reading"):
            given: dict[str, Any] = {
                "brokers": brokers,
                "clients": clients,
                "logs": log,
                "publishers": publishers,
                "topics": topics,
            }
            fleet = read_running(kind, paths, **given)
        fleet.write(out, force=force)
    print_result({"fleet": str(out), **fleet.counts, "subscriptions": fleet.instance.subscriptions}, json)
    if fleet.unresolved and not json:
        say("", f"No known topic matches {', '.join(fleet.unresolved[:5])}: list topics with --topics.", err=True)


def _files(logs: list[str]) -> list[Path]:
    return [Path(part) for text in logs for part in (text, text.partition("=")[2]) if part and Path(part).exists()]
