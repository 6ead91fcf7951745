"""PopSub's brokers where messages are unknown, late, lost or repeated, and links come and go."""

from collections import Counter

import networkx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker_world import ANYTHING, BrokerWorld
from test_protocol_popsub_codec import packets
from test_protocol_popsub_table import random_tree, tables_by_hand
from weft.model.content import Advertisement, Content, Subscription
from weft.protocol.popsub.broker import Broker
from weft.protocol.popsub.message import (
    Advertise,
    Advertised,
    Direct,
    Forward,
    Join,
    Linked,
    Publication,
    Subscribe,
    Subscribed,
    Switch,
    Unadvertise,
    Unlinked,
    Unsubscribe,
)
from weft.protocol.popsub.parameters import Parameters, Way
from weft.protocol.router import Published, Received, Send, Undelivered
from weft.sim.world import Faults

PARAMETERS = Parameters(diameter=10.0, capacity=100.0, phi=0.01)
WALL = 1_793_000_000_000.0  # a clock of milliseconds since 1970


def publication(number, topic=7, x=0):
    return Publication(0, number, topic, said=Content("news", {"x": x}))


def broker(way=Way.BATCH, links=(1, 2)):
    """Broker 0, with a subscription of its own and one behind link 2."""
    made = Broker(0, links, way, PARAMETERS)
    made.handle(Received(1, Advertise(Advertisement(7, ANYTHING))), 0.0)
    made.handle(Subscribed(Subscription(1, ANYTHING)), 0.0)
    made.handle(Received(2, Subscribe(Subscription(2, ANYTHING), 9, 3)), 0.0)
    return made


def test_what_was_withdrawn_meanwhile_is_forwarded_by_what_it_matches():
    made = broker()
    late = made.handle(Received(1, Forward(publication(1, topic=99), 1)), 1.0)
    assert [effect.peer for effect in late if isinstance(effect, Send)] == [2]


@pytest.mark.parametrize("message", [Unadvertise(99), Unsubscribe(99), Join(99, 1, 5, (1,))])
def test_what_is_unknown_changes_nothing(message):
    made = broker()
    assert made.handle(Received(1, message), 1.0) == []
    assert (set(made.table.sources), set(made.table.routes)) == ({7}, {1, 2})


def test_only_the_link_that_it_came_by_takes_a_thing_back():
    made = broker()
    assert made.handle(Received(2, Unadvertise(7)), 1.0) == made.handle(Received(1, Unsubscribe(2)), 1.0) == []
    assert (set(made.table.sources), set(made.table.routes)) == ({7}, {1, 2})
    assert made.handle(Received(1, Unadvertise(7)), 1.0) == [Send(2, Unadvertise(7)), Send(1, Unsubscribe(2))]


def test_messages_of_the_tree_come_by_its_links_only():
    made = broker()
    for message in (Advertise(Advertisement(8, ANYTHING)), Forward(publication(1), 1), Unadvertise(7)):
        assert made.handle(Received(5, message), 1.0) == []
    assert set(made.table.sources) == {7}
    assert len(made.handle(Received(5, Direct(publication(1))), 1.0)) == 1  # out of the overlay from anywhere


def test_a_switch_that_a_later_one_has_overtaken_is_void():
    made = broker(Way.GOSSIP)
    made.handle(Received(1, Forward(publication(5), 1, Switch.TREE)), 1.0)
    made.handle(Received(1, Forward(publication(3), 1, Switch.GOSSIP, (1,))), 2.0)
    assert not made.gossiping.groups
    made.handle(Received(1, Forward(publication(6), 1, Switch.GOSSIP, (1,))), 3.0)
    made.handle(Received(1, Forward(publication(5), 1, Switch.TREE)), 4.0)  # repeated
    assert set(made.gossiping.groups) == {7}


def test_evaluation_begins_when_the_first_event_says_what_time_it_is():
    made = Broker(0, [1], Way.BATCH, PARAMETERS)
    assert made.next_deadline() is None
    made.handle(Advertised(Advertisement(7, ANYTHING)), WALL + 500.0)
    assert made.next_deadline() == WALL + 2_000.0


def test_evaluations_that_were_missed_are_not_made_up_for():
    """Two publications in the first of ten intervals, of 2 s each: a rate of 0.1 a second."""
    made = Broker(0, [1], Way.BATCH, PARAMETERS)
    made.handle(Advertised(Advertisement(7, ANYTHING)), WALL)
    made.handle(Received(1, Subscribe(Subscription(2, ANYTHING), 1, 1)), WALL)
    for number in (1, 2):
        made.handle(Published(publication(number)), WALL + number)
    made.on_timer(WALL + 20_000.0)
    assert made.table.entries[1, 7].rate == 0.1
    assert made.next_deadline() == WALL + 22_000.0


@settings(deadline=None, max_examples=200)
@given(st.sampled_from(Way), st.lists(st.tuples(st.integers(0, 9), packets, st.floats(0, 9000)), max_size=12))
def test_no_message_breaks_a_broker(way, received):
    """Whatever comes from whomever, twice: a broker that goes on serving its own subscription."""
    made, now = broker(way), 0.0
    for sender, message, later in received:
        now += later
        for _ in range(2):
            made.handle(Received(sender, message), now)
            made.handle(Undelivered(sender, message), now)
            made.check_invariants()
        deadline = made.next_deadline()
        if deadline is not None and deadline <= now:
            made.on_timer(now)
    effects = made.handle(Received(3, Direct(Publication(0, 2**50, 7, said=Content("news", {})))), now)
    assert [effect.subscriptions for effect in effects if not isinstance(effect, Send)] == [(1,)]


# losses


class FewLosses(Faults):
    """Loses messages and acknowledgements by a pattern, which ends."""

    def __init__(self, pattern, timeout):
        super().__init__(0.0, timeout, 0)
        self.pattern = list(pattern)
        self.lost = 0

    def strike(self):
        strikes = self.pattern.pop() if self.pattern else False
        self.lost += strikes
        return strikes


def chain_with_losses(way, faults):
    """Brokers 0 to 2 in a chain, of which 0 advertises and 2 subscribes, and all is unpopular."""
    options = {"diameter": 2_000.0, "evaluation": 1e9, "round": 1_000.0, "sweep_rounds": 100}
    world = BrokerWorld(3, [(0, 1), (1, 2)], way, faults=faults, **options)
    advertisement = world.advertise(0)
    world.settle()
    subscription = world.subscribe(2)
    world.settle()
    for entry in world.brokers[0].table.entries.values():
        entry.way = way
    return world, advertisement, subscription


def test_a_lost_direct_message_is_sent_again():
    faults = FewLosses([], 500.0)
    world, advertisement, subscription = chain_with_losses(Way.DIRECT, faults)
    faults.pattern = [True, True]  # twice
    said = world.publish(0, advertisement)
    world.wait(900)
    assert world.got(subscription) == []
    world.wait(500)
    assert world.got(subscription) == [said]


def test_a_lost_invitation_is_sent_again():
    faults = FewLosses([], 500.0)
    world, advertisement, _ = chain_with_losses(Way.GOSSIP, faults)
    world.publish(0, advertisement)
    world.settle()
    world.happen(1, Subscribed(Subscription(50, ANYTHING)))
    faults.pattern = [True]  # the invitation: nobody says anything before that
    while not faults.lost:
        world.wait(1)
    world.wait(100)
    assert advertisement not in world.brokers[1].gossiping.groups
    world.wait(500)
    assert advertisement in world.brokers[1].gossiping.groups


@settings(deadline=None, max_examples=60)
@given(
    way=st.sampled_from(Way),
    nodes=st.integers(2, 6),
    seed=st.integers(0, 99),
    strikes=st.lists(st.booleans(), max_size=60),
    withdraws=st.booleans(),
)
def test_everybody_gets_everything_once_though_messages_are_lost(way, nodes, seed, strikes, withdraws):
    """A message may be lost as often as there are strikes in a row, and each time is reported after 200 ms."""
    faults = FewLosses(strikes, 200.0)
    longest = 40.0 * nodes + 200.0 * len(strikes)
    options = {"diameter": longest, "round": 500.0, "view": 2, "fanout": 1, "evaluation": 1e9}
    links = random_tree(nodes, seed)
    world = BrokerWorld(nodes, links, way, seed, faults=faults, **options)
    advertisement, other = world.advertise(0), world.advertise(nodes - 1)
    subscriptions = {world.subscribe(node): (node, ANYTHING) for node in range(nodes)}
    gone = world.subscribe(nodes - 1)
    world.unsubscribe(nodes - 1, gone)
    if withdraws:
        world.unadvertise(nodes - 1, other)
    world.wait(3 * longest)
    advertisements = {advertisement: (0, ANYTHING)} | ({} if withdraws else {other: (nodes - 1, ANYTHING)})
    assert world.tables() == tables_by_hand(nodes, links, advertisements, subscriptions)
    for entry in world.brokers[0].table.entries.values():
        entry.way = Way.GOSSIP if way is Way.ADAPTIVE else way
    faults.pattern = list(strikes)
    said = []
    for _ in range(6):
        said.append(world.publish(0, advertisement))
        world.wait(30)
    parameters = world.parameters
    world.wait(parameters.sweep_time + parameters.memory)
    world.world.check_invariants()
    came = Counter((row.publication.number, row.subscription) for row in world.ledger.deliveries)
    assert came == Counter((number, subscription) for number in said for subscription in subscriptions)


# links


def relink(world, old, new):
    """Take a link away and, when all have heard, put another in."""
    for node, peer in (old, old[::-1]):
        world.happen(node, Unlinked(peer))
    world.settle()
    for node, peer in (new, new[::-1]):
        world.happen(node, Linked(peer))
    world.settle()


@settings(deadline=None, max_examples=40)
@given(way=st.sampled_from(Way), nodes=st.integers(2, 7), seed=st.integers(0, 99), data=st.data())
def test_tables_follow_the_links(way, nodes, seed, data):
    links = random_tree(nodes, seed)
    tree = networkx.Graph(links)
    world = BrokerWorld(nodes, links, way, seed, diameter=40.0 * nodes, round=300.0, evaluation=1e9)
    advertisements = {world.advertise(node): (node, ANYTHING) for node in {0, nodes - 1}}
    subscriptions = {world.subscribe(node): (node, ANYTHING) for node in range(nodes)}
    world.settle()
    for _ in range(data.draw(st.integers(1, 3))):
        for entry in world.brokers[0].table.entries.values():
            entry.way = Way.GOSSIP if way is Way.ADAPTIVE else way
        world.publish(0, min(advertisements))
        old = data.draw(st.sampled_from(sorted(tree.edges)))
        tree.remove_edge(*old)
        sides = [sorted(networkx.node_connected_component(tree, node)) for node in old]
        new = tuple(data.draw(st.sampled_from(side)) for side in sides)
        tree.add_edge(*new)
        relink(world, old, new)
        world.world.check_invariants()
    assert world.tables() == tables_by_hand(nodes, list(tree.edges), advertisements, subscriptions)
    for entry in world.brokers[0].table.entries.values():
        entry.way = Way.GOSSIP if way is Way.ADAPTIVE else way
    said = [world.publish(0, min(advertisements)) for _ in range(3)]
    world.wait(world.parameters.sweep_time + world.parameters.memory)
    came = Counter((row.publication.number, row.subscription) for row in world.ledger.deliveries)
    assert all(came[number, subscription] == 1 for number in said for subscription in subscriptions)
    assert max(came.values()) == 1


def test_nothing_is_said_over_a_link_that_has_gone():
    made = broker()
    assert made.handle(Unlinked(1), 1.0) == [Send(2, Unadvertise(7))]
    assert made.handle(Unlinked(1), 1.0) == []
    assert made.handle(Linked(3), 2.0) == []
    assert made.handle(Advertised(Advertisement(8, ANYTHING)), 2.0) == [
        Send(peer, Advertise(Advertisement(8, ANYTHING))) for peer in (2, 3)
    ]


def test_a_batch_that_waits_for_a_link_that_goes_is_sent_directly():
    made = broker(links=(1, 2))
    made.handle(Advertised(Advertisement(8, ANYTHING)), 0.0)
    made.handle(Received(2, Subscribe(Subscription(3, ANYTHING), 9, 3)), 0.0)
    made.table.entries[2, 8].way = Way.BATCH
    made.handle(Published(publication(1, topic=8)), 1.0)
    effects = made.handle(Unlinked(2), 2.0)
    assert Send(9, Direct(publication(1, topic=8))) in effects
    assert made.on_timer(5_000.0) == []
