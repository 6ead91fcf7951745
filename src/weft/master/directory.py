"""Filters and the nodes whose clients hold them, sessions and where they are.

A topic of the overlay is a filter that somebody holds, under the number that everybody computes from it. Two filters
may have the same number by a rare chance: they share a tree then, and receivers match names anyway. Shared filters have
no tree and are no topics: who has members is told to all nodes.

A session has one owner, the node that claimed it last, which says what it is like when it has heard the answer to its
claim. Until then who had it before (`teller`) still does, unless the client has been let in by the owner: it may be
there, for a claim may come late, when who made it wants it no more. Nobody else changes what is known of it. What other
nodes still have of it (`rest`) is known until the owner has it on its disk: whoever claims it next, or claims it again
since it has not heard, is told of all of them.
"""

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any

from weft.master.belief import require_count
from weft.wire.frame import NOBODY, Held, Owned, Subscribed, topic_of
from weft.wire.mqtt.topic import is_shared, is_wild
from weft.wire.weight import weight_of, weight_of_all


def is_listed(pattern: str) -> bool:
    """Whether all nodes are told of a filter."""
    return is_wild(pattern) or is_shared(pattern)


@dataclass(frozen=True, slots=True)
class Session:
    node: int  # NOBODY where its owner has lost it, and others have parts of it
    owned: Owned
    rest: tuple[int, ...]  # nodes that have parts of it, those who had it last first
    claim: int  # number of the claim by which its owner has it
    teller: int  # who last had its client, and says what it is like

    @property
    def place(self) -> int:
        """The node whose part of it counts: who last had its client, unless the owner has that by now."""
        return self.teller if self.teller in self.rest else self.node


class Sessions(dict[str, Session]):
    """Where the session of each client is, and what those of each node weigh."""

    def __init__(self) -> None:
        super().__init__()
        self.weights: Counter[int] = Counter()  # by node

    def __setitem__(self, client: str, session: Session) -> None:
        self._weigh(client, -1)
        super().__setitem__(client, session)
        self._weigh(client, 1)

    def __delitem__(self, client: str) -> None:
        self._weigh(client, -1)
        super().__delitem__(client)

    def _weigh(self, client: str, times: int) -> None:
        session = self.get(client)
        if session is not None:
            self.weights[session.node] += times * weight_of_session(session.owned)
            if not self.weights[session.node]:
                del self.weights[session.node]


def weight_of_session(owned: Owned) -> int:
    return weight_of(owned.client) + weight_of_all(one.filter for one in owned.subscriptions)


@dataclass
class Directory:
    held: dict[int, dict[str, Held]] = field(default_factory=dict)  # node -> by filter
    holders: dict[str, set[int]] = field(default_factory=dict)  # filter -> nodes
    names: dict[int, set[str]] = field(default_factory=dict)  # topic -> filters
    interests: dict[int, set[int]] = field(default_factory=dict)  # node -> topics
    sessions: Sessions = field(default_factory=Sessions)  # by client
    claims: int = 0  # of sessions, so far
    _weights: Counter[int] = field(default_factory=Counter)  # of filters, by node

    def weight(self, node: int) -> int:
        """What a node has stated of its clients (wire/weight.py)."""
        return self._weights[node] + self.sessions.weights[node]

    def welcome(self, node: int) -> None:
        self.held.setdefault(node, {})
        self.interests.setdefault(node, set())

    def hold(self, node: int, held: Held) -> int | None:
        """The topic, if it is new to the node."""
        pattern = held.filter
        if pattern not in self.held[node]:
            self._weights[node] += weight_of(pattern)
        self.held[node][pattern] = held
        self.holders.setdefault(pattern, set()).add(node)
        if is_shared(pattern):
            return None
        topic = topic_of(pattern)
        self.names.setdefault(topic, set()).add(pattern)
        if topic in self.interests[node]:
            return None
        self.interests[node].add(topic)
        return topic

    def release(self, node: int, pattern: str) -> int | None:
        """The topic, if the node subscribes to it no more."""
        if self.held[node].pop(pattern, None) is None:
            return None
        self._weights[node] -= weight_of(pattern)
        self.holders[pattern].discard(node)
        if not self.holders[pattern]:
            del self.holders[pattern]
        return None if is_shared(pattern) else self._given_up(node, pattern)

    def forget(self, node: int) -> None:
        """A node and its sessions are no more."""
        for pattern in list(self.held.get(node, ())):
            self.release(node, pattern)
        self.held.pop(node, None)
        self._weights.pop(node, None)
        self.interests.pop(node, None)
        for client in self.clients(node):
            self.lose(client)
        for client, session in self.sessions.items():
            if node in session.rest:
                self.sessions[client] = replace(session, rest=_without(session.rest, node))

    def clients(self, node: int) -> list[str]:
        """The clients whose sessions are there."""
        return [client for client, session in self.sessions.items() if session.node == node]

    def may_change(self, node: int, client: str, claim: int) -> bool:
        """Whether a node may say that a session has ended: it is its own, by its last claim."""
        session = self.sessions.get(client)
        return session is None or (session.node in (node, NOBODY) and session.claim <= claim)

    def own(self, node: int, owned: Owned) -> bool:
        """Note what a node says that a session is like, if it may say so."""
        require_count(owned.claim, self.claims)
        session = self.sessions.get(owned.client)
        if self.may_change(node, owned.client, owned.claim):
            self.claims = max(self.claims, owned.claim)  # of a master that has forgotten some
            rest = () if session is None else _without(session.rest, node)
            self.sessions[owned.client] = Session(node, owned, rest, owned.claim, node)
            return True
        assert session is not None
        is_teller = owned.claim == session.owned.claim and node == session.teller
        if node not in session.rest or not (is_teller or owned.claim > session.owned.claim):
            return False
        self.sessions[owned.client] = replace(session, owned=owned, teller=node)
        return True

    def claim(self, node: int, client: str, is_in: bool = False) -> tuple[int, ...]:
        """Make a node the owner, where its client may have been let in. Who else has parts of the session."""
        session = self.sessions.get(client)
        self.claims += 1
        if session is None:
            self.sessions[client] = Session(node, Owned(client, 0, 4), (), self.claims, NOBODY)
            return ()
        before = (session.node,) if session.node != NOBODY else ()
        rest = _without(tuple(dict.fromkeys(before + session.rest)), node)
        owned, teller = session.owned, session.teller
        if is_in:
            owned, teller = replace(owned, claim=self.claims), node
        self.sessions[client] = Session(node, owned, rest, self.claims, teller)
        return rest

    def gather(self, node: int, client: str, other: int) -> None:
        """The owner has what another node had of a session."""
        session = self.sessions.get(client)
        if session is not None and session.node in (node, NOBODY):
            self.sessions[client] = replace(session, rest=_without(session.rest, other))
            if session.node == NOBODY:
                self.lose(client)

    def lose(self, client: str) -> None:
        """The owner does not have it any more."""
        session = self.sessions[client]
        if session.rest and session.owned.expiry:
            self.sessions[client] = replace(session, node=NOBODY)
        else:
            del self.sessions[client]

    def owed(self, node: int) -> tuple[str, ...]:
        """The filters of its persistent sessions."""
        return tuple(sorted(pattern for pattern, held in self.held[node].items() if held.persistent))

    def keeps(self, node: int) -> bool:
        """Whether sessions are kept there, or parts of them that their owner does not have yet."""
        kept = (session for session in self.sessions.values() if session.owned.expiry)
        return bool(self.owed(node)) or any(node in (session.node, *session.rest) for session in kept)

    def name_of(self, topic: int) -> str:
        return min(self.names.get(topic, {f"{topic:#018x}"}))

    def _given_up(self, node: int, pattern: str) -> int | None:
        topic = topic_of(pattern)
        if pattern not in self.holders:
            self.names[topic].discard(pattern)
            if not self.names[topic]:
                del self.names[topic]
        if any(other in self.held[node] for other in self.names.get(topic, ())):
            return None
        self.interests[node].discard(topic)
        return topic


def _without(nodes: tuple[int, ...], node: int) -> tuple[int, ...]:
    return tuple(one for one in nodes if one != node)


def filter_key(node: int, pattern: str) -> str:
    """What a store knows a node's filter by."""
    return f"{node} {pattern}"


def filter_of(key: str) -> tuple[int, str]:
    node, _, pattern = key.partition(" ")
    return int(node), pattern


def session_value(session: Session) -> dict[str, Any]:
    owned = session.owned
    subscriptions = [[one.filter, one.options, one.identifier] for one in owned.subscriptions]
    return {
        "node": session.node,
        "expiry": owned.expiry,
        "version": owned.version,
        "subscriptions": subscriptions,
        "rest": list(session.rest),
        "claim": session.claim,
        "teller": session.teller,
        "told": owned.claim,
    }


def session_of(client: str, value: dict[str, Any]) -> Session:
    subscriptions = tuple(Subscribed(*row) for row in value["subscriptions"])
    owned = Owned(client, value["expiry"], value["version"], subscriptions, value["told"])
    return Session(value["node"], owned, tuple(value["rest"]), value["claim"], value["teller"])
