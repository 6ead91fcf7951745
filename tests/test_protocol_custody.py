"""Custody: an issuer knows when everybody has its publication, and never believes it too early."""

import itertools
from collections import deque
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from weft.protocol.custody import Conclusion, Custody, ranges_of

KEY = "publication"


class Flood:
    """Nodes that pass a publication on to all neighbours the first time, and to some of them later, as routers may.

    What is on a link arrives in order; between links anything may come first. Disks are synced when the seed says so.
    """

    def __init__(self, nodes, seed):
        self.random = Random(seed)
        self.nodes = range(nodes)
        self.custody = [Custody() for _ in self.nodes]
        self.has = set()  # on its disk
        self.position = [0] * nodes
        self.links = {}
        for one in self.nodes:
            for other in {(one + 1) % nodes, self.random.randrange(nodes)} - {one}:
                self.links[one, other], self.links[other, one] = deque(), deque()
        for one, other in self.links:
            self.custody[one].open(other)
        self.concluded = []

    def begin(self):
        self.custody[0].begin(KEY)
        self.has.add(0)
        self.spread(0)
        self.flush(0)

    def spread(self, node):
        for one, other in list(self.links):
            if one == node:
                self.custody[node].send(other, KEY, "message")
                self.links[one, other].append("message")

    def receive(self, node, sender):
        self.custody[node].receive(sender, KEY)
        if node not in self.has and not self.position[node]:
            self.position[node] = 1
            self.spread(node)
        elif self.random.random() < 0.1 and (peers := [other for one, other in self.links if one == node]):
            peer = self.random.choice(peers)
            self.custody[node].send(peer, KEY, "again")
            self.links[node, peer].append("again")
        self.custody[node].keep(KEY, self.position[node])

    def step(self):
        """Something happens; False where nothing is left to happen."""
        ready = [ends for ends, queue in self.links.items() if queue]
        waiting = [node for node in self.nodes if self.position[node] and node not in self.has]
        if not ready and not waiting:
            return False
        if waiting and (not ready or self.random.random() < 0.3):
            node = self.random.choice(waiting)
            self.has.add(node)
            self.custody[node].sync(1)
        else:
            sender, node = self.random.choice(ready)
            said = self.links[sender, node].popleft()
            if isinstance(said, str):
                self.receive(node, sender)
            else:
                self.custody[node].acknowledge(sender, *said)
        self.flush(node)
        return True

    def flush(self, node):
        self.concluded += [(node, one) for one in self.custody[node].conclusions()]
        for peer, ranges, troubles in self.custody[node].acknowledgements():
            told = [(sequence, tuple(owed), *rest) for sequence, owed, *rest in troubles]
            self.links[node, peer].append((ranges, told))
        self.custody[node].check_invariants()

    def cut(self):
        one, other = self.random.choice(list(self.links))
        del self.links[one, other], self.links[other, one]
        for node, peer in ((one, other), (other, one)):
            self.custody[node].lose(peer)
            self.flush(node)


@given(st.integers(2, 8), st.integers(0, 10**6))
def test_the_issuer_hears_when_everybody_has_it_on_its_disk(nodes, seed):
    flood = Flood(nodes, seed)
    flood.begin()
    while not flood.concluded and flood.step():
        pass
    assert flood.concluded == [(0, Conclusion(KEY, frozenset(), False))]
    assert flood.has == set(flood.nodes)
    assert not any(queue and isinstance(queue[0], str) for queue in flood.links.values())
    while flood.step():
        pass
    assert [len(custody) for custody in flood.custody] == [0] * nodes


@given(st.integers(3, 8), st.integers(0, 10**6), st.integers(0, 40))
def test_where_a_link_was_lost_the_issuer_hears_that_too_or_everybody_has_it(nodes, seed, when):
    flood = Flood(nodes, seed)
    flood.begin()
    for _ in range(when):
        flood.step()
    flood.cut()
    while flood.step():
        pass
    ((_, conclusion),) = flood.concluded
    assert conclusion.failed or flood.has == set(flood.nodes)
    assert [len(custody) for custody in flood.custody] == [0] * nodes


def test_nodes_that_are_owed_are_named_with_the_acknowledgement():
    issuer, relay = Custody(), Custody()
    issuer.open(1)
    relay.open(0)
    issuer.begin(KEY)
    issuer.send(1, KEY, "message")
    relay.receive(0, KEY)
    relay.owe(KEY, [7])
    assert relay.conclusions() == []
    ((peer, ranges, troubles),) = relay.acknowledgements()
    assert (peer, ranges, troubles) == (0, ((1, 1),), [(1, frozenset({7}), False, False)])
    issuer.owe(KEY, [8])
    issuer.acknowledge(1, ranges, troubles)
    assert issuer.conclusions() == [Conclusion(KEY, frozenset({7, 8}), False)]


def test_the_issuer_hears_that_a_relay_may_not_know_of_everybody():
    issuer, relay = Custody(), Custody()
    issuer.open(1)
    relay.open(0)
    issuer.begin(KEY)
    issuer.send(1, KEY, "message")
    relay.receive(0, KEY)
    relay.doubt(KEY)
    assert relay.conclusions() == []
    ((_, ranges, troubles),) = relay.acknowledgements()
    issuer.acknowledge(1, ranges, troubles)
    assert issuer.conclusions() == [Conclusion(KEY, frozenset(), failed=False, unsure=True)]


def test_an_attempt_is_not_over_while_a_message_is_yet_to_be_sent():
    custody = Custody()
    custody.begin(KEY)
    custody.hold(KEY)
    assert custody.conclusions() == []
    custody.release(KEY)
    assert custody.conclusions() == [Conclusion(KEY, frozenset(), False)]


def test_what_is_given_up_is_not_concluded():
    custody = Custody()
    custody.open(1)
    custody.begin(KEY)
    custody.send(1, KEY, "message")
    custody.forget(KEY)
    custody.acknowledge(1, ((1, 1),), [])
    assert custody.conclusions() == []
    assert custody.lose(1) == []


def test_a_link_that_is_made_again_begins_anew():
    custody = Custody()
    custody.open(1)
    custody.begin(KEY)
    custody.send(1, KEY, "message")
    assert custody.lose(1) == [(KEY, "message")]
    custody.open(1)
    custody.send(1, KEY, "again")
    custody.acknowledge(1, ((1, 1),), [])
    assert custody.conclusions() == [Conclusion(KEY, frozenset(), True)]


@given(st.sets(st.integers(1, 30), min_size=1))
def test_ranges_say_what_numbers_do(numbers):
    ranges = ranges_of(sorted(numbers, key=lambda one: one * 7 % 31))
    assert [one for first, last in ranges for one in range(first, last + 1)] == sorted(numbers)
    assert all(before[1] + 1 < after[0] for before, after in itertools.pairwise(ranges))


def test_a_range_costs_what_it_closes_however_often_and_widely_it_is_said():
    class Counting(dict):
        looked = 0

        def pop(self, *arguments):
            Counting.looked += 1
            return super().pop(*arguments)

    custody = Custody()
    custody.open(2)
    custody.begin("a")
    for _ in range(100):
        custody.send(2, "a", None)
    link = custody._links[2]
    link.open = Counting(link.open)
    custody.acknowledge(2, ((0, 2**62),) * 1000, ())
    assert link.open == {}
    assert Counting.looked == 100
    custody.check_invariants()
