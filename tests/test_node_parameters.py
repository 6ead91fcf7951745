"""Limits and times of a node: what makes no sense is refused in a sentence."""

from dataclasses import fields

import pytest

from weft.broker.parameters import Parameters as BrokerParameters
from weft.errors import WeftError
from weft.master import applying
from weft.master.applying import Applying
from weft.node.identity import Identity
from weft.node.node import Node
from weft.node.parameters import DEFAULT, Parameters
from weft.wire.lease import DRIFT, LEASE, RELIED

NUMBERS = [one.name for one in fields(Parameters) if one.name != "acknowledge"]
ABOVE_ZERO = {"retry", "attempt", "window", "window_bytes", "owed_age", "measuring", "gossip", "lease"}


@pytest.mark.parametrize("name", NUMBERS)
def test_what_is_below_its_least_is_refused(name: str) -> None:
    with pytest.raises(WeftError, match=f"{name} is -1: give 0 or more"):
        Parameters(**{name: -1})
    if name in ABOVE_ZERO:
        with pytest.raises(WeftError, match=f"{name} is 0: give more"):
            Parameters(**{name: 0})
    elif name not in ("memory", "most_retry"):
        assert getattr(Parameters(**{name: 0}), name) == 0


@pytest.mark.parametrize("wrong", [{"memory": 1.9}, {"most_retry": 0.4}, {"lease": 2.6}, {"acknowledge": "memory"}])
def test_what_does_not_fit_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(WeftError):
        Parameters(**wrong)  # type: ignore[arg-type]


def test_what_just_fits_is_taken() -> None:
    least = Parameters(memory=2.0, most_retry=0.5, lease=2.5, acknowledge="tree")
    assert (least.memory, least.most_retry, least.lease) == (DEFAULT.settling, DEFAULT.retry, DEFAULT.lease)


def test_nobody_takes_a_lease_for_ended_on_which_a_node_may_rely() -> None:
    """Clocks may run as differently as we allow for, and who waits be the master or a node that is alone."""
    assert DEFAULT.lease <= RELIED
    assert RELIED * DRIFT < LEASE
    assert applying.LEASE is LEASE
    told = Applying()
    told.lend(1, 100.0)
    told.forget(1, 100.5, in_order=False)
    assert told._lost[1] == 100.0 + LEASE
    node = Node(Identity("n", "c", 1), BrokerParameters(linked=True), 0.0, Parameters(lease=0.5))
    assert node.parts.directory._patience == LEASE, "leases of others may be longer than its own"
