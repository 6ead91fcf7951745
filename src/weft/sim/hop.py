"""One publication hop by hop, with names: who passes it to whom, and who of them only relays."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from weft.arrays import Int32s
from weft.model.forwarding import Distance, Ends, Pivots
from weft.model.instance import Instance
from weft.model.overlay import Overlay
from weft.model.tree import Trees
from weft.sim.bulk import Trace, trace
from weft.sim.catalog import forwarding_for, network_for

FROM_ISSUER = -1


@dataclass(frozen=True, eq=False)
class Journey:
    """A publication and all messages that it takes."""

    instance: Instance
    topic: int
    issuer: int
    messages: Trace

    @property
    def relays(self) -> set[int]:
        """Nodes that pass it on and do not subscribe."""
        return set(self.messages.targets.tolist()) - set(self.instance.subscribers[self.topic].tolist()) - {self.issuer}

    @property
    def in_words(self) -> str:
        deliveries, messages = int(self.messages.delivered.sum()), len(self.messages.delivered)
        longest = int(self.messages.hops.max(initial=0))
        return (
            f"{_counted(deliveries, 'subscriber')}, {_counted(messages, 'message')}, "
            f"{messages - deliveries:,} of them to relays, at most {_counted(longest, 'hop')}"
        )

    def __repr__(self) -> str:
        return f"Journey({self.in_words})"

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def lines(self) -> Iterator[str]:
        """An indented line a message, below the one that brought it to its sender."""
        yield f"{self.instance.node_name(self.issuer)}  (issuer)"
        below = self.below()
        last = {rows[-1] for rows in below.values()}
        stack = [(row, "") for row in reversed(below.get(FROM_ISSUER, []))]
        while stack:
            row, indent = stack.pop()
            mark = "" if self.messages.delivered[row] else "  (relay)"
            name = self.instance.node_name(int(self.messages.targets[row]))
            yield f"{indent}{'└─ ' if row in last else '├─ '}{name}{mark}"
            deeper = indent + ("   " if row in last else "│  ")
            stack += [(each, deeper) for each in reversed(below.get(row, []))]

    def rows(self) -> list[dict[str, object]]:
        """A row a message: its hop, from whom, to whom, and whether the receiver only relays it."""
        name, trace = self.instance.node_name, self.messages
        return [
            {"hop": int(hop), "from": name(source), "to": name(target), "relay": not delivered}
            for hop, source, target, delivered in zip(
                trace.hops, trace.sources, trace.targets, trace.delivered, strict=True
            )
        ]

    def below(self) -> dict[int, list[int]]:
        """The rows of the messages that follow from each message, and those of the issuer by FROM_ISSUER.

        A router may pass a node twice at one hop; what that node sends then follows from the first.
        """
        brought = {(self.issuer, 0): FROM_ISSUER}
        below: defaultdict[int, list[int]] = defaultdict(list)
        columns = (self.messages.sources, self.messages.targets, self.messages.hops)
        for row, (source, target, hop) in enumerate(zip(*(column.tolist() for column in columns), strict=True)):
            brought.setdefault((target, hop), row)
            below[brought[source, hop - 1]].append(row)
        return dict(below)


def journey(
    instance: Instance,
    overlay: Overlay,
    topic: int,
    issuer: int | None = None,
    *,
    router: str = "weave",
    trees: Trees | None = None,
    seed: int = 1,
    links: Ends | None = None,
    distance: Distance | None = None,
    pivots: Pivots | None = None,
) -> Journey:
    """A publication on the topic by the issuer, or else by who publishes most on it, where publishers are known.

    Else the issuer is the root of the topic's tree, if it subscribes, or the first subscriber. Without trees, a router
    that has them weaves its own. `links`, `distance` and `pivots` are as in `evaluate`.
    """
    forwarding = forwarding_for(router, links, distance, pivots)
    network = network_for(router, instance, overlay, trees=trees, forwarding=forwarding)
    start = _start(instance, topic, network.trees, network.node_at) if issuer is None else issuer
    return Journey(instance, topic, start, _in_order(trace(network, router, topic, start, seed=seed)))


def _start(instance: Instance, topic: int, trees: Trees | None, node_at: Int32s) -> int:
    known = None if instance.known_publishers is None else instance.known_publishers.first_of(topic)
    if known is not None:
        return known
    subscribers = instance.subscribers[topic]
    if trees is not None and trees.sizes[topic]:
        root = int(node_at[trees.members[trees.indptr[topic]]])
        return root if root in subscribers else int(subscribers[0])
    return int(subscribers[0]) if len(subscribers) else 0


def _in_order(messages: Trace) -> Trace:
    """Messages by hop, then sender, then receiver."""
    order = np.lexsort((messages.targets, messages.sources, messages.hops))
    return Trace(*(column[order] for column in (messages.sources, messages.targets, messages.hops, messages.delivered)))


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"
