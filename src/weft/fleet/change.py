"""Changes from the plan that runs to a new one: which configurations change, and in which order brokers are restarted.

Mosquitto reads bridges when it starts. While brokers are restarted one after the other, some run the old plan and some
the new, so that a topic travels over some links of both. Say that a topic is **moved** if its links of both plans
together have a circle.

  - A topic that is not moved stays on parts of one tree, whatever the order. Two brokers that both plans join, both
    join by the same path, since a tree has no other: its links stay up. Nothing is lost or doubled.
  - A moved topic would go round in the circle, or be cut. So all brokers at the ends of links that a moved topic loses
    or gets are stopped, and started with their new configurations when all of them have stopped. Topics that share such
    brokers are one **group**.

So brokers that need no company come first, one by one, then group after group. What is published meanwhile on topics
that are not moved waits in the sessions of bridges, which are not clean. Of a moved topic, what a bridge that goes away
has not sent yet is lost with it, and what is published before a new bridge is up does not cross it: who publishes on it
should wait from the stop until the bridges are up.

A remote broker keeps the session of a bridge that is gone, and queues for it: `forgotten` names them.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from weft.fleet.bridge import Bridge
from weft.fleet.mosquitto import client_id

Hop = tuple[str, str]  # from a broker to another
Flowing = Mapping[str, frozenset[Hop]]  # by topic


@dataclass(frozen=True)
class Change:
    changed: tuple[str, ...]  # brokers whose configurations differ
    alone: tuple[str, ...]  # of these, restarted one by one
    groups: tuple[tuple[str, ...], ...]  # stopped together, started together
    moved: tuple[str, ...]  # topics
    forgotten: tuple[tuple[str, str], ...]  # remote broker, and client id of a bridge that is gone

    @property
    def steps(self) -> list[str]:
        """What to do, a line a step."""
        return [
            *(f"Restart {name} with its new configuration." for name in self.alone),
            *(f"Stop {', '.join(group)}; when all have stopped, start them anew." for group in self.groups),
            *(
                f"Remove the session {client} at {remote}, where it would go on to queue."
                for remote, client in self.forgotten
            ),
        ]


def change(old: Sequence[Bridge], new: Sequence[Bridge], before: Flowing, after: Flowing) -> Change:
    changed = {bridge.owner for bridge in set(old) ^ set(new)}
    moved = sorted(topic for topic in before.keys() & after.keys() if _has_circle(before[topic] | after[topic]))
    groups = _groups({end for hop in before[topic] ^ after[topic] for end in hop} for topic in moved)
    together = {name for group in groups for name in group}
    kept = {(bridge.owner, bridge.remote) for bridge in new}
    gone = {(bridge.owner, bridge.remote) for bridge in old} - kept
    return Change(
        tuple(sorted(changed)),
        tuple(sorted(changed - together)),
        tuple(groups),
        tuple(moved),
        tuple(sorted((remote, client_id(owner, remote)) for owner, remote in gone)),
    )


def unsubscribed(old: Sequence[Bridge], new: Sequence[Bridge]) -> dict[str, list[tuple[str, str]]]:
    """Remote brokers, and what bridges were subscribed to there and are no more, by their owner."""
    before = {(bridge.owner, bridge.remote): bridge for bridge in old}
    found: dict[str, list[tuple[str, str]]] = {}
    for bridge in new:
        earlier = before.get((bridge.owner, bridge.remote))
        out = {f"{line.remote}{line.pattern}" for line in bridge.lines}  # Mosquitto sees to these itself
        for pattern in sorted(earlier.incoming - out) if earlier else []:
            found.setdefault(bridge.owner, []).append((bridge.remote, pattern))
    return found


def _has_circle(hops: Iterable[Hop]) -> bool:
    """Whether links, used in any direction, have one."""
    above: dict[str, str] = {}
    for one, other in {(min(hop), max(hop)) for hop in hops}:
        first, second = _root(above, one), _root(above, other)
        if first == second:
            return True
        above[first] = second
    return False


def _root(above: dict[str, str], name: str) -> str:
    while name in above:
        name = above[name]
    return name


def _groups(sets: Iterable[set[str]]) -> list[tuple[str, ...]]:
    """Sets that have a member in common, together."""
    above: dict[str, str] = {}
    names: set[str] = set()
    for each in sets:
        first, *others = sorted(each)
        names |= each
        for other in others:
            one, two = sorted((_root(above, first), _root(above, other)))
            if one != two:
                above[two] = one
    found: dict[str, list[str]] = {}
    for name in sorted(names):
        found.setdefault(_root(above, name), []).append(name)
    return [tuple(group) for group in found.values()]


def hops_of(topics: Iterable[str], sources: Iterable[str], targets: Iterable[str]) -> dict[str, frozenset[Hop]]:
    found: dict[str, set[Hop]] = {}
    for topic, source, target in zip(topics, sources, targets, strict=True):
        found.setdefault(topic, set()).add((source, target))
    return {topic: frozenset(hops) for topic, hops in found.items()}
