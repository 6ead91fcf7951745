"""Sampling: what a sample is (against networkx), and the same sample in memory and on Spark."""

from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from weft.errors import WeftError
from weft.model.instance import Instance, instance_from_pairs, read_instance
from weft.model.priority import priority
from weft.pipeline.sample import sample as sample_on_spark
from weft.workloads.sample import SEEDS, Method, Sampling, sample

graphs = st.lists(
    st.tuples(st.integers(0, 24), st.integers(0, 24)).filter(lambda e: e[0] != e[1]), min_size=5, max_size=60
)


def social(edges: list[tuple[int, int]], nodes: int = 25) -> Instance:
    sources, targets = zip(*edges, strict=True)
    return instance_from_pairs(sources, targets, node_count=nodes, topic_count=nodes, social=True)


def old_ids(names: object) -> list[int]:
    assert isinstance(names, np.ndarray)
    return [int(name) for name in names]


def edges_of(instance: Instance) -> set[tuple[int, int]]:
    nodes, topics = old_ids(instance.node_names), old_ids(instance.topic_names)
    rows = instance.interest.row_of_each()
    return {(nodes[v], topics[t]) for v, t in zip(rows, instance.interest.indices, strict=True)}


def collected(steps: nx.Graph | nx.DiGraph, wanted: int, seed: int, seeds: int) -> set[int]:
    """Level by level from the first seeds, then from twice as many of what is left, and so on; a level may be cut."""
    in_order = sorted(steps, key=lambda v: int(priority(seed, [v])[0]))
    found: set[int] = set()
    frontier: set[int] = set()
    while len(found) < wanted:
        if not frontier:
            frontier, seeds = set([v for v in in_order if v not in found][:seeds]), 2 * seeds
        found.update([v for v in in_order if v in frontier][: wanted - len(found)])
        frontier = {w for v in frontier for w in steps[v]} - found
    return found


def refined(follows: nx.DiGraph, nodes: set[int]) -> set[int]:
    among = follows.subgraph(nodes)
    fine = {v for v in nodes if among.in_degree(v) and among.out_degree(v)}
    return fine if fine == nodes else refined(follows, fine)


def assert_nothing_is_left(instance: Instance, sampling: Sampling) -> None:
    with pytest.raises(WeftError, match="Nothing is left of the sample"):
        sample(instance, sampling)


@settings(deadline=None)
@given(graphs, st.integers(1, 25), st.integers(0, 5), st.integers(1, 3))
def test_a_bfs_sample_is_a_ball_of_the_graph_with_all_its_edges(
    edges: list[tuple[int, int]], nodes: int, seed: int, seeds: int
) -> None:
    instance = social(edges)
    graph = nx.Graph(edges)
    graph.add_nodes_from(range(25))
    chosen, sampling = collected(graph, nodes, seed, seeds), Sampling(nodes, "bfs", seed, seeds)
    if not graph.subgraph(chosen).edges:
        return assert_nothing_is_left(instance, sampling)
    found = sample(instance, sampling)
    assert set(old_ids(found.node_names)) == chosen
    assert len(chosen) == found.nodes == found.topics == nodes
    assert edges_of(found) == {(u, v) for u, v in edges if u in chosen and v in chosen}
    # Levels fill in turn: from the first seeds, all nearer nodes are in, and none is farther than the last level.
    first = sorted(range(25), key=lambda v: int(priority(seed, [v])[0]))[: min(seeds, nodes)]
    assert set(first) <= chosen
    distance = nx.multi_source_dijkstra_path_length(graph, set(first))
    reached = [distance[v] for v in chosen if v in distance]
    if len(distance) > nodes:
        assert len(reached) == nodes
        assert {v for v, d in distance.items() if d < max(reached)} <= chosen
    else:
        assert set(distance) <= chosen
    return None


@settings(deadline=None)
@given(graphs, st.integers(2, 25), st.integers(0, 5))
def test_in_a_closure_everybody_follows_and_is_followed(edges: list[tuple[int, int]], nodes: int, seed: int) -> None:
    follows = nx.DiGraph(edges)
    follows.add_nodes_from(range(25))
    chosen, sampling = refined(follows, collected(follows, nodes, seed, SEEDS)), Sampling(nodes, "closure", seed)
    if not chosen:
        return assert_nothing_is_left(social(edges), sampling)
    found = sample(social(edges), sampling)
    assert found.interest.counts.min() > 0
    assert found.subscribers.counts.min() > 0
    assert set(old_ids(found.node_names)) == chosen
    assert edges_of(found) == {(u, v) for u, v in edges if u in chosen and v in chosen}
    return None


@pytest.mark.parametrize("method", ["bfs", "closure"])
def test_twice_as_many_seeds_are_drawn_where_a_component_ends_too_early(method: Method) -> None:
    """Fifty pairs who follow each other: the first draw finds one pair, the second two, the third four nodes."""
    pairs = [pair for i in range(0, 100, 2) for pair in ((i, i + 1), (i + 1, i))]
    in_order = sorted(range(100), key=lambda v: int(priority(1, [v])[0]))
    mates = [v ^ 1 for v in in_order]
    first, second, third = in_order[:1], in_order[1:3], in_order[3:7]
    assert len({*in_order[:7], *mates[:3]}) == 10, "no two of the drawn are a pair"
    found = sample(social(pairs, 100), Sampling(10, method, 1, seeds=1))
    expected = {*first, *second, *third, *mates[:3]}
    assert set(old_ids(found.node_names)) == (expected if method == "bfs" else expected - set(third))


def test_a_closure_is_made_of_those_whom_its_members_follow() -> None:
    """Two cycles, 0-9 and 10-19, and a tail that leads to each: only what the first candidates reach is collected."""
    cycles = [(i, (i + 1) % 10) for i in range(10)] + [(10 + i, 10 + (i + 1) % 10) for i in range(10)]
    instance = social([*cycles, (20, 0), (21, 10)], nodes=22)
    first = min(range(22), key=lambda v: int(priority(3, [v])[0]))
    found = sample(instance, Sampling(10, "closure", 3, seeds=1))
    side = {0: range(10), 1: range(10, 20)}[first // 10] if first < 20 else range(10 * (first - 20), 10 * (first - 19))
    assert set(old_ids(found.node_names)) <= set(side)


def test_interest_in_topics_is_sampled_over_shared_topics() -> None:
    """Nodes 0-4 share topic 0, nodes 5-9 share topic 1: a sample of five is one of the groups, with its topic alone."""
    instance = instance_from_pairs(range(10), [0] * 5 + [1] * 5)
    found = sample(instance, Sampling(5, seeds=1, seed=4))
    assert old_ids(found.node_names) in ([0, 1, 2, 3, 4], [5, 6, 7, 8, 9])
    assert found.topics == 1


@pytest.mark.parametrize(
    ("sampling", "sentence"),
    [
        (Sampling(0), "at least one node"),
        (Sampling(3), "has only 2 nodes"),
        (Sampling(1, seeds=0), "at least one node"),
        (Sampling(1, "closure"), "needs a social instance"),
    ],
)
def test_impossible_samples_are_refused(sampling: Sampling, sentence: str) -> None:
    with pytest.raises(WeftError, match=sentence):
        sample(instance_from_pairs([0, 1], [0, 0]), sampling)


def test_priority_is_what_spark_computed() -> None:
    """Values that `xxhash64` of Spark 4 gave, as the next test shows."""
    assert priority(0, [0, 1, 2**62]).tolist() == [-9199931545335556226, 8281773146650252936, -178395637918413263]
    assert priority(-5, [12345678901, -7]).tolist() == [7137174561592696443, -4581662308555868352]


def test_priority_is_what_spark_computes(spark: SparkSession) -> None:
    ids = [0, 1, 2, 12345678901, -7, 2**62]
    for seed in (0, 1, -5, 2**61):
        frame = spark.createDataFrame([(i,) for i in ids], "id BIGINT")
        rows = frame.select(F.xxhash64(F.lit(seed).cast("long"), "id").alias("p")).collect()
        assert priority(seed, ids).tolist() == [row["p"] for row in rows]


def random_instance(seed: int, *, is_social: bool) -> Instance:
    random = np.random.default_rng(seed)
    nodes, topics = random.integers(0, 200, 500), random.integers(0, 200 if is_social else 40, 500)
    kept = nodes != topics
    names = np.array([f"user {i}" for i in range(200)], dtype=object) if seed % 2 else None
    count = 200 if is_social else 40
    return instance_from_pairs(
        nodes[kept],
        topics[kept],
        node_count=200,
        topic_count=count,
        node_names=names,
        topic_names=names if is_social else None,
        social=is_social,
        source="random",
    )


@pytest.mark.parametrize(
    ("seed", "is_social", "sampling"),
    [
        (1, True, Sampling(60, "bfs", 1)),
        (2, True, Sampling(150, "bfs", 9, seeds=1)),
        (3, True, Sampling(120, "closure", 5)),
        (4, False, Sampling(70, "bfs", 2)),
        (5, True, Sampling(200, "bfs", 3)),
    ],
)
def test_spark_and_memory_give_the_same_sample(
    spark: SparkSession, tmp_path: Path, seed: int, is_social: bool, sampling: Sampling
) -> None:
    instance = random_instance(seed, is_social=is_social)
    instance.write(tmp_path / "all")
    here = sample(instance, sampling)
    counts = sample_on_spark(spark, tmp_path / "all", sampling, tmp_path / "some")
    there = read_instance(tmp_path / "some")
    assert there.fingerprint == here.fingerprint
    assert old_names(there) == old_names(here)
    assert (counts.nodes, counts.topics, counts.subscriptions) == (here.nodes, here.topics, here.subscriptions)
    assert {**there.meta} == {**here.meta}


def old_names(instance: Instance) -> tuple[list[str], list[str]]:
    assert instance.node_names is not None
    assert instance.topic_names is not None
    return instance.node_names.tolist(), instance.topic_names.tolist()
