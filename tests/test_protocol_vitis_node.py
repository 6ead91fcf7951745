"""A node of Vitis, seen from outside: events in, effects out."""

from dataclasses import replace

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
from weft.protocol.vitis.chance import ring_id
from weft.protocol.vitis.descriptor import Descriptor
from weft.protocol.vitis.message import (
    Exchange,
    Heartbeat,
    Leave,
    Notification,
    Pull,
    Pulled,
    RelayRequest,
    Shuffle,
    Way,
)
from weft.protocol.vitis.parameters import RING, Parameters
from weft.protocol.vitis.router import Vitis
from weft.protocol.vitis.table import apart


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


def heartbeat(number, interest=(1, 2), chosen=True, relayed=(), befriended=False, refused=False, is_full=False):
    profile = replace(friend(number, interest), is_full=is_full)
    return Received(number, Heartbeat(profile, chosen, befriended, refused, {}, tuple(relayed)))


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
    """The first topic whose rendezvous identifier is nearer to one of the links than to the others and to node 0."""
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


def test_who_leaves_after_its_heartbeat_is_no_link():
    vitis, _ = joined()
    vitis.handle(heartbeat(9), 3100.0)
    vitis.handle(Received(9, Leave()), 3200.0)
    vitis.on_timer(4000.0)
    assert vitis.neighbourhood.links.keys() == {1}


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


def test_a_request_that_is_new_is_passed_on_at_once_and_renewed_by_heartbeats():
    topic = first_topic_by_way_of(2)
    vitis, _ = joined(interest=())
    for number in (1, 2, 3):
        vitis.handle(heartbeat(number, interest=()), 3100.0)
    vitis.on_timer(4000.0)
    assert vitis.handle(heartbeat(1, interest=(), relayed=(topic,)), 4100.0) == [Send(2, RelayRequest(topic))]
    assert vitis.handle(Received(3, RelayRequest(topic)), 4200.0) == []  # another path joins the first
    assert vitis.neighbourhood.relays.children(topic) == set()  # in this round
    for number in (2, 3):
        vitis.handle(heartbeat(number, interest=()), 4300.0)
    effects = vitis.on_timer(5000.0)
    assert vitis.neighbourhood.relays.children(topic) == {1, 3}
    assert sent(effects, Heartbeat)[2].relayed == (topic,)
    assert vitis.handle(heartbeat(1, interest=(), relayed=(topic,)), 5100.0) == []


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
    """Publish in the round before it has elected anybody."""
    topic = first_topic_by_way_of(1, links=(1,))
    vitis, _ = joined(interest=())
    vitis.handle(heartbeat(1, interest=()), 3100.0)
    vitis.on_timer(4000.0)
    vitis.handle(Subscribed(topic), 4100.0)
    effects = vitis.handle(Published(Publication(0, 0, topic)), 4200.0)
    assert sent(effects, Notification)[1].way is Way.UP
    vitis.handle(Unsubscribed(topic), 4300.0)
    assert not vitis.neighbourhood.is_gateway(topic)


def test_who_has_heard_of_a_publication_goes_on_asking_for_it():
    """The only notifier is asked again, as the pull or its answer may have been lost."""
    vitis, _ = joined(patience=2)
    vitis.handle(Received(1, Notification(1, 7, 0, 1, Way.CLUSTER)), 3100.0)
    assert 1 not in sent(vitis.on_timer(4000.0), Pull)
    assert sent(vitis.on_timer(5000.0), Pull) == {1: Pull(1, 7, 0)}
    assert vitis.handle(Received(1, Pulled(Publication(7, 0, 1), 1)), 5100.0) == [Deliver(Publication(7, 0, 1), 1)]
    assert not sent([*vitis.on_timer(6000.0), *vitis.on_timer(7000.0)], Pull)


def test_one_friend_too_many_is_refused():
    """Nodes 1, 2 and 3 have node 0 as a friend, and two may: the lower ones, as long as they like."""
    vitis, _ = joined(in_degree=2)
    for number in (3, 2, 1):
        vitis.handle(heartbeat(number, befriended=True), 3500.0)
    beats = sent(vitis.on_timer(4000.0), Heartbeat)
    assert {peer: beat.refused for peer, beat in beats.items()} == {1: False, 2: False, 3: True}
    assert beats[1].profile.is_full
    for number in (3, 2):
        vitis.handle(heartbeat(number, befriended=True), 4500.0)
    assert not any(beat.refused for beat in sent(vitis.on_timer(5000.0), Heartbeat).values())  # node 1 has made room


def test_who_is_refused_leaves_and_who_is_accepted_stays():
    """Nodes 1-6 are all alike; two of them are ring neighbours, and the others friends."""
    vitis, _ = joined(small_world=0)
    for number in range(1, 7):
        vitis.handle(heartbeat(number), 3500.0)
    vitis.on_timer(4000.0)
    staying, leaving, *_ = sorted(vitis.neighbourhood.table.friends)
    for number in range(1, 7):
        vitis.handle(heartbeat(number, chosen=False, refused=number == leaving, is_full=True), 4500.0)
    vitis.on_timer(5000.0)
    assert staying in vitis.neighbourhood.table.friends
    assert leaving not in vitis.neighbourhood.table.friends
    vitis.handle(heartbeat(leaving, chosen=False, is_full=False), 5500.0)
    vitis.on_timer(6000.0)
    assert leaving in vitis.neighbourhood.table.friends  # there is room again
