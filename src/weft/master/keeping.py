"""Records of what has changed, and a network out of records (record.py has their kinds)."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from weft.master.changes import Changes
from weft.master.directory import filter_of, session_of, session_value
from weft.master.network import Network
from weft.master.quality import Quality
from weft.master.record import Record
from weft.master.roster import State, member_of
from weft.wire.frame import Held


def cluster_record(network: Network) -> Record:
    known = {
        "name": network.cluster,
        "version": network.version,
        "next": network.roster.next_number,
        "claims": network.directory.claims,
    }
    return Record("cluster", "", known)


def records_of(network: Network, changes: Changes) -> list[Record]:
    keys = changes.records | {("tree", topic) for topic in changes.tables}
    ordered = sorted(keys, key=lambda each: (each[0], str(each[1])))
    return [_record(network, kind, key) for kind, key in ordered]


def _record(network: Network, kind: str, key: str | int) -> Record:
    if isinstance(key, int):
        return Record(kind, str(key), _value_of_number(network, kind, key))
    if kind == "node":
        member = network.roster.called(key)
        return Record(kind, key, None) if member is None else member.record()
    if kind == "filter":
        number, pattern = filter_of(key)
        held = network.directory.held.get(number, {}).get(pattern)
        return Record(kind, key, None if held is None else [held.members, held.persistent])
    if kind == "session":
        session = network.directory.sessions.get(key)
        return Record(kind, key, None if session is None else session_value(session))
    if kind == "spare":
        return Record(kind, key, sorted(network.plan.spare) or None)
    return cluster_record(network)


def _value_of_number(network: Network, kind: str, number: int) -> object:
    if kind == "fingers":
        fingers = network.plan.fingers.get(number)
        return None if fingers is None else sorted(fingers)
    if kind == "others":
        return list(network.others.get(number, ())) or None
    tables = network.loom.tree(number)
    return {str(node): sorted(peers) for node, peers in sorted(tables.items())} or None


@dataclass
class Memory:
    """What a master knew before it was restarted, besides who holds what."""

    expected: set[int] = field(default_factory=set)  # nodes that were up
    fingers: dict[int, list[int]] = field(default_factory=dict)
    spare: list[tuple[int, int]] = field(default_factory=list)
    trees: dict[int, dict[int, set[int]]] = field(default_factory=dict)  # topic -> tables
    quality: Quality | None = None
    snapshots: dict[str, list[str]] = field(default_factory=dict)  # fingerprint -> names


def recall(network: Network, records: Iterable[Record]) -> Memory:
    """Fill an empty network with what a store has of nodes, filters and sessions; the rest comes as a value."""
    memory = Memory()
    for record in records:
        _recall(network, memory, record)
    for member in network.roster:
        network.directory.welcome(member.number)
    return memory


def _recall(network: Network, memory: Memory, record: Record) -> None:
    value = record.value
    match record.kind:
        case "cluster":
            network.cluster, network.version = value["name"], value["version"]
            network.roster.next_number = max(network.roster.next_number, value["next"])
            network.directory.claims = value.get("claims", 0)
        case "node":
            network.roster.keep(member_of(value))
            if value["state"] == State.UP:
                memory.expected.add(value["number"])
        case "filter":
            number, pattern = filter_of(record.key)
            network.directory.welcome(number)
            network.directory.hold(number, Held(pattern, *value))
        case "session":
            network.directory.sessions[record.key] = session_of(record.key, value)
        case "others":
            network.others[int(record.key)] = tuple(value)
        case "fingers":
            memory.fingers[int(record.key)] = value
        case "spare":
            memory.spare = [(one, other) for one, other in value]
        case "tree":
            memory.trees[int(record.key)] = {int(node): set(peers) for node, peers in value.items()}
        case "quality":
            memory.quality = Quality(**value)
        case "snapshot":
            memory.snapshots[record.key] = value
