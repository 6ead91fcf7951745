"""Which broker each client should use, so that fewer brokers have to get each publication.

A publication must come to every broker that has a subscriber of its topic, so what a fleet costs is, over all topics,
the rate times the number of such brokers. Clients that share interests belong together. Every broker has room for so
many clients, and with latencies a client may move only to brokers near the one it uses now.

What makes millions of clients few:

  - A topic with one subscriber comes to one broker wherever that client is, and is left out. It is the topic that a
    device has for itself, and the reason why no two devices seem alike.
  - Clients that are at one broker and have all other topics in common are alike: a **group**. Groups are found in the
    pipeline (weft.pipeline.placement) or here, and placed here; a group that is large is cut into pieces.

From where they are now, the pieces of brokers that are too full leave, the cheapest first; then all are moved as long
as that lowers the cost by more than the price of a move. The same is tried with pieces that are placed anew one after
the other, those with a rare topic in common in a row. The cheaper of the two, with its moves, is suggested, so it never
costs more than now, unless somebody has to leave. The problem contains bin packing; nothing better is promised.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from weft.arrays import Bools, Floats, Int32s, Int64s
from weft.errors import WeftError
from weft.kernels.fleet import placement as kernels
from weft.model.csr import Csr, csr_from_pairs

PIECES = 20  # that fill the smallest broker, at least
ROUNDS = 20  # of moves, at most
MOVE = 0.01  # what a client's move has to save at least, as a share of what a client costs now on average
AT_ONCE = 8  # a broker that is too full is emptied in so many steps, or more: what leaves changes what the rest costs
SLACK = 1.2  # times the mean number of clients: what a broker takes if nobody says how many it may


@dataclass(frozen=True, eq=False)
class Groups:
    """Clients at one broker with the same shared interests; ordered by topics, then broker."""

    brokers: Int32s  # where they are now
    sizes: Int64s  # clients
    interest: Csr  # topics, of those with more than one subscriber


@dataclass(frozen=True, eq=False)
class Allotment:
    """Where the clients of every group go: rows of group, broker and how many."""

    groups: Int64s
    brokers: Int32s
    counts: Int64s
    cost_now: float  # brokers that a publication has to come to, summed over topics by rate
    cost: float

    def figures(self, groups: Groups) -> dict[str, Any]:
        moved = self.brokers != groups.brokers[self.groups]
        return {
            "clients": int(groups.sizes.sum()),
            "groups": len(groups.sizes),
            "clients_to_move": int(self.counts[moved].sum()),
            "cost_now": self.cost_now,
            "cost_suggested": self.cost,
            "saved": round(1 - self.cost / self.cost_now, 4) if self.cost_now else 0.0,
        }


def groups_of(clients: pa.Table, filters: pa.Table, brokers: Sequence[str], topics: int) -> tuple[pa.Table, Groups]:
    """Groups, and every client with its broker and the number of its group, ordered by client and broker."""
    places = pa.array(list(brokers), pa.string())
    units = (
        clients.group_by(["client", "broker"]).aggregate([]).sort_by([("client", "ascending"), ("broker", "ascending")])
    )
    units = units.append_column("unit", pa.array(np.arange(units.num_rows)))
    held = clients.join(filters, "filter", join_type="inner").join(units, ["client", "broker"], join_type="inner")
    interest = csr_from_pairs(held["unit"].to_numpy(), held["topic"].to_numpy(), units.num_rows, topics)
    shared = np.bincount(interest.indices, minlength=topics) > 1
    kept = shared[interest.indices]
    interest = csr_from_pairs(
        interest.row_of_each()[kept].astype(np.int64), interest.indices[kept].astype(np.int64), units.num_rows, topics
    )
    at = pc.index_in(units["broker"], places).to_numpy()
    keys = [(tuple(interest[unit].tolist()), int(at[unit])) for unit in range(units.num_rows)]
    number = {key: group for group, key in enumerate(sorted(set(keys)))}
    of_unit = np.array([number[key] for key in keys], np.int64)
    return units.drop(["unit"]).append_column("group", pa.array(of_unit)), groups_from(
        list(number), np.bincount(of_unit, minlength=len(number)), topics
    )


def groups_from(keys: Sequence[tuple[tuple[int, ...], int]], sizes: Int64s, topics: int) -> Groups:
    """Groups of their topics and brokers, in order."""
    counts = [len(held) for held, _ in keys]
    flat = np.array([topic for held, _ in keys for topic in held], np.int32)
    indptr = np.append(0, np.cumsum(np.array(counts, np.int64))).astype(np.int64)
    return Groups(np.array([at for _, at in keys], np.int32), sizes.astype(np.int64), Csr(indptr, flat, topics))


def capacities(groups: Groups, given: Sequence[int | None]) -> Int64s:
    """Capacities as given; where nothing is, so many clients as now, or a little over the mean if that is more."""
    now = np.bincount(groups.brokers, groups.sizes, minlength=len(given)).astype(np.int64)
    usual = np.maximum(now, int(np.ceil(SLACK * groups.sizes.sum() / max(len(given), 1))))
    room = np.array([usual[at] if each is None else each for at, each in enumerate(given)], np.int64)
    if room.sum() < groups.sizes.sum():
        raise WeftError(
            f"All brokers together have room for {room.sum():,} clients, and there are {groups.sizes.sum():,}: raise "
            "their capacities."
        )
    return room


def allot(groups: Groups, capacity: Int64s, rates: Floats, allowed: Bools | None = None) -> Allotment:
    """Places for all groups. `allowed` says from which broker to which a client may move."""
    allowed = (
        np.ones((len(capacity), len(capacity)), np.bool_)
        if allowed is None
        else allowed | np.eye(len(allowed), dtype=np.bool_)
    )
    bounds = kernels.Bounds(allowed, capacity)
    pieces, group_of = _pieces(groups, max(1, int(capacity[capacity > 0].min()) // PIECES))
    now = _State(pieces, len(capacity))
    now.stay()
    cost_now = now.cost(rates)
    move = MOVE * cost_now / max(int(groups.sizes.sum()), 1)
    now.make_room(bounds, rates)
    fresh = _State(pieces, len(capacity))
    fresh.place(bounds, rates)
    for state in (now, fresh):
        state.improve(bounds, rates, move)
    best = min((now, fresh), key=lambda state: (state.overflow(capacity), state.cost(rates) + move * state.moved))
    return Allotment(*_summed(group_of, best.at, pieces), cost_now, best.cost(rates))


def _pieces(groups: Groups, most: int) -> tuple[Groups, Int64s]:
    """Groups cut to so many clients at most, and the group of every piece."""
    counts = -(-groups.sizes // most)
    group_of = np.repeat(np.arange(len(counts)), counts)
    place = np.arange(len(group_of)) - np.repeat(np.cumsum(counts) - counts, counts)
    sizes = groups.sizes[group_of] // counts[group_of] + (place < (groups.sizes % np.maximum(counts, 1))[group_of])
    return Groups(groups.brokers[group_of], sizes, groups.interest.take(group_of)), group_of


class _State:
    """Where every piece is, and what every broker holds."""

    def __init__(self, pieces: Groups, brokers: int) -> None:
        self.pieces = pieces
        self.used, topics = np.unique(pieces.interest.indices, return_inverse=True)
        self.topics: Int32s = topics.astype(np.int32)
        self.groups = kernels.Groups(pieces.interest.indptr, self.topics, pieces.sizes, pieces.brokers)
        self.held = np.zeros((brokers, len(self.used)), np.int32)
        self.load = np.zeros(brokers, np.int64)
        self.at = pieces.brokers.copy()
        self.placing = kernels.Placing(self.held, self.load, self.at)

    def stay(self) -> None:
        kernels.leave(self.groups, self.placing)

    def place(self, bounds: kernels.Bounds, rates: Floats) -> None:
        kernels.place_in_turn(self.groups, bounds, rates[self.used], self._order(), self.placing)

    def make_room(self, bounds: kernels.Bounds, rates: Floats) -> None:
        """Move from brokers that are too full those for whom it is cheapest."""
        worse, target = np.zeros(len(self.at)), np.zeros(len(self.at), np.int32)
        for broker in np.flatnonzero(self.load > bounds.capacity).tolist():
            step = max(1, int(self.load[broker] - bounds.capacity[broker]) // AT_ONCE)
            while (excess := int(self.load[broker] - bounds.capacity[broker])) > 0:
                kernels.offer(self.groups, bounds, rates[self.used], self.placing, broker, worse, target)
                order = np.flatnonzero(target >= 0)
                order = order[np.lexsort((self.pieces.sizes[order], worse[order]))]
                if not kernels.evict(self.groups, bounds, self.placing, order, target, min(step, excess)):
                    break

    def improve(self, bounds: kernels.Bounds, rates: Floats, move: float) -> None:
        for _ in range(ROUNDS):
            if not kernels.improve(self.groups, bounds, rates[self.used], move, self.placing):
                return

    @property
    def moved(self) -> int:
        """Clients that are not where they are today."""
        return int(self.pieces.sizes[self.at != self.pieces.brokers].sum())

    def cost(self, rates: Floats) -> float:
        return float((np.count_nonzero(self.held, axis=0) * rates[self.used]).sum())

    def overflow(self, capacity: Int64s) -> int:
        return int(np.maximum(self.load - capacity, 0).sum())

    def _order(self) -> Int64s:
        """Pieces whose rarest topics are the same in a row, the most frequent of these first; without topics last."""
        frequency = np.bincount(self.topics, minlength=len(self.used))
        rarest = np.full(len(self.at), len(self.used), np.int64)
        by_rarity = np.lexsort((np.arange(len(self.used)), frequency))
        rank = np.empty(len(self.used) + 1, np.int64)
        rank[by_rarity], rank[-1] = np.arange(len(self.used)), len(self.used)
        rows = self.pieces.interest.row_of_each()
        np.minimum.at(rarest, rows, rank[self.topics])
        size = np.append(frequency[by_rarity], -1)[rarest]
        return np.lexsort((np.arange(len(rarest)), rarest, -size)).astype(np.int64)


def _summed(group_of: Int64s, at: Int32s, pieces: Groups) -> tuple[Int64s, Int32s, Int64s]:
    """Rows of group, broker and clients."""
    rows, row_of = np.unique(np.stack([group_of, at.astype(np.int64)], axis=1), axis=0, return_inverse=True)
    counts = np.bincount(row_of.ravel(), pieces.sizes, minlength=len(rows)).astype(np.int64)
    return rows[:, 0], rows[:, 1].astype(np.int32), counts


def suggestions(units: pa.Table, allotment: Allotment, brokers: Sequence[str]) -> pa.Table:
    """client, broker and the suggested broker: the clients of a group in their order, as its rows have room."""
    group = units["group"].to_numpy()
    order = np.argsort(group, kind="stable")
    target = np.empty(len(group), np.int64)
    target[order] = np.repeat(allotment.brokers, allotment.counts)
    names = pa.array(list(brokers), pa.string())
    return units.drop(["group"]).append_column("suggested", names.take(pa.array(target)))
