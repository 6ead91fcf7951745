"""Plans: every publication comes to all its subscribers, once, by the bridges that are written, and by no others."""

from collections import Counter, deque
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weft
from weft.errors import WeftError
from weft.fleet.bridge import Bridge
from weft.fleet.change import hops_of
from weft.fleet.flow import flows_of
from weft.fleet.pattern import Names
from weft.fleet.plan import Plan, plan_of
from weft.model.instance import Instance, instance_from_pairs
from weft.model.overlay import Overlay, overlay_from_links
from weft.model.publisher import Publishers
from weft.wire.mqtt.topic import matches

LEVELS = ("a", "b", "c", "")


def random_names(rng: np.random.Generator, count: int) -> list[str]:
    every = ["/".join(levels) for depth in (1, 2, 3) for levels in product(LEVELS, repeat=depth)]
    return rng.choice([name for name in every if name], count, replace=False).tolist()


def random_fleet(seed: int, publishers: bool) -> tuple[Instance, Overlay]:
    rng = np.random.default_rng(seed)
    nodes, topics = int(rng.integers(2, 9)), int(rng.integers(1, 20))
    subscribes = rng.random((nodes, topics)) < rng.uniform(0.1, 0.7)
    subscribes[0, 0] = True
    known = None
    if publishers:
        issuers, on = np.nonzero(rng.random((nodes, topics)) < 0.2)
        known = Publishers(issuers.astype(np.int32), on.astype(np.int32), np.ones(len(on)))
    made = instance_from_pairs(
        *np.nonzero(subscribes),
        node_count=nodes,
        topic_count=topics,
        node_names=np.array([f"n{node}" for node in range(nodes)], object),
        topic_names=np.array(random_names(rng, topics), object),
    )
    instance = Instance(made.interest, made.node_names, made.topic_names, {}, known)
    return instance, weft.design(instance, str(rng.choice(["swico-even", "star", "random"])), seed=1)


def issuers_of(instance: Instance, topic: int) -> list[int]:
    known = instance.publishers
    found = [] if known is None else known.nodes[known.topics == topic].tolist()
    return found or list(range(instance.nodes))


def passed_on(bridges: tuple[Bridge, ...], name: str, issuer: str, most: int = 200) -> Counter[str]:
    """Copies at every broker, passed on as Mosquitto does, by the lines as they are written; up to so many."""
    came: Counter[str] = Counter()
    waiting: deque[tuple[str, Bridge | None]] = deque([(issuer, None)])
    while waiting and came.total() < most:
        at, by = waiting.popleft()
        for bridge in bridges:
            if bridge is by or at not in (bridge.owner, bridge.remote):
                continue
            against = "in" if at == bridge.owner else "out"
            if any(line.direction != against and matches(line.pattern, name) for line in bridge.lines):
                other = bridge.remote if at == bridge.owner else bridge.owner
                came[other] += 1
                waiting.append((other, bridge))
    return came


def planned(instance: Instance, overlay: Overlay, **options: bool) -> Plan:
    return plan_of(instance, overlay, weft.weave(instance, overlay), **options)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), publishers=st.booleans(), wildcards=st.booleans())
def test_every_publication_comes_once_to_every_subscriber(seed: int, publishers: bool, wildcards: bool) -> None:
    instance, overlay = random_fleet(seed, publishers)
    plan = planned(instance, overlay, wildcards=wildcards)
    for topic in range(instance.topics):
        subscribers = {instance.node_name(node) for node in instance.subscribers[topic].tolist()}
        for issuer in map(instance.node_name, issuers_of(instance, topic)):
            came = passed_on(plan.bridges, instance.topic_name(topic), issuer)
            assert subscribers - {issuer} <= came.keys()
            assert set(came.values()) <= {1}
            assert issuer not in came


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), publishers=st.booleans())
def test_no_name_that_anybody_may_think_of_comes_twice(seed: int, publishers: bool) -> None:
    instance, overlay = random_fleet(seed, publishers)
    plan = planned(instance, overlay)
    for name in ("/".join(levels) for levels in product((*LEVELS, "new"), repeat=3)):
        for issuer in plan.brokers:
            came = passed_on(plan.bridges, name, issuer)
            assert set(came.values()) <= {1}
            assert issuer not in came


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), publishers=st.booleans())
def test_lines_carry_what_flows_and_nothing_more(seed: int, publishers: bool) -> None:
    instance, overlay = random_fleet(seed, publishers)
    plan = planned(instance, overlay)
    written = set()
    for bridge, name in product(plan.bridges, plan.topics):
        for line in (line for line in bridge.lines if matches(line.pattern, name)):
            there, back = (name, bridge.owner, bridge.remote), (name, bridge.remote, bridge.owner)
            written |= {there, back} if line.direction == "both" else {there if line.direction == "out" else back}
    flows = zip(plan.flows.topics, plan.flows.sources, plan.flows.targets, strict=True)
    assert written == {(plan.topics[topic], plan.brokers[source], plan.brokers[to]) for topic, source, to in flows}
    assert len({frozenset((bridge.owner, bridge.remote)) for bridge in plan.bridges}) == len(plan.bridges)
    for bridge, told in zip(plan.bridges, plan.shortening, strict=True):
        ends = {bridge.owner, bridge.remote}
        assert told.topics == sum({source, target} == ends for _, source, target in written)
        assert told.lines == len(bridge.lines)
        assert told.added >= 0
    assert sum(told.topics for told in plan.shortening) == len(written) == plan.figures["topics_on_links"]


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_a_flow_leads_from_an_issuer_to_a_subscriber(seed: int) -> None:
    """No bridge carries what nobody behind it wants: every hop lies on the path of some publication."""
    instance, overlay = random_fleet(seed, publishers=True)
    plan = planned(instance, overlay, wildcards=False)
    for topic in range(instance.topics):
        rows = plan.flows.topics == topic
        hops = set(zip(plan.flows.sources[rows].tolist(), plan.flows.targets[rows].tolist(), strict=True))
        subscribers = set(instance.subscribers[topic].tolist())
        used = set()
        for issuer in issuers_of(instance, topic):
            used |= hops_to(hops, issuer, subscribers)
        assert used == hops


def hops_to(hops: set[tuple[int, int]], start: int, wanted: set[int]) -> set[tuple[int, int]]:
    """Hops on the ways from the start to those that are wanted, in a tree."""

    def below(node: int, before: int | None) -> set[tuple[int, int]]:
        found = set()
        for source, target in hops:
            if source == node and target != before:
                further = below(target, node)
                if further or target in wanted:
                    found |= {(source, target)} | further
        return found

    return below(start, None)


def test_a_topic_without_subscribers_is_on_no_bridge() -> None:
    instance = instance_from_pairs([0, 1, 2], [0, 0, 0], node_count=3, topic_count=2)
    overlay = weft.design(instance, "star", seed=1)
    assert set(flows_of(instance, overlay, weft.weave(instance, overlay)).topics.tolist()) == {0}


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), wildcards=st.booleans())
def test_patterns_match_the_chosen_topics_and_no_other(seed: int, wildcards: bool) -> None:
    rng = np.random.default_rng(seed)
    names = random_names(rng, 30)
    chosen = rng.random(30) < rng.uniform(0.2, 1.0)
    patterns = Names(names).patterns(chosen, wildcards)
    assert [any(matches(pattern, name) for pattern in patterns) for name in names] == chosen.tolist()
    assert max(sum(matches(pattern, name) for pattern in patterns) for name in names) <= 1
    assert wildcards or not any("#" in pattern for pattern in patterns)


def test_patterns_are_as_short_as_they_can_be() -> None:
    names = Names(["a", "a/x", "a/y", "b/x", "b/y", "c"])
    assert names.patterns(np.array([1, 1, 1, 1, 0, 1], bool)) == ["a/#", "b/x", "c"]
    assert names.first_levels(np.array([1, 1, 1, 1, 0, 1], bool)) == ({"a", "b", "c"}, 1)
    assert names.patterns(np.ones(6, bool)) == ["a/#", "b/#", "c"]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("a b/c", "blanks end a topic"),
        ("$SYS/uptime", "a broker's own"),
        ("a/+/c", "neither + nor #"),
        ("a\tb", "blanks"),
        ("x" * 65_536, "65,535 bytes"),
    ],
)
def test_a_topic_that_cannot_be_written_is_refused(name: str, words: str) -> None:
    with pytest.raises(WeftError, match=words.replace("+", r"\+")):
        Names([name, "b"]).patterns(np.array([True, False]))


def test_names_of_many_levels_are_written_too() -> None:
    deep = "/".join(["x"] * 20_000)
    assert Names([deep, f"{deep}/y", "z"]).patterns(np.array([True, True, False])) == ["x/#"]
    assert Names([deep, f"{deep}/y", "x/z"]).patterns(np.array([True, False, True])) == [deep, "x/z"]


def test_a_topic_that_cannot_be_written_may_lie_below_one_that_can() -> None:
    assert Names(["a/my topic", "a/b"]).patterns(np.array([True, True])) == ["a/#"]


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_a_plan_that_is_kept_stays_on_its_links(seed: int) -> None:
    instance, overlay = random_fleet(seed, publishers=False)
    old = planned(instance, overlay)
    rng = np.random.default_rng(seed)
    changed = rng.random((instance.nodes, instance.topics)) < 0.4
    changed[0, 0] = True
    later = instance_from_pairs(
        *np.nonzero(changed),
        node_count=instance.nodes,
        topic_count=instance.topics,
        node_names=instance.node_names,
        topic_names=instance.topic_names,
    )
    kept = flowing(old)
    new = plan_of(later, overlay, weft.weave(later, overlay), kept=kept)
    for name, hops in flowing(new).items():
        if name in kept:
            links = {frozenset(hop) for hop in hops} | {frozenset(hop) for hop in kept[name]}
            assert len(links) == instance.nodes - 1  # the same tree of all brokers
        topic = plan_topics(later)[name]
        for issuer in old.brokers:
            came = passed_on(new.bridges, name, issuer)
            subscribers = {later.node_name(node) for node in later.subscribers[topic].tolist()}
            assert subscribers - {issuer} <= came.keys()
            assert set(came.values()) <= {1}


def test_a_plan_that_is_kept_grows_to_new_subscribers() -> None:
    """The publisher is known, so that the old tree does not have everybody."""
    known = Publishers(np.array([0], np.int32), np.array([0], np.int32), np.ones(1))
    chain = overlay_from_links(4, [0, 1, 2], [1, 2, 3])
    before, after = (
        replace(instance_from_pairs(nodes, [0] * len(nodes), node_count=4, topic_count=1), given_publishers=known)
        for nodes in ([1], [1, 3])
    )
    old = planned(before, chain)
    new = plan_of(after, chain, weft.weave(after, chain), kept=flowing(old))
    assert flowing(old) == {"0": {("0", "1")}}
    assert flowing(new) == {"0": {("0", "1"), ("1", "2"), ("2", "3")}}


def test_the_owner_of_a_link_opens_its_bridge() -> None:
    instance = instance_from_pairs([0, 1, 2], [0, 0, 0], node_count=3, topic_count=1)
    overlay = overlay_from_links(3, [1, 1, 2], [0, 2, 1])  # of two that opened one to each other, the smaller
    assert {(bridge.owner, bridge.remote) for bridge in planned(instance, overlay).bridges} == {("1", "0"), ("1", "2")}


def flowing(plan: Plan) -> dict[str, frozenset[tuple[str, str]]]:
    flows = plan.flows
    return dict(
        hops_of(
            [plan.topics[topic] for topic in flows.topics],
            [plan.brokers[node] for node in flows.sources],
            [plan.brokers[node] for node in flows.targets],
        )
    )


def plan_topics(instance: Instance) -> dict[str, int]:
    return {instance.topic_name(topic): topic for topic in range(instance.topics)}


def test_a_plan_to_keep_needs_its_own_overlay() -> None:
    instance = instance_from_pairs([0, 1, 2], [0, 0, 0], node_count=3, topic_count=1)
    overlay = weft.Overlay(3, *(np.array(each, np.int32) for each in ([0, 1], [1, 2], [-1, -1])))
    with pytest.raises(WeftError, match="links '0' with '2', which the overlay does not"):
        plan_of(instance, overlay, weft.weave(instance, overlay), kept={"0": frozenset({("0", "2")})})
