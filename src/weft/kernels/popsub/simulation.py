"""The event-driven simulation of PopSub: every publication from its issuer to all its subscribers, by whatever way.

It decides as weft.protocol.popsub does (docs/popsub.md), and knows in addition what a broker can send in a second.
"""

import numpy as np

from weft.arrays import Int64s
from weft.kernels.jit import jit, leaf_jit
from weft.kernels.popsub.agenda import BROKERS, KINDS, Agenda, agenda_of, enlarged, event, schedule, take_next
from weft.kernels.popsub.batching import Buffers, buffer, handle_batch, send_batch
from weft.kernels.popsub.broker import (
    BATCH,
    BATCHED,
    DIRECT,
    FORWARD,
    GOSSIP,
    GOSSIPED,
    JOINED,
    OUT_OF_OVERLAY,
    POPULAR,
    RETRIEVE,
    RETRIEVED,
    ROUND,
    STARTED,
    SWEEP,
    TIMED_OUT,
    TO_GOSSIP,
    TO_TREE,
    UNPOPULAR,
    Scene,
    count_forward,
    deliver,
    end_job,
    job_start,
    record_decision,
    record_gain,
    sent_at,
)
from weft.kernels.popsub.gossiping import (
    Groups,
    ask_for_the_rest,
    handle_gossip,
    handle_joined,
    handle_retrieve,
    handle_retrieved,
    handle_round,
    handle_sweep,
    issue,
    join,
    leave,
    offer,
)
from weft.kernels.popsub.popularity import evaluate


@jit
def simulate(scene: Scene, buffers: Buffers, groups: Groups, issuers: Int64s, expected: int) -> float:
    """Run until all that is expected is delivered and only upkeep is under way; the time at the end.

    Without sweeps what is expected may be lost: then until a round brings nothing any more.

    `issuers` are the brokers that publish; only what they decide counts, so no other evaluates anything.
    """
    times, totals = scene.traffic.times, scene.ledger.totals
    room = 4 * (len(scene.tree.parents) + len(scene.table.ways))  # more than anything that happens puts on the agenda
    agenda = agenda_of(2 * room)
    evaluation = scene.settings.interval
    publication, now = 0, 0.0
    while (
        publication < len(times)
        or agenda.size[0] > groups.upkeep[0]
        or (
            totals[POPULAR] + totals[UNPOPULAR] < expected
            and (scene.settings.sweep or now <= groups.spoken[0] + scene.settings.round)
        )
    ):
        if agenda.size[0] + room > len(agenda.times):
            agenda = enlarged(agenda)
        next_event = agenda.times[0] if agenda.size[0] else np.inf
        next_publication = times[publication] if publication < len(times) else np.inf
        now = min(evaluation, next_publication, next_event)
        if now == evaluation:
            evaluation += scene.settings.interval
            for broker in issuers:
                evaluate(scene.table, scene.load, scene.settings, broker)
                send_what_left_batching(scene, buffers, agenda, broker, now)
        elif now == next_publication:
            publish(scene, buffers, groups, agenda, int(publication))
            publication += 1
        else:
            happen(scene, buffers, groups, agenda, take_next(agenda), now)
    return now


@leaf_jit
def happen(scene: Scene, buffers: Buffers, groups: Groups, agenda: Agenda, what: int, now: float) -> None:
    kind, broker, item = what % KINDS, what // KINDS % BROKERS, what // (KINDS * BROKERS)
    groups.upkeep[0] -= kind >= ROUND
    if kind == STARTED:
        scene.load.waiting[broker, 0] -= 1
        scene.load.waiting[broker, 1] -= item
    elif kind <= TO_TREE:
        handle_forward(scene, groups, agenda, kind, item, broker, now)
    elif kind == BATCHED:
        handle_batch(scene, buffers, agenda, item, broker, now)
    elif kind == TIMED_OUT:
        if buffers.deadlines[item] == now:
            send_batch(scene, buffers, agenda, broker, item, now)
    elif kind == ROUND:
        handle_round(scene, groups, agenda, item, broker, now)
    elif kind == GOSSIPED:
        handle_gossip(scene, groups, agenda, item, broker, now)
    elif kind == RETRIEVE:
        handle_retrieve(scene, groups, agenda, item, broker, now)
    elif kind == RETRIEVED:
        handle_retrieved(scene, groups, item, broker, now)
    elif kind == SWEEP:
        handle_sweep(scene, groups, agenda, item, now)
    elif kind == JOINED:
        handle_joined(scene, groups, item, broker)


@leaf_jit
def publish(scene: Scene, buffers: Buffers, groups: Groups, agenda: Agenda, publication: int) -> None:
    """Deliver to the issuer's own clients, and send over each link that leads to a match by its entry's way."""
    tree, traffic, table = scene.tree, scene.traffic, scene.table
    advertisement, now = traffic.advertisements[publication], traffic.times[publication]
    broker = traffic.issuers[advertisement]
    row = traffic.reach[publication]
    deliver(scene, publication, broker, POPULAR, now)
    start = job_start(scene, broker, now)
    end = start
    direct_links = 0
    for link in range(tree.indptr[broker], tree.indptr[broker + 1]):
        peer = tree.peers[link]
        if row[peer] < 0:
            continue
        entry = link * len(traffic.issuers) + advertisement
        table.routed[entry] += 1
        way = table.ways[entry]
        if way == GOSSIP:
            if table.flags[entry]:
                issue(scene, groups, agenda, publication, link, now)
                continue
            table.flags[entry] = 1
            join(scene, groups, agenda, advertisement, broker, now)
            offer(groups, advertisement * len(tree.parents) + broker, entry)
            kind = TO_GOSSIP
        elif table.flags[entry]:
            table.flags[entry] = 0
            kind = TO_TREE
        elif way == BATCH:
            buffer(scene, buffers, agenda, publication, broker, entry, now)
            continue
        elif way == DIRECT:
            table.direct[link] = 1
            direct_links += 1
            record_decision(scene.ledger, 1.0)
            continue
        else:
            kind = FORWARD
        end = sent_at(scene.load, start, end, 1)
        count_forward(scene.ledger, table.gains[entry], True, False)
        send(scene, agenda, kind, publication, broker, peer, end)
    if direct_links > 0:
        end = send_directly(scene, publication, broker, start, end)
    end_job(scene, agenda, broker, 1, now, start, end)


@leaf_jit
def send_directly(scene: Scene, publication: int, broker: int, start: float, end: float) -> float:
    """One message to each broker with a match beyond the links that are marked; when the last one leaves."""
    tree, row, direct = scene.tree, scene.traffic.reach[publication], scene.table.direct
    count = 0
    for target in range(len(row)):
        if row[target] > 0 and target != broker and direct[tree.first_link[broker, target]]:
            count += 1
            end = sent_at(scene.load, start, end, 1)
            record_gain(scene.ledger, 1.0, True)
            deliver(scene, publication, target, UNPOPULAR, end + tree.delays[broker, target])
    scene.ledger.totals[OUT_OF_OVERLAY] += count
    scene.ledger.directs[count] += 1
    direct[tree.indptr[broker] : tree.indptr[broker + 1]] = 0
    return end


@leaf_jit
def send(scene: Scene, agenda: Agenda, kind: int, publication: int, broker: int, peer: int, leaves: float) -> None:
    """Send over a link. A plain publication that goes no farther is delivered at once and not scheduled."""
    arrival = leaves + scene.tree.delays[broker, peer]
    if kind == FORWARD and not len(scene.ledger.seen) and is_last(scene, publication, broker, peer):
        deliver(scene, publication, peer, POPULAR, arrival)
    else:
        schedule(agenda, arrival, event(kind, peer, publication))


@leaf_jit
def is_last(scene: Scene, publication: int, before: int, broker: int) -> bool:
    tree, row = scene.tree, scene.traffic.reach[publication]
    for link in range(tree.indptr[broker], tree.indptr[broker + 1]):
        if tree.peers[link] != before and row[tree.peers[link]] >= 0:
            return False
    return True


@leaf_jit
def handle_forward(
    scene: Scene, groups: Groups, agenda: Agenda, kind: int, publication: int, broker: int, now: float
) -> None:
    """A flagged publication goes to all subscribers of its advertisement, who join or leave the group."""
    tree, traffic, table = scene.tree, scene.traffic, scene.table
    advertisement = traffic.advertisements[publication]
    before = tree.parents[traffic.issuers[advertisement], broker]
    matches_here = traffic.reach[publication, broker] > 0
    if matches_here:
        deliver(scene, publication, broker, POPULAR, now)
    if kind != FORWARD and traffic.audience[advertisement, broker] > 0:
        switch(scene, groups, agenda, kind, advertisement, broker, now)
    start = job_start(scene, broker, now)
    end = start
    for link in range(tree.indptr[broker], tree.indptr[broker + 1]):
        peer = tree.peers[link]
        is_on_way = traffic.reach[publication, peer] if kind == FORWARD else traffic.audience[advertisement, peer]
        if peer == before or is_on_way < 0:
            continue
        entry = link * len(traffic.issuers) + advertisement
        table.routed[entry] += 1
        end = sent_at(scene.load, start, end, 1)
        count_forward(scene.ledger, table.gains[entry], False, matches_here)
        send(scene, agenda, kind, publication, broker, peer, end)
    end_job(scene, agenda, broker, 1, now, start, end)


@leaf_jit
def switch(
    scene: Scene, groups: Groups, agenda: Agenda, kind: int, advertisement: int, broker: int, now: float
) -> None:
    if kind == TO_GOSSIP:
        join(scene, groups, agenda, advertisement, broker, now)
    else:
        leave(scene, groups, agenda, advertisement, broker, now)
        ask_for_the_rest(scene, groups, agenda, advertisement, broker, now)


@leaf_jit
def send_what_left_batching(scene: Scene, buffers: Buffers, agenda: Agenda, broker: int, now: float) -> None:
    """Send the batches of entries that no longer batch, so that a publisher's order holds."""
    table = scene.table
    for place in range(table.order_bounds[broker], table.order_bounds[broker + 1]):
        entry = table.order[place]
        if buffers.sizes[entry] > 0 and table.ways[entry] != BATCH:
            send_batch(scene, buffers, agenda, broker, entry, now)
