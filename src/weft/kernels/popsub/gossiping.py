"""PopSub's Gossiping (section 4.5) over arrays: a group of lpbcast for each advertisement, or one of all brokers.

A member keeps a log of the publications that it issued or first saw by gossip. A round pushes what the log got since
the last one, so a gossip on its way is a range of a log; so is its digest. What a member retrieved is in the log as
~publication: in digests, but not pushed. Where history is bounded, both ranges leave out what is oldest.

Membership is simpler than lpbcast's: a gossip brings the sender and its view as they are when it arrives, and views
drop who has left at once, as if unsubscriptions were faster than rounds. Who joins announces itself at once to some of
the members that it was told of, as lpbcast's subscriptions do. In the one group of all brokers, which is there to
compare with, everybody is a member from the start, and nobody is asked to join or to leave.

What gossip leaves out, the issuer's sweep brings: when its oldest publication that was not swept yet is `keep` old, the
issuer announces down the tree all that is `age` old. What is younger is left to gossip. Without sweeps it forgets them
then, and what gossip leaves out is lost; such a network is watched until nobody has anything to say any more.
"""

from typing import NamedTuple

import numpy as np

from weft.arrays import Bytes, Floats, Int32s, Int64s, Words
from weft.kernels.jit import jit, leaf_jit
from weft.kernels.popsub.agenda import Agenda, event, schedule
from weft.kernels.popsub.broker import (
    ASKED,
    ASKED_ISSUER,
    BY_GOSSIP,
    CONTROLS,
    FALSE_POSITIVES,
    GOSSIPED,
    GOSSIPED_PUBLICATIONS,
    GOSSIPS,
    GROUPS,
    JOINED,
    MATCHED,
    MATCHED_PUBLICATIONS,
    RETRIEVALS,
    RETRIEVE,
    RETRIEVED,
    ROUND,
    SEEN,
    SWEEP,
    Scene,
    cell_of,
    count_outside,
    deliver,
    end_job,
    job_start,
    member_of,
    sent_at,
    sight_of,
)
from weft.kernels.popsub.tree import delay_along, link_toward
from weft.kernels.random import advance, below, unit

LIST_HEAD = 3  # sender, receiver and count, before the publications of a list

# Columns of posts.
SENDER, LOW, HIGH, OLDEST, UNREAD = range(5)
POST = 5


class Groups(NamedTuple):
    members: Bytes  # 1 for brokers that are in the group; this and what follows by member
    groups: Int32s
    round_times: Floats  # the next one
    rounds: Int64s  # made so far
    views: Int32s  # [member, place]: members
    view_sizes: Int64s
    log_bounds: Int64s  # in logs
    log_sizes: Int64s
    marks: Int32s  # [member, round % (digest + 1)]: the size of the log that was pushed
    logs: Int32s
    links: Words  # [publication, word]: a bit for each link of the issuer, 1 where it leads to gossip
    offers: Int32s  # [entry, place]: the issuer's view when it switched the link to gossip
    offer_sizes: Int64s
    issued_bounds: Int64s  # of advertisements in issued
    issued: Int32s  # publications that issuers gave to their groups
    issued_sizes: Int64s  # of advertisements
    swept: Int64s  # of advertisements: how many of these were announced to all
    lists: Int32s  # of publications that were asked for, one after the other
    listed: Int64s  # [0]: length of lists
    posts: Int64s  # [post, column]: gossips on their way
    free: Int64s  # posts that are not in use
    free_size: Int64s  # [0]
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
def broker_of(scene: Scene, member: int) -> int:
    return int(scene.tree.brokers[scene.traffic.members[member]])


@leaf_jit
def issuer_of(scene: Scene, advertisement: int) -> int:
    """The member that is the issuer of an advertisement."""
    return member_of(scene, scene.traffic.groups[advertisement], scene.traffic.issuers[advertisement])


@jit
def gather_all(scene: Scene, groups: Groups, agenda: Agenda) -> None:
    """Make everybody a member of the one group, with a view drawn by lot; the agenda must have a slot for each."""
    count = len(groups.members)
    for member in range(count):
        groups.members[member] = 1
    for member in range(count):
        begin_rounds(scene, groups, agenda, member, 0.0)
        while groups.view_sizes[member] < min(groups.views.shape[1], count - 1):
            know(groups, member, draw_below(groups, count))


@leaf_jit
def begin_rounds(scene: Scene, groups: Groups, agenda: Agenda, member: int, now: float) -> None:
    groups.random[0] = advance(groups.random[0])
    groups.round_times[member] = now + unit(groups.random[0]) * scene.settings.round
    chat(groups, agenda, groups.round_times[member], event(ROUND, broker_of(scene, member), member))


@leaf_jit
def join(scene: Scene, groups: Groups, agenda: Agenda, advertisement: int, broker: int, now: float) -> None:
    member = member_of(scene, scene.traffic.groups[advertisement], broker)
    if groups.members[member]:
        return
    groups.members[member] = 1
    begin_rounds(scene, groups, agenda, member, now)
    issuer = scene.traffic.issuers[advertisement]
    if broker == issuer:
        scene.ledger.totals[GROUPS] += 1
    else:
        know(groups, member, issuer_of(scene, advertisement))
        entry = entry_toward(scene, advertisement, broker)
        for place in range(groups.offer_sizes[entry]):
            know(groups, member, groups.offers[entry, place])
        announce(scene, groups, agenda, member, broker, now)


@leaf_jit
def entry_toward(scene: Scene, advertisement: int, broker: int) -> int:
    """The entry of an advertisement at its issuer, on the link that leads to a broker."""
    table = scene.table
    link = link_toward(scene.tree, scene.traffic.issuers[advertisement], broker)
    entry = int(table.bounds[advertisement])
    while table.links[entry] != link:
        entry += 1
    return entry


@leaf_jit
def offer(groups: Groups, member: int, entry: int) -> None:
    """Let who joins because of a publication over a link learn of the issuer's view."""
    for place in range(groups.view_sizes[member]):
        groups.offers[entry, place] = groups.views[member, place]
    groups.offer_sizes[entry] = groups.view_sizes[member]


@leaf_jit
def announce(scene: Scene, groups: Groups, agenda: Agenda, member: int, broker: int, now: float) -> None:
    for drawn in range(min(groups.view_sizes[member], scene.settings.fanout)):
        target = broker_of(scene, draw_peer(groups, member, drawn))
        scene.ledger.totals[CONTROLS] += 1
        chat(groups, agenda, now + scene.tree.delays[broker, target], event(JOINED, target, member))


@leaf_jit
def handle_joined(scene: Scene, groups: Groups, other: int, broker: int) -> None:
    mine = member_of(scene, groups.groups[other], broker)
    if groups.members[mine]:
        know(groups, mine, other)


@leaf_jit
def draw_peer(groups: Groups, member: int, drawn: int) -> int:
    """Another member of the view than the first `drawn`, which were drawn before; it is put after them."""
    place = drawn + draw_below(groups, groups.view_sizes[member] - drawn)
    target = int(groups.views[member, place])
    groups.views[member, place] = groups.views[member, drawn]
    groups.views[member, drawn] = target
    return target


@leaf_jit
def learn(groups: Groups, mine: int, sender: int) -> None:
    """The sender and its view; beyond its bound, a view drops members at random."""
    know(groups, mine, sender)
    for place in range(groups.view_sizes[sender]):
        know(groups, mine, groups.views[sender, place])


@leaf_jit
def know(groups: Groups, mine: int, other: int) -> None:
    if other == mine or not groups.members[other]:
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
    member = member_of(scene, scene.traffic.groups[advertisement], broker)
    if groups.members[member]:
        make_round(scene, groups, agenda, member, broker, now)
        groups.members[member] = 0
        groups.view_sizes[member] = 0


@leaf_jit
def append(groups: Groups, member: int, publication: int) -> None:
    groups.logs[groups.log_bounds[member] + groups.log_sizes[member]] = publication
    groups.log_sizes[member] += 1


@leaf_jit
def handle_round(scene: Scene, groups: Groups, agenda: Agenda, member: int, broker: int, now: float) -> None:
    if groups.members[member] and groups.round_times[member] == now:
        make_round(scene, groups, agenda, member, broker, now)
        groups.round_times[member] = now + scene.settings.round
        chat(groups, agenda, groups.round_times[member], event(ROUND, broker, member))


@leaf_jit
def make_round(scene: Scene, groups: Groups, agenda: Agenda, member: int, broker: int, now: float) -> None:
    forget_the_gone(groups, member)
    known, size = groups.view_sizes[member], groups.log_sizes[member]
    kept = groups.marks.shape[1]
    count = groups.rounds[member] + 1
    groups.rounds[member] = count
    before = int(groups.marks[member, (count - 1) % kept])
    if known == 0:  # nobody to push to: next time
        groups.marks[member, count % kept] = before
        return
    groups.marks[member, count % kept] = size
    low = first_pushed(scene, groups, member, before, size)
    pushed = pushable(groups, member, low, size)
    oldest = int(groups.marks[member, max(count - scene.settings.digest, 0) % kept])
    if scene.settings.history > 0:
        oldest = max(oldest, size - scene.settings.history)
    start = job_start(scene, broker, now) if pushed > 0 else now  # what carries no publication waits for nobody
    end = start
    post = new_post(groups, member, low, size, oldest, min(known, scene.settings.fanout))
    for drawn in range(min(known, scene.settings.fanout)):
        target = broker_of(scene, draw_peer(groups, member, drawn))
        if pushed > 0:
            end = sent_at(scene.load, start, end, pushed)
        if pushed > 0:
            count_outside(scene, group_advertisement(scene, groups, member, low), pushed, broker, target)
        else:
            scene.ledger.totals[CONTROLS] += 1
        arrival = end + scene.tree.delays[broker, target]
        chat(groups, agenda, arrival, event(GOSSIPED, target, post))
        if pushed > 0 or oldest < size:
            groups.spoken[0] = max(groups.spoken[0], arrival)
    end_job(scene, agenda, broker, pushed, now, start, end)


@leaf_jit
def group_advertisement(scene: Scene, groups: Groups, member: int, place: int) -> int:
    """The advertisement of what stands at a place of a member's log."""
    publication = groups.logs[groups.log_bounds[member] + place]
    return int(scene.traffic.advertisements[~publication if publication < 0 else publication])


@leaf_jit
def new_post(groups: Groups, member: int, low: int, high: int, oldest: int, copies: int) -> int:
    groups.free_size[0] -= 1
    post = int(groups.free[groups.free_size[0]])
    groups.posts[post, SENDER] = member
    groups.posts[post, LOW] = low
    groups.posts[post, HIGH] = high
    groups.posts[post, OLDEST] = oldest
    groups.posts[post, UNREAD] = copies
    return post


@leaf_jit
def first_pushed(scene: Scene, groups: Groups, member: int, low: int, high: int) -> int:
    """Where what a round pushes begins in the log: since the last one, and no more than history allows."""
    if scene.settings.history == 0:
        return low
    first, place, room = groups.log_bounds[member], high, scene.settings.history
    while place > low and room > 0:
        place -= 1
        room -= groups.logs[first + place] >= 0
    return place


@leaf_jit
def forget_the_gone(groups: Groups, member: int) -> None:
    kept = 0
    for place in range(groups.view_sizes[member]):
        other = groups.views[member, place]
        if groups.members[other]:
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
def handle_gossip(scene: Scene, groups: Groups, agenda: Agenda, post: int, broker: int, now: float) -> None:
    theirs, pushed = int(groups.posts[post, SENDER]), int(groups.posts[post, HIGH])
    low, oldest = int(groups.posts[post, LOW]), int(groups.posts[post, OLDEST])
    groups.posts[post, UNREAD] -= 1
    if groups.posts[post, UNREAD] == 0:
        groups.free[groups.free_size[0]] = post
        groups.free_size[0] += 1
    mine = member_of(scene, groups.groups[theirs], broker)
    first = groups.log_bounds[theirs]
    received = 0
    for place in range(low, pushed):
        if groups.logs[first + place] >= 0:
            received += 1
            publication = groups.logs[first + place]
            receive(scene, groups, publication, broker, mine, depth_of(scene, publication, theirs), True, now)
    if received:
        scene.ledger.totals[GOSSIPS] += 1
    if groups.members[mine]:
        learn(groups, mine, theirs)
        sender = broker_of(scene, theirs)
        begin_list(groups, sender, broker)
        for place in range(oldest, pushed):
            publication = groups.logs[first + place]
            request(scene, groups, ~publication if publication < 0 else publication, mine, ASKED)
        end_list(scene, groups, agenda, now + scene.tree.delays[broker, sender])


@leaf_jit
def depth_of(scene: Scene, publication: int, sender: int) -> int:
    """Gossips from the issuer to somebody to whom this member sends a publication."""
    return int(scene.ledger.seen[sight_of(scene, publication, sender)]) - SEEN + 1


@leaf_jit
def receive(
    scene: Scene, groups: Groups, publication: int, broker: int, member: int, depth: int, is_pushed: bool, now: float
) -> None:
    totals = scene.ledger.totals
    totals[MATCHED] += 1
    if not deliver(scene, publication, broker, BY_GOSSIP, depth, now):
        return
    totals[GOSSIPED_PUBLICATIONS] += 1
    if cell_of(scene, publication, broker) >= 0:
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
def request(scene: Scene, groups: Groups, publication: int, member: int, asked: int) -> None:
    """Puts a publication that a member lacks on the list that was begun.

    Asked for once, and once more at the issuer, since the first answer may take long.
    """
    sight = sight_of(scene, publication, member)
    if scene.ledger.seen[sight] < asked:
        scene.ledger.seen[sight] = asked
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
    advertisement = scene.traffic.advertisements[groups.lists[first + LIST_HEAD]]
    count_outside(scene, advertisement, count, broker, receiver)
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
        group = scene.traffic.groups[scene.traffic.advertisements[publication]]
        member, sender = member_of(scene, group, broker), member_of(scene, group, groups.lists[first])
        receive(scene, groups, publication, broker, member, depth_of(scene, publication, sender), False, now)


@leaf_jit
def issue(scene: Scene, groups: Groups, agenda: Agenda, publication: int, link: int, now: float) -> None:
    """Leaves a publication to the group, for the subscribers beyond a link of the issuer."""
    advertisement = scene.traffic.advertisements[publication]
    issuer = scene.traffic.issuers[advertisement]
    if not scene.ledger.gossiped[publication]:
        member = issuer_of(scene, advertisement)
        scene.ledger.gossiped[publication] = 1
        scene.ledger.seen[sight_of(scene, publication, member)] = SEEN
        if groups.swept[advertisement] == groups.issued_sizes[advertisement]:
            chat(groups, agenda, now + scene.settings.keep, event(SWEEP, issuer, advertisement))
        groups.issued[groups.issued_bounds[advertisement] + groups.issued_sizes[advertisement]] = publication
        groups.issued_sizes[advertisement] += 1
        append(groups, member, publication)
        groups.spoken[0] = max(groups.spoken[0], now)
    bit = link - scene.tree.indptr[issuer]
    groups.links[publication, bit >> 6] |= np.uint64(1) << np.uint64(bit & 63)


@leaf_jit
def ask_issuer(
    scene: Scene, groups: Groups, agenda: Agenda, advertisement: int, broker: int, low: int, high: int, learned: float
) -> None:
    """Ask for what the broker lacks of what the issuer gossiped to it, from one to another, learned of at a time."""
    issuer, first = scene.traffic.issuers[advertisement], groups.issued_bounds[advertisement]
    member = member_of(scene, scene.traffic.groups[advertisement], broker)
    bit = link_toward(scene.tree, issuer, broker) - scene.tree.indptr[issuer]
    begin_list(groups, issuer, broker)
    for place in range(low, high):
        publication = groups.issued[first + place]
        if (groups.links[publication, bit >> 6] >> np.uint64(bit & 63)) & np.uint64(1):
            request(scene, groups, publication, member, ASKED_ISSUER)
    end_list(scene, groups, agenda, learned + scene.tree.delays[broker, issuer])


@leaf_jit
def ask_for_the_rest(scene: Scene, groups: Groups, agenda: Agenda, advertisement: int, broker: int, now: float) -> None:
    """Ask for what no sweep has announced yet, when the link to the broker is switched back to the tree."""
    low, high = groups.swept[advertisement], groups.issued_sizes[advertisement]
    ask_issuer(scene, groups, agenda, advertisement, broker, low, high, now)


@leaf_jit
def handle_sweep(scene: Scene, groups: Groups, agenda: Agenda, advertisement: int, now: float) -> None:
    traffic, issuer = scene.traffic, scene.traffic.issuers[advertisement]
    low, high = groups.swept[advertisement], old_enough(scene, groups, advertisement, now)
    groups.swept[advertisement] = high
    if scene.settings.sweep:
        for row in range(traffic.audience_bounds[advertisement], traffic.audience_bounds[advertisement + 1]):
            broker = scene.tree.brokers[traffic.audience[row]]
            if broker != issuer:
                learned = now + delay_along(scene.tree, issuer, broker)
                ask_issuer(scene, groups, agenda, advertisement, broker, low, high, learned)
    if high < groups.issued_sizes[advertisement]:
        oldest = traffic.times[groups.issued[groups.issued_bounds[advertisement] + high]]
        chat(groups, agenda, oldest + scene.settings.keep, event(SWEEP, issuer, advertisement))


@leaf_jit
def old_enough(scene: Scene, groups: Groups, advertisement: int, now: float) -> int:
    """Where in what an issuer gossiped the publications begin that are left to gossip for now."""
    first, size = groups.issued_bounds[advertisement], groups.issued_sizes[advertisement]
    place, times = int(groups.swept[advertisement]), scene.traffic.times
    since = now - scene.settings.age
    while place < size and times[groups.issued[first + place]] <= since:
        place += 1
    return place
