"""A broker tree and a workload as the simulation of PopSub takes them: arrays that are the same for every way.

Made once for any number of simulations: where each publication goes, and what each link is worth.
"""

from dataclasses import dataclass

import numpy as np

from weft.arrays import Bools, Bytes, Floats, Int16s, Int64s
from weft.kernels.popsub.broker import Traffic, Tree
from weft.kernels.popsub.reach import reach_of, worth_of
from weft.overlays.broker_tree import BrokerTree
from weft.workloads.popsub import ContentWorkload


@dataclass(frozen=True, eq=False)
class Stage:
    tree: Tree
    traffic: Traffic
    gains: Floats  # of entries: link * advertisements + advertisement
    few_origins: Bytes  # 1: as many direct messages as there are brokers beyond cost no more than the tree
    order: Int64s
    order_bounds: Int64s

    @property
    def brokers(self) -> int:
        return len(self.tree.parents)

    @property
    def advertisements(self) -> int:
        return len(self.traffic.issuers)

    @property
    def expected_deliveries(self) -> int:
        reach = self.traffic.reach
        return int(np.sum(reach, where=reach > 0, dtype=np.int64))


def stage_of(tree: BrokerTree, workload: ContentWorkload) -> Stage:
    links = _links(tree, workload.publishers)
    reach = np.empty((workload.publications, tree.brokers), np.int16)
    bounds, issuers = workload.subscription_bounds, workload.publishers
    reach_of(
        workload.advertisements,
        np.ascontiguousarray(workload.values[:, 1]),
        bounds,
        workload.subscribers,
        workload.ranges,
        issuers,
        links.parents,
        reach,
    )
    traffic = Traffic(workload.times, workload.advertisements, issuers, reach, _audience(workload, links.parents))
    counts, hops, origins = (np.zeros((len(links.peers), len(issuers)), np.int32) for _ in range(3))
    worth_of(bounds, workload.subscribers, issuers, links.parents, links.link_to, counts, hops, origins)
    gains = counts**2 / np.maximum(hops, 1)
    few_origins = (origins * counts <= hops).astype(np.uint8)
    order, order_bounds = _order(links, gains, counts > 0)
    return Stage(links, traffic, gains.ravel(), few_origins.ravel(), order, order_bounds)


def _links(tree: BrokerTree, issuers: Int64s) -> Tree:
    ends = np.array(list(tree.links()), np.int64)
    sources, targets = np.concatenate([ends, ends[:, ::-1]]).T
    in_order = np.lexsort((targets, sources))
    sources, targets = sources[in_order], targets[in_order]
    indptr = np.searchsorted(sources, np.arange(tree.brokers + 1))
    parents, link_to, first_link = (np.full((tree.brokers, tree.brokers), -1, np.int64) for _ in range(3))
    for issuer in np.unique(issuers):
        parents[issuer] = tree.rooted_at(issuer)
        children = np.flatnonzero(parents[issuer] >= 0)
        before = parents[issuer, children]
        keys = sources * tree.brokers + targets
        link_to[issuer, children] = np.searchsorted(keys, before * tree.brokers + children)
        first_link[issuer] = _first_links(parents[issuer], link_to[issuer], issuer)
    return Tree(indptr, targets, parents, link_to, first_link, tree.delays)


def _first_links(parents: Int64s, link_to: Int64s, issuer: int) -> Int64s:
    """Pointers are doubled until they all stop below the issuer."""
    below = np.where(parents == issuer, np.arange(len(parents)), parents)
    below[issuer] = issuer
    while not np.array_equal(below[below], below):
        below = below[below]
    return np.asarray(link_to[below])


def _audience(workload: ContentWorkload, parents: Int64s) -> Int16s:
    """Audience of every advertisement: as if a publication matched all its subscriptions."""
    everything = np.zeros_like(workload.ranges)
    count = len(workload.publishers)
    audience = np.empty((count, len(parents)), np.int16)
    advertisements, values = np.arange(count), np.zeros(count, np.int32)
    bounds, issuers = workload.subscription_bounds, workload.publishers
    reach_of(advertisements, values, bounds, workload.subscribers, everything, issuers, parents, audience)
    return audience


def _order(tree: Tree, gains: Floats, has_subscriptions: Bools) -> tuple[Int64s, Int64s]:
    """Entries by broker, falling gain, advertisement and link."""
    link, advertisement = np.nonzero(has_subscriptions)
    sources = np.searchsorted(tree.indptr, link, side="right") - 1
    in_order = np.lexsort((link, advertisement, -gains[link, advertisement], sources))
    entries = (link * gains.shape[1] + advertisement)[in_order]
    return entries, np.searchsorted(sources[in_order], np.arange(len(tree.indptr)))
