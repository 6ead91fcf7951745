"""Schedules of churn: read from files by names, drawn by rates, and what is wrong in them."""

import pytest

from weft.errors import WeftError
from weft.model.churn import NO_TOPIC, Change, churn_schedule_of
from weft.model.instance import Instance
from weft.raw.churn import read_churn
from weft.workloads.catalog import generate
from weft.workloads.churn import HOUR, churn_by_rate


def named() -> Instance:
    import pandas as pd

    rows = [("a", "x"), ("a", "y"), ("b", "x"), ("c", "y")]
    return Instance.from_pandas(pd.DataFrame(rows, columns=["node", "topic"]), "node", "topic")


def written(tmp_path, *lines, heading="time,node,event,topic"):
    path = tmp_path / "churn.csv"
    path.write_text("\n".join([heading, *lines]) + "\n")
    return path


def test_a_file_is_read_by_names_and_put_in_order(tmp_path):
    path = written(tmp_path, "20,b,leave,", "10,a,unsubscribe,y", "5,c,join,", "30,b,join,")
    schedule = read_churn(path, named())
    assert list(schedule) == [
        Change(5.0, 2, "join"),
        Change(10.0, 0, "unsubscribe", 1),
        Change(20.0, 1, "leave"),
        Change(30.0, 1, "join"),
    ]
    assert schedule.absent_at_first == {2}
    assert schedule.to_pandas().event.tolist() == ["join", "unsubscribe", "leave", "join"]


def test_moments_count_from_the_first_row(tmp_path):
    path = written(tmp_path, "2026-01-05T10:00:00,a,fail,", "2026-01-05T11:30:00,a,join,")
    assert [each.time for each in read_churn(path, named())] == [0.0, 5400.0]


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        (["1,z,leave,"], "Row 1: There is no node 'z'"),
        (["1,a,goes,"], "Row 1: there is no event 'goes': give one of join, leave"),
        (["1,a,subscribe,z"], "Row 1: There is no topic 'z'"),
        (["1,a,subscribe,"], "Row 1: subscribe of node a needs a topic"),
        (["1,a,leave,x"], "Row 1: leave of node a has no topic"),
        (["-1,a,leave,"], "Row 1: the time is -1.0"),
        (["soon,a,leave,"], "Row 1: the time is 'soon'"),
        (["1,a,leave,", "2,a,subscribe,x"], "Row 2: subscribe of node a, which is not there"),
        (["2,a,fail,", "1,a,leave,"], "Row 1: fail of node a, which is not there"),
        (["1,a,leave,", "2,a,join,", "3,a,join,"], "Row 3: node a joins, but is there already"),
        (["1,a,subscribe,x"], "Row 1: node a subscribes to topic x, which it has already"),
        (["1,b,unsubscribe,y"], "Row 1: node b unsubscribes from topic y, which it does not have"),
    ],
)
def test_what_cannot_happen_is_told_with_its_row(tmp_path, lines, sentence):
    with pytest.raises(WeftError, match=sentence) as caught:
        read_churn(written(tmp_path, *lines), named())
    assert "churn.csv" in str(caught.value)


def test_a_file_without_events_is_told(tmp_path):
    with pytest.raises(WeftError, match="no column 'event'; it has time, node"):
        read_churn(written(tmp_path, "1,a", heading="time,node"), named())


def test_rates_are_met_and_the_seed_decides():
    instance = generate("unif", nodes=300, topics=50, subscriptions=5, seed=1)
    drawn = churn_by_rate(instance, 20.0, 3, node_rate=0.1, subscription_rate=0.2, fail_share=0.25, away=0.5)
    events = [each.event for each in drawn]
    went = events.count("fail") + events.count("leave")
    there = 1 / (1 + 0.1 * 0.5)  # share of the time
    assert went == pytest.approx(300 * 20 * 0.1 * there, rel=0.15)
    assert events.count("fail") / went == pytest.approx(0.25, abs=0.06)
    assert 0.5 * went < events.count("join") <= went
    changed = events.count("subscribe") + events.count("unsubscribe")
    assert changed == pytest.approx(300 * 20 * 0.2 * there, rel=0.15)
    assert all(0 < each.time < 20 * HOUR for each in drawn)
    assert churn_by_rate(instance, 20.0, 3, node_rate=0.1) == churn_by_rate(instance, 20.0, 3, node_rate=0.1)
    assert churn_by_rate(instance, 20.0, 3, node_rate=0.1) != churn_by_rate(instance, 20.0, 4, node_rate=0.1)


@pytest.mark.parametrize("option", ["node_rate", "subscription_rate", "fail_share", "away"])
def test_a_rate_out_of_range_is_told(option):
    with pytest.raises(WeftError, match=option):
        churn_by_rate(named(), 1.0, **{option: -1.0})


def test_changes_without_a_topic_have_none():
    schedule = churn_schedule_of(named(), [Change(1.0, 0, "leave")])
    assert schedule.changes[0].topic == NO_TOPIC
    assert schedule.to_arrow()["topic"].to_pylist() == [None]
