"""What stays of clients that are gone: nothing, but for what docs/security.md says (test_bounds.py)."""

import pytest

from weighing import Heap, Network, Place, live, name_of

LIVES = 2_000  # of 2 to 4 connections and 10 publications each
WARM = 300  # lives until all that is bounded is full


@pytest.mark.parametrize("linked", [False, True], ids=["alone", "linked"])
def test_nothing_stays_of_clients_that_are_gone(linked: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weft.broker.replica.TOMBSTONES", 50)
    place = Place(linked=linked)
    for number in range(WARM):
        live(place, name_of(number), number // 2 % 4)
    before, records = Heap(place.broker), place.journal()
    for number in range(WARM, LIVES):
        live(place, name_of(number), number // 2 % 4)
    after = Heap(place.broker)
    assert after.bytes - before.bytes < 20_000, after.more_than(before)
    assert place.journal() == records


def test_nothing_stays_of_clients_of_a_network(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weft.broker.replica.TOMBSTONES", 50)
    network = Network()
    for at in range(4):
        network.live(range(at * 40, at * 40 + 40))
    network.rest()
    before, journals = {name: Heap(part) for name, part in network.parts().items()}, network.journals()
    for at in range(4, 8):
        network.live(range(at * 40, at * 40 + 40))
    network.rest()
    after = {name: Heap(part) for name, part in network.parts().items()}
    more = {name: after[name].more_than(before[name]) for name in after}
    assert max(after[name].bytes - before[name].bytes for name in after) < 30_000, more
    assert network.journals() == journals
