"""The score of bridges: counted as brokers pass messages on, one by one, and in closed form where there is one."""

from collections import deque

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.errors import WeftError
from weft.fleet.bridge import Bridge, Line
from weft.fleet.client import CLIENTS, resolved
from weft.fleet.comparison import compare
from weft.fleet.fleet import Fleet, is_fleet, read_fleet
from weft.fleet.score import Edges, edges_of_fleet, everything, score
from weft.model.instance import Instance, instance_from_pairs
from weft.model.publication import Publications
from weft.model.wildcard import finder

ENDLESS = 10_000  # messages after which nobody waits for the end


def fleet_of(bridges: list[Bridge], interest: dict[str, list[str]], kind: str = "mosquitto", **about: bool) -> Fleet:
    rows = [(f"client-{broker}", broker, topic) for broker, topics in interest.items() for topic in topics]
    clients = pa.table([pa.array(list(column), pa.string()) for column in zip(*rows, strict=True)], schema=CLIENTS)
    topics = tuple(sorted({topic for topics in interest.values() for topic in topics}))
    filters = resolved(clients["filter"].to_pylist(), finder(topics))
    return Fleet(kind, tuple(sorted(interest)), topics, tuple(bridges), clients, filters, **about)


def score_of(fleet: Fleet) -> dict[str, object]:
    return score(fleet.instance, edges_of_fleet(fleet), everything(fleet.instance)).figures(fleet.instance)


def brute_force(instance: Instance, edges: Edges, topic: int, issuer: int) -> dict[str, int] | None:
    """Messages passed on one by one; None if they do not end."""
    links = [
        (int(edges.sources[row]), int(edges.targets[row]), int(edges.bridges[row]))
        for row in np.flatnonzero(edges.topics == topic)
    ]
    copies, hops, messages = np.zeros(instance.nodes, int), np.zeros(instance.nodes, int), 0
    waiting = deque([(issuer, -1, 0)])
    while waiting:
        at, by, hop = waiting.popleft()
        if hop and not edges.forwards:
            continue
        for source, target, bridge in links:
            if source == at and bridge != by:
                messages += 1
                copies[target] += 1
                hops[target] = hops[target] or hop + 1
                waiting.append((target, bridge, hop + 1))
        if messages > ENDLESS:
            return None
    subscribers = set(instance.subscribers[topic].tolist())
    others = subscribers - {issuer}
    reached = [node for node in others if copies[node]]
    return {
        "messages": messages,
        "deliveries": len(reached),
        "missed_deliveries": len(others) - len(reached),
        "duplicates": int(sum(copies[node] - 1 for node in reached) + (copies[issuer] if issuer in subscribers else 0)),
        "relays": int(sum(copies[node] for node in range(instance.nodes) if node not in subscribers)),
        "path_sum": int(sum(hops[node] for node in reached)),
        "maximum_path": int(max((hops[node] for node in reached), default=0)),
    }


@settings(max_examples=150, deadline=None)
@given(seed=st.integers(0, 10**6), forwards=st.booleans())
def test_messages_are_counted_as_brokers_pass_them_on(seed: int, forwards: bool) -> None:
    rng = np.random.default_rng(seed)
    nodes = int(rng.integers(2, 6))
    instance = instance_from_pairs(*np.nonzero(rng.random((nodes, 2)) < 0.6), node_count=nodes, topic_count=2)
    rows = sorted(
        {
            (topic, *ends, bridge)
            for topic in range(2)
            for bridge in range(int(rng.integers(1, 7)))
            for pair in [rng.choice(nodes, 2, replace=False).tolist()]
            for ends in [pair, pair[::-1]][: int(rng.integers(1, 3))]
            for ends in [tuple(ends)]
        }
    )
    table = np.array(rows, np.int64)
    edges = Edges(table[:, 0], *(np.ascontiguousarray(table[:, place], np.int32) for place in (1, 2, 3)), forwards)
    for topic, issuer in np.ndindex(2, nodes):
        if not instance.subscribers.counts[topic]:
            continue
        found = score(instance, edges, Publications(np.array([topic], np.int32), np.array([issuer], np.int32)))
        wanted = brute_force(instance, edges, topic, issuer)
        assert bool(found.endless[topic]) == (wanted is None)
        if wanted is not None:
            told = {**found.totals, "missed_deliveries": int(found.missed.sum())}
            assert {key: told[key] for key in wanted} == wanted
            assert found.sent.sum() == found.received.sum() == wanted["messages"]


def test_a_star_sends_everything_everywhere() -> None:
    leaves = [f"leaf{node}" for node in range(4)]
    star = [Bridge(leaf, "hub", (Line("#", "both"),)) for leaf in leaves]
    told = score_of(fleet_of(star, {"hub": ["a"], **{leaf: ["a"] if leaf == "leaf0" else ["b"] for leaf in leaves}}))
    assert told["messages"] == 2 * 5 * 4  # two topics from five brokers, four messages each
    assert told["busiest_broker"] == "hub"
    assert told["maximum_path"] == 2
    assert told["looping_topics"] == told["duplicates"] == told["missed_deliveries"] == 0


def test_a_mesh_of_bridges_loops_and_a_chain_does_not() -> None:
    ring = [Bridge("a", "b", (Line("t", "both"),)), Bridge("b", "c", (Line("t", "both"),))]
    interest = {name: ["t"] for name in "abc"}
    assert score_of(fleet_of(ring, interest))["looping_topics"] == 0
    told = score_of(fleet_of([*ring, Bridge("c", "a", (Line("t", "both"),))], interest))
    assert told["looping_topics"] == 1
    assert told["duplicates"] == told["messages"] - told["deliveries"]  # everybody subscribes


def test_two_bridges_between_two_brokers_are_a_circle() -> None:
    twice = [Bridge("a", "b", (Line("#", "both"),)), Bridge("b", "a", (Line("t", "both"),))]
    assert score_of(fleet_of(twice, {"a": ["t"], "b": ["t"]}))["looping_topics"] == 1


def test_what_does_not_reach_its_subscribers_is_told() -> None:
    one_way = [Bridge("a", "b", (Line("t", "out"),))]
    found = score_of(fleet_of(one_way, {"a": ["t"], "b": ["t", "u"]}))
    assert found["topics_that_miss_subscribers"] == 2  # t from b to a, u from a to b
    assert found["missed_deliveries"] == 2
    assert found["deliveries"] == 1


def test_clusters_send_straight_to_subscribers_and_pass_nothing_on() -> None:
    mesh = [Bridge("a", "b", ()), Bridge("a", "c", ()), Bridge("b", "c", ())]
    told = score_of(fleet_of(mesh, {"a": ["t"], "b": ["t"], "c": ["u"]}, "emqx", forwards=False))
    assert told["messages"] == told["deliveries"] == told["expected_deliveries"] == 4 + 2  # of t and of u
    assert told["looping_topics"] == 0


def test_lines_that_rename_topics_are_counted_and_not_followed() -> None:
    renaming = [Bridge("a", "b", (Line("#", "both", 0, "here/", "there/"),))]
    fleet = fleet_of(renaming, {"a": ["here/t"], "b": ["here/t"]})
    assert fleet.renaming == 1
    assert score_of(fleet)["messages"] == 0


def test_a_plan_is_compared_over_the_same_publications() -> None:
    brokers = [f"b{node}" for node in range(6)]
    star = [Bridge(name, "b0", (Line("#", "both"),)) for name in brokers[1:]]
    fleet = fleet_of(star, {name: [f"t{node % 3}", "all"] for node, name in enumerate(brokers)})
    told = compare(fleet).figures()
    assert told["now"]["expected_deliveries"] == told["plan"]["expected_deliveries"] == told["plan"]["deliveries"]
    assert told["plan"]["messages"] < told["now"]["messages"]
    assert told["plan"]["duplicates"] == told["plan"]["looping_topics"] == 0


def test_a_fleet_of_one_or_two_brokers_is_compared() -> None:
    assert compare(fleet_of([], {"a": ["t"]})).figures()["plan"]["messages"] == 0
    assert compare(fleet_of([], {"a": ["t"], "b": ["t"]})).figures()["plan"]["deliveries"] == 2


def test_a_fleet_without_subscriptions_has_no_score() -> None:
    empty = Fleet("csv", ("a",), (), (), CLIENTS.empty_table(), resolved([], finder([])))
    with pytest.raises(WeftError, match="Nobody in the fleet subscribes"):
        compare(empty)


def test_a_fleet_is_read_as_it_was_written(tmp_path: object) -> None:
    bridges = [Bridge("a", "b", (Line("t", "in", 0), Line("x/#", "both", 1, "p/", ""))), Bridge("b", "c", ())]
    fleet = fleet_of(bridges, {"a": ["t"], "b": ["t"], "c": ["u"]}, forwards=False)
    fleet.write(f"{tmp_path}/fleet")
    found = read_fleet(f"{tmp_path}/fleet")
    assert is_fleet(f"{tmp_path}/fleet")
    assert not is_fleet(f"{tmp_path}/fleet/instance")
    assert (found.brokers, found.topics, found.bridges) == (fleet.brokers, fleet.topics, fleet.bridges)
    assert (found.kind, found.forwards) == ("mosquitto", False)
    assert found.clients.equals(fleet.clients)
    assert found.instance == fleet.instance
    with pytest.raises(WeftError, match="is not a fleet"):
        read_fleet(f"{tmp_path}/fleet/instance")
