"""weft plan"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from weft.cli import options as o
from weft.cli.line import say
from weft.cli.output import print_result
from weft.errors import WeftError
from weft.memory import memory_at_hand

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
    own_cores, own_memory = cores or machine_cores(), memory_at_hand() if memory is None else memory * 1e9
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


def say_need(instance: Path, overlay: str, options: Mapping[str, Any]) -> None:
    """Say what a design on Spark will need before it begins, if it is one that is divided."""
    from weft.model.instance import read_instance_meta
    from weft.pipeline.design import is_in_arcs

    if is_in_arcs(instance, overlay, options):
        meta = read_instance_meta(instance)
        say(told_need("design", meta["nodes"], meta["subscriptions"]), err=True)


def told_need(command: str, nodes: int, subscriptions: int) -> str:
    """What a command will need on this machine, in a sentence."""
    from weft.overlays.arcs.need import need_of

    need = need_of(command, nodes, subscriptions)
    minutes = round(need.seconds(machine_cores()) / 60)
    time = f"{minutes} minutes" if minutes > 1 else "a minute"
    sentence = f"This will take about {time} on {machine_cores()} cores, "
    sentence += f"{need.memory_bytes / 1e9:.1f} GB of memory and {need.disk_bytes / 1e9:.1f} GB of disk"
    if need.memory_bytes < memory_at_hand():
        return f"{sentence}."
    sentence += f": more memory than the {memory_at_hand() / 1e9:.1f} GB at hand"
    return f"{sentence}. Take fewer cores (--master local[1]) or design with a smaller --arc."
