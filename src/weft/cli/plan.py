"""weft plan"""

import os
from pathlib import Path
from typing import Annotated, Any

import typer

from weft.cli import options as o
from weft.cli.output import print_result
from weft.errors import WeftError

EXAMPLE = "weft plan --nodes 3000000 --subscriptions 66000000 --executors 4 --cores 8"


def plan(
    instance: Annotated[
        Path | None, typer.Argument(metavar="INSTANCE", help="Folder of an instance.", show_default=False)
    ] = None,
    nodes: Annotated[int | None, typer.Option(help="Without an instance: its nodes.")] = None,
    subscriptions: Annotated[int | None, typer.Option(help="Without an instance: its subscriptions.")] = None,
    executors: Annotated[int, typer.Option(min=1, help="Machines that tasks run on.")] = 1,
    cores: Annotated[int | None, typer.Option(min=1, help="Of each. Default: those of this machine.")] = None,
    memory: Annotated[float | None, typer.Option(help="Of each, in GB. Default: that of this machine.")] = None,
    json: o.Json = False,
) -> None:
    """Say what a divided design, its trees and 100,000 publications will need: time, memory, disk."""
    from weft.model.instance import read_instance_meta
    from weft.overlays.arcs.need import COMMANDS, need_of

    if instance is not None:
        if nodes is not None or subscriptions is not None:
            raise WeftError("The instance has its nodes and subscriptions: leave out --nodes and --subscriptions.")
        meta = read_instance_meta(instance)
        nodes, subscriptions = meta["nodes"], meta["subscriptions"]
    if nodes is None or subscriptions is None:
        raise WeftError("Name an instance, or give --nodes and --subscriptions.")
    own_cores, own_memory = cores or machine_cores(), machine_memory() if memory is None else memory * 1e9
    needs = [need_of(command, nodes, subscriptions) for command in COMMANDS]
    result: dict[str, Any] = {"nodes": nodes, "subscriptions": subscriptions}
    for need in needs:
        at_once = own_cores if need.command == "evaluate" else executors * own_cores
        result[need.command] = {
            "minutes": round(need.seconds(at_once) / 60, 2),
            "memory_gb": round(need.memory_bytes / 1e9, 2),
            "disk_gb": round(need.disk_bytes / 1e9, 2),
        }
    result["memory_of_a_machine_gb"] = round(own_memory / 1e9, 1)
    result["fits"] = all(need.memory_bytes < own_memory for need in needs)
    print_result(result, json)


def machine_cores() -> int:
    return len(os.sched_getaffinity(0))


def machine_memory() -> float:
    """Bytes of this machine's memory."""
    return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))


def told_need(command: str, nodes: int, subscriptions: int) -> str:
    """What a command will need on this machine, in a sentence."""
    from weft.overlays.arcs.need import need_of

    need = need_of(command, nodes, subscriptions)
    sentence = f"This will take about {need.seconds(machine_cores()) / 60:.0f} minutes on {machine_cores()} cores, "
    sentence += f"{need.memory_bytes / 1e9:.0f} GB of memory and {need.disk_bytes / 1e9:.0f} GB of disk"
    if need.memory_bytes < machine_memory():
        return f"{sentence}."
    return f"{sentence}: more memory than the {machine_memory() / 1e9:.0f} GB of this machine. Take a smaller --arc."
