"""weft weave"""

import time
from pathlib import Path
from typing import Annotated, Any

import typer

from weft.cli import options as o
from weft.cli.output import ConsoleProgress, print_result

EXAMPLE = "weft weave twitter-10k twitter-10k-sl --fan-out 16 --out twitter-10k-trees.parquet"


def weave(
    instance: o.InInstance,
    overlay: o.InOverlay,
    out: Annotated[Path, typer.Option(help="File for the trees.", show_default=False)],
    fan_out: o.FanOut = None,
    load_weight: o.LoadWeight = None,
    rates: o.Rates = None,
    latency: o.Latency = None,
    draw_hosts: o.DrawHosts = False,
    seed: o.Seed = 1,
    engine: o.Engine = "local",
    master: o.Master = None,
    conf: o.Conf = [],  # noqa: B006
    force: o.Force = False,
    json: o.Json = False,
) -> None:
    """Weave a tree of the overlay's links for every topic, for the router weave. The seed places nodes on hosts."""
    from weft.model.instance import read_instance
    from weft.model.latency import latency_for
    from weft.model.output import claimed
    from weft.model.overlay import read_overlay, require_made_for
    from weft.model.storage import kept_beside
    from weft.raw.traffic import read_topic_rates
    from weft.trees.load import LOAD_WEIGHT, require_load_weight
    from weft.trees.weave import FAN_OUT, figures, require_fan_out
    from weft.trees.weave import weave as weave_here

    bound = FAN_OUT if fan_out is None else fan_out
    require_fan_out(bound)
    weight = LOAD_WEIGHT if load_weight is None else load_weight
    require_load_weight(weight)
    settings = o.spark_settings(engine, master, conf)
    with claimed(out, inputs=o.given(instance, overlay, latency, rates), force=force):
        options: dict[str, Any] = {"fan_out": bound, "load_weight": weight}
        progress, start = ConsoleProgress(), time.perf_counter()
        if engine == "spark":
            from weft.pipeline.session import spark_session
            from weft.pipeline.weave import weave_to

            with spark_session(*settings) as spark:
                options |= {"rates": None if rates is None else str(rates), "latency": latency, "seed": seed}
                options |= {"draw_hosts": draw_hosts, "force": force, "progress": progress}
                result = weave_to(spark, instance, overlay, out, kept_beside(out), **options)
        else:
            made, built = read_instance(instance), read_overlay(overlay)
            require_made_for(made, built)
            placed = None
            if latency is not None:
                placed = latency_for(built, latency, seed, made.node_names, draw_hosts=draw_hosts)
            by_topic = None if rates is None else read_topic_rates(rates, made)
            with progress.step(f"Weaving {made.topics:,} topics"):
                trees = weave_here(made, built, rates=by_topic, latency=placed, **options)
            trees.write(out, force=force)
            result = figures(made, trees)
        seconds = round(time.perf_counter() - start, 3)
    print_result({"file": str(out), "fan_out": bound, "load_weight": weight, "seconds": seconds, **result}, json)
