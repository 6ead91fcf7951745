"""The live node routes as the simulator says: same overlay and publications, same deliveries, messages and relays."""

from collections import deque

import numpy as np
import pytest

from routing_oracle import ring_instance, ring_overlay
from weft.broker import effect as e
from weft.broker.parameters import Parameters
from weft.model.overlay import NO_PHASE, neighbours_of
from weft.model.publication import Publications
from weft.node import effect as n
from weft.node.identity import Identity
from weft.node.node import Node
from weft.node.recovery import Recovery
from weft.protocol.loom import Loom
from weft.sim.bulk import evaluate
from weft.sim.cluster.cluster import START
from weft.trees.weave import weave
from weft.wire import frame as w
from weft.wire.frame import topic_of
from weft.wire.frame_codec import decode_body, encode_body
from weft.wire.mqtt import packet as p
from weft.wire.mqtt.writer import encode

NOW = START
LATER = NOW + 10.0  # tables have settled


class PlannedNetwork:
    """Nodes with a given plan, on links that take no time. Topic number t has the name "t/1" for 1, and so on."""

    def __init__(self, instance, overlay, trees):
        self.loom = Loom(instance, neighbours_of(overlay), trees, fan_out=64)
        self.queue = deque()
        self.nodes = []
        for number in range(instance.nodes):
            identity = Identity(f"n{number}", "weft", 1 + number, node=number)
            node = Node(identity, Parameters(sys_interval=0, linked=True), NOW)
            self.nodes.append(node)
            self.carry_out(number, node.restore(Recovery(1 + number), NOW))
        for number in range(instance.nodes):
            self.subscribe(number, instance.interest[number].tolist())
            self.tell(number, n.Linked(n.MASTER), *self.plan(number, instance, overlay))
        for number, node in enumerate(self.nodes):
            for peer in sorted(node.atlas.peers):
                self.tell(number, n.Linked(peer))
        self.settle()

    def plan(self, number, instance, overlay):
        ids, size = overlay.ring_ids.tolist(), overlay.ring_size
        rows = overlay.sources == number
        fingers = set(overlay.targets[rows & (overlay.phases != NO_PHASE)].tolist())
        peers = [w.Peer(one, f"n{one}", "", ids[one], one in fingers, True) for one in sorted(self.loom.links[number])]
        tables = [w.Table(topic_of(f"t/{t}"), tuple(sorted(b)), True) for t, b in self.loom.tables(number).items()]
        frames = [
            w.Welcome(number, ids[number], size, "weft"),
            w.Filters(1, (), whole=True),
            w.Peers(1, ids[number], size, tuple(peers)),
            w.Tables(1, tuple(tables)),
        ]
        return [n.Heard(n.MASTER, tuple(frames))]

    def way(self, number, filter_):
        topic = int(filter_.removeprefix("t/"))
        others = self.loom.subscribers(topic) - {number}
        return w.Way(1, filter_, bool(others), self.loom.way(number, topic))

    def subscribe(self, number, topics):
        self.tell(number, e.Opened(1), e.Received(1, encode(p.Connect("", p.Version.V311), p.Version.V311)))
        requests = tuple(p.Request(f"t/{topic}", 1) for topic in topics)
        if requests:
            self.tell(number, e.Received(1, encode(p.Subscribe(1, requests), p.Version.V311)))

    def publish(self, number, topic, qos):
        packet = p.Publish(f"t/{topic}", b"x", qos, packet_id=1 if qos else 0)
        self.tell(number, e.Received(1, encode(packet, p.Version.V311)), now=LATER)
        self.settle()

    def tell(self, number, *events, now=NOW):
        for event in events:
            self.carry_out(number, self.nodes[number].handle(event, now))

    def carry_out(self, number, effects):
        for effect in effects:
            if isinstance(effect, n.Tell) and effect.peer != n.MASTER:
                self.queue.append((effect.peer, number, decode_body(encode_body(effect.frame))))
            elif isinstance(effect, n.Tell) and isinstance(effect.frame, w.FindWay):
                self.queue.append((number, n.MASTER, self.way(number, effect.frame.filter)))

    def settle(self):
        while self.queue:
            receiver, sender, frame = self.queue.popleft()
            self.tell(receiver, n.Heard(sender, (frame,)), now=LATER)

    def counted(self, name):
        return sum(getattr(node.traffic, name) for node in self.nodes)


@pytest.mark.parametrize("qos", [0, 1])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_network_of_nodes_sends_what_the_simulator_says(seed, qos):
    instance, overlay = ring_instance(seed, 24, 10, 0.25), ring_overlay(seed, 24, 48)
    trees = weave(instance, overlay)
    network = PlannedNetwork(instance, overlay, trees)
    rng = np.random.default_rng(seed)
    issuers, topics = rng.integers(24, size=60).astype(np.int32), rng.integers(10, size=60).astype(np.int32)
    before = network.counted("messages_sent")
    for issuer, topic in zip(issuers.tolist(), topics.tolist(), strict=True):
        network.publish(issuer, topic, qos)
    expected = evaluate(instance, overlay, "weave", Publications(topics, issuers), trees=trees)
    assert network.counted("messages_sent") - before == expected.messages
    assert network.counted("delivered") == expected.deliveries == expected.expected_deliveries
    assert network.counted("relayed") == expected.routing_overhead
    assert network.counted("fallen_back") == 0
    assert [node.debts.under_way for node in network.nodes] == [0] * 24
    for node in network.nodes:
        node.check_invariants()
