"""Whatever happens, whoever was subscribed throughout gets every matching publication once (PopSub section 4.5)."""

from collections import Counter

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from broker_world import BrokerWorld, interval
from test_protocol_popsub_table import random_tree, tables_by_hand
from weft.protocol.popsub.parameters import Way

places = st.integers(0, 6)
ends = st.sampled_from([(0, 4), (0, 2), (1, 4), (2, 2)])


class Clients(RuleBasedStateMachine):
    way: Way

    @initialize(
        nodes=st.integers(2, 7),
        seed=st.integers(0, 99),
        reorder=st.sampled_from([None, 50.0]),
        digest_rounds=st.sampled_from([0, 5]),
        evaluation=st.sampled_from([2000.0, 1e6]),
    )
    def start(self, nodes, seed, reorder, digest_rounds, evaluation):
        """Start brokers; without digests, much of what is gossiped arrives only because of the last resorts."""
        self.nodes, self.links = nodes, random_tree(nodes, seed)
        options = {"round": 700.0, "view": 2, "fanout": 1, "digest_rounds": digest_rounds}
        options |= {"reorder": reorder, "evaluation": evaluation}
        self.world = BrokerWorld(nodes, self.links, self.way, seed, capacity=100.0, phi=0.01, **options)
        self.advertisements, self.subscriptions = {}, {}
        self.expected = {}  # publication -> subscriptions that were in effect when it was said
        self.matching = {}  # publication -> x
        self.advertise(0, (0, 4))
        for node in range(nodes):
            self.subscribe(node, (0, 4) if node % 2 else (1, 4))
        self.world.settle()

    @rule(place=places, ends=ends)
    def advertise(self, place, ends):
        node, wanted = place % self.nodes, interval(*ends)
        self.advertisements[self.world.advertise(node, wanted)] = (node, wanted)

    @rule(place=places, ends=ends)
    def subscribe(self, place, ends):
        node, wanted = place % self.nodes, interval(*ends)
        self.subscriptions[self.world.subscribe(node, wanted)] = (node, wanted)

    @precondition(lambda self: self.subscriptions)
    @rule(data=st.data())
    def unsubscribe(self, data):
        number = data.draw(st.sampled_from(sorted(self.subscriptions)))
        self.world.unsubscribe(self.subscriptions.pop(number)[0], number)

    @precondition(lambda self: self.advertisements)
    @rule(data=st.data())
    def unadvertise(self, data):
        number = data.draw(st.sampled_from(sorted(self.advertisements)))
        self.world.unadvertise(self.advertisements.pop(number)[0], number)

    @precondition(lambda self: self.advertisements)
    @rule(data=st.data(), gaps=st.lists(st.sampled_from([0, 5, 400]), min_size=1, max_size=4), place=places)
    def publish(self, data, gaps, place):
        """Publish after a switch of some links of the issuer, as an evaluation could bring, though at any time."""
        number = data.draw(st.sampled_from(sorted(self.advertisements)))
        node, announced = self.advertisements[number]
        way = data.draw(st.sampled_from([None, *self.ways()]))
        for (link, _), entry in self.world.brokers[node].table.entries.items():
            entry.way = way if way and link >= place else entry.way
        for gap in gaps:
            ((low, high),) = announced.conjunctions[0]["x"].numbers
            x = data.draw(st.integers(int(low), int(high)))
            in_effect = self.world.brokers[node].table.routes.keys() & self.matches(x)
            said = self.world.publish(node, number, x)
            self.expected[said], self.matching[said] = in_effect, x
            self.world.wait(gap)

    @rule(milliseconds=st.sampled_from([1, 10, 60, 300, 2000, 9000]))
    def wait(self, milliseconds):
        """Let time pass, in which brokers evaluate, gossip and time out."""
        self.world.wait(milliseconds)

    def ways(self):
        match self.way:
            case Way.TREE:
                return [Way.TREE]
            case Way.ADAPTIVE:
                return [Way.DIRECT, Way.BATCH, Way.GOSSIP, Way.TREE]
        return [self.way, Way.TREE]

    def matches(self, x):
        filters = {number: wanted.conjunctions[0]["x"] for number, (_, wanted) in self.subscriptions.items()}
        return {number for number, ((low, high),) in ((n, v.numbers) for n, v in filters.items()) if low <= x <= high}

    @invariant()
    def invariants_hold(self):
        if hasattr(self, "world"):
            self.world.world.check_invariants()

    def teardown(self):
        if not hasattr(self, "world"):
            return
        parameters = self.world.parameters
        self.world.wait(parameters.sweep_time + parameters.memory)
        self.world.world.check_invariants()
        came = Counter((row.publication.number, row.subscription) for row in self.world.ledger.deliveries)
        assert max(came.values(), default=1) == 1, "delivered twice"
        for said, in_effect in self.expected.items():
            missed = {number for number in in_effect & self.subscriptions.keys() if not came[said, number]}
            assert not missed, f"publication {said} missed {missed}"
        for said, number in came:
            if number in self.subscriptions:
                assert number in self.matches(self.matching[said]), f"{said} does not match {number}"
        by_hand = tables_by_hand(self.nodes, self.links, self.advertisements, self.subscriptions)
        assert self.world.tables() == by_hand


@pytest.mark.parametrize("way", Way)
def test_every_subscriber_gets_everything_once(way):
    machine = type(f"Clients{way.title()}", (Clients,), {"way": way})
    run = settings(deadline=None, max_examples=150, stateful_step_count=40)
    run_state_machine_as_test(machine, settings=run)
