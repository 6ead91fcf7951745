"""Reports of a node to the master: what it counts, and rates since the last one."""

from types import SimpleNamespace

from weft.broker.deadline import Deadlines
from weft.node.atlas import Atlas
from weft.node.effect import MASTER, Tell
from weft.node.figure import Figures
from weft.node.measurement import OF_BROKER, Measurements
from weft.node.outbox import Outbox
from weft.wire.frame import Confirm, Measured


def test_a_node_counts_from_nothing() -> None:
    assert {count for _, count in Figures().counters()} == {0}
    assert dict(Figures(relayed=3).counters())["relayed"] == 3


def test_rates_are_told_from_time_to_time_and_begin_anew() -> None:
    atlas, outbox, deadlines = Atlas(), Outbox(), Deadlines()
    issuing = SimpleNamespace(rates={"a": [2, 20]})
    debts = SimpleNamespace(under_way=4, late=1, owed={1: 2, 3: 3}, dropped=6)
    broker = SimpleNamespace(**{name: place for place, name in enumerate(OF_BROKER)})
    lease = SimpleNamespace(ask=lambda now: int(now))
    measurements = Measurements(
        *(atlas, outbox, deadlines, lease, issuing, debts, Figures(issued=9), broker, 10.0)  # type: ignore[arg-type]
    )
    measurements.start(0.0)
    deadlines.run(10.0)
    assert outbox.flush() == [], "nobody hears"
    assert issuing.rates == {}
    atlas.up.add(MASTER)
    issuing.rates["b"] = [3, 30]
    deadlines.run(19.9)
    assert outbox.flush() == []
    deadlines.run(20.0)
    counters = (
        *Figures(issued=9).counters(),
        *((name, place) for place, name in enumerate(OF_BROKER)),
        ("under_way", 4),
        ("late", 1),
        ("owed", 5),
        ("owed_dropped", 6),
    )
    assert outbox.flush() == [Tell(MASTER, Confirm(20)), Tell(MASTER, Measured((("b", 3, 30),), (), counters))]
    assert issuing.rates == {}
