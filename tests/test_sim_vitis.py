"""Vitis networks: kernels and protocol objects come to the same, deliver everything, and heal."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weft.sim.vitis as sim
from weft.errors import WeftError
from weft.model.instance import instance_from_pairs
from weft.model.latency import ConstantLatency, CoordinateLatency, MatrixLatency, place
from weft.model.places import MOST, places_of
from weft.protocol.router import Left, Publication, Published, Subscribed, Unsubscribed
from weft.protocol.vitis.message import Notification
from weft.protocol.vitis.parameters import Parameters
from weft.protocol.vitis.router import Vitis
from weft.sim.record import Record
from weft.sim.vitis import VitisNetwork, host_arrays, topic_identifiers
from weft.sim.vitis_scenario import WINDOW, Scenario, after_failure, drawn, join_all, simulate, until_settled
from weft.sim.vitis_world import schedule_join, vitis_world
from weft.workloads.catalog import generate
from weft.workloads.geography import geographic_latency

PERIOD = 1000.0


class Trace(Record):
    """Counts notifications, too."""

    def __init__(self):
        super().__init__()
        self.notified = Counter()  # (issuer, number, receiver)
        self.notices = Counter()  # (issuer, number), sender and receiver

    def sent(self, now, sender, receiver, message):
        super().sent(now, sender, receiver, message)
        if isinstance(message, Notification):
            self.notified[message.issuer, message.number, receiver] += 1
            self.notices[(message.issuer, message.number), sender, receiver] += 1


class Twins:
    """The same network twice: on kernels, and as protocol objects in a world."""

    def __init__(self, instance, latency, parameters, seed, rates=None):
        self.instance = instance
        self.record = Trace()
        self.places = places_of([f"{node % 3}/{node % 5}" for node in range(instance.nodes)])
        self.network = VitisNetwork(instance, latency, parameters, seed, rates, self.places)
        believed = self.network.believed if parameters.measured else None
        self.world, self.nodes = vitis_world(instance, latency, parameters, seed, self.record, rates, believed)
        self.rng = np.random.default_rng(seed)

    def join(self, node, contact):
        self.network.join(node, contact)
        schedule_join(self.world, self.nodes, self.world.now + 0.25, node, contact)

    def fail(self, nodes):
        """Let nodes fail at the end of the round, when all their messages have arrived."""
        self.network.fail(nodes)
        for node in nodes:
            self.world.fail(node)

    def leave(self, node):
        """Let a node say goodbye when all messages of the round have arrived, and its goodbyes arrive in it too."""
        self.network.leave(node)
        self.world.schedule(self.world.now - 200.0, node, Left())

    def come_back(self, node, contact):
        """Let a node that has failed come back, as one that knows nothing."""
        old = self.nodes[node].neighbourhood
        about = {"rates": old.rates, "distance": old.distance, "rendezvous": old.rendezvous, "seed": old.seed}
        self.nodes[node] = Vitis(node, old.interest, old.parameters, **about)
        self.world.restart(node, self.nodes[node])
        self.join(node, contact)

    def wish(self, node, topic):
        """Let a node subscribe, or take its subscription back."""
        self.world.run(self.world.now)
        is_subscribed = topic in self.nodes[node].neighbourhood.interest
        (self.network.unsubscribe if is_subscribed else self.network.subscribe)(node, topic)
        self.world.schedule(self.world.now, node, (Unsubscribed if is_subscribed else Subscribed)(topic))

    def step(self):
        self.network.step()
        self.world.run(until=self.network.round * PERIOD)
        self.world.check_invariants()

    def end_of_round(self):
        self.world.run(until=(self.network.round + 1) * PERIOD - 0.5)
        self.world.now = (self.network.round + 1) * PERIOD - 0.5

    def publish(self, topic, issuer):
        between = self.places.nothing_counted()
        reach = self.network.publish(topic, issuer, between)
        said = Publication(issuer, self.network.round, topic)
        start = self.network.round * PERIOD + 0.25
        self.world.schedule(start, issuer, Published(said))
        self.end_of_round()
        deliveries = [row for row in self.record.deliveries if row.publication == said]
        subscribers = self.network.subscribers[topic].tolist()
        expected = {v: int(reach.hops[v]) for v in subscribers if reach.hops[v] > 0}
        assert Counter(row.node for row in deliveries) == Counter(expected.keys())
        assert {row.node: row.hops for row in deliveries} == expected
        assert np.allclose([row.time - start for row in deliveries], [reach.time[row.node] for row in deliveries])
        pulled = {hop.receiver for hop in self.record.hops if hop.publication == said}
        assert pulled == set(np.flatnonzero(reach.hops > 0).tolist())
        notified = {v: self.record.notified[issuer, said.number, v] for v in np.flatnonzero(self.network.there)}
        assert notified == {v: reach.notifications[v] for v in notified}
        contents = [(hop.sender, hop.receiver) for hop in self.record.hops if hop.publication == said]
        assert {receiver: sender for sender, receiver in contents} == {v: reach.source[v] for v in pulled}
        sent = {key[1:]: n for key, n in self.record.notices.items() if key[0] == (issuer, said.number)}
        notices = {pair: n for pair, n in sent.items() if self.network.there[pair[1]]}
        assert np.array_equal(between, self.counted_between(dict.fromkeys(contents, 1), notices))
        return {v for v in subscribers if self.network.there[v]} - {issuer} - expected.keys()

    def counted_between(self, contents, notices):
        counted = self.places.nothing_counted()
        for kind, pairs in enumerate((contents, notices)):
            for (sender, receiver), count in pairs.items():
                counted[kind, self.places.numbers[sender], self.places.numbers[receiver]] += count
        return counted

    def check_agreement(self):
        for v in np.flatnonzero(self.network.there).tolist():
            assert self.of_kernels(v) == self.of_protocol(v), f"node {v} in round {self.network.round}"

    def of_protocol(self, v):
        vitis, topics = self.nodes[v].neighbourhood, self.instance.topics
        return {
            "view": {peer.node: peer.age for peer in vitis.sampling.view.values()},
            "table": {peer.node: peer.age for peer in vitis.table.peers.values()},
            "ring": (vitis.table.successor, vitis.table.predecessor),
            "links": set(vitis.links),
            "lately": set(vitis.lately),
            "gateways": [
                (
                    found.gateway,
                    found.hops,
                    found.height,
                    -1 if found.heir is None else found.heir,
                    found.is_gateway(vitis.parameters.gateway_step),
                )
                for _, found in sorted(vitis.proposals.items())
            ],
            "relays": {(t, child) for t in range(topics) for child in vitis.relays.children(t)},
            "friends": vitis.table.friends,
        }

    def of_kernels(self, v):
        network, nodes, topics = self.network, self.instance.nodes, self.instance.topics
        profile = network.profile[v]
        gossip, own = network.gossip, slice(*network.setting.indptr[profile : profile + 2])
        keys = network.relay_children[network.relay_children // (nodes * topics) == v] % (nodes * topics)
        lately = network.linked_lately[network.linked_lately // nodes == v] % nodes
        return {
            "view": known(gossip.sampled[v], gossip.sampled_age[v]),
            "table": known(gossip.table[v], gossip.table_age[v]),
            "ring": tuple(int(peer) if peer >= 0 else None for peer in (gossip.successor[v], gossip.predecessor[v])),
            "links": set(network.links(v).tolist()),
            "lately": set(lately.tolist()),
            "gateways": list(zip(*(proposed[own].tolist() for proposed in network.proposals), strict=True)),
            "relays": {divmod(int(key), nodes) for key in keys},
            "friends": {int(peer) for peer in gossip.table[v, gossip.first_friend[v] :] if peer >= 0},
        }


def known(peers, ages):
    return {int(peer): int(age) for peer, age in zip(peers, ages, strict=True) if peer >= 0}


@pytest.mark.parametrize(
    ("seed", "parameters"),
    [
        (1, Parameters(table=6, view=5, shuffle=3)),
        (2, Parameters(table=8, small_world=3, view=8, shuffle=4, exponent=0.5, expiry=4)),
        (3, Parameters(table=5, small_world=1, view=4, shuffle=2, exponent=1.5, gateway_hops=1, patience=3)),
        (4, Parameters(table=7, view=6, shuffle=6, exponent=1.0, utility="sum", floor=20.0)),
        (5, Parameters(table=8, view=5, shuffle=3, in_degree=5)),
    ],
)
def test_kernels_and_protocol_objects_come_to_the_same(seed, parameters, monkeypatch):
    """Round by round, while nodes join, fail and publish: views, tables, gateways, relay paths, deliveries, hops."""
    monkeypatch.setattr(sim, "MOST_PAIRED", 0 if seed % 2 else 100)  # utilities as they are asked for, or all before
    nodes = 36
    instance = generate("random", nodes=nodes, topics=24, subscriptions=5, seed=seed)
    rng = np.random.default_rng(seed)
    latency = place(MatrixLatency(rng.uniform(1, 40, (9, 9))), nodes, seed)
    twins = Twins(instance, latency, parameters, seed, rates=rng.uniform(0.5, 2.0, 24))
    missed = set()
    for step in range(45):
        if step < 12:
            for node in range(3 * step, 3 * step + 3):
                twins.join(node, int(rng.integers(node)) if node else None)
        if step == 30:
            twins.fail([4, 11, 17, 23])
        twins.step()
        twins.check_agreement()
        issuer = int(rng.choice(np.flatnonzero(twins.network.there)))
        missed = twins.publish(int(rng.integers(24)), issuer)
    assert missed == set()


@pytest.mark.parametrize(
    ("seed", "parameters"),
    [
        (1, Parameters(table=6, view=5, shuffle=3, exponent=0.5, measured=True)),
        (2, Parameters(table=5, small_world=1, view=4, shuffle=2, gateway_step=1, patience=3)),
        (3, Parameters(table=6, view=5, shuffle=3, in_degree=4, gateway_step=2, exponent=0.5)),
        (4, Parameters(table=8, view=6, shuffle=4, expiry=3, patience=2)),
    ],
)
def test_kernels_and_protocol_objects_agree_while_everything_changes(seed, parameters):
    """Nodes join, fail, leave and come back; subscriptions come and go, which peers hear of later."""
    nodes, topics = 24, 9
    instance = generate("random", nodes=nodes, topics=topics, subscriptions=3, seed=seed)
    rng = np.random.default_rng(seed)
    latency = place(MatrixLatency(rng.uniform(1, 40, (9, 9))), nodes, seed)
    twins = Twins(instance, latency, parameters, seed, rates=rng.uniform(0.5, 2.0, topics))
    out, failed = rng.permutation(nodes).tolist(), set()
    for step in range(72):
        living = np.flatnonzero(twins.network.there)
        contact = int(rng.choice(living)) if len(living) else None
        stays = set() if contact is None else {contact}
        for _ in range(1 if contact is None else 3 if step < 9 else int(rng.integers(2))):
            if out and step < 52:
                node = out.pop(0)
                (twins.come_back if node in failed else twins.join)(node, contact)
                failed.discard(node)
        gone = [node for node in rng.permutation(living).tolist() if node not in stays][: int(step in range(12, 50, 2))]
        for node in gone:
            if rng.random() < 0.5:
                twins.fail([node])
                failed.add(node)
            else:
                twins.leave(node)
            out.append(node)
        for _ in range(int(rng.integers(3)) if 10 < step < 52 else 0):
            twins.wish(int(rng.choice([*{*range(nodes)} - failed])), int(rng.integers(topics)))
        twins.step()
        twins.check_agreement()
        issuer = int(rng.choice(np.flatnonzero(twins.network.there)))
        missed = twins.publish(int(rng.integers(topics)), issuer)
    assert missed == set()


@st.composite
def odd_parameters(draw):
    """Tables that cannot be filled, views of two, gateways that nobody may adopt, paths that expire at once."""
    view = draw(st.integers(2, 6))
    return Parameters(
        table=draw(st.integers(4, 20)),
        small_world=draw(st.integers(0, 1)),
        in_degree=draw(st.sampled_from([None, 1, 2])),
        view=view,
        shuffle=draw(st.integers(1, view)),
        patience=draw(st.integers(2, 4)),
        gateway_hops=draw(st.integers(0, 2)),
        expiry=draw(st.integers(1, 4)),
        exponent=draw(st.sampled_from([0.0, 0.25, 3.0])),
        utility=draw(st.sampled_from(["product", "sum"])),
        floor=draw(st.sampled_from([1.0, 30.0])),
    )


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 10**6), st.integers(1, 14), st.sampled_from([0.0, 0.1, 0.4, 1.0]), odd_parameters())
def test_kernels_and_protocol_objects_agree_on_odd_networks(seed, nodes, density, parameters):
    """Few nodes, some without interests, topics without subscribers; they join, fail and publish in any order."""
    topics = 4
    rng = np.random.default_rng(seed)
    wanted = rng.random((nodes, topics)) < density
    instance = instance_from_pairs(*np.nonzero(wanted), node_count=nodes, topic_count=topics)
    latency = place(MatrixLatency(rng.uniform(0, 30, (2, 2))), nodes, seed)
    twins = Twins(instance, latency, parameters, seed)
    out = rng.permutation(nodes).tolist()
    for step in range(14):
        living = np.flatnonzero(twins.network.there)
        for _ in range(int(rng.integers(3)) if step else 1):
            if out:
                twins.join(out.pop(), int(rng.choice(living)) if len(living) else None)
        if len(living) > 2 and rng.random() < 0.2:
            twins.fail([int(rng.choice(living))])
        twins.step()
        twins.check_agreement()
        twins.publish(int(rng.integers(topics)), int(rng.choice(np.flatnonzero(twins.network.there))))


def test_a_world_of_protocol_objects_delivers_everything_and_heals():
    """Unlike the twins' world: round trips of up to a third of the period, so that messages cross the rounds' ends."""
    nodes = 60
    instance = generate("random", nodes=nodes, topics=30, subscriptions=5, seed=5)
    latency = CoordinateLatency(np.random.default_rng(5).uniform(0, 200, (nodes, 2)), base=5.0)
    record = Record()
    world, vitis = vitis_world(instance, latency, Parameters(table=5, small_world=1, exponent=0.25), 5, record)
    for node in range(nodes):
        schedule_join(world, vitis, 100.0 * node, node, node // 2 if node else None)

    def missing(number):
        """Subscribers that some publication of every living node does not come to."""
        start, lost = world.now, 0
        said = [Publication(v, number, int(instance.interest[v][number % 5])) for v in living]
        for publication in said:
            world.schedule(start, publication.issuer, Published(publication))
        world.run(until=start + 20_000.0)
        world.now = start + 20_000.0
        for publication in said:
            subscribers = set(instance.subscribers[publication.topic].tolist()) & living - {publication.issuer}
            got = Counter(row.node for row in record.deliveries if row.publication == publication)
            assert max(got.values(), default=1) == 1
            lost += len(subscribers - got.keys())
        return lost

    living = set(range(nodes))
    world.run(until=40_000.0)
    assert missing(0) == 0
    for node in (3, 10, 20, 33, 47, 58):  # a tenth fails at once
        world.fail(node)
        living.discard(node)
    assert missing(1) > 0  # it did hurt
    assert missing(2) == 0
    for node in (5, 30):  # and two say goodbye
        world.schedule(world.now, node, Left())
        living.discard(node)
    world.run(until=world.now + 15_000.0)
    assert missing(3) == 0
    world.check_invariants()
    assert all(not (vitis[v].neighbourhood.links.keys() - living) for v in living)


SMALL = Scenario(publications=100, settled=0.002)


@pytest.mark.parametrize("exponent", [0.0, 0.25, 1.0])
@pytest.mark.parametrize("pattern", ["random", "high"])
def test_a_stable_network_delivers_everything(pattern, exponent):
    instance = generate(pattern, nodes=200, seed=1)
    latency = place(geographic_latency(50, 1), 200, 1)
    figures = simulate(instance, latency, Parameters(exponent=exponent), SMALL, 1)
    assert figures["hit_ratio"] == 1.0
    assert 0 < figures["relay_share"] < 1
    assert figures["delivery_time"] > figures["notification_time"] > 0
    assert 30 <= figures["degree"] < 50


def test_publications_wait_until_tables_have_stopped_changing():
    """A larger network takes longer, so that no number of rounds is right for all."""
    rounds = []
    for nodes in (40, 250):
        instance = generate("random", nodes=nodes, seed=1)
        network = VitisNetwork(instance, place(geographic_latency(50, 1), nodes, 1), Parameters(), 1)
        join_all(network, np.arange(nodes), 100.0, np.random.default_rng(1))
        turnovers = [network.turnover for _ in until_settled(network, Scenario())]
        window = network.parameters.patience + WINDOW
        means = np.convolve(turnovers, np.ones(window) / window, "valid")
        assert means[-1] < Scenario().settled <= means[:-1].min()
        rounds.append(len(turnovers))
    assert rounds[0] + 10 < rounds[1]


def test_turnover_is_the_share_of_the_peers_that_changes():
    instance = generate("random", nodes=60, topics=30, subscriptions=5, seed=1)
    network = VitisNetwork(instance, ConstantLatency(60), Parameters(table=6), 1)
    join_all(network, np.arange(60), 0.0, np.random.default_rng(1))
    for _ in range(6):
        before = [set(row[row >= 0].tolist()) for row in network.gossip.table]
        network.step()
        now = [set(row[row >= 0].tolist()) for row in network.gossip.table]
        changes = sum(len(one ^ other) for one, other in zip(before, now, strict=True))
        assert network.turnover == changes / (2 * sum(map(len, now)))
    assert network.turnover > 0


def test_a_network_that_never_settles_publishes_all_the_same():
    instance = generate("random", nodes=40, seed=1)
    latency = place(geographic_latency(50, 1), 40, 1)
    figures = simulate(instance, latency, Parameters(), Scenario(publications=5, settled=1e-9, most_rounds=6), 1)
    assert figures["rounds_to_settle"] is None
    assert figures["deliveries"] > 0


def befriended(network):
    """The number of nodes that have each node as a friend."""
    gossip = network.gossip
    is_friend = np.arange(gossip.table.shape[1]) >= gossip.first_friend[:, None]
    chosen = gossip.table[is_friend & (gossip.table >= 0)]
    return np.bincount(chosen, minlength=len(gossip.table))


@pytest.mark.parametrize("bound", [None, 8])
def test_in_degrees_can_be_bounded(bound):
    """All like the first five best: without a bound they are hubs."""
    interests = [set(range(5)) if node < 5 else {node % 5, 5 + node % 7} for node in range(80)]
    network = VitisNetwork(small(*interests, topics=12), ConstantLatency(80), Parameters(table=8, in_degree=bound), 1)
    join_all(network, np.arange(80), 100.0, np.random.default_rng(1))
    highest = []
    for _ in range(40):
        network.step()
        highest.append(befriended(network).max())
    assert network.turnover == 0  # it has come to rest
    assert highest[-1] > 8 if bound is None else highest[-1] == 8
    reached = [np.flatnonzero(network.publish(topic, topic).hops >= 0) for topic in range(5)]
    assert all(set(network.instance.subscribers[topic]) <= set(nodes) for topic, nodes in enumerate(reached))


def test_relay_traffic_is_what_came_to_the_uninterested():
    """Topic 0 is of nodes 0 and 1 only; what others are notified of is relay traffic."""
    instance = small({0}, {0}, *({1} for _ in range(30)), topics=2)
    latency = place(ConstantLatency(1, 5.0), 32, 1)
    figures = simulate(instance, latency, Parameters(table=4, small_world=0), Scenario(publications=60), 1)
    assert 0 < figures["relay_traffic"] < 1
    alone = simulate(small({0}, {0}, {0}, topics=1), ConstantLatency(3), Parameters(), Scenario(publications=9), 1)
    assert alone["relay_traffic"] == 0


def test_churn_is_got_over():
    instance = generate("low", nodes=200, seed=2)
    latency = place(geographic_latency(50, 1), 200, 1)
    figures = simulate(instance, latency, Parameters(), Scenario(publications=100, settled=0.002, churn=True), 1)
    assert 0 < figures["rounds_to_heal"] < 30
    assert figures["lowest_hit_ratio"] < 1.0  # it did hurt
    assert figures["hit_ratio"] == 1.0


@pytest.mark.parametrize("seed", [1, 2])
def test_a_network_that_has_lost_a_tenth_of_its_nodes_heals_by_itself(seed):
    instance = generate("random", nodes=200, seed=seed)
    latency = place(geographic_latency(50, 1), 200, 1)
    healing = after_failure(instance, latency, Parameters(exponent=0.25), SMALL, seed, 0.1)
    assert healing["lowest_hit_ratio"] < 1.0  # it did hurt
    assert 5 <= healing["rounds_to_heal"] < 30  # patience, and time to grow new paths


def test_a_network_is_the_same_each_time():
    instance = generate("low", nodes=80, seed=3)
    latency = ConstantLatency(80, 10.0)
    one, other = (simulate(instance, latency, Parameters(), SMALL, 7) for _ in range(2))
    assert one == other
    assert simulate(instance, latency, Parameters(), SMALL, 8) != one


def test_locality_brings_friends_nearer():
    instance = generate("random", nodes=200, seed=1)
    latency = place(geographic_latency(50, 1), 200, 1)
    trips = []
    for exponent in (0.0, 1.0):
        network = VitisNetwork(instance, latency, Parameters(exponent=exponent), 1)
        join_all(network, np.arange(200), 100.0, np.random.default_rng(1))
        for _ in range(30):
            network.step()
        sources, places = np.nonzero(network.gossip.table >= 0)
        trips.append(latency.round_trip(sources, network.gossip.table[sources, places]).mean())
    assert trips[1] < 0.6 * trips[0]


def test_the_ring_closes():
    instance = generate("random", nodes=150, seed=4)
    network = VitisNetwork(instance, ConstantLatency(150), Parameters(), 4)
    join_all(network, np.arange(150), 100.0, np.random.default_rng(4))
    for _ in range(25):
        network.step()
    order = np.argsort(network.setting.ring_ids)
    assert network.gossip.successor[order].tolist() == np.roll(order, -1).tolist()
    assert network.gossip.predecessor[order].tolist() == np.roll(order, 1).tolist()


def small(*interests, topics):
    pairs = [(node, topic) for node, interest in enumerate(interests) for topic in interest]
    return instance_from_pairs(*np.array(pairs or np.empty((0, 2))).T, node_count=len(interests), topic_count=topics)


@pytest.mark.parametrize("churn", [False, True])
@pytest.mark.parametrize("exponent", [0.0, 1.0])
@pytest.mark.parametrize(
    "instance",
    [
        small({0}, topics=1),
        small(set(), topics=1),
        small(set(), set(), set(), topics=2),
        small({0}, {0}, topics=1),
        small({0}, {1}, topics=3),
        small({0}, set(), {0}, set(), {2}, {2}, topics=4),
    ],
    ids=["alone", "alone, wants nothing", "nobody wants anything", "two", "nothing in common", "some"],
)
def test_a_few_nodes_are_a_network_too(instance, exponent, churn):
    """All on one host, with no time between them; where there is nobody to deliver to, nothing is missed."""
    latency = place(ConstantLatency(1), instance.nodes, 1, access=(0.0, 0.0))
    scenario = Scenario(publications=30, churn=churn)
    figures = simulate(instance, latency, Parameters(exponent=exponent, floor=5.0), scenario, 1)
    assert figures["hit_ratio"] == 1.0
    assert figures["rounds_to_heal"] < 3
    assert figures["delivery_time"] == 0.0
    assert (figures["deliveries"] > 0) == (instance.subscribers.counts.max() > 1)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"publications": -1}, "publications of Vitis' scenario is -1: give at least 0"),
        ({"per_round": 0}, "per_round"),
        ({"most_rounds": 0}, "most_rounds"),
        ({"settled": 0.0}, "settled of Vitis' scenario is 0.0: give a share above 0"),
        ({"join_interval": float("nan")}, "join_interval"),
    ],
)
def test_wrong_scenarios_are_errors(wrong, words):
    with pytest.raises(WeftError, match=words):
        Scenario(**wrong)


@pytest.mark.parametrize("share", [-0.1, 1.0, float("nan")])
def test_some_nodes_have_to_survive(share):
    with pytest.raises(WeftError, match="from 0 to below 1"):
        after_failure(small({0}, {0}, topics=1), ConstantLatency(2), Parameters(), SMALL, 1, share)


def test_all_latencies_have_to_be_known():
    with pytest.raises(WeftError, match="are of 2 nodes and not of 3: place"):
        VitisNetwork(small({0}, {0}, {0}, topics=1), ConstantLatency(2), Parameters(), 1)


def test_a_relay_path_grows_within_a_round():
    """Each topic has one subscriber, and all at once another rendezvous node: a round later all are found again."""
    instance = instance_from_pairs(np.arange(100), np.arange(100))
    network = VitisNetwork(instance, ConstantLatency(100), Parameters(table=5), 1)
    join_all(network, np.arange(100), 100.0, np.random.default_rng(1))
    for _ in range(25):
        network.step()
    network.identifiers = topic_identifiers(100, seed=2)  # every topic has another rendezvous node now
    network.step()
    network.step()
    reached = [network.publish(topic, issuer=(topic + 50) % 100).hops[topic] for topic in range(100)]
    assert min(reached) > 0
    assert max(reached) > 4  # some paths are long


def test_only_nodes_that_are_there_publish():
    instance = generate("random", nodes=50, topics=20, subscriptions=3, seed=1)
    network = VitisNetwork(instance, ConstantLatency(50), Parameters(), 1)
    join_all(network, np.arange(30), 100.0, np.random.default_rng(1))
    said = list(drawn(network, 200, np.random.default_rng(2)))
    assert {issuer for _, issuer in said} <= set(range(30))
    assert all(topic in instance.interest[issuer] for topic, issuer in said)


@pytest.mark.parametrize("hosts", [geographic_latency(5, 1), place(geographic_latency(5, 1), 8, 2), ConstantLatency(4)])
def test_hosts_and_access_delays_add_up_to_round_trips(hosts):
    for latency in (hosts, place(hosts, 20, 3)):
        trips, host, access = host_arrays(latency)
        v, w = np.nonzero(~np.eye(latency.nodes, dtype=bool))
        assert np.array_equal(trips[host[v], host[w]] + access[v] + access[w], latency.round_trip(v, w))


def test_rates_are_published_by_and_known_to_nodes():
    """Two topics of sixty are nearly all that is published: nodes that know it befriend their subscribers."""
    instance, latency = generate("random", nodes=100, topics=60, subscriptions=10, seed=1), ConstantLatency(100, 10.0)
    rates = np.where(np.arange(60) < 2, 1e6, 1.0)
    parameters = Parameters(table=7, small_world=0)
    blind = simulate(instance, latency, parameters, SMALL, 1, rates=rates, weigh_rates=False)
    seeing = simulate(instance, latency, parameters, SMALL, 1, rates=rates)
    assert 100 * (instance.subscribers.counts[:2].min() - 1) <= seeing["deliveries"]
    assert seeing["deliveries"] <= 100 * (instance.subscribers.counts[:2].max() - 1)
    assert seeing["relays_per_delivery"] < 0.8 * blind["relays_per_delivery"]
    assert seeing["clusters_by_rate"] < 0.8 * blind["clusters_by_rate"]


def test_what_goes_from_place_to_place_is_counted_by_level():
    instance = small(*[{0} for _ in range(40)], topics=1)
    latency = place(geographic_latency(50, 1), 40, 1)
    places = places_of([f"{node % 2}/{node % 4}" for node in range(40)])
    figures = simulate(instance, latency, Parameters(table=6), SMALL, 1, places=places)
    region, site = figures["across_levels"]
    assert 0.4 < region["contents"] < 0.6 < site["contents"] < 0.85  # of 39 others 20 are elsewhere, and 30
    assert (site["contents"], site["notifications"]) == (figures["contents_across"], figures["notifications_across"])
    alone = simulate(instance, latency, Parameters(table=6), SMALL, 1, places=places_of(["one"] * 40))
    assert alone["contents_across"] == alone["notifications_across"] == 0


def test_places_have_to_be_of_all_nodes_and_not_too_many():
    with pytest.raises(WeftError, match="The places are of 2 nodes and not of 3"):
        VitisNetwork(small({0}, {0}, {0}, topics=1), ConstantLatency(3), Parameters(), 1, None, places_of(["a", "b"]))
    with pytest.raises(WeftError, match="traffic is counted between 2000 at most"):
        places_of([str(number) for number in range(MOST + 1)])
