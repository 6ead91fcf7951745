"""Links by highest contribution, as in GSwicoS, GSwicoL, GrSwico and GM; exact up to ties.

`kernels.greedy` needs the candidates in memory, and ego-Twitter has 64 million. So the greedy runs in rounds. A round
counts the candidates by their contribution now, holds the best of them, down to a contribution `least`, and drains
these. A candidate that is not held contributed less when it was counted, and contributions never grow, so that none is
passed over. In the lowest bucket of a round all are equal: where it alone is too large, a random share of it will do,
and the next round counts what is left, most of which the share has made useless.

Among few nodes without a constraint `kernels.eager` holds all candidates at their true contributions instead.

To count a candidate costs a few steps of a parallel kernel, to look at a held one costs a comparison of two interests.
Therefore a round holds few: one for every STEPS_PER_HELD steps of counting, so that counting and draining take about
the same time.

Where candidates are weighed by distance, one that contributes little may be worth much, so that all have to be held: 45
bytes for every pair of nodes with a topic in common.
"""

from dataclasses import dataclass

import numpy as np

from weft.arrays import Int32s, Int64s
from weft.errors import WeftError
from weft.kernels.greedy import eager
from weft.kernels.greedy.bulk import NO_BULK, Bulk
from weft.kernels.greedy.candidate import Pairs, empty_pairs, fill_pairs, histogram, inverted, row_steps
from weft.kernels.greedy.connectivity import (
    Connectivity,
    connected_groups,
    connected_subscribers,
    join_all,
    unfinished,
    unlinked,
)
from weft.kernels.greedy.constraint import ANY, Constraint, any_link, open_nodes
from weft.kernels.greedy.lazy_greedy import drained
from weft.kernels.greedy.overlap import overlaps
from weft.kernels.parallel import chunk_bounds, threads_for
from weft.model.csr import Csr
from weft.model.instance import LIMIT, Instance
from weft.overlays.preference import NO_PREFERENCE, Preference

STEPS_PER_HELD = 200
FEWEST_HELD = 50_000  # a round has a cost of its own

NO_LINKS = np.empty(0, np.int32)
UNWEIGHED = np.empty(0, np.float64)


@dataclass(frozen=True, eq=False)
class ChosenLinks:
    """Links in the order of choice."""

    owners: Int32s
    others: Int32s
    contributions: Int32s  # at least 1


def lazy_greedy(
    instance: Instance,
    constraint: Constraint,
    rng: np.random.Generator,
    *,
    sources: Int32s = NO_LINKS,
    targets: Int32s = NO_LINKS,
    preference: Preference = NO_PREFERENCE,
    most: int = LIMIT,
) -> ChosenLinks:
    """Choose links under the constraint, on top of the given ones, until none contributes or there are `most`."""
    interest = _require_numbered(instance.interest)
    tcc = unlinked(interest.indptr, interest.indices)
    join_all(tcc, sources, targets)
    return _added_links(interest, tcc, constraint, rng, preference, most)


def added_links(
    interest: Csr, tcc: Connectivity, constraint: Constraint, rng: np.random.Generator, worth: int = 1
) -> ChosenLinks:
    """Choose links under the constraint, on top of what is connected, until none contributes as much as is worth it."""
    rounds = _drained_rounds(interest, tcc, constraint, rng, NO_PREFERENCE, LIMIT, NO_LINKS, worth)
    return ChosenLinks(*(np.concatenate(column) for column in zip(*rounds, strict=True)))


def links_across(
    interest: Csr, group: Int32s, rng: np.random.Generator, preference: Preference = NO_PREFERENCE
) -> ChosenLinks:
    """Links that make every topic one part, where the nodes of a group have a topic-connected overlay already.

    No link within a group contributes, so that all go from one group to another. Which links a group has inside does
    not matter: those who choose the links across need not know them.
    """
    tcc = connected_groups(interest.indptr, interest.indices, group, np.argsort(group, kind="stable"), interest.columns)
    return _added_links(_require_numbered(interest), tcc, any_link(), rng, preference, LIMIT)


def links_to_publishers(
    instance: Instance, constraint: Constraint, rng: np.random.Generator, sources: Int32s, targets: Int32s
) -> ChosenLinks:
    """Links between those who publish on a topic without subscribing and its subscribers, as far as permitted.

    A link contributes the topics on which it gives a publisher its first link to a subscriber, over and above the
    given ones. Whether the subscribers are connected with each other does not matter, and publishers are no way between
    them: they are leaves. Among equal contributions those nodes come first that have the most links: they are near the
    middle of their trees, and nobody else needs their places any more. (Publishers were counted as subscribers in one
    greedy at first. But then topics are joined by them, which saves links that join the subscribers: TcoSuppR, which
    does not count publishers, fell from 0.997 to 0.982 on a sample of ego-Twitter.)
    """
    interest = _require_numbered(instance.with_publishers.interest)
    subscriptions = instance.interest.row_of_each() * np.int64(instance.topics) + instance.interest.indices
    both = interest.row_of_each() * np.int64(instance.topics) + interest.indices
    tcc = connected_subscribers(interest.indptr, interest.indices, ~np.isin(both, subscriptions), interest.columns)
    join_all(tcc, sources, targets)
    links = np.bincount(np.append(sources, targets), minlength=instance.nodes).astype(np.int32)
    return _added_links(interest, tcc, constraint, rng, NO_PREFERENCE, LIMIT, links)


def links_with_bulk(
    interest: Csr, bulk: Bulk, rng: np.random.Generator, preference: Preference = NO_PREFERENCE
) -> ChosenLinks:
    """Links across for nodes without links and a bulk that has its overlay already; the nodes of the bulk come last."""
    if not _is_eager(interest, any_link(), preference):
        both = interest.above(Csr(bulk.indptr, bulk.topic, interest.columns))
        return links_across(both, np.minimum(np.arange(both.rows), interest.rows).astype(np.int32), rng, preference)
    topics = np.flatnonzero(np.diff(bulk.start)).astype(np.int32)
    indptr = np.append(interest.indptr, len(interest) + len(topics))
    tcc = unlinked(indptr, np.concatenate([interest.indices, topics]))
    return ChosenLinks(*_eager_round(tcc, interest.columns, interest.rows, bulk, rng))


def _added_links(
    interest: Csr,
    tcc: Connectivity,
    constraint: Constraint,
    rng: np.random.Generator,
    preference: Preference,
    most: int,
    favour: Int32s = NO_LINKS,
) -> ChosenLinks:
    """Links, at most so many, on top of what is connected; of equal ones, those between the nodes of most favour."""
    if _is_eager(interest, constraint, preference):
        rounds = [_eager_round(tcc, interest.columns, interest.rows, NO_BULK, rng)]
    else:
        rounds = _drained_rounds(interest, tcc, constraint, rng, preference, most, favour)
    return ChosenLinks(*(np.concatenate(column)[:most] for column in zip(*rounds, strict=True)))


def _is_eager(interest: Csr, constraint: Constraint, preference: Preference) -> bool:
    few = interest.rows**2 <= eager.MOST_PAIRS and interest.counts.max(initial=0) <= eager.MOST_TOPICS
    return few and constraint.kind == ANY and preference.tie == "random" and preference.closeness is None


def _eager_round(tcc: Connectivity, topics: int, nodes: int, bulk: Bulk, rng: np.random.Generator) -> Pairs:
    tcc = unfinished(tcc, np.ones(len(tcc.indptr) - 1, np.bool_), topics)
    return eager.eager_links(tcc, inverted(tcc, topics), nodes, bulk, kernel_seed(rng))


def _drained_rounds(
    interest: Csr,
    tcc: Connectivity,
    constraint: Constraint,
    rng: np.random.Generator,
    preference: Preference,
    most: int,
    favour: Int32s,
    worth: int = 1,
) -> list[Pairs]:
    """Links chosen in rounds, until there are so many or none contributes."""
    rounds, count = [empty_pairs(0)], 0
    by_overlap, closeness = preference.tie == "overlap", preference.closeness
    while count < most:
        tcc = unfinished(tcc, open_nodes(constraint, interest.rows), interest.columns)
        held, least = _best_candidates(
            tcc,
            constraint,
            interest.columns,
            whole_buckets=by_overlap or len(favour) > 0,
            rng=rng,
            all_of_them=closeness is not None,
            worth=worth,
        )
        if not len(held.source):
            break
        rank = _overlap_of(interest, held) if by_overlap else NO_LINKS
        if len(favour):
            rank = favour[held.source] + favour[held.target]
        weight = closeness.logarithms(held.source, held.target) if closeness else UNWEIGHED
        rounds.append(drained(tcc, constraint, held, least, rank, weight, kernel_seed(rng)))
        count += len(rounds[-1].source)
    return rounds


def _require_numbered(interest: Csr) -> Csr:
    if len(interest) > LIMIT:
        raise WeftError(f"{len(interest)} subscriptions are too many: at most {LIMIT} fit in memory here.")
    return interest


def _best_candidates(
    tcc: Connectivity,
    constraint: Constraint,
    topics: int,
    *,
    whole_buckets: bool,
    rng: np.random.Generator,
    all_of_them: bool = False,
    worth: int = 1,
) -> tuple[Pairs, int]:
    """The candidates of a round, and the least that they contribute."""
    if not len(tcc.topic):
        return empty_pairs(0), 0
    index = inverted(tcc, topics)
    steps = row_steps(tcc, index)
    bounds = chunk_bounds(steps)
    total = int(steps.sum())
    with threads_for(total):
        counts = histogram(tcc, index, constraint, bounds, int(np.diff(tcc.indptr).max()))
        budget = LIMIT if all_of_them else max(FEWEST_HELD, total // STEPS_PER_HELD)
        if worth > 1 and not counts[:, worth:].any():
            return empty_pairs(0), worth
        least, wanted = _cut(counts, budget, whole_buckets, rng)
        if least < worth:
            least, wanted = worth, counts[:, worth].copy()
        held = empty_pairs(int(counts[:, least + 1 :].sum() + wanted.sum()))
        fill_pairs(tcc, index, constraint, bounds, counts, least, wanted, kernel_seed(rng), held)
    return held, least


def _cut(counts: Int64s, budget: int, whole_buckets: bool, rng: np.random.Generator) -> tuple[int, Int64s]:
    """The lowest contribution that is held, and how many candidates of it from every chunk."""
    least = lowest_bucket(counts.sum(axis=0), budget)
    equal = np.ascontiguousarray(counts[:, least])
    enough = whole_buckets or counts[:, least:].sum() <= budget
    return least, equal if enough else share(equal, budget, rng)


def lowest_bucket(counts: Int64s, budget: int) -> int:
    """The lowest contribution down to which the budget holds all candidates; at most the highest that occurs."""
    at_least = np.cumsum(counts[::-1])[::-1]
    top = max(1, int(np.count_nonzero(at_least[1:])))
    return min(1 + int(np.count_nonzero(at_least[1:] > budget)), top)


def share(counts: Int64s, budget: int, rng: np.random.Generator) -> Int64s:
    """The budget divided at random, in proportion to the counts; no part is above its count."""
    return np.minimum(rng.multinomial(budget, counts / counts.sum()), counts)


def _overlap_of(interest: Csr, held: Pairs) -> Int32s:
    with threads_for(len(held.source) * STEPS_PER_HELD):
        return overlaps(interest.indptr, interest.indices, held.source, held.target)


def kernel_seed(rng: np.random.Generator) -> int:
    return int(rng.integers(2**63))
