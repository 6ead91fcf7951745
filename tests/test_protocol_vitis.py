"""Vitis' parts, each against a second way to say the same."""

from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.errors import WeftError
from weft.model.ring import clockwise
from weft.protocol.router import (
    Deliver,
    Joined,
    Left,
    Publication,
    Published,
    Received,
    Send,
    Subscribed,
    Unsubscribed,
)
from weft.protocol.vitis.chance import key, ring_id, small_world_targets
from weft.protocol.vitis.descriptor import Descriptor, freshest
from weft.protocol.vitis.dissemination import Stories
from weft.protocol.vitis.gateway import Proposal, elected
from weft.protocol.vitis.message import Exchange, Heartbeat, Leave, Notification, Pull, Pulled, Shuffle, Way
from weft.protocol.vitis.parameters import RING, Parameters
from weft.protocol.vitis.relay import Relays
from weft.protocol.vitis.router import Vitis
from weft.protocol.vitis.sampling import Sampling
from weft.protocol.vitis.table import apart, chosen_table, next_hop
from weft.protocol.vitis.utility import Utility

TOPICS = st.sets(st.integers(0, 9))


def peers(seed, count, first=1):
    """Descriptors of nodes with random places on the ring and random interests."""
    rng = np.random.default_rng(seed)
    return {
        node: Descriptor(node, int(rng.integers(RING)), tuple(np.flatnonzero(rng.random(10) < 0.3).tolist()))
        for node in range(first, first + count)
    }


@given(TOPICS, TOPICS, st.lists(st.floats(0.1, 10), min_size=10, max_size=10), st.floats(0.1, 900), st.floats(0, 3))
def test_utility_is_formula_1(own, other, rates, distance, n):
    either = sum(rates[topic] for topic in own | other)
    similarity = sum(rates[topic] for topic in own & other) / either if either else 0.0
    peer = Descriptor(1, 0, tuple(sorted(other)))
    for form, expected in (
        ("product", similarity / max(distance, 1) ** n),
        ("sum", similarity + max(distance, 1) ** -n),
    ):
        utility = Utility(own, rates, lambda peer: distance, Parameters(exponent=n, utility=form))
        assert utility(peer) == pytest.approx(expected)


def test_without_locality_distance_does_not_matter():
    peer = Descriptor(1, 0, (1, 2))
    near, far = (Utility({2, 3}, [1.0] * 4, lambda peer, d=d: d, Parameters()) for d in (2.0, 500.0))
    assert near(peer) == far(peer) == pytest.approx(1 / 3)


@given(st.integers(0, 10**6), st.integers(1, 30), st.integers(4, 12), st.integers(0, 1))
def test_a_table_holds_ring_neighbours_small_world_links_and_the_best_friends(seed, count, size, links):
    candidates = peers(seed, count)
    rng = np.random.default_rng([seed, 1])
    own, targets = int(rng.integers(RING)), [int(rng.integers(RING)) for _ in range(links)]
    worth = {node: float(rng.integers(4)) for node in candidates}
    table = chosen_table(own, candidates, targets, lambda peer: worth[peer.node], size)

    by_ring = sorted(candidates, key=lambda node: clockwise(own, candidates[node].ring_id, RING))
    assert (table.successor, table.predecessor) == (by_ring[0], by_ring[-1])
    structure = {by_ring[0], by_ring[-1]}
    for target in targets:
        rest = sorted(candidates.keys() - structure, key=lambda node: apart(candidates[node].ring_id, target))
        structure |= set(rest[:1])
    assert structure <= table.peers.keys()
    friends = table.peers.keys() - structure
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
    """By brute force: the best of a cluster is the gateway of all within reach; the same again for the rest."""
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


def test_the_next_notifier_is_asked_when_the_first_does_not_answer():
    stories = Stories(patience=2, memory=10)
    stories.begin((4, 0), topic=1, hops=2, when=5).notifiers += [7, 8]
    assert stories.next_pulls(6) == []
    assert stories.next_pulls(7) == [(7, (4, 0))]
    assert stories.next_pulls(8) == []
    assert stories.next_pulls(9) == [(8, (4, 0))]
    assert stories.next_pulls(15) == []
    assert not stories.known


def test_draws_depend_on_all_that_they_are_for():
    assert len({key(*parts) for parts in np.ndindex(4, 4, 4, 4)}) == 4**4


def test_small_world_distances_are_harmonic():
    """Their logarithms are uniform: between RING / (2 reach) and RING / 2."""
    parameters = Parameters(small_world=1, reach=1024)
    spans = [clockwise(ring_id(1, v), small_world_targets(1, v, parameters)[0], RING) for v in range(2000)]
    logarithms = np.log2(np.array(spans) / RING)
    assert logarithms.min() >= -11
    assert logarithms.max() <= -1
    assert np.allclose(np.quantile(logarithms, [0.1, 0.5, 0.9]), [-10, -6, -2], atol=0.3)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"table": 2}, "table is 2: give a finite number from 3"),
        ({"small_world": 13}, "leave no friend"),
        ({"shuffle": 30}, "larger than the view"),
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


# One node, seen from outside.


def node(number=0, interest=(1, 2), **parameters):
    return Vitis(
        number,
        interest,
        Parameters(**parameters),
        rates=[1.0] * 10,
        distance=lambda peer: 10.0,
        rendezvous=lambda topic: RING // 10 * topic,
        seed=1,
    )


def friend(number, interest=(1, 2)):
    return Descriptor(number, ring_id(1, number), tuple(interest))


def heartbeat(number, interest=(1, 2), chosen=True, relayed=()):
    return Received(number, Heartbeat(friend(number, interest), chosen, {}, tuple(relayed)))


def joined(interest=(1, 2), **parameters):
    """A node that knows of node 1, after its first tick."""
    vitis = node(interest=interest, **parameters)
    vitis.handle(Joined(friend(1)), 2500.0)
    return vitis, vitis.on_timer(vitis.next_deadline())


def sent(effects, kind):
    return {
        effect.peer: effect.message for effect in effects if isinstance(effect, Send) and type(effect.message) is kind
    }


def first_topic_by_way_of(up, links=(1, 2)):
    """Whose rendezvous identifier is nearer to one of the links than to the others and to node 0."""
    distance = {topic: {v: apart(ring_id(1, v), RING // 10 * topic) for v in (0, *links)} for topic in range(10)}
    return next(topic for topic in distance if min(distance[topic], key=distance[topic].__getitem__) == up)


def test_who_joins_turns_to_the_one_it_knows():
    vitis, effects = joined()
    assert vitis.next_deadline() == 4000.0
    assert sent(effects, Shuffle).keys() == sent(effects, Exchange).keys() == sent(effects, Heartbeat).keys() == {1}
    assert [descriptor.node for descriptor in sent(effects, Shuffle)[1].descriptors] == [0]
    vitis.check_invariants()


def test_nothing_happens_to_a_node_out_of_the_network():
    vitis = node()
    assert vitis.next_deadline() is None
    assert vitis.handle(heartbeat(1), 0.0) == vitis.handle(Published(Publication(0, 0, 1)), 0.0) == []


def test_a_silent_peer_is_dropped_when_patience_ends():
    vitis, _ = joined(patience=3)
    for age in (2, 3):
        vitis.on_timer(vitis.next_deadline())
        assert vitis.neighbourhood.table.peers[1].age == age
    vitis.on_timer(vitis.next_deadline())
    assert not vitis.neighbourhood.table.peers


def test_links_go_both_ways():
    """Node 9 has this node in its table: it is a link even where the own table has no place for it."""
    vitis, _ = joined(table=3, small_world=0)
    for number in (2, 3, 4):
        vitis.handle(heartbeat(number), 3100.0)
    vitis.handle(heartbeat(9, interest=()), 3100.0)
    vitis.on_timer(4000.0)
    assert 9 in vitis.neighbourhood.links
    vitis.check_invariants()


def test_who_leaves_tells_its_links_and_is_not_taken_back():
    vitis, _ = joined()
    other, _ = joined()
    goodbye = other.handle(Left(), 3500.0)
    assert goodbye == [Send(1, Leave())]
    assert other.next_deadline() is None
    vitis.handle(Received(1, Leave()), 3600.0)
    assert not vitis.neighbourhood.links
    vitis.handle(Received(5, Exchange([friend(5), friend(1)])), 3700.0)  # node 5 has not heard of it
    vitis.on_timer(4000.0)
    assert vitis.neighbourhood.table.peers.keys() == {5}


def test_interests_may_change():
    vitis, _ = joined()
    vitis.handle(Subscribed(5), 3100.0)
    vitis.handle(Unsubscribed(1), 3100.0)
    effects = vitis.on_timer(4000.0)
    assert sent(effects, Heartbeat)[1].profile.interest == (2, 5)
    assert vitis.neighbourhood.proposals.keys() == {2, 5}


def test_notifications_are_passed_on_at_once_and_content_when_it_is_there():
    vitis, _ = joined()
    for number in (1, 2):
        vitis.handle(heartbeat(number), 3100.0)
    vitis.on_timer(4000.0)
    said = Publication(7, 0, 1, b"hello")
    effects = vitis.handle(Received(1, Notification(1, 7, 0, 1, Way.CLUSTER)), 4100.0)
    assert sent(effects, Pull) == {1: Pull(1, 7, 0)}
    assert sent(effects, Notification)[2].hops == 2
    assert vitis.handle(Received(2, Pull(1, 7, 0)), 4150.0) == []
    assert vitis.handle(Received(1, Pulled(said, 1)), 4200.0) == [Deliver(said, 1), Send(2, Pulled(said, 2))]
    assert vitis.handle(Received(2, Pulled(said, 1)), 4300.0) == []  # twice is no delivery


def test_a_relay_serves_those_who_asked_and_asks_on():
    topic = first_topic_by_way_of(2)
    vitis, _ = joined(interest=())
    vitis.handle(heartbeat(1, interest=(), relayed=(topic,)), 3100.0)
    vitis.handle(heartbeat(2, interest=()), 3100.0)
    effects = vitis.on_timer(4000.0)
    assert {peer: beat.relayed for peer, beat in sent(effects, Heartbeat).items()} == {1: (), 2: (topic,)}
    said = Publication(7, 0, topic)
    effects = vitis.handle(Received(2, Notification(topic, 7, 0, 1, Way.DOWN)), 4100.0)  # from the rendezvous node
    assert effects == [Send(2, Pull(topic, 7, 0)), Send(1, Notification(topic, 7, 0, 2, Way.DOWN))]
    assert vitis.handle(Received(1, Pull(topic, 7, 0)), 4150.0) == []
    assert vitis.handle(Received(2, Pulled(said, 1)), 4200.0) == [Send(1, Pulled(said, 2))]  # and no delivery
    effects = vitis.handle(Received(1, Notification(topic, 8, 0, 1, Way.UP)), 4300.0)  # from a cluster
    assert effects == [Send(1, Pull(topic, 8, 0)), Send(2, Notification(topic, 8, 0, 2, Way.UP))]


def test_an_issuer_without_interest_sends_up():
    topic = first_topic_by_way_of(1, links=(1,))
    vitis, _ = joined(interest=())
    effects = vitis.handle(Published(Publication(0, 0, topic)), 3200.0)
    assert effects == [Send(1, Notification(topic, 0, 0, 1, Way.UP))]


def test_who_comes_back_has_forgotten_the_network():
    """What it knew was fresh when it left, and would pass for fresh now."""
    vitis, _ = joined()
    vitis.handle(heartbeat(1, relayed=(3,)), 3100.0)
    vitis.on_timer(4000.0)
    vitis.handle(Left(), 4100.0)
    vitis.handle(Joined(friend(2)), 90_500.0)
    effects = vitis.on_timer(vitis.next_deadline())
    assert sent(effects, Heartbeat).keys() == vitis.neighbourhood.lately.keys() == {2}
    assert not vitis.neighbourhood.relays.children(3)
    vitis.check_invariants()


def test_who_left_and_comes_back_at_once_is_taken_back():
    vitis, _ = joined()
    vitis.handle(Received(1, Leave()), 3100.0)
    vitis.handle(heartbeat(1), 3200.0)
    vitis.on_timer(4000.0)
    assert 1 in vitis.neighbourhood.table.peers


def test_a_new_subscriber_without_a_cluster_speaks_for_itself():
    """In the round before it has elected anybody."""
    topic = first_topic_by_way_of(1, links=(1,))
    vitis, _ = joined(interest=())
    vitis.handle(heartbeat(1, interest=()), 3100.0)
    vitis.on_timer(4000.0)
    vitis.handle(Subscribed(topic), 4100.0)
    effects = vitis.handle(Published(Publication(0, 0, topic)), 4200.0)
    assert sent(effects, Notification)[1].way is Way.UP
    vitis.handle(Unsubscribed(topic), 4300.0)
    assert not vitis.neighbourhood.is_gateway(topic)
