"""weft export"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from weft.cli import options as o
from weft.cli.line import say
from weft.cli.output import ConsoleProgress, print_result
from weft.cli.trees import trees_of
from weft.errors import WeftError

if TYPE_CHECKING:
    from weft.fleet.change import Change

EXAMPLE = "weft export plan --instance fleet/instance --to mosquitto --brokers brokers.csv --out bridges"

To = Literal["mosquitto", "zenoh", "graphml", "dot", "json"]


def export(
    overlay: o.InOverlay,
    instance: Annotated[Path, typer.Option(help="The instance that the overlay is for.", show_default=False)],
    to: Annotated[To, typer.Option(metavar="mosquitto|zenoh|graphml|dot|json", help="For whom.", show_default=False)],
    out: Annotated[
        Path,
        typer.Option(help="Folder of configurations (mosquitto, zenoh), or file of the graph.", show_default=False),
    ],
    brokers: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="CSV: name,host,port, and how to log in; for mosquitto and zenoh."),
    ] = None,
    trees: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Of weft weave. Default: trees.parquet in or beside OVERLAY, else new ones."),
    ] = None,
    latency: o.Latency = None,
    draw_hosts: o.DrawHosts = False,
    seed: o.Seed = 1,
    fan_out: o.FanOut = None,
    qos: Annotated[int, typer.Option(min=0, max=2, help="Of bridges, at most; publications keep a lower one.")] = 1,
    wildcards: Annotated[
        bool, typer.Option(help="Shorten lists of topics by prefix/# where that adds nothing.")
    ] = True,
    old: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="The exported plan that runs: tells what changes, and in which order."),
    ] = None,
    keep: Annotated[
        bool,
        typer.Option("--keep", help="Of the --old plan, keep the trees and change only what new subscriptions need."),
    ] = False,
    force: o.Force = False,
    json: o.Json = False,
) -> None:
    """Write a plan for brokers that you run already: bridges along the trees of the overlay, and nothing else."""
    from weft.fleet.broker import read_brokers, require_brokers
    from weft.fleet.export import read_kept, write_mosquitto
    from weft.fleet.graph import write_graph
    from weft.fleet.plan import plan_of
    from weft.fleet.zenoh import write_zenoh
    from weft.model.instance import read_instance
    from weft.model.output import claimed
    from weft.model.overlay import read_overlay

    if brokers is None and to in ("mosquitto", "zenoh"):
        raise WeftError(f"--to {to} needs addresses: give --brokers, a CSV file of name,host,port.")
    if old is not None and to != "mosquitto":
        raise WeftError("--old compares plans for Mosquitto: give it with --to mosquitto.")
    if keep and (old is None or trees is not None):
        raise WeftError("--keep keeps the trees of a plan: give the plan with --old, and leave --trees out.")
    if trees is not None and fan_out is not None:
        raise WeftError("--fan-out is for trees that are woven here, and --trees gives them: leave one out.")
    with claimed(out, inputs=o.given(overlay, instance, brokers, trees, latency, old), force=force):
        made, built = read_instance(instance), read_overlay(overlay)
        if built.nodes != made.nodes:
            raise WeftError(
                f"{overlay} has {built.nodes} brokers and {instance} has {made.nodes}: design a new overlay."
            )
        names = list(map(made.node_name, range(made.nodes)))
        known = {} if brokers is None else read_brokers(brokers)
        if brokers is not None:
            require_brokers(names, known, str(brokers))
        with ConsoleProgress().step("Planning bridges"):
            woven, source = trees_of(trees, overlay, made, built, latency, seed, fan_out, draw_hosts=draw_hosts)
            kept = read_kept(old, names) if keep and old is not None else None
            plan = plan_of(made, built, woven, qos=qos, wildcards=wildcards, kept=kept)
        changes = None
        if to == "mosquitto":
            changes = write_mosquitto(plan, known, out, old=old, force=force)
        elif to == "zenoh":
            write_zenoh(plan, known, out, force=force)
        else:
            write_graph(plan, to, out, force=force)
    print_result({"out": str(out), "trees": source, **plan.figures, **_figures(changes)}, json)
    if changes is not None and not json:
        say("")
        for number, step in enumerate(changes.steps, 1):
            say(f"{number}. {step}")


def _figures(changes: "Change | None") -> dict[str, Any]:
    if changes is None:
        return {}
    return {
        "changed_configurations": list(changes.changed),
        "restart_alone": list(changes.alone),
        "restart_together": [list(group) for group in changes.groups],
        "moved_topics": len(changes.moved),
        "sessions_to_remove": [list(each) for each in changes.forgotten],
    }
