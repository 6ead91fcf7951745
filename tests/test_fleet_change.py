"""The order in which brokers take a new plan: at no moment a circle, and no path that both plans have is cut."""

from itertools import permutations

import networkx as nx
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.fleet.bridge import Bridge, Line
from weft.fleet.change import Change, Flowing, change, unsubscribed

BROKERS = "abcdef"
TOPICS = ("s", "t", "u")


def random_plan(rng: np.random.Generator, fixed: nx.Graph | None = None) -> tuple[list[Bridge], Flowing]:
    """Every topic on a tree of its own, in both directions; some on the fixed one, or on a part of it."""
    flowing: dict[str, set[tuple[str, str]]] = {}
    lines: dict[tuple[str, str], list[Line]] = {}
    for topic in TOPICS:
        order = rng.permutation(list(BROKERS)).tolist()
        tree = nx.Graph([(order[place], order[rng.integers(place)]) for place in range(1, rng.integers(2, 7))])
        if fixed is not None and rng.random() < 0.5:
            tree = fixed.edge_subgraph([edge for edge in fixed.edges if rng.random() < 0.7])
        for one, other in map(sorted, tree.edges):
            flowing.setdefault(topic, set()).update({(one, other), (other, one)})
            lines.setdefault((one, other), []).append(Line(topic, "both"))
    bridges = [Bridge(*ends, tuple(sorted(each))) for ends, each in lines.items()]
    return bridges, {topic: frozenset(hops) for topic, hops in flowing.items()}


def links_while(old: list[Bridge], new: list[Bridge], done: set[str], topic: str, down: set[str]) -> nx.Graph:
    """Links of a topic while some brokers have the new plan, and some are down."""
    graph = nx.Graph()
    graph.add_nodes_from(BROKERS)
    for bridge in [*(each for each in old if each.owner not in done), *(each for each in new if each.owner in done)]:
        if any(line.pattern == topic for line in bridge.lines) and not down & {bridge.owner, bridge.remote}:
            graph.add_edge(bridge.owner, bridge.remote)
    return graph


def states(told: Change) -> list[set[str]]:
    """Which brokers have the new plan, at every moment at which some run."""
    found, done = [set[str]()], set[str]()
    for together in [*((name,) for name in told.alone), *told.groups]:
        done = done | set(together)
        found.append(done)
    return found


@settings(max_examples=200, deadline=None)
@given(seed=st.integers(0, 10**6), related=st.booleans())
def test_at_no_moment_is_there_a_circle_or_a_cut(seed: int, related: bool) -> None:
    rng = np.random.default_rng(seed)
    old, before = random_plan(rng)
    fixed = nx.Graph(before["t"]) if related else None
    new, after = random_plan(rng, fixed)
    told = change(old, new, before, after)
    assert set(told.alone) | {name for group in told.groups for name in group} >= set(told.changed)
    for topic in TOPICS:
        first, last = (links_while(old, new, done, topic, set()) for done in (set(), set(BROKERS)))
        joined = [pair for pair in permutations(BROKERS, 2) if nx.has_path(first, *pair) and nx.has_path(last, *pair)]
        for done in states(told):
            graph = links_while(old, new, done, topic, set())
            assert nx.is_forest(graph)
            if topic in told.moved:  # all of the old plan, or all of the new
                assert {frozenset(edge) for edge in graph.edges} in edges_of(first, last)
            else:
                assert all(nx.has_path(graph, *pair) for pair in joined)


def edges_of(*graphs: nx.Graph) -> list[set[frozenset[str]]]:
    return [{frozenset(edge) for edge in graph.edges} for graph in graphs]


def test_topics_that_only_grow_or_shrink_are_not_moved() -> None:
    hop = frozenset({("a", "b"), ("b", "a")})
    more = hop | {("b", "c"), ("c", "b")}
    old, new = [Bridge("a", "b", (Line("t", "both"),))], [Bridge("a", "b", (Line("t", "both"),)), Bridge("c", "b", ())]
    told = change(old, new, {"t": hop}, {"t": more})
    assert (told.changed, told.alone, told.groups, told.moved) == (("c",), ("c",), (), ())
    assert change(new, old, {"t": more}, {"t": hop}).moved == ()
    assert change(old, old, {"t": hop}, {"t": hop}) == Change((), (), (), (), ())


def test_a_bridge_that_is_gone_leaves_a_session_to_remove() -> None:
    told = change([Bridge("a", "b", (Line("t", "both"),))], [], {}, {})
    assert told.forgotten == (("b", "weft.a.b"),)
    assert told.steps[-1].startswith("Remove the session weft.a.b at b")


def test_what_a_bridge_no_longer_wants_is_unsubscribed_from() -> None:
    old = [Bridge("a", "b", (Line("out", "out"), Line("turned", "in"), Line("gone", "both"), Line("kept", "in")))]
    new = [Bridge("a", "b", (Line("turned", "out"), Line("kept", "both")))]
    assert unsubscribed(old, new) == {"a": [("b", "gone")]}  # Mosquitto itself unsubscribes from what is turned
    assert unsubscribed(old, []) == {}
