"""The compiled simulation of PopSub against broker objects in a world, brute force, and closed forms."""

from collections import Counter
from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from queue_world import QueueWorld
from weft.kernels.jit import jit
from weft.kernels.popsub import tree as kernel
from weft.overlays.broker_tree import NO_PARENT, BrokerTree
from weft.protocol.popsub.parameters import Parameters, Way
from weft.sim.capacity import Capacity, measured_capacity
from weft.sim.content_world import content_world
from weft.sim.popsub import simulate
from weft.sim.stage import stage_of
from weft.workloads.followers import zipf_popularity
from weft.workloads.popsub import ContentWorkload, Setting, content_workload

FREE = Capacity(np.inf)  # messages take no time to send, as in a world
SLOW = Capacity(100.0)  # 10 ms a message
PARAMETERS = Parameters(diameter=200.0, capacity=100.0, phi=0.3, round=1_000.0, sweep_rounds=3)


def random_tree(brokers, seed):
    random = np.random.default_rng(seed)
    parents = [NO_PARENT, *(int(random.integers(broker)) for broker in range(1, brokers))]
    return BrokerTree(np.array(parents, np.int32), random.uniform(1, 15, size=(brokers, brokers)))


def small_case(seed, brokers=9, publishers=6, subscriptions=40, seconds=12.0):
    tree = random_tree(brokers, seed)
    setting = Setting(subscriptions, rate=5.0, seconds=seconds, classes=3)
    return tree, content_workload(zipf_popularity(publishers, 1.0), tree.top, brokers, setting, seed)


def staged(tree, workload):
    return stage_of(tree, workload.exchange())


def due(workload):
    """(publication, subscription) of all that match, by comparing every pair."""
    return [
        (publication, subscription)
        for publication, (advertisement, (_, second)) in enumerate(
            zip(workload.advertisements, workload.values, strict=True)
        )
        for subscription, (followed, (low, high)) in enumerate(zip(workload.followed, workload.ranges, strict=True))
        if followed == advertisement and low <= second <= high
    ]


def percentile(values, share):
    return np.quantile(values, share, method="inverted_cdf")


@pytest.mark.parametrize("way", [way for way in Way if way is not Way.LPBCAST])
@pytest.mark.parametrize("seed", range(4))
def test_it_agrees_with_brokers_in_a_world(way, seed):
    tree, workload = small_case(seed)
    parameters = replace(PARAMETERS, phi=(0.02, 0.05, 0.1, 0.15)[seed])
    world, ledger, start = content_world(tree, workload.exchange(), way, parameters, seed)
    world.run(start + workload.times[-1] + 3 * parameters.sweep_time)
    outcome = simulate(staged(tree, workload), way, parameters, FREE, seed)
    delivered = Counter((delivery.publication.number, delivery.subscription) for delivery in ledger.deliveries)
    assert delivered == Counter(due(workload))
    assert outcome.deliveries == len(ledger.deliveries)
    assert (outcome.forwards, outcome.pure_forwards) == (ledger.forwards, ledger.pure_forwards)
    assert (outcome.unpopular_deliveries > 0) == (way is not Way.TREE)
    if way is not Way.GOSSIP:  # a publication may overtake itself by gossip, and lots are drawn differently
        popular = [delivery for delivery in ledger.deliveries if delivery.popular]
        assert (outcome.popular_deliveries, outcome.out_of_overlay) == (len(popular), ledger.out_of_overlay)
        latencies = [d.time - start - workload.times[d.publication.number] for d in popular]
        assert outcome.popular_latency == pytest.approx(percentile(latencies, 0.99), abs=0.5)


@pytest.mark.parametrize("way", [Way.TREE, Way.DIRECT, Way.BATCH, Way.ADAPTIVE])
@pytest.mark.parametrize("seed", range(3))
def test_queues_are_those_of_brokers_that_take_time_to_send(way, seed):
    """All latencies are the same. Publishers are at ends of the tree, where a publication takes one way only."""
    tree, workload = small_case(seed)
    ends = np.setdiff1d(np.arange(tree.brokers), tree.parents)[:2]
    workload = replace(workload, publishers=ends[np.arange(6) % 2])
    capacity = Capacity((30.0, 60.0, 90.0)[seed], sizes=(1, 4, 16), speedup=(1.0, 1.5, 2.0), additional=0.4)
    parameters = replace(PARAMETERS, phi=(0.02, 0.05, 0.1)[seed])
    world, ledger, start = content_world(
        tree, workload.exchange(), way, parameters, seed, lambda *arguments: QueueWorld(*arguments, capacity)
    )
    world.run(start + workload.times[-1] + 10 * parameters.sweep_time)
    outcome = simulate(staged(tree, workload), way, parameters, capacity, seed)
    latencies = {True: [], False: []}
    for delivery in ledger.deliveries:
        latencies[delivery.popular].append(delivery.time - start - workload.times[delivery.publication.number])
    assert Counter((d.publication.number, d.subscription) for d in ledger.deliveries) == Counter(due(workload))
    assert (outcome.popular_deliveries, outcome.unpopular_deliveries) == (len(latencies[True]), len(latencies[False]))
    assert (outcome.forwards, outcome.out_of_overlay) == (ledger.forwards, ledger.out_of_overlay)
    assert 0 < world.queued <= outcome.queued <= world.queued + world.just_in_time
    assert outcome.queue == pytest.approx(world.lengths / world.queued, rel=0.1)
    assert outcome.popular_latency == pytest.approx(percentile(latencies[True], 0.99), abs=0.5)
    if way is not Way.TREE:
        assert outcome.unpopular_latency == pytest.approx(percentile(latencies[False], 0.99), abs=0.5)
        assert outcome.unpopular_latency_90 == pytest.approx(percentile(latencies[False], 0.9), abs=0.5)


@settings(max_examples=30, deadline=None)
@given(st.integers(2, 14), st.integers(0, 999))
def test_publications_go_to_matches_and_what_lies_between(brokers, seed):
    tree, workload = small_case(seed, brokers, publishers=4, subscriptions=25, seconds=1.0)
    stage = staged(tree, workload)
    graph = nx.Graph(list(tree.links()))
    matching = Counter((publication, workload.subscribers[number]) for publication, number in due(workload))
    for publication in range(workload.publications):
        cells = slice(*stage.traffic.bounds[publication : publication + 2])
        wanting = stage.tree.brokers[stage.traffic.places[cells]]
        matched = {broker: matching[publication, broker] for broker in range(brokers) if matching[publication, broker]}
        assert dict(zip(wanting.tolist(), stage.traffic.counts[cells].tolist(), strict=True)) == matched
        for source in range(brokers):
            for link in range(stage.tree.indptr[source], stage.tree.indptr[source + 1]):
                peer = stage.tree.peers[link]
                beyond = {target for target in matched if peer in nx.shortest_path(graph, source, target)}
                assert any_beyond(stage.tree, link, stage.traffic.places, cells.start, cells.stop) == bool(beyond)
                assert all(link_toward(stage.tree, source, target) == link for target in beyond)


@jit
def any_beyond(tree, link, positions, low, high):
    return kernel.any_beyond(tree, link, positions, low, high)


@jit
def link_toward(tree, broker, target):
    return kernel.link_toward(tree, broker, target)


def test_gains_are_those_of_the_brokers_tables():
    tree, workload = small_case(5)
    stage = staged(tree, workload)
    world, ledger, start = content_world(tree, workload.exchange(), Way.TREE, PARAMETERS)
    world.run(start)
    rows = [
        (int(link), number) for number in range(6) for link in stage.links[slice(*stage.bounds[number : number + 2])]
    ]
    gains, few_origins = dict(zip(rows, stage.gains, strict=True)), dict(zip(rows, stage.few_origins, strict=True))
    found = 0
    for node, broker in enumerate(ledger.brokers):
        for place in range(stage.tree.indptr[node], stage.tree.indptr[node + 1]):
            for advertisement in range(stage.advertisements):
                entry = broker.table.entries.get((int(stage.tree.peers[place]), advertisement))
                assert gains.get((place, advertisement), 0) == (entry.gain if entry else 0)
                if entry:
                    found += 1
                    few = len(entry.origins) * entry.count <= entry.hops
                    assert few_origins[place, advertisement] == few
    assert found == len(stage.order) > 20


def chain(publications, interval, subscriptions=1):
    """Broker 0 publishes over one link, 5 ms long, to subscribers that want everything."""
    tree = BrokerTree(np.array([NO_PARENT, 0], np.int32), np.full((2, 2), 5.0))
    ones = np.zeros(subscriptions, np.int32)
    return tree, ContentWorkload(
        classes=np.zeros(1, np.int32),
        strips=np.array([[0, 1000]], np.int32),
        publishers=np.zeros(1, np.int64),
        followed=ones,
        ranges=np.tile(np.array([0, 1000], np.int32), (subscriptions, 1)),
        subscribers=ones + 1,
        times=interval * np.arange(1.0, publications + 1),
        advertisements=np.zeros(publications, np.int64),
        values=np.zeros((publications, 2), np.int32),
    )


def test_an_overloaded_broker_falls_behind_by_the_difference():
    # A message takes 10 ms, and one is published every pi ms: the n-th starts when n - 1 have been sent.
    publications, interval = 500, np.pi
    outcome = simulate(staged(*chain(publications, interval)), Way.TREE, PARAMETERS, SLOW)
    n = np.arange(1, publications + 1)
    starts = interval + 10 * (n - 1)
    latencies = starts + 10 + 5 - interval * n
    assert outcome.popular_latency == pytest.approx(percentile(latencies, 0.99), abs=0.5)
    waiting = [np.sum((starts > interval * number) & (n <= number)) for number in n]
    assert outcome.queued == publications - 1
    assert outcome.queue == pytest.approx(np.mean(waiting[1:]))


def test_queues_are_counted_in_publications_and_a_batch_is_as_many_as_it_holds():
    """The broker works on its first publication for 100 s, so that all the others wait for it."""
    tree, poor = chain(100, 100.0)
    few = replace(PARAMETERS, capacity=100.0, phi=0.05)
    stalled = Capacity(0.01, sizes=(1, 64), speedup=(1.0, 64.0))
    outcome = simulate(staged(tree, beside_a_better_one(poor)), Way.BATCH, few, stalled)
    assert outcome.queued == 199  # all publications but the first had to wait
    assert outcome.queued_messages == 100 + 19 + 3 - 1
    assert outcome.queue == 100.0  # the n-th found n - 1 before it: 1 to 199
    assert outcome.message_queue == (1 + 121) / 2


def test_matches_per_gossip_are_of_gossip_alone():
    """All that comes matches: what was retrieved, at least one for each message, came by no gossip."""
    outcome = gossiped([NO_PARENT, 0, 0], [1, 2], publications=500, fanout=1, digest_rounds=4, sweep_rounds=100)
    gossips = outcome.out_of_overlay - outcome.retrievals
    assert outcome.retrievals > 0.05 * outcome.unpopular_deliveries
    by_gossip = outcome.unpopular_deliveries - outcome.retrievals
    assert 0.8 * by_gossip < outcome.matches_per_gossip * gossips <= by_gossip


def test_three_readings_of_who_records_gains():
    """Broker 0 publishes twice a second of five: for 30 subscriptions at broker 1, and for one each at 2 and 3 behind
    it. All is popular at first; after 2 s the latter is sent directly, four times, to two brokers behind one link."""
    tree = BrokerTree(np.array([NO_PARENT, 0, 1, 1], np.int32), np.full((4, 4), 5.0))
    _, poor = chain(5, 1000.0, subscriptions=2)
    workload = beside_a_better_one(replace(poor, subscribers=np.array([2, 3], np.int32)))
    outcome = simulate(staged(tree, workload), Way.DIRECT, replace(PARAMETERS, capacity=1.0, phi=0.1), FREE)
    assert outcome.out_of_overlay == 8
    assert outcome.gain_ratio == (5 * 30 + 1 + 4 * 1) / 10  # of two links and advertisements, five times
    assert outcome.issuer_gain_ratio == (5 * 30 + 1 + 4 * 2) / 14  # of every message that broker 0 sent
    assert outcome.message_gain_ratio == (5 * 30 + 1 + 4 * 2 + 2) / 16  # and of the two that broker 1 did


def test_a_broker_that_keeps_up_has_no_queue():
    outcome = simulate(staged(*chain(50, 11.0)), Way.TREE, PARAMETERS, SLOW)
    assert (outcome.queued, outcome.queue) == (0, 0.0)
    assert outcome.popular_latency == 15.0
    assert outcome.load == pytest.approx(10 / 11)  # of 11 ms, each publication takes 10


def test_further_links_cost_less():
    # Three brokers behind the issuer: the first message takes 10 ms, the others 2 ms each.
    _, workload = chain(1, 50.0, subscriptions=3)
    star = BrokerTree(np.array([NO_PARENT, 0, 0, 0], np.int32), np.full((4, 4), 5.0))
    workload = replace(workload, subscribers=np.array([1, 2, 3], np.int32))
    direct = simulate(staged(star, workload), Way.TREE, PARAMETERS, replace(SLOW, additional=0.2))
    assert direct.popular_latency == 10 + 2 + 2 + 5


def beside_a_better_one(workload):
    """The same, said under advertisement 1; advertisement 0 fills the capacity, with 30 subscriptions at broker 1."""
    everything, publications = np.tile(np.array([0, 1000], np.int32), (30, 1)), len(workload.times)
    return replace(
        workload,
        classes=np.array([0, 1], np.int32),
        strips=np.array([[0, 1000]] * 2, np.int32),
        publishers=np.zeros(2, np.int64),
        followed=np.concatenate([np.zeros(30, np.int32), workload.followed + 1]),
        ranges=np.concatenate([everything, workload.ranges]),
        subscribers=np.concatenate([np.ones(30, np.int32), workload.subscribers]),
        times=np.repeat(workload.times, 2),
        advertisements=np.tile([0, 1], publications),
        values=np.repeat(workload.values, 2, axis=0),
    )


def test_batches_fill_or_time_out():
    # At 10 publications/s and a share for 1, the one entry is popular at first: then it crosses the line, and stays so.
    # So a second one is needed that is better: 30 subscriptions near it against 1.
    tree, poor = chain(100, 100.0)
    few = replace(PARAMETERS, capacity=100.0, phi=0.05)
    outcome = simulate(staged(tree, beside_a_better_one(poor)), Way.BATCH, few, FREE)
    # From 2 s to 10 s, 81 publications of the poor one; 30 in 3 s are not enough, since 30 / 1 must be exceeded.
    assert outcome.unpopular_deliveries == 81
    assert outcome.batches == 3
    assert outcome.unpopular_latency == pytest.approx(3005, abs=1)
    assert outcome.forwards == 100 + 19 + 3


def test_gossip_reaches_everybody_and_its_seed_decides_how():
    tree, workload = small_case(3, brokers=30, publishers=5, subscriptions=120)
    stage = staged(tree, workload)
    parameters = replace(PARAMETERS, phi=0.05)
    outcomes = [simulate(stage, Way.GOSSIP, parameters, FREE, seed) for seed in (1, 1, 2)]
    assert outcomes[0] == outcomes[1] != outcomes[2]
    assert outcomes[0].deliveries == outcomes[2].deliveries == len(due(workload))
    assert outcomes[0].groups > 2
    assert 0 < outcomes[0].gossip_false_positives < 1


def test_gossip_takes_as_long_as_among_brokers_in_a_world():
    """Lots are drawn differently, so that only the distributions agree: the mean of many runs with one in a world."""
    tree = random_tree(60, seed=1)
    setting = Setting(400, rate=1.0, seconds=60.0, classes=3)
    workload = content_workload(zipf_popularity(6, 0.3), tree.top, 60, setting, seed=1)
    parameters = Parameters(diameter=200.0, capacity=10.0, phi=0.01)
    world, ledger, start = content_world(tree, workload.exchange(), Way.GOSSIP, parameters, seed=1)
    world.run(start + workload.times[-1] + 2 * parameters.sweep_time)
    stage = staged(tree, workload)
    outcomes = [simulate(stage, Way.GOSSIP, parameters, FREE, seed) for seed in range(20)]
    late = [d for d in ledger.deliveries if not d.popular]
    latencies = [d.time - start - workload.times[d.publication.number] for d in late]
    assert {outcome.unpopular_deliveries for outcome in outcomes} == {len(late)}
    mean = {name: np.mean([getattr(outcome, name) for outcome in outcomes]) for name in vars(outcomes[0])}
    assert mean["unpopular_latency"] == pytest.approx(percentile(latencies, 0.99), rel=0.03)
    assert mean["unpopular_latency_90"] == pytest.approx(percentile(latencies, 0.9), rel=0.08)
    assert mean["out_of_overlay"] == pytest.approx(ledger.out_of_overlay, rel=0.05)


def test_without_sweeps_as_much_is_lost_as_among_brokers_in_a_world():
    """Gossip to one member a round with digests of one round leaves out a half; a sweep brings all of it."""
    tree = random_tree(30, seed=1)
    setting = Setting(200, rate=1.0, seconds=60.0, classes=3)
    workload = content_workload(zipf_popularity(6, 0.3), tree.top, 30, setting, seed=1)
    parameters = Parameters(diameter=200.0, capacity=10.0, phi=0.01, fanout=1, digest_rounds=1, sweep=False)
    lost = []
    for seed in range(4):
        world, ledger, start = content_world(tree, workload.exchange(), Way.GOSSIP, parameters, seed)
        world.run(start + workload.times[-1] + 30 * parameters.round)
        delivered = Counter((delivery.publication.number, delivery.subscription) for delivery in ledger.deliveries)
        assert not delivered - Counter(due(workload))
        lost.append(len(due(workload)) - len(ledger.deliveries))
    stage = staged(tree, workload)
    outcomes = [simulate(stage, Way.GOSSIP, parameters, FREE, seed) for seed in range(20)]
    assert all(outcome.missed + outcome.deliveries == len(due(workload)) for outcome in outcomes)
    assert min(lost) > 0
    assert np.mean([outcome.missed for outcome in outcomes]) == pytest.approx(np.mean(lost), rel=0.1)
    assert simulate(stage, Way.GOSSIP, replace(parameters, sweep=True), FREE).missed == 0


def test_gossip_that_waits_at_overloaded_brokers_is_what_it_was_when_it_was_sent():
    """Brokers fall so far behind that a gossip leaves many rounds after it was made."""
    tree = random_tree(20, seed=1)
    setting = Setting(100, rate=1.0, seconds=60.0, classes=3)
    workload = content_workload(zipf_popularity(6, 0.3), tree.top, 20, setting, seed=1)
    parameters = Parameters(diameter=60_000.0, capacity=10.0, phi=0.01, round=1_000.0, sweep_rounds=100)
    slow = Capacity(4.0, sizes=(1, 4, 16), speedup=(1.0, 1.5, 2.0), additional=0.4)
    world, ledger, start = content_world(
        tree, workload.exchange(), Way.GOSSIP, parameters, 1, lambda *arguments: QueueWorld(*arguments, slow)
    )
    world.run(start + workload.times[-1] + 1.5 * parameters.sweep_time)
    stage = staged(tree, workload)
    outcomes = [simulate(stage, Way.GOSSIP, parameters, slow, seed) for seed in range(20)]
    latencies = [d.time - start - workload.times[d.publication.number] for d in ledger.deliveries if not d.popular]
    assert {outcome.unpopular_deliveries for outcome in outcomes} == {len(latencies)}
    mean = {name: np.mean([getattr(outcome, name) for outcome in outcomes]) for name in vars(outcomes[0])}
    assert mean["queued"] == pytest.approx(world.queued, rel=0.05)
    assert mean["queue"] == pytest.approx(world.lengths / world.queued, rel=0.1)
    assert mean["out_of_overlay"] == pytest.approx(ledger.out_of_overlay, rel=0.05)
    assert mean["unpopular_latency_90"] == pytest.approx(percentile(latencies, 0.9), rel=0.1)


def gossiped(parents, subscribers, publications, seed=1, **parameters):
    """A publication a second, which is a round, from broker 0 to subscribers that want everything."""
    _, workload = chain(publications, 1000.0, len(subscribers))
    workload = beside_a_better_one(replace(workload, subscribers=np.array(subscribers, np.int32)))
    tree = BrokerTree(np.array(parents, np.int32), np.full((len(parents), len(parents)), 5.0))
    rule = replace(PARAMETERS, capacity=1.0, phi=0.5, **parameters)
    return simulate(staged(tree, workload), Way.GOSSIP, rule, FREE, seed)


def test_who_joins_is_known_before_the_issuer_s_first_round():
    """An issuer that knew nobody would keep what it has for another round, whenever its own comes first."""
    outcomes = [gossiped([NO_PARENT, 0], [1], publications=8, seed=seed, round=10_000.0) for seed in range(20)]
    assert {outcome.unpopular_deliveries for outcome in outcomes} == {6}
    assert max(outcome.unpopular_latency for outcome in outcomes) <= 10_000.0 + 5.0


def test_brokers_that_only_lie_between_do_not_gossip():
    outcome = gossiped([NO_PARENT, 0, 1, 2], [3, 3], publications=100)
    assert outcome.unpopular_deliveries > 100
    assert outcome.gossip_false_positives == 0.0


@pytest.mark.parametrize(("digest_rounds", "waits_for_a_sweep"), [(3, True), (4, False)])
def test_members_tell_of_a_publication_for_as_many_rounds_as_a_digest_has(digest_rounds, waits_for_a_sweep):
    """Three members push to one each. Whom the issuer did not choose misses a publication if the other pushes it back
    (1/2), and neither of the two turns to it in the rounds that they tell of it, after the first (1/2 each): of all
    deliveries 1.6 % with digests of 3 rounds, 0.4 % with 4. The 99th percentile lies between."""
    outcome = gossiped(
        [NO_PARENT, 0, 0], [1, 2], publications=3000, fanout=1, digest_rounds=digest_rounds, sweep_rounds=100
    )
    assert (outcome.unpopular_latency > 10_000) == waits_for_a_sweep


def test_an_issuer_may_have_any_number_of_links():
    """Gossip and direct messages over every link of a star of 130: more than two words have bits for."""
    star = BrokerTree(np.array([NO_PARENT] + [0] * 130, np.int32), np.full((131, 131), 5.0))
    _, poor = chain(40, 1000.0, subscriptions=130)
    workload = beside_a_better_one(replace(poor, subscribers=np.arange(1, 131, dtype=np.int32)))
    rule = replace(PARAMETERS, capacity=1.0, phi=0.5)
    direct, gossip = (simulate(staged(star, workload), way, rule, FREE, seed=1) for way in (Way.DIRECT, Way.GOSSIP))
    assert direct.deliveries == gossip.deliveries == 40 * 160
    assert direct.direct_forwards == 130
    assert direct.out_of_overlay == direct.unpopular_deliveries == gossip.unpopular_deliveries + 130


def test_batches_cost_what_was_measured():
    capacity = Capacity(1000.0, (1, 2, 4), (1.0, 1.5, 2.0))
    assert capacity.costs().tolist() == pytest.approx([0, 1, 2 / 1.5, 3 / 1.75, 2])
    measured = measured_capacity()
    assert measured.costs()[1] == pytest.approx(1000 / measured.publications_per_second)
    assert 0 < measured.additional < 1
    assert np.all(np.diff(measured.costs()) > 0)
