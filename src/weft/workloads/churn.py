"""Churn by rate: nodes go and come back, and subscriptions change, each at the times of a Poisson process.

A node that goes fails or leaves, and joins again after a while, exponentially distributed. Of changes of subscriptions
half are new ones, to a topic in proportion to its subscribers at the start, and half end one of the node's, as long as
it has another. The instance is what there is on average.
"""

from heapq import heappop, heappush

import numpy as np

from weft.arrays import Floats
from weft.errors import WeftError
from weft.model.churn import Change, ChurnSchedule, churn_schedule_of
from weft.model.instance import Instance
from weft.model.seed import require_seed

HOUR = 3600.0  # seconds


def churn_by_rate(
    instance: Instance,
    hours: float,
    seed: int = 1,
    *,
    node_rate: float = 0.0,  # how often an hour a node goes
    subscription_rate: float = 0.0,  # how often an hour a subscription of a node changes
    fail_share: float = 0.5,  # of the nodes that go, those that do not say so
    away: float = 1.0,  # hours until a node comes back, on average
) -> ChurnSchedule:
    for option, value in (("node_rate", node_rate), ("subscription_rate", subscription_rate)):
        if not 0 <= value < np.inf:
            raise WeftError(f"`{option}` {value} is out of range: give events of a node an hour, from 0.", option)
    for option, value in (("hours", hours), ("away", away)):
        if not 0 < value < np.inf:
            raise WeftError(f"`{option}` {value} is out of range: give hours above 0.", option)
    if not 0 <= fail_share <= 1:
        raise WeftError(f"`fail_share` {fail_share} is out of range: give a share from 0 to 1.", "fail_share")
    rng = np.random.default_rng([require_seed(seed), 37])
    interest = [set(instance.interest[node].tolist()) for node in range(instance.nodes)]
    popularity = instance.subscribers.counts / max(instance.subscriptions, 1)
    there, changes = np.ones(instance.nodes, np.bool_), list[Change]()
    agenda: list[tuple[float, int, bool]] = []  # hours, node, whether it is about the node or a subscription of it

    def note(now: float, node: int, of_node: bool, mean: float) -> None:
        if mean < np.inf:
            heappush(agenda, (now + rng.exponential(mean), node, of_node))

    for node in range(instance.nodes):
        note(0.0, node, True, _mean(node_rate))
        note(0.0, node, False, _mean(subscription_rate))
    while agenda and agenda[0][0] < hours:
        now, node, of_node = heappop(agenda)
        time = now * HOUR
        if of_node and there[node]:
            changes.append(Change(time, node, "fail" if rng.random() < fail_share else "leave"))
            there[node] = False
            note(now, node, True, away)
        elif of_node:
            changes.append(Change(time, node, "join"))
            there[node] = True
            note(now, node, True, _mean(node_rate))
        else:
            if there[node]:
                changes += _subscription_changes(rng, time, node, interest[node], popularity)
            note(now, node, False, _mean(subscription_rate))
    return churn_schedule_of(instance, changes)


def _mean(rate: float) -> float:
    return 1 / rate if rate else np.inf


def _subscription_changes(
    rng: np.random.Generator, time: float, node: int, interest: set[int], popularity: Floats
) -> list[Change]:
    if rng.random() < 0.5:
        topic = int(rng.choice(len(popularity), p=popularity)) if popularity.any() else -1
        if topic < 0 or topic in interest:
            return []
        interest.add(topic)
        return [Change(time, node, "subscribe", topic)]
    if len(interest) < 2:
        return []
    topic = sorted(interest)[rng.integers(len(interest))]
    interest.remove(topic)
    return [Change(time, node, "unsubscribe", topic)]
