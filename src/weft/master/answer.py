"""Answers to operators, as JSON has them."""

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from weft.errors import WeftError
from weft.master.engine import with_phases
from weft.master.membership import Membership, clock_sentence
from weft.master.network import Network
from weft.master.roster import Member, State
from weft.master.snapshot import Snapshot
from weft.model.overlay import Overlay, overlay_from_links
from weft.wire.frame import Traced, topic_of
from weft.wire.mqtt.topic import is_filter, is_shared, is_wild, matches, split_shared

if TYPE_CHECKING:
    from weft.master.designing import Designing

DAY = 86_400.0
SOON = 14 * DAY  # seconds before a certificate expires from which somebody should look
RENEW = "see in its log why it was not renewed, or give it another from `weft ca`"
ISSUERS = {  # whose certificates nodes need as well, and what is to be done
    "the authority": "make another authority, and give everybody new certificates",
    "the master": "see in its log why it was not renewed",
}


def status(network: Network, membership: Membership, designing: "Designing", now: float) -> dict[str, Any]:
    quality, designed = network.judgement.quality(), designing.designed
    over = network.plan.over_bound()
    busiest = quality.busiest_node
    return {
        "cluster": network.cluster,
        "version": network.version,
        "nodes": [
            _node(network, member) for member in sorted(network.roster, key=lambda member: _natural(member.name))
        ],
        "links": len(network.links),
        "links_up": len(network.made),
        "links_bound": network.plan.bound,
        "links_over_bound": {network.roster[number].name: count for number, count in over.items()},
        "clients": network.traffic.total("connected"),
        "sessions": len(network.directory.sessions),
        "topics": len(network.judgement.topics()),
        "publications_a_second": sum(sum(rates.values()) for rates in network.traffic.rates.values()),
        "relays_a_delivery": quality.relays,
        "relays_a_delivery_measured": _measured(network),
        "relays_a_delivery_designed": None if designed is None else designed.relays,
        "hops": quality.hops,
        "hops_designed": None if designed is None else designed.hops,
        "busiest_node": network.roster[busiest].name if busiest in network.roster else None,
        "busiest_times_mean": quality.busiest,
        "busiest_times_mean_designed": None if designed is None else designed.busiest,
        "parted_topics": network.parted(),
        "redesign": str(designing.redesign.stage),
        "counters": _totals(network),
        "certificate_days": _days(network, membership, now),
        "problems": [*_problems(network, membership, now), *_expiring(network, membership, now)],
    }


def _node(network: Network, member: Member) -> dict[str, Any]:
    number = member.number
    up = [each for each in network.made if number in each]
    counters = network.traffic.counters.get(number, {})
    return {
        "name": member.name,
        "number": number,
        "state": str(member.state),
        "down_since": _time(member.down_since),
        "address": member.address,
        "mqtt": list(member.mqtt),
        "links": len(up),
        "links_wanted": len([each for each in network.links if number in each]),
        "filters": len(network.directory.held.get(number, ())),
        "clients": counters.get("connected", 0),
        "publications_a_second": sum(network.traffic.rates.get(number, {}).values()),
        "filters_owed": len(network.directory.owed(number)) if member.state is State.DOWN else 0,
        "counters": counters,
    }


def _measured(network: Network) -> float | None:
    """What nodes have counted since they started; None where nothing was delivered."""
    delivered = network.traffic.total("delivered")
    return network.traffic.total("relayed") / delivered if delivered else None


def _totals(network: Network) -> dict[str, int]:
    names = sorted({name for counters in network.traffic.counters.values() for name in counters})
    return {name: network.traffic.total(name) for name in names}


def _natural(name: str) -> list[tuple[int, str]]:
    """A key that sorts node-10 behind node-9."""
    return [(int(part), "") if part.isdecimal() else (0, part) for part in re.split(r"(\d+)", name)]


def _problems(network: Network, membership: Membership, now: float) -> list[str]:
    """What an operator should look at, a sentence each."""
    down = [f"{member.name} is down{_since(member)}." for member in network.roster if member.state is State.DOWN]
    full = [
        f"The disk of {member.name} is full: it refuses publications of QoS 1 and 2 until there is room."
        for member in network.roster
        if network.traffic.counters.get(member.number, {}).get("disk_full")
    ]
    late = [
        f"A node has not acknowledged {count:,} publications of {member.name} in time: look at disks and logs."
        for member in network.roster
        if (count := network.traffic.counters.get(member.number, {}).get("late", 0))
    ]
    clocks = [clock_sentence(network.roster[node].name, ahead) for node, ahead in sorted(membership.clocks.items())]
    parted = [f"No links join the subscribers of {name} at the moment." for name in network.parted()[:10]]
    unfetched = network.gathering.late(now, network.woven, network.changed_at)
    apart = [
        f"{_name(network, owner)} has not fetched for a minute what {_name(network, other)} has of {count} sessions: "
        "see the logs of both."
        for (owner, other), count in sorted(unfetched.items())
    ]
    return [*down, *full, *late, *membership.broken, *membership.unreachable.values(), *clocks, *apart, *parted]


def _since(member: Member) -> str:
    return "" if member.down_since is None else f" since {_time(member.down_since)}"


def _time(at: float | None) -> str | None:
    return None if at is None else f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M:%S} UTC"


def _ends(network: Network, membership: Membership) -> dict[str, float]:
    """When certificates expire that are in use: nodes that are not of the network any more need none."""
    strange = {name for name in membership.certificates if network.roster.called(name) is None} - {*ISSUERS}
    return {name: end for name, end in membership.certificates.items() if name not in strange}


def _days(network: Network, membership: Membership, now: float) -> float | None:
    """Days until the first certificate expires; None where there are none."""
    ends = _ends(network, membership).values()
    return round((min(ends) - now) / DAY, 2) if ends else None


def _expiring(network: Network, membership: Membership, now: float) -> list[str]:
    ends = sorted(_ends(network, membership).items(), key=lambda each: each[1])
    return [_expiry_sentence(name, end, now) for name, end in ends if end - now < SOON]


def _expiry_sentence(name: str, end: float, now: float) -> str:
    verb = "expired" if end <= now else "expires"
    return f"The certificate of {name} {verb} on {_time(end)}: {ISSUERS.get(name, RENEW)}."


def explained(network: Network, topic: str) -> dict[str, Any]:
    """The trees that a publication on a topic travels on, or the tree of a filter; hop by hop from its middle."""
    if not is_filter(topic):
        raise WeftError(f"{topic!r} is neither a topic nor a filter: `#` is the last level, and `+` is a whole level.")
    holders = network.directory.holders
    shared = [one for one in sorted(holders) if is_shared(one) and (one == topic or _hears(split_shared(one), topic))]
    return {
        "topic": topic,
        "trees": [_tree(network, one) for one in sorted(holders) if not is_shared(one) and _hears(("", one), topic)],
        "shared": [{"filter": one, "nodes": _names(network, holders[one])} for one in shared],
    }


def _hears(held: tuple[str, str] | None, topic: str) -> bool:
    """Whether a filter behind its group is what was asked for: the same filter, or one that matches a topic."""
    return held is not None and (held[1] == topic or (not is_wild(topic) and matches(held[1], topic)))


def _tree(network: Network, pattern: str) -> dict[str, Any]:
    topic = topic_of(pattern)
    tables, subscribers, root = network.loom.tree(topic), network.loom.subscribers(topic), network.loom.root(topic)
    ends = {*subscribers, root}
    return {
        "filter": pattern,
        "subscribers": len(subscribers),
        "root": None if root is None else _name(network, root),
        "relays": len(tables.keys() - ends),
        "parted": topic in network.loom.parted,
        "members": [
            {"node": network.roster[node].name, "hops": hops, "from": from_, "relay": node not in ends}
            for node, hops, from_ in _walk(network, tables)
        ],
    }


def _walk(network: Network, tables: Mapping[int, Iterable[int]]) -> list[tuple[int, int, str | None]]:
    """All members, each behind the one that it hangs from; parts of a tree one after the other."""
    left, found = set(tables), []
    while left:
        root = max(sorted(left), key=lambda node: len(set(tables[node])))
        todo: list[tuple[int, int, str | None]] = [(root, 0, None)]
        while todo:
            node, hops, from_ = todo.pop()
            left.discard(node)
            found.append((node, hops, from_))
            below = sorted((peer for peer in tables[node] if peer in left), reverse=True)
            todo += [(peer, hops + 1, network.roster[node].name) for peer in below]
    return found


def traced(network: Network, node: int, topic: str, steps: list[tuple[int, Traced]]) -> dict[str, Any]:
    """The way that a publication took. Times are by the clocks of the nodes, from the first on."""
    start = min((step.at for _, step in steps), default=0.0)
    rows = [
        {
            "node": _name(network, here),
            "from": None if step.sender < 0 else _name(network, step.sender),
            "hops": step.hops,
            "milliseconds": round((step.at - start) * 1000, 3),
            "clients": step.deliveries,
        }
        for here, step in sorted(steps, key=lambda each: (each[1].hops, each[1].at, each[0]))
    ]
    reached = len({here for here, step in steps if step.deliveries})
    return {"topic": topic, "from": _name(network, node), "steps": rows, "nodes_with_receivers": reached}


def _name(network: Network, number: int) -> str:
    return network.roster[number].name if number in network.roster else str(number)


def _names(network: Network, numbers: Iterable[int]) -> list[str]:
    return [_name(network, number) for number in sorted(numbers)]


def snapshot_value(snapshot: Snapshot) -> dict[str, Any]:
    instance, publishers = snapshot.instance, snapshot.instance.given_publishers
    matrix = snapshot.latency
    assert instance.node_names is not None
    assert instance.topic_names is not None
    return {
        "nodes": instance.node_names.tolist(),
        "topics": instance.topic_names.tolist(),
        "interest": [instance.interest[node].tolist() for node in range(instance.nodes)],
        "publishers": None
        if publishers is None
        else [publishers.nodes.tolist(), publishers.topics.tolist(), publishers.rates.tolist()],
        "round_trips": None if matrix is None else matrix.matrix.tolist(),
    }


def overlay_for(network: Network, options: Mapping[str, Any], snapshots: Mapping[str, list[str]]) -> Overlay:
    """An overlay of the nodes that are there, out of one that was designed for a snapshot of them."""
    _require_overlay(options)
    names: list[str] | None = options.get("names") or snapshots.get(str(options.get("instance", "")))
    if names is None:
        raise WeftError("The overlay was not made for a snapshot of this network: give the instance that it is of.")
    here = sorted(network.roster[number].name for number in network.woven)
    if len(names) != len(options["ring_ids"]):
        raise WeftError(f"The overlay has {len(options['ring_ids'])} nodes and the instance {len(names)}.")
    if sorted(names) != here:
        strange = sorted(set(names) ^ set(here))
        raise WeftError(
            f"The overlay is of {len(names)} nodes and the network has {len(here)}; {strange[0]} is in one of them "
            "only: take another snapshot, and design for that."
        )
    place = {name: at for at, name in enumerate(here)}
    new = [place[name] for name in names]
    ring_ids = [0] * len(names)
    for old, ring_id in enumerate(options["ring_ids"]):
        ring_ids[new[old]] = ring_id
    sources, targets = ([new[node] for node in options[end]] for end in ("sources", "targets"))
    made = overlay_from_links(len(names), sources, targets, ring_ids=ring_ids, ring_size=options.get("ring_size"))
    return with_phases(made)


def _require_overlay(options: Mapping[str, Any]) -> None:
    """What comes over HTTP may be anything."""
    ring, size = options.get("ring_ids"), options.get("ring_size")
    if ring is None:
        raise WeftError("The overlay has no ring: design one that has, such as swico-even.")
    ends = [options.get("sources"), options.get("targets")]
    if not all(isinstance(each, list) and all(isinstance(one, int) for one in each) for each in (ring, *ends)):
        raise WeftError("The request has no overlay: give ring_ids, sources and targets, lists of numbers.")
    names = options.get("names")
    if names is not None and not (isinstance(names, list) and all(isinstance(one, str) for one in names)):
        raise WeftError("The names of the request are no list of names: give one of each node, or none.")
    if not isinstance(size, int | None) or any(not 0 <= node < len(ring) for each in ends for node in each or ()):
        raise WeftError(f"The overlay names nodes that it does not have: it has {len(ring)}.")
    if len(ends[0] or ()) != len(ends[1] or ()):
        raise WeftError("The overlay has links with one end only: give as many sources as targets.")
