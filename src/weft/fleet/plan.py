"""A plan: the bridges of a fleet that carry each topic along its tree, and no farther.

A link of the overlay that some topic flows over becomes one bridge, which the owner of the link opens. Between two
brokers there is never more than one: a broker does not send a message back over the bridge that it came by, and two
bridges would make a circle.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from weft.arrays import Bools, Int64s
from weft.errors import WeftError
from weft.fleet.bridge import QOS, Bridge, Line
from weft.fleet.change import Flowing
from weft.fleet.flow import Flows, flows_of
from weft.fleet.pattern import Names
from weft.model.instance import Instance
from weft.model.overlay import Overlay, require_made_for
from weft.model.tree import Trees


@dataclass(frozen=True)
class Shortening:
    """What wildcards save on a bridge, and what wider ones, one for each first level, would save and add."""

    topics: int  # that cross it, counted in each direction
    lines: int
    wider_lines: int
    added: int  # topics that would cross it besides, in each direction


@dataclass(frozen=True, eq=False)
class Plan:
    brokers: tuple[str, ...]  # by node
    topics: tuple[str, ...]
    subscribers: Int64s  # of every topic, brokers that have some
    bridges: tuple[Bridge, ...]
    flows: Flows
    shortening: tuple[Shortening, ...]  # of every bridge

    @property
    def figures(self) -> dict[str, Any]:
        lines = [len(bridge.lines) for bridge in self.bridges]
        return {
            "brokers": len(self.brokers),
            "bridges": len(self.bridges),
            "topics": int(np.count_nonzero(self.subscribers)),
            "lines": sum(lines),
            "longest_bridge": max(lines, default=0),
            "topics_on_links": len(self.flows),
            "lines_with_wider_wildcards": sum(each.wider_lines for each in self.shortening),
            "topics_on_links_they_would_add": sum(each.added for each in self.shortening),
        }


def plan_of(
    instance: Instance,
    overlay: Overlay,
    trees: Trees,
    *,
    qos: int = QOS,
    wildcards: bool = True,
    kept: Flowing | None = None,
) -> Plan:
    """A plan along the trees. Topics that are `kept` stay on the links that they flow over in the plan that runs."""
    if kept is None:
        require_made_for(instance, overlay)
    brokers = tuple(map(instance.node_name, range(instance.nodes)))
    topics = tuple(map(instance.topic_name, range(instance.topics)))
    links, owners = _numbered(kept or {}, brokers, topics), _owners(overlay)
    _require_links(links, owners, brokers)
    flows = flows_of(instance, overlay, trees, links)
    found = sorted(_bridges(brokers, Names(topics), flows, owners, qos, wildcards), key=lambda each: each[0])
    bridges, shortening = (tuple(column) for column in zip(*found, strict=True)) if found else ((), ())
    return Plan(brokers, topics, instance.subscribers.counts, bridges, flows, shortening)


def _numbered(flowing: Flowing, brokers: tuple[str, ...], topics: tuple[str, ...]) -> dict[int, list[tuple[int, int]]]:
    """Links of topics by number; each once, whatever its direction."""
    broker, topic = ({name: place for place, name in enumerate(names)} for names in (brokers, topics))
    return {
        topic[name]: sorted({(broker[min(hop)], broker[max(hop)]) for hop in hops})
        for name, hops in flowing.items()
        if name in topic
    }


def _require_links(
    kept: Mapping[int, list[tuple[int, int]]], owners: Mapping[tuple[int, int], int], brokers: tuple[str, ...]
) -> None:
    for low, high in (link for links in kept.values() for link in links):
        if (min(low, high), max(low, high)) not in owners:
            raise WeftError(
                f"The plan to keep links {brokers[low]!r} with {brokers[high]!r}, which the overlay does not: give the "
                "overlay that it was exported from."
            )


def _owners(overlay: Overlay) -> dict[tuple[int, int], int]:
    """The node that opens the link between two nodes; of two that opened one to each other, the smaller."""
    pairs = zip(overlay.sources.tolist(), overlay.targets.tolist(), strict=True)
    owners: dict[tuple[int, int], int] = {}
    for source, target in pairs:
        owners.setdefault((min(source, target), max(source, target)), source)
    return owners


def _bridges(
    brokers: tuple[str, ...],
    names: Names,
    flows: Flows,
    owners: Mapping[tuple[int, int], int],
    qos: int,
    wildcards: bool,
) -> Iterator[tuple[Bridge, Shortening]]:
    for (low, high), (up, down) in _by_link(flows, len(names.names)):
        owner = owners[low, high]
        remote = high if owner == low else low
        out, back = (up, down) if owner == low else (down, up)
        lines = _lines(names, out, back, qos, wildcards)
        (above, more), (below, yet_more) = names.first_levels(up), names.first_levels(down)
        topics = int(np.count_nonzero(up) + np.count_nonzero(down))
        told = Shortening(topics, len(lines), len(above | below), more + yet_more)
        yield Bridge(brokers[owner], brokers[remote], lines), told


def _by_link(flows: Flows, topics: int) -> Iterator[tuple[tuple[int, int], tuple[Bools, Bools]]]:
    """Both ends of every link that is used, the smaller first, and which topics flow upwards and downwards."""
    sources, targets = flows.sources.astype(np.int64), flows.targets.astype(np.int64)
    low, high = np.minimum(sources, targets), np.maximum(sources, targets)
    order = np.lexsort((high, low))
    changes = np.flatnonzero(np.diff(low[order]) | np.diff(high[order])) + 1
    for rows in np.split(order, changes) if len(order) else []:
        is_up = sources[rows] < targets[rows]
        chosen = []
        for part in (rows[is_up], rows[~is_up]):
            chosen.append(np.zeros(topics, np.bool_))
            chosen[-1][flows.topics[part]] = True
        yield (int(low[rows[0]]), int(high[rows[0]])), (chosen[0], chosen[1])


def _lines(names: Names, out: Bools, back: Bools, qos: int, wildcards: bool) -> tuple[Line, ...]:
    there, here = set(names.patterns(out, wildcards)), set(names.patterns(back, wildcards))
    both = {Line(pattern, "both", qos) for pattern in there & here}
    one_way = {Line(pattern, "out", qos) for pattern in there - here} | {
        Line(pattern, "in", qos) for pattern in here - there
    }
    return tuple(sorted(both | one_way))
