"""Verdict on who must have got what, by what clients did and saw alone: knows MQTT, and nothing of nodes and overlays.

Payloads tell publications apart. A publication that was accepted (QoS 0: its client was connected; QoS 1 and 2: it was
acknowledged) must come to every client that held a matching filter when it was said, and until it was due, and was
connected all that time or has a session that is kept. It may come to who held the filter for a part of that time, or
before, where its node has let it in without the master and may not have heard; and to nobody else. It is due after a
short time where nothing failed, else some time after all is mended.

How often: once to a session, but with QoS 1 again where it says so (DUP), under the same packet identifier: PUBACK may
be lost with a connection. Where something failed QoS 0 may be lost, and what comes with less than QoS 2 may come again:
a node may have lost with its power that it had sent it. A session that a client has left at a node out of reach and
taken up at another counts as two: nobody can ask the first what the client has had. So does one that a node has
claimed late, without its client, and that is out of reach there.

Of a shared subscription one member must have got it where one was there all the time, and where something failed if
all of them have sessions that are kept and a QoS above 0: what a member without was given, and had not seen, is lost.
So is, where nothing failed too, what a member was sent with QoS 2, and had not got when its session ended: by the
standard nobody else gets it (MQTT-4.8.2-5). What waited for a member that was away goes to another when its session
ends, or when it has given up the filter elsewhere and its node is back from having stopped: nobody must have it where
no member was still there by then. Where nothing failed no two may, nor one twice but with DUP as above. Where something
did, a member may get it again: one who left before it took it hands it on as another publication, and its issuer may
not know that anybody was given it.

While only the master is gone, what is published with QoS 1 or 2 also comes to who has subscribed since, when all is
mended; and at once, with any QoS, if another client held the same filter when the master went, and is connected since.

Of one publisher, on one topic and with one QoS, publications come in order while nothing fails and nobody moves. Who
holds a shared filter besides gets some by that too, and nothing orders the two. What another member has left comes
behind what was published since.

A will must come, as any other publication, where its client was gone in the sight of its node, and nothing failed;
where something did, a node may say it again after a restart. What expires must come in time where nothing fails; said
again, it has its time again.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from math import inf

from weft.sim.cluster.client import Client, Got, Held, Said
from weft.wire.mqtt.topic import is_shared, matches, split_shared

SHORTLY = 0.5  # seconds from an answer to what comes behind it


@dataclass(frozen=True, slots=True)
class Terms:
    troubles: tuple[tuple[float, float], ...] = ()  # when something failed, and when that was mended
    travel: float = 2.0  # seconds that a publication may take, and a subscription to end
    recovery: float = 25.0  # seconds after that in which it may still be felt
    headless: tuple[tuple[float, float], ...] = ()  # of the troubles, those when the master was gone, and nodes stayed
    wills: bool = True  # are owed: no node has stopped, which says none
    apart: bool = False  # the clocks of nodes are: what expires does so a little sooner or later

    def is_calm(self, start: float, end: float) -> bool:
        return not any(begun <= end and start <= mended + self.recovery for begun, mended in self.troubles)

    def due(self, at: float) -> float:
        """When what was said must have come."""
        for begun, mended in sorted(self.troubles, key=lambda one: one[1]):
            if begun <= at + self.travel and at <= mended + self.recovery:
                at = mended + self.recovery
        return at + self.travel

    def headless_at(self, at: float) -> tuple[float, float] | None:
        """When the master went that was gone at a time, and came back, if nothing else has failed by then."""
        troubles = [one for one in self.troubles if one[0] <= at + self.travel]
        if len(troubles) != 1 or troubles[0] not in self.headless:
            return None
        gone, back = troubles[0]
        return (gone, back) if gone <= at <= back - self.travel else None

    def due_of(self, one: Said) -> float:
        """When a publication must have come: nobody has promised anything before it was acknowledged."""
        return self.due(max(one.at, one.acknowledged or one.at))

    def allows(self, one: Said) -> bool:
        """Whether nothing failed while it travelled."""
        return self.is_calm(one.at, one.at + self.travel)


CALM = Terms()


def problems(clients: Iterable[Client], terms: Terms = CALM) -> list[str]:
    """Every broken promise in a sentence; none is what one hopes for."""
    clients = list(clients)
    by_name = {client.name: client for client in clients}
    said = {one.payload: one for client in clients for one in client.said if one.payload}
    said |= {one.payload: one for client in clients for one in client.wills if _may_come(one, terms)}
    found = [text for client in clients for text in _wrongs(client, said, terms)]
    for one in said.values():
        if _was_accepted(one, by_name[one.client], terms):
            found += _misses(one, clients, terms)
            found += _late(one, clients, terms)
            found += _shared_misses(one, clients, terms)
    if not terms.troubles:
        found += [text for client in clients for text in _disorder(client, said, by_name)]
    return found


def _wrongs(client: Client, said: dict[bytes, Said], terms: Terms) -> Iterator[str]:
    """What a client got and should not have, or too often."""
    counts: Counter[tuple[bytes, int]] = Counter()
    best: dict[tuple[bytes, int], int] = {}
    for got in client.got:
        one = said.get(got.payload)
        if one is None or one.topic != got.topic:
            yield f"{client.name} got {got.payload!r} on {got.topic}, which nobody said."
            continue
        if not got.dup and _had_expired(one, got.at, terms):
            yield f"{client.name} got {got.payload!r} on {got.topic}, which had expired."
        if not any(_may(held, one, got.at, terms) or (got.alone and _matches(held, one)) for held in client.held):
            yield f"{client.name} got {got.payload!r} on {got.topic} and does not hold a filter that matches."
        if not got.retain and not _is_again(got, client) and (got.qos == 2 or terms.allows(one)):
            key = got.payload, client.session_at(got.at)
            counts[key] += 1
            best[key] = max(got.qos, best.get(key, 0))
    for (payload, session), count in counts.items():
        groups = sum(is_shared(held.filter) and _may(held, said[payload], None, terms) for held in client.held)
        shared = groups * (1 if terms.allows(said[payload]) else 2)
        if count > 1 + shared and not _may_repeat(said[payload], terms):
            yield f"{client.name} got {payload!r} {count} times with QoS {best[payload, session]}."


def _is_again(got: Got, client: Client) -> bool:
    """Whether it is sent again as the standard asks: its PUBACK may not have come to the node."""
    what = got.packet_id, got.payload
    is_marked = got.dup and got.qos == 1
    return is_marked and any((one.packet_id, one.payload) == what and one.at < got.at for one in client.got)


def _had_expired(one: Said, at: float, terms: Terms) -> bool:
    is_late = one.life is not None and one.at + one.life + terms.travel < at
    return is_late and not one.repeated and not terms.apart and terms.is_calm(one.at, at)


def _may_come(will: Said, terms: Terms) -> bool:
    """Not where it was taken back, and its node has heard that."""
    return not (will.taken_back and terms.allows(will))


def _may_repeat(one: Said, terms: Terms) -> bool:
    return one.repeated or (one.is_will and (one.acknowledged is None or not terms.allows(one)))


def _misses(one: Said, clients: list[Client], terms: Terms) -> Iterator[str]:
    for client in clients:
        sure = [held for held in client.held if not is_shared(held.filter) and _must(held, one, client, terms)]
        qos = min(one.qos, max((held.qos for held in sure), default=0))
        if not sure or (qos == 0 and not (terms.allows(one) and _was_connected(client, one, terms))):
            continue
        if not any(got.payload == one.payload for got in client.got):
            yield f"{client.name} has not got {one.payload!r} of {one.client} on {one.topic}, QoS {qos}."


def _late(one: Said, clients: list[Client], terms: Terms) -> Iterator[str]:
    """Clients that have subscribed while the master was gone, and have not got it before it was back."""
    gone = terms.headless_at(one.at)
    if gone is None:
        return
    for client in clients:
        due = _behind_answers(client, one.at + terms.travel)
        has_it = any(got.payload == one.payload and got.at <= due for got in client.got)
        if not has_it and due <= gone[1] and _is_to_have(one, client, clients, gone[0], due):
            yield f"{client.name} has not got {one.payload!r} of {one.client} while the master was gone."


def _behind_answers(client: Client, due: float) -> float:
    """When a client must have something that may come behind answers to it, which may wait for the network."""
    asked = [(held.asked, held.granted or held.dropped) for held in client.held]
    asked += [(one.at, one.acknowledged) for one in client.said if one.qos]
    for at, answered in sorted(asked, key=lambda one: one[0]):
        if at <= due:
            due = max(due, inf if answered is None else answered + SHORTLY)
    return due


def _is_to_have(one: Said, client: Client, clients: list[Client], gone: float, due: float) -> bool:
    """Whether it has subscribed without the master, to what another client held when that went."""
    new = [held for held in client.held if held.alone and _matches(held, one) and not is_shared(held.filter)]
    new = [held for held in new if _is_held(held, client, one.at, due)]
    old = [held for other in clients for held in other.held if not held.alone and _is_held(held, other, gone, due)]
    return any(held.filter == before.filter for held in new for before in old)


def _is_held(held: Held, client: Client, start: float, end: float) -> bool:
    """Whether a client held a filter all of a time, and was connected since it was granted."""
    if held.granted is None or held.granted > start or (held.dropped is not None and held.dropped < end):
        return False
    return any(begun <= held.granted and (ended is None or ended >= end) for begun, ended in client.connected)


def _shared_misses(one: Said, clients: list[Client], terms: Terms) -> Iterator[str]:
    for group in sorted({h.filter for c in clients for h in c.held if is_shared(h.filter) and _matches(h, one)}):
        able = [client for client in clients if any(held.filter == group for held in client.held)]
        times = sum(got.payload == one.payload and not got.retain for client in able for got in client.got)
        if times == 0 and _is_owed(group, one, able, terms):
            yield f"Nobody of {group} has got {one.payload!r} of {one.client}."
        plain = sum(
            any(not is_shared(held.filter) and _may(held, one, None, terms) for held in client.held) for client in able
        )
        found = [(got, client) for client in able for got in client.got if got.payload == one.payload]
        calm = [(got, client) for got, client in found if terms.is_calm(one.at, got.at)]
        often = sum(not got.retain and not _is_again(got, client) for got, client in calm)
        if often > _groups_of(one, able) + plain and not one.repeated and terms.allows(one):
            yield f"Members of {group} have got {one.payload!r} of {one.client} {often} times."


def _is_owed(group: str, one: Said, able: list[Client], terms: Terms) -> bool:
    """Whether a member was there all the time, and nobody else was given it in its place and lost it."""
    sure = [(client, held) for client in able for held in client.held if held.filter == group]
    sure = [(client, held) for client, held in sure if _must(held, one, client, terms)]
    members = [(client, held) for client in able for held in client.held if held.filter == group]
    if terms.allows(one):
        is_lost = any(_takes_along(one, client, held, terms) for client, held in members)
        is_left = any(_leaves_behind(one, client, held, terms) for client, held in members)
        is_lost |= is_left and not any(_stays(one, client, held) for client, held in sure)
        return not is_lost and any(_was_connected(client, one, terms) for client, _ in sure)
    kept = all(client.expiry and not client.losses for client in able)
    is_sure = all(held.dropped is None and min(one.qos, held.qos) for _, held in members)
    return kept and is_sure and bool(sure)


def _takes_along(one: Said, client: Client, held: Held, terms: Terms) -> bool:
    """Whether a member may have been given it and lost it.

    With the disk of its session; of QoS 0 as it left; of QoS 2 as it left and its session ended.
    """
    if any(one.at <= loss for loss in client.losses):
        return True
    due = terms.due_of(one)
    is_leaving = any(end is not None and one.at <= end < due for _, end in client.connected)
    is_unheard = any(start <= due and (end is None or one.at <= end) for start, end in client.unheard)
    qos = min(one.qos, held.qos)
    is_lost = qos == 0 or (qos == 2 and _ends_with_session(held, -inf if is_unheard else one.at, due))
    return is_lost and (is_leaving or is_unheard)


def _leaves_behind(one: Said, client: Client, held: Held, terms: Terms) -> bool:
    """Whether it may have waited for a member that was away, until it was too late for that one to take it."""
    if not client.expiry or not min(one.qos, held.qos) or _was_connected(client, one, terms):
        return False
    is_ended, is_node_stopped = held.gone is None, not terms.wills
    return held.dropped is not None and held.dropped >= one.at and (is_ended or is_node_stopped)


def _stays(one: Said, client: Client, held: Held) -> bool:
    """Whether a member is there to the end, and can be given what another leaves."""
    is_there = any(start <= one.at and end is None for start, end in client.connected)
    return held.dropped is None and (is_there or min(one.qos, held.qos) > 0)


def _ends_with_session(held: Held, start: float, end: float) -> bool:
    """Whether a client had a filter until its session ended, in a time, and did not give it up before."""
    return held.dropped is not None and start <= held.dropped < end and held.gone is None


def _groups_of(one: Said, clients: list[Client]) -> int:
    return len({h.filter for c in clients for h in c.held if is_shared(h.filter) and _matches(h, one)})


def _disorder(client: Client, said: dict[bytes, Said], by_name: dict[str, Client]) -> Iterator[str]:
    if len(client.connected) > 1:
        return
    rows: dict[tuple[str, str, int, int], list[Said]] = {}
    for got in client.got:
        one = said.get(got.payload)
        if one is None or got.retain or len(by_name[one.client].connected) > 1:
            continue
        if any(_may_have_left(one, got, client, other) for other in by_name.values() if other is not client):
            continue
        if len({is_shared(held.filter) for held in client.held if _matches(held, one)}) == 1:
            rows.setdefault((one.client, one.topic, one.qos, got.qos), []).append(one)
    for row in rows.values():
        for before, after in pairwise(row):
            if after.order < before.order:
                yield f"{client.name} got {after.payload!r} of {after.client} behind {before.payload!r}."


def _may_have_left(one: Said, got: Got, client: Client, other: Client) -> bool:
    """Whether another member of a shared subscription may have been given it before, and has left since."""
    groups = {held.filter for held in client.held if is_shared(held.filter) and _matches(held, one)}
    left = [held.dropped for held in other.held if held.filter in groups and held.dropped is not None]
    return any((one.at <= at or bool(other.unheard)) and at <= got.at for at in left)


def _must(held: Held, one: Said, client: Client, terms: Terms) -> bool:
    if not _matches(held, one) or held.granted is None:
        return False
    if held.granted > one.at or (held.alone and not _counts_alone(held.granted, one, terms)):
        return False
    due = terms.due_of(one)
    if one.life is not None and not (
        one.life > terms.travel and terms.allows(one) and _was_connected(client, one, terms)
    ):
        return False
    if any(one.at <= loss for loss in client.losses) or any(held.asked <= loss for loss in client.losses):
        return False
    if held.dropped is not None and (held.dropped < due or not _was_connected(client, one, terms)):
        return False  # what waited for it may have been given up with the filter
    return bool(client.expiry) or _was_connected(client, one, terms)


def _counts_alone(granted: float, one: Said, terms: Terms) -> bool:
    """Whether a subscription without the master counts for a publication.

    Its node has reached the master again since; or nothing but the master fails at all, which is gone for both.
    """
    gone = terms.headless_at(one.at) if len(terms.troubles) == 1 else None
    return terms.due(granted) <= one.at or (gone is not None and gone[0] <= granted)


def _may(held: Held, one: Said, at: float | None, terms: Terms) -> bool:
    if not _matches(held, one) or (at is not None and held.asked > at):
        return False
    if held.dropped is None or at is None or not held.gone:
        return True
    return min(at, one.at) <= terms.due(held.dropped)


def _matches(held: Held, one: Said) -> bool:
    parts = split_shared(held.filter) if is_shared(held.filter) else None
    return matches(parts[1] if parts is not None else held.filter, one.topic)


def _was_accepted(one: Said, client: Client, terms: Terms) -> bool:
    if one.is_will:
        return one.acknowledged is not None and not one.taken_back and terms.wills and terms.allows(one)
    if one.qos:
        return one.acknowledged is not None
    return terms.allows(one) and _was_connected(client, one, terms)


def _was_connected(client: Client, one: Said, terms: Terms) -> bool:
    """All the time in which the publication may have come."""
    return any(start <= one.at and (end is None or end >= terms.due_of(one)) for start, end in client.connected)
