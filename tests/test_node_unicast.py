"""Frames for one node: by which peer they go, and where they end."""

import pytest

from weft.node.atlas import Atlas
from weft.node.effect import MASTER, Tell
from weft.node.outbox import Outbox
from weft.node.unicast import RELAYS, Unicast
from weft.wire.frame import NOBODY, FindWay, Peer, Peers, Routed
from weft.wire.frame_codec import encode_body

FRAME = FindWay("a")


@pytest.fixture
def outbox() -> Outbox:
    return Outbox()


@pytest.fixture
def unicast(outbox: Outbox) -> Unicast:
    """Node 0 at 90 of 100 places, linked with node 1 at 95 and node 2 at 20."""
    atlas = Atlas()
    atlas.node = 0
    atlas.rewire(Peers(1, 90, 100, (Peer(1, "n1", "n1:1", 95, True, True), Peer(2, "n2", "n2:1", 20, True, True))))
    atlas.up |= {1, 2}
    atlas.places[7] = 96
    atlas.refresh()
    return Unicast(atlas, outbox)


def routed(**other: int) -> Routed:
    fields = {"target": 9, "ring_id": 30, "source": 5, "source_ring_id": 50, "hops": 1} | other
    return Routed(**fields, frame=encode_body(FRAME))


def test_the_master_is_told_and_nodes_are_sent_to_with_the_sender_on_it(unicast: Unicast, outbox: Outbox) -> None:
    unicast.send(MASTER, 0, FRAME)
    unicast.send(2, 20, FRAME)
    unicast.send(9, 30, FRAME)
    unicast.send(7, 30, FRAME)  # which has another place by now
    own = {"source": 0, "source_ring_id": 90, "hops": 0}
    assert outbox.flush() == [
        Tell(MASTER, FRAME),
        Tell(2, routed(target=2, ring_id=20, **own)),
        Tell(2, routed(target=9, ring_id=30, **own)),
        Tell(1, routed(target=7, ring_id=96, **own)),
    ]


def test_what_is_for_nobody_is_not_for_the_master(unicast: Unicast, outbox: Outbox) -> None:
    assert MASTER != NOBODY
    unicast.send(NOBODY, 30, FRAME)
    assert all(isinstance(told, Tell) and told.peer != MASTER for told in outbox.flush())


def test_nobody_is_told_where_no_link_leads_there(outbox: Outbox) -> None:
    Unicast(Atlas(), outbox).send(9, 30, FRAME)
    assert outbox.flush() == []


def test_a_frame_is_read_where_it_is_for(unicast: Unicast, outbox: Outbox) -> None:
    assert unicast.receive(1, routed(target=0)) == FRAME
    assert unicast.receive(5, routed(target=0, hops=0)) == FRAME
    assert unicast.receive(1, routed(target=0, hops=0)) is None, "it has another name on it than that of its sender"
    assert outbox.flush() == []


def test_a_frame_for_another_goes_on_but_not_for_ever(unicast: Unicast, outbox: Outbox) -> None:
    assert unicast.receive(1, routed(hops=RELAYS - 1)) is None
    assert unicast.receive(1, routed(hops=RELAYS)) is None
    assert outbox.flush() == [Tell(2, routed(hops=RELAYS))]
