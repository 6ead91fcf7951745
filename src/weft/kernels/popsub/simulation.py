"""The event-driven simulation of PopSub: every publication from its issuer to all its subscribers, by whatever way.

It decides as weft.protocol.popsub does (docs/popsub.md), and knows in addition what a broker can send in a second.
"""

import numpy as np

from weft.arrays import Floats, Int64s
from weft.kernels.jit import jit, leaf_jit
from weft.kernels.popsub.agenda import BROKERS, KINDS, Agenda, event, schedule, take_next
from weft.kernels.popsub.batching import Buffers, buffer, buffer_of, handle_batch, send_batch
from weft.kernels.popsub.broker import (
    BATCH,
    BATCHED,
    BY_DIRECT,
    BY_TREE,
    DIRECT,
    FORWARD,
    GOSSIP,
    GOSSIPED,
    JOINED,
    MATCHED,
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
    cell_of,
    count_forward,
    count_outside,
    count_routed,
    deliver,
    end_job,
    first_entry,
    is_audience,
    is_wanted,
    job_start,
    last_entry,
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
    issuer_of,
    join,
    leave,
    offer,
)
from weft.kernels.popsub.popularity import evaluate
from weft.kernels.popsub.tree import any_beyond

# Columns of clock.
NEXT, EVALUATION, NOW = range(3)


@jit
def simulate(
    scene: Scene,
    buffers: Buffers,
    groups: Groups,
    agenda: Agenda,
    clock: Floats,
    issuers: Int64s,
    expected: int,
) -> bool:
    """Run until all that is expected is delivered and only upkeep is under way; whether it came so far.

    It stops before, to be called again, where the agenda or the posts have no room for what an event may put there.
    Without sweeps what is expected may be lost: then it runs until a round brings nothing any more. `issuers` are the
    brokers that publish; only what they decide counts, so no other evaluates anything.
    """
    times, totals = scene.traffic.times, scene.ledger.totals
    room = 4 * (len(scene.tree.peers) + len(scene.tree.brokers)) + 64  # more than any event puts on the agenda
    publication, evaluation, now = int(clock[NEXT]), clock[EVALUATION], clock[NOW]
    done = False
    while True:
        delivered = totals[POPULAR] + totals[UNPOPULAR]
        lost = not scene.settings.sweep and now > groups.spoken[0] + scene.settings.round
        if publication == len(times) and agenda.size[0] <= groups.upkeep[0] and (delivered == expected or lost):
            done = True
            break
        if agenda.size[0] + room > len(agenda.times) or (len(groups.posts) and groups.free_size[0] < 64):
            break
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
    clock[NEXT], clock[EVALUATION], clock[NOW] = publication, evaluation, now
    return done


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
    traffic, table = scene.traffic, scene.table
    advertisement, now = traffic.advertisements[publication], traffic.times[publication]
    broker = traffic.issuers[advertisement]
    scene.ledger.totals[MATCHED] += 1
    deliver(scene, publication, broker, BY_TREE, 0, now)
    start = job_start(scene, broker, now)
    end = start
    direct_links = 0
    first = first_entry(scene, advertisement, broker)
    stop = last_entry(scene, advertisement, broker, first)
    for entry in range(first, stop):
        link = int(table.links[entry])
        if not is_wanted(scene, publication, link):
            continue
        count_routed(scene, publication, entry)
        way, kind = table.ways[entry], FORWARD
        if not traffic.urgent[publication]:
            table.issued[entry, 1 if way else 0] += 1
            if way == GOSSIP:
                if table.flags[entry] or scene.settings.together:
                    issue(scene, groups, agenda, publication, link, now)
                    continue
                table.flags[entry] = 1
                join(scene, groups, agenda, advertisement, broker, now)
                offer(groups, issuer_of(scene, advertisement), entry)
                kind = TO_GOSSIP
            elif table.flags[entry]:
                table.flags[entry] = 0
                kind = TO_TREE
            elif way == BATCH:
                buffer(scene, buffers, agenda, publication, broker, entry, now)
                continue
            elif way == DIRECT:
                table.direct[entry] = 1
                direct_links += 1
                record_decision(scene.ledger, 1.0, False)
                continue
        else:
            table.issued[entry, 0] += 1
        end = sent_at(scene.load, start, end, 1)
        count_forward(scene, entry, 1, table.gains[entry], True, False, True)
        send(scene, agenda, kind, publication, broker, link, end)
    if direct_links > 0:
        end = send_directly(scene, publication, broker, first, stop, start, end)
    end_job(scene, agenda, broker, 1, now, start, end)


@leaf_jit
def send_directly(
    scene: Scene, publication: int, broker: int, first: int, stop: int, start: float, end: float
) -> float:
    """One message to each broker with a match beyond the links that are marked; when the last one leaves."""
    tree, table, ledger, is_target = scene.tree, scene.table, scene.ledger, scene.load.targets
    low, high = scene.traffic.bounds[publication], scene.traffic.bounds[publication + 1]
    count = 0
    for entry in range(first, stop):
        if table.direct[entry]:
            table.direct[entry] = 0
            for cell in range(low, high):
                if any_beyond(tree, table.links[entry], scene.traffic.places, cell, cell + 1):
                    is_target[tree.brokers[scene.traffic.places[cell]]] = 1
    for target in range(len(is_target)):
        if is_target[target]:
            is_target[target] = 0
            count += 1
            end = sent_at(scene.load, start, end, 1)
            record_gain(ledger, 1.0, True)
            ledger.totals[MATCHED] += 1
            count_outside(scene, scene.traffic.advertisements[publication], 1, broker, target)
            deliver(scene, publication, target, BY_DIRECT, 0, end + tree.delays[broker, target])
    ledger.directs[count] += 1
    return end


@leaf_jit
def send(scene: Scene, agenda: Agenda, kind: int, publication: int, broker: int, link: int, leaves: float) -> None:
    """Send over a link. A plain publication that goes no farther is delivered at once and not scheduled."""
    peer = scene.tree.peers[link]
    arrival = leaves + scene.tree.delays[broker, peer]
    if kind == FORWARD and not len(scene.ledger.gossiped) and is_last(scene, publication, peer):
        scene.ledger.totals[MATCHED] += 1
        deliver(scene, publication, peer, BY_TREE, 0, arrival)
    else:
        schedule(agenda, arrival, event(kind, peer, publication))


@leaf_jit
def is_last(scene: Scene, publication: int, broker: int) -> bool:
    advertisement = scene.traffic.advertisements[publication]
    entry, stop = first_entry(scene, advertisement, broker), scene.table.bounds[advertisement + 1]
    while entry < stop and scene.table.links[entry] < scene.tree.indptr[broker + 1]:
        if is_wanted(scene, publication, scene.table.links[entry]):
            return False
        entry += 1
    return True


@leaf_jit
def handle_forward(
    scene: Scene, groups: Groups, agenda: Agenda, kind: int, publication: int, broker: int, now: float
) -> None:
    """A flagged publication goes to all subscribers of its advertisement, who join or leave the group."""
    traffic, table = scene.traffic, scene.table
    advertisement = traffic.advertisements[publication]
    matches_here = cell_of(scene, publication, broker) >= 0
    scene.ledger.totals[MATCHED] += 1
    if matches_here:
        deliver(scene, publication, broker, BY_TREE, 0, now)
    if kind != FORWARD and is_audience(scene, advertisement, broker):
        switch(scene, groups, agenda, kind, advertisement, broker, now)
    start = job_start(scene, broker, now)
    end = start
    first = first_entry(scene, advertisement, broker)
    for entry in range(first, last_entry(scene, advertisement, broker, first)):
        link = int(table.links[entry])
        if kind == FORWARD and not is_wanted(scene, publication, link):
            continue
        count_routed(scene, publication, entry)
        end = sent_at(scene.load, start, end, 1)
        count_forward(scene, entry, 1, table.gains[entry], False, matches_here, False)
        send(scene, agenda, kind, publication, broker, link, end)
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
        if buffers.waiting[entry] > 0 and table.ways[entry] != BATCH:
            send_batch(scene, buffers, agenda, broker, buffer_of(scene, entry), now)
