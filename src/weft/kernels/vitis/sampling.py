"""Views by Cyclon, one node at a time: see weft.protocol.vitis.sampling."""

import numpy as np

from weft.arrays import Bools, Int32s
from weft.kernels.jit import jit
from weft.kernels.vitis.state import NOBODY, Found, Gossip, Incoming, Setting, add, choose, key, priority

SHUFFLE, KEEP, ANSWER = 0, 1, 3  # purposes, as in weft.protocol.vitis.chance
UNSENT, CAME, SENT = 0, 1, 2


@jit
def known_view(setting: Setting, last: int, v: int, there: Bools, before: Gossip, came: Incoming, found: Found) -> int:
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
            count = add(found, count, view[v, i], view_age[v, i] + 1)
            found.group[count - 1] = SENT if sent[i] else UNSENT
    for s in came.shuffler[came.shuffles[v] : came.shuffles[v + 1]]:
        choose(view[s], key(seed, s, last, SHUFFLE), setting.shuffle - 1, NOBODY, marks)
        count = add_came(found, count, s, 1)
        count = add_marked(found, count, v, view[s], view_age[s], marks)
    partner = before.shuffled[v]
    if partner != NOBODY and there[partner]:
        choose(view[partner], key(seed, partner, last, ANSWER + v), setting.shuffle, v, marks)
        count = add_marked(found, count, v, view[partner], view_age[partner], marks)
    return count


@jit
def add_marked(found: Found, count: int, v: int, peers: Int32s, ages: Int32s, marks: Bools) -> int:
    for i in range(len(peers)):
        if marks[i] and peers[i] != v:
            count = add_came(found, count, peers[i], ages[i] + 1)
    return count


@jit
def add_came(found: Found, count: int, node: int, age: int) -> int:
    after = add(found, count, node, age)
    at = found.place[node]
    found.group[at] = CAME if after > count else min(found.group[at], CAME)
    return after


@jit
def keep_view(setting: Setting, when: int, v: int, found: Found, count: int, now: Gossip) -> None:
    size = now.sampled.shape[1]
    now.sampled[v] = NOBODY
    if count <= size:
        now.sampled[v, :count], now.sampled_age[v, :count] = found.node[:count], found.age[:count]
        return
    chooser = key(setting.seed, v, when, KEEP)
    ranks = np.empty(count, np.uint64)
    for at in range(count):  # two bits are enough to sort by group first
        ranks[at] = (np.uint64(found.group[at]) << np.uint64(62)) | (priority(chooser, found.node[at]) >> np.uint64(2))
    kept = np.argsort(ranks)[:size]
    now.sampled[v], now.sampled_age[v] = found.node[kept], found.age[kept]
