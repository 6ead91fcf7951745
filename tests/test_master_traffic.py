"""What nodes have measured, as means of it."""

import pytest

from weft.master.traffic import Traffic
from weft.wire.frame import Measured


def test_round_trips_are_means_of_which_the_latest_is_half() -> None:
    traffic = Traffic()
    for milliseconds in (8.0, 4.0, 2.0):
        traffic.time(2, 1, milliseconds)
    traffic.measure(1, Measured((), ((3, 9.0), (2, 6.0))), 0.0)
    assert traffic.round_trips == {(1, 2): 5.0, (1, 3): 9.0}


def test_nothing_is_kept_of_a_node_that_is_forgotten() -> None:
    traffic = Traffic()
    for node in (1, 2):
        traffic.measure(node, Measured((("a", 1, 1),), ((3, 9.0),), (("sent", node),)), 0.0)
    assert traffic.total("sent") == 3
    traffic.forget(1)
    assert traffic.round_trips == {(2, 3): 9.0}
    assert traffic.counters == {2: {"sent": 2}}
    assert set(traffic.rates) == {2}
    assert set(traffic.publishers["a"]) == {2}
    traffic.forget(2)
    assert traffic == Traffic()


def test_rates_are_over_the_time_since_the_last_figures() -> None:
    slow, fast = Traffic(), Traffic()
    for traffic, step in ((slow, 2.0), (fast, 0.5)):
        for turn in range(200):
            traffic.measure(1, Measured((("a", 3, 1),)), turn * step)
    assert slow.rates[1]["a"] == pytest.approx(1.5, rel=0.01)
    assert fast.rates[1]["a"] == pytest.approx(6.0, rel=0.01)


def test_figures_of_the_same_moment_leave_the_rates_as_they_are() -> None:
    traffic = Traffic()
    traffic.measure(1, Measured((("a", 3, 1),), (), (("sent", 1),)), 5.0)
    before = dict(traffic.rates[1])
    traffic.measure(1, Measured((("a", 900, 1),), (), (("sent", 2),)), 5.0)
    assert traffic.rates[1] == before
    assert traffic.total("sent") == 2
