import gzip
from dataclasses import asdict, replace
from pathlib import Path

import networkx as nx
import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from weft.errors import WeftError
from weft.kernels.draw.social import (
    DROPPED,
    MUTUAL,
    ONE_WAY,
    Tables,
    alias_tables,
    community_bounds,
    draw_targets,
    fates,
)
from weft.workloads.catalog import generate
from weft.workloads.social import (
    Social,
    crowd_of,
    like_facebook,
    like_facebook_crawl,
    like_twitter,
    like_twitter_crawl,
    social,
)

DATA = Path(__file__).parents[2] / "shared" / "data" / "social"


def digraph(interest):
    graph = nx.DiGraph()
    graph.add_nodes_from(range(interest.rows))
    graph.add_edges_from(zip(interest.row_of_each().tolist(), interest.indices.tolist(), strict=True))
    return graph


@given(
    nodes=st.integers(20, 300),
    subscriptions=st.floats(1.0, 4.0),
    reciprocity=st.floats(0.0, 1.0),
    like=st.sampled_from([like_facebook, like_twitter]),
    mixing=st.floats(0.0, 3.0),
    density=st.floats(0.0, 1.0),
    outside=st.floats(0.0, 1.0),
    seed=st.integers(0, 2**63 - 1),
)
@settings(max_examples=40, deadline=None)
def test_rows_are_users_without_self_loops_or_duplicates(
    nodes, subscriptions, reciprocity, like, mixing, density, outside, seed
):
    made = replace(like(nodes, subscriptions, reciprocity), mixing=mixing, density=density, outside=outside).interest(
        seed
    )
    followers = made.row_of_each()
    assert (made.rows, made.columns) == (nodes, nodes)
    assert not np.any(followers == made.indices)
    keys = followers.astype(np.int64) * nodes + made.indices
    assert np.all(np.diff(keys) > 0)


@pytest.mark.parametrize("like", [like_facebook, like_twitter])
@pytest.mark.parametrize("wanted", [0.0, 0.3, 0.7, 1.0])
def test_mean_and_reciprocity_are_as_wanted(like, wanted):
    made = replace(like(5000, 15, wanted), silent=0.0).interest(1)
    assert len(made) / made.rows == pytest.approx(15, rel=0.03)
    assert nx.overall_reciprocity(digraph(made)) == pytest.approx(wanted, abs=0.03)


def test_silent_users_follow_nobody_and_bound_reciprocity():
    workload = replace(like_twitter(3000, 10, 1.0), silent=0.3)
    made = workload.interest(2)
    crowd = crowd_of(workload, 2)
    assert np.all(made.counts[crowd.users[crowd.silent]] == 0)
    assert crowd.silent.mean() == pytest.approx(0.3, abs=0.03)
    assert crowd.mutual == 1.0
    assert nx.overall_reciprocity(digraph(made)) < 0.99


def test_crawls_have_as_many_relations_as_the_papers():
    """28.3 million friendships of 3 million users, 1.47 billion relations of 41.7 million; a fifth of pairs mutual."""
    for like, mean, reciprocity in ((like_facebook_crawl, 18.9, 1.0), (like_twitter_crawl, 35.3, 0.362)):
        made = like(1500).interest(1)
        assert len(made) / made.rows == pytest.approx(mean, rel=0.05)
        assert nx.overall_reciprocity(digraph(made)) == pytest.approx(reciprocity, abs=0.03)


def test_a_crawl_clusters_less_than_ego_networks():
    """0.164 of 3 million users (Wilson et al. 2009) and a little more of a few, instead of 0.6."""
    graph = digraph(like_facebook_crawl(2000).interest(1)).to_undirected()
    assert 0.16 < nx.average_clustering(graph) < 0.26


def test_facebook_edges_count_both_ways():
    made = like_facebook(600, 20).interest(1)
    flipped = made.transpose()
    assert np.array_equal(made.indices, flipped.indices)
    assert np.array_equal(made.indptr, flipped.indptr)


# What an overlay lives on: a random graph of this size and degree has a clustering of 0.01.
@pytest.mark.parametrize(("like", "clustering"), [(like_facebook, 0.6), (like_twitter, 0.565)])
def test_users_cluster_at_any_size(like, clustering):
    for nodes in (1000, 4000):
        graph = digraph(like(nodes, 20).interest(1)).to_undirected()
        assert nx.average_clustering(graph) == pytest.approx(clustering, abs=0.08)


def test_degrees_are_heavy_tailed():
    made = like_twitter(20_000).interest(1)
    for degrees in (made.counts, made.transpose().counts):
        assert degrees.max() > 20 * degrees.mean()
        assert np.quantile(degrees, 0.99) > 5 * degrees.mean()


def test_the_users_of_a_community_are_not_neighbours_by_number():
    crowd = crowd_of(like_twitter(5000), 1)
    gaps = np.abs(np.diff(crowd.users.astype(np.int64)))
    assert gaps.mean() == pytest.approx(5000 / 3, rel=0.05)


def test_draws_do_not_depend_on_the_number_of_threads():
    workload = like_twitter(5000)
    many = workload.pairs(3, 0, 5000)
    threads = numba.get_num_threads()
    numba.set_num_threads(1)
    one = workload.pairs(3, 0, 5000)
    numba.set_num_threads(threads)
    assert all(np.array_equal(a, b) for a, b in zip(one, many, strict=True))


def test_parameters_remake_the_graph():
    made = generate("social", nodes=500, seed=3, like="facebook")
    assert made.is_social
    assert made.topics == made.nodes
    assert np.array_equal(Social(**made.meta["parameters"]).interest(3).indices, made.interest.indices)


def test_community_bounds_by_hand():
    # Two draws each and twice as many members: 4. One draw each: 2, but a community has at least 3.
    assert community_bounds(np.full(9, 2.0), 2.0).tolist() == [0, 4, 9]
    assert community_bounds(np.ones(9), 2.0).tolist() == [0, 3, 6, 9]
    assert community_bounds(np.ones(5), 100.0).tolist() == [0, 5]
    assert community_bounds(np.array([1.0, 1, 1, 4, 4, 4, 4]), 1.0).tolist() == [0, 3, 7]


def tiny_tables(near, far):
    """Places 0-3 and 4-7 are communities; place p has weight p + 1."""
    bounds = np.array([0, 4, 8])
    log_weights = np.log(np.arange(1.0, 9.0))
    return Tables(
        np.repeat([0, 4], 4).astype(np.int32),
        np.repeat([4, 8], 4).astype(np.int32),
        np.full(8, near, dtype=np.int32),
        np.full(8, far, dtype=np.int32),
        log_weights,
        *alias_tables(bounds, log_weights),
        log_weights,
        *alias_tables(np.array([0, 8]), log_weights),
    )


def test_near_draws_stay_in_the_community_and_far_ones_avoid_them():
    places = np.arange(8)
    targets = draw_targets(1, places, 5 * np.arange(9), tiny_tables(near=2, far=3)).reshape(8, 5)
    for place, row in enumerate(targets.tolist()):
        assert all(target // 4 == place // 4 for target in row[:2])
        assert len({place, *row}) == 6


@pytest.mark.parametrize(("near", "far", "others"), [(1, 0, [5, 7, 8]), (0, 1, [1, 2, 3, 4, 5, 7, 8])])
def test_draws_follow_popularity(near, far, others):
    tables = tiny_tables(near, far)
    seen = np.zeros(9)
    for seed in range(20_000):
        seen[draw_targets(seed, np.array([5]), np.array([0, 1]), tables)[0] + 1] += 1
    others = np.array(others)
    assert seen.sum() == seen[others].sum()
    assert stats.chisquare(seen[others], others / others.sum() * 20_000).pvalue > 1e-3


def test_the_fate_of_a_pair_is_the_same_from_both_sides():
    rng = np.random.default_rng(1)
    low = rng.integers(0, 1000, 50_000).astype(np.int32)
    high = (low + 1 + rng.integers(0, 1000, 50_000)).astype(np.int32)
    standing = rng.standard_normal(2001)
    there = fates(4, low, high, standing, 0.3, 0.8)
    back = fates(4, high, low, standing, 0.3, 0.8)
    assert np.array_equal(there == MUTUAL, back == MUTUAL)
    assert np.array_equal(there == ONE_WAY, back == DROPPED)
    assert np.mean(there == MUTUAL) == pytest.approx(0.3, abs=0.01)
    upward = np.where(standing[low] < standing[high], there, back)
    assert np.mean(upward[upward != MUTUAL] == ONE_WAY) == pytest.approx(0.8, abs=0.01)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: social(0), "`nodes` 0 is out of range"),
        (lambda: social(19), "`nodes` 19 is too few"),
        (lambda: social(100, topics=99), "`topics` 99 is not `nodes` 100"),
        (
            lambda: social(100, subscriptions=21),
            "`subscriptions` 21 is out of range: give a number from 1 to 20",
        ),
        (lambda: social(100, subscriptions=0), "`subscriptions` 0 is out of range"),
        (lambda: social(100, reciprocity=1.1), "`reciprocity` 1.1 is out of range"),
        (lambda: social(100, like="myspace"), "`like` myspace is unknown: choose one of twitter, facebook"),
        (lambda: replace(like_twitter(100), mixing=float("nan")), "`mixing` nan is out of range"),
    ],
)
def test_parameters_out_of_range_are_named(make, sentence):
    with pytest.raises(WeftError, match=sentence):
        make()


def test_topics_may_be_given_if_they_are_the_nodes():
    assert social(100, topics=100) == social(100)
    assert asdict(social(100))["subscriptions"] == 20


def test_degrees_match_ego_facebook():
    path = DATA / "facebook_combined.txt.gz"
    if not path.exists():
        pytest.skip(f"{path} is absent: it is ego-Facebook of SNAP")
    with gzip.open(path, "rt") as lines:
        graph = nx.parse_edgelist(lines, nodetype=int)
    degrees = [degree for _, degree in graph.degree()]
    made = like_facebook(len(degrees), np.mean(degrees)).interest(2)  # the parameters were searched on seed 1
    assert stats.ks_2samp(degrees, made.counts).statistic < 0.03
