"""weft up"""

from pathlib import Path
from typing import Annotated, Literal

import typer

EXAMPLE = "weft up --nodes 16"


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
        typer.Option(help="Port of the first node's metrics; the others' follow.", show_default=False),
    ] = None,
    logs: Annotated[bool, typer.Option("--logs", help="Let all processes log.")] = False,
) -> None:
    """Run a master and nodes on this machine's loopback. It prints `ready` when clients can connect; Ctrl-C ends it."""
    from weft import ending
    from weft.live.fleet import Fleet, run

    ending.release()  # it ends its processes in order
    run(Fleet(nodes, port, data, sync, http, logs), _print_ready)


def _print_ready(rows: list[tuple[str, str]], master: str) -> None:
    width = max(len(name) for name, _ in rows)
    for name, address in rows:
        typer.echo(f"{name:<{width}}  {address}")
    typer.echo(f"{'master':<{width}}  {master}")
    typer.echo(f"ready {len(rows)} nodes; try: weft status --master {master}")
