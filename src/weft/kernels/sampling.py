"""Views by Cyclon, one node at a time: see weft.protocol.vitis.sampling."""

import numpy as np

from weft.kernels.jit import jit
from weft.kernels.vitis import NOBODY, Bools, Gossip, Incoming, Int32s, Int64s, Setting, add, choose, key, priority

SHUFFLE, KEEP, ANSWER = 0, 1, 3  # purposes, as in weft.protocol.vitis.chance
UNSENT, CAME, SENT = 0, 1, 2


@jit
def known_view(
    setting: Setting,
    last: int,
    v: int,
    there: Bools,
    before: Gossip,
    came: Incoming,
    place: Int64s,
    found: Int32s,
    age: Int32s,
    group: Int32s,
) -> int:
    """All that the view can be made of, in groups; `last` is the round before."""
    view, view_age, seed = before.sampled, before.sampled_age, setting.seed
    marks = np.empty(view.shape[1], np.bool_)
    sent = np.zeros(view.shape[1], np.bool_)
    choose(view[v], key(seed, v, last, SHUFFLE), setting.shuffle - 1, NOBODY, marks)
    sent |= marks
    for s in came.shuffler[came.shuffles[v] : came.shuffles[v + 1]]:
        choose(view[v], key(seed, v, last, ANSWER + s), setting.shuffle, s, marks)
        sent |= marks
    count = 0
    for i in range(view.shape[1]):
        if view[v, i] != NOBODY:
            count = add(view[v, i], view_age[v, i] + 1, place, found, age, count)
            group[count - 1] = SENT if sent[i] else UNSENT
    for s in came.shuffler[came.shuffles[v] : came.shuffles[v + 1]]:
        choose(view[s], key(seed, s, last, SHUFFLE), setting.shuffle - 1, NOBODY, marks)
        count = add_came(s, 1, place, found, age, group, count)
        count = add_marked(v, view[s], view_age[s], marks, place, found, age, group, count)
    partner = before.shuffled[v]
    if partner != NOBODY and there[partner]:
        choose(view[partner], key(seed, partner, last, ANSWER + v), setting.shuffle, v, marks)
        count = add_marked(v, view[partner], view_age[partner], marks, place, found, age, group, count)
    return count


@jit
def add_marked(
    v: int,
    peers: Int32s,
    ages: Int32s,
    marks: Bools,
    place: Int64s,
    found: Int32s,
    age: Int32s,
    group: Int32s,
    count: int,
) -> int:
    for i in range(len(peers)):
        if marks[i] and peers[i] != v:
            count = add_came(peers[i], ages[i] + 1, place, found, age, group, count)
    return count


@jit
def add_came(node: int, its_age: int, place: Int64s, found: Int32s, age: Int32s, group: Int32s, count: int) -> int:
    after = add(node, its_age, place, found, age, count)
    at = place[node]
    group[at] = CAME if after > count else min(group[at], CAME)
    return after


@jit
def keep_view(setting: Setting, when: int, v: int, found: Int32s, age: Int32s, group: Int32s, now: Gossip) -> None:
    chooser = key(setting.seed, v, when, KEEP)
    ranks = np.empty(len(found), np.uint64)
    for at in range(len(found)):  # two bits are enough to sort by group first
        ranks[at] = (np.uint64(group[at]) << np.uint64(62)) | (priority(chooser, found[at]) >> np.uint64(2))
    size = now.sampled.shape[1]
    now.sampled[v] = NOBODY
    if len(found) <= size:
        now.sampled[v, : len(found)] = found
        now.sampled_age[v, : len(found)] = age[: len(found)]
        return
    order = np.argsort(ranks)
    for i in range(size):
        now.sampled[v, i], now.sampled_age[v, i] = found[order[i]], age[order[i]]
