"""Vitis' parts, each against a second way to say the same."""

from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.errors import WeftError
from weft.model.ring import clockwise
from weft.protocol.vitis.chance import key, small_world_units
from weft.protocol.vitis.descriptor import Descriptor, freshest
from weft.protocol.vitis.dissemination import Stories
from weft.protocol.vitis.gateway import Proposal, elected
from weft.protocol.vitis.parameters import RING, Parameters
from weft.protocol.vitis.popularity import Popularity
from weft.protocol.vitis.relay import Relays
from weft.protocol.vitis.sampling import Sampling
from weft.protocol.vitis.table import apart, chosen_table, next_hop, small_world_target
from weft.protocol.vitis.utility import Utility

TOPICS = st.sets(st.integers(0, 9))


def peers(seed, count, first=1):
    """Descriptors of nodes with random places on the ring and random interests."""
    rng = np.random.default_rng(seed)
    return {
        node: Descriptor(node, int(rng.integers(RING)), tuple(np.flatnonzero(rng.random(10) < 0.3).tolist()))
        for node in range(first, first + count)
    }


@given(
    TOPICS,
    TOPICS,
    st.lists(st.floats(0.1, 10), min_size=10, max_size=10),
    st.floats(0.1, 900),
    st.floats(0, 3),
    st.sampled_from([1.0, 100.0]),
)
def test_utility_is_formula_1_or_a_sum_of_no_round_trip_below_the_floor(own, other, rates, distance, n, floor):
    either = sum(rates[topic] for topic in own | other)
    similarity = sum(rates[topic] for topic in own & other) / either if either else 0.0
    peer = Descriptor(1, 0, tuple(sorted(other)))
    for form, expected in (
        ("product", similarity / max(distance, floor) ** n),
        ("sum", similarity + max(distance, floor) ** -n),
    ):
        utility = Utility(own, rates, lambda peer: distance, Parameters(exponent=n, utility=form, floor=floor))
        assert utility(peer) == pytest.approx(expected)


def test_without_locality_distance_does_not_matter():
    peer = Descriptor(1, 0, (1, 2))
    near, far = (Utility({2, 3}, [1.0] * 4, lambda peer, d=d: d, Parameters()) for d in (2.0, 500.0))
    assert near(peer) == far(peer) == pytest.approx(1 / 3)


@given(st.integers(0, 10**6), st.integers(1, 30), st.integers(4, 12), st.integers(0, 1))
def test_a_table_holds_ring_neighbours_small_world_links_and_the_best_friends(seed, count, size, links):
    candidates = peers(seed, count)
    rng = np.random.default_rng([seed, 1])
    own, units = int(rng.integers(RING)), rng.random(links).tolist()
    worth = {node: float(rng.integers(4)) for node in candidates}
    table = chosen_table(own, candidates, units, lambda peer: worth[peer.node], size)

    by_ring = sorted(candidates, key=lambda node: clockwise(own, candidates[node].ring_id, RING))
    assert (table.successor, table.predecessor) == (by_ring[0], by_ring[-1])
    structure = {by_ring[0], by_ring[-1]}
    ends = candidates[by_ring[0]].ring_id, candidates[by_ring[-1]].ring_id
    span = clockwise(own, ends[0], RING) + clockwise(ends[1], own, RING)
    for target in (small_world_target(own, unit, span) for unit in units):
        rest = sorted(candidates.keys() - structure, key=lambda node: apart(candidates[node].ring_id, target))
        structure |= set(rest[:1])
    assert structure <= table.peers.keys()
    friends = table.peers.keys() - structure
    assert table.friends == friends
    left = [node for node in candidates if node not in table.peers]
    assert all(worth[node] > 0 for node in friends)
    assert all((-worth[friend], friend) < (-worth[node], node) for friend in friends for node in left)
    assert len(table.peers) == min(
        size, len(structure) + sum(worth[node] > 0 for node in candidates.keys() - structure)
    )


@given(st.integers(0, 10**6), st.integers(2, 40))
def test_greedy_routes_end_at_the_node_nearest_to_the_identifier(seed, count):
    nodes = peers(seed, count, first=0)
    rng = np.random.default_rng([seed, 1])
    by_ring = sorted(nodes, key=lambda node: nodes[node].ring_id)
    links = {node: set() for node in nodes}
    for place, node in enumerate(by_ring):
        links[node] |= {by_ring[place - 1], by_ring[(place + 1) % count], int(rng.integers(count))} - {node}
    target = int(rng.integers(RING))
    nearest = min(nodes, key=lambda node: apart(nodes[node].ring_id, target))
    for start in nodes:
        at, steps = start, 0
        while (hop := next_hop(at, nodes[at].ring_id, {w: nodes[w] for w in links[at]}, target)) is not None:
            assert hop in links[at]
            at, steps = hop, steps + 1
            assert steps < count
        assert at == nearest


def peeled(graph, rank, most_hops):
    """Gateways by brute force: the best of a cluster is that of all within reach; the same again for the rest."""
    gateways, rest = {}, graph.copy()
    while rest:
        best = min(rest, key=rank.__getitem__)
        near = nx.single_source_shortest_path_length(rest, best, cutoff=most_hops)
        gateways |= {node: (best, hops) for node, hops in near.items()}
        rest.remove_nodes_from(list(near))
    return gateways


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10**6), st.integers(1, 40), st.integers(0, 5))
def test_the_election_settles_on_the_best_within_reach(seed, count, most_hops):
    rng = np.random.default_rng(seed)
    graph = nx.gnp_random_graph(count, 2 / count, seed=int(rng.integers(2**31)))
    ids, target = [int(x) for x in rng.integers(RING, size=count)], int(rng.integers(RING))
    proposals = {node: Proposal(node, ids[node], 0) for node in graph}
    for _ in range(most_hops * count + 2):
        proposals = {
            node: elected(Proposal(node, ids[node], 0), [proposals[other] for other in graph[node]], target, most_hops)
            for node in graph
        }
    expected = peeled(graph, {node: apart(ids[node], target) for node in graph}, most_hops)
    assert {node: (found.gateway, found.hops) for node, found in proposals.items()} == expected


def test_a_failed_gateway_is_forgotten():
    """Two neighbours that believe in a gateway that is gone tell each other so, until it is too far away."""
    ids, gone = [RING // 2, RING // 4], Proposal(9, 5, 1)
    proposals = [gone, gone]
    for _ in range(6):
        proposals = [elected(Proposal(v, ids[v], 0), [proposals[1 - v]], 0, 5) for v in (0, 1)]
    assert [found.gateway for found in proposals] == [1, 1]


def test_only_the_freshest_news_of_a_node_count():
    told = [Descriptor(1, 5, (1,), 3), Descriptor(1, 5, (2,), 1), Descriptor(2, 6, (), 9)]
    assert freshest(told) == {1: told[1], 2: told[2]}


def test_relay_paths_that_are_not_refreshed_are_forgotten():
    relays = Relays(expiry=3)
    relays.refresh(7, (1, 2), when=10)
    relays.refresh(8, (2,), when=11)
    relays.expire(11)
    assert relays.topics(11) == {2}  # asked for in the last round
    assert (relays.children(1), relays.children(2)) == ({7}, {7, 8})
    relays.expire(13)
    assert (relays.children(1), relays.children(2)) == (set(), {8})


def test_shuffling_replaces_what_was_sent():
    known = peers(3, 8)
    sampling = Sampling(0, 1, Parameters(view=4, shuffle=3))
    sampling.view = {node: replace(known[node], age=node) for node in (1, 2, 3, 4)}
    partner, sent = sampling.request(5, Descriptor(0, 0, ()))
    assert partner == 4  # the oldest
    assert partner not in sampling.view
    assert sent[0].node == 0
    given_away = {descriptor.node for descriptor in sent[1:]}
    sampling.receive([replace(known[node], age=0) for node in (5, 6, 7)])
    sampling.update(6)
    assert sampling.view.keys() == ({1, 2, 3} - given_away) | {5, 6, 7}
    assert {sampling.view[node].age for node in (5, 6, 7)} == {1}


def test_a_node_that_hears_of_itself_does_not_take_itself_in():
    sampling = Sampling(0, 1, Parameters(view=4, shuffle=3))
    sampling.receive([Descriptor(0, 5, ()), Descriptor(1, 6, ())])
    sampling.update(6)
    assert sampling.view.keys() == {1}


def test_the_next_notifier_is_asked_when_the_first_does_not_answer():
    stories = Stories(patience=2, memory=10)
    stories.begin((4, 0), topic=1, hops=2, when=5).notifiers += [6, 7, 8]  # 6 is asked when it comes
    assert stories.next_pulls(6) == []
    assert stories.next_pulls(7) == [(7, (4, 0))]
    assert stories.next_pulls(8) == []
    assert stories.next_pulls(9) == [(8, (4, 0))]
    assert stories.next_pulls(11) == [(6, (4, 0))]
    assert stories.next_pulls(15) == []
    assert not stories.known


@given(st.lists(st.sets(st.integers(0, 8)), min_size=1, max_size=8), st.integers(1, 4))
def test_who_is_accepted_stays_and_others_wait(rounds, bound):
    popularity, before = Popularity(bound), frozenset()
    for choosers in rounds:
        popularity.chosen_by(choosers)
        assert popularity.accepted | popularity.refused == choosers
        assert not popularity.accepted & popularity.refused
        assert before & choosers <= popularity.accepted
        assert len(popularity.accepted) == min(bound, len(choosers))
        assert popularity.is_full == (len(popularity.accepted) == bound)
        before = popularity.accepted


def test_without_a_bound_all_are_accepted():
    popularity = Popularity(None)
    popularity.chosen_by(range(100))
    assert len(popularity.accepted) == 100
    assert not popularity.is_full


def test_draws_depend_on_all_that_they_are_for():
    assert len({key(*parts) for parts in np.ndindex(4, 4, 4, 4)}) == 4**4


def test_small_world_distances_are_harmonic():
    """Logarithms of distances are uniform between that of the mean gap, half the span, and that of half the ring."""
    parameters, span = Parameters(small_world=1), RING >> 9
    units = [small_world_units(1, v, parameters)[0] for v in range(2000)]
    spans = [small_world_target(5, unit, span) - 5 for unit in units]
    logarithms = np.log2(np.array(spans) / RING)
    assert logarithms.min() >= -10
    assert logarithms.max() <= -1
    assert np.allclose(np.quantile(logarithms, [0.1, 0.5, 0.9]), [-9.1, -5.5, -1.9], atol=0.3)


@pytest.mark.parametrize("count", [50, 2000])
def test_small_world_links_are_no_shorter_than_the_ring_is_dense(count):
    """Whatever the size: the gap between neighbours is 1 / count of the ring, and nothing nearer is wanted."""
    for v in range(20):
        nodes = {u: Descriptor(u, RING // count * u, ()) for u in range(count) if u != v}
        own = RING // count * v
        table = chosen_table(own, nodes, small_world_units(1, v, Parameters()), lambda peer: 0.0, 15)
        assert len(table.peers) == 4  # none of the links is the successor once more
        gaps = [apart(own, peer.ring_id) for peer in table.peers.values()]
        assert min(gaps) == RING // count


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"table": 2}, "table is 2: give a finite number from 3"),
        ({"small_world": 28}, "leave no friend"),
        ({"shuffle": 30}, "larger than the view"),
        ({"in_degree": 0}, "in_degree is 0: give a number from 1, or None"),
        ({"period": 0.0}, "period is 0.0"),
        ({"period": float("inf")}, "period is inf"),
        ({"exponent": -1.0}, "exponent is -1.0"),
        ({"exponent": float("inf")}, "exponent is inf"),
        ({"utility": "mean"}, "give one of product, sum"),
    ],
)
def test_wrong_parameters_are_errors(wrong, words):
    with pytest.raises(WeftError, match=words):
        Parameters(**wrong)
