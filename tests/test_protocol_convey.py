"""Po, Pal and Pie on the papers' worked examples, and at the edges of a ring with gaps.

The figures have 16 nodes, each with its own number for identifier, and give the fingers of node 1 only; the others have
Chord's. Agreement with the papers' pseudo-code on random rings is in test_sim_world.py.
"""

import pytest

from weft.protocol.convey import Pal, Pie, Po, Ranged
from weft.protocol.finger import Finger, FingerTable
from weft.protocol.router import Deliver, Publication, Published, Received, Send, Subscribed, Undelivered

SAID = Publication(issuer=1, number=0, topic=0)


class Members:
    """Subscribers to the one topic, as seen by one node whose peers are named by their identifiers."""

    def __init__(self, ring_id, size, subscribers):
        self.ring_id, self.size, self.subscribers = ring_id, size, subscribers

    def subscribes(self, node, topic):
        return node in self.subscribers

    def nearest_subscriber(self, topic):
        others = self.subscribers - {self.ring_id}
        return min(others, key=lambda other: (other - self.ring_id) % self.size, default=None)


def node(router, ring_id, fingers, subscribers, size=16):
    table = FingerTable(ring_id, size, [Finger(finger, finger) for finger in fingers])
    made = router(ring_id, table, Members(ring_id, size, set(subscribers)))
    made.check_invariants()
    return made


def chord_node(router, ring_id, subscribers):
    return node(router, ring_id, [(ring_id + 2**i) % 16 for i in range(4)], subscribers)


def receive(router, low, high, hops=3):
    return router.handle(Received(0, Ranged(SAID, hops, low, high)), 0.0)


def sends(effects):
    return [(e.peer, e.message.low, e.message.high) for e in effects if isinstance(e, Send)]


def deliveries(effects):
    return [effect for effect in effects if isinstance(effect, Deliver)]


FIG2_SUBSCRIBERS = {1, 4, 7, 10, 12, 14}


def test_fig_2a_po_sends_to_the_nearest_subscriber_and_the_matched_finger():
    effects = receive(node(Po, 1, [2, 3, 7, 9], FIG2_SUBSCRIBERS), 1, 11)
    assert sends(effects) == [(3, 4, 7), (7, 7, 11)]
    assert deliveries(effects) == [Deliver(SAID, 3)]


def test_fig_2a_goes_on_as_the_paper_says():
    three, four, seven, ten = (chord_node(Po, i, FIG2_SUBSCRIBERS) for i in (3, 4, 7, 10))
    assert receive(three, 4, 7) == [Send(4, Ranged(SAID, 4, 4, 7))]
    assert receive(four, 4, 7) == [Deliver(SAID, 3)]
    assert [(low, high) for _, low, high in sends(receive(seven, 7, 11))] == [(10, 11)]
    assert receive(ten, 10, 11) == [Deliver(SAID, 3)]


def test_fig_2b_po_has_no_matched_finger():
    assert sends(receive(node(Po, 1, [2, 3, 5, 9], FIG2_SUBSCRIBERS), 1, 11)) == [(3, 4, 11)]


@pytest.mark.parametrize("router", [Pal, Pie])
def test_fig_2c_finger_9_is_the_pivot(router):
    assert sends(receive(node(router, 1, [2, 3, 5, 9], FIG2_SUBSCRIBERS), 1, 11)) == [(3, 4, 9), (9, 9, 11)]


# Fig. 2(d) does not say where node 1's last finger is but that it is not in [6, 11): 12 stands for it.
FIG2D_FINGERS = [2, 3, 5, 12]


def test_fig_2d_pal_makes_a_pivot_of_its_own():
    """The paper's Pal takes 8, "some node" of [6, 11); ours the first, 6. Either way 5 and the pivot only forward."""
    assert sends(receive(node(Pal, 1, FIG2D_FINGERS, FIG2_SUBSCRIBERS), 1, 11)) == [(3, 4, 6), (5, 6, 11)]
    assert receive(chord_node(Pal, 5, FIG2_SUBSCRIBERS), 6, 11) == [Send(6, Ranged(SAID, 4, 6, 11))]
    assert deliveries(receive(chord_node(Pal, 6, FIG2_SUBSCRIBERS), 6, 11)) == []


def test_fig_2d_pie_goes_without_a_pivot():
    assert sends(receive(node(Pie, 1, FIG2D_FINGERS, FIG2_SUBSCRIBERS), 1, 11)) == [(3, 4, 11)]


def test_nsmf_fig_1():
    subscribers = {1, 5, 7, 9, 11, 14}
    assert sends(receive(node(Po, 1, [2, 4, 7, 11], subscribers), 1, 10)) == [(4, 5, 7), (7, 7, 10)]
    assert sends(receive(chord_node(Po, 4, subscribers), 5, 7)) == [(5, 5, 7)]
    assert receive(chord_node(Po, 5, subscribers), 5, 7) == [Deliver(SAID, 3)]
    assert sends(receive(chord_node(Po, 7, subscribers), 7, 10)) == [(9, 9, 10)]
    assert receive(chord_node(Po, 9, subscribers), 9, 10) == [Deliver(SAID, 3)]


def test_an_issuer_covers_the_whole_ring_and_is_delivered_nothing():
    effects = node(Po, 1, [2, 3, 7, 9], FIG2_SUBSCRIBERS).handle(Published(SAID), 0.0)
    assert effects == [Send(3, Ranged(SAID, 1, 4, 7)), Send(7, Ranged(SAID, 1, 7, 1))]


def test_the_only_subscriber_sends_nothing():
    for router in (Po, Pal, Pie):
        assert node(router, 1, [2, 3, 7, 9], {1}).handle(Published(SAID), 0.0) == []
        assert node(router, 0, [], {0}, size=1).handle(Published(SAID), 0.0) == []


@pytest.mark.parametrize(("high", "pivot"), [(10, 6), (11, 6), (12, 7)])
def test_the_distant_range_starts_at_or_above_the_middle(high, pivot):
    assert sends(receive(node(Pal, 1, [2, 3, 4], {2}), 1, high))[-1][1:] == (pivot, high)


# On a ring of 100 with nodes at 10, 20, 50, 60 only: who has the range of a pivot at 30?
def test_the_last_node_before_a_gap_hands_over_to_its_successor():
    effects = receive(node(Pal, 20, [50, 60], {10}, size=100), 30, 60)
    assert effects == [Send(50, Ranged(SAID, 4, 50, 60))]


def test_a_range_in_a_gap_ends_at_the_last_node_before_it():
    assert receive(node(Pal, 20, [50, 60], {10}, size=100), 30, 50) == []


def test_a_message_for_an_identifier_in_a_gap_is_not_taken_for_ones_own():
    assert sends(receive(node(Pal, 10, [20, 60], {10, 20}, size=100), 30, 60)) == [(20, 30, 60)]


def test_subscriptions_are_the_concern_of_the_membership():
    assert node(Po, 1, [2, 3, 7, 9], FIG2_SUBSCRIBERS).handle(Subscribed(0), 0.0) == []


def test_what_comes_back_for_an_identifier_that_is_ones_own_by_now_has_arrived():
    """A re-design has moved the node to where it had sent the message."""
    moved = node(Po, 1, [2, 3, 7, 9], FIG2_SUBSCRIBERS)
    effects = moved.handle(Undelivered(9, Ranged(SAID, 4, 1, 8)), 0.0)
    assert effects == receive(node(Po, 1, [2, 3, 7, 9], FIG2_SUBSCRIBERS), 1, 8, hops=3)
    assert deliveries(effects) == [Deliver(SAID, 3)]
    assert moved.handle(Undelivered(9, Ranged(SAID, 4, 2, 8)), 0.0) == [Send(2, Ranged(SAID, 4, 2, 8))]


@pytest.mark.parametrize("router", [Po, Pal, Pie])
def test_what_comes_twice_is_divided_and_delivered_once(router):
    """A link may report a message that has arrived, and its sender sends it again."""
    made = node(router, 4, [5, 6, 8, 12], FIG2_SUBSCRIBERS)
    assert deliveries(receive(made, 4, 11)) == [Deliver(SAID, 3)]
    assert receive(made, 4, 11) == []
    wider = receive(made, 4, 13)  # the same publication, and more of the ring: it is divided, and not delivered again
    assert deliveries(wider) == []
    assert sends(wider)
    assert receive(made, 6, 11) == receive(made, 6, 11)  # for others it passes on whatever comes


def test_an_issuer_is_not_delivered_what_comes_back_to_it():
    made = node(Po, 1, [2, 3, 7, 9], FIG2_SUBSCRIBERS)
    made.handle(Published(SAID), 0.0)
    assert deliveries(receive(made, 1, 8)) == []
