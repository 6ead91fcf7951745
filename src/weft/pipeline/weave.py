"""Weave's trees on Spark: tasks weave ranges of topics, by the same kernels as `weft.trees.weave`.

A job is a batch of topics, at the prices that the batches before left. Its tasks read the links, the subscribers of
their topics and the prices from the files of a workshop, write trees there, and beside them what each node sends for
these; the driver adds that up, file by file, for the prices of the next batch. Small batches it weaves itself.
"""

import shutil
import tempfile
from collections.abc import Mapping
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from weft.arrays import Floats, Int64s
from weft.model.csr import Csr
from weft.model.instance import Instance, named_in, read_names
from weft.model.latency import placed_latency
from weft.model.overlay import read_overlay, require_made_for
from weft.model.publisher import Publishers
from weft.model.storage import file_meta, new_path
from weft.model.tree import NO_PARENT, Trees
from weft.overlays.arcs.workshop import Array, Arrays, Columns, ranges_by
from weft.pipeline.layout import are_few, given_instance
from weft.pipeline.progress import SILENCE, Progress
from weft.pipeline.workshop import SparkWorkshop
from weft.raw.traffic import read_topic_rates
from weft.trees.load import LOAD_WEIGHT, Agenda, Load, Range, in_order, mean_received, publisher_starts, topic_order
from weft.trees.ring_order import RingOrder, ring_order
from weft.trees.weave import FAN_OUT, Mesh, Strand, making, mesh_of, require_fan_out, require_whole, strand, trees_of

FEW = 100_000  # subscriptions of a batch that the driver weaves in less time than a job takes to start
ROWS = 1_000_000  # that are written at a time, about

PARTS = ("sizes", "parts", "members", "parents", "senders", "sent")


class Woven(NamedTuple):
    workshop: SparkWorkshop
    agenda: Agenda
    order: RingOrder
    batches: int
    topics: int
    nodes: int
    subscriptions: int
    meta: Mapping[str, Any]

    def strand(self, batch: int) -> Strand:
        return Strand(*(self.workshop.arrays[f"{part}-{batch}"] for part in PARTS))


def weave(spark: SparkSession, instance: Path, overlay: Path, **options: Any) -> Trees:
    """Trees in memory; the options are those of `_weave_in`."""
    with tempfile.TemporaryDirectory(dir=overlay.absolute().parent, prefix=".weave-") as folder:
        woven = _weave_in(spark, instance, overlay, Path(folder) / "arrays", **options)
        strands = [woven.strand(batch) for batch in range(woven.batches)]
        return trees_of(woven.agenda, woven.order, woven.topics, strands).with_meta(**woven.meta)


def weave_to(
    spark: SparkSession, instance: Path, overlay: Path, out: Path, kept: Path, *, force: bool = False, **options: Any
) -> dict[str, Any]:
    """Write the trees, batch after batch, to a file; what they come to. A killed run goes on with what is `kept`."""
    woven = _weave_in(spark, instance, overlay, kept, **options)
    with new_path(out, force=force) as partial_file:
        figures = _write(woven, partial_file)
    times = [seconds for step in woven.workshop.times.values() for seconds in step]
    shutil.rmtree(kept)
    return {**figures, "task_seconds": round(sum(times), 1), "longest_task_seconds": max(times, default=0.0)}


def _weave_in(
    spark: SparkSession,
    instance: Path,
    overlay: Path,
    folder: Path,
    *,
    fan_out: int = FAN_OUT,
    load_weight: float = LOAD_WEIGHT,
    rates: str | None = None,
    latency: str | None = None,
    seed: int = 1,
    draw_hosts: bool = False,
    progress: Progress = SILENCE,
) -> Woven:
    """Rates and latencies are files; the seed places the nodes on the hosts of the latencies.

    All must lie where driver and executors find them under the same path.
    """
    require_fan_out(fan_out)
    files = [str(path) for path in (instance, overlay, rates, latency) if path is not None]
    stamps = [(Path(file) / "meta.json" if Path(file).is_dir() else Path(file)).stat().st_mtime_ns for file in files]
    key = {"files": files, "stamps": stamps, "fan_out": fan_out, "load_weight": load_weight, "seed": seed}
    key["draw_hosts"] = draw_hosts
    workshop = SparkWorkshop(spark, folder, key, progress)
    given, links = given_instance(spark, instance, workshop, progress), read_overlay(overlay)
    require_made_for(given, links)
    by_topic = None if rates is None else read_topic_rates(rates, named_in(given, instance))
    names = None if latency is None else read_names(instance, "node")
    placed = None if latency is None else placed_latency(latency, links.nodes, seed, names, draw_hosts=draw_hosts)
    order, mesh = ring_order(links), mesh_of(links, placed)
    _put_mesh(workshop, mesh.ranked(order))
    workshop.put(rank=order.ranks, hop=np.array([mesh.hop]))
    agenda = _put_agenda(workshop, given, load_weight, by_topic)
    load = Load(agenda)
    for number, batch in enumerate(agenda.batches):
        workshop.put(prices=load.prices)
        _weave_batch(workshop, agenda, number, batch, fan_out)
        load.add(workshop.arrays[f"senders-{number}"], workshop.arrays[f"sent-{number}"])
        require_whole(agenda, _parts_of(workshop, number, batch, len(agenda.topics)))
    meta = making(given, links, fan_out, load_weight, by_topic, placed)
    counts = len(agenda.batches), given.topics, given.nodes, given.subscriptions
    return Woven(workshop, agenda, order, *counts, meta)


def _put_mesh(workshop: SparkWorkshop, mesh: Mesh) -> None:
    neighbours = mesh.neighbours
    workshop.put(link_start=neighbours.indptr, link_node=neighbours.indices, link_cost=mesh.costs)


def _put_agenda(workshop: SparkWorkshop, instance: Instance, load_weight: float, rates: Floats | None) -> Agenda:
    counts = np.diff(workshop.arrays["given_topic_start"])
    order, by_topic = topic_order(counts, instance.publishers, load_weight, rates)
    known = in_order(instance.publishers, order, instance.topics)
    starts, own_rates = np.append(0, np.cumsum(counts[order])), by_topic[order]
    workshop.put(order=order, order_start=starts, rates=own_rates)
    workshop.put(publisher_node=workshop.arrays["rank"][known.nodes], publisher_topic=known.topics)
    workshop.put(publisher_rate=known.rates, publisher_start=publisher_starts(known, len(order)))
    mean = mean_received(own_rates, counts[order], instance.nodes)
    workshop.put(form=np.array([instance.nodes, mean, load_weight]))
    if are_few(counts.sum()):
        workshop.run_here("agenda", _in_order, [(0, len(order))])
    else:
        workshop.run("agenda", _in_order, ranges_by(counts[order] + 1))
    return _agenda_in(workshop.arrays)


def _in_order(arrays: Arrays, first: int, last: int) -> Columns:
    given = Csr(arrays["given_topic_start"], arrays["given_topic_node"], 0)
    return {"order_node": arrays["rank"][given.take(arrays["order"][first:last]).indices]}


def _agenda_in(arrays: Arrays) -> Agenda:
    nodes, mean, load_weight = arrays["form"].tolist()
    subscribers = Csr(arrays["order_start"], arrays["order_node"], int(nodes))
    publishers = Publishers(*(arrays[f"publisher_{name}"] for name in ("node", "topic", "rate")))
    starts = arrays["publisher_start"]
    return Agenda(arrays["order"], subscribers, arrays["rates"], publishers, starts, mean, load_weight)


def _weave_batch(workshop: SparkWorkshop, agenda: Agenda, number: int, batch: Range, fan_out: int) -> None:
    tasks = agenda.tasks(batch)
    work = partial(_weave_tasks, tasks=tasks, number=number, fan_out=fan_out)
    indptr = agenda.subscribers.indptr
    if indptr[batch[1]] - indptr[batch[0]] < FEW:
        workshop.run_here(f"weave-{number}", work, [(0, len(tasks))])
    else:
        workshop.run(f"weave-{number}", work, list(pairwise(range(len(tasks) + 1))))


def _weave_tasks(
    arrays: Arrays, first: int, last: int, *, tasks: list[list[Range]], number: int, fan_out: int
) -> Columns:
    """Trees of some tasks of a batch."""
    agenda, prices = _agenda_in(arrays), arrays["prices"]
    links = Csr(arrays["link_start"], arrays["link_node"], agenda.subscribers.columns)
    mesh = Mesh(links, arrays["link_cost"], float(arrays["hop"][0]))
    woven = strand(mesh, agenda, prices, fan_out, [each for task in tasks[first:last] for each in task])
    return {f"{part}-{number}": getattr(woven, part) for part in PARTS}


def _parts_of(workshop: SparkWorkshop, number: int, batch: Range, topics: int) -> Array:
    """Parts of all topics, where those of a batch are known."""
    parts = np.ones(topics, np.int32)
    parts[slice(*batch)] = workshop.arrays[f"parts-{number}"]
    return parts


def _write(woven: Woven, path: Path) -> dict[str, Any]:
    entries, places = np.zeros(woven.nodes, np.int64), _places_of(woven)
    schema = pa.schema({"topic": pa.int64(), "node": pa.int64(), "parent": pa.int64()}, file_meta(woven.meta))
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        for topics in ranges_by(places.sizes, max(1, int(places.sizes.sum()) // ROWS)):
            table, linked = _rows(woven, places, topics, schema)
            writer.write_table(table)
            entries += np.bincount(np.concatenate(linked), minlength=woven.nodes)
    members = int(places.sizes.sum())
    return {
        "trees": int(np.count_nonzero(places.sizes)),
        "members": members,
        "relays": members - woven.subscriptions,
        "largest_tree": int(places.sizes.max(initial=0)),
        "table_entries_a_node": float(entries.mean()),
        "most_table_entries": int(entries.max(initial=0)),
    }


class Places(NamedTuple):
    """Where the tree of each topic is: how many members, in which batch, from which of its members on."""

    sizes: Int64s
    batches: Int64s
    starts: Int64s


def _places_of(woven: Woven) -> Places:
    places, first = Places(*(np.zeros(woven.topics, np.int64) for _ in Places._fields)), 0
    for batch in range(woven.batches):
        sizes = np.asarray(woven.strand(batch).sizes, np.int64)
        topics = woven.agenda.topics[first : first + len(sizes)]
        places.sizes[topics], places.batches[topics], places.starts[topics] = sizes, batch, np.cumsum(sizes) - sizes
        first += len(sizes)
    return places


def _rows(woven: Woven, places: Places, topics: Range, schema: pa.Schema) -> tuple[pa.Table, tuple[Array, Array]]:
    """Rows of the trees of a range of topics, and the nodes at both ends of their links."""
    sizes, batches, starts = (column[slice(*topics)] for column in places)
    indptr = np.append(0, np.cumsum(sizes))
    ranks, parents = (np.empty(indptr[-1], np.int32) for _ in range(2))
    for batch in np.unique(batches[sizes > 0]).tolist():
        made, among = woven.strand(batch), np.flatnonzero(batches == batch)
        there, here = (_spans(first[among], sizes[among]) for first in (starts, indptr[:-1]))
        ranks[here], parents[here] = made.members[there], made.parents[there]
    members = woven.order.nodes[ranks]
    root = parents == NO_PARENT
    above = members[np.repeat(indptr[:-1], sizes) + np.where(root, 0, parents)].astype(np.int64)
    topic = np.repeat(np.arange(*topics), sizes)
    arrays = [pa.array(topic), pa.array(members.astype(np.int64)), pa.array(above, mask=root)]
    return pa.Table.from_arrays(arrays, schema=schema), (members[~root], above[~root])


def _spans(starts: Int64s, sizes: Int64s) -> Int64s:
    """Numbers from each start on, as many as its size."""
    before = np.cumsum(sizes) - sizes
    spans: Int64s = np.repeat(starts - before, sizes) + np.arange(sizes.sum())
    return spans
