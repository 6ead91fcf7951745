"""Rows of the catalog of routers: each says the truth, and one more row is one more router everywhere."""

from dataclasses import replace

import pytest

from routing_oracle import ring_instance, ring_overlay
from weft.errors import WeftError
from weft.model.latency import ConstantLatency
from weft.overlays.catalog import design
from weft.sim import catalog
from weft.sim.bulk import evaluate
from weft.sim.catalog import ROUTERS, Place, routing
from weft.sim.population import routers_of
from weft.sim.timed import evaluate_in_time
from weft.trees.weave import weave
from weft.workloads.publication import publications

INSTANCE = ring_instance(1, 30, 6, 0.2)
OVERLAY = ring_overlay(1, 30, 50)
SAID = publications(INSTANCE, 40, 1)


@pytest.mark.parametrize("router", ROUTERS)
def test_who_needs_a_ring_is_refused_without_one(router: str) -> None:
    ringless = design(INSTANCE, "gm", seed=1)
    if routing(router).needs_ring:
        for attempt in (
            lambda: routers_of(INSTANCE, ringless, router),
            lambda: evaluate(INSTANCE, ringless, router, SAID),
        ):
            with pytest.raises(WeftError, match="has no ring"):
                attempt()
    else:
        assert len(routers_of(INSTANCE, ringless, router)) == 30
        assert evaluate(INSTANCE, ringless, router, SAID).deliveries > 0


@pytest.mark.parametrize("router", ROUTERS)
def test_who_has_trees_takes_them(router: str) -> None:
    trees = weave(INSTANCE, OVERLAY)
    if routing(router).has_trees:
        assert evaluate(INSTANCE, OVERLAY, router, SAID, trees=trees).table_entries is not None
    else:
        assert evaluate(INSTANCE, OVERLAY, router, SAID).table_entries is None
        with pytest.raises(WeftError, match="has no trees to go by"):
            evaluate(INSTANCE, OVERLAY, router, SAID, trees=trees)


@pytest.mark.parametrize("router", ROUTERS)
def test_one_row_is_all_that_a_router_takes(router: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same under a name that nobody has heard of."""
    monkeypatch.setitem(catalog.ROUTERS, "other", ROUTERS[router])  # type: ignore[arg-type]
    latency = ConstantLatency(30, 10.0)
    one, other = (evaluate(INSTANCE, OVERLAY, name, SAID, seed=2, latency=latency) for name in (router, "other"))
    assert replace(one, seconds=0, router="") == replace(other, seconds=0, router="")
    timed = [evaluate_in_time(INSTANCE, OVERLAY, name, latency, SAID, 2) for name in (router, "other")]
    assert timed[0] == timed[1]


def test_trees_of_another_overlay_are_refused() -> None:
    trees = weave(INSTANCE, ring_overlay(2, 30, 50))
    for attempt in (
        lambda: evaluate(INSTANCE, OVERLAY, "weave", SAID, trees=trees),
        lambda: routers_of(INSTANCE, OVERLAY, "weave", trees=trees),
    ):
        with pytest.raises(WeftError, match="woven for another overlay"):
            attempt()


def test_a_place_without_a_ring_says_so() -> None:
    place = Place(7, None, None, lambda topic: 0, {})  # type: ignore[arg-type]
    with pytest.raises(WeftError, match="Node 7 has no fingers"):
        ROUTERS["po"].make(place)
