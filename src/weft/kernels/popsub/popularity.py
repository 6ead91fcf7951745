"""Algorithm 1 of PopSub over arrays: an issuer fills a share of its capacity with the entries of the best gain.

The gain of entries does not change while a simulation runs, so they come sorted, and an evaluation is one pass. At the
start all are popular: brokers have heard of all subscriptions, but of no publication.
"""

import numpy as np

from weft.kernels.jit import leaf_jit
from weft.kernels.popsub.broker import ADAPTIVE, BATCH, DIRECT, GOSSIP, TREE, Load, Settings, Table


@leaf_jit
def evaluate(table: Table, load: Load, settings: Settings, broker: int) -> None:
    low, high = table.order_bounds[broker], table.order_bounds[broker + 1]
    per_second = 1000.0 / settings.interval
    line = to_fill(table, settings, low, high, per_second)
    if not is_filled(table, settings, low, high, per_second, line):
        jobs, lengths = load.queued[broker]
        overloaded = jobs > 0 and lengths / max(jobs, 1) > settings.overload
        fill(table, settings, broker, low, high, per_second, line, overloaded)
    load.queued[broker, :] = 0
    for place in range(low, high):
        table.routed[table.order[place]] = 0
        table.urgent[table.order[place]] = 0


@leaf_jit
def to_fill(table: Table, settings: Settings, low: int, high: int, per_second: float) -> float:
    """Publications a second for what is popular, after what has a high priority."""
    taken = 0
    for place in range(low, high):
        taken += table.urgent[table.order[place]]
    return max(settings.capacity - taken * per_second, 0.0) * settings.phi


@leaf_jit
def is_filled(table: Table, settings: Settings, low: int, high: int, per_second: float, line: float) -> bool:
    """Whether the popular load is within the tolerance, so that popularity stays as it is."""
    filled = 0.0
    for place in range(low, high):
        entry = table.order[place]
        if table.ways[entry] == TREE:
            filled += table.routed[entry] * per_second
    return abs(filled - line) <= settings.tolerance * line


@leaf_jit
def fill(
    table: Table,
    settings: Settings,
    broker: int,
    low: int,
    high: int,
    per_second: float,
    line: float,
    overloaded: bool,
) -> None:
    filled = 0.0
    table.least_popular[broker] = np.inf
    for place in range(low, high):
        entry = table.order[place]
        rate = table.routed[entry] * per_second
        if table.priority[entry]:
            continue
        if filled < line:
            table.ways[entry] = TREE
            table.least_popular[broker] = table.gains[entry]
            filled += rate
        elif settings.way == ADAPTIVE:
            table.ways[entry] = best_way(table, settings, entry, rate, overloaded)
        else:
            table.ways[entry] = settings.way


@leaf_jit
def best_way(table: Table, settings: Settings, entry: int, rate: float, overloaded: bool) -> int:
    """See docs/popsub.md: the cheapest for few subscribers, off the broker when it is overloaded, else in batches."""
    if table.few_origins[entry]:
        return DIRECT
    if overloaded:
        return GOSSIP
    if rate * settings.timeout / 1000.0 >= 2:
        return BATCH
    return DIRECT
