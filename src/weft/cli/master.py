"""weft master"""

from pathlib import Path
from typing import Annotated, Any

import typer

from weft.cli import options as o

EXAMPLE = "weft master --listen 127.0.0.1:7883 --data master-data"


def _setting(help_: str) -> Any:
    return typer.Option(help=help_, rich_help_panel="Designs and times", show_default=False)


def master(
    listen: Annotated[
        str | None,
        typer.Option(metavar="HOST:PORT", help="Where nodes and operators connect.", show_default="127.0.0.1:7883"),
    ] = None,
    data: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder that keeps what the master knows.", show_default=False)
    ] = None,
    http_host: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="A name that web pages, Prometheus and others may call this host by, besides its addresses. May be "
            "given more than once.",
            show_default=False,
        ),
    ] = None,
    ca: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Authority of the cluster, as `weft ca init` makes it: nodes and operators need its certificates. "
            "Default: `ca` in DATA, if there is one.",
            show_default=False,
        ),
    ] = None,
    allow_plaintext: Annotated[
        bool | None,
        typer.Option("--allow-plaintext", help="Speak with other machines without TLS.", show_default=False),
    ] = None,
    cluster: Annotated[
        str | None, typer.Option(metavar="NAME", help="Name of the network. Default: any.", show_default=False)
    ] = None,
    config: Annotated[
        Path | None, typer.Option(metavar="FILE", help="TOML file with these options.", show_default=False)
    ] = None,
    json_logs: Annotated[bool | None, typer.Option("--json-logs", help="Log JSON.", show_default=False)] = None,
    log_level: o.LogLevel = None,
    quiet: Annotated[bool | None, typer.Option("--quiet", help="Log nothing.", show_default=False)] = None,
    automatic: Annotated[bool | None, _setting("Design again when quality has fallen. Default: yes.")] = None,
    fall: Annotated[float | None, _setting("Relays a delivery more than when it was designed. Default: 0.05.")] = None,
    uneven: Annotated[float | None, _setting("Times the load of the busiest node then. Default: 2.")] = None,
    longer: Annotated[float | None, _setting("Hops more than when it was designed. Default: 0.5.")] = None,
    rest: Annotated[float | None, _setting("Seconds between designs, and after nodes come or go. Default: 60.")] = None,
    gain: Annotated[float | None, _setting("Share of relays or hops that a design must spare. Default: 0.1.")] = None,
    review: Annotated[float | None, _setting("Seconds between two looks at the quality. Default: 10.")] = None,
    settling: Annotated[float | None, _setting("Seconds for which old links stay after a design. Default: 5.")] = None,
    making: Annotated[float | None, _setting("Seconds that a link has to come up. Default: 3.")] = None,
    grace: Annotated[
        float | None, _setting("Seconds that a node may be gone before it has failed. Default: 1.")
    ] = None,
    gather: Annotated[float | None, _setting("Seconds that nodes which join are gathered. Default: 0.05.")] = None,
    fan_out: Annotated[int | None, _setting("Neighbours of a node in a topic's tree. Default: 64.")] = None,
    seed: Annotated[int | None, _setting("Of designs. Default: 1.")] = None,
    spark_above: Annotated[int | None, _setting("Nodes from which designs run on Spark. Default: 20,000.")] = None,
    spark_master: Annotated[str | None, _setting("Spark master. Default: local[*].")] = None,
) -> None:
    """Run the master of a network of nodes. It prints `ready` when nodes can connect; Ctrl-C ends it."""
    given = {name: value for name, value in locals().items() if name != "config"}
    from weft import ending
    from weft.cli.engine import Engine
    from weft.cli.output import announce
    from weft.live.master import run
    from weft.live.master_settings import read_master_settings

    settings = read_master_settings(config, given)
    engine = Engine(settings.spark_above, settings.spark_master)
    ending.release()  # a master ends in order, by its event loop
    run(settings, engine, lambda address: announce(f"ready {address}"))
