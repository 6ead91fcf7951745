"""Scribe and iScribe on a ring of 16 with Chord's fingers, every step by hand.

The topic meets at 13. Routes: 1 -> 9 -> 13 and 8 -> 12 -> 13 towards it; 13 -> 5 -> 7 -> 8 and 13 -> 1 from it.
"""

import pytest

from weft.model.forwarding import AS_PRINTED, Forwarding
from weft.protocol.finger import Finger, FingerTable
from weft.protocol.router import Deliver, Publication, Published, Received, Send, Subscribed
from weft.protocol.scribe import Ascending, Descending, Graft, IScribe, Join, Release, Request, Scribe

SUBSCRIBERS = {1, 8, 9}
AHEAD, BEHIND = (1, 2, 4, 8), (-1, -2, -4, -8)  # to its fingers, and to those who have a finger to it
ABSOLUTE = Forwarding("both", "absolute")
SAID = Publication(issuer=8, number=0, topic=0)


class Members:
    def subscribes(self, node, topic):
        return node in SUBSCRIBERS

    def nearest_subscriber(self, topic):
        raise AssertionError("rendezvous routing asks for no subscribers")


def node(router, ring_id, forwarding=AS_PRINTED):
    fingers, pointing = ([Finger((ring_id + d) % 16, (ring_id + d) % 16) for d in each] for each in (AHEAD, BEHIND))
    return router(ring_id, FingerTable(ring_id, 16, fingers, pointing, forwarding), Members(), lambda topic: 13)


def test_scribe_joins_towards_the_root_until_it_meets_the_tree():
    nine = node(Scribe, 9)
    assert node(Scribe, 1).handle(Subscribed(0), 0.0) == [Send(9, Join(0))]
    assert nine.handle(Received(1, Join(0)), 0.0) == [Send(13, Join(0))]
    assert nine.handle(Received(5, Join(0)), 0.0) == []
    assert nine.handle(Subscribed(0), 0.0) == []
    assert nine.children == {0: {1, 5}}


def test_the_root_of_scribe_takes_children_and_sends_no_join():
    root = node(Scribe, 13)
    assert root.handle(Received(9, Join(0)), 0.0) == []
    assert root.handle(Subscribed(0), 0.0) == []
    assert root.children == {0: {9}}


def test_iscribe_asks_the_root_and_is_grafted_from_there():
    root, five = node(IScribe, 13), node(IScribe, 5)
    assert node(IScribe, 8).handle(Subscribed(0), 0.0) == [Send(12, Request(0, 8))]
    assert node(IScribe, 12).handle(Received(8, Request(0, 8)), 0.0) == [Send(13, Request(0, 8))]
    assert root.handle(Received(12, Request(0, 8)), 0.0) == [Send(5, Graft(0, 8, 1, 13))]
    assert five.handle(Received(13, Graft(0, 8, 1, 13)), 0.0) == [Send(7, Graft(0, 8, 2, 5))]
    assert node(IScribe, 8).handle(Received(7, Graft(0, 8, 3, 7)), 0.0) == []
    assert root.children == {0: {5}}
    assert five.children == {0: {7}}


def test_the_root_of_iscribe_subscribes_by_itself():
    root = node(IScribe, 13)
    assert root.handle(Subscribed(0), 0.0) == []
    assert root.children == {0: set()}


def test_both_ways_a_join_takes_the_shorter_one():
    """Back from 1 to 13 it is four, over the finger from 13 to 1."""
    assert node(Scribe, 1, ABSOLUTE).handle(Subscribed(0), 0.0) == [Send(13, Join(0))]


def test_iscribe_keeps_the_parent_of_fewest_hops_whatever_comes_first():
    """Two grafts by way of 8 reach it from 12 and 6; it is a child of the nearer to the root, and of one only."""
    eight = node(IScribe, 8, ABSOLUTE)
    assert eight.handle(Received(6, Graft(0, 8, 3, 6)), 0.0) == []
    assert eight.handle(Received(12, Graft(0, 9, 1, 12)), 0.0) == [
        Send(6, Release(0)),
        Send(12, Join(0)),
        Send(9, Graft(0, 9, 2, 8)),
    ]
    assert eight.handle(Received(6, Graft(0, 8, 3, 6)), 0.0) == [Send(6, Release(0))]
    six = node(IScribe, 6, ABSOLUTE)
    six.handle(Received(14, Graft(0, 8, 2, 14)), 0.0)
    six.handle(Received(8, Release(0)), 0.0)
    assert six.children == {0: set()}
    six.handle(Received(8, Join(0)), 0.0)
    assert six.children == {0: {8}}


def test_of_parents_as_near_the_root_the_lowest_on_the_ring_is_kept():
    eight = node(IScribe, 8, ABSOLUTE)
    eight.handle(Received(6, Graft(0, 8, 2, 6)), 0.0)
    assert eight.handle(Received(12, Graft(0, 8, 2, 12)), 0.0) == [Send(12, Release(0))]
    assert eight.handle(Received(4, Graft(0, 8, 2, 4)), 0.0) == [Send(6, Release(0)), Send(4, Join(0))]


@pytest.mark.parametrize("router", [Scribe, IScribe])
def test_a_publication_ascends_undelivered_and_descends_to_all_children(router):
    twelve, root = node(router, 12), node(router, 13)
    root.children = {0: {9, 12}}
    assert node(router, 8).handle(Published(SAID), 0.0) == [Send(12, Ascending(SAID, 1))]
    assert twelve.handle(Received(8, Ascending(SAID, 1)), 0.0) == [Send(13, Ascending(SAID, 2))]
    assert root.handle(Received(12, Ascending(SAID, 2)), 0.0) == [
        Send(9, Descending(SAID, 3)),
        Send(12, Descending(SAID, 3)),
    ]
    assert node(router, 9).handle(Received(13, Descending(SAID, 3)), 0.0) == [Deliver(SAID, 3)]


@pytest.mark.parametrize("router", [Scribe, IScribe])
def test_the_issuer_ignores_its_own_publication_but_passes_it_on(router):
    issuer = node(router, 8)
    issuer.children = {0: {4}}
    assert issuer.handle(Received(12, Descending(SAID, 4)), 0.0) == [Send(4, Descending(SAID, 5))]


def test_a_node_is_not_its_own_child():
    broken = node(Scribe, 8)
    broken.children = {0: {8}}
    with pytest.raises(AssertionError, match="its own child"):
        broken.check_invariants()
