"""A whole network under virtual time: what clients of different nodes get of each other."""

import pytest

from weft.broker.effect import Hold, Resume
from weft.broker.parameters import Parameters as BrokerParameters
from weft.journal.parameters import Parameters as JournalParameters
from weft.node.effect import LinkCongested, LinkDrained
from weft.node.outbox import HIGH
from weft.node.parameters import Parameters
from weft.sim.cluster.client import Client
from weft.sim.cluster.cluster import Cluster
from weft.sim.cluster.wire import Weather
from weft.wire.frame import Carry
from weft.wire.mqtt.packet import Publish, Request, Subscribe, Version, Will
from weft.wire.mqtt.property import Property
from weft.wire.mqtt.writer import encode

V3, V5 = Version.V311, Version.V5


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


@pytest.fixture
def world():
    made = Cluster(4, seed=7)
    made.start()
    yield made
    made.check_invariants()


@pytest.fixture(params=[True, False], ids=["with disks", "without disks"])
def any_world(request):
    made = Cluster(4, seed=7, durable=request.param)
    made.start()
    yield made
    made.check_invariants()


def test_wildcards_of_other_nodes_match(world):
    reader, writer = world.client("reader", 0), world.client("writer", 3)
    world.subscribe(reader, "news/#", 1)
    world.subscribe(reader, "+/today", 0)
    for name in ("news/today", "news", "other/today", "other/yesterday"):
        writer.publish(name, name.encode(), 1)
    world.wait(1.0)
    got = sorted((one.payload, one.qos) for one in reader.got)
    assert got == [(b"news", 1), (b"news/today", 1), (b"other/today", 0)]  # one copy, with the highest QoS of the two


def test_who_publishes_before_anybody_subscribes_is_heard_afterwards(world):
    reader, writer = world.client("reader", 0), world.client("writer", 3)
    writer.publish("t", b"early", 1)
    world.wait(1.0)
    world.subscribe(reader, "t", 1)
    writer.publish("t", b"late", 1)
    world.wait(1.0)
    world.subscribe(reader, "u/+", 1)
    writer.publish("u/x", b"later", 1)
    world.wait(1.0)
    assert payloads(reader) == [b"late", b"later"]


def test_who_subscribes_is_answered_when_a_busy_master_has_told_everybody(world, monkeypatch):
    reader, writer = world.client("reader", 0), world.client("writer", 3)
    writer.publish("t", b"early")  # its node knows now that nobody wants it
    world.wait(1.0)
    delay = world.wires.delay
    monkeypatch.setattr(
        world.wires, "delay", lambda here, there: delay(here, there) + 2.0 * ("master" in (here, there))
    )
    world.subscribe(reader, "t")
    writer.publish("t", b"late")
    world.wait(1.0)
    assert payloads(reader) == [b"late"]


def test_a_node_that_only_the_master_reaches_is_owed_what_it_misses(world):
    reader, writer = world.client("reader", 0), world.client("writer", 3)
    world.subscribe(reader, "t", 1)
    mend = world.part(["n0"], ["n1", "n2", "n3"])
    world.wait(10.0)
    writer.publish("t", b"missed", 1)
    world.wait(10.0)
    assert payloads(reader) == []
    mend()
    world.wait(20.0)
    assert payloads(reader) == [b"missed"]


def test_what_nobody_wants_any_more_is_not_carried(world):
    reader, writer = world.client("reader", 0), world.client("writer", 3)
    world.subscribe(reader, "t")
    writer.publish("t", b"1")
    world.wait(0.5)
    reader.unsubscribe("t")
    world.wait(0.5)
    before = sum(one.node.traffic.messages_sent for one in world.nodes)
    writer.publish("t", b"2")
    world.wait(0.5)
    assert sum(one.node.traffic.messages_sent for one in world.nodes) == before
    assert payloads(reader) == [b"1"]


def test_order_of_a_publisher_is_kept(world):
    reader, writer = world.client("reader", 1), world.client("writer", 2)
    world.subscribe(reader, "t", 2)
    said = [b"%d" % number for number in range(200)]
    for payload in said:
        writer.publish("t", payload, 2)
    world.wait(5.0)
    assert payloads(reader) == said


def test_retained_messages_are_at_every_node(world):
    writer = world.client("writer", 0)
    writer.publish("kept", b"old", 1, retain=True)
    writer.publish("kept", b"new", 0, retain=True)
    writer.publish("gone", b"x", 1, retain=True)
    world.wait(0.5)
    writer.publish("gone", b"", 1, retain=True)
    world.wait(0.5)
    for number in range(4):
        reader = world.client(f"reader{number}", number)
        world.subscribe(reader, "#", 1)
        world.wait(0.5)
        assert [(one.payload, one.retain) for one in reader.got] == [(b"new", True)]


def test_a_node_that_comes_later_gets_retained_messages(world):
    world.client("writer", 0).publish("kept", b"x", 1, retain=True)
    world.wait(0.5)
    world.add().start()
    world.settle()
    world.wait(0.5)
    reader = world.client("reader", 4)
    world.subscribe(reader, "kept")
    world.wait(0.5)
    assert payloads(reader) == [b"x"]


def test_a_will_reaches_other_nodes(world):
    reader, mortal = world.client("reader", 0), Client("mortal")
    mortal.will = Will("wills", b"gone", 1)
    world.connect(mortal, 3)
    world.subscribe(reader, "wills", 1)
    mortal.drop()
    world.wait(0.5)
    assert payloads(reader) == [b"gone"]


def test_a_shared_subscription_has_one_member_in_the_whole_network(world):
    members = [world.client(f"member{number}", number % 4) for number in range(6)]
    for member in members:
        world.subscribe(member, "$share/group/jobs/+", 1)
    plain = world.client("plain", 1)
    world.subscribe(plain, "jobs/#", 1)
    writers = [world.client(f"writer{number}", number) for number in range(4)]
    for number in range(120):
        writers[number % 4].publish(f"jobs/{number % 3}", b"%d" % number, number % 3)
    world.wait(2.0)
    got = sorted(int(payload) for member in members for payload in payloads(member))
    assert got == list(range(120))
    assert all(10 <= len(member.got) <= 30 for member in members)
    assert sorted(map(int, payloads(plain))) == list(range(120))


def test_a_shared_subscription_goes_on_when_its_members_go(world):
    members = [world.client(f"member{number}", number) for number in range(4)]
    for member in members:
        world.subscribe(member, "$share/group/t", 1)
    for member in members[:3]:
        member.drop()
    world.wait(0.5)
    writer = world.client("writer", 0)
    for number in range(10):
        writer.publish("t", b"%d" % number, 1)
    world.wait(1.0)
    assert sorted(map(int, payloads(members[3]))) == list(range(10))


def test_no_local_holds_in_a_network(world):
    one = world.client("one", 0, V5)
    world.subscribe(one, "t", 1, no_local=True)
    other = world.client("other", 1)
    world.subscribe(other, "t", 1)
    one.publish("t", b"mine", 1)
    world.wait(0.5)
    assert (payloads(one), payloads(other)) == ([], [b"mine"])


def test_properties_and_expiry_travel(world):
    reader, writer = world.client("reader", 0, V5), world.client("writer", 3, V5)
    world.subscribe(reader, "t", 1)
    writer.publish("t", b"x", 1, content_type="text", user_property=(("a", "b"), ("a", "c")), message_expiry_interval=9)
    world.wait(0.5)
    (got,) = reader.got
    assert got.properties == {
        Property.CONTENT_TYPE: "text",
        Property.USER_PROPERTY: (("a", "b"), ("a", "c")),
        Property.MESSAGE_EXPIRY_INTERVAL: 9,
    }


def test_a_trace_goes_the_way_of_a_publication_each_time(world):
    """The first one too, from a node that has not published on the topic yet and must ask for the way."""
    reader = world.client("reader", 0)
    world.subscribe(reader, "t")

    def traced():
        ticket = world.direction.ask("trace", node="n3", topic="t")
        world.wait(2.0)
        return [(step["node"], step["from"], step["clients"]) for step in world.direction.replies[ticket]["steps"]]

    assert [traced() for _ in range(3)] == [[("n3", None, 0), ("n0", "n3", 1)]] * 3
    assert reader.got == []


def test_a_session_follows_its_client_with_what_waits_for_it(any_world):
    reader, writer = any_world.client("reader", 0, clean=False), any_world.client("writer", 3)
    any_world.subscribe(reader, "t", 2)
    reader.drop()
    any_world.wait(0.5)
    for number in range(20):
        writer.publish("t", b"%d" % number, 2)
    any_world.wait(1.0)
    any_world.connect(reader, 2)
    writer.publish("t", b"20", 2)
    any_world.wait(1.0)
    assert reader.present == [False, True]
    assert list(map(int, payloads(reader))) == list(range(21))
    assert any_world.nodes[0].node.broker.session("reader") is None
    reader.drop()
    any_world.wait(0.5)
    writer.publish("t", b"21", 2)
    any_world.wait(0.5)
    any_world.connect(reader, 0)
    any_world.wait(0.5)
    assert list(map(int, payloads(reader))) == list(range(22))


def test_a_session_that_moves_while_others_publish_misses_nothing(any_world):
    reader, writer = any_world.client("reader", 0, clean=False), any_world.client("writer", 3)
    any_world.subscribe(reader, "t", 2)
    number = 0
    for turn in range(12):
        reader.connect(any_world.nodes[turn % 4])
        for _ in range(40):
            writer.publish("t", b"%d" % number, 2)
            number += 1
            any_world.wait(0.003)
    any_world.wait(3.0)
    assert sorted(map(int, payloads(reader))) == list(range(number))


def test_a_client_that_connects_at_another_node_is_taken_over(world):
    first, second = world.client("same", 0, V5), world.client("same", 2, V5)
    world.wait(0.5)
    assert (first.is_connected, second.is_connected) == (False, True)
    assert first.closes == [0x8E]


def test_a_client_that_wants_no_session_ends_the_one_at_another_node(world):
    reader = world.client("reader", 0, clean=False)
    world.subscribe(reader, "t", 1)
    reader.drop()
    world.wait(0.5)
    fresh = world.client("reader", 1)
    assert fresh.present == [False]
    world.client("writer", 2).publish("t", b"x", 1)
    world.wait(1.0)
    assert fresh.got == []
    fresh.drop()
    world.wait(0.5)
    reader.connect(world.nodes[0])
    world.wait(0.5)
    assert reader.present == [False, False]


def test_with_the_master_gone_publications_flow_and_clients_come_and_go(world):
    reader, writer = world.client("reader", 0), world.client("writer", 3)
    world.subscribe(reader, "t", 1)
    writer.publish("t", b"1", 1)
    world.wait(0.5)
    world.direction.crash()
    world.wait(0.5)
    writer.publish("t", b"2", 1)
    other = world.client("other", 1)
    world.subscribe(other, "t", 1)  # through a member
    late = world.client("late", 0)
    world.subscribe(late, "t", 1)
    stranger = world.client("stranger", 2)
    stranger.publish("t", b"3", 1)
    world.wait(3.0)
    assert payloads(reader) == [b"1", b"2", b"3"]
    assert payloads(late) == payloads(other) == [b"3"]
    world.direction.start()
    world.settle()
    world.wait(2.0)
    writer.publish("t", b"4", 1)
    world.wait(1.0)
    assert payloads(reader)[-1] == payloads(other)[-1] == payloads(late)[-1] == b"4"


def test_what_was_acknowledged_survives_the_crash_of_the_issuers_node(world):
    reader, writer = world.client("reader", 0, clean=False), world.client("writer", 3, clean=False)
    world.subscribe(reader, "t", 2)
    said = [writer.publish("t", b"%d" % number, 2) for number in range(50)]
    world.wait_until(lambda: any(one.acknowledged for one in said))
    world.nodes[3].crash()
    world.wait(5.0)
    world.nodes[3].start()
    world.settle()
    world.connect(writer, 3)
    world.wait(5.0)
    assert all(one.acknowledged for one in said)
    assert sorted(map(int, payloads(reader))) == list(range(50))


def test_qos_2_said_again_to_a_node_that_has_lost_it_is_the_same():
    """Nobody else had got it by then: it leaves its node when it is on the disk."""
    world = Cluster(2, seed=1, sync_seconds=0.2)
    world.start()
    reader, writer = world.client("reader", 0), world.client("writer", 1, clean=False)
    world.subscribe(reader, "t", 2)
    writer.publish("t", b"once", 2)
    world.wait(0.1)
    world.nodes[1].crash()
    world.wait(1.0)
    world.nodes[1].start()
    world.connect(writer, 1)
    world.wait(5.0)
    assert payloads(reader) == [b"once"]
    assert [one.acknowledged is not None for one in writer.said] == [True]


def test_who_subscribes_later_does_not_get_what_is_owed_to_a_node_that_was_away(world):
    away, writer = world.client("away", 1, clean=False), world.client("writer", 0)
    world.subscribe(away, "t", 1)
    world.nodes[1].stop()
    world.wait(1.0)
    writer.publish("t", b"early", 1)
    world.wait(1.0)
    late = world.client("late", 0, clean=False)
    world.subscribe(late, "t", 1)
    world.nodes[1].start()
    world.settle()
    world.connect(away, 1)
    world.wait(2.0)
    assert payloads(away) == [b"early"]
    assert payloads(late) == []


def test_what_others_at_the_node_get_at_once_is_owed_to_a_node_that_is_down_all_the_same(world):
    away, here = world.client("away", 1, clean=False), world.client("here", 0)
    writer = world.client("writer", 0)
    world.subscribe(away, "t", 1)
    world.subscribe(here, "t", 1)
    world.nodes[1].stop()
    world.wait(1.0)
    for payload in (b"1", b"2"):
        writer.publish("t", payload, 1)
        world.wait(0.1)
    world.nodes[1].start()
    world.settle()
    world.connect(away, 1)
    world.wait(2.0)
    assert payloads(here) == [b"1", b"2"]
    assert payloads(away) == [b"1", b"2"]


def test_a_node_that_is_down_gets_later_what_its_sessions_hold(world):
    reader, writer = world.client("reader", 0, clean=False), world.client("writer", 3)
    world.subscribe(reader, "t/#", 2)
    world.nodes[0].crash()
    world.wait(6.0)
    for number in range(30):
        writer.publish("t/1", b"%d" % number, 2)
    world.wait(2.0)
    assert world.nodes[3].node.debts.owed == {world.nodes[0].number: 30}
    world.nodes[0].start()
    world.settle()
    world.connect(reader, 0)
    world.wait(2.0)
    assert list(map(int, payloads(reader))) == list(range(30))
    assert len(world.nodes[3].node.debts) == 0


def test_the_crash_of_a_relay_loses_nothing():
    world = Cluster(12, seed=3)
    world.start()
    readers = [world.client(f"reader{number}", number, clean=False) for number in range(0, 12, 2)]
    for reader in readers:
        world.subscribe(reader, "t", 2)
    writer = world.client("writer", 11)
    number = 0
    for victim in (1, 4, 7, 2):
        for _ in range(20):
            writer.publish("t", b"%d" % number, 2)
            number += 1
            world.wait(0.01)
        world.nodes[victim].crash()
        for _ in range(20):
            writer.publish("t", b"%d" % number, 2)
            number += 1
            world.wait(0.01)
    world.wait(8.0)
    for victim in (1, 4, 7, 2):
        world.nodes[victim].start()
    world.settle()
    for index, reader in enumerate(readers):
        if not reader.is_connected:
            world.connect(reader, index * 2)
    world.wait(5.0)
    for reader in readers:
        assert sorted(map(int, payloads(reader))) == list(range(number))
    world.check_invariants()


def test_a_client_of_a_node_that_is_down_is_served_elsewhere_and_gets_the_rest_later(world):
    reader, writer = world.client("reader", 0, clean=False), world.client("writer", 3)
    world.subscribe(reader, "t", 2)
    reader.drop()
    world.wait(0.5)
    writer.publish("t", b"0", 2)
    world.wait(0.5)
    world.nodes[0].crash()
    world.wait(6.0)
    world.connect(reader, 1)
    assert reader.present == [False, True]
    writer.publish("t", b"1", 2)
    world.wait(1.0)
    assert payloads(reader) == [b"1"]
    world.nodes[0].start()
    world.settle()
    world.wait(3.0)
    assert payloads(reader) == [b"1", b"0"]


def test_a_partition_heals(world):
    reader, writer = world.client("reader", 0, clean=False), world.client("writer", 3)
    world.subscribe(reader, "t", 2)
    mend = world.part(["n0", "n1", "reader"], ["n2", "n3", "writer", "master"])
    for number in range(20):
        writer.publish("t", b"%d" % number, 2)
        world.wait(0.5)
    mend()
    world.wait(25.0)
    if not reader.is_connected:
        world.connect(reader, 0)
    world.wait(2.0)
    assert sorted(map(int, payloads(reader))) == list(range(20))


def burst(client, names):
    """Many publications of QoS 0 in one read."""
    packets = [encode(Publish(name, b"%d" % number), client.version) for number, name in enumerate(names)]
    client._wire.send(client, b"".join(packets))


@pytest.mark.parametrize("versions", [(V3, V3), (V3, V5), (V5, V3), (V5, V5)])
def test_a_burst_of_qos_0_is_one_message_a_link(world, versions):
    writer = world.client("writer", 3, versions[0])
    readers = [world.client(f"reader{number}", number, versions[1]) for number in range(4)]
    for reader in readers:
        world.subscribe(reader, "t")
        world.subscribe(reader, "u/#")
    for _ in range(2):  # so that it is known where these go
        burst(writer, ["t", "u", "u/1"])
        world.wait(0.5)
    for reader in readers:
        reader.got.clear()
    carried = []
    world.tracer = lambda process, peer, frames: carried.extend(one for one in frames if isinstance(one, Carry))
    names = ["t"] * 50 + ["u", "u/1"] * 25
    burst(writer, names)
    world.wait(0.5)
    for reader in readers:
        got = [(one.topic, int(one.payload)) for one in reader.got]
        said = [(name, at) for at, name in enumerate(names)]
        for tree in (said[:50], said[50:]):  # between trees there is no order
            assert [one for one in got if one in tree] == tree
    assert sum(len(frame.messages) for frame in carried) == 3 * 2  # one for each tree, to three other nodes
    assert sum(one.node.traffic.arrived for one in world.nodes) == 3 * 106
    assert sum(one.node.traffic.issued for one in world.nodes) == 106


def test_a_burst_reaches_who_needs_a_publish_of_its_own(world):
    writer, plain = world.client("writer", 3, V5), world.client("plain", 0, V5)
    choosy = world.client("choosy", 0, V5)
    world.subscribe(plain, "t")
    world.subscribe(choosy, "t", 0, no_local=True)
    for _ in range(3):
        burst(writer, ["t"] * 20)
        world.wait(0.5)
    assert [int(one.payload) for one in plain.got] == [int(one.payload) for one in choosy.got] == list(range(20)) * 3


def test_what_only_clients_of_one_node_hold_stays_there(world):
    writer, reader = world.client("writer", 3), world.client("reader", 3)
    world.subscribe(reader, "t")
    burst(writer, ["t"])
    world.wait(0.5)
    before = sum(one.node.traffic.messages_sent for one in world.nodes)
    burst(writer, ["t"] * 100)
    world.wait(0.5)
    assert len(reader.got) == 101
    assert sum(one.node.traffic.messages_sent for one in world.nodes) == before


def test_who_subscribes_elsewhere_gets_what_went_to_clients_of_one_node_before(world):
    writer, reader, late = world.client("writer", 3), world.client("reader", 3), world.client("late", 1)
    world.subscribe(reader, "t")
    burst(writer, ["t"] * 3)
    world.wait(0.5)
    world.subscribe(late, "t")
    burst(writer, ["t"] * 3)
    world.wait(0.5)
    late.unsubscribe("t")
    world.wait(0.5)
    burst(writer, ["t"] * 3)
    world.wait(0.5)
    assert (len(reader.got), len(late.got)) == (9, 3)


# What cannot keep up


def waiting(process):
    """How many clients of a node are not heard."""
    return sum(one.holds > 0 for one in process.node.broker._connections.values())


def test_a_publisher_waits_while_too_much_of_qos_1_is_under_way():
    world = Cluster(2, seed=1, network=Parameters(window=20))
    world.start()
    reader, writer = world.client("reader", 0), world.client("writer", 1)
    world.subscribe(reader, "t", 1)
    mend = world.part(["n0"], ["n1"])
    said = []
    for number in range(100):
        said.append(writer.publish("t", b"%d" % number, 1))
        world.wait(0.005)
    assert waiting(world.nodes[1])
    assert sum(one.acknowledged is not None for one in said) == 20
    mend()
    world.wait(3.0)
    assert not waiting(world.nodes[1])
    assert list(map(int, payloads(reader))) == list(range(100))
    assert all(one.acknowledged for one in said)


@pytest.mark.parametrize("version", [Version.V311, Version.V5])
def test_a_publisher_that_has_to_wait_keeps_its_connection(version):
    """Requests for a sign of life lie behind its publications."""
    weather = Weather(silence=20.0)
    world = Cluster(2, seed=1, network=Parameters(window=2, attempt=30.0), weather=weather)
    world.start()
    reader, writer = world.client("reader", 0), world.client("writer", 1, version, keep_alive=1)
    world.subscribe(reader, "t", 1)
    mend = world.part(["n0"], ["n1"])
    said = [writer.publish("t", b"%d" % number, 1) for number in range(2)]
    world.wait(0.1)
    said += [writer.publish("t", b"%d" % number, 1) for number in range(2, 9)]
    world.wait(15.0)
    assert waiting(world.nodes[1])
    assert not said[-1].acknowledged
    mend()
    world.wait(30.0)
    assert list(map(int, payloads(reader))) == list(range(9))
    assert all(one.acknowledged for one in said)
    assert writer.closes == []
    assert writer.given_up == []


def test_a_client_gives_up_a_node_that_does_not_answer():
    world = Cluster(1, seed=1, weather=Weather(silence=20.0))
    world.start()
    client = world.client("client", 0, keep_alive=2)
    world.wires.cut("n0", "client")
    world.wait(8.0)
    assert len(client.given_up) == 1
    assert not client.is_connected


@pytest.mark.parametrize("clean", [True, False])
def test_many_filters_in_one_packet_are_answered_when_all_are_in_place(world, clean):
    reader, writer = world.client("reader", 0, clean=clean), world.client("writer", 3)
    names = [f"f/{number}" for number in range(1_000)]
    held = reader.subscribe("g/#", 1)
    reader._asked[9] = [held]
    reader._say(Subscribe(9, tuple(Request(name, 1) for name in names)))
    held.granted = None
    world.wait_until(lambda: not reader._asked)
    for name in names[::100]:
        writer.publish(name, name.encode(), 1)
    world.wait(3.0)
    assert sorted(payloads(reader)) == sorted(name.encode() for name in names[::100])


def test_what_waits_for_the_network_is_bounded_for_a_client_too(world):
    """No more is kept behind an answer that waits for the network than a driver would keep."""
    world.settle()
    node = world.nodes[0]
    reader, writer = world.client("reader", 0), world.client("writer", 0)
    world.subscribe(reader, "t")
    for peer in ("n1", "n2", "n3", "master"):
        world.wires.cut("n0", peer)
        world.wires.cut(peer, "n0")
    reader.subscribe("new", 1)
    world.wait(0.01)
    for _ in range(30):
        writer.publish("t", bytes(100_000))
        world.wait(0.01)
    waiting_for = sum(node.node.parts.outbox._sizes.values())
    assert HIGH < waiting_for < HIGH + 200_000
    world.wait(0.5)
    for peer in ("n1", "n2", "n3", "master"):
        world.wires.mend("n0", peer)
        world.wires.mend(peer, "n0")
    world.wait(20.0)
    assert not node.node.parts.outbox._sizes
    writer.publish("t", b"behind")
    world.wait(1.0)
    assert payloads(reader)[-1] == b"behind"


def test_who_is_held_again_within_an_event_is_not_read(world):
    """The driver of life carries effects out as they come: the last counts."""
    client = world.client("client", 0)
    (end,) = world.nodes[0].clients.values()
    end.held = True
    client.publish("t", b"x")
    world.wait(0.1)
    assert len(end.unread) == 1
    world.nodes[0]._carry_out([Resume(end.number), Hold(end.number)])
    world.wait(0.1)
    assert len(end.unread) == 1
    world.nodes[0]._carry_out([Hold(end.number), Resume(end.number)])
    world.wait(0.1)
    assert not end.unread


def test_a_link_that_cannot_keep_up_slows_publishers_down_and_then_loses_qos_0_only(world):
    reader, writer = world.client("reader", 0), world.client("writer", 3)
    world.subscribe(reader, "t", 1)
    writer.publish("t", b"first")
    world.wait(0.5)
    node = world.nodes[3]
    peers = [peer for peer in node.links if peer >= 0]
    for peer in peers:
        node.happen(LinkCongested(peer))
    writer.publish("t", b"second")
    world.wait(0.1)
    assert waiting(node)
    world.wait(0.2)
    assert not waiting(node)
    writer.publish("t", b"lost")
    writer.publish("t", b"third", 1)
    world.wait(0.5)
    assert node.node.traffic.dropped == 1
    for peer in peers:
        node.happen(LinkDrained(peer))
    writer.publish("t", b"fourth")
    world.wait(0.5)
    assert payloads(reader) == [b"first", b"second", b"third", b"fourth"]


def test_what_is_owed_to_a_node_is_bounded():
    world = Cluster(3, seed=2, network=Parameters(owed_messages=10))
    world.start()
    reader, writer = world.client("reader", 0, clean=False), world.client("writer", 1)
    world.subscribe(reader, "t", 1)
    world.nodes[0].crash()
    world.wait(6.0)
    for number in range(30):
        writer.publish("t", b"%d" % number, 1)
    world.wait(1.0)
    assert world.nodes[1].node.debts.owed == {world.nodes[0].number: 10}
    assert world.nodes[1].node.debts.dropped == 20
    world.nodes[0].start()
    world.settle()
    world.connect(reader, 0)
    world.wait(1.0)
    assert list(map(int, payloads(reader))) == list(range(20, 30))


def test_nothing_is_owed_to_a_node_that_is_forgotten(world):
    reader, writer = world.client("reader", 0, clean=False), world.client("writer", 1)
    world.subscribe(reader, "t", 1)
    world.nodes[0].crash()
    world.wait(6.0)
    writer.publish("t", b"x", 1)
    world.wait(1.0)
    assert len(world.nodes[1].node.debts) == 1
    world.direction.ask("leave", node="n0", forget=True)
    world.wait(1.0)
    assert len(world.nodes[1].node.debts) == 0


def test_what_is_owed_survives_the_crash_of_who_owes_it(world):
    reader, writer = world.client("reader", 0, clean=False), world.client("writer", 1)
    other = world.client("other", 2)
    world.subscribe(reader, "t", 2)
    world.subscribe(other, "t", 2)
    world.nodes[0].crash()
    world.wait(6.0)
    for number in range(10):
        writer.publish("t", b"%d" % number, 2)
    world.wait(1.0)
    world.nodes[1].crash()
    world.wait(6.0)
    world.nodes[1].start()
    world.settle()
    world.wait(70.0)  # until nobody remembers by heart what it has had
    world.client("again", 1).publish("t", b"10", 2)
    world.nodes[0].start()
    world.settle()
    world.connect(reader, 0)
    world.wait(5.0)
    assert sorted(map(int, payloads(reader))) == sorted(map(int, payloads(other))) == list(range(11))


def test_a_disk_is_compacted_and_still_has_all():
    world = Cluster(3, seed=4)
    for node in world.nodes:
        node.journal = JournalParameters(segment_bytes=4096, compact_bytes=8192, frame_bytes=4096)
    world.start()
    reader, writer = world.client("reader", 0, clean=False), world.client("writer", 1)
    world.subscribe(reader, "t", 2)
    reader.drop()
    world.nodes[2].crash()
    for number in range(200):
        writer.publish("t", b"%d" % number, 2, retain=number == 199)
        world.wait(0.02)
    for node in world.nodes[:2]:
        assert node.compactions > 0
        node.crash()
    world.wait(5.0)
    for node in world.nodes:
        node.start()
    world.settle()
    world.connect(reader, 2)
    world.wait(5.0)
    assert sorted(map(int, payloads(reader))) == list(range(200))


@pytest.mark.parametrize("qos", [0, 1])
def test_a_node_that_remembers_few_names_reaches_who_subscribes_to_one_that_it_forgot(qos):
    world = Cluster(3, seed=5, broker=BrokerParameters(sys_interval=0, linked=True, cached_names=4))
    world.start()
    reader, writer = world.client("reader", 0), world.client("writer", 2)
    due = []
    for turn in range(4):
        for number in range(12):
            writer.publish(f"t/{number}", b"%d" % turn, qos)
            world.wait(0.1)
        world.subscribe(reader, f"t/{turn}", 1)
        for number in range(12):
            said = writer.publish(f"t/{number}", b"new %d" % turn, qos)
            due += [said.payload] if number <= turn else []
            world.wait(0.1)
        due += [b"%d" % (turn + 1)] * (turn + 1) if turn < 3 else []
        asked = world.direction.master._bulletin._asked
        assert all(len(one.ways) <= 5 for one in asked.values())
    world.wait(1.0)
    assert sorted(payloads(reader)) == sorted(due)


def test_a_session_that_there_is_no_room_for_stays_where_it_is():
    world = Cluster(2, seed=5, broker=BrokerParameters(sys_interval=0, linked=True, sessions=1))
    world.start()
    moving, other = (world.client(name, node, clean=False) for node, name in enumerate(("moving", "other")))
    world.subscribe(moving, "t", 1)
    moving.disconnect()
    other.publish("t", b"first", 1)
    moving.connect(world.nodes[1])
    world.wait(1.0)
    assert not moving.is_connected
    other.publish("t", b"second", 1)
    world.wait(1.0)
    world.connect(moving, 0)
    world.wait(1.0)
    assert moving.present[-1]
    assert payloads(moving) == [b"first", b"second"]
    assert world.direction.master.network.directory.sessions["moving"].node == world.nodes[0].number
