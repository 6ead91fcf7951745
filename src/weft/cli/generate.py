"""weft generate"""

from typing import Annotated, Any, Literal

import typer

from weft.cli import options as o
from weft.cli.output import ConsoleProgress, print_result

EXAMPLE = "weft generate zipf --nodes 1000 --topics 500 --subscriptions 20 --out zipf-1k"


def generate(
    workload: Annotated[
        Literal["unif", "zipf", "expo", "random", "low", "high", "social", "independent"],
        typer.Argument(
            metavar="unif|zipf|expo|random|low|high|social|independent",
            help="See docs/workloads.md.",
            show_default=False,
        ),
    ],
    nodes: Annotated[int, typer.Option(help="How many nodes.", show_default=False)],
    out: o.OutInstance,
    topics: Annotated[int | None, typer.Option(help="How many topics; a social instance has one a node.")] = None,
    subscriptions: Annotated[
        float | None, typer.Option(help="Subscriptions a node (the mean, if social or independent).")
    ] = None,
    exponent: Annotated[float | None, typer.Option(help="Of zipf. Default: 2.0.")] = None,
    rate: Annotated[float | None, typer.Option(help="Of expo. Default: 10.")] = None,
    buckets: Annotated[int | None, typer.Option(help="Into which low and high divide the topics. Default: 20.")] = None,
    picked: Annotated[int | None, typer.Option(help="Buckets a node picks. Default: 5 for low, 2 for high.")] = None,
    popularity: Annotated[
        Literal["unif", "zipf", "expo"] | None,
        typer.Option(metavar="unif|zipf|expo", help="Of independent: how popular topics are. Default: unif."),
    ] = None,
    like: Annotated[
        Literal["twitter", "facebook", "twitter-crawl", "facebook-crawl"] | None,
        typer.Option(
            metavar="twitter|facebook|twitter-crawl|facebook-crawl",
            help="What social resembles: ego networks, or samples of a whole site. Default: twitter.",
        ),
    ] = None,
    reciprocity: Annotated[float | None, typer.Option(help="Of social: the share of follows that are mutual.")] = None,
    seed: o.Seed = 1,
    engine: o.Engine = "local",
    master: o.Master = None,
    conf: o.Conf = [],  # noqa: B006
    force: o.Force = False,
    json: o.Json = False,
) -> None:
    """Make an instance: a workload by name, size and seed."""
    from weft.model.output import claimed
    from weft.workloads.catalog import generate as generate_locally
    from weft.workloads.catalog import workload as checked

    options: dict[str, Any] = {
        "topics": topics,
        "subscriptions": int(subscriptions) if subscriptions and subscriptions.is_integer() else subscriptions,
        "exponent": exponent,
        "rate": rate,
        "buckets": buckets,
        "picked": picked,
        "popularity": popularity,
        "like": like,
        "reciprocity": reciprocity,
    }
    checked(workload, nodes=nodes, **options)
    settings = o.spark_settings(engine, master, conf)
    with claimed(out, force=force):
        if engine == "spark":
            from weft.pipeline.generate import generate as generate_on_spark
            from weft.pipeline.session import spark_session

            with spark_session(*settings) as spark:
                size: dict[str, Any] = {"nodes": nodes, "seed": seed, "force": force, "progress": ConsoleProgress()}
                counts = generate_on_spark(spark, workload, out, **size, **options)
        else:
            instance = generate_locally(workload, nodes=nodes, seed=seed, **options)
            instance.write(out, force=force)
            counts = instance.counts
    print_result({"instance": str(out), **counts}, json)
