"""weft up"""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from weft.cli import options as o
from weft.cli.line import say

if TYPE_CHECKING:
    from weft.live.fleet import Row

EXAMPLE = "weft up --nodes 16"

PRELOAD = ["weft.cli", "weft.live.node", "uvloop"]  # what a node needs


def up(
    nodes: Annotated[int, typer.Option(help="Nodes.", min=1, max=500)] = 3,
    port: Annotated[
        int, typer.Option(help="MQTT port of the first node; the others' and then the master's follow.", min=1)
    ] = 1883,
    data: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder that keeps their state.", show_default=False)
    ] = None,
    sync: Annotated[
        Literal["disk", "process", "none"],
        typer.Option(metavar="disk|process|none", help="What an acknowledgement outlives, as of `weft node`."),
    ] = "disk",
    http: Annotated[
        int | None,
        typer.Option(help="Port of the first node's metrics; the others' follow.", min=1, show_default=False),
    ] = None,
    logs: Annotated[bool, typer.Option("--logs", help="Let all processes log.")] = False,
    json: o.Json = False,
) -> None:
    """Run a master and nodes on this machine's loopback. It prints `ready` when clients can connect; Ctrl-C ends it."""
    from weft import ending
    from weft.live.fleet import Fleet, run

    ending.release()  # it ends its processes in order
    fleet = Fleet(nodes, port, data, sync, http, logs)
    run(fleet, start_master, start_node, PRELOAD, _print_json if json else _print_table)


def start_master(given: dict[str, Any], ready: Callable[[str], None]) -> None:
    from weft.cli.engine import Engine
    from weft.live.master import run
    from weft.live.master_settings import read_master_settings

    settings = read_master_settings(None, given)
    run(settings, Engine(settings.spark_above, settings.spark_master), lambda _: ready(""))


def start_node(given: dict[str, Any], ready: Callable[[str], None]) -> None:
    from weft import __version__
    from weft.live.node import run
    from weft.live.settings import read_settings

    run(read_settings(None, given), lambda _: ready(""), __version__)


def _print_table(rows: "list[Row]") -> None:
    width, wide = max(len(row.name) for row in rows), max(len(row.address) for row in rows)
    for row in rows:
        say(f"{row.name:<{width}}  {row.address:<{wide}}  process {row.pid}")
    say(f"ready {len(rows) - 1} nodes; try: weft status --master {rows[-1].address}")


def _print_json(rows: "list[Row]") -> None:
    """One object, behind the line that scripts wait for."""
    from json import dumps

    say(dumps([{"name": row.name, "address": row.address, "pid": row.pid} for row in rows]))
    say("ready")
