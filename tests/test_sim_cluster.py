"""A whole network under virtual time: what clients of different nodes get of each other."""

import pytest

from weft.sim.cluster.cluster import Cluster
from weft.wire.mqtt.packet import Version

V5 = Version.V5


def payloads(client):
    return [one.payload for one in client.got]


@pytest.mark.parametrize("qos", [0, 1, 2])
def test_a_publication_reaches_a_subscriber_at_another_node(qos):
    world = Cluster(3, seed=1)
    world.start()
    reader, writer = world.client("reader", 0), world.client("writer", 2)
    world.subscribe(reader, "news/today", qos)
    said = writer.publish("news/today", b"hi", qos)
    world.wait(1.0)
    assert payloads(reader) == [b"hi"]
    assert [one.qos for one in reader.got] == [qos]
    assert (said.acknowledged is not None) == (qos > 0)
    world.check_invariants()
