"""Evaluation on Spark: tasks route the publications on ranges of topics, and the driver adds up what they count.

A task takes the subscribers of its topics from the files of a workshop, and the trees of its topics from theirs; what
the overlay gives it maps as well, so that the workers of a machine share one copy. It writes a few numbers for every
topic that was published on and for every node that had to do with it. So the driver holds what grows with nodes and
topics, and nothing that grows with subscriptions, unless these are few.

By topic, because a router prepares something for each topic that it meets. A range that is alone is done by the driver.
A system, which is simulated whole, is one task.
"""

import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession

from weft.arrays import Int64s, distinct
from weft.kernels.routing.walk import Offsets
from weft.kernels.routing.weave import Links
from weft.model.csr import Csr
from weft.model.forwarding import AS_PRINTED, Forwarding
from weft.model.instance import Instance, read_instance, read_names
from weft.model.latency import latency_for
from weft.model.overlay import neighbours_of, read_overlay, require_made_for
from weft.model.publication import Publications
from weft.model.storage import scratch_folder
from weft.model.tree import read_trees, read_trees_of, require_file_for
from weft.overlays.arcs.workshop import Arrays, Columns, Range, ranges_by
from weft.pipeline.layout import are_few, given_instance
from weft.pipeline.progress import SILENCE, Progress, spark_tasks
from weft.pipeline.task import map_in_tasks
from weft.pipeline.weave import weave_to
from weft.pipeline.workshop import SparkWorkshop
from weft.sim.bulk import evaluate as evaluate_here
from weft.sim.bulk import evaluate_part, require_known
from weft.sim.catalog import require_options, routing
from weft.sim.evaluation import TOPIC_COLUMNS, Counts, Evaluation, with_bytes
from weft.sim.network import Network, bare_network, with_interest
from weft.sim.timed import with_times
from weft.trees.weave import FAN_OUT

NOTHING = Publications(np.empty(0, np.int32), np.empty(0, np.int32))

_OF_NETWORK = ("ids", "node_at", "position_of")
_OFFSETS = ("fingers", "neighbours")


@dataclass(frozen=True, eq=False)
class LaidOut:
    """An instance in a workshop, for evaluations of it."""

    spark: SparkSession
    folder: Path  # of the instance
    instance: Instance  # without names, if its subscriptions are many
    scratch: Path
    workshop: SparkWorkshop
    numbers: Iterator[int] = field(default_factory=count)  # of its evaluations: a step of a workshop is done once


@contextmanager
def laid_out(spark: SparkSession, instance: Path, beside: Path, progress: Progress = SILENCE) -> Iterator[LaidOut]:
    """The instance, for as long as the block lasts. Files are written beside the given one.

    Driver and executors must find both under the same path.
    """
    with scratch_folder(beside) as scratch:
        workshop = SparkWorkshop(spark, scratch / "arrays", {})
        yield LaidOut(spark, instance, given_instance(spark, instance, workshop, progress), scratch, workshop)


def evaluate(
    given: LaidOut,
    overlay: Path,
    router: str,
    publications: Publications,
    *,
    seed: int = 1,
    per_topic: bool = False,
    fan_out: int | None = None,
    latency: str | None = None,
    draw_hosts: bool = False,
    trees: Path | None = None,
    forwarding: Forwarding = AS_PRINTED,
    progress: Progress = SILENCE,
) -> Evaluation:
    """Evaluate as `weft.evaluate` does; the seed also places the nodes on the hosts of the latencies.

    The overlay, and the file of trees, must lie where driver and executors find them under the same path.
    """
    require_options(router, fan_out, trees is not None)
    instance, links = given.instance, read_overlay(overlay)
    require_made_for(instance, links)
    require_known(publications, instance.nodes, instance.topics)
    names = None if latency is None else read_names(given.folder, "node")
    placed = None if latency is None else latency_for(links, latency, seed, names, draw_hosts=draw_hosts)
    started = perf_counter()
    if routing(router).has_trees and trees is None:
        trees = given.scratch / "trees.parquet"
        about = {
            "fan_out": FAN_OUT if fan_out is None else fan_out,
            "latency": latency,
            "seed": seed,
            "draw_hosts": draw_hosts,
        }
        kept = given.scratch / "weave"
        weave_to(given.spark, given.folder, overlay, trees, kept, force=True, progress=progress, **about)
    network = bare_network(links, instance.topics, forwarding, has_trees=trees is not None)
    if trees is not None:
        trees = trees.absolute()  # Spark may have another working folder
        require_file_for(trees, instance, links)
        neighbours = neighbours_of(links)
        given.workshop.put(neighbour_start=neighbours.indptr, neighbour=neighbours.indices)
    step = progress.step(f"Routing {len(publications):,} publications by {router}", spark_tasks(given.spark))
    with step:
        counts, entries = _counted(given, network, router, publications, seed, trees)
    result = Evaluation.from_counts(
        counts,
        router=router,
        overlay=network.overlay,
        seconds=perf_counter() - started,
        most_links=network.most_links,
        entries=None if trees is None else entries,
        forwarding=forwarding if trees is None else None,
    )
    result = with_bytes(result, instance, per_topic)
    if placed is None:
        return result
    with progress.step("Timing deliveries"):
        woven = None if trees is None else read_trees(trees, instance, links)
        return with_times(result, instance, links, placed, publications, seed=seed, trees=woven)


def evaluate_whole(
    spark: SparkSession,
    instance: Path,
    overlay: Path | None,
    router: str,
    publications: Publications,
    *,
    seed: int = 1,
    per_topic: bool = False,
    fan_out: int | None = None,
    latency: str | None = None,
    draw_hosts: bool = False,
    progress: Progress = SILENCE,
) -> Evaluation:
    """Evaluate a system in one task of Spark; the folders must lie where the executors find them."""
    folder, links = instance.absolute(), None if overlay is None else overlay.absolute()

    def compute(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            given, built = read_instance(folder), None if links is None else read_overlay(links)
            placed = None
            if latency is not None:
                placed = latency_for(built or given, latency, seed, given.node_names, draw_hosts=draw_hosts)
            options: dict[str, Any] = {"seed": seed, "per_topic": per_topic, "fan_out": fan_out, "latency": placed}
            result = evaluate_here(given, built, router, publications, **options)
            yield pa.RecordBatch.from_pydict({"result": [pickle.dumps(result)]})

    with progress.step(f"Routing {len(publications):,} publications by {router}", spark_tasks(spark)):
        (row,) = map_in_tasks(spark.range(1, numPartitions=1), compute, "result BINARY").collect()
    result: Evaluation = pickle.loads(row.result)
    return result


def _counted(
    given: LaidOut, network: Network, router: str, publications: Publications, seed: int, trees: Path | None
) -> tuple[Counts, Int64s]:
    """Counts of all publications, and of every node the entries of its tables."""
    workshop, order = given.workshop, np.argsort(publications.topics, kind="stable")
    workshop.put(said_topic=publications.topics[order], said_node=publications.nodes[order])
    about = _put_network(workshop, network)
    work = partial(_count_range, about=about, router=router, seed=seed, trees=trees)
    workshop.run(f"count-{next(given.numbers)}", work, _ranges(given.instance, publications, trees))
    return _added(workshop.arrays, network.nodes, network.topics)


def _ranges(instance: Instance, publications: Publications, trees: Path | None) -> list[Range]:
    """Ranges of topics that cost about the same: a publication costs what its topic has subscribers, a tree as well.

    A publication over a tree is a few additions: if trees are few, these are not worth sending away.
    """
    if trees is not None and are_few(instance.subscriptions):
        return [(0, instance.topics)]
    said = np.bincount(publications.topics, minlength=instance.topics)
    return ranges_by((instance.subscribers.counts + 1) * (said + (trees is not None)))


def _put_network(workshop: SparkWorkshop, network: Network) -> dict[str, Any]:
    """Put the arrays of a network without subscribers into a workshop; the rest of it."""
    workshop.put(**{name: getattr(network, name) for name in _OF_NETWORK})
    workshop.put(link_start=network.links.indptr, link_end=network.links.ends)
    for name in _OFFSETS:
        offsets: Offsets = getattr(network, name)
        workshop.put(**{f"{name}_values": offsets.values, f"{name}_starts": offsets.starts})
    return {name: getattr(network, name) for name in ("overlay", "ring_size", "most_links", "forwarding")}


def _network_in(arrays: Arrays, subscribers: Csr, about: dict[str, Any]) -> Network:
    links = Links(arrays["link_start"], arrays["link_end"])
    given = {**about, **{name: arrays[name] for name in _OF_NETWORK}}
    given |= {name: Offsets(arrays[f"{name}_values"], arrays[f"{name}_starts"]) for name in _OFFSETS}
    return Network(subscribers=subscribers, links=links, **given)


def _count_range(
    arrays: Arrays, low: int, high: int, *, about: dict[str, Any], router: str, seed: int, trees: Path | None
) -> Columns:
    """Figures of the topics that were published on, and of the nodes that had to do with it."""
    said = slice(*np.searchsorted(arrays["said_topic"], [low, high]))
    publications = Publications(arrays["said_topic"][said], arrays["said_node"][said])
    nodes, topics = len(arrays["ids"]), distinct(publications.topics)
    wanted = topics if trees is None else np.arange(low, high)
    subscribers = Csr(arrays["given_topic_start"], arrays["given_topic_node"], nodes).only(wanted)
    part = Instance(subscribers.transpose(), given_subscribers=subscribers)
    woven = None
    if trees is not None:
        woven = read_trees_of(trees, (low, high), part, Csr(arrays["neighbour_start"], arrays["neighbour"], nodes))
    network = with_interest(_network_in(arrays, subscribers, about), part.interest, woven)
    counts = evaluate_part(network, router, publications, seed=seed, per_topic=True)
    entries = np.zeros(nodes, np.int64) if woven is None else woven.entries
    busy = np.flatnonzero(counts.sent + counts.received + entries)
    averages = np.asarray(counts.averages)[None, :]
    of_topics = {"topic": topics, "figures": np.asarray(counts.topics)[topics], "averages": averages}
    of_nodes = {"sent": counts.sent[busy], "received": counts.received[busy], "entries": entries[busy]}
    return {**of_topics, "node": busy, **of_nodes}


def _added(arrays: Arrays, nodes: int, topics: int) -> tuple[Counts, Int64s]:
    """Counts of all ranges together: a topic is in one of them, a node in many."""
    figures = np.zeros((topics, len(TOPIC_COLUMNS)), np.int64)
    figures[arrays["topic"]] = arrays["figures"]
    sent, received, entries = (np.zeros(nodes, np.int64) for _ in range(3))
    for name, numbers in (("sent", sent), ("received", received), ("entries", entries)):
        np.add.at(numbers, arrays["node"], arrays[name])
    sums, longest = figures[:, :-1].sum(axis=0).tolist(), int(figures[:, -1].max(initial=0))
    totals = dict(zip(TOPIC_COLUMNS, [*sums, longest], strict=True))
    averages = arrays["averages"].sum(axis=0)
    return Counts(**totals, sent=sent, received=received, topics=figures, averages=averages), entries
