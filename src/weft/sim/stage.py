"""A broker tree and an exchange as the simulation of PopSub takes them: arrays that are the same for every way.

Made once for any number of simulations: where each publication goes, and what each link is worth. Nothing has a row for
every pair of broker and publication, or of link and advertisement, but only for those that have to do with each other.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from weft.arrays import Bytes, Floats, Int32s, Int64s
from weft.errors import WeftError
from weft.kernels.matching import meeting_filters
from weft.kernels.popsub.agenda import BROKERS
from weft.kernels.popsub.broker import Traffic
from weft.kernels.popsub.tree import NO_LINK, Tree, cells_of, walk, worth_of
from weft.model.exchange import Exchange
from weft.model.matching import CHUNK, Index, by_owner, lines_of
from weft.overlays.broker_tree import BrokerTree


@dataclass(frozen=True, eq=False)
class Stage:
    tree: Tree
    traffic: Traffic
    bounds: Int64s  # of advertisements in entries, which are links with subscriptions beyond
    links: Int32s  # of entries
    beyond: Int64s  # subscriptions
    gains: Floats
    few_origins: Bytes  # 1: as many direct messages as there are brokers beyond cost no more than the tree
    priority: Bytes
    order: Int64s
    order_bounds: Int64s
    index: Index  # of the subscriptions, by the positions of their brokers
    subscriptions: Int64s  # the number of each of these
    kinds: Int32s  # the class of every advertisement, as the index numbers it

    @property
    def brokers(self) -> int:
        return len(self.tree.positions)

    @property
    def advertisements(self) -> int:
        return len(self.traffic.issuers)

    @property
    def expected_deliveries(self) -> int:
        return int(np.sum(self.traffic.counts, dtype=np.int64))

    def pairs(self, exchange: Exchange) -> Iterator[tuple[Int64s, Int64s, Int64s]]:
        """Publications, the subscriptions that they match, and their cells, for some publications at a time."""
        places = self.tree.positions[exchange.subscribers[self.subscriptions]]
        for rows, offsets, found in _matches(exchange, self.index, self.kinds):
            publications = rows.start + np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
            is_first = np.ones(len(found), np.bool_)
            is_first[1:] = (np.diff(publications) > 0) | (np.diff(places[found]) > 0)
            yield publications, self.subscriptions[found], self.traffic.bounds[rows.start] + np.cumsum(is_first) - 1


@dataclass(frozen=True, eq=False)
class Worth:
    """What advertisements meet: brokers with subscriptions that intersect them, and the links on the way to these."""

    audience_bounds: Int64s
    audience: Int32s  # positions
    bounds: Int64s  # of advertisements in what follows
    links: Int64s
    beyond: Int64s  # subscriptions
    hops: Int64s
    origins: Int64s


def stage_of(tree: BrokerTree, exchange: Exchange) -> Stage:
    links = _tree_of(tree)
    order = np.argsort(links.positions[exchange.subscribers], kind="stable")
    wanted = [exchange.wanted[number] for number in order.tolist()]
    places = links.positions[exchange.subscribers[order]].astype(np.int32)
    lines = lines_of([*wanted, *exchange.advertised])
    index = Index(wanted, lines)
    worth = _worth(links, exchange, index, places)
    priority = np.zeros(len(exchange.issuers), np.uint8) if exchange.priority is None else exchange.priority
    urgent = priority[exchange.advertisements] > 0
    urgent = urgent if exchange.urgent is None else urgent | exchange.urgent
    kinds = np.array([lines.classes[each.kind] for each in exchange.advertised], np.int32)
    bounds, cells, counts = _cells(exchange, index, kinds, places)
    member_bounds, members = _members(links, exchange.issuers, worth)
    traffic = Traffic(
        times=exchange.times,
        advertisements=exchange.advertisements,
        urgent=urgent.astype(np.uint8),
        issuers=exchange.issuers,
        bounds=bounds,
        places=cells,
        counts=counts,
        audience_bounds=worth.audience_bounds,
        audience=worth.audience,
        groups=np.arange(len(exchange.issuers)),
        member_bounds=member_bounds,
        members=members,
    )
    gains = worth.beyond**2 / np.maximum(worth.hops, 1)
    advertisement = np.repeat(np.arange(len(exchange.issuers)), np.diff(worth.bounds))
    sources = np.searchsorted(links.indptr, worth.links, side="right") - 1
    in_order = np.lexsort((worth.links, advertisement, -gains, sources))
    return Stage(
        tree=links,
        traffic=traffic,
        bounds=worth.bounds,
        links=worth.links.astype(np.int32),
        beyond=worth.beyond,
        gains=gains,
        few_origins=(worth.origins * worth.beyond <= worth.hops).astype(np.uint8),
        priority=priority[advertisement].astype(np.uint8),
        order=in_order,
        order_bounds=np.searchsorted(sources[in_order], np.arange(tree.brokers + 1)),
        index=index,
        subscriptions=order,
        kinds=kinds,
    )


def _tree_of(tree: BrokerTree) -> Tree:
    if tree.brokers > BROKERS:
        raise WeftError(f"There are {tree.brokers:,} brokers, and the simulation of PopSub takes {BROKERS:,} at most.")
    ends = np.array(list(tree.links()), np.int64).reshape(-1, 2)
    sources, peers = np.concatenate([ends, ends[:, ::-1]]).T
    in_order = np.lexsort((peers, sources))
    sources, peers = sources[in_order], peers[in_order]
    indptr = np.searchsorted(sources, np.arange(tree.brokers + 1))
    up, positions = (np.full(tree.brokers, NO_LINK, np.int64) for _ in range(2))
    below = np.zeros(tree.brokers, np.int64)
    reached = walk(indptr, peers, up, positions, below)
    assert reached == tree.brokers, "it is no tree"
    is_up = np.isin(np.arange(len(peers)), up)
    starts = np.where(is_up, (positions[sources] + below[sources]) % tree.brokers, positions[peers])
    sizes = np.where(is_up, tree.brokers - below[sources], below[peers])
    back = np.searchsorted(sources * tree.brokers + peers, peers * tree.brokers + sources)
    return Tree(indptr, peers, back, up, positions, np.argsort(positions), starts, sizes, tree.delays)


def _worth(tree: Tree, exchange: Exchange, index: Index, places: Int32s) -> Worth:
    """Advertisement by advertisement, of the subscriptions that intersect it."""
    lines, count = index.lines, len(exchange.advertised)
    advertised = lines.conjunctions(exchange.advertised)
    own, firsts = by_owner(advertised, count)
    sums = np.zeros((len(tree.peers), 3), np.int64)
    audience, rows = [], []
    for number, issuer in enumerate(exchange.issuers.tolist()):
        mine = own[firsts[number] : firsts[number + 1]]
        kind = lines.classes[exchange.advertised[number].kind]
        met = meeting_filters(advertised, mine, index.conjunctions, kind, len(places))
        here, counts = _runs(places[met])
        audience.append(here)
        rows.append(worth_of(tree, issuer, here, counts, sums))
    empty = np.zeros(0, np.int64)
    links, beyond, hops, origins = (np.concatenate([empty, *(row[column] for row in rows)]) for column in range(4))
    return Worth(
        np.append(0, np.cumsum([len(each) for each in audience], dtype=np.int64)),
        np.concatenate([empty, *audience]).astype(np.int32),
        np.append(0, np.cumsum([len(row[0]) for row in rows], dtype=np.int64)),
        links,
        beyond,
        hops,
        origins,
    )


def _runs(ascending: Int32s) -> tuple[Int32s, Int32s]:
    """Each value once, and how often it is there."""
    first = np.flatnonzero(np.diff(ascending, prepend=-1))
    return ascending[first], np.diff(np.append(first, len(ascending))).astype(np.int32)


def _matches(exchange: Exchange, index: Index, kinds: Int32s) -> Iterator[tuple[slice, Int64s, Int32s]]:
    """The subscriptions that publications match, as offsets and their places in the index, for some rows at a time."""
    for start in range(0, exchange.publications, CHUNK):
        rows = slice(start, min(start + CHUNK, exchange.publications))
        points = index.lines.points_of(exchange.columns, rows)
        yield rows, *index.match_points(kinds[exchange.advertisements[rows]], points)


def _cells(exchange: Exchange, index: Index, kinds: Int32s, places: Int32s) -> tuple[Int64s, Int32s, Int32s]:
    sizes, positions, counts = [np.zeros(0, np.int64)], [np.zeros(0, np.int32)], [np.zeros(0, np.int32)]
    for _, offsets, found in _matches(exchange, index, kinds):
        bounds, here, how_many = cells_of(offsets, found, places)
        sizes.append(np.diff(bounds))
        positions.append(here.copy())
        counts.append(how_many.copy())
    return np.append(0, np.cumsum(np.concatenate(sizes))), np.concatenate(positions), np.concatenate(counts)


def _members(tree: Tree, issuers: Int64s, worth: Worth) -> tuple[Int64s, Int32s]:
    """The brokers that may be in the group of each advertisement: its audience, and its issuer."""
    count = len(issuers)
    of = np.concatenate([np.repeat(np.arange(count), np.diff(worth.audience_bounds)), np.arange(count)])
    keys = np.unique(of * len(tree.positions) + np.concatenate([worth.audience, tree.positions[issuers]]))
    bounds = np.searchsorted(keys, np.arange(count + 1) * len(tree.positions))
    return bounds, (keys % len(tree.positions)).astype(np.int32)
