"""Whether a node may rely on what it knows: for some seconds from when it asked, if the master has answered."""

from math import inf

from weft.node.lease import Lease


def test_a_lease_runs_from_when_it_was_asked_for():
    lease = Lease(2.5)
    assert not lease.runs(0.0)
    first, second = lease.ask(10.0), lease.ask(11.0)
    assert first != second
    assert lease.grant(second) == 13.5
    assert [lease.runs(now) for now in (13.4, 13.5)] == [True, False]
    assert lease.grant(first) == 13.5, "an answer that comes late shortens nothing"
    assert lease.grant(second) == 13.5, "and counts once"


def test_answers_that_would_be_too_late_are_not_waited_for():
    lease = Lease(2.5)
    first = lease.ask(10.0)
    lease.ask(12.5)
    assert lease.grant(first) == -inf
    second = lease.ask(12.6)
    lease.lose()
    assert lease.grant(second) == -inf
    lease.grant(lease.ask(20.0))
    lease.lose()
    assert not lease.runs(20.1)
