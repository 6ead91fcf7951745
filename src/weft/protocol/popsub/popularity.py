"""Which entries of the gain table are popular (section 4.2): Algorithm 1 and the rule against thrashing.

Entries fill a share of the broker's capacity in the order of their gain, at the rates of the interval that ended. When
the gains have not changed, and what is popular still fills that share within a tenth, everything stays as it is.

What has a high priority takes its capacity first, whatever its gain, and goes by the tree; the share is then of what is
left.
"""

from collections.abc import Mapping
from math import inf

from weft.protocol.popsub.parameters import Parameters, Way
from weft.protocol.popsub.table import Entry, Key

Gains = dict[Key, tuple[int, int]]


class Popularity:
    def __init__(self, way: Way, parameters: Parameters) -> None:
        self.way = way
        self.parameters = parameters
        self.least_gain = inf  # of the popular entries when last evaluated; infinite where there are none
        self._planned_for: Gains | None = None

    def evaluate(self, entries: Mapping[Key, Entry], queue: float, elapsed: float) -> None:
        """Gives every entry its rate over so many milliseconds, and its way."""
        for entry in entries.values():
            entry.rate = entry.routed * 1000.0 / elapsed
            entry.routed = 0
        gains = {key: (entry.count, entry.hops) for key, entry in entries.items()}
        if gains == self._planned_for and self._still_filled(entries):
            return
        self._planned_for = gains
        by_gain = {key: entry for key, entry in entries.items() if not entry.priority}
        popular = most_gainful(by_gain, self._to_fill(entries))
        self.least_gain = min((entries[key].gain for key in popular), default=inf)
        for key, entry in entries.items():
            entry.way = Way.TREE if key in popular else self._way_of(entry, queue)

    def _still_filled(self, entries: Mapping[Key, Entry]) -> bool:
        filled = sum(entry.rate for entry in entries.values() if entry.way is Way.TREE and not entry.priority)
        to_fill = self._to_fill(entries)
        return abs(filled - to_fill) <= self.parameters.tolerance * to_fill

    def _to_fill(self, entries: Mapping[Key, Entry]) -> float:
        """Publications/s for what is popular, after what has a high priority."""
        taken = sum(entry.rate for entry in entries.values() if entry.priority)
        return max(self.parameters.capacity - taken, 0.0) * self.parameters.phi

    def _way_of(self, entry: Entry, queue: float) -> Way:
        if entry.priority:
            return Way.TREE
        return best_way(entry, queue, self.parameters) if self.way is Way.ADAPTIVE else self.way


def most_gainful(entries: Mapping[Key, Entry], to_fill: float) -> set[Key]:
    """Algorithm 1: the entries that are popular; of equal gains, the lower advertisement and link go first."""
    popular = set()
    filled = 0.0
    for key in sorted(entries, key=lambda key: (-entries[key].gain, key[1], key[0])):
        if filled >= to_fill:
            break
        popular.add(key)
        filled += entries[key].rate
    return popular


def best_way(entry: Entry, queue: float, parameters: Parameters) -> Way:
    """The cheapest way for an unpopular entry (our own; the paper uses one way for all).

    The tree takes at least the mean hops to reach a subscriber, so that as many direct messages cost no more, and are
    faster. An overloaded broker leaves the work to the subscribers. Batches pay if they fill before their time is up.
    """
    if len(entry.origins) * entry.count <= entry.hops:
        return Way.DIRECT
    if queue > parameters.capacity * parameters.congestion / 1000.0:
        return Way.GOSSIP
    if entry.rate * parameters.batch_timeout / 1000.0 >= 2.0:
        return Way.BATCH
    return Way.DIRECT
