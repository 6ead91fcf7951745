"""Who must have got what, judged by what clients did and saw alone: it knows MQTT, and nothing of nodes and overlays.

Payloads tell publications apart. A publication that was accepted (QoS 0: its client was connected; QoS 1 and 2: it was
acknowledged) must come to every client that held a matching filter before it was said, and for some time afterwards,
and was connected all that time or has a session that is kept. It may come to who held the filter for a part of that
time, and to nobody else. How often: once, but with QoS 1 again where it says so (DUP); where something failed, QoS 0
may be lost, and what was said with QoS 1 or 2 come again to who takes it with less than 2.

Of a shared subscription one member must have got it where one was there all the time. Where something has failed
nothing is said of these: a member that is cut off with its node is not known to be one.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from weft.sim.cluster.client import Client, Held, Said
from weft.wire.mqtt.topic import is_shared, matches, split_shared


@dataclass(frozen=True, slots=True)
class Terms:
    travel: float = 2.0  # seconds that a publication may take, and a subscription to end
    calm: bool = True  # nothing has failed: nothing is lost, nothing comes again


CALM = Terms()


def problems(clients: Iterable[Client], terms: Terms = CALM) -> list[str]:
    """Every broken promise in a sentence; none is what one hopes for."""
    clients = list(clients)
    said = {one.payload: one for client in clients for one in client.said if one.payload}
    found = [text for client in clients for text in _wrongs(client, said, terms)]
    for one in said.values():
        if _was_accepted(one, clients, terms):
            found += _misses(one, clients, terms)
            if terms.calm:
                found += _shared_misses(one, clients)
    return found


def _wrongs(client: Client, said: dict[bytes, Said], terms: Terms) -> Iterator[str]:
    """What a client got and should not have, or too often."""
    counts: Counter[bytes] = Counter()
    best: dict[bytes, int] = {}
    for got in client.got:
        one = said.get(got.payload)
        if one is None or one.topic != got.topic:
            yield f"{client.name} got {got.payload!r} on {got.topic}, which nobody said."
            continue
        if not any(_may(held, one, got.at, terms) for held in client.held):
            yield f"{client.name} got {got.payload!r} on {got.topic} and does not hold a filter that matches."
        if not got.retain and not (got.dup and got.qos == 1):
            counts[got.payload] += 1
            best[got.payload] = max(got.qos, best.get(got.payload, 0))
    for payload, count in counts.items():
        groups = sum(is_shared(held.filter) and _may(held, said[payload], None, terms) for held in client.held)
        once = (terms.calm or min(said[payload].qos, 2) == best[payload] != 1) and not said[payload].repeated
        if count > 1 + groups and once:
            yield f"{client.name} got {payload!r} {count} times with QoS {best[payload]}."


def _misses(one: Said, clients: list[Client], terms: Terms) -> Iterator[str]:
    for client in clients:
        sure = [held for held in client.held if not is_shared(held.filter) and _must(held, one, client, terms)]
        qos = min(one.qos, max((held.qos for held in sure), default=0))
        if not sure or (qos == 0 and not _was_connected(client, one, terms)):
            continue
        if qos == 0 and not terms.calm:
            continue
        if not any(got.payload == one.payload for got in client.got):
            yield f"{client.name} has not got {one.payload!r} of {one.client} on {one.topic}, QoS {qos}."


def _shared_misses(one: Said, clients: list[Client]) -> Iterator[str]:
    groups = {
        held.filter
        for client in clients
        for held in client.held
        if is_shared(held.filter) and _must(held, one, client, CALM) and _was_connected(client, one, CALM)
    }
    for group in sorted(groups):
        able = [client for client in clients if any(held.filter == group for held in client.held)]
        times = sum(got.payload == one.payload and not got.retain for client in able for got in client.got)
        plain = sum(
            any(not is_shared(held.filter) and _may(held, one, None, CALM) for held in client.held) for client in able
        )
        if times == 0:
            yield f"Nobody of {group} has got {one.payload!r} of {one.client}."
        if times > _groups_of(one, able) + plain and not one.repeated:
            yield f"{times} members of {group} have got {one.payload!r} of {one.client}."


def _groups_of(one: Said, clients: list[Client]) -> int:
    return len({h.filter for c in clients for h in c.held if is_shared(h.filter) and _matches(h, one)})


def _must(held: Held, one: Said, client: Client, terms: Terms) -> bool:
    if not _matches(held, one) or held.granted is None or held.granted > one.at:
        return False
    if held.dropped is not None and held.dropped < one.at + terms.travel:
        return False
    if held.dropped is not None and not _was_connected(client, one, terms):
        return False  # what waited for it may have been given up with the filter
    return bool(client.expiry) or _was_connected(client, one, terms)


def _may(held: Held, one: Said, at: float | None, terms: Terms) -> bool:
    if not _matches(held, one) or (at is not None and held.asked > at):
        return False
    return held.dropped is None or at is None or min(at, one.at) <= held.dropped + terms.travel or not held.gone


def _matches(held: Held, one: Said) -> bool:
    parts = split_shared(held.filter) if is_shared(held.filter) else None
    return matches(parts[1] if parts is not None else held.filter, one.topic)


def _was_accepted(one: Said, clients: list[Client], terms: Terms) -> bool:
    if one.qos:
        return one.acknowledged is not None
    client = next(each for each in clients if each.name == one.client and one in each.said)
    return terms.calm and _was_connected(client, one, terms)


def _was_connected(client: Client, one: Said, terms: Terms) -> bool:
    """All the time in which the publication may have come."""
    return any(start <= one.at and (end is None or end >= one.at + terms.travel) for start, end in client.connected)
