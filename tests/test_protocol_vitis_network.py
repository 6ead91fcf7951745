"""A Vitis network under whatever may happen to it: once it is left alone, it delivers everything, exactly once.

Messages take up to a third of a round, so that they cross the rounds' ends, and what happens, happens at any time.
"""

from collections import Counter

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from weft.model.instance import instance_from_pairs
from weft.model.latency import CoordinateLatency
from weft.protocol.router import Left, Publication, Published, Subscribed, Unsubscribed
from weft.protocol.vitis.parameters import Parameters
from weft.sim.record import Record
from weft.sim.vitis_world import schedule_join, vitis_world

NODES, TOPICS = 14, 3
PARAMETERS = Parameters(table=3, small_world=0, view=5, shuffle=3, exponent=0.25, memory=20)
SETTLED = 12  # rounds after which whoever has joined is known, and whoever has failed is not
QUIET = 25  # rounds until everything is delivered and nothing that is gone is remembered

TOPIC = st.integers(0, TOPICS - 1)


class Network(RuleBasedStateMachine):
    @initialize(seed=st.integers(0, 10**6), size=st.sampled_from([1, 2, 5, 13]))
    def begin(self, seed, size):
        rng = np.random.default_rng(seed)
        wanted = rng.random((NODES, TOPICS)) < 0.3
        instance = instance_from_pairs(*np.nonzero(wanted), node_count=NODES, topic_count=TOPICS)
        latency = CoordinateLatency(rng.uniform(0, 200, (NODES, 2)), base=5.0)
        self.record = Record()
        self.new_world = lambda: vitis_world(instance, latency, PARAMETERS, seed, self.record)
        self.world, self.nodes = self.new_world()
        self.interest = {v: set(np.flatnonzero(wanted[v]).tolist()) for v in range(NODES)}
        self.first_interest = {v: set(topics) for v, topics in self.interest.items()}
        self.living, self.failed = set(), set()
        self.unsettled = 0  # rounds
        self.number = 0
        self.least = max(size - 2, 1)  # nodes in the network
        for node in range(size):
            self.enter(node, node // 2 if node else None)
        self.rest(SETTLED)

    def tell(self, node, event):
        self.world.schedule(self.world.now, node, event)
        self.world.run(until=self.world.now)

    def rest(self, rounds):
        until = self.world.now + rounds * PARAMETERS.period
        self.world.run(until=until)
        self.world.now = until
        self.world.check_invariants()
        self.unsettled = max(self.unsettled - rounds, 0)

    def say(self, node, topic):
        self.number += 1
        publication = Publication(node, self.number, topic)
        self.tell(node, Published(publication))
        return publication

    def enter(self, node, contact):
        schedule_join(self.world, self.nodes, self.world.now, node, contact)
        self.world.run(until=self.world.now)
        self.living.add(node)
        self.unsettled = SETTLED

    def restart(self, node):
        """Start a node again, which remembers nothing but its interest."""
        self.nodes[node] = self.new_world()[1][node]
        self.world.restart(node, self.nodes[node])
        self.failed.discard(node)
        for topic in self.interest[node] - self.first_interest[node]:
            self.tell(node, Subscribed(topic))
        for topic in self.first_interest[node] - self.interest[node]:
            self.tell(node, Unsubscribed(topic))

    @rule(rounds=st.sampled_from([0.2, 0.9, 2, 5]))
    def time_passes(self, rounds):
        self.rest(rounds)

    @precondition(lambda self: len(self.living) < NODES)
    @rule(data=st.data())
    def join(self, data):
        node = data.draw(st.sampled_from(sorted(set(range(NODES)) - self.living)))
        contact = data.draw(st.sampled_from(sorted(self.living)))
        if node in self.failed:
            self.restart(node)
        self.enter(node, contact)

    @precondition(lambda self: len(self.living) > self.least)
    @rule(data=st.data())
    def leave(self, data):
        self.rest(self.unsettled)
        node = data.draw(st.sampled_from(sorted(self.living)))
        self.tell(node, Left())
        self.living.discard(node)

    @precondition(lambda self: len(self.living) > self.least)
    @rule(data=st.data())
    def fail(self, data):
        self.rest(self.unsettled)
        node = data.draw(st.sampled_from(sorted(self.living)))
        self.world.fail(node)
        self.living.discard(node)
        self.failed.add(node)
        self.unsettled = SETTLED

    @rule(data=st.data(), topic=TOPIC)
    def change_interest(self, data, topic):
        node = data.draw(st.sampled_from(sorted(set(range(NODES)) - self.failed)))
        self.tell(node, Unsubscribed(topic) if topic in self.interest[node] else Subscribed(topic))
        self.interest[node] ^= {topic}

    @rule(data=st.data(), topic=TOPIC, twice=st.booleans())
    def publish(self, data, topic, twice):
        publication = self.say(data.draw(st.sampled_from(sorted(self.living))), topic)
        if twice:
            self.tell(publication.issuer, Published(publication))

    def teardown(self):
        if not hasattr(self, "world"):
            return
        self.rest(QUIET)
        self.check_that_nothing_gone_is_remembered()
        said = [self.say(node, topic) for node in sorted(self.living) for topic in range(TOPICS)]
        self.rest(SETTLED)
        got = Counter((row.publication, row.node) for row in self.record.deliveries)
        assert max(got.values(), default=1) == 1
        expected = {
            (publication, node)
            for publication in said
            for node in self.living - {publication.issuer}
            if publication.topic in self.interest[node]
        }
        assert {pair for pair in got if pair[0] in said} == expected

    def check_that_nothing_gone_is_remembered(self):
        for node in self.living:
            vitis = self.nodes[node].neighbourhood
            known = vitis.links.keys() | vitis.lately.keys() | vitis.sampling.view.keys() | vitis.table.peers.keys()
            assert known <= self.living - {node}
            assert vitis.proposals.keys() == self.interest[node]
            for topic in range(TOPICS):
                assert vitis.relays.children(topic) <= self.living
                if not any(topic in self.interest[other] for other in self.living):
                    assert not vitis.relays.children(topic)
            for topic, proposal in vitis.proposals.items():
                assert topic in self.interest[proposal.gateway]
                assert proposal.gateway in self.living
            for peer in (*vitis.links.values(), *vitis.lately.values()):
                assert set(peer.interest) == self.interest[peer.node]
            assert not self.nodes[node].dissemination.stories.known


TestNetwork = Network.TestCase
TestNetwork.settings = settings(deadline=None, max_examples=40, stateful_step_count=30)
