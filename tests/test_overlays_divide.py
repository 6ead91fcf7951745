import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from greedy_reference import random_instance, random_instances
from weft.errors import WeftError
from weft.model.csr import csr_from_pairs
from weft.model.instance import Instance, instance_from_pairs
from weft.model.latency import MatrixLatency
from weft.overlays.catalog import design
from weft.overlays.divide import BULK, bulk_nodes, most_subscribed
from weft.overlays.partition import (
    cost,
    elbow,
    kmeans_partition,
    neighbour_size,
    partition_count,
    random_partition,
    region_partition,
)
from weft.overlays.verify import topic_violations
from weft.workloads.catalog import generate

INSTANCES = random_instances(st.integers(1, 60), st.integers(1, 25), 0.0, 0.05, 0.3, 1.0)


@given(INSTANCES, st.integers(0, 2**62), st.sampled_from(["random", "overlap"]))
@settings(deadline=None, max_examples=40)
def test_dc_with_one_partition_and_dcbc_with_bulk_only_are_gm(instance, seed, tie):
    expected = design(instance, "gm", seed=seed, tie=tie)
    for overlay in (
        design(instance, "dc", seed=seed, partitions=1, tie=tie),
        design(instance, "dcbc", seed=seed, bulk=1.0, tie=tie),
    ):
        assert np.array_equal(overlay.sources, expected.sources)
        assert np.array_equal(overlay.targets, expected.targets)


def test_links_between_partitions_are_between_star_nodes():
    instance = random_instance(5, 80, 20, 0.2)
    overlay = design(instance, "dc", seed=3, partitions=4)
    member = random_partition(80, 4, 3)
    across = member[overlay.sources] != member[overlay.targets]
    stars = np.union1d(overlay.sources[across], overlay.targets[across])
    assert 0 < len(stars) <= 4 * overlay.meta["star_set"]["average"]
    assert overlay.meta["partitions"] == 4
    sizes = overlay.meta["star_set"]
    expected = (19 + 3 * sizes["average"]) / 80
    assert overlay.meta["potential_neighbour_ratio"] == pytest.approx(expected, abs=(sizes["maximum"] - 1) / 80)


def test_lightweight_nodes_of_different_partitions_are_not_linked():
    instance = random_instance(5, 100, 20, 0.2)
    overlay = design(instance, "dcbc", seed=3, partitions=5)
    bulk = bulk_nodes(instance.interest, 0.2, None, 3)
    light = np.setdiff1d(np.arange(100), bulk)
    member = np.full(100, -1)
    member[light] = random_partition(len(light), 5, 3)
    one, other = member[overlay.sources], member[overlay.targets]
    assert np.all((one == other) | (one < 0) | (other < 0))
    assert overlay.meta["bulk_nodes"] == len(bulk)
    inside = (one < 0) & (other < 0)
    expected = design(instance_of(instance, bulk), "gm", seed=3)
    assert np.array_equal(overlay.sources[inside], bulk[expected.sources])
    assert np.array_equal(overlay.targets[inside], bulk[expected.targets])


def instance_of(instance, nodes):
    own = instance.interest.take(nodes)
    return instance_from_pairs(own.row_of_each(), own.indices, node_count=len(nodes), topic_count=instance.topics)


@given(INSTANCES, st.sampled_from([0.0, 0.2, 0.5, 1.0]), st.integers(0, 2**32))
@settings(deadline=None, max_examples=60)
def test_the_bulk_has_the_most_subscriptions_and_covers_all_that_is_shared(instance, share, seed):
    counts = instance.interest.counts
    most = most_subscribed(counts, share, None, seed)
    assert len(most) == int(np.ceil(share * instance.nodes))
    rest = np.setdiff1d(np.arange(instance.nodes), most)
    assert counts[most].min(initial=10**9) >= counts[rest].max(initial=0)
    bulk = bulk_nodes(instance.interest, share, None, seed)
    assert np.isin(most, bulk).all()
    shared = np.flatnonzero(instance.subscribers.counts > 1)
    assert np.isin(shared, instance.interest.take(bulk).indices).all()


def test_the_threshold_of_the_bulk_goes_from_all_nodes_to_none():
    instance = generate("zipf", nodes=60, topics=40, subscriptions=5, seed=2)
    counts = instance.interest.counts
    for eta in (0, 5, 6):
        assert np.array_equal(most_subscribed(counts, BULK, eta, 1), np.flatnonzero(counts >= eta))
    every = design(instance, "dcbc", seed=4, eta=0)
    assert np.array_equal(every.sources, design(instance, "gm", seed=4).sources)
    cover = design(instance, "dcbc", seed=4, eta=6)
    assert cover.meta["bulk_nodes"] == design(instance, "dcbc", seed=4, bulk=0.0).meta["bulk_nodes"] < 60


@given(st.integers(1, 500), st.integers(1, 50), st.integers(0, 2**32))
def test_random_partitions_are_equal_in_size(nodes, count, seed):
    sizes = np.bincount(random_partition(nodes, count, seed), minlength=count)
    assert sizes.max() - sizes.min() <= 1


def test_kmeans_finds_clusters_that_are_there():
    cluster = np.random.default_rng(4).permutation(np.repeat(np.arange(3), 20))
    nodes = np.repeat(np.arange(60), 4)
    topics = (cluster[:, None] * 4 + np.arange(4)).ravel()
    interest = instance_from_pairs(nodes, topics).interest
    found = [kmeans_partition(interest, 3, seed) for seed in range(10)]
    assert any(len(np.unique(cluster * 10 + member)) == 3 == len(np.unique(member)) for member in found)


@pytest.mark.parametrize("best", [1, 2, 3, 7, 8, 40, 63, 64, 90])
def test_the_number_of_partitions_is_no_worse_than_any_power_of_two_and_found_in_few_trials(best):
    tried = []

    def size(count):
        tried.append(count)
        return abs(count - best)

    found = partition_count(100, size)
    assert abs(found - best) <= min(abs(2**power - best) for power in range(7))
    assert len(tried) <= 2 * np.log2(100) + 1


def test_potential_neighbours_are_a_partition_and_all_stars():
    """Four nodes with the same two topics: one star a partition, and none where there is only one partition."""
    interest = instance_from_pairs(np.repeat(np.arange(4), 2), np.tile([0, 1], 4)).interest
    assert neighbour_size(interest, 1, 1) == 4
    assert neighbour_size(interest, 1, 2) == 2 + 2
    assert neighbour_size(interest, 1, 4) == 1 + 4


@pytest.mark.parametrize(
    ("name", "options", "sentence"),
    [
        ("dc", {"partitions": 0}, "`partitions` 0 is out of range: give a number from 1 to 12"),
        ("dc", {"partitions": 13}, "`partitions` 13 is out of range"),
        ("dc", {"partition": "metis"}, "`partition` metis is unknown to dc"),
        ("dcbc", {"bulk": 1.5}, "`bulk` 1.5 is out of range"),
        ("dcbc", {"eta": -1}, "`eta` -1 is out of range"),
        ("dcbc", {"eta": 3, "bulk": 0.5}, "`eta` and `bulk` both say"),
    ],
)
def test_wrong_options_are_told(name, options, sentence):
    with pytest.raises(WeftError) as error:
        design(random_instance(1, 12, 5, 0.5), name, seed=1, **options)
    assert sentence in str(error.value)


@pytest.mark.parametrize("stars", [5, 12, 40])
def test_the_least_time_side_by_side_is_at_the_root_of_nodes_over_stars(stars):
    """Section VI: with star sets of one size p = sqrt(|V| / kappa); one after the other the minimum is elsewhere."""
    nodes, counts = 10_000, range(1, 200)
    lowest = min(counts, key=lambda count: cost("parallel", nodes, count, count * stars))
    assert lowest == pytest.approx((nodes / stars) ** 0.5, abs=1)
    assert min(counts, key=lambda count: cost("neighbours", nodes, count, count * stars)) == lowest
    after = min(counts, key=lambda count: cost("time", nodes, count, count * stars))
    assert after == pytest.approx((nodes**2 / (2 * stars**2)) ** (1 / 3), abs=1)


@pytest.mark.parametrize("clusters", [2, 4, 8])
def test_the_elbow_is_at_the_clusters_that_there_are(clusters):
    """Nodes of a cluster share nine of their ten topics, and no topic with another cluster."""
    rng = np.random.default_rng(clusters)
    rows = [
        np.append(cluster * 20 + np.arange(9), cluster * 20 + rng.integers(9, 20))
        for cluster in range(clusters)
        for _ in range(80)
    ]
    nodes = np.repeat(np.arange(len(rows)), 10)
    interest = csr_from_pairs(nodes, np.concatenate(rows), len(rows), clusters * 20)
    found = elbow(interest, 3)
    assert clusters <= found <= 2 * clusters  # random centres may begin in one cluster
    assert design(Instance(interest), "dc", seed=3, partition="kmeans", choose="elbow").meta["partitions"] >= 2


@pytest.mark.parametrize("options", [{}, {"partition": "kmeans", "partitions": 3}])
def test_an_elbow_is_of_clusters_whose_number_is_open(options):
    with pytest.raises(WeftError, match="`choose`"):
        design(generate("unif", nodes=30, topics=10, subscriptions=4, seed=1), "dc", choose="elbow", **options)


@pytest.mark.parametrize("name", ["dc", "dcbc"])
@pytest.mark.parametrize("choose", ["time", "parallel"])
def test_the_time_chooses_as_many_partitions_as_cost_least_of_those_tried(name, choose):
    instance = generate("unif", nodes=200, topics=30, subscriptions=8, seed=1)
    made = design(instance, name, seed=1, choose=choose)
    assert topic_violations(instance, made) == []
    assert made.meta["parameters"]["choose"] == choose
    if name == "dc":
        sizes = {count: neighbour_size(instance.interest, 1, count, choose) for count in (1, 2, 4, 8, 16, 32)}
        assert neighbour_size(instance.interest, 1, made.meta["partitions"], choose) <= min(sizes.values())


def sites(nodes, count, seed):
    """Nodes of so many sites, which are far from each other, and the site of each."""
    site = np.random.default_rng(seed).permutation(np.arange(nodes) % count)
    near = np.random.default_rng(seed).uniform(1, 5, (nodes, nodes))
    return MatrixLatency(np.where(site[:, None] == site, near, 100 + near)), site


@pytest.mark.parametrize(
    ("name", "options"), [("gm", {}), ("dc", {}), ("dc", {"partition": "region", "partitions": 3}), ("dcbc", {})]
)
def test_designs_that_go_by_latency_connect_every_topic_by_shorter_links(name, options):
    instance = generate("zipf", nodes=90, topics=60, subscriptions=8, seed=2)
    latency, _ = sites(90, 3, 1)
    near = design(instance, name, seed=1, latency=latency, closeness=1.0, **options)
    plain = design(instance, name, seed=1)
    assert topic_violations(instance, near) == []
    trips = [latency.round_trip(overlay.sources, overlay.targets).mean() for overlay in (plain, near)]
    assert trips[1] < 0.6 * trips[0]
    assert near.meta["parameters"]["latency"] == latency.source


@pytest.mark.parametrize("name", ["gm", "dc", "dcbc"])
def test_a_closeness_of_zero_weighs_nothing(name):
    """All links of one contribution are worth the same: as many links are needed, up to ties."""
    instance = generate("zipf", nodes=90, topics=60, subscriptions=8, seed=2)
    latency, _ = sites(90, 3, 1)
    found = [design(instance, name, seed=1, **how).links for how in ({}, {"latency": latency, "closeness": 0.0})]
    assert found[1] == pytest.approx(found[0], rel=0.05)


def test_regions_are_the_sites():
    latency, site = sites(90, 3, 1)
    member = region_partition(latency, 90, 3, 7)
    assert len(np.unique(np.stack([member, site]), axis=1).T) == 3
    assert np.bincount(region_partition(latency, 90, 90, 7)).tolist() == [1] * 90


def test_regions_need_latencies():
    instance = generate("zipf", nodes=9, topics=6, subscriptions=2, seed=2)
    with pytest.raises(WeftError, match="`partition` region goes by round-trip times: give `latency`"):
        design(instance, "dc", seed=1, partition="region")
