"""What each way does, message by message (PopSub sections 4.2 to 4.5)."""

from collections import Counter
from math import inf
from random import Random

import pytest

from broker_world import ANYTHING, BrokerWorld, interval
from weft.errors import WeftError
from weft.model.content import Content
from weft.protocol.popsub.batching import Buffers
from weft.protocol.popsub.gossip import Member
from weft.protocol.popsub.memory import Issued, Seen
from weft.protocol.popsub.message import (
    Forward,
    Gossip,
    Join,
    Notify,
    Publication,
    Queued,
    Retrieve,
    Sweep,
    Switch,
)
from weft.protocol.popsub.parameters import Parameters, Way
from weft.protocol.popsub.popularity import Popularity, best_way, most_gainful
from weft.protocol.popsub.reorder import Reorder
from weft.protocol.popsub.table import Entry
from weft.protocol.router import Received, Send

CHAIN = [(0, 1), (1, 2), (2, 3)]
STAR = [(0, node) for node in range(1, 6)]


def entry(count, hops, rate=0.0, origins=1, way=Way.TREE):
    return Entry(Counter(range(origins)), count, hops, rate=rate, way=way)


class Wire(BrokerWorld):
    """A wire that also keeps what is sent, after `listen`."""

    def listen(self):
        self.sent, count = [], self.ledger.sent

        def sent(now, sender, receiver, message):
            self.sent.append((now, sender, receiver, message))
            count(now, sender, receiver, message)

        self.ledger.sent = sent
        return self

    def kinds(self):
        return [(type(message).__name__, sender, receiver) for _, sender, receiver, message in self.sent]


def announced(way, links=CHAIN, subscribers=(1, 3), **parameters):
    """Broker 0 advertises, others subscribe, and every entry of broker 0 is unpopular until it is evaluated."""
    world = Wire(len(links) + 1, links, way, **parameters)
    advertisement = world.advertise(0)
    world.settle()
    subscriptions = [world.subscribe(node) for node in subscribers]
    world.settle()
    use(world, way)
    return world.listen(), advertisement, subscriptions


def use(world, way):
    for chosen in world.brokers[0].table.entries.values():
        chosen.way = way


# Algorithm 1


def test_capacity_is_filled_by_gain_and_the_entry_that_crosses_the_line_is_popular():
    entries = {(1, 7): entry(4, 8, rate=3.0), (2, 7): entry(6, 6, rate=4.0), (1, 8): entry(1, 3, rate=9.0)}
    assert [round(chosen.gain, 2) for chosen in entries.values()] == [2.0, 6.0, 0.33]
    assert most_gainful(entries, 4.0) == {(2, 7)}
    assert most_gainful(entries, 4.1) == {(2, 7), (1, 7)}
    assert most_gainful(entries, 7.1) == set(entries)


def test_equal_gains_are_filled_by_advertisement_and_link():
    entries = {(link, number): entry(1, 1, rate=1.0) for link in (2, 1) for number in (9, 8)}
    assert most_gainful(entries, 1.0) == {(1, 8)}
    assert most_gainful(entries, 3.0) == {(1, 8), (2, 8), (1, 9)}


def evaluated(popularity, entries, routed):
    for key, count in routed.items():
        entries[key].routed = count
    popularity.evaluate(entries, 0.0, 2000.0)
    return {key: chosen.way is Way.TREE for key, chosen in entries.items()}


def test_a_tenth_more_or_less_changes_nothing_while_the_gains_stay():
    """100 publications/s are to be filled; rates are over 2 s."""
    popularity = Popularity(Way.BATCH, Parameters(diameter=1.0, capacity=1000.0, phi=0.1))
    entries = {(1, 1): entry(9, 9), (1, 2): entry(4, 4), (1, 3): entry(1, 1)}
    first = evaluated(popularity, entries, {(1, 1): 120, (1, 2): 80, (1, 3): 50})
    assert first == {(1, 1): True, (1, 2): True, (1, 3): False}
    assert entries[1, 1].rate == 60.0
    assert popularity.least_gain == 4.0
    assert evaluated(popularity, entries, {(1, 1): 100, (1, 2): 80, (1, 3): 50}) == first  # 90 of 100
    assert evaluated(popularity, entries, {(1, 1): 98, (1, 2): 80, (1, 3): 50})[1, 3]  # 89 of 100
    assert evaluated(popularity, entries, {(1, 1): 100, (1, 2): 80, (1, 3): 50})[1, 3]  # 115 of 100, planned anew
    assert popularity.least_gain == 1.0


def test_a_changed_gain_is_planned_for_at_once():
    popularity = Popularity(Way.BATCH, Parameters(diameter=1.0, capacity=1000.0, phi=0.1))
    entries = {(1, 1): entry(9, 9), (1, 2): entry(4, 4)}
    rates = {(1, 1): 200, (1, 2): 200}
    assert evaluated(popularity, entries, rates) == {(1, 1): True, (1, 2): False}
    entries[1, 2].count = entries[1, 2].hops = 10
    assert evaluated(popularity, entries, rates) == {(1, 1): False, (1, 2): True}


def test_a_broker_evaluates_every_two_seconds_and_counts_what_it_passes_on():
    world, advertisement, _ = announced(Way.BATCH)
    use(world, Way.TREE)
    for _ in range(6):
        world.publish(0, advertisement)
    world.wait(2000 - world.time)
    assert world.brokers[0].table.entries[1, advertisement].rate == 3.0
    assert world.brokers[1].table.entries[2, advertisement].rate == 3.0
    world.wait(2000)
    assert world.brokers[0].table.entries[1, advertisement].rate == 0.0


def test_high_priority_takes_its_capacity_first_and_goes_by_the_tree():
    """1,000 publications/s, of which 400 have a high priority: 60 of the other 600 are to be filled."""
    popularity = Popularity(Way.BATCH, Parameters(diameter=1.0, capacity=1000.0, phi=0.1))
    urgent = entry(16, 16)
    urgent.priority = True
    entries = {(1, 1): entry(9, 9), (1, 2): entry(4, 4), (1, 3): urgent}
    ways = evaluated(popularity, entries, {(1, 1): 130, (1, 2): 130, (1, 3): 800})
    assert ways == {(1, 1): True, (1, 2): False, (1, 3): True}
    assert popularity.least_gain == 9.0  # of what is popular
    assert evaluated(popularity, entries, {(1, 1): 120, (1, 2): 130, (1, 3): 800}) == ways  # 60 of 60
    assert evaluated(popularity, entries, {(1, 1): 130, (1, 2): 130, (1, 3): 0})[1, 2]  # 65 of 100


def test_what_is_advertised_with_priority_is_never_unpopular():
    world = Wire(2, [(0, 1)], Way.DIRECT, capacity=1.0, phi=0.01)
    urgent, plain = world.advertise(0, priority=True), world.advertise(0)
    world.settle()
    for _ in range(20):
        world.subscribe(1)
    world.settle()
    for _ in range(9):
        world.publish(0, urgent)
        world.publish(0, plain)
        world.wait(1000)
    entries = world.brokers[0].table.entries
    assert (entries[1, urgent].way, entries[1, plain].way) == (Way.TREE, Way.DIRECT)


def test_adaptive_takes_the_way_that_costs_least():
    parameters = Parameters(diameter=1.0, capacity=1000.0)
    assert best_way(entry(2, 6, origins=2), 0.0, parameters) is Way.DIRECT  # 2 messages against 3 hops
    assert best_way(entry(4, 8, rate=5.0, origins=3), 0.0, parameters) is Way.BATCH
    assert best_way(entry(4, 8, rate=2 / 3, origins=3), 0.0, parameters) is Way.BATCH  # two in its 3 s
    assert best_way(entry(4, 8, rate=0.66, origins=3), 0.0, parameters) is Way.DIRECT  # a batch would not fill
    assert best_way(entry(4, 8, rate=5.0, origins=3), 101.0, parameters) is Way.GOSSIP  # a tenth of a second's work


@pytest.mark.parametrize(("queues", "way"), [((), Way.BATCH), ((5, 9), Way.BATCH), ((5, 99), Way.GOSSIP)])
def test_adaptive_hears_of_queues(queues, way):
    """Four brokers behind one link: Direct Delivery would cost more than the tree. A queue of 10 is overload."""
    fork = [(0, 1), (1, 2), (1, 3), (1, 4), (1, 5)]
    world, popular, _ = announced(Way.ADAPTIVE, fork, range(2, 6), capacity=100.0, phi=0.01)
    unpopular = world.advertise(0)
    world.settle()
    for length in queues:
        world.world.schedule(world.time, 0, Queued(length))
    for _ in range(4):
        world.publish(0, popular)
        world.publish(0, unpopular)
    world.wait(2000 - world.time)
    entries = world.brokers[0].table.entries
    assert (entries[1, popular].way, entries[1, unpopular].way) == (Way.TREE, way)


# the ways


def test_the_tree_forwards_over_every_link_that_leads_to_a_match():
    world, advertisement, (near, far) = announced(Way.TREE)
    said = world.publish(0, advertisement)
    world.settle()
    assert world.kinds() == [("Forward", 0, 1), ("Forward", 1, 2), ("Forward", 2, 3)]
    assert (world.ledger.forwards, world.ledger.pure_forwards) == (3, 1)  # broker 2 has no subscriber
    assert world.got(near) == world.got(far) == [said]
    assert all(row.popular for row in world.ledger.deliveries)


def test_own_clients_are_served_at_once_and_over_no_link():
    world, advertisement, (own,) = announced(Way.TREE, subscribers=[0])
    world.publish(0, advertisement)
    assert [(row.subscription, row.time) for row in world.ledger.deliveries] == [(own, world.time)]
    assert world.sent == []


def test_direct_delivery_sends_one_message_to_each_broker_that_has_a_match():
    world, advertisement, _ = announced(Way.DIRECT, subscribers=[1, 3, 3])
    world.subscribe(2, interval(5, 9))
    world.settle()
    world.sent.clear()
    world.publish(0, advertisement, 0)
    world.settle()
    assert world.kinds() == [("Direct", 0, 1), ("Direct", 0, 3)]
    assert (world.ledger.forwards, world.ledger.out_of_overlay) == (0, 2)
    assert len(world.ledger.deliveries) == 3
    assert not any(row.popular for row in world.ledger.deliveries)


def test_a_batch_is_sent_when_it_is_worth_as_much_as_the_least_popular_entry():
    world, advertisement, _ = announced(Way.BATCH)
    assert world.brokers[0].table.entries[1, advertisement].gain == 1.0
    world.brokers[0].popularity.least_gain = 2.5  # so more than 3 are needed
    said = [world.publish(0, advertisement) for _ in range(9)]
    world.settle()
    batches = [message for _, sender, _, message in world.sent if sender == 0]
    assert [[one.number for one in batch.publications] for batch in batches] == [said[:4], said[4:8]]
    assert world.kinds()[:4] == [("Batch", 0, 1), ("Batch", 0, 1), ("Batch", 1, 2), ("Batch", 1, 2)]
    assert (world.ledger.forwards, world.ledger.pure_forwards) == (6, 2)


def test_a_batch_is_sent_when_its_time_is_up():
    world, advertisement, (near, far) = announced(Way.BATCH, evaluation=1e9)
    start = world.time
    said = [world.publish(0, advertisement)]
    world.wait(2999)
    said.append(world.publish(0, advertisement))
    assert world.sent == []
    world.wait(1 + 3 * world.parameters.diameter)
    assert world.sent[0][0] == start + 3000.0
    assert world.got(near) == world.got(far) == said
    assert [message.hops for *_, message in world.sent] == [1, 2, 3]


def test_the_buffer_that_waits_longest_is_due_first():
    buffers = Buffers(timeout=3000.0)
    assert buffers.next_deadline() == inf
    for link, now in ((2, 0.0), (1, 500.0), (2, 900.0)):
        assert not buffers.add((link, 7), Publication(0, link, 7, said=Content("c", {})), 1.0, inf, now)
    assert buffers.next_deadline() == 3000.0
    assert buffers.due(2999.0) == []
    assert buffers.due(3000.0) == [(2, 7)]
    assert len(buffers.take((2, 7))) == 2
    assert buffers.next_deadline() == 3500.0


def test_what_came_is_known_for_as_long_as_a_copy_may_be_under_way():
    seen = Seen(memory=100.0)
    assert seen.is_new(1, 1, 0.0)
    assert seen.is_new(1, 2, 100.0)
    assert not seen.is_new(1, 1, 100.0)
    assert seen.is_new(1, 3, 100.5)
    assert (1, 1) not in seen
    assert (1, 2) in seen


def test_forwarding_brokers_split_batches_by_what_matches_and_buffer_nothing():
    world = Wire(4, [(0, 1), (1, 2), (1, 3)], Way.BATCH)
    advertisement = world.advertise(0)
    world.settle()
    low, high = world.subscribe(2, interval(0, 5)), world.subscribe(3, interval(5, 9))
    world.settle()
    use(world, Way.BATCH)
    world.listen()
    numbers = {x: world.publish(0, advertisement, x) for x in (1, 5, 8)}
    world.wait(4000)
    assert world.kinds() == [("Batch", 0, 1), ("Batch", 1, 2), ("Batch", 1, 3)]
    assert (world.got(low), world.got(high)) == ([numbers[1], numbers[5]], [numbers[5], numbers[8]])


def test_a_batch_goes_before_what_is_popular_after_it():
    world, advertisement, (near, _) = announced(Way.BATCH)
    said = [world.publish(0, advertisement)]
    world.wait(2000 - world.time)  # evaluated: there is capacity for all
    said.append(world.publish(0, advertisement))
    world.settle()
    assert world.got(near) == said
    assert [kind for kind, sender, _ in world.kinds() if sender == 0] == ["Batch", "Forward"]


# gossip


def gossiping(subscribers=range(1, 6), links=STAR, **parameters):
    world, advertisement, subscriptions = announced(Way.GOSSIP, links, subscribers, evaluation=1e9, **parameters)
    first = world.publish(0, advertisement)
    world.settle()
    return world, advertisement, subscriptions, first


def test_the_first_unpopular_publication_makes_the_group():
    world, advertisement, subscriptions, first = gossiping([1, 3], CHAIN)
    assert world.kinds() == [
        ("Forward", 0, 1),
        ("Gossip", 1, 0),
        ("Forward", 1, 2),
        ("Forward", 2, 3),
        ("Gossip", 3, 0),
    ]
    forwards = [message for *_, message in world.sent if isinstance(message, Forward)]
    assert all(message.switch is Switch.GOSSIP and message.view == (0,) for message in forwards)
    members = [node for node, broker in enumerate(world.brokers) if advertisement in broker.gossiping.groups]
    assert members == [0, 1, 3]
    assert [world.got(number) for number in subscriptions] == [[first]] * 2


def test_who_joins_says_so_at_once_to_some_that_it_was_told_of():
    world, advertisement, _, _ = gossiping(range(1, 4), [(0, node) for node in range(1, 4)])
    announced = [message for *_, message in world.sent if isinstance(message, Gossip)]
    assert {message.joined for message in announced} == {(1,), (2,), (3,)}
    assert not any(message.publications or message.digest or message.left for message in announced)
    assert sorted(world.brokers[0].gossiping.groups[advertisement].view) == [1, 2, 3]
    assert world.time < world.parameters.round  # nobody had a round yet


def test_later_ones_are_gossiped_to_members_only_and_not_on_the_tree():
    world, advertisement, subscriptions, first = gossiping([1, 3], CHAIN)
    later = [world.publish(0, advertisement) for _ in range(3)]
    before = world.ledger.forwards
    world.wait(60_000)
    assert world.ledger.forwards == before
    assert {receiver for _, _, receiver, message in world.sent if type(message).__name__ == "Gossip"} == {0, 1, 3}
    assert [world.got(number) for number in subscriptions] == [[first, *later]] * 2


def test_each_member_pushes_a_publication_once():
    world, advertisement, _, _ = gossiping()
    said = world.publish(0, advertisement)
    world.wait(100_000)
    pushes = Counter(
        sender
        for _, sender, _, message in world.sent
        if type(message).__name__ == "Gossip" and any(one.number == said for one in message.publications)
    )
    assert max(pushes.values()) <= world.parameters.fanout


def test_a_publication_is_gossiped_once_for_all_links():
    world, advertisement, _, _ = gossiping()
    said = world.publish(0, advertisement)
    world.wait(30_000)
    gossips = [message for _, sender, _, message in world.sent if sender == 0 and type(message).__name__ == "Gossip"]
    assert {tuple(one.number for one in gossip.publications) for gossip in gossips} == {(), (said,)}


def test_popular_again_the_group_ends_and_what_was_not_gossiped_yet_is_retrieved():
    world, advertisement, subscriptions, first = gossiping()
    pending = world.publish(0, advertisement)
    use(world, Way.TREE)
    back = world.publish(0, advertisement)
    world.settle()
    forwards = [message for _, sender, _, message in world.sent if isinstance(message, Forward) and sender == 0]
    assert [message.switch for message in forwards[5:]] == [Switch.TREE] * 5
    assert forwards[-1].digest == (pending,)
    assert all(sorted(world.got(number)) == [first, pending, back] for number in subscriptions)
    assert not any(broker.gossiping.groups for broker in world.brokers)
    assert not any(chosen.gossips for chosen in world.brokers[0].table.entries.values())


def test_what_was_asked_for_lately_is_not_asked_for_again():
    world, advertisement, _, _ = gossiping([1, 3], CHAIN)
    gossiping_at_3, now = world.brokers[3].gossiping, world.time
    digest = Gossip(advertisement, (), (500, 501), (), ())
    asking = [Send(1, Retrieve(advertisement, (500, 501)))]
    assert gossiping_at_3.heard(1, digest, now) == ([], asking)
    assert gossiping_at_3.heard(1, digest, now + world.parameters.answer_time) == ([], [])  # it may be under way
    assert gossiping_at_3.heard(1, digest, now + world.parameters.answer_time + 1) == ([], asking)


def test_a_member_has_what_it_tells_of_until_the_last_who_heard_could_ask():
    parameters = Parameters(diameter=50.0, capacity=1.0, round=1_000.0, digest_rounds=2)
    member = Member(1, 7, 0, parameters, Random(1), now=0.0)
    member.meet([0])
    member.keep(publication(3), 0.0)
    assert [member.gossip(time)[0].message.digest for time in (2_000.0, 2_001.0)] == [(3,), ()]
    assert member.find((2, 3)) == [publication(3)]
    member.gossip(2_100.0)  # its digest has been under way for 50 ms, and the answer as long
    assert member.find((2, 3)) == [publication(3)]
    member.gossip(2_101.0)
    assert member.find((2, 3)) == []


def publication(number):
    return Publication(0, number, 7, said=Content("news", {}))


def test_without_sweeps_an_issuer_forgets_what_it_gossiped_once_a_hand_over_is_done():
    world, advertisement, subscriptions, first = gossiping([1, 3], CHAIN, fanout=1, digest_rounds=0, sweep=False)
    said = []
    for _ in range(9):
        said.append(world.publish(0, advertisement))
        world.wait(world.parameters.round)
    world.wait(30 * world.parameters.round)
    assert not any(isinstance(message, Sweep) for _, _, _, message in world.sent)
    got = [sorted(world.got(number)) for number in subscriptions]
    assert all({first} <= set(numbers) < {first, *said} and len(set(numbers)) == len(numbers) for numbers in got)
    assert not any(kept.digest for kept in world.brokers[0].gossiping._issued.values())


def test_a_sweep_asks_only_for_what_gossip_has_had_its_time_for():
    """A publication a round: the sweep when the first is six rounds old is of the first two, the next of the third."""
    world, advertisement, subscriptions, first = gossiping([1, 3], CHAIN, fanout=1, digest_rounds=0)
    start = world.time
    said = []
    for _ in range(9):
        said.append(world.publish(0, advertisement))
        world.wait(world.parameters.round)
    sweeps = [
        (now - start, message) for now, sender, _, message in world.sent if isinstance(message, Sweep) and not sender
    ]
    assert [(time, message.digest) for time, message in sweeps] == [
        (60_000.0, tuple(said[:2])),
        (80_000.0, tuple(said[2:4])),
    ]
    world.wait(2 * world.parameters.sweep_time)
    assert [sorted(world.got(number)) for number in subscriptions] == [[first, *said]] * 2


def test_an_issuer_announces_what_it_gave_to_gossip_and_keeps_it_until_all_could_ask():
    issued = Issued(sweep_time=100.0, answer_time=10.0)
    assert issued.next_sweep == inf
    assert [issued.is_new(publication(number), 5.0 + number) for number in (1, 2, 1)] == [True, True, False]
    assert (issued.digest, issued.next_sweep) == ((1, 2), 106.0)
    assert issued.announce(106.0, since=6.5) == (1,)
    assert (issued.digest, issued.next_sweep) == ((2,), 107.0)
    assert issued.announce(106.0) == (2,)
    assert (issued.digest, issued.next_sweep) == ((), inf)
    issued.forget(116.0)
    assert issued.find((2, 9, 1)) == [publication(2), publication(1)]
    assert not issued.empty
    issued.forget(116.1)
    assert issued.find((2, 1)) == []
    assert issued.empty


def test_a_later_subscriber_is_told_to_join():
    world, advertisement, _, _ = gossiping([1], CHAIN)
    late = world.subscribe(3)
    world.settle()
    assert world.kinds()[-3:] == [("Join", 0, 3), ("Gossip", 3, 0), ("Gossip", 3, 1)]
    assert advertisement in world.brokers[3].gossiping.groups
    said = world.publish(0, advertisement)
    world.wait(100_000)
    assert world.got(late) == [said]


def test_an_invitation_that_a_switch_overtakes_is_void():
    world, advertisement, _, _ = gossiping([3], CHAIN)
    broker = world.brokers[3]
    invitation = Join(advertisement, 0, latest=world.brokers[0].gossiping.latest[advertisement], view=(0,))
    use(world, Way.TREE)
    world.publish(0, advertisement)
    world.settle()
    broker.handle(Received(0, invitation), world.time)
    assert not broker.gossiping.groups


def test_a_member_whose_last_subscription_goes_leaves():
    world, advertisement, subscriptions, _ = gossiping([1, 2, 2])
    world.wait(30_000)
    assert 2 in world.brokers[0].gossiping.groups[advertisement].view
    world.unsubscribe(2, subscriptions[1])
    world.settle()
    assert advertisement in world.brokers[2].gossiping.groups
    world.unsubscribe(2, subscriptions[2])
    assert advertisement not in world.brokers[2].gossiping.groups
    world.wait(30_000)
    assert 2 not in world.brokers[0].gossiping.groups[advertisement].view
    world.unsubscribe(1, subscriptions[0])
    world.settle()
    assert not any(broker.gossiping.groups for broker in world.brokers)


def test_views_stay_small_and_everyone_is_known_to_someone():
    world, advertisement, _, _ = gossiping(range(1, 30), [(0, node) for node in range(1, 30)])
    world.wait(200_000)
    world.world.check_invariants()
    views = [set(broker.gossiping.groups[advertisement].view) for broker in world.brokers]
    assert {len(view) for view in views} == {10}
    assert set.union(*views) == set(range(30))


def test_caches_forget_what_nobody_can_ask_for():
    world, advertisement, _ = announced(Way.GOSSIP, round=100.0)
    for _ in range(50):
        use(world, Way.GOSSIP)
        world.publish(0, advertisement)
        world.wait(50)
    world.wait(2 * world.parameters.memory + 4000)
    use(world, Way.TREE)
    world.publish(0, advertisement)
    world.settle()
    world.wait(4000)
    assert not world.brokers[0].gossiping._issued
    assert all(len(broker.seen._known) <= 1 for broker in world.brokers)


# order


def notice(number, topic=1):
    said = Publication(0, number, topic, said=Content("news", {}))
    return Notify(said, 1, (0,), True)


def released(rows):
    return [row.publication.number for row in rows]


def test_what_comes_out_of_turn_waits_for_what_is_missing():
    reorder = Reorder(100.0)
    assert released(reorder.arrange(notice(0), 0.0)) == [0]
    assert released(reorder.arrange(notice(3), 1.0)) == []
    assert released(reorder.arrange(notice(2), 2.0)) == []
    assert released(reorder.arrange(notice(0, topic=2), 2.0)) == [0]
    assert released(reorder.arrange(notice(1), 3.0)) == [1, 2, 3]
    assert reorder.next_deadline() == float("inf")


def test_it_does_not_wait_for_ever_and_what_is_late_is_not_lost():
    reorder = Reorder(100.0)
    assert released(reorder.arrange(notice(5), 0.0)) == []
    assert released(reorder.arrange(notice(4), 50.0)) == []
    assert reorder.next_deadline() == 100.0
    assert released(reorder.due(100.0)) == [4, 5]
    assert released(reorder.arrange(notice(2), 101.0)) == [2]
    assert released(reorder.arrange(notice(6), 102.0)) == [6]


def test_publisher_order_holds_across_ways_with_reordering():
    world, advertisement, (near, far) = announced(Way.DIRECT, reorder=500.0)
    said = []
    for step in range(20):
        use(world, (Way.TREE, Way.DIRECT)[step % 2])
        said.append(world.publish(0, advertisement))
        world.wait(1)
    world.wait(1500)
    assert world.got(near) == world.got(far) == said


@pytest.mark.parametrize(
    "wrong",
    [{"phi": 0.0}, {"phi": 1.5}, {"capacity": 0.0}, {"fanout": 0}, {"round": 0.0}, {"sweep_rounds": 0}],
)
def test_parameters_out_of_range_are_errors(wrong):
    with pytest.raises(WeftError):
        Parameters(**({"diameter": 1.0, "capacity": 1.0} | wrong))


def test_every_way_serves_the_same_subscriptions():
    """An example of what the ways cost, too: 60 publications to 12 brokers in a tree."""
    links = [((node - 1) // 2, node) for node in range(1, 13)]
    costs = {}
    for way in Way:
        world = BrokerWorld(13, links, way, capacity=100.0, phi=0.01)
        advertisements = [world.advertise(0, ANYTHING) for _ in range(3)]
        world.settle()
        for node in range(3, 13):
            world.subscribe(node)
        world.settle()
        for _ in range(20):
            for advertisement in advertisements:
                world.publish(0, advertisement)
            world.wait(400)
        world.wait(120_000)
        assert len(world.ledger.deliveries) == 60 * 10, way
        costs[way] = world.ledger
    assert costs[Way.TREE].forwards == 60 * 12
    assert costs[Way.TREE].pure_forwards == 60 * 4  # brokers 1 and 2 each forward over two links
    for way in (Way.DIRECT, Way.BATCH, Way.GOSSIP, Way.ADAPTIVE):
        assert costs[way].forwards < costs[Way.TREE].forwards
        assert costs[way].pure_forwards < costs[Way.TREE].pure_forwards
