"""PopSub's Gossiping (section 4.5) over arrays: a group of lpbcast for each advertisement.

A member (advertisement, broker) keeps a log of the publications that it issued or first saw by gossip. A round pushes
what the log got since the last one, so a gossip on its way is a member and a round, and its publications are a range of
a log; so is its digest. What a member retrieved is in the log as ~publication: in digests, but not pushed.

Membership is simpler than lpbcast's: a gossip brings the sender and its view as they are when it arrives, and views
drop who has left at once, as if unsubscriptions were faster than rounds. Who joins announces itself at once to some of
the members that it was told of, as lpbcast's subscriptions do.

What gossip leaves out, the issuer's sweep brings: when its oldest publication that was not swept yet is `keep` old, the
issuer announces down the tree all that is `age` old. What is younger is left to gossip. Without sweeps it forgets them
then, and what gossip leaves out is lost; such a network is watched until nobody has anything to say any more.
"""

from typing import NamedTuple

import numpy as np

from weft.arrays import Bytes, Floats, Int32s, Int64s, Words
from weft.kernels.jit import leaf_jit
from weft.kernels.popsub.agenda import Agenda, event, schedule
from weft.kernels.popsub.broker import (
    ASKED,
    ASKED_ISSUER,
    CONTROLS,
    FALSE_POSITIVES,
    GOSSIPED,
    GOSSIPED_PUBLICATIONS,
    GOSSIPS,
    GROUPS,
    JOINED,
    MATCHED_PUBLICATIONS,
    OUT_OF_OVERLAY,
    RETRIEVALS,
    RETRIEVE,
    RETRIEVED,
    ROUND,
    SWEEP,
    UNPOPULAR,
    Scene,
    deliver,
    end_job,
    job_start,
    sent_at,
)
from weft.kernels.random import advance, below, unit

ROUNDS = 1 << 12  # of which a member knows where they ended in its log: more than a gossip can be under way
LIST_HEAD = 3  # sender, receiver and count, before the publications of a list


class Groups(NamedTuple):
    members: Bytes  # 1 for brokers that are in the group; this and what follows by advertisement * brokers + broker
    round_times: Floats  # the next one
    rounds: Int64s  # made so far
    views: Int64s  # [member, place]: brokers
    view_sizes: Int64s
    log_bounds: Int64s  # of members in logs
    log_sizes: Int64s
    marks: Int32s  # [member, round % ROUNDS]: the size of the log that was pushed
    logs: Int64s
    links: Words  # [publication, word]: a bit for each link of the issuer, 1 where it leads to gossip
    offers: Int64s  # [entry, place]: the issuer's view when it switched the link to gossip
    offer_sizes: Int64s
    swept: Int64s  # of advertisements: how much of the issuer's log was announced to all
    lists: Int64s  # of publications that were asked for, one after the other
    listed: Int64s  # [0]: length of lists
    random: Words  # [0]: state
    upkeep: Int64s  # [0]: what is under way in the groups; rounds never end
    spoken: Floats  # [0]: when the last message arrives that says more than who is there


@leaf_jit
def draw_below(groups: Groups, bound: int) -> int:
    groups.random[0] = advance(groups.random[0])
    return int(below(groups.random[0], bound))


@leaf_jit
def chat(groups: Groups, agenda: Agenda, time: float, what: int) -> None:
    groups.upkeep[0] += 1
    schedule(agenda, time, what)


@leaf_jit
def join(scene: Scene, groups: Groups, agenda: Agenda, advertisement: int, broker: int, now: float) -> None:
    brokers = len(scene.tree.parents)
    member = advertisement * brokers + broker
    if groups.members[member]:
        return
    groups.members[member] = 1
    groups.random[0] = advance(groups.random[0])
    groups.round_times[member] = now + unit(groups.random[0]) * scene.settings.round
    chat(groups, agenda, groups.round_times[member], event(ROUND, broker, advertisement))
    issuer = scene.traffic.issuers[advertisement]
    if broker == issuer:
        scene.ledger.totals[GROUPS] += 1
    else:
        know(groups, brokers, advertisement, broker, issuer)
        entry = scene.tree.first_link[issuer, broker] * len(scene.traffic.issuers) + advertisement
        for place in range(groups.offer_sizes[entry]):
            know(groups, brokers, advertisement, broker, groups.offers[entry, place])
        announce(scene, groups, agenda, member, broker, now)


@leaf_jit
def offer(groups: Groups, member: int, entry: int) -> None:
    """Let who joins because of a publication over a link learn of the issuer's view."""
    for place in range(groups.view_sizes[member]):
        groups.offers[entry, place] = groups.views[member, place]
    groups.offer_sizes[entry] = groups.view_sizes[member]


@leaf_jit
def announce(scene: Scene, groups: Groups, agenda: Agenda, member: int, broker: int, now: float) -> None:
    for drawn in range(min(groups.view_sizes[member], scene.settings.fanout)):
        target = draw_peer(groups, member, drawn)
        scene.ledger.totals[CONTROLS] += 1
        chat(groups, agenda, now + scene.tree.delays[broker, target], event(JOINED, target, member))


@leaf_jit
def handle_joined(scene: Scene, groups: Groups, member: int, broker: int) -> None:
    brokers = len(scene.tree.parents)
    advertisement = member // brokers
    if groups.members[advertisement * brokers + broker]:
        know(groups, brokers, advertisement, broker, member % brokers)


@leaf_jit
def draw_peer(groups: Groups, member: int, drawn: int) -> int:
    """Another member of the view than the first `drawn`, which were drawn before; it is put after them."""
    place = drawn + draw_below(groups, groups.view_sizes[member] - drawn)
    target = int(groups.views[member, place])
    groups.views[member, place] = groups.views[member, drawn]
    groups.views[member, drawn] = target
    return target


@leaf_jit
def learn(groups: Groups, brokers: int, advertisement: int, broker: int, sender: int) -> None:
    """The sender and its view; beyond its bound, a view drops members at random."""
    know(groups, brokers, advertisement, broker, sender)
    theirs = advertisement * brokers + sender
    for place in range(groups.view_sizes[theirs]):
        know(groups, brokers, advertisement, broker, groups.views[theirs, place])


@leaf_jit
def know(groups: Groups, brokers: int, advertisement: int, broker: int, other: int) -> None:
    mine = advertisement * brokers + broker
    if other == broker or not groups.members[advertisement * brokers + other]:
        return
    size = groups.view_sizes[mine]
    for place in range(size):
        if groups.views[mine, place] == other:
            return
    if size < groups.views.shape[1]:
        groups.views[mine, size] = other
        groups.view_sizes[mine] += 1
    else:
        drawn = draw_below(groups, size + 1)  # the newcomer may be the one that is dropped
        if drawn < size:
            groups.views[mine, drawn] = other


@leaf_jit
def leave(scene: Scene, groups: Groups, agenda: Agenda, advertisement: int, broker: int, now: float) -> None:
    """Leave the group after a last round of gossip."""
    member = advertisement * len(scene.tree.parents) + broker
    if groups.members[member]:
        make_round(scene, groups, agenda, advertisement, broker, now)
        groups.members[member] = 0
        groups.view_sizes[member] = 0


@leaf_jit
def append(groups: Groups, member: int, publication: int) -> None:
    groups.logs[groups.log_bounds[member] + groups.log_sizes[member]] = publication
    groups.log_sizes[member] += 1


@leaf_jit
def handle_round(scene: Scene, groups: Groups, agenda: Agenda, advertisement: int, broker: int, now: float) -> None:
    member = advertisement * len(scene.tree.parents) + broker
    if groups.members[member] and groups.round_times[member] == now:
        make_round(scene, groups, agenda, advertisement, broker, now)
        groups.round_times[member] = now + scene.settings.round
        chat(groups, agenda, groups.round_times[member], event(ROUND, broker, advertisement))


@leaf_jit
def make_round(scene: Scene, groups: Groups, agenda: Agenda, advertisement: int, broker: int, now: float) -> None:
    brokers = len(scene.tree.parents)
    member = advertisement * brokers + broker
    forget_the_gone(groups, brokers, advertisement, member)
    known = groups.view_sizes[member]
    count = groups.rounds[member] + 1
    groups.rounds[member] = count
    before = int(groups.marks[member, (count - 1) % ROUNDS])
    if known == 0:  # nobody to push to: next time
        groups.marks[member, count % ROUNDS] = before
        return
    groups.marks[member, count % ROUNDS] = groups.log_sizes[member]
    pushed = pushable(groups, member, before, groups.log_sizes[member])
    start = job_start(scene, broker, now) if pushed > 0 else now  # what carries no publication waits for nobody
    end = start
    for drawn in range(min(known, scene.settings.fanout)):
        target = draw_peer(groups, member, drawn)
        if pushed > 0:
            end = sent_at(scene.load, start, end, pushed)
        scene.ledger.totals[OUT_OF_OVERLAY if pushed > 0 else CONTROLS] += 1
        what = event(GOSSIPED, target, member * ROUNDS + count % ROUNDS)
        arrival = end + scene.tree.delays[broker, target]
        chat(groups, agenda, arrival, what)
        if groups.marks[member, max(count - scene.settings.digest, 0) % ROUNDS] < groups.log_sizes[member] or pushed:
            groups.spoken[0] = max(groups.spoken[0], arrival)
    end_job(scene, agenda, broker, pushed, now, start, end)


@leaf_jit
def forget_the_gone(groups: Groups, brokers: int, advertisement: int, member: int) -> None:
    kept = 0
    for place in range(groups.view_sizes[member]):
        other = groups.views[member, place]
        if groups.members[advertisement * brokers + other]:
            groups.views[member, kept] = other
            kept += 1
    groups.view_sizes[member] = kept


@leaf_jit
def pushable(groups: Groups, member: int, low: int, high: int) -> int:
    first, count = groups.log_bounds[member], 0
    for place in range(low, high):
        count += groups.logs[first + place] >= 0
    return count


@leaf_jit
def handle_gossip(scene: Scene, groups: Groups, agenda: Agenda, item: int, broker: int, now: float) -> None:
    brokers = len(scene.tree.parents)
    theirs, count = item // ROUNDS, item % ROUNDS
    advertisement, sender = theirs // brokers, theirs % brokers
    mine = advertisement * brokers + broker
    first = groups.log_bounds[theirs]
    pushed = int(groups.marks[theirs, count % ROUNDS])
    received = 0
    for place in range(int(groups.marks[theirs, (count - 1) % ROUNDS]), pushed):
        if groups.logs[first + place] >= 0:
            received += 1
            receive(scene, groups, groups.logs[first + place], broker, mine, True, now)
    if received:
        scene.ledger.totals[GOSSIPS] += 1
    if groups.members[mine]:
        learn(groups, brokers, advertisement, broker, sender)
        oldest = int(groups.marks[theirs, max(count - scene.settings.digest, 0) % ROUNDS])
        begin_list(groups, sender, broker)
        for place in range(oldest, pushed):
            publication = groups.logs[first + place]
            request(scene, groups, ~publication if publication < 0 else publication, broker, ASKED)
        end_list(scene, groups, agenda, now + scene.tree.delays[broker, sender])


@leaf_jit
def receive(
    scene: Scene, groups: Groups, publication: int, broker: int, member: int, is_pushed: bool, now: float
) -> None:
    totals = scene.ledger.totals
    if not deliver(scene, publication, broker, UNPOPULAR, now):
        return
    totals[GOSSIPED_PUBLICATIONS] += 1
    if scene.traffic.reach[publication, broker] > 0:
        totals[MATCHED_PUBLICATIONS] += is_pushed
    else:
        totals[FALSE_POSITIVES] += 1
    if groups.members[member]:
        append(groups, member, publication if is_pushed else ~publication)


@leaf_jit
def begin_list(groups: Groups, sender: int, receiver: int) -> None:
    first = groups.listed[0]
    groups.lists[first] = sender
    groups.lists[first + 1] = receiver
    groups.lists[first + 2] = 0


@leaf_jit
def request(scene: Scene, groups: Groups, publication: int, broker: int, asked: int) -> None:
    """Puts a publication that the broker lacks on the list that was begun.

    Asked for once, and once more at the issuer, since the first answer may take long.
    """
    if scene.ledger.seen[publication, broker] < asked:
        scene.ledger.seen[publication, broker] = asked
        first = groups.listed[0]
        groups.lists[first + LIST_HEAD + groups.lists[first + 2]] = publication
        groups.lists[first + 2] += 1


@leaf_jit
def end_list(scene: Scene, groups: Groups, agenda: Agenda, arrival: float) -> None:
    """Asks for what is on it, if anything is."""
    first = groups.listed[0]
    count = groups.lists[first + 2]
    if count > 0:
        groups.listed[0] += LIST_HEAD + count
        scene.ledger.totals[CONTROLS] += 1
        chat(groups, agenda, arrival, event(RETRIEVE, groups.lists[first], first))
        groups.spoken[0] = max(groups.spoken[0], arrival)


@leaf_jit
def handle_retrieve(scene: Scene, groups: Groups, agenda: Agenda, first: int, broker: int, now: float) -> None:
    receiver, count = groups.lists[first + 1], groups.lists[first + 2]
    scene.ledger.totals[OUT_OF_OVERLAY] += 1
    scene.ledger.totals[RETRIEVALS] += 1
    start = job_start(scene, broker, now)
    end = sent_at(scene.load, start, start, count)
    end_job(scene, agenda, broker, count, now, start, end)
    arrival = end + scene.tree.delays[broker, receiver]
    chat(groups, agenda, arrival, event(RETRIEVED, receiver, first))
    groups.spoken[0] = max(groups.spoken[0], arrival)


@leaf_jit
def handle_retrieved(scene: Scene, groups: Groups, first: int, broker: int, now: float) -> None:
    for place in range(first + LIST_HEAD, first + LIST_HEAD + groups.lists[first + 2]):
        publication = groups.lists[place]
        member = scene.traffic.advertisements[publication] * len(scene.tree.parents) + broker
        receive(scene, groups, publication, broker, member, False, now)


@leaf_jit
def issue(scene: Scene, groups: Groups, agenda: Agenda, publication: int, link: int, now: float) -> None:
    """Leaves a publication to the group, for the subscribers beyond a link of the issuer."""
    advertisement = scene.traffic.advertisements[publication]
    issuer = scene.traffic.issuers[advertisement]
    if not groups.links[publication].any():
        member = advertisement * len(scene.tree.parents) + issuer
        if groups.swept[advertisement] == groups.log_sizes[member]:
            chat(groups, agenda, now + scene.settings.keep, event(SWEEP, issuer, advertisement))
        append(groups, member, publication)
        groups.spoken[0] = max(groups.spoken[0], now)
    bit = link - scene.tree.indptr[issuer]
    groups.links[publication, bit >> 6] |= np.uint64(1) << np.uint64(bit & 63)


@leaf_jit
def ask_issuer(
    scene: Scene, groups: Groups, agenda: Agenda, advertisement: int, broker: int, low: int, high: int, learned: float
) -> None:
    """Ask for what the broker lacks of a part of the issuer's log that was meant for it, learned of at a time."""
    issuer = scene.traffic.issuers[advertisement]
    first = groups.log_bounds[advertisement * len(scene.tree.parents) + issuer]
    bit = scene.tree.first_link[issuer, broker] - scene.tree.indptr[issuer]
    begin_list(groups, issuer, broker)
    for place in range(low, high):
        publication = groups.logs[first + place]
        if (groups.links[publication, bit >> 6] >> np.uint64(bit & 63)) & np.uint64(1):
            request(scene, groups, publication, broker, ASKED_ISSUER)
    end_list(scene, groups, agenda, learned + scene.tree.delays[broker, issuer])


@leaf_jit
def ask_for_the_rest(scene: Scene, groups: Groups, agenda: Agenda, advertisement: int, broker: int, now: float) -> None:
    """Ask for what no sweep has announced yet, when the link to the broker is switched back to the tree."""
    member = advertisement * len(scene.tree.parents) + scene.traffic.issuers[advertisement]
    low, high = groups.swept[advertisement], groups.log_sizes[member]
    ask_issuer(scene, groups, agenda, advertisement, broker, low, high, now)


@leaf_jit
def handle_sweep(scene: Scene, groups: Groups, agenda: Agenda, advertisement: int, now: float) -> None:
    issuer = scene.traffic.issuers[advertisement]
    member = advertisement * len(scene.tree.parents) + issuer
    low, high = groups.swept[advertisement], old_enough(scene, groups, advertisement, member, now)
    groups.swept[advertisement] = high
    for broker in range(len(scene.tree.parents) if scene.settings.sweep else 0):
        if broker != issuer and scene.traffic.audience[advertisement, broker] > 0:
            learned = now + tree_delay(scene, issuer, broker)
            ask_issuer(scene, groups, agenda, advertisement, broker, low, high, learned)
    if high < groups.log_sizes[member]:
        oldest = scene.traffic.times[groups.logs[groups.log_bounds[member] + high]]
        chat(groups, agenda, oldest + scene.settings.keep, event(SWEEP, issuer, advertisement))


@leaf_jit
def old_enough(scene: Scene, groups: Groups, advertisement: int, member: int, now: float) -> int:
    """Where in the issuer's log the publications begin that are left to gossip for now."""
    first, since = groups.log_bounds[member], now - scene.settings.age
    place = int(groups.swept[advertisement])
    while place < groups.log_sizes[member] and scene.traffic.times[groups.logs[first + place]] <= since:
        place += 1
    return place


@leaf_jit
def tree_delay(scene: Scene, issuer: int, broker: int) -> float:
    delay = 0.0
    while broker != issuer:
        before = scene.tree.parents[issuer, broker]
        delay += scene.tree.delays[before, broker]
        broker = before
    return delay
