"""Brokers of like interest put together, and the links of an overlay drawn within and between such communities.

Communities are found in the interests alone, so that two overlays can be drawn on the same map: a node takes the label
that is most frequent among its topics, a topic that among its subscribers, in turns (label propagation), small topics
and nodes of few topics weighing more. Linear in the subscriptions. The largest communities are discs, whose nodes lie
like the seeds of a sunflower; all others are one disc more.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from weft.arrays import Bools, Floats, Int64s
from weft.model.instance import Instance
from weft.model.overlay import Overlay, undirected
from weft.report.figure import COLOURS, INK
from weft.report.ring import FEW, some

ROUNDS = 30
SHOWN = 11  # communities, beside the others
DOTS = 900  # nodes drawn, at most
SIZE = 400
TURN = math.pi * (3 - math.sqrt(5))  # the golden angle


def communities(instance: Instance) -> Int64s:
    """The community of every node: 0 is the largest; SHOWN is all that are smaller than the first SHOWN."""
    of_nodes = instance.interest.matrix(np.float64)
    of_topics = of_nodes.T.tocsr()
    node_weight = 1 / np.maximum(instance.interest.counts, 1)
    topic_weight = 1 / np.maximum(instance.subscribers.counts, 1)
    label = np.arange(instance.nodes)
    for _ in range(ROUNDS):
        new = _votes(of_nodes, topic_weight, _votes(of_topics, node_weight, label))
        if np.array_equal(new, label):
            break
        label = new
    return _by_size(label)


def _votes(matrix: sparse.csr_array, weight: Floats, label: Int64s) -> Int64s:
    """The label of most weight in every row, given that of every column; the smallest of several."""
    cast = sparse.csr_array((weight, (np.arange(len(label)), label)), shape=(len(label), int(label.max(initial=0)) + 1))
    votes = (matrix @ cast).tocsr()
    votes.sort_indices()
    return first_of_most(votes)


def first_of_most(votes: sparse.csr_array) -> Int64s:
    """The first column of the largest value of every row, 0 of an empty one; scipy's argmax looks at row after row."""
    counts = np.diff(votes.indptr)
    winning, first = np.zeros(len(counts), np.int64), votes.indptr[:-1][counts > 0]
    if len(first):
        most = np.repeat(np.maximum.reduceat(votes.data, first), counts[counts > 0])
        at = np.flatnonzero(votes.data == most)[::-1]  # backwards: of several the first stays
        winning[np.repeat(np.arange(len(counts)), counts)[at]] = votes.indices[at]
    return winning


def _by_size(label: Int64s) -> Int64s:
    _, number, counts = np.unique(label, return_inverse=True, return_counts=True)
    rank = np.empty(len(counts), np.int64)
    rank[np.argsort(-counts, kind="stable")] = np.arange(len(counts))
    return np.minimum(rank[number], SHOWN)


@dataclass(frozen=True, eq=False)
class Map:
    """Where brokers are drawn."""

    community: Int64s  # of every node
    places: npt.NDArray[Any]  # [node, x and y]
    drawn: Bools
    discs: npt.NDArray[Any]  # [community, x, y and radius]


def map_of(instance: Instance, overlay: Overlay) -> Map:
    """Communities that the overlay links most lie next to each other."""
    community = communities(instance)
    count = int(community.max(initial=0)) + 1
    sizes = np.bincount(community, minlength=count)
    discs = _discs(sizes, _between(overlay, community, count))
    places, drawn = np.empty((instance.nodes, 2)), np.zeros(instance.nodes, bool)
    step = max(1, -(-instance.nodes // DOTS))
    for number, (x, y, radius) in enumerate(discs):
        nodes = np.flatnonzero(community == number)
        seeds = np.arange(len(nodes)) // step  # those that are not drawn lie with one that is
        distance = 0.92 * radius * np.sqrt((seeds + 0.5) / (seeds.max() + 1))
        places[nodes] = np.stack([x + distance * np.cos(seeds * TURN), y + distance * np.sin(seeds * TURN)], axis=1)
        drawn[nodes[::step]] = True
    return Map(community, places, drawn, discs)


def _between(overlay: Overlay, community: Int64s, count: int) -> Floats:
    """The links between any two communities, as a share of the most."""
    low, high = undirected(overlay)
    counted = np.bincount(community[low] * count + community[high], minlength=count * count).reshape(count, count)
    links: Floats = (counted + counted.T) * (1.0 - np.eye(count))
    return np.divide(links, max(links.max(), 1))


def _discs(sizes: Int64s, pull: Floats) -> npt.NDArray[Any]:
    """Discs whose areas are the sizes, drawn together by what links them and pushed apart until none overlap."""
    radius = np.sqrt(sizes / max(sizes.sum(), 1)) * 0.36 * SIZE
    angle = 2 * np.pi * np.arange(len(sizes)) / len(sizes)
    at = 0.4 * SIZE * np.stack([np.cos(angle), np.sin(angle)], axis=1) * (len(sizes) > 1)
    room = radius[:, None] + radius + 6
    for step in range(400):
        apart = at[:, None] - at
        distance = np.maximum(np.linalg.norm(apart, axis=2), 1e-6)
        force = np.maximum(room - distance, 0) * 0.25 - (distance > room) * (distance - room) * (0.002 + 0.02 * pull)
        np.fill_diagonal(force, 0)
        at = at + ((force / distance)[:, :, np.newaxis] * apart).sum(axis=1) * (1 - step / 500)
    return _fitted(at, radius)


def _fitted(at: npt.NDArray[Any], radius: Floats) -> npt.NDArray[Any]:
    """Everything moved and scaled to fill the picture."""
    low, high = (at - radius[:, None]).min(axis=0), (at + radius[:, None]).max(axis=0)
    scale = (SIZE - 8) / max((high - low).max(), 1e-6)
    centred = SIZE / 2 + (at - (low + high) / 2) * scale
    return np.column_stack([centred, radius * scale])


def draw_communities(overlay: Overlay, drawn_on: Map) -> str:
    """Links of the overlay between drawn brokers, in the colour of a community where both ends are in it."""
    low, high = undirected(overlay)
    both = drawn_on.drawn[low] & drawn_on.drawn[high]
    groups: dict[int, list[str]] = {}
    for u, v in some((low[both], high[both]), FEW):
        key = int(drawn_on.community[u]) if drawn_on.community[u] == drawn_on.community[v] < SHOWN else -1
        groups.setdefault(key, []).append(f"M{_xy(drawn_on, u)}L{_xy(drawn_on, v)}")
    paths = (
        f'<path d="{"".join(lines)}" stroke="{_colour(key)}" stroke-opacity="{0.45 if key >= 0 else 0.18}"/>'
        for key, lines in sorted(groups.items())
    )
    label = f"{overlay.nodes:,} brokers by community"
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {SIZE} {SIZE}" role="img" aria-label="{label}">'
    return f'{head}{_disc_shapes(drawn_on)}<g fill="none" stroke-width=".6">{"".join(paths)}</g>{_dots(drawn_on)}</svg>'


def share_inside(overlay: Overlay, drawn_on: Map) -> float:
    """Links whose ends are in one community, as a share of all."""
    low, high = undirected(overlay)
    named = drawn_on.community < SHOWN
    inside = (drawn_on.community[low] == drawn_on.community[high]) & named[low]
    return float(inside.mean()) if len(inside) else 0.0


def _disc_shapes(drawn_on: Map) -> str:
    sizes = np.bincount(drawn_on.community)
    return "".join(
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" fill="{_colour(number)}" fill-opacity=".1" '
        f'data-tip="{_disc_name(number)}: {sizes[number]:,} brokers"/>'
        for number, (x, y, radius) in enumerate(drawn_on.discs)
    )


def _disc_name(number: int) -> str:
    return "all smaller communities" if number == SHOWN else f"community {number + 1}"


def _dots(drawn_on: Map) -> str:
    nodes = np.flatnonzero(drawn_on.drawn)
    radius = max(0.9, min(4.0, 40 / math.sqrt(max(len(nodes), 1))))
    dots: dict[int, list[str]] = {}
    for node in nodes.tolist():
        x, y = drawn_on.places[node]
        dots.setdefault(int(drawn_on.community[node]), []).append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}"/>'
        )
    return "".join(f'<g fill="{_colour(key)}">{"".join(each)}</g>' for key, each in sorted(dots.items()))


def _xy(drawn_on: Map, node: int) -> str:
    x, y = drawn_on.places[node]
    return f"{x:.1f} {y:.1f}"


def _colour(community: int) -> str:
    return INK if community < 0 or community == SHOWN else COLOURS[community % len(COLOURS)]
