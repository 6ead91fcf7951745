"""Frames: what nodes and the master of a live network say to each other.

Every connection begins with Hello both ways. A frame is a value; frame_codec.py has its bytes.

Nodes are numbers that the master gives out. A topic is a number too, made of the filter that it stands for
(`topic_of`): everybody computes it, and if two filters share one it only costs traffic, for who receives a publication
matches its clients by the publication's name. A node's place on the ring is its ring id.

The plan has versions. A node answers what has one by Applied; when all nodes that a change of interest concerns have
done so, the master tells the node that the interest came from (InPlace), and that node tells its clients. So what is
published anywhere after SUBACK reaches the subscriber.

The order in which the master tells a node of others that fail and return keeps the debt to their sessions right: Down,
then tables without the node, which all answer; when all have, tables with it, then Back.
"""

from dataclasses import dataclass
from enum import IntEnum
from hashlib import blake2b

VERSION = 2

# Who is named by number: nodes from 0 on, and two who are no node. NOBODY stands in frames and records; MASTER is only
# the other end of a connection, and in no frame, so that nobody can say that it is the master, or a node in its name.
NOBODY = -1
MASTER = -2

ALL_NODES = "$weft/all"  # stands for the topic that every node is in: retained messages travel on it


def topic_of(filter_: str) -> int:
    return int.from_bytes(blake2b(filter_.encode(), digest_size=8).digest())


EVERYBODY = topic_of(ALL_NODES)


class Role(IntEnum):
    MASTER = 0
    NODE = 1
    OPERATOR = 2  # a command that asks the master


class Frame:
    __slots__ = ()


# Any, to any


@dataclass(frozen=True, slots=True)
class Hello(Frame):
    version: int
    cluster: str
    role: Role
    name: str = ""
    node: int = NOBODY  # if it has a number already
    incarnation: int = 0  # drawn anew where a node's data folder is
    address: str = ""  # where it takes links


@dataclass(frozen=True, slots=True)
class Refused(Frame):
    """One sentence, and the connection is closed."""

    reason: str


@dataclass(frozen=True, slots=True)
class Ping(Frame):
    token: int


@dataclass(frozen=True, slots=True)
class Pong(Frame):
    token: int


# A node to the master


@dataclass(frozen=True, slots=True)
class Held:
    """A filter that clients of a node hold. A shared one is as the client wrote it, $share/ included."""

    filter: str
    members: int  # sessions that hold it
    persistent: bool  # one of them outlives its connection


@dataclass(frozen=True, slots=True)
class Subscribed:
    """A subscription of a session."""

    filter: str
    options: int  # the byte of SUBSCRIBE
    identifier: int = 0


@dataclass(frozen=True, slots=True)
class Owned:
    """A session at a node. Only of a persistent one are the subscriptions told."""

    client: str
    expiry: int  # seconds that it is kept without a connection; 0 is not persistent
    version: int  # of MQTT
    subscriptions: tuple[Subscribed, ...] = ()
    claim: int = 0  # number of the claim by which the node has it (SessionAt)


@dataclass(frozen=True, slots=True)
class Join(Frame):
    """All that a node has, so that a master that was away learns it."""

    name: str
    incarnation: int
    node: int  # NOBODY at first
    address: str  # where it takes links
    listeners: tuple[str, ...]  # where it takes clients
    plan: int  # the version of the plan that it knows; 0 is none
    held: tuple[Held, ...] = ()
    owned: tuple[Owned, ...] = ()
    links: tuple[int, ...] = ()  # nodes that it is linked with
    sequence: int = 0  # of the last Interest that it has sent


@dataclass(frozen=True, slots=True)
class Interest(Frame):
    """Filters that came, or whose members or persistence changed, and filters that nobody holds any more."""

    sequence: int  # counts up by one
    added: tuple[Held, ...] = ()
    removed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Applied(Frame):
    """All that the master has told this node up to a version is done."""

    version: int


@dataclass(frozen=True, slots=True)
class Confirm(Frame):
    """Question of a node whether it knows all that it should."""

    token: int


@dataclass(frozen=True, slots=True)
class SessionOwned(Frame):
    """A session has come or changed: its subscriptions as they are now where `whole`, else those added."""

    session: Owned
    whole: bool = True
    removed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SessionEnded(Frame):
    client: str
    claim: int  # by which the node had it


@dataclass(frozen=True, slots=True)
class FindWay(Frame):
    """Asks for a way into the tree of an exact or wildcard filter. Answered by Way, again when it changes."""

    filter: str


@dataclass(frozen=True, slots=True)
class ForgetWays(Frame):
    """The node does not want to know these ways any more."""

    filters: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FindSession(Frame):
    """Claims the session of a client: the asker owns it from now on, and is told (SessionAt) who has had it."""

    client: str
    token: int  # comes back in the answer
    is_in: bool = False  # the client has been let in before: what the asker has of the session counts
    is_there: bool = True  # the client is at the asker; it may have left since it was let in


@dataclass(frozen=True, slots=True)
class SessionGathered(Frame):
    """The owner of a session has on its disk what a node had of it."""

    client: str
    node: int


@dataclass(frozen=True, slots=True)
class LinkLost(Frame):
    peer: int


@dataclass(frozen=True, slots=True)
class LinkMade(Frame):
    peer: int
    round_trip: float  # milliseconds


@dataclass(frozen=True, slots=True)
class Measured(Frame):
    """Figures since the last one: publications and bytes of its own clients by filter, and what it counts."""

    rates: tuple[tuple[str, int, int], ...] = ()
    round_trips: tuple[tuple[int, float], ...] = ()  # peer, milliseconds
    counters: tuple[tuple[str, int], ...] = ()  # since the node started


@dataclass(frozen=True, slots=True)
class Leaving(Frame):
    """The node goes in order, and comes back or not."""


@dataclass(frozen=True, slots=True)
class Traced(Frame):
    """Where a traced publication has come to."""

    token: int
    sender: int  # NOBODY where it was issued
    hops: int
    at: float  # seconds since 1970, by this node's clock
    deliveries: int  # clients here that would get it


# The master to a node


@dataclass(frozen=True, slots=True)
class Welcome(Frame):
    node: int
    ring_id: int
    ring_size: int
    cluster: str


@dataclass(frozen=True, slots=True)
class Peer:
    node: int
    name: str
    address: str
    ring_id: int
    is_finger: bool  # of the node that is told
    opens: bool  # the node that is told opens the link


@dataclass(frozen=True, slots=True)
class Peers(Frame):
    """All links that a node is to have from now on, and its place on the ring."""

    version: int
    ring_id: int
    ring_size: int
    peers: tuple[Peer, ...]


@dataclass(frozen=True, slots=True)
class Table:
    topic: int
    neighbours: tuple[int, ...] | None  # None: it is in the tree no more
    safe: bool = False  # the tree only grew, or only shrank: old tables and new reach everyone in any mixture


@dataclass(frozen=True, slots=True)
class Tables(Frame):
    version: int
    tables: tuple[Table, ...]
    whole: bool = False  # these are all: what is not named is taken away


@dataclass(frozen=True, slots=True)
class InPlace(Frame):
    """What Interest up to a sequence asked for has been applied by every node that it concerns."""

    sequence: int


@dataclass(frozen=True, slots=True)
class Confirmed(Frame):
    """Answer to Confirm, behind all that the master had to tell: the node has a lease from when it asked."""

    token: int


@dataclass(frozen=True, slots=True)
class Places(Frame):
    """Where nodes are on the ring from now on: what is for one node alone goes by its place."""

    places: tuple[tuple[int, int], ...]  # node, ring id
    whole: bool = False  # there are no others


@dataclass(frozen=True, slots=True)
class Parted(Frame):
    """The links that are up do not join all nodes: no lease runs any more, until Confirmed."""


@dataclass(frozen=True, slots=True)
class EndOfTurn(Frame):
    """All that the master had to tell this node at a time (turn.py)."""


@dataclass(frozen=True, slots=True)
class Way(Frame):
    """A way into the tree of a filter; none where the node is to find its own."""

    version: int
    filter: str
    is_held: bool  # by any node but the one that is told
    peers: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Holder:
    node: int
    ring_id: int
    members: int


@dataclass(frozen=True, slots=True)
class Listed:
    """A wildcard filter, or a shared one: $share/NAME/FILTER, with the nodes that have members."""

    filter: str
    holders: tuple[Holder, ...] = ()  # of a shared one only


@dataclass(frozen=True, slots=True)
class Filters(Frame):
    """All wildcard and shared filters of the network. Shared ones have no tree: a member's node is sent to directly."""

    version: int
    added: tuple[Listed, ...]
    removed: tuple[str, ...] = ()
    whole: bool = False  # these are all


@dataclass(frozen=True, slots=True)
class NeighbourInterests(Frame):
    node: int  # a peer
    added: tuple[int, ...]  # topics
    removed: tuple[int, ...] = ()
    whole: bool = False


@dataclass(frozen=True, slots=True)
class Down(Frame):
    """Tells all nodes: a node is gone and expected back. What its persistent sessions hold is owed to it.

    What its other clients hold is owed for a short time: the node may only be cut off, with its clients connected.
    """

    node: int
    ring_id: int
    filters: tuple[str, ...]  # shared ones as $share/NAME/FILTER: owed where no node that is up has a member
    others: tuple[str, ...] = ()  # that only sessions hold which do not outlive their connection


@dataclass(frozen=True, slots=True)
class Back(Frame):
    node: int
    ring_id: int


@dataclass(frozen=True, slots=True)
class Removed(Frame):
    """A node will not come back: nothing is owed to it."""

    node: int


@dataclass(frozen=True, slots=True)
class SessionAt(Frame):
    """Nodes that have a session, or parts of it, and are not its owner any more: the asker is (FindSession)."""

    token: int  # of FindSession
    claim: int  # counts up: of two that claim a session, the one with the higher number has it
    owner: int = NOBODY  # whose part of it counts: who last had its client; the asker perhaps
    places: tuple[tuple[int, int, bool], ...] = ()  # nodes, their places on the ring, whether they are up
    session: Owned | None = None  # as the directory has it; None where the client is new to the network


@dataclass(frozen=True, slots=True)
class SessionClaimed(Frame):
    """Another node owns the session of a client now, and will ask for what is here."""

    client: str
    is_there: bool = True  # the client is at that node


@dataclass(frozen=True, slots=True)
class Revoked(Frame):
    """Certificates that no node takes any more: all of a name that were issued until a time."""

    names: tuple[tuple[str, float], ...]  # seconds since 1970


@dataclass(frozen=True, slots=True)
class Leave(Frame):
    """The node is to leave the network in order."""


@dataclass(frozen=True, slots=True)
class Trace(Frame):
    """The node is to issue a publication that is followed and delivered to nobody."""

    token: int
    name: str  # of its topic


# A node to a node


class Form(IntEnum):
    WOVEN = 0  # within the tree
    ENTERING = 1  # on its way into the tree
    RANGED = 2  # over the ring, for [low, high)


@dataclass(slots=True)
class Message:
    """A publication on a link. Made for every publication and link, so not frozen."""

    form: Form
    topic: int
    issuer: int
    incarnation: int
    count: int  # numbers the publications of an issuer's incarnation
    hops: int  # this one included
    content: bytes  # content.py
    kept: bool = False  # in custody: wants an acknowledgement
    attempt: int = 0  # of those in custody
    floor: int = 0  # of those in custody: the issuer does not send again what it numbered below
    way: tuple[int, ...] = ()  # ENTERING: the peers that are left of it
    low: int = 0  # RANGED
    high: int = 0
    group: str = ""  # for one member of this shared filter, at the node `low`
    token: int = 0  # of a trace; 0 is none


@dataclass(frozen=True, slots=True)
class Carry(Frame):
    messages: tuple[Message, ...]


@dataclass(slots=True)
class Passing(Frame):
    """A message of QoS 0 that comes alone, within its tree or into it, as most do: bytes that go on as they are.

    Made for every publication and node, so not frozen.
    """

    hops: int  # this one included
    enters: bool  # it comes from outside the tree
    rest: bytes  # topic, issuer, incarnation and count of the message, who has published it, and its PUBLISH of 3.1.1


@dataclass(frozen=True, slots=True)
class Trouble:
    """Comes with an acknowledgement: not everybody has it."""

    sequence: int
    owed: tuple[int, ...]  # nodes that are down and whose sessions want it
    failed: bool  # somebody may have missed it: another attempt is wanted
    unsure: bool  # who passed it on may not know of everybody


@dataclass(frozen=True, slots=True)
class Acked(Frame):
    """Messages in custody that the sender of this, and all whom it passed them to, have done with.

    Both ends of a link number the messages in custody on it, from 1 when it is made.
    """

    ranges: tuple[tuple[int, int], ...]  # both ends included
    troubles: tuple[Trouble, ...] = ()  # of some of them


@dataclass(frozen=True, slots=True)
class Routed(Frame):
    """A frame for a node that is not a peer, over the ring."""

    target: int
    ring_id: int  # of the target
    source: int
    source_ring_id: int
    hops: int
    frame: bytes  # without its length


@dataclass(frozen=True, slots=True)
class FetchSession(Frame):
    """The asking node has claimed the session: disconnect the client, give the session away."""

    client: str
    token: int
    claim: int  # of the asking node (SessionAt)
    clean: bool  # the client wants none: end it
    is_there: (
        bool  # the client is at the asking node; else it has left since, or was there before the node was restarted
    )


@dataclass(frozen=True, slots=True)
class SessionMoved(Frame):
    """A session's records, in as many parts as they need; the giver keeps it until SessionTaken."""

    client: str
    token: int
    part: int  # from 0
    last: bool
    records: tuple[bytes, ...]
    had: tuple[tuple[int, int, int], ...] = ()  # numbers of publications that it was given there, of late
    rest: tuple[tuple[int, int, tuple[str, ...]], ...] = ()  # nodes where more of it waits, ring ids, filters known
    claim: int = 0  # by which the giver had it


@dataclass(frozen=True, slots=True)
class SessionComing(Frame):
    """A session will be given when the giver's disk knows that it has gone, which may take long."""

    client: str
    token: int
    received: tuple[tuple[int, int], ...]  # identifiers of QoS 2 that the client has not released, and checksums of
    # what came under them, whose publications it does know
    whole: bool  # it knows all; others the client would say again, as others, and the giver would pass both on
    given: tuple[tuple[int, int, int], ...] = ()  # numbers of publications that the client was sent there


@dataclass(frozen=True, slots=True)
class SessionTaken(Frame):
    client: str
    token: int


@dataclass(frozen=True, slots=True)
class Graft(Frame):
    """The sender, which does not reach the master, wants to be a neighbour of the receiver's in a topic's tree."""

    topic: int
    further: bool  # a receiver that is not in the tree may get there first, by a peer that is


@dataclass(frozen=True, slots=True)
class Grafted(Frame):
    """The answer: whether the receiver is a neighbour of the sender's in the tree from now on."""

    topic: int
    is_taken: bool


@dataclass(frozen=True, slots=True)
class Ungrafted(Frame):
    """The two are no neighbours in the tree any more, but for what the master's tables say."""

    topic: int


@dataclass(frozen=True, slots=True)
class RetainedDigest(Frame):
    """What a node has of retained messages: a digest of each of 256 parts of the names."""

    digests: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class RetainedSync(Frame):
    """Retained messages, the taking away of some among them, of the parts in which two nodes differ."""

    parts: tuple[int, ...]  # whose contents these are, complete
    contents: tuple[tuple[int, int, int, bytes], ...]  # issuer, incarnation, count, content
    answer: bool  # the receiver is to answer with what it has newer
