"""Links with peers: what follows when one comes up, is lost or does not keep up, and what is put on it."""

from unittest.mock import Mock, call

import pytest

from weft.broker.connection import Connection
from weft.broker.deadline import Deadlines
from weft.broker.hold import Holds
from weft.node.atlas import Atlas
from weft.node.effect import MASTER, Tell
from weft.node.link import Links
from weft.node.outbox import Outbox
from weft.node.parameters import Parameters
from weft.wire.frame import Acked, LinkLost, LinkMade, Trouble

PEER, CLIENT = 3, 11


class Surroundings:
    def __init__(self, linked: bool = True) -> None:
        self.atlas, self.outbox, self.deadlines, self.others = Atlas(), Outbox(), Deadlines(), Mock()
        self.atlas.up |= {MASTER} if linked else set()
        self.others.carrier.stuck = self.stuck = set[int]()
        self.others.carrier.take.return_value = []
        self.others.custody.acknowledgements.return_value = []
        others = self.others
        self.freed: list[Connection] = []
        self.client = Connection(CLIENT, 0.0)
        self.holds = Holds({CLIENT: self.client}, self.freed.append)
        self.links = Links(
            *(self.atlas, others.carrier, others.custody, self.outbox, self.holds, self.deadlines),
            *(Parameters(link_patience=5.0, settling=2.0), others.attempts, others.grafting, others.retention),
            others.lane,
        )

    def put(self, source: int | None) -> list[object]:
        """What is told where a message goes on the link."""
        self.others.carrier.take.return_value = [(PEER, Acked(()))]
        self.links.flush(source)
        self.others.carrier.take.return_value = []
        return self.outbox.flush()


@pytest.fixture
def around() -> Surroundings:
    return Surroundings()


@pytest.mark.parametrize("linked", [True, False])
def test_a_link_that_comes_up_is_a_chance_for_what_has_failed(linked: bool) -> None:
    around = Surroundings(linked)
    around.links.make(PEER, 1.5, 7.0)
    assert around.others.method_calls == [
        call.custody.open(PEER),
        call.carrier.rewire(7.0),
        call.attempts.hurry(7.0),
        call.retention.compare_with(PEER),
        call.grafting.link(PEER, 7.0),
    ]
    assert around.outbox.flush() == ([Tell(MASTER, LinkMade(PEER, 1.5))] if linked else [])


@pytest.mark.parametrize("linked", [True, False])
def test_what_was_on_a_link_that_is_lost_goes_by_other_ways(linked: bool) -> None:
    around = Surroundings(linked)
    around.links.lose(PEER, 7.0)
    assert around.others.method_calls == [
        call.carrier.rewire(7.0),
        call.carrier.lose(PEER, 7.0),
        call.grafting.unlink(PEER, 7.0),
    ]
    assert around.outbox.flush() == ([Tell(MASTER, LinkLost(PEER))] if linked else [])
    around.deadlines.run(8.9)
    around.others.retention.compare_with_all.assert_not_called()
    around.deadlines.run(9.0)
    around.others.retention.compare_with_all.assert_called_once_with()


def test_clients_whose_publications_go_on_a_link_that_does_not_keep_up_wait(around: Surroundings) -> None:
    message = Tell(PEER, Acked(()))
    assert around.put(CLIENT) == [message]
    around.links.congest(PEER, 0.0)
    assert around.put(None) == [message]
    assert not around.client.holds
    assert around.put(CLIENT) == [message]
    assert around.client.holds
    around.links.drain(PEER)
    assert around.freed == [around.client]
    assert around.put(CLIENT) == [message]
    assert not around.client.holds
    around.deadlines.run(5.0)
    assert around.stuck == set()
    around.others.lane.forget.assert_not_called()


def test_clients_do_not_wait_for_ever_for_a_slow_peer(around: Surroundings) -> None:
    around.links.congest(PEER, 0.0)
    around.put(CLIENT)
    around.deadlines.run(4.9)
    assert around.freed == []
    around.deadlines.run(5.0)
    assert around.freed == [around.client]
    assert around.stuck == {PEER}
    around.others.lane.forget.assert_called_once_with()
    assert around.put(CLIENT) == [Tell(PEER, Acked(()))]
    assert not around.client.holds, "it is not held again"
    around.links.drain(PEER)
    assert around.stuck == set()


def test_a_link_that_is_lost_holds_nobody(around: Surroundings) -> None:
    around.links.congest(PEER, 0.0)
    around.put(CLIENT)
    around.links.lose(PEER, 1.0)
    assert around.freed == [around.client]
    assert around.atlas.congested == set()


def test_acknowledgements_come_and_go_with_their_troubles(around: Surroundings) -> None:
    trouble = Trouble(4, (1, 2), True, False)
    around.links.acknowledge(PEER, Acked(((1, 3),), (trouble,)), 0.0)
    assert around.others.custody.acknowledge.call_args == call(PEER, ((1, 3),), [(4, (1, 2), True, False)])
    around.others.custody.acknowledgements.return_value = [(PEER, ((1, 3),), [(4, {2, 1}, True, False)])]
    around.links.flush(None)
    assert around.outbox.flush() == [Tell(PEER, Acked(((1, 3),), (trouble,)))]
