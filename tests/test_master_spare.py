"""Spare links, compared with a choice among all pairs at every step."""

from itertools import combinations, product

import networkx as nx
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.master.spare import FULL, most_links, spare_links

Interests = dict[int, set[int]]


def chosen(fingers: nx.Graph, bound: int, interests: Interests, before: list[tuple[int, int]]) -> nx.Graph:
    """All links in the end: kept, then filled up, then exchanged, each time by a look at everybody."""
    links, bound = fingers.copy(), min(bound, len(fingers) - 1)

    def shared(one: int, other: int) -> int:
        return len(interests[one] & interests[other])

    def room(node: int) -> int:
        return bound - links.degree(node)

    for one, other in sorted(before, key=lambda pair: (-shared(*pair), pair)):
        if room(one) > 0 and room(other) > 0:
            links.add_edge(one, other)
    while True:
        free = [node for node in links if room(node) > 0]
        possible = [pair for pair in product(free, free) if pair[0] != pair[1] and not links.has_edge(*pair)]
        if not possible:
            break
        node = min((one for one, _ in possible), key=lambda one: (links.degree(one), one))
        others = [other for one, other in possible if one == node]
        links.add_edge(node, max(others, key=lambda one: (shared(node, one), room(one), -one)))
    while exchange := first_exchange(fingers, links, bound, interests):
        gone, new = exchange
        links.remove_edge(*gone)
        links.add_edges_from(new)
    return links


def first_exchange(
    fingers: nx.Graph, links: nx.Graph, bound: int, interests: Interests
) -> tuple[tuple[int, int], list[tuple[int, int]]] | None:
    """The spare link with least in common that two links can take the place of, and these."""
    free = [node for node in sorted(links) for _ in range(bound - links.degree(node))]
    spare = sorted((min(pair), max(pair)) for pair in links.edges if not fingers.has_edge(*pair))
    spare.sort(key=lambda pair: len(interests[pair[0]] & interests[pair[1]]))
    for one, other in combinations(free, 2):
        for pair in spare:
            for near, far in (pair, pair[::-1]):
                if len({one, other} & {near, far}) or links.has_edge(one, near) or links.has_edge(other, far):
                    continue
                return pair, [(one, near), (other, far)]
    return None


@given(st.data())
@settings(max_examples=150)
def test_spare_links_are_those_of_a_look_at_everybody_each_time(data: st.DataObject) -> None:
    nodes = data.draw(st.integers(2, 9))
    interests = {node: data.draw(st.sets(st.integers(0, 4))) for node in range(nodes)}
    fingers = nx.cycle_graph(nodes)
    before = data.draw(st.lists(st.sampled_from(list(combinations(range(nodes), 2))), unique=True, max_size=6))
    bound = data.draw(st.integers(2, 6))
    expected = chosen(fingers, bound, interests, before)
    peers = {node: set(fingers[node]) for node in fingers}
    spare = spare_links(peers, bound, interests, [*before, (0, 99), (99, 0)])
    assert {tuple(sorted(pair)) for pair in expected.edges if not fingers.has_edge(*pair)} == spare
    assert peers == {node: set(fingers[node]) for node in fingers}, "what was given is left as it was"


def test_links_are_filled_up_in_small_networks_only() -> None:
    for nodes, is_filled in ((FULL, True), (FULL + 1, False)):
        ring = nx.cycle_graph(nodes)
        found = spare_links({node: set(ring[node]) for node in ring}, 3, {node: set() for node in ring}, [(0, 5)])
        assert (found != {(0, 5)}) == is_filled


def test_a_node_has_three_links_for_every_phase_of_the_ring_at_most() -> None:
    assert [most_links(nodes) for nodes in (1, 2, 3, 4, 5, 64, 65)] == [3, 3, 6, 6, 9, 18, 21]
