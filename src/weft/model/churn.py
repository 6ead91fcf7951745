"""Churn: who joins, leaves, fails, subscribes and unsubscribes, and when.

A node whose first event is to join is not there at the start. A node that comes back has the subscriptions with which
it went.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import numpy as np
import pyarrow as pa

from weft.arrays import Floats, Int64s
from weft.errors import WeftError
from weft.model.instance import Instance
from weft.model.table import Columns, Table

Kind = Literal["join", "leave", "fail", "subscribe", "unsubscribe"]
KINDS: tuple[Kind, ...] = get_args(Kind)
OF_TOPICS = ("subscribe", "unsubscribe")
NO_TOPIC = -1


class Change(NamedTuple):
    time: float  # seconds from the start
    node: int
    event: Kind
    topic: int = NO_TOPIC


@dataclass(frozen=True, eq=False)
class ChurnSchedule(Table):
    """Changes in the order of their times."""

    changes: tuple[Change, ...]

    def __len__(self) -> int:
        return len(self.changes)

    def __iter__(self) -> Iterator[Change]:
        return iter(self.changes)

    @property
    def columns(self) -> Columns:
        times: Floats = np.array([each.time for each in self.changes], np.float64)
        nodes: Int64s = np.array([each.node for each in self.changes], np.int64)
        topics: Int64s = np.array([each.topic for each in self.changes], np.int64)
        events = pa.array([each.event for each in self.changes], pa.string())
        return {"time": times, "node": nodes, "event": events, "topic": pa.array(topics, mask=topics == NO_TOPIC)}

    @property
    def absent_at_first(self) -> set[int]:
        """Nodes that are not there at the start, since they join first of all."""
        first: dict[int, Kind] = {}
        for each in self.changes:
            first.setdefault(each.node, each.event)
        return {node for node, event in first.items() if event == "join"}


def churn_schedule_of(instance: Instance, changes: list[Change]) -> ChurnSchedule:
    """Changes in order of their times, checked one after the other against what each node is and has by then."""
    order = sorted(range(len(changes)), key=lambda row: changes[row].time)
    found = ChurnSchedule(tuple(changes[row] for row in order))
    there = set(range(instance.nodes)) - found.absent_at_first
    interest = {each.node: set(instance.interest[each.node].tolist()) for each in changes}
    for row in order:
        problem = _problem(instance, changes[row], there, interest)
        if problem is not None:
            raise WeftError(f"Row {row + 1}: {problem}")
        _apply(changes[row], there, interest)
    return found


def _problem(instance: Instance, change: Change, there: set[int], interest: dict[int, set[int]]) -> str | None:
    time, node, event, topic = change
    name = instance.node_name(node)
    if not 0 <= time < np.inf:
        return f"the time is {time}: give seconds from 0."
    if event in OF_TOPICS and topic == NO_TOPIC:
        return f"{event} of node {name} needs a topic."
    if event not in OF_TOPICS and topic != NO_TOPIC:
        return f"{event} of node {name} has no topic: leave it empty."
    if event == "join" and node in there:
        return f"node {name} joins, but is there already."
    if event != "join" and node not in there:
        return f"{event} of node {name}, which is not there at that time: let it join before."
    if event == "subscribe" and topic in interest[node]:
        return f"node {name} subscribes to topic {instance.topic_name(topic)}, which it has already."
    if event == "unsubscribe" and topic not in interest[node]:
        return f"node {name} unsubscribes from topic {instance.topic_name(topic)}, which it does not have."
    return None


def _apply(change: Change, there: set[int], interest: dict[int, set[int]]) -> None:
    match change.event:
        case "join":
            there.add(change.node)
        case "leave" | "fail":
            there.remove(change.node)
        case "subscribe":
            interest[change.node].add(change.topic)
        case "unsubscribe":
            interest[change.node].remove(change.topic)
