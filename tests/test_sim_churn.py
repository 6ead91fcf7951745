"""Routers under churn: nothing is lost that nothing explains, nothing comes twice, and the same seed does the same."""

import numpy as np
import pytest

import weft
from weft.errors import WeftError
from weft.model.churn import Change, churn_schedule_of
from weft.model.instance import Instance
from weft.overlays.catalog import design
from weft.sim.catalog import ROUTERS
from weft.sim.churn import Churned, ChurnSetting, churn
from weft.sim.churn_runs import as_row, from_row
from weft.workloads.catalog import generate
from weft.workloads.churn import churn_by_rate

SETTING = ChurnSetting(rate=400.0, loss=0.03)


def small(nodes: int = 20, seed: int = 1) -> Instance:
    return generate("unif", nodes=nodes, topics=10, subscriptions=4, seed=seed)


def churned(router: str, overlay: str, seed: int, setting: ChurnSetting = SETTING) -> Churned:
    """Half an hour in which every node goes about once, and every node changes a subscription."""
    instance = small(seed=seed)
    schedule = churn_by_rate(instance, 0.5, seed, node_rate=2.0, subscription_rate=2.0, away=0.1)
    return churn(instance, design(instance, overlay, seed=seed), router, schedule, setting=setting, seed=seed)


@pytest.mark.parametrize("router", ROUTERS)
@pytest.mark.parametrize(("overlay", "seed"), [("swico-even", 1), ("random", 2)])
def test_no_loss_is_unexplained_and_nothing_comes_twice(router: str, overlay: str, seed: int) -> None:
    figures = churned(router, overlay, seed).figures()
    assert figures["changes"] > 20
    assert figures["expected"] > 700
    assert figures["unexplained"] == figures["lost_without_fallback"] == figures["doubled"] == 0
    assert figures["delivered"] + figures["lost_with_a_node"] == figures["expected"]
    assert figures["links_opened"] > 20
    assert (figures["repair_messages"] > 0) == (router in ("scribe", "iscribe"))


@pytest.mark.parametrize("router", ["po", "scribe", "iscribe", "weave"])
def test_a_rebuilding_loses_nothing(router: str) -> None:
    """Quality falls below what is wanted again and again, and designs take each other's place while it publishes."""
    done = churned(router, "chord", 3, ChurnSetting(rate=1000.0, quality=0.98))
    assert len(done.intervals) > 2
    assert done.total("unexplained") == done.total("doubled") == 0
    assert np.all(np.diff([each.begins for each in done.intervals]) > 0)


@pytest.mark.parametrize("router", ROUTERS)
def test_with_3_of_60_nodes_dead_all_that_are_alive_get_everything(router: str) -> None:
    instance = generate("unif", nodes=60, topics=40, subscriptions=8, seed=1)
    schedule = churn_schedule_of(instance, [Change(1.0, node, "fail") for node in (7, 23, 42)])
    overlay = design(instance, "swico-even", seed=1)
    setting = ChurnSetting(rate=8000.0, loss=0.05)
    done = churn(instance, overlay, router, schedule, hours=0.02, setting=setting)
    assert done.total("expected") > 1000
    assert done.total("delivered") + done.total("lost_with_a_node") == done.total("expected")
    assert done.total("lost_with_a_node") <= 3
    assert done.total("doubled") == 0


def test_without_a_ring_a_tree_in_parts_loses_what_nothing_else_brings() -> None:
    figures = churned("weave", "gm", 1).figures()
    assert figures["lost_without_fallback"] > 0
    assert figures["unexplained"] == 0
    with pytest.raises(WeftError, match="pie goes by a ring, which the overlay does not have"):
        churned("pie", "gm", 1)


def test_the_overlay_is_designed_again_every_day() -> None:
    instance = small()
    schedule = churn_by_rate(instance, 60.0, 1, subscription_rate=0.01)
    overlay = design(instance, "swico-even", seed=1)
    for rebuild, count in (("daily", 3), ("weekly", 1), ("never", 1)):
        setting = ChurnSetting(rate=1.0, rebuild=rebuild)
        done = churn(instance, overlay, "pie", schedule, hours=60.0, setting=setting)
        assert len(done.intervals) == count
        assert [round(each.begins) for each in done.intervals] == [0, 24, 48][:count]


def test_the_seed_decides() -> None:
    once, again = churned("iscribe", "swico-even", 4), churned("iscribe", "swico-even", 4)
    assert once == again
    assert once.figures() == again.figures()
    assert once != churned("iscribe", "swico-even", 5)
    assert from_row(as_row(once)) == once


def test_a_node_that_comes_late_or_back_is_served() -> None:
    instance = small()
    changes = [Change(10.0, 3, "join"), Change(20.0, 5, "fail"), Change(21.0, 5, "join"), Change(30.0, 6, "leave")]
    schedule = churn_schedule_of(instance, [*changes, Change(31.0, 6, "join")])
    overlay = design(instance, "swico-even", seed=1)
    done = churn(instance, overlay, "scribe", schedule, hours=0.05, setting=ChurnSetting(rate=8000.0))
    assert done.total("expected") > 500
    assert done.total("unexplained") == done.total("doubled") == 0


def test_where_nothing_changes_nothing_is_late() -> None:
    instance = small()
    done = weft.churn(instance, weft.design(instance, "chord"), "pal", churn_schedule_of(instance, []), hours=1.0)
    assert done.total("late") == done.total("changes") == done.total("links_opened") == 0
    assert done.total("delivered") == done.total("expected") > 0


@pytest.mark.parametrize("option", ["rate", "quality", "loss", "detection", "settling", "timeout"])
def test_settings_out_of_range_are_told(option: str) -> None:
    with pytest.raises(WeftError, match=option):
        ChurnSetting(**{option: -1.0})


def test_mistakes_are_told() -> None:
    instance = small(4)
    overlay = design(instance, "chord", seed=1)
    with pytest.raises(WeftError, match="hours"):
        churn(instance, overlay, "pie", churn_schedule_of(instance, []))
    with pytest.raises(WeftError, match="unknown: choose daily"):
        ChurnSetting(rebuild="hourly")  # type: ignore[arg-type]
    gone = churn_schedule_of(instance, [Change(float(node), node, "fail") for node in range(4)])
    with pytest.raises(WeftError, match="fewer than 2 nodes"):
        churn(instance, overlay, "pie", gone, hours=0.1)
