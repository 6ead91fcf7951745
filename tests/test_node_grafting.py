"""Nodes that get into trees without the master: alone with their peers, and in whole networks."""

from collections import deque
from random import Random

import pytest

from weft.broker.deadline import Deadlines
from weft.node.atlas import Atlas
from weft.node.carrier import Carrier
from weft.node.effect import MASTER
from weft.node.figure import Figures
from weft.node.grafting import Grafting
from weft.node.outbox import Outbox
from weft.node.parameters import DEFAULT
from weft.node.seen import Seen
from weft.protocol.custody import Custody
from weft.sim.cluster.cluster import Cluster
from weft.wire.frame import Graft, Grafted, NeighbourInterests, Ungrafted, topic_of

TOPIC = 7


class Place:
    """A node of which there is nothing but its grafts."""

    def __init__(self, node):
        self.atlas, self.outbox, self.deadlines = Atlas(), Outbox(), Deadlines()
        self.atlas.node = node
        figures, seen = Figures(), Seen(60.0)
        self.carrier = Carrier(self.atlas, Custody(), seen, figures, DEFAULT)
        self.grafting = Grafting(self.atlas, self.carrier, self.outbox, self.deadlines, 1.0, lambda: None)

    @property
    def table(self):
        return self.carrier.router.tables.get(TOPIC)

    @property
    def branch(self):
        return self.grafting._branches.get(TOPIC)


class Peers:
    """Nodes with links that keep the order of frames, and lose them when they break."""

    def __init__(self, links, tree=(), holders=()):
        """Members of the tree are a row; the nodes linked with a holder know that it holds the filter."""
        self.now = 0.0
        self.places = {node: Place(node) for node in sorted({node for each in links for node in each})}
        self.wires = {}
        for node, before, after in zip(tree, (None, *tree), (*tree[1:], None), strict=False):
            table = frozenset(one for one in (before, after) if one is not None)
            self.places[node].grafting.assign(TOPIC, table, True, 0.0)
        self.holders = set(holders)
        for one, other in links:
            self.link(one, other)

    def link(self, one, other):
        for here, there in ((one, other), (other, one)):
            self.wires[here, there] = deque()
            place = self.places[here]
            place.atlas.up.add(there)
            place.atlas.learn(NeighbourInterests(there, (TOPIC,) if there in self.holders else (), whole=True))
            place.grafting.link(there, self.now)
        self.collect()

    def unlink(self, one, other):
        for here, there in ((one, other), (other, one)):
            del self.wires[here, there]
            self.places[here].atlas.up.discard(there)
        for here, there in ((one, other), (other, one)):
            self.places[here].grafting.unlink(there, self.now)
        self.collect()

    def seek(self, node):
        self.places[node].grafting.seek(TOPIC, self.now)
        self.collect()

    def release(self, node):
        self.places[node].grafting.release(TOPIC, self.now)
        self.collect()

    def assign(self, node, table):
        self.places[node].grafting.assign(TOPIC, table, True, self.now)
        self.collect()

    def collect(self):
        for node, place in self.places.items():
            for told in place.outbox.flush():
                if (node, told.peer) in self.wires:
                    self.wires[node, told.peer].append(told.frame)

    def deliver(self, source, target):
        frame, grafting = self.wires[source, target].popleft(), self.places[target].grafting
        does = {Graft: grafting.take_in, Grafted: grafting.hear, Ungrafted: grafting.end}
        does[type(frame)](source, frame, self.now)
        self.collect()

    def busy(self):
        return sorted(wire for wire, frames in self.wires.items() if frames)

    def drain(self, random=None):
        while busy := self.busy():
            self.deliver(*(random.choice(busy) if random else busy[0]))

    def wait(self, seconds):
        self.now += seconds
        for place in self.places.values():
            place.deadlines.run(self.now)
        self.collect()

    def rest(self):
        for _ in range(20):
            self.drain()
            self.wait(1.0)
        self.drain()

    def tables(self):
        return {node: set(place.table) for node, place in self.places.items() if place.table is not None}

    def check(self):
        """Both ends know of each graft, and everybody who has one hangs from the master's tree."""
        for node, place in self.places.items():
            branch = place.branch
            host = branch.host if branch is not None else None
            if host is not None:
                assert node in self.places[host].branch.guests
            for guest in branch.guests if branch is not None else ():
                assert self.places[guest].branch.host == node
            if place.table is not None:
                assert self.root(node) is not None

    def root(self, node):
        passed = []
        while self.places[node].grafting.table(TOPIC) is None:
            assert node not in passed, f"{passed} hang from each other"
            passed.append(node)
            node = self.places[node].branch.host
        return node


def test_who_holds_a_filter_takes_a_peer_into_the_tree():
    peers = Peers([(0, 1), (1, 2)], tree=[0], holders=[0])
    peers.seek(1)
    peers.drain()
    assert peers.tables() == {0: {1}, 1: {0}}


def test_a_tree_is_found_by_a_peer_that_is_in_it_as_a_relay():
    peers = Peers([(0, 1), (1, 2), (2, 3)], tree=[0, 1], holders=[0])
    peers.seek(2)
    peers.drain()
    assert peers.tables() == {0: {1}, 1: {0, 2}, 2: {1}}


def test_a_tree_is_found_by_a_peer_of_a_peer_and_left_again():
    peers = Peers([(0, 1), (1, 2), (2, 3)], tree=[0], holders=[0])
    peers.seek(2)
    peers.drain()
    assert peers.tables() == {0: {1}, 1: {0, 2}, 2: {1}}
    peers.release(2)
    peers.drain()
    assert peers.tables() == {0: set()}
    assert all(len(place.grafting) == 0 for place in peers.places.values())


def test_a_tree_that_is_three_links_away_is_not_found_until_there_is_a_link():
    peers = Peers([(0, 1), (1, 2), (2, 3)], tree=[0], holders=[0])
    peers.seek(3)
    peers.rest()
    assert peers.tables() == {0: set()}
    assert len(peers.places[2].grafting) == len(peers.places[1].grafting) == 0
    peers.link(1, 3)
    peers.drain()
    assert peers.tables() == {0: {1}, 1: {0, 3}, 3: {1}}


def test_a_peer_that_does_not_answer_is_passed_by():
    peers = Peers([(0, 2), (1, 2)], tree=[0, 1], holders=[0, 1])
    peers.seek(2)
    peers.wires[2, 0].clear()
    peers.wait(1.0)
    peers.drain()
    assert peers.tables()[2] == {1}


def test_who_loses_its_host_finds_another_and_so_do_its_guests():
    peers = Peers([(0, 1), (1, 2), (2, 3), (0, 3)], tree=[0], holders=[0])
    peers.seek(1)
    peers.seek(2)
    peers.drain()
    assert peers.tables() == {0: {1}, 1: {0, 2}, 2: {1}}
    peers.unlink(0, 1)
    peers.rest()
    peers.check()
    assert peers.tables()[2] == {3}
    assert peers.tables()[3] == {0, 2}


def test_a_graft_stays_beside_the_masters_tables_until_the_filter_is_in_place():
    peers = Peers([(0, 1), (0, 2), (1, 2)], tree=[0, 2], holders=[0])
    one, zero = peers.places[1], peers.places[0]
    peers.seek(1)
    peers.drain()
    one.grafting.assign(TOPIC, frozenset({2}), True, 1.0)
    zero.grafting.assign(TOPIC, frozenset({2}), True, 1.0)
    assert (one.table, zero.table) == ({0, 2}, {1, 2})
    one.grafting.settle({TOPIC}, 1.0)
    assert one.table == {0, 2}
    one.grafting.settle(set(), 1.0)
    peers.collect()
    peers.drain()
    assert (one.table, zero.table) == ({2}, {2})
    assert len(one.grafting) == len(zero.grafting) == 0


def test_a_node_that_the_master_takes_out_of_a_tree_sends_its_guests_away():
    peers = Peers([(0, 1), (1, 2), (0, 2)], tree=[0, 2], holders=[0])
    peers.seek(1)
    peers.drain()
    peers.places[0].grafting.assign(TOPIC, None, True, 1.0)
    peers.collect()
    peers.rest()
    assert peers.tables() == {1: {2}, 2: {0, 1}}


def test_nobody_asks_while_the_master_is_there():
    peers = Peers([(0, 1)], tree=[0], holders=[0])
    peers.places[1].atlas.up.add(MASTER)
    peers.seek(1)
    assert not peers.busy()


def test_one_that_was_asked_twice_is_one_host():
    peers = Peers([(0, 1), (1, 2)], tree=[0], holders=[0])
    peers.seek(1)
    peers.wait(1.0)  # 0 is slow, and is asked again
    assert len(peers.wires[1, 0]) == 2
    peers.rest()
    peers.check()
    assert peers.tables() == {0: {1}, 1: {0}}


def test_who_is_known_to_hold_a_filter_answers_at_once():
    """Though it is not in the tree itself, and could ask; it is asked to in a second round."""
    peers = Peers([(0, 1), (1, 2)], tree=[0], holders=[0, 1])
    peers.seek(2)
    peers.deliver(2, 1)
    assert list(peers.wires[1, 2]) == [Grafted(TOPIC, False)]
    peers.drain()
    assert peers.tables() == {0: {1}, 1: {0, 2}, 2: {1}}


def test_who_looks_for_a_tree_beyond_those_who_hold_the_filter_lets_nobody_wait():
    peers = Peers([(0, 1), (1, 2), (1, 3)], holders=[0])
    peers.seek(1)
    while peers.wires[1, 0] or peers.wires[0, 1]:
        peers.deliver(*peers.busy()[0])
    assert list(peers.wires[1, 2]) == [Graft(TOPIC, True)]
    peers.seek(3)
    peers.deliver(3, 1)
    assert list(peers.wires[1, 3]) == [Grafted(TOPIC, False)]


def test_a_refusal_is_not_taken_for_the_end_of_a_graft():
    """Two ask each other, and one is in the tree by the time that it is asked; the other has refused it before."""
    peers = Peers([(1, 2), (2, 3)], tree=[3])
    peers.seek(2)
    peers.wait(0.5)
    peers.seek(1)
    peers.wait(0.5)  # 2 asks 3
    peers.deliver(2, 3)
    peers.deliver(3, 2)
    peers.deliver(2, 1)
    peers.drain()
    peers.check()
    assert peers.tables() == {1: {2}, 2: {1, 3}, 3: {2}}


def test_a_host_that_refuses_is_a_host_no_more():
    """A yes to what was asked before comes when it is asked again, and it has lost the tree when it hears that."""
    peers = Peers([(1, 2)], tree=[1], holders=[1])
    peers.seek(2)
    peers.wait(1.0)
    peers.wait(1.0)  # 1 was asked twice, and is not waited for any more
    peers.deliver(2, 1)
    peers.deliver(1, 2)  # so 2 says that it is gone,
    peers.seek(2)  # and asks again
    peers.deliver(2, 1)
    peers.deliver(1, 2)
    assert peers.tables() == {1: {2}, 2: {1}}
    peers.deliver(2, 1)
    peers.assign(1, None)
    peers.drain()
    assert peers.tables() == {}


def test_a_peer_whose_link_is_lost_is_not_waited_for():
    peers = Peers([(0, 1), (1, 2)], tree=[0], holders=[0])
    peers.seek(2)
    peers.deliver(2, 1)
    peers.unlink(1, 2)
    peers.drain()
    assert peers.tables() == {0: set()}


def test_who_is_given_a_table_asks_nobody_else_and_is_no_guest_of_its_guest():
    peers = Peers([(1, 2), (1, 3)], holders=[1])
    peers.seek(1)
    peers.wires[1, 2].clear()  # 2 does not answer, and 3 would be next
    peers.assign(1, frozenset())
    peers.seek(3)
    peers.rest()
    peers.check()
    assert peers.tables() == {1: {3}, 3: {1}}
    peers.release(3)
    peers.release(1)
    peers.drain()
    assert all(len(place.grafting) == 0 for place in peers.places.values())


def test_who_is_given_a_table_takes_in_those_who_wait():
    peers = Peers([(0, 1), (1, 2)], holders=[0])
    peers.seek(2)
    peers.deliver(2, 1)
    peers.assign(1, frozenset())
    peers.drain()
    peers.check()
    assert peers.tables() == {1: {2}, 2: {1}}


def test_a_host_that_waited_to_be_a_guest_does_not_become_one():
    """The host got into the tree while it waited."""
    peers = Peers([(0, 2), (1, 2)], holders=[0, 1])
    peers.seek(2)
    peers.seek(1)
    peers.deliver(1, 2)
    peers.assign(1, frozenset())
    peers.drain()
    peers.check()
    assert peers.tables() == {1: {2}, 2: {1}}


@pytest.mark.parametrize("seed", range(40))
def test_grafts_hold_together_whatever_happens(seed):
    """Nodes seek and release, links and tables come and go, frames are slow; then all rests."""
    random = Random(seed)
    nodes = random.randint(4, 8)
    links = [(one, other) for one in range(nodes) for other in range(one) if random.random() < 0.5]
    row = [(node, node + 1) for node in range(nodes - 1)]
    tree = list(range(random.randint(1, 3)))
    holders = tree[::2] + [node for node in range(len(tree), nodes) if random.random() < 0.5]
    peers = Peers(row + [each for each in links if each[0] - each[1] > 1], tree, holders)
    for _ in range(150):
        one, other = sorted(random.sample(range(nodes), 2))
        does = random.random()
        if does < 0.15:
            peers.seek(random.randrange(len(tree), nodes))
        elif does < 0.2:
            peers.release(one)
        elif does < 0.25:
            (peers.unlink if (one, other) in peers.wires else peers.link)(one, other)
        elif does < 0.3:
            peers.assign(random.randrange(len(tree), nodes), random.choice([None, frozenset()]))
        elif does < 0.4:
            peers.wait(random.uniform(0.0, 1.0))
        elif busy := peers.busy():
            peers.deliver(*random.choice(busy))
    peers.rest()
    peers.check()
    for node in range(len(tree), nodes):
        peers.assign(node, None)
    peers.rest()
    peers.check()
    for node in range(nodes):
        peers.places[node].grafting.settle(set(), peers.now)
    peers.collect()
    peers.rest()
    assert sorted(peers.tables()) == tree
    assert all(len(place.grafting) == 0 for place in peers.places.values())


# In networks


def payloads(client):
    return [one.payload for one in client.got]


def assert_no_grafts(world):
    loom = world.direction.master.network.loom
    for process in world.nodes:
        node = process.node
        assert len(node.grafting) == 0
        assert node.parts.carrier.router.tables == loom.tables(node.number)


def test_without_the_master_a_subscription_works_through_a_member():
    """Publishers are in the tree, have a way to it, or none, and what they say comes at once, of any QoS."""
    world = Cluster(6, seed=3)
    world.start()
    old, new = world.client("old", 1), world.client("new", 3)
    writers = [world.client(f"w{number}", number) for number in range(6)]
    world.subscribe(old, "t")
    world.subscribe(old, "a/+")
    for number in (0, 1, 2):
        writers[number].publish("t", b"before")
        writers[number].publish("a/b", b"before")
    world.wait(1.0)
    world.direction.crash()
    world.subscribe(new, "t")
    world.subscribe(new, "a/+")
    for number, writer in enumerate(writers):
        writer.publish("t", b"t%d" % number, number % 3)
        writer.publish("a/b", b"a%d" % number, number % 3)
    world.wait(1.0)
    assert sorted(payloads(new)) == sorted(b"%s%d" % (name, number) for name in (b"a", b"t") for number in range(6))
    assert len(payloads(old)) == 18
    world.direction.start()
    world.settle()
    world.wait(6.0)
    assert_no_grafts(world)
    writers[1].publish("t", b"later")
    world.wait(1.0)
    assert payloads(new)[12:] == [b"later"]


def test_a_member_that_is_no_peer_is_found_by_a_peer():
    world = Cluster(20, seed=1)
    world.start()
    nodes = [process.node for process in world.nodes]
    linked = nodes[0].atlas.up
    far = next(number for number, node in enumerate(nodes) if number and node.number not in linked)
    old, new, writer = world.client("old", 0), world.client("new", far), world.client("writer", 0)
    world.subscribe(old, "t")
    world.direction.crash()
    world.subscribe(new, "t")
    assert nodes[far].parts.carrier.router.tables[topic_of("t")]
    writer.publish("t", b"hi")
    world.wait(1.0)
    assert payloads(new) == [b"hi"]
    world.direction.start()
    world.settle()
    world.wait(2.0)
    assert_no_grafts(world)


def test_a_member_that_ends_is_replaced_and_nothing_is_missed():
    world = Cluster(4, seed=5)
    world.start()
    olds = [world.client(f"old{number}", number) for number in (1, 2)]
    new, writer = world.client("new", 3), world.client("writer", 0)
    for old in olds:
        world.subscribe(old, "t", 1)
    writer.publish("t", b"before", 1)
    world.wait(1.0)
    world.direction.crash()
    world.subscribe(new, "t", 1)
    topic = topic_of("t")
    (host,) = world.nodes[3].node.parts.carrier.router.tables[topic]
    process = next(one for one in world.nodes if one.node.number == host)
    writer.publish("t", b"1", 1)
    world.wait(1.0)
    process.crash()
    for number in range(2, 12):
        writer.publish("t", b"%d" % number, 1)
        world.wait(0.5)
    assert world.nodes[3].node.parts.carrier.router.tables[topic]
    assert host not in world.nodes[3].node.parts.carrier.router.tables[topic]
    assert payloads(new) == [b"%d" % number for number in range(1, 12)]
