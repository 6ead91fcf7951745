"""A master with nodes that do as they are told and no more, under virtual time. Links come up when both ends know."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import networkx as nx

from weft.master import effect as e
from weft.master.directory import session_value
from weft.master.engine import design_here
from weft.master.keeping import recall
from weft.master.master import Master
from weft.master.network import Network
from weft.master.parameters import Parameters
from weft.master.record import Record
from weft.master.roster import State
from weft.sim.cluster.cluster import START
from weft.wire import frame as w
from weft.wire.frame_codec import FrameReader, encode
from weft.wire.turn import TurnReader

CLUSTER = "test"


@dataclass
class FakeNode:
    name: str
    connection: int
    incarnation: int = 1
    number: int = w.NOBODY
    address: str = ""
    held: dict[str, w.Held] = field(default_factory=dict)
    peers: dict[int, w.Peer] = field(default_factory=dict)
    links: set[int] = field(default_factory=set)
    tables: dict[int, frozenset[int]] = field(default_factory=dict)
    filters: dict[str, w.Listed] = field(default_factory=dict)
    interests: dict[int, set[int]] = field(default_factory=dict)
    ways: dict[str, w.Way] = field(default_factory=dict)
    down: dict[int, tuple[str, ...]] = field(default_factory=dict)
    places: dict[int, int] = field(default_factory=dict)
    ring_id: int = -1
    versions: list[int] = field(default_factory=list)
    in_place: int = 0
    sequence: int = 0
    refused: str = ""
    told: list[w.Frame] = field(default_factory=list)
    reachable: bool = True

    def hear(self, frame: w.Frame) -> None:
        self.told.append(frame)
        version = getattr(frame, "version", None)
        if isinstance(frame, w.Peers | w.Tables | w.Filters | w.Way) and version is not None:
            assert not self.versions or version >= self.versions[-1], "versions are in order"
            self.versions.append(version)
        match frame:
            case w.Refused(reason):
                self.refused = reason
            case w.Welcome(number, ring_id):
                self.number, self.ring_id = number, ring_id
            case w.Peers(_, ring_id, _, peers):
                self.peers, self.ring_id = {peer.node: peer for peer in peers}, ring_id
                self.interests = {node: self.interests.get(node, set()) for node in self.peers}
            case w.Tables(_, tables, whole):
                self.tables = {} if whole else self.tables
                for table in tables:
                    self.tables.pop(table.topic, None)
                    if table.neighbours is not None:
                        self.tables[table.topic] = frozenset(table.neighbours)
            case w.Filters(_, added, removed, whole):
                self.filters = {} if whole else self.filters
                self.filters |= {one.filter: one for one in added}
                for pattern in removed:
                    del self.filters[pattern]
            case w.NeighbourInterests(node, added, removed, whole):
                before = set() if whole else self.interests[node]
                self.interests[node] = (before | set(added)) - set(removed)
            case w.Way() as way:
                self.ways[way.filter] = way
            case w.Down(node, _, filters):
                self.down[node] = filters
            case w.Back(node) | w.Removed(node):
                self.down.pop(node, None)
            case w.Places(places):
                self.places |= dict(places)
            case w.InPlace(sequence):
                assert sequence >= self.in_place
                self.in_place = sequence


class MasterWorld:
    def __init__(self, parameters: Parameters | None = None, delay: float = 0.01) -> None:
        self.parameters = parameters or Parameters(automatic=False)
        self.now = START
        self.master = Master(self.parameters, CLUSTER, self.now)
        self.nodes: dict[str, FakeNode] = {}
        self.connections: dict[int, FakeNode] = {}
        self.store: dict[tuple[str, str], Record] = {}
        self.answers: dict[int, dict] = {}
        self.notes: list[e.Note] = []
        self.closed: list[int] = []
        self._next_connection = 0
        self._turns: dict[int, TurnReader] = {}  # by connection
        self._todo: list[e.Event] = []
        self._busy = False
        self.delay = delay  # seconds until a link is up and told of
        self._later: list[tuple[float, FakeNode, w.Frame]] = []
        self.deaf: set[str] = set()  # nodes whose Applied is withheld
        self.stubborn: set[str] = set()  # nodes that stay when they are told to leave
        self.broken = False  # the master has a defect

    # Driving

    def handle(self, event: e.Event) -> None:
        self._todo.append(event)
        if self._busy:
            return
        self._busy = True
        while self._todo:
            self._carry_out(self.master.handle(self._todo.pop(0), self.now))
        self._busy = False

    def say(self, node: FakeNode, frame: w.Frame) -> None:
        (same,) = FrameReader().feed(encode(frame))
        self.handle(e.Heard(node.connection, same))

    def say_together(self, said: Iterable[tuple[FakeNode, w.Frame]]) -> None:
        """Many frames that wait for the master at the same time."""
        self._busy = True
        for node, frame in said:
            self._carry_out(self.master.handle(e.Heard(node.connection, frame), self.now, more=True))
        self._carry_out(self.master.finish())
        self._busy = False
        while self._todo:
            self.handle(self._todo.pop(0))

    def run(self, seconds: float) -> None:
        end = self.now + seconds
        while (deadline := self._next()) <= end:
            self.now = max(self.now, deadline)
            for _, node, frame in [each for each in self._later if each[0] <= self.now]:
                if node.connection in self.connections and frame.peer in node.links:
                    self._todo.append(e.Heard(node.connection, frame))
            self._later = [each for each in self._later if each[0] > self.now]
            while self._todo:
                self.handle(self._todo.pop(0))
            self._busy = True
            self._carry_out(self.master.on_timer(self.now))
            self._busy = False
            while self._todo:
                self.handle(self._todo.pop(0))
        self.now = end

    def _next(self) -> float:
        times = [at for at, _, _ in self._later]
        deadline = self.master.next_deadline()
        return min([*times, *([] if deadline is None else [deadline])], default=float("inf"))

    def _carry_out(self, effects: Iterable[e.Effect]) -> None:
        for effect in effects:
            match effect:
                case e.Tell(connection, frame):
                    (same,) = FrameReader().feed(encode(frame))
                    turns = self._turns.setdefault(connection, TurnReader())
                    for one in [same] if isinstance(same, w.Hello) else turns.take((same,)):
                        self._tell(connection, one)
                case e.Close(connection):
                    self.closed.append(connection)
                    self._todo.append(e.Closed(connection))
                case e.Keep(records):
                    for record in records:
                        self.store.pop((record.kind, record.key), None)
                        if record.value is not None:
                            self.store[record.kind, record.key] = record
                case e.StartDesign(number, job):
                    self._todo.append(e.Designed(number, design_here(job)))
                case e.Answer(ticket, reply):
                    self.answers[ticket] = reply
                case e.Note():
                    assert effect.event != "defect" or self.broken, effect.detail
                    self.notes.append(effect)

    def _tell(self, connection: int, frame: w.Frame) -> None:
        node = self.connections.get(connection)
        if node is None:
            return
        node.hear(frame)
        if isinstance(frame, w.Peers | w.Tables | w.Filters | w.Way) and node.name not in self.deaf:
            self._todo.append(e.Heard(connection, w.Applied(frame.version)))
        if isinstance(frame, w.Peers):
            self.link(node)
        if isinstance(frame, w.Leave) and node.name not in self.stubborn:
            self._todo.append(e.Heard(connection, w.Leaving()))
            self.nodes.pop(node.name)

    def by_number(self, number: int) -> FakeNode | None:
        return next((node for node in self.nodes.values() if node.number == number), None)

    def link(self, node: FakeNode) -> None:
        for peer in list(node.links - node.peers.keys()):
            node.links.discard(peer)
            other = self.by_number(peer)
            if other is not None:
                other.links.discard(node.number)
        for peer in node.peers.keys() - node.links:
            other = self.by_number(peer)
            if other is not None and node.number in other.peers and node.reachable and other.reachable:
                node.links.add(peer)
                other.links.add(node.number)
                for one, its_peer in ((node, peer), (other, node.number)):
                    self._later.append((self.now + self.delay, one, w.LinkMade(its_peer, 1.5)))

    # What happens

    def connect(self, name: str, hello: w.Hello | None = None) -> FakeNode:
        self._next_connection += 1
        node = FakeNode(name, self._next_connection, address=f"{name}:7000")
        self.connections[self._next_connection] = node
        self.say(node, hello or w.Hello(w.VERSION, "", w.Role.NODE, name))
        return node

    def join(self, name: str, *filters: str, persistent: bool = False, wait: bool = True, **more: object) -> FakeNode:
        node = self.connect(name)
        for key, value in more.items():
            setattr(node, key, value)
        node.held = {one: w.Held(one, 1, persistent) for one in filters}
        if not node.refused:
            self.nodes[name] = node
            self.say_join(node)
        if wait:
            self.run(1.0)
        return node

    def say_join(self, node: FakeNode) -> None:
        held = tuple(node.held.values())
        links = tuple(sorted(node.links))
        self.say(
            node,
            w.Join(
                node.name, node.incarnation, node.number, node.address, ("m:1883",), 0, held, (), links, node.sequence
            ),
        )

    @property
    def connections_open(self) -> set[int]:
        """Connections that the master has not closed."""
        return set(range(1, self._next_connection + 1)) - set(self.closed)

    def mute(self, node: FakeNode) -> None:
        """Have a node do nothing more by itself; its connection stays."""
        del self.connections[node.connection], self.nodes[node.name]

    def handle_closed(self, node: FakeNode) -> None:
        """The connection of a node is gone, and the node is not."""
        del self.connections[node.connection]
        self.handle(e.Closed(node.connection))

    def reconnect(self, node: FakeNode) -> None:
        """The same node on another connection."""
        self._next_connection += 1
        self.connections.pop(node.connection, None)
        node.connection = self._next_connection
        node.versions, node.tables, node.filters, node.interests = [], {}, {}, {}  # it may have missed some
        self.connections[node.connection] = node
        self.say(node, w.Hello(w.VERSION, CLUSTER, w.Role.NODE, node.name, node.number, node.incarnation))
        self.say_join(node)
        for pattern in sorted(node.ways):
            self.say(node, w.FindWay(pattern))

    def subscribe(self, node: FakeNode, *filters: str, persistent: bool = False) -> None:
        node.held |= {one: w.Held(one, 1, persistent) for one in filters}
        node.sequence += 1
        self.say(node, w.Interest(node.sequence, tuple(node.held[one] for one in filters)))

    def unsubscribe(self, node: FakeNode, *filters: str) -> None:
        for one in filters:
            node.held.pop(one, None)
        node.sequence += 1
        self.say(node, w.Interest(node.sequence, (), filters))

    def fail(self, node: FakeNode) -> None:
        """The node is gone without a word: its links are, and its connection."""
        del self.nodes[node.name]
        del self.connections[node.connection]
        self.handle(e.Closed(node.connection))
        for other in list(self.nodes.values()):
            if node.number in other.links:
                other.links.discard(node.number)
                self.say(other, w.LinkLost(node.number))

    def leave(self, node: FakeNode) -> None:
        del self.nodes[node.name]
        for other in self.nodes.values():
            other.links.discard(node.number)
        self.say(node, w.Leaving())

    def ask(self, request: str, **options: object) -> dict:
        ticket = len(self.answers) + 1
        self.handle(e.Asked(ticket, request, options))
        if ticket not in self.answers:
            self.run(2.0)
        return self.answers[ticket]

    def restart(self, lost: bool = False) -> None:
        """The master ends without a word, and starts again with its store, or without."""
        self.master = Master(self.parameters, CLUSTER, self.now)
        self._todo = []
        self._carry_out(self.master.restore([] if lost else list(self.store.values()), self.now))

    # What must hold

    def check(self) -> None:
        """Nodes know what they must: a tree for every topic over its subscribers, their peers, and who is down."""
        self.master.check_invariants()
        up = {node.number: node for node in self.nodes.values()}
        overlay = nx.Graph()
        overlay.add_nodes_from(up)
        overlay.add_edges_from((one, peer) for one, node in up.items() for peer in node.links)
        topics = {w.EVERYBODY: set(up)} if up else {}
        for number, node in up.items():
            for pattern in node.held:
                if not pattern.startswith("$share"):
                    topics.setdefault(w.topic_of(pattern), set()).add(number)
        for topic, subscribers in topics.items():
            self._check_tree(topic, subscribers, up, overlay)
        for number, node in up.items():
            assert set(node.tables) <= topics.keys(), "no tables of topics that nobody holds"
            assert node.links == set(node.peers)
            self._check_node(number, node, up)
        self._check_store()

    def _check_store(self) -> None:
        """A master that began with the store would know what this one does."""
        network, again = self.master.network, Network(self.parameters, CLUSTER)
        memory = recall(again, list(self.store.values()))
        assert list(again.roster) == [replace(member, state=State.DOWN) for member in network.roster]
        assert again.roster.next_number == network.roster.next_number
        assert again.directory.held == network.directory.held
        assert again.directory.claims == network.directory.claims
        assert _sessions(again) == _sessions(network)
        assert again.others == {number: others for number, others in network.others.items() if others}
        assert memory.expected == network.woven
        for number, fingers in network.plan.fingers.items():
            assert memory.fingers[number] == sorted(fingers)
        assert set(memory.spare) == network.plan.spare
        for topic in (*network.judgement.topics(), *([w.EVERYBODY] if network.woven else [])):
            assert memory.trees[topic] == network.loom.tree(topic)

    def _check_tree(self, topic: int, subscribers: set[int], up: dict[int, FakeNode], overlay: nx.Graph) -> None:
        tables = {number: node.tables[topic] for number, node in up.items() if topic in node.tables}
        assert subscribers <= tables.keys()
        tree = nx.Graph()
        tree.add_nodes_from(tables)
        tree.add_edges_from((one, other) for one, peers in tables.items() for other in peers)
        assert all(one in tables[other] and other in tables[one] for one, other in tree.edges())
        assert all(overlay.has_edge(*edge) for edge in tree.edges())
        assert nx.is_tree(tree)
        ends = {*subscribers, self.master.network.loom.root(topic)}
        assert all(tree.degree(node) > 1 for node in tables if node not in ends)

    def _check_node(self, number: int, node: FakeNode, up: dict[int, FakeNode]) -> None:
        bound = self.master.network.plan.bound
        assert len(node.links) <= bound
        assert all(up[other].ring_id == place for other, place in node.places.items() if other in up)
        assert node.in_place == node.sequence
        for peer in node.peers:
            held = {w.topic_of(one) for one in up[peer].held if not one.startswith("$share")}
            assert node.interests[peer] == held
            assert node.peers[peer].ring_id == up[peer].ring_id
            assert node.peers[peer].is_finger == (peer in self.master.network.plan.fingers[number])
            assert node.peers[peer].opens != up[peer].peers[number].opens
        if len(up) > 1:
            after = min(
                (one for one in up.values() if one is not node), key=lambda one: (one.ring_id - node.ring_id) % 2**62
            )
            assert after.number in node.links, "everybody is linked with its successor"
        listed = {one for other in up.values() for one in other.held if "+" in one or "#" in one or "$share" in one}
        assert set(node.filters) == listed
        for pattern, one in node.filters.items():
            if pattern.startswith("$share"):
                holders = {number for number, other in up.items() if pattern in other.held}
                assert {holder.node for holder in one.holders} == holders
        for pattern, way in node.ways.items():
            others = {number for number, other in up.items() if pattern in other.held and other is not node}
            assert way.is_held == bool(others)
            self._check_way(number, pattern, way, up)

    def _check_way(self, number: int, pattern: str, way: w.Way, up: dict[int, FakeNode]) -> None:
        topic, here = w.topic_of(pattern), number
        if way.is_held and topic not in up[number].tables:
            assert way.peers
            for peer in way.peers:
                assert peer in up[here].links
                here = peer
            assert topic in up[here].tables


def _sessions(network: Network) -> dict[str, dict[str, object]]:
    return {client: session_value(session) for client, session in network.directory.sessions.items()}
