"""weft design"""

from typing import Annotated, Any, Literal

import typer

from weft.cli import options as o
from weft.cli.output import ConsoleProgress, print_result
from weft.cli.plan import say_need
from weft.errors import WeftError

EXAMPLE = "weft design twitter-10k --overlay swico-sl --seed 1 --out twitter-10k-sl"

Choice = Literal["random", "overlap"]


def design(
    instance: o.InInstance,
    overlay: o.OverlayName,
    out: o.OutOverlay,
    long: Annotated[
        Literal["chord", "random"] | None, typer.Option(metavar="chord|random", help="Long fingers of swico-s.")
    ] = None,
    tie: Annotated[
        Choice | None,
        typer.Option(
            metavar="random|overlap", help="Of links that contribute the same: any, or that of closest interest."
        ),
    ] = None,
    fill: Annotated[
        Choice | None,
        typer.Option(metavar="random|overlap", help="Where no finger contributes: any, or that of closest interest."),
    ] = None,
    phases: o.PhasesOfFingers = None,
    latency: o.Latency = None,
    draw_hosts: o.DrawHosts = False,
    closeness: Annotated[
        float | None, typer.Option(help="How much round-trip times count, from 0. Default: 0.5.")
    ] = None,
    in_degree: Annotated[
        int | None,
        typer.Option(help="How many fingers may point at a node: swico-l, swico-sl, grswico. Default: any number."),
    ] = None,
    arc: Annotated[
        int | None,
        typer.Option(
            help="Nodes of an arc where swico-sl or swico-even is divided; 0: it is not. "
            "Default: 8192 above 131,072 nodes."
        ),
    ] = None,
    partitions: Annotated[int | None, typer.Option(help="Of dc and dcbc. Default: found by Algorithm 5.")] = None,
    partition: Annotated[
        Literal["random", "kmeans", "region"] | None,
        typer.Option(metavar="random|kmeans|region", help="How dc divides the nodes; region goes by --latency."),
    ] = None,
    choose: Annotated[
        Literal["neighbours", "time", "parallel", "elbow"] | None,
        typer.Option(
            metavar="neighbours|time|parallel|elbow",
            help="How many partitions dc and dcbc take: the fewest potential neighbours, the least time, the least "
            "with partitions side by side, or by the elbow of --partition kmeans. Default: neighbours.",
        ),
    ] = None,
    bulk: Annotated[float | None, typer.Option(help="The share of nodes that are bulk in dcbc. Default: 0.2.")] = None,
    eta: Annotated[
        int | None, typer.Option(help="Of dcbc, in place of --bulk: subscriptions of a bulk node at least; 0 is gm.")
    ] = None,
    average_degree: Annotated[float | None, typer.Option(help="Where gm stops. Default: nowhere.")] = None,
    maximum_degree: Annotated[int | None, typer.Option(help="That gm keeps to. Default: none.")] = None,
    diameter: Annotated[
        int | None,
        typer.Option(help="Of gm, dc, dcbc: hops that subscribers of a topic are apart at most. Default: any number."),
    ] = None,
    seed: o.Seed = 1,
    engine: o.Engine = "local",
    master: o.Master = None,
    conf: o.Conf = [],  # noqa: B006
    force: o.Force = False,
    json: o.Json = False,
) -> None:
    """Design an overlay for an instance."""
    from weft.model.instance import read_instance
    from weft.model.latency import placed_latency
    from weft.model.output import claimed
    from weft.model.storage import kept_beside, scratch_folder
    from weft.overlays.catalog import chosen_options
    from weft.overlays.catalog import design as design_here
    from weft.overlays.quality import link_quality

    options: dict[str, Any] = {
        "long": long,
        "tie": tie,
        "fill": fill,
        "phases": phases,
        "closeness": closeness,
        "in_degree": in_degree,
        "arc": arc,
        "partitions": partitions,
        "partition": partition,
        "choose": choose,
        "bulk": bulk,
        "eta": eta,
        "diameter": diameter,
        "average_degree": average_degree,
        "maximum_degree": maximum_degree,
    }
    chosen_options(overlay, {**options, "latency": latency})
    if closeness is not None and latency is None:
        raise WeftError("--closeness says how much round-trip times count: give them with --latency.")
    settings = o.spark_settings(engine, master, conf)
    with claimed(out, inputs=o.given(instance, latency), force=force):
        progress = ConsoleProgress()
        if engine == "spark":
            from weft.pipeline.design import design as design_on_spark
            from weft.pipeline.session import spark_session

            say_need(instance, overlay, {**options, "latency": latency})
            with spark_session(*settings) as spark, scratch_folder(out) as scratch:
                about: dict[str, Any] = {"seed": seed, "kept": kept_beside(out), "latency": latency}
                about["draw_hosts"] = draw_hosts
                made = design_on_spark(spark, instance, overlay, scratch, progress=progress, **about, **options)
        else:
            given = read_instance(instance)
            placed = None
            if latency is not None:
                placed = placed_latency(latency, given.nodes, seed, given.node_names, draw_hosts=draw_hosts)
            with progress.step(f"Designing {overlay}"):
                made = design_here(given, overlay, seed=seed, latency=placed, **options)
        names = None
        if "quality" not in made.meta:
            with progress.step("Measuring it"):
                given = read_instance(instance)
                made = made.with_meta(quality=link_quality(given, made), instance=given.fingerprint)
                names = given.node_names
        made.write(out, force=force, names=names)
    result = {"overlay": str(out), "algorithm": overlay, "seed": seed, "nodes": made.nodes, "links": made.links}
    print_result({**result, "seconds": round(made.meta["seconds"], 3), **made.meta["quality"]}, json)
