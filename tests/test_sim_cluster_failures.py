"""What must hold when something fails at the wrong moment: stories that weft chaos has told, as small as can be."""

from random import Random

import pytest

from weft.journal.salvage import salvaged
from weft.node.effect import MASTER, Heard, Tell
from weft.node.identity import Identity
from weft.node.node import Node
from weft.node.parameters import Parameters
from weft.node.recovery import Recovery
from weft.protocol.router import Assigned
from weft.sim.chaos.case import Act, Case
from weft.sim.chaos.stage import play
from weft.sim.cluster.cluster import Cluster
from weft.sim.cluster.end import LinkEnd
from weft.wire import content
from weft.wire import frame as w
from weft.wire.frame_codec import FrameReader, encode
from weft.wire.mqtt.packet import Version


def payloads(client):
    return [one.payload for one in client.got]


@pytest.fixture
def world():
    made = Cluster(3, seed=7)
    made.start()
    yield made
    made.check_invariants()


def test_a_session_is_asked_for_when_the_disk_knows_that_it_comes(world):
    """Else its node has given it away, and who asked has forgotten with the power that it did."""
    reader, writer = world.client("reader", 2, clean=False), world.client("writer", 0)
    world.subscribe(reader, "t", 1)
    world.nodes[1].disk.capacity = world.nodes[1].disk.used
    reader.connect(world.nodes[1])
    world.wait(2.0)
    writer.publish("t", b"meanwhile", 1)
    world.wait(1.0)
    world.nodes[1].crash()
    world.nodes[1].disk.capacity = None
    world.wait(1.0)
    world.nodes[1].start()
    world.settle()
    writer.publish("t", b"later", 1)
    world.wait(1.0)
    world.connect(reader, 0)
    world.wait(2.0)
    assert payloads(reader) == [b"meanwhile", b"later"]


def test_a_client_that_is_back_where_the_master_was_out_of_reach_stays_there(world):
    """Another node had claimed its session meanwhile, and asks for it when it can."""
    reader = world.client("reader", 0, clean=False)
    world.subscribe(reader, "t", 1)
    mend = world.part(["n0"], ["n1", "n2", "master"])
    world.wait(4.0)
    world.connect(reader, 1)
    world.connect(reader, 0)
    mend()
    world.wait(10.0)
    world.settle()
    assert reader.is_connected
    assert reader.closes == [None, None]
    assert reader.present == [False, True, True]


def test_a_client_keeps_its_session_where_it_is_from_a_node_that_claims_it_late(world):
    """The client was at that node while the master was gone, and the node was restarted since."""
    reader = world.client("reader", 0, clean=False)
    world.subscribe(reader, "t", 1)
    world.direction.crash()
    world.connect(reader, 1)
    world.wait(1.0)
    world.nodes[1].crash()
    world.direction.start()
    world.wait(5.0)
    world.connect(reader, 2)
    world.nodes[1].start()
    world.wait(10.0)
    assert reader.is_connected
    assert reader.closes == [None, None]
    writer = world.client("writer", 0)
    writer.publish("t", b"hi", 1)
    world.wait(2.0)
    assert payloads(reader) == [b"hi"]


def test_what_goes_after_a_session_does_so_after_a_restart_too(world):
    reader, writer = world.client("reader", 1, clean=False), world.client("writer", 0)
    world.subscribe(reader, "t", 1)
    world.connect(reader, 2)
    world.wait(1.0)
    world.nodes[1].crash()
    world.nodes[1].start()
    world.settle()
    assert [trail.client for trail in world.nodes[1].node.parts.trails.matching("t")] == ["reader"]
    writer.publish("t", b"hi", 1)
    world.wait(1.0)
    assert payloads(reader) == [b"hi"]


def test_what_a_client_does_where_it_is_let_in_alone_counts(world):
    """The client waits for its session, leaves, and comes again while the master is gone: it is let in without it."""
    reader = world.client("reader", 0, clean=False)
    world.subscribe(reader, "old", 1)
    mend = world.part(["n0"], ["n1", "n2"])
    reader.connect(world.nodes[1])
    world.wait(1.0)
    world.direction.crash()
    reader.connect(world.nodes[1])
    world.wait_until(lambda: reader.is_connected)
    reader.unsubscribe("old")
    world.subscribe(reader, "new", 1)
    mend()
    world.direction.start()
    world.wait(10.0)
    world.settle()
    assert list(world.nodes[1].node.broker.session("reader").subscriptions) == ["new"]


def test_what_came_for_a_filter_that_was_given_up_elsewhere_is_not_delivered(world):
    reader, writer = world.client("reader", 0, clean=False), world.client("writer", 1)
    world.subscribe(reader, "t", 1)
    world.nodes[0].crash()
    world.wait(4.0)
    world.connect(reader, 1)
    reader.unsubscribe("t")
    world.wait(1.0)
    writer.publish("t", b"late", 1)
    world.wait(1.0)
    world.nodes[0].start()
    reader.connect(world.nodes[0])
    world.wait(10.0)
    assert reader.is_connected
    assert payloads(reader) == []


def test_the_issuer_does_not_rely_on_a_relay_that_knows_of_trees_in_parts():
    """The nodes are in two parts; the issuer has not heard of it, the relay has, and its tree ends with its part."""
    acts = (
        Act(1, 0.5, "subscribe", 5, text="a", qos=2),
        Act(2, 6.487, "split", other=652189, seconds=5.8),
        Act(3, 8.547, "subscribe", 2, text="a", qos=1),
        Act(4, 8.65, "publish", 3, text="a", qos=1),
        Act(5, 9.304, "delay", other=190775, seconds=2.0, text="master n3"),
    )
    case = Case(1215, 5, 6, frozenset(), tree=False, ahead=(0.0,) * 5, sync=0.01, acts=acts)
    assert play(case).found == ()


def test_a_node_that_has_left_a_tree_says_so_to_who_has_not_heard_of_it(world):
    """The node keeps silent, for the tree may only have shrunk; but it may also have grown elsewhere since."""
    process = world.nodes[0]
    peer = min(process.node.atlas.peers)
    for neighbours in (frozenset({peer}), None):
        process.node.parts.carrier.router.handle(Assigned(7, neighbours, safe=True), process.now * 1000)
    written = content.encode(content.Content(b"t", b"hi", 1, False, {}, None, "client", 0.0))
    message = w.Message(w.Form.WOVEN, 7, peer, 1, 1, 1, written, kept=True, attempt=1, floor=1)
    effects = process.node.handle(Heard(peer, (w.Carry((message,)),)), process.now)
    (acked,) = [effect.frame for effect in effects if isinstance(effect, Tell) and isinstance(effect.frame, w.Acked)]
    assert [(one.failed, one.unsure) for one in acked.troubles] == [(False, True)]


def test_attempts_after_a_restart_are_not_taken_for_those_before_it():
    """A node issues in doubt, since the nodes are in two parts, and again when it is back, and they are one."""
    acts = (
        Act(1, 0.5, "subscribe", 5, text="a", qos=2),
        Act(2, 0.7, "subscribe", 2, text="a", qos=2),
        Act(3, 6.487, "split", other=652189, seconds=7.8),
        Act(4, 10.0, "publish", 1, text="a", qos=1),
        Act(5, 10.5, "crash", 1, seconds=6.0),
    )
    assert play(Case(1, 5, 6, frozenset(), tree=False, ahead=(0.0,) * 5, sync=0.01, acts=acts)).found == ()


def test_who_joins_a_shared_subscription_later_does_not_get_what_is_owed_to_a_node_that_was_away(world):
    away, writer = world.client("away", 1, clean=False), world.client("writer", 0)
    world.subscribe(away, "t", 1)
    world.nodes[1].stop()
    world.wait(1.0)
    writer.publish("t", b"early", 1)
    world.wait(1.0)
    late = world.client("late", 2)
    world.subscribe(late, "$share/g/t", 1)
    world.nodes[1].start()
    world.settle()
    world.connect(away, 1)
    world.wait(2.0)
    assert payloads(away) == [b"early"]
    assert payloads(late) == []


def test_the_master_hears_of_a_link_that_was_up_before_it_wanted_it(world):
    node = world.nodes[0].node
    peers = tuple(node.atlas.peers.values())
    world.nodes[0].happen(Heard(MASTER, (w.Peers(1, node.atlas.ring_id, node.atlas.ring_size, ()),)))
    effects = node.handle(Heard(MASTER, (w.Peers(2, node.atlas.ring_id, node.atlas.ring_size, peers),)), 2e6)
    for one in peers:
        assert Tell(MASTER, w.LinkMade(one.node, 0.0)) in effects


def test_qos_2_said_again_is_acknowledged_when_the_tree_has_it():
    world = Cluster(3, seed=7, network=Parameters(acknowledge="tree"))
    world.start()
    reader, writer = world.client("reader", 2), world.client("writer", 0, clean=False)
    world.subscribe(reader, "t", 2)
    mend = world.part(["n2"], ["n0", "n1"])
    said = writer.publish("t", b"hi", 2)
    world.wait(1.0)
    world.connect(writer, 0)
    world.wait(1.0)
    assert said.acknowledged is None
    mend()
    world.wait(20.0)
    assert payloads(reader) == [b"hi"]
    assert said.acknowledged is not None


def test_a_client_that_a_node_lets_in_without_its_session_has_another_from_then_on(world):
    """The same where its own node was there when it asked: the oracle must not take the two for one."""
    client = world.client("client", 0, clean=False)
    world.subscribe(client, "t", 2)
    world.nodes[1].disk.capacity = world.nodes[1].disk.used
    client.connect(world.nodes[1])
    world.wait(1.0)
    assert client.sessions == []
    world.nodes[0].crash()
    world.nodes[1].disk.capacity = None
    world.wait_until(lambda: client.is_connected, 20.0)
    assert client.sessions


@pytest.mark.parametrize("is_parted", [False, True])
def test_a_client_has_another_session_where_its_own_has_gone_without_it_and_is_out_of_reach(world, is_parted):
    """A node claims it late, which let the client in without the master. The client has said something before."""
    mover, reader = world.client("mover", 1, clean=False), world.client("reader", 2)
    world.subscribe(reader, "t", 2)
    mend = world.part(["n0"], ["n1", "n2", "master"])
    world.wait(4.0)
    world.connect(mover, 0)
    world.connect(mover, 1)
    world.wires.delays["n1", "mover"] = 1.0
    said = mover.publish("t", b"hi", 2)
    world.wait(0.5)
    world.nodes[1].crash()
    mend()
    world.wait(4.0)
    world.nodes[1].start()
    world.wait(4.0)
    assert world.nodes[1].successor("mover") is world.nodes[0]
    before = len(mover.sessions)
    if is_parted:
        world.part(["n0"], ["n1", "n2", "master"])
        world.wait(4.0)
    mover.connect(world.nodes[2])
    world.wait(10.0)
    assert said.acknowledged
    assert (len(mover.sessions) > before) == is_parted
    assert said.repeated == is_parted
    assert is_parted or payloads(reader) == [b"hi"]


def test_what_a_node_retains_while_it_is_alone_has_its_time_also_after_a_restart(world):
    """Nodes that come later compare it with what they have."""
    for node in world.nodes[1:]:
        node.stop()
    world.wait(1.0)
    writer = world.client("writer", 0)
    writer.publish("t", b"hi", 1, retain=True)
    world.wait(1.0)
    before = world.nodes[0].node.broker.retained()["t"].stamp()
    world.nodes[0].crash()
    world.nodes[0].start()
    assert world.nodes[0].node.broker.retained()["t"].stamp() == before


def retained_everywhere(world):
    return [{name: one.payload for name, one in node.node.broker.retained().items()} for node in world.nodes]


def test_what_was_retained_before_does_not_come_back_when_the_last_has_expired(world):
    """A node that was apart still has it, and has not heard of what took its place."""
    writer = world.client("writer", 0, version=Version.V5)
    writer.publish("t", b"first", 1, retain=True)
    world.wait(1.0)
    assert retained_everywhere(world) == [{"t": b"first"}] * 3
    mend = world.part(["n1"], ["n0", "n2", "master"])
    world.wait(5.0)
    writer.publish("t", b"last", 0, retain=True, message_expiry_interval=2)
    world.wait(4.0)
    assert retained_everywhere(world) == [{}, {"t": b"first"}, {}]
    mend()
    world.wait(10.0)
    assert retained_everywhere(world) == [{}] * 3


def test_what_is_retained_before_the_tree_of_all_nodes_is_whole_comes_to_all(world):
    """Links are up again, and were compared over, before the master has all nodes in the tree."""
    writer, there = world.client("writer", 2), world.nodes[2]
    mend = world.part(["n0", "n1"], ["n2", "master"])
    world.wait(10.0)
    world.wires.delays["master", "n0"] = world.wires.delays["master", "n1"] = 2.0
    mend()
    world.wait_until(lambda: len(there.node.atlas.up) == 2)
    assert there.node.parts.carrier.router.tables[w.EVERYBODY] == frozenset()
    writer.publish("t", b"hi", 0, retain=True)
    world.wait(8.0)
    assert retained_everywhere(world) == [{"t": b"hi"}] * 3


def test_a_node_says_that_a_session_has_gone_when_its_disk_knows_it(world):
    """Else it has the session again when it has lost its power, which nobody asks it for."""
    reader, writer = world.client("reader", 1, clean=False), world.client("writer", 2)
    world.subscribe(reader, "$share/g/t", 1)
    world.nodes[1].disk.capacity = world.nodes[1].disk.used
    world.connect(reader, 0)
    world.nodes[1].crash()
    world.nodes[1].disk.capacity = None
    world.nodes[1].start()
    world.wait(10.0)
    world.nodes[0].crash()
    world.wait(4.0)
    writer.publish("t", b"hi", 1)
    world.wait(2.0)
    world.nodes[0].start()
    world.connect(reader, 0)
    world.settle()
    world.wait(2.0)
    assert payloads(reader) == [b"hi"]


def test_what_a_client_did_elsewhere_counts_where_its_session_was_before(world):
    """The client goes back while its node gives the session away: what that gave, and nobody has taken, is older."""
    reader = world.client("reader", 0, clean=False)
    world.subscribe(reader, "old", 1)
    world.subscribe(reader, "kept", 1)
    world.nodes[0].crash()
    world.wait(4.0)
    world.connect(reader, 1)
    reader.unsubscribe("old")
    world.subscribe(reader, "new", 1)
    world.nodes[0].start()
    world.nodes[0].sync_seconds = 1.0
    world.wait_until(lambda: world.nodes[0].node.parts.trails.get("reader") is not None)
    world.connect(reader, 0)
    world.settle()
    assert list(world.nodes[0].node.broker.session("reader").subscriptions) == ["kept", "new"]


def test_a_node_that_is_back_gets_what_waited_for_its_way_into_a_tree_while_it_was_down(world):
    """The issuer hears that the node is down, that nobody else is in the tree, and that the node is back."""
    reader, other = world.client("reader", 2, clean=False), world.client("other", 1, clean=False)
    writer = world.client("writer", 0)
    world.subscribe(reader, "t", 1)
    world.subscribe(other, "#", 1)
    world.wires.delays["master", "n0"] = 0.5
    world.nodes[1].sync_seconds = 2.0  # until then the attempt is not over
    world.nodes[2].crash()
    writer.publish("t", b"hi", 1)
    world.wait(0.1)
    world.nodes[2].start()
    world.wait(10.0)
    world.connect(reader, 2)
    world.wait(1.0)
    assert payloads(reader) == [b"hi"]


def publish_unheard(world):
    """A client that does not hear that its node has what it has published with QoS 2, and who gets that.

    The node's disk has it, and is full.
    """
    mover, reader = world.client("mover", 1, clean=False), world.client("reader", 2)
    world.subscribe(reader, "t", 2)
    world.wires.cut("n1", "mover")
    mover.publish("t", b"hi", 2)
    world.wait(0.5)
    world.nodes[1].disk.capacity = world.nodes[1].disk.used
    assert mover.said[0].acknowledged is None
    return mover, reader


def test_qos_2_said_again_elsewhere_is_known_there_from_a_node_whose_disk_is_full(world):
    """The node cannot say yet that it has given the session away; the client is let in without it."""
    mover, reader = publish_unheard(world)
    world.connect(mover, 0)
    world.wait(1.0)
    assert mover.said[0].acknowledged is not None
    world.nodes[1].disk.capacity = None
    world.wait(5.0)
    assert payloads(reader) == [b"hi"]


def test_qos_2_said_again_to_a_node_that_could_not_give_the_session_away_is_known_there(world):
    mover, reader = publish_unheard(world)
    mover.connect(world.nodes[0])
    world.wait(1.0)
    world.wires.mend("n1", "mover")
    mover.connect(world.nodes[1])
    world.wait(7.0)
    world.nodes[1].disk.capacity = None
    world.wait(10.0)
    assert mover.said[0].acknowledged is not None
    assert payloads(reader) == [b"hi"]


@pytest.mark.parametrize("has_lost", [False, True])
def test_a_client_waits_for_a_node_that_has_taken_qos_2_and_may_lose_it(world, has_lost):
    """Acknowledged elsewhere it could be lost with that node's power, and taken as another it could come twice."""
    mover, reader = world.client("mover", 1, clean=False), world.client("reader", 2)
    world.subscribe(reader, "t", 2)
    world.nodes[1].disk.capacity = world.nodes[1].disk.used
    mover.publish("t", b"hi", 2)
    world.wait(0.1)
    mover.connect(world.nodes[0])
    world.wait(8.0)
    assert not mover.is_connected
    if has_lost:
        world.nodes[1].crash()
    world.nodes[1].disk.capacity = None
    if has_lost:
        world.nodes[1].start()
    world.wait(5.0)
    assert mover.said[0].acknowledged is not None
    assert payloads(reader) == [b"hi"]


def test_a_node_whose_disk_is_full_has_one_answer_for_who_asks_again(world):
    reader = world.client("reader", 1, clean=False)
    giver, taker = (world.nodes[one].node.parts for one in (1, 0))
    world.subscribe(reader, "t", 1)
    world.nodes[1].disk.capacity = world.nodes[1].disk.used
    reader.connect(world.nodes[0])
    world.wait(8.0)
    [fetch] = taker.fetches
    assert [answer.token for answer in giver.promises] == [fetch.token]
    world.nodes[1].disk.capacity = None
    world.wait(3.0)
    assert not list(giver.promises)
    assert not list(taker.fetches)


def test_a_client_does_not_wait_for_a_node_that_may_lose_what_it_has_taken_and_is_gone(world):
    mover = world.client("mover", 1, clean=False)
    world.nodes[1].disk.capacity = world.nodes[1].disk.used
    mover.publish("t", b"hi", 2)
    world.wait(0.1)
    mover.connect(world.nodes[0])
    world.wait(8.0)
    world.nodes[1].crash()
    world.wait(4.0)
    assert mover.said[0].acknowledged is not None


def test_an_identifier_is_free_where_a_session_comes_after_its_client_has_released_it(world):
    """What another node knows of it is old: a publication under it would be acknowledged, and go nowhere."""
    mover, reader = publish_unheard(world)
    world.connect(mover, 0)
    world.wait(1.0)
    world.nodes[1].disk.capacity = None
    world.wait(5.0)
    assert world.nodes[1].node.parts.trails.get("mover").given.records == ()
    mover.last_id = mover.said[0].packet_id - 1
    again = mover.publish("t", b"again", 2)
    world.wait(1.0)
    assert again.packet_id == mover.said[0].packet_id
    assert payloads(reader) == [b"hi", b"again"]


def take_silently(world, where):
    """A client whose session, with a publication, has come to a node that has not said so yet."""
    reader, writer = world.client("reader", 1, clean=False), world.client("writer", where)
    world.subscribe(reader, "t", 2)
    reader.drop()
    writer.publish("t", b"hi", 2)
    world.wait(1.0)
    world.nodes[0].sync_seconds = 0.5  # until then it does not say so
    reader.connect(world.nodes[0])
    world.wait_until(lambda: (here := world.nodes[0].node.broker.session("reader")) is not None and here.inflight)
    assert world.nodes[1].node.parts.trails.get("reader").given.records
    return reader


def test_a_node_is_told_that_a_session_is_elsewhere_until_it_has_heard(world):
    """Else it would give the session to the next who asks, when nobody knows any more what of it is old."""
    reader = take_silently(world, where=2)
    mend = world.part(["n0"], ["n1", "n2", "master"])
    world.wait(5.0)
    mend()
    world.wait(10.0)
    assert payloads(reader) == [b"hi"]
    assert world.nodes[1].node.parts.trails.get("reader").given.records == ()
    assert world.direction.master.network.directory.sessions["reader"].rest == ()


def test_what_a_node_has_given_and_nobody_has_taken_is_not_forgotten_where_the_client_is_back(world):
    """One of those who had the session since says that another has it; that one names the node itself."""
    reader, writer = world.client("reader", 1, clean=False), world.client("writer", 0)
    world.subscribe(reader, "t", 2)
    reader.drop()
    writer.publish("t", b"hi", 2)
    world.wait(1.0)
    world.nodes[1].sync_seconds = 0.5  # until then it gives nothing
    reader.connect(world.nodes[2])
    world.wait_until(lambda: world.nodes[1].node.parts.trails.get("reader") is not None)
    writer.publish("t", b"more", 2)
    world.wait(0.05)
    world.nodes[0].sync_seconds = 0.1  # until then it asks for nothing
    reader.connect(world.nodes[0])
    world.wait(0.05)
    reader.connect(world.nodes[1])
    world.wait(5.0)
    assert payloads(reader) == [b"hi", b"more"]


def test_nobody_is_asked_for_a_session_that_has_ended(world):
    """The node that had it may have another of the same client by then, and does not answer."""
    reader = take_silently(world, where=2)
    mend = world.part(["n0"], ["n1", "n2"])
    world.wait_until(lambda: reader.is_connected)
    world.client("reader", 0).disconnect()
    world.wait(1.0)
    world.client("reader", 1, clean=False)
    mend()
    world.wait(10.0)
    assert not list(world.nodes[0].node.parts.fetches)


@pytest.mark.parametrize("where", [1, 2])
def test_what_two_nodes_are_given_of_a_session_comes_once(world, where):
    """The second asks before the first has said that it has it, and is given the same by both."""
    reader = take_silently(world, where)
    reader.connect(world.nodes[2])
    world.wait(5.0)
    assert payloads(reader) == [b"hi"]


def fetch_slowly(world):
    """A client whose session, with a publication, goes to another node when half a second has passed."""
    reader, writer = world.client("reader", 1, clean=False), world.client("writer", 2)
    world.subscribe(reader, "t", 2)
    reader.drop()
    writer.publish("t", b"hi", 2)
    world.wait(1.0)
    world.nodes[1].sync_seconds = 0.5  # until then it does not answer
    reader.connect(world.nodes[0])
    return reader


def test_a_session_that_has_ended_elsewhere_is_not_taken_back(world):
    """The session's node has forgotten with its power that who asked for it has it."""
    reader = fetch_slowly(world)
    trails = world.nodes[1].node.parts.trails
    world.wait_until(lambda: (trail := trails.get("reader")) is not None and not trail.given.records)
    world.nodes[1].crash()
    world.nodes[1].start()
    world.wait(5.0)
    assert payloads(reader) == [b"hi"]
    assert world.nodes[1].node.parts.trails.get("reader").given.records
    world.client("reader", 0).disconnect()
    world.wait(1.0)
    again = world.client("reader", 1, clean=False)
    world.wait(1.0)
    assert again.present == [False]
    assert payloads(again) == []
    assert world.nodes[1].node.parts.trails.get("reader") is None


def test_a_session_is_taken_back_from_a_node_that_is_forgotten_and_has_not_taken_it(world):
    reader = fetch_slowly(world)
    world.wait_until(lambda: world.nodes[1].node.parts.trails.get("reader") is not None)
    world.nodes[0].crash()
    world.wait(4.0)
    world.direction.ask("leave", node="n0", forget=True)
    world.wait(2.0)
    world.connect(reader, 1)
    world.wait(2.0)
    assert reader.present == [False, True]
    assert payloads(reader) == [b"hi"]


def test_an_identifier_is_free_where_a_node_has_forgotten_that_another_has_taken_the_session(world):
    mover, reader = publish_unheard(world)
    world.nodes[1].disk.capacity = None
    world.nodes[1].sync_seconds = 0.5
    mover.connect(world.nodes[0])
    trails = world.nodes[1].node.parts.trails
    world.wait_until(lambda: (trail := trails.get("mover")) is not None and not trail.given.records)
    world.nodes[1].crash()
    world.nodes[1].start()
    world.wait(5.0)
    assert mover.said[0].released
    assert world.nodes[1].node.parts.trails.get("mover").received
    world.wires.mend("n1", "mover")
    world.connect(mover, 1)
    mover.last_id = mover.said[0].packet_id - 1
    mover.publish("t", b"again", 2)
    world.wait(2.0)
    assert payloads(reader) == [b"hi", b"again"]


def test_a_crash_brings_nothing_back_that_a_session_has_forgotten(world, monkeypatch):
    """Only the last of each time, of which the next publication tells that it does not come again."""
    monkeypatch.setattr("weft.node.session_memory.FORGOTTEN", 3)
    reader, writer = world.client("reader", 1, clean=False), world.client("writer", 0)
    world.subscribe(reader, "t", 1)
    for number in range(5):
        writer.publish("t", b"%d" % number, 1)
        world.wait(0.1)
    world.wait(200.0)
    writer.publish("t", b"late", 1)
    world.wait(200.0)
    writer.publish("t", b"last", 1)
    world.wait(1.0)
    world.nodes[1].crash()
    world.nodes[1].start()
    world.settle()
    session = world.nodes[1].node.broker.session("reader")
    assert len(session.had) == 3
    assert payloads(reader) == [*(b"%d" % number for number in range(5)), b"late", b"last"]


def test_nothing_is_owed_of_what_has_expired_before_a_shared_subscription_could_be_given_it(world):
    member, writer = world.client("member", 1, clean=False), world.client("writer", 0, version=Version.V5)
    world.subscribe(member, "$share/g/t", 1)
    mend = world.part(["n1"], ["n0", "n2"])
    writer.publish("t", b"hi", 1, message_expiry_interval=2)
    world.wait(10.0)
    mend()
    world.wait(10.0)
    assert payloads(member) == []
    assert len(world.nodes[0].node.debts) == 0


def test_what_a_client_has_got_where_its_session_is_held_up_does_not_come_again(world):
    """A full disk keeps its node from giving the session away; the issuer is in doubt who has the publication."""
    reader, writer = world.client("reader", 1, clean=False), world.client("writer", 2)
    world.subscribe(reader, "t", 2)
    mend = world.part(["n2"], ["master"])
    world.wait(4.0)
    writer.publish("t", b"hi", 2)
    world.wait(0.5)
    assert payloads(reader) == [b"hi"]
    world.nodes[1].disk.capacity = world.nodes[1].disk.used
    world.connect(reader, 0)
    world.wait(7.0)
    mend()
    world.wait(10.0)
    world.nodes[1].disk.capacity = None
    world.wait(5.0)
    assert payloads(reader) == [b"hi"]
    assert not world.nodes[0].node.broker.session("reader").coming


def test_a_node_that_stops_while_it_gives_a_session_away_is_expected_back(world):
    """No filter is held there any more, but what waits for the client is there."""
    reader, writer = world.client("reader", 1, clean=False), world.client("writer", 2)
    world.subscribe(reader, "t", 1)
    reader.drop()
    writer.publish("t", b"hi", 1)
    world.wait(1.0)
    world.nodes[1].sync_seconds = 0.5  # until then it does not say what it has given
    reader.connect(world.nodes[0])
    world.wait_until(lambda: world.nodes[1].node.parts.trails.get("reader") is not None)
    world.nodes[1].stop()
    world.wait(10.0)
    assert not world.nodes[1].is_running
    world.nodes[1].start()
    world.settle()
    world.wait(2.0)
    assert payloads(reader) == [b"hi"]


def test_a_client_that_goes_home_does_not_get_what_it_has_got_elsewhere(world):
    """Home is owed it too, and the node where the session is hears late that it is back."""
    reader, writer = world.client("reader", 1, clean=False), world.client("writer", 2)
    world.subscribe(reader, "t", 2)
    world.nodes[1].crash()
    world.wait(4.0)
    world.connect(reader, 0)
    writer.publish("t", b"hi", 2)
    world.wait(1.0)
    assert payloads(reader) == [b"hi"]
    world.wires.delays["master", "n0"] = 2.0
    world.nodes[1].start()
    world.wait(1.0)
    world.connect(reader, 1)
    world.wait(10.0)
    assert payloads(reader) == [b"hi"]


def test_a_node_does_not_end_a_session_by_its_own_claim(world):
    """Another node tells it of that, which waits for what was there before, and has to end all of it."""
    reader, writer = world.client("reader", 0, clean=False, version=Version.V5), world.client("writer", 2)
    world.nodes[0].crash()
    world.wait(4.0)
    world.connect(reader, 1)
    world.wait(1.0)
    world.nodes[1].crash()
    world.nodes[0].start()
    world.wait(4.0)
    reader.renew()
    world.connect(reader, 0)
    world.subscribe(reader, "t", 1)
    world.nodes[1].start()
    world.settle()
    assert reader.is_connected
    writer.publish("t", b"hi", 1)
    world.wait(1.0)
    assert payloads(reader) == [b"hi"]


def test_what_was_owed_to_a_node_that_is_removed_reaches_sessions_that_have_left_it(world):
    """An issuer that was down does not find the node any more when it is back."""
    reader, writer = world.client("reader", 1, clean=False), world.client("writer", 2)
    world.subscribe(reader, "t", 1)
    world.nodes[1].crash()
    world.wait(4.0)
    writer.publish("t", b"hi", 1)
    world.wait(1.0)
    world.nodes[2].crash()
    world.wait(4.0)
    world.nodes[1].start()
    world.wait(5.0)
    world.connect(reader, 0)
    world.wait(2.0)
    world.nodes[1].stop()
    world.wait(2.0)
    assert payloads(reader) == []
    world.nodes[2].start()
    world.wait(5.0)
    assert payloads(reader) == [b"hi"]
    assert len(world.nodes[2].node.debts) == 0


def test_a_node_is_told_where_others_are_before_it_pays_what_it_owes_them(world):
    """Places may have changed while it was away, and what is for one place goes to whoever has it by then."""
    told = []
    world.nodes[0].crash()
    world.wait(4.0)
    world.nodes[0].start()
    handle = world.nodes[0].node.handle

    def listen(event, now):
        told.extend(event.frames if isinstance(event, Heard) and event.peer == MASTER else ())
        return handle(event, now)

    world.nodes[0].node.handle = listen
    world.wait(3.0)
    kinds = [type(frame) for frame in told]
    assert kinds.index(w.Places) < kinds.index(w.Tables)
    assert {node for node, _ in told[kinds.index(w.Places)].places} == {one.node.number for one in world.nodes}
    assert told[kinds.index(w.Places)].whole


def test_what_was_retained_before_something_that_has_expired_does_not_come_back(world):
    writer = world.client("writer", 0, version=Version.V5)
    writer.publish("t", b"old", 1, retain=True)
    world.wait(1.0)
    world.nodes[1].crash()
    world.wait(4.0)
    writer.publish("t", b"new", 1, retain=True, message_expiry_interval=2)
    world.wait(4.0)
    world.nodes[1].start()
    world.wait(40.0)
    assert [list(one.node.broker.retained()) for one in world.nodes] == [[], [], []]


def test_what_a_node_is_owed_is_not_taken_by_another_that_has_its_place_on_the_ring(world):
    """The issuer does not reach the master when places change, and hears of them behind that the node is back."""
    reader, writer = world.client("reader", 1, clean=False), world.client("writer", 0)
    world.subscribe(reader, "t", 1)
    world.nodes[1].crash()
    world.wait(4.0)
    writer.publish("t", b"hi", 1)
    world.wait(1.0)
    mend = world.part(["n0"], ["master"])
    world.wait(4.0)
    _, owed, other = (node.number for node in world.nodes)
    places = world.nodes[0].node.atlas.places
    assert world.nodes[0].node.debts.owed == {owed: 1}
    places[owed] = places[other]
    world.nodes[1].start()
    world.wait(1.0)
    mend()
    world.wait(5.0)
    world.connect(reader, 1)
    world.wait(1.0)
    assert payloads(reader) == [b"hi"]


def test_what_came_for_a_session_before_it_reaches_it_when_it_comes_again(world):
    """A node that has the place on the ring of one that is down got it first, and again when that is back."""
    reader, writer = world.client("reader", 0, clean=False), world.client("writer", 0)
    world.subscribe(reader, "t", 1)
    world.connect(reader, 1)
    world.wait(1.0)
    world.nodes[1].crash()
    world.wait(1.0)
    _, down, other = (node.number for node in world.nodes)
    places = world.nodes[0].node.atlas.places
    places[down] = places[other]
    writer.publish("t", b"hi", 1)
    world.wait(1.0)
    world.connect(reader, 2)
    world.nodes[1].start()
    world.wait(5.0)
    assert payloads(reader) == [b"hi"]


def test_an_identifier_is_free_where_a_node_has_not_heard_that_its_client_has_released_it_elsewhere(world):
    """The node was cut off: a publication under the identifier would be acknowledged, and go nowhere."""
    mover, reader = world.client("mover", 1, clean=False), world.client("reader", 2)
    world.subscribe(reader, "t", 2)
    world.wires.cut("n1", "mover")
    mover.publish("t", b"hi", 2)
    world.wait(0.5)
    mend = world.part(["n1"], ["n0", "n2", "master"])
    world.wait(4.0)
    world.connect(mover, 0)
    world.wait(1.0)
    assert mover.said[0].released
    world.wires.mend("n1", "mover")
    world.connect(mover, 1)
    mover.last_id = mover.said[0].packet_id - 1
    again = mover.publish("t", b"again", 2)
    world.wait(1.0)
    assert again.packet_id == mover.said[0].packet_id
    mend()
    world.wait(10.0)
    assert b"again" in payloads(reader)


def test_an_identifier_that_a_client_uses_again_where_its_node_has_an_old_one_is_of_something_else(world):
    """Released elsewhere while its node was down, and said again by the client, whose node crashes once more."""
    mover, reader = world.client("mover", 1, clean=False), world.client("reader", 2)
    world.subscribe(reader, "t", 2)
    world.wires.cut("n1", "mover")
    mover.publish("t", b"hi", 2)
    world.wait(0.5)
    world.nodes[1].crash()
    world.wires.mend("n1", "mover")
    world.wait(4.0)
    world.connect(mover, 0)
    world.wait(1.0)
    assert mover.said[0].released
    world.direction.crash()
    world.nodes[1].start()
    world.wait(4.0)
    mover.connect(world.nodes[1])
    world.wait(2.0)
    world.nodes[1].crash(notice=9.0)
    mover.last_id = mover.said[0].packet_id - 1
    again = mover.publish("t", b"again", 2)
    world.wait(1.0)
    world.nodes[1].start()
    mover.connect(world.nodes[1])
    world.wait(4.0)
    world.direction.start()
    world.wait(10.0)
    assert again.packet_id == mover.said[0].packet_id
    assert again.acknowledged
    assert b"again" in payloads(reader)


@pytest.mark.parametrize("is_down", [False, True])
def test_a_node_that_has_lost_its_claim_with_its_power_takes_no_subscription_away(world, is_down):
    """The disk was full, and has the session as it was before the client was elsewhere."""
    reader, writer = world.client("reader", 1, clean=False), world.client("writer", 0)
    world.subscribe(reader, "old", 1)
    world.subscribe(reader, "older", 1)
    disk = world.nodes[1].disk
    disk.capacity = disk.used
    reader.connect(world.nodes[0])
    world.wait(7.0)
    world.subscribe(reader, "new", 1)
    reader.unsubscribe("older")
    world.wait(1.0)
    reader.connect(world.nodes[1])
    world.wait(1.0)
    world.nodes[1].crash()
    world.nodes[1].disk.capacity = None
    world.wait(4.0 * is_down)
    world.nodes[0].crash()
    if is_down:
        world.wait(4.0)
        world.connect(reader, 2)
    world.nodes[1].start()
    world.wait(1.0)
    world.connect(reader, 2)
    world.nodes[0].start()
    world.wait(5.0)
    world.connect(writer, 0)
    for name in ("old", "older", "new"):
        writer.publish(name, name.encode(), 1)
    world.wait(2.0)
    assert payloads(reader) == [b"old", b"new"]


def test_what_a_client_missed_with_qos_0_comes_with_what_waits_for_it_elsewhere(world):
    """The client was let in without the master, and subscribed to less than it had before."""
    reader, writer = world.client("reader", 1, clean=False), world.client("writer", 0)
    world.subscribe(reader, "t/#", 1)
    world.direction.crash()
    world.wait(4.0)
    world.connect(reader, 0)
    reader.subscribe("t/+", 0)
    world.wait(0.1)
    writer.publish("t/x", b"hi", 1)
    world.wait(1.0)
    reader.drop()
    assert payloads(reader) == [], "it waits behind SUBACK"
    world.direction.start()
    world.wait(4.0)
    world.connect(reader, 0)
    world.wait(4.0)
    assert payloads(reader) == [b"hi"]


def test_a_client_waits_for_a_master_that_is_slow(world):
    """What waits at its node it has got elsewhere."""
    reader, writer = world.client("reader", 1, clean=False), world.client("writer", 2)
    world.subscribe(reader, "t", 2)
    world.nodes[1].crash()
    world.wait(4.0)
    world.connect(reader, 0)
    writer.publish("t", b"hi", 2)
    world.wait(1.0)
    world.wires.delays["master", "n0"] = 2.0
    world.nodes[1].start()
    world.wait(1.0)
    world.wires.delays["master", "n1"] = 2.0
    reader.connect(world.nodes[1])
    world.wait(10.0)
    assert reader.is_connected
    assert payloads(reader) == [b"hi"]


@pytest.mark.parametrize("qos", [1, 2])
def test_what_waits_for_a_client_waits_for_its_session_while_the_disk_is_full(world, qos):
    """The node does not ask for the session before its disk knows that, and does not know what the client has got."""
    reader, writer = world.client("reader", 1, clean=False), world.client("writer", 2)
    world.subscribe(reader, "t", qos)
    world.nodes[1].crash()
    world.wait(4.0)
    world.connect(reader, 0)
    writer.publish("t", b"hi", qos)
    world.wait(1.0)
    world.wires.delays["master", "n0"] = 2.0
    world.nodes[1].start()
    world.wait(1.0)
    disk = world.nodes[1].disk
    disk.capacity = disk.used
    reader.connect(world.nodes[1])
    world.wait(12.0)
    disk.capacity = None
    world.wait(6.0)
    assert reader.is_connected
    assert payloads(reader) == [b"hi"]


def test_a_clock_that_jumps_does_not_end_the_wait_for_a_session(world):
    """The client says again what the node that it has left has taken."""
    mover, reader = world.client("mover", 1, clean=False), world.client("reader", 2)
    world.subscribe(reader, "t", 2)
    world.wires.cut("n1", "mover")
    mover.publish("t", b"hi", 2)
    world.wait(0.5)
    world.wires.mend("n1", "mover")
    world.wires.delays["n1", "n0"] = 3.0
    mover.connect(world.nodes[0])
    world.wait(0.3)
    world.nodes[0].clock += 300.0
    world.wait(1.5)
    del world.wires.delays["n1", "n0"]
    world.wait(4.0)
    assert mover.is_connected
    assert payloads(reader) == [b"hi"]


def test_a_client_that_is_home_keeps_its_session_when_a_node_hears_late_that_it_wanted_none_there(world):
    reader, writer = world.client("reader", 1, clean=False, version=Version.V5), world.client("writer", 2)
    world.subscribe(reader, "t", 2)
    mend = world.part(["n0"], ["master"])
    world.wait(4.0)
    reader.renew()
    world.connect(reader, 0)
    world.wait(1.0)
    world.connect(reader, 1)
    writer.publish("t", b"hi", 2)
    world.wait(1.0)
    mend()
    world.wait(10.0)
    assert reader.is_connected
    assert len(reader.connected) == 3
    writer.publish("t", b"more", 2)
    world.wait(1.0)
    assert payloads(reader) == [b"hi", b"more"]


def test_what_is_for_a_member_that_has_just_left_reaches_it_where_it_is(world):
    """The node was the only one with members, and hears late where they are."""
    member, writer = world.client("member", 0, clean=False), world.client("writer", 0)
    world.subscribe(member, "$share/g/t", 1)
    world.wires.delays["master", "n0"] = 2.5
    member.connect(world.nodes[1])
    world.wait_until(lambda: world.nodes[0].node.broker.session("member") is None)
    writer.publish("t", b"hi", 1)
    world.wait(10.0)
    assert payloads(member) == [b"hi"]


def test_what_was_owed_to_members_at_two_nodes_is_settled_when_one_of_them_is_gone_for_good(world):
    """The publication goes to everybody once more, and not to the other node alone."""
    members = [world.client(f"member {node}", node, clean=False) for node in (1, 2)]
    writer = world.client("writer", 0)
    for member in members:
        world.subscribe(member, "$share/g/t", 1)
    for node in world.nodes[1:]:
        node.crash()
    world.wait(4.0)
    writer.publish("t", b"hi", 1)
    world.wait(1.0)
    world.connect(members[1], 0)
    world.nodes[1].wipe()
    world.nodes[1].start()
    world.wait(2.0)
    assert payloads(members[1]) == [b"hi"]
    world.nodes[2].start()
    world.settle()
    assert len(world.nodes[0].node.debts) == 0


def test_what_is_owed_to_a_node_that_is_gone_for_good_and_to_another_goes_to_everybody(world):
    """A session has left the one, and the issuer was down when both were."""
    world.add().start()
    world.settle()
    readers = [world.client(f"reader {node}", node, clean=False) for node in (1, 2)]
    writer = world.client("writer", 0)
    for reader in readers:
        world.subscribe(reader, "t", 1)
    for node in world.nodes[1:3]:
        node.crash()
    world.wait(4.0)
    writer.publish("t", b"hi", 1)
    world.wait(1.0)
    world.nodes[0].crash()
    world.wait(4.0)
    world.nodes[1].start()
    world.wait(3.0)
    world.connect(readers[0], 3)
    world.wait(2.0)
    world.nodes[1].stop()
    world.wait(2.0)
    world.nodes[0].start()
    world.wait(5.0)
    assert payloads(readers[0]) == [b"hi"]
    world.nodes[2].start()
    world.wait(3.0)
    world.connect(readers[1], 2)
    world.wait(2.0)
    assert payloads(readers[1]) == [b"hi"]
    assert len(world.nodes[0].node.debts) == 0


@pytest.mark.parametrize("is_parted", [False, True])
def test_a_node_that_claims_a_session_late_for_a_client_that_has_gone_changes_nothing(world, is_parted):
    """The client subscribes where it is meanwhile, and its node is restarted."""
    reader, writer = world.client("reader", 2, clean=False), world.client("writer", 0)
    world.wires.delays["n1", "master"] = 1.0
    reader.connect(world.nodes[1])
    world.wait(0.5)
    world.connect(reader, 2)
    if is_parted:
        world.part(["n1"], ["n2"])
    world.wait(1.5)
    world.subscribe(reader, "t", 1)
    world.nodes[2].crash()
    world.wait(4.0)
    writer.publish("t", b"hi", 1)
    world.nodes[2].start()
    world.wait(4.0)
    world.connect(reader, 2)
    world.wait(2.0 + 5.0 * is_parted)  # what comes for it waits for its session
    assert payloads(reader) == [b"hi"]


def test_a_session_is_asked_for_when_its_filters_are_in_place(world):
    """The other node gives them up then: held by nobody else at that time, what is published would reach nobody."""
    reader, writer = world.client("reader", 1, clean=False), world.client("writer", 2)
    world.subscribe(reader, "t", 1)
    reader.drop()
    world.wait(1.0)
    world.wires.delays["n0", "master"] = 2.0
    reader.connect(world.nodes[0])
    for number in range(12):
        writer.publish("t", b"%d" % number, 1)
        world.wait(0.5)
    world.wait(5.0)
    assert sorted(payloads(reader), key=int) == [b"%d" % number for number in range(12)]


def test_a_node_is_told_that_a_session_is_anothers_until_it_is_asked_for_it(world):
    """The first word of it may be lost, and the master's be slow."""
    reader = world.client("reader", 1, clean=False)
    world.subscribe(reader, "t", 1)
    reader.drop()
    world.wires.delays["n0", "master"] = 2.0
    reader.connect(world.nodes[0])
    world.wait(2.2)  # it is claimed, and its filter is not in place
    session = world.nodes[1].node.broker.session("reader")
    assert session.unsure
    session.unsure = False
    world.wait(1.0)
    assert session.unsure


@pytest.mark.parametrize("is_restarted", [False, True])
def test_what_a_client_gave_up_elsewhere_is_given_up_where_it_is_let_in_without_the_master(world, is_restarted):
    """What it subscribes to and gives up there counts too, and what it held there without the master before.

    So does what it had given up elsewhere, and wants again, and what it subscribes to again before it gives it up.
    """
    reader, writer = world.client("reader", 0, clean=False), world.client("writer", 2)
    for filter_ in ("again", "elsewhere", "here", "kept", "no more"):
        world.subscribe(reader, filter_, 1)
    world.nodes[0].crash()
    world.wait(4.0)
    world.connect(reader, 1)
    reader.unsubscribe("again")
    reader.unsubscribe("elsewhere")
    world.wait(1.0)
    world.direction.crash()
    world.nodes[0].start()
    world.wait(2.0)
    world.connect(reader, 0)
    reader.unsubscribe("here")
    for filter_ in ("again", "new", "no more"):
        world.subscribe(reader, filter_, 1)
    reader.unsubscribe("no more")
    world.wait(1.0)
    if is_restarted:
        world.nodes[0].crash()
        world.wait(1.0)
        world.nodes[0].start()
        world.wait(2.0)
        world.connect(reader, 0)
    world.direction.start()
    world.wait(5.0)
    world.settle()
    world.wait(6.0)
    for filter_ in ("again", "elsewhere", "here", "kept", "new", "no more"):
        writer.publish(filter_, filter_.encode(), 1)
    world.wait(8.0)
    assert sorted(payloads(reader)) == [b"again", b"kept", b"new"]
    assert sorted(world.nodes[0].node.broker.session("reader").subscriptions) == ["again", "kept", "new"]


@pytest.mark.parametrize(
    ("is_in", "is_there", "is_claimed"), [(True, False, True), (True, True, False), (False, False, False)]
)
def test_a_session_is_claimed_again_where_its_client_is_from_a_node_where_it_is_not(world, is_in, is_there, is_claimed):
    """The other node has let it in before without the master, and claims it late."""
    reader, node = world.client("reader", 1, clean=False), world.nodes[1].node
    if not is_in:
        reader.drop()
        world.wait(1.0)
    effects = node.handle(Heard(MASTER, (w.SessionClaimed("reader", is_there),)), world.agenda.now)
    said = [one.frame for one in effects if isinstance(one, Tell) and isinstance(one.frame, w.FindSession)]
    assert [(one.client, one.is_in, one.is_there) for one in said] == [("reader", True, True)] * is_claimed
    assert node.broker.session("reader").unsure is not is_in


def test_what_is_owed_to_a_node_that_was_away_for_long_comes_once_to_a_session_of_before_a_restart(world):
    """Everybody else has had it, and may have forgotten that by then."""
    reader, other = world.client("reader", 0, clean=False), world.client("other", 1, clean=False)
    for one in (reader, other):
        world.subscribe(one, "t", 2)
    world.nodes[1].crash()
    world.wait(4.0)
    reader.publish("t", b"hi", 2)
    world.wait(1.0)
    world.nodes[0].crash(power=False)
    world.nodes[0].start()
    world.wait(2.0)
    world.connect(reader, 0)
    world.wait(200.0)
    world.nodes[1].start()
    world.wait(5.0)
    world.connect(other, 1)
    world.wait(2.0)
    assert payloads(reader) == payloads(other) == [b"hi"]


def test_what_is_for_a_member_that_has_left_two_nodes_reaches_it_at_the_third(world):
    """Both still hold the filter for some seconds, and have no member."""
    member, writer = world.client("member", 0, clean=False), world.client("writer", 1)
    world.subscribe(member, "$share/g/t", 1)
    for node in (1, 2):
        world.connect(member, node)
    for number in range(6):
        writer.publish("t", b"%d" % number, 0)
    world.wait(1.0)
    assert sorted(payloads(member)) == [b"%d" % number for number in range(6)]


def test_a_node_that_is_back_gets_what_is_published_where_it_is_not_known_yet_that_it_was_gone(world):
    """The tree has another place for it: by the old table of one node and the new one of another nobody sends to it."""
    readers = [world.client(f"reader {node}", node, clean=False) for node in range(3)]
    writer = world.client("writer", 0)
    for node in (0, 2, 1):
        world.subscribe(readers[node], "t", 2)
    world.wires.delays["master", "n0"] = 0.8
    world.nodes[1].crash()
    world.wait(0.1)
    world.nodes[1].start()
    world.wait(0.3)
    assert world.nodes[0].node.atlas.down == {}
    writer.publish("t", b"hi", 2)
    world.wait(5.0)
    world.wires.delays.clear()
    world.connect(readers[1], 1)
    world.settle()
    assert [payloads(reader) for reader in readers] == [[b"hi"]] * 3


def test_a_node_confirms_what_it_is_told_when_it_has_all_of_it(world):
    """Reads end anywhere: it would confirm the version of a filter, and not have the tables."""
    node = world.nodes[0]
    end, version = node.links[MASTER], node.node.atlas.version
    told = [w.Filters(version + 1, (w.Listed("a/#"),)), w.Tables(version + 1, ()), w.EndOfTurn()]
    data = b"".join(map(encode, told))
    first = len(encode(told[0]))
    for part in (data[:first], data[first:-1]):
        end.received(end.wire, part)
        assert node.node.atlas.version == version
    end.received(end.wire, data[-1:])
    assert node.node.atlas.version == version + 1


def test_a_session_that_is_begun_anew_has_its_claim_after_a_restart_too(world):
    """Else a node that claimed the one before, and went down, asks for it when it is back, and is given the new one."""
    reader, writer = world.client("reader", 1, clean=False, version=Version.V5), world.client("writer", 2)
    world.nodes[1].crash()
    world.wait(4.0)
    world.connect(reader, 0)
    world.nodes[0].crash()
    world.nodes[1].start()
    world.wait(4.0)
    world.connect(reader, 1)
    reader.renew()
    world.connect(reader, 1)
    world.subscribe(reader, "t", 1)
    world.nodes[1].crash()
    world.wait(4.0)
    writer.publish("t", b"hi", 1)
    for node in (0, 1):
        world.nodes[node].start()
        world.wait(4.0)
    world.connect(reader, 1)
    world.wait(2.0)
    assert payloads(reader) == [b"hi"]


def test_a_node_may_be_owed_something_before_it_has_a_place_again(world):
    """The node has left for good, comes again, and waits; who owes it something is told meanwhile that it is down."""
    reader, writer = world.client("reader", 1, clean=False), world.client("writer", 2)
    world.subscribe(reader, "t", 1)
    world.nodes[1].crash()
    world.wait(1.0)
    writer.publish("t", b"hi", 1)
    world.wait(1.0)
    world.nodes[2].crash()
    world.connect(reader, 0)
    world.nodes[1].start()
    world.wait(10.0)
    mend = world.part(["n1"], ["n2"])
    world.wires.delays["master", "n0"] = 1.0
    world.nodes[2].start()
    world.wait(0.2)
    world.nodes[1].stop()
    world.wait(0.2)
    world.nodes[1].start()
    number, owing = world.nodes[1].number, world.nodes[2].node
    world.wait_until(lambda: number in owing.atlas.down)
    assert number not in owing.atlas.places
    world.wait_until(lambda: owing.debts.owed == {number: 1})
    world.wires.delays.clear()
    mend()
    world.settle()
    assert len(owing.debts) == 0
    assert payloads(reader) == [b"hi"]


def test_a_journal_is_compacted_while_something_is_owed_to_a_node_that_was_forgotten(world):
    """Nobody knows any more where that node was."""
    reader, writer = world.client("reader", 1, clean=False), world.client("writer", 2)
    world.subscribe(reader, "t", 1)
    world.nodes[1].crash()
    world.wait(1.0)
    writer.publish("t", b"hi", 1)
    world.wait(1.0)
    world.nodes[2].crash()
    world.wait(1.0)
    world.direction.ask("leave", node="n1", forget=True)
    world.nodes[2].start()
    owing = world.nodes[2].node
    world.wait_until(lambda: owing.parts.reliance.is_informed)
    assert [debt.targets for debt in owing.debts] == [{world.nodes[1].number}]
    assert len(list(owing.records())) >= 2
    world.settle()
    assert len(owing.debts) == 0


@pytest.mark.parametrize("is_restarted", [False, True])
def test_what_waits_in_a_session_that_was_given_up_is_not_sent_to_the_next(world, is_restarted):
    reader, writer = world.client("reader", 0, version=Version.V5, clean=False), world.client("writer", 2)
    world.subscribe(reader, "t", 1)
    reader.drop()
    writer.publish("t", b"old", 1)
    world.wait(1.0)
    world.nodes[0].crash()
    world.wait(4.0)
    world.connect(reader, 1)
    reader.renew()
    reader.drop()
    world.wait(1.0)
    world.connect(reader, 1)
    world.subscribe(reader, "t", 1)
    if is_restarted:
        world.nodes[1].crash(power=False)
        world.wait(1.0)
        world.nodes[1].start()
        world.wait(2.0)
        world.connect(reader, 1)
    world.nodes[0].start()
    world.wait(5.0)
    assert payloads(reader) == []
    writer.publish("t", b"new", 1)
    world.wait(2.0)
    assert payloads(reader) == [b"new"]


@pytest.mark.parametrize("way", ["unsubscribe", "renew"])
def test_what_waits_for_a_member_where_its_node_has_left_goes_to_another_if_it_does_not_want_it(world, way):
    """The member is elsewhere by then, and gives up the filter there, or its session."""
    member, other = world.client("member", 2, clean=False), world.client("other", 1)
    writer = world.client("writer", 0)
    for client in (member, other):
        world.subscribe(client, "$share/g/t", 1)
    member.drop()
    for payload in (b"1", b"2"):
        writer.publish("t", payload, 1)
    world.wait(1.0)
    assert len(other.got) == 1
    world.nodes[2].stop()
    world.wait(1.0)
    if way == "renew":
        member.renew()
    world.connect(member, 0)
    if way == "unsubscribe":
        member.unsubscribe("$share/g/t")
    world.wait(1.0)
    world.nodes[2].start()
    world.settle()
    world.wait(5.0)
    assert sorted(payloads(other)) == [b"1", b"2"]
    assert member.got == []


def test_what_a_member_leaves_goes_to_another_node_where_those_of_its_own_are_away_and_would_miss_it(world):
    """Members have subscribed with QoS 0."""
    member, away = world.client("member", 0, clean=False), world.client("away", 0, clean=False)
    other, writer = world.client("other", 1), world.client("writer", 0)
    world.subscribe(member, "$share/g/t", 1)
    member.drop()
    writer.publish("t", b"hi", 1)
    world.wait(1.0)
    world.subscribe(away, "$share/g/t", 0)
    world.subscribe(other, "$share/g/t", 1)
    away.drop()
    member.renew()
    world.connect(member, 0)
    world.wait(1.0)
    assert payloads(other) == [b"hi"]


@pytest.mark.parametrize("is_waiting", [False, True])
def test_a_session_begun_without_the_master_is_claimed_after_a_restart(world, is_waiting):
    """The master knows another one of the client's, and nobody would ask for this one."""
    reader, writer = world.client("reader", 1, clean=False, version=Version.V5), world.client("writer", 2)
    mend = world.part(["n0"], ["master"])
    world.wait(4.0)
    reader.renew()
    world.connect(reader, 0)
    world.subscribe(reader, "t", 2)
    world.nodes[0].crash()
    mend()
    world.wait(4.0)
    if is_waiting:
        world.connect(reader, 2)
    world.nodes[0].start()
    world.wait(4.0)
    writer.publish("t", b"hi", 2)
    world.wait(1.0)
    world.connect(reader, 2)
    world.wait(4.0)
    assert payloads(reader) == [b"hi"]


@pytest.mark.parametrize("is_in", [False, True])
def test_a_session_begun_without_the_master_is_claimed_where_its_client_was_once_without_one(world, is_in):
    """The claim of then went with it, whether it ended or its node crashed: that of the next is another."""
    guest = world.client("reader", 0)
    if not is_in:
        guest.disconnect()
    world.wait(1.0)
    if is_in:
        world.nodes[0].crash()
        world.wait(4.0)
        world.nodes[0].start()
        world.wait(4.0)
    reader, writer = world.client("reader", 1, clean=False, version=Version.V5), world.client("writer", 2)
    mend = world.part(["n0"], ["master"])
    world.wait(4.0)
    reader.renew()
    world.connect(reader, 0)
    world.subscribe(reader, "t", 2)
    world.nodes[0].crash()
    mend()
    world.wait(4.0)
    world.nodes[0].start()
    world.wait(4.0)
    writer.publish("t", b"hi", 2)
    world.wait(1.0)
    world.connect(reader, 2)
    world.wait(4.0)
    assert payloads(reader) == [b"hi"]


@pytest.mark.parametrize("is_compacted", [False, True])
def test_claims_of_clients_that_keep_no_session_are_not_back_after_a_restart(world, is_compacted):
    clients = [world.client(f"c{number}", 0) for number in range(4)]
    for one in clients[:2]:
        one.disconnect()
    world.wait(1.0)
    if is_compacted:
        world.nodes[0]._compact()
        world.wait(1.0)
    world.nodes[0].crash(power=False)
    world.wait(4.0)
    world.nodes[0].start()
    assert world.nodes[0].node.parts.directory.claims == {}


@pytest.mark.parametrize("is_sent", [False, True])
def test_a_session_that_has_ended_without_the_master_is_nobodys(world, is_sent):
    """The node was to claim it, or has, and the answer comes when it has ended."""
    mend = world.part(["n0"], ["master"])
    world.wait(4.0)
    reader = world.client("reader", version=Version.V5, expiry=5)
    world.connect(reader, 0)
    reader.drop()
    world.wait(1.0)
    world.nodes[0].crash(power=False)
    world.nodes[0].start()
    admissions, broker = world.nodes[0].node.parts.admissions, world.nodes[0].node.broker
    if is_sent:
        world.wires.delays["master", "n0"] = 1.0
        mend()
        world.wait_until(lambda: any(one.is_sent for one in admissions._pending.values()))
        assert broker.session("reader") is not None
        world.wait_until(lambda: not admissions._pending)
        assert broker.session("reader") is None
    world.wait(10.0)
    assert broker.session("reader") is None
    assert admissions.records() == []
    mend()
    world.wait(10.0)
    assert world.direction.master.network.directory.sessions == {}
    assert world.nodes[0].node.parts.directory.claims == {}


def test_a_session_that_a_client_did_not_want_without_the_master_ends_elsewhere_and_is_nobodys(world):
    world.client("reader", 1, clean=False).drop()
    mend = world.part(["n0"], ["master"])
    world.wait(4.0)
    world.client("reader", 0).disconnect()
    world.wait(1.0)
    mend()
    world.wait(10.0)
    assert [one.node.broker.session("reader") for one in world.nodes] == [None] * 3
    assert world.direction.master.network.directory.sessions == {}
    assert world.nodes[0].node.parts.directory.claims == {}


def test_what_a_client_says_again_is_known_where_its_session_was_begun_without_the_master(world):
    reader, writer = world.client("reader", 2), world.client("writer", 1, clean=False, version=Version.V5)
    world.subscribe(reader, "t", 2)
    mend = world.part(["n0"], ["master"])
    world.wait(4.0)
    writer.renew()
    world.connect(writer, 0)
    world.wires.delays["n0", "writer"] = 1.0
    said = writer.publish("t", b"hi", 2)
    world.wait(0.5)
    assert said.acknowledged is None
    world.nodes[0].crash()
    world.wires.delays.clear()
    mend()
    world.nodes[0].start()
    world.wait(4.0)
    world.connect(writer, 2)
    world.wait(4.0)
    assert said.acknowledged
    assert payloads(reader) == [b"hi"]


def test_what_a_client_does_in_a_session_that_has_the_place_of_another_counts_after_a_restart(world):
    """The claim has ended with the other one: by that what its node has would be outdated."""
    reader, writer = world.client("reader", 0, clean=False, version=Version.V5), world.client("writer", 2)
    reader.renew()
    world.connect(reader, 0)
    mend = world.part(["n0"], ["master"])
    world.wait(4.0)
    world.subscribe(reader, "t", 2)
    world.nodes[0].crash()
    mend()
    world.wait(4.0)
    world.connect(reader, 1)
    world.nodes[0].start()
    world.wait(4.0)
    writer.publish("t", b"hi", 2)
    world.wait(1.0)
    assert payloads(reader) == [b"hi"]


def test_a_session_that_is_to_end_where_its_client_was_ends_there_also_after_a_restart(world):
    reader, writer = world.client("reader", 1, clean=False, version=Version.V5), world.client("writer", 2)
    world.subscribe(reader, "old", 2)
    reader.disconnect()
    writer.publish("old", b"waits", 2)
    world.wait(1.0)
    world.nodes[1].crash()
    world.wait(4.0)
    reader.renew()
    world.connect(reader, 0)
    world.subscribe(reader, "new", 2)
    world.nodes[0].crash()
    world.wait(4.0)
    world.nodes[0].start()
    world.wait(1.0)
    world.nodes[1].start()
    world.wait(4.0)
    world.connect(reader, 0)
    for name in ("old", "new"):
        writer.publish(name, name.encode(), 2)
    world.wait(1.0)
    assert payloads(reader) == [b"new"]


def test_a_node_that_was_restarted_is_not_told_that_what_it_held_before_is_in_place(world):
    """A run counts anew, and would take that for what its clients have subscribed to since."""
    reader, writer = world.client("reader", 0, clean=False), world.client("writer", 2)
    world.subscribe(reader, "x/#", 1)
    world.wires.delays["n2", "master"] = 1.0
    reader.subscribe("y/#", 1)
    world.wait(0.2)
    world.nodes[0].crash(notice=0.2)
    world.nodes[0].start()
    world.settle()
    world.wait(2.0)
    world.wires.delays = {("master", "n2"): 1.0}
    world.connect(reader, 0)
    world.subscribe(reader, "$share/g/t", 1)
    writer.publish("t", b"hi", 1)
    world.wait(2.0)
    world.wires.delays.clear()
    world.wait(4.0)
    assert payloads(reader) == [b"hi"]


@pytest.mark.parametrize("where", [0, 2])
def test_qos_2_said_again_is_known_where_two_nodes_have_something_under_its_identifier(world, where):
    """The node whose part is old has claimed the session late, while the other was down: nobody knows which is old."""
    mover, reader = world.client("mover", 1, clean=False), world.client("reader", 2)
    mover.last_id = None
    world.subscribe(reader, "t", 2)
    mend = world.part(["n0"], ["n1", "n2", "master"])
    world.wait(4.0)
    world.connect(mover, 0)
    world.wires.delays["n0", "mover"] = world.wires.delays["n1", "mover"] = 1.0
    old = mover.publish("t", b"old", 2)
    world.wait(0.5)
    world.connect(mover, 1)
    world.wait(4.0)
    new = mover.publish("t", b"new", 2)
    world.wait(0.5)
    assert old.packet_id == new.packet_id
    assert [old.released, new.released] == [True, False]
    world.nodes[1].crash()
    mend()
    world.wait(4.0)
    world.nodes[1].start()
    world.wait(4.0)
    world.connect(mover, where)
    world.wait(4.0)
    assert new.acknowledged
    assert payloads(reader).count(b"new") == 1


@pytest.mark.parametrize("is_compacted", [False, True])
@pytest.mark.parametrize("is_moved", [False, True])
def test_what_a_member_leaves_to_one_at_another_node_is_on_the_disk(world, is_moved, is_compacted):
    """Others forget it with the session of the first member; the node of the second is down, and the heir fails too."""
    member, other = world.client("member", 2, clean=False), world.client("other", 1, clean=False)
    reader, writer = world.client("reader", 1, clean=False), world.client("writer", 0)
    heir = world.nodes[0 if is_moved else 2]
    world.subscribe(reader, "t", 1)
    world.subscribe(member, "$share/g/t", 1)
    member.drop()
    writer.publish("t", b"hi", 1)
    world.wait(1.0)
    world.subscribe(other, "$share/g/t", 1)
    other.drop()
    if is_moved:
        world.nodes[2].stop()
        world.wait(1.0)
        world.connect(member, 0)
        member.unsubscribe("$share/g/t")
        world.wait(1.0)
    world.nodes[1].crash()
    world.wait(6.0)
    if is_moved:
        world.nodes[2].start()
    else:
        world.connect(world.client("member", clean=True), 2)
    world.wait(8.0)
    assert [debt.group for debt in heir.node.debts] == ["$share/g/t"]
    if is_compacted:
        heir._compact()
        world.wait(1.0)
        assert heir.compactions == 1
    heir.crash()
    world.wait(6.0)
    heir.start()
    assert [(debt.group, debt.targets) for debt in heir.node.debts] == [("$share/g/t", set())]
    world.nodes[1].start()
    world.settle()
    for client in (reader, other):
        world.connect(client, 1)
    world.wait(5.0)
    assert payloads(other) == [b"hi"]
    assert payloads(reader) == [b"hi"], "it was for one member alone"
    assert len(heir.node.debts) == 0


def test_a_node_that_claimed_a_session_before_is_given_nothing_of_it(world):
    """What it does not want it would drop, and name to who has the session now as what the client has got."""
    reader, writer = world.client("reader", 0, clean=False), world.client("writer", 2)
    world.subscribe(reader, "t", 1)
    world.nodes[0].crash()
    world.wait(4.0)
    world.connect(reader, 1)  # which asks the first node when that is back
    reader.unsubscribe("t")
    world.wait(1.0)
    world.nodes[1].crash()
    world.nodes[0].start()
    world.settle()
    world.connect(reader, 0)
    world.subscribe(reader, "t", 1)
    reader.drop()
    writer.publish("t", b"hi", 1)
    world.wait(1.0)
    world.nodes[0].crash()
    world.wait(4.0)
    world.connect(reader, 2)
    reader.drop()
    world.wait(1.0)
    world.nodes[2].sync_seconds = 5.0  # until then it does not say that it has the session
    world.nodes[0].start()
    world.settle()
    world.nodes[1].start()
    world.wait(20.0)
    world.connect(reader, 2)
    world.wait(2.0)
    assert payloads(reader) == [b"hi"]


def test_a_session_ends_at_a_node_that_is_back_when_its_client_has_been_elsewhere_without_it(world):
    """The session that its client had in its place has ended by then, and has no claim any more."""
    reader = world.client("reader", 1, clean=False)
    world.subscribe(reader, "t", 1)
    reader.disconnect()
    world.nodes[1].crash()
    world.wait(4.0)
    world.client("reader", 0).disconnect()
    world.wait(1.0)
    world.nodes[1].start()
    world.settle()
    world.wait(4.0)
    assert not list(world.nodes[0].node.parts.fetches)
    assert world.client("reader", 1, clean=False).present == [False]


@pytest.mark.parametrize("is_restarted", [False, True])
def test_what_a_client_got_before_its_session_went_and_came_back_is_known_before_the_rest_has_come(world, is_restarted):
    """The rest is at a node that is down by then, and what the client got is issued again for another node."""
    reader, writer = world.client("reader", 0, clean=False), world.client("writer", 0, clean=False)
    other = world.client("other", 2, clean=False)
    world.subscribe(reader, "t", 2)
    world.subscribe(other, "t", 2)
    world.nodes[2].sync_seconds = 60.0  # until then it does not say that it has anything
    writer.publish("t", b"hi", 2)
    world.wait(1.0)
    world.nodes[0].crash()
    world.wait(4.0)
    reader.connect(world.nodes[1])
    world.wait(1.0)
    reader.drop()
    world.nodes[0].start()
    world.wait(4.0)
    world.nodes[1].crash()
    world.wait(4.0)
    reader.connect(world.nodes[0])
    world.wait(1.0)
    if is_restarted:
        world.nodes[0].crash()
        mend = world.part(["n0"], ["n1", "n2", "master"])
        world.nodes[0].start()
        reader.connect(world.nodes[0])
        world.wait(5.0)
        mend()
        world.wires.delays["master", "n0"] = 1.0
    world.wait(10.0)
    assert payloads(reader) == [b"hi"]
    world.nodes[1].start()
    world.nodes[2].sync_seconds = 0.01
    world.wait(70.0)
    assert payloads(reader) == payloads(other) == [b"hi"]


def test_what_waits_in_a_session_that_went_and_came_back_comes_with_the_rest(world):
    """The node that gave it away is told again what waits, while the other, which has that, is down."""
    reader, writer = world.client("reader", 0, clean=False), world.client("writer", 0, clean=False)
    other = world.client("other", 2, clean=False)
    world.subscribe(reader, "t", 2)
    world.subscribe(other, "t", 2)
    reader.drop()
    world.nodes[2].sync_seconds = 60.0  # until then it does not say that it has anything
    writer.publish("t", b"hi", 2)
    world.wait(1.0)
    world.nodes[0].crash()
    world.wait(4.0)
    reader.connect(world.nodes[1])
    world.wait(1.0)
    reader.drop()
    world.nodes[0].start()
    world.wait(4.0)
    world.nodes[1].crash()
    world.wait(4.0)
    world.connect(reader, 0)
    world.wait(10.0)
    world.nodes[1].start()
    world.nodes[2].sync_seconds = 0.01
    world.wait(70.0)
    assert payloads(reader).count(b"hi") == 1


@pytest.mark.parametrize("is_restarted", [False, True])
def test_what_came_back_with_one_part_of_a_session_waits_while_another_is_missing(is_restarted):
    """The node that gave it away knows that it comes back, and has it by then."""
    world = Cluster(4, seed=7)
    world.start()
    reader, writer = world.client("reader", 2, clean=False), world.client("writer", 3)
    world.subscribe(reader, "t", 2)
    reader.drop()
    world.nodes[2].crash()
    world.wait(4.0)
    world.connect(reader, 0)
    reader.drop()
    writer.publish("t", b"hi", 2)
    world.wait(2.0)
    world.nodes[0].crash()
    world.wait(4.0)
    world.connect(reader, 1)
    reader.drop()
    world.nodes[0].start()
    world.wait(6.0)
    reader.connect(world.nodes[0])
    world.wait(0.005)
    reader.drop()
    world.wait(4.0)
    assert [one.node for one in world.nodes[0].node.parts.fetches] == [world.nodes[2].number]
    if is_restarted:
        world.nodes[0].crash()
        world.wait(4.0)
        world.nodes[0].start()
        world.wait(4.0)
    world.connect(reader, 0)
    world.wait(5.0)
    assert payloads(reader) == [b"hi"]
    world.check_invariants()


def test_a_node_that_cannot_give_a_session_yet_is_waited_for_no_shorter(world):
    """The client waits for the answer from when it could be asked for, whatever the other says first."""
    here, there = world.nodes[0], world.nodes[1]
    parts, now = here.node.parts, here.now
    place = parts.atlas.places[there.number]
    fetch = parts.fetches.begin("reader", there.number, place, None)
    fetch.first = fetch.token = 7
    for awaited in (now + 60.0, now + 0.1):
        fetch.awaited = awaited
        parts.moving.hear(there.number, place, w.SessionComing("reader", 7, (), False, ()), now)
        assert fetch.awaited == max(awaited, now + 2 * Parameters().patience)


def garbled(frames, change):
    """The frames of a read, the first content in custody changed; whether there was one."""
    for frame in frames:
        for message in frame.messages if isinstance(frame, w.Carry) else ():
            if message.kept:
                message.content = change(message.content)
                return True
    return False


def long_name(data):
    return data[:9] + b"\xff\xff" + data[11:]


def unknown_flags(data):
    return b"\xff" + data[1:]


def short(data):
    return data[:-1]


def no_text(data):
    return data[:17] + b"\xff" + data[18:]


def no_publisher(data):
    at = 17 + int.from_bytes(data[9:11])
    return data[:at] + b"\xff" + data[at + 1 :]


@pytest.mark.parametrize("change", [long_name, unknown_flags, short, no_text, no_publisher])
def test_what_came_as_a_message_that_cannot_be_read_is_delivered_all_the_same(world, monkeypatch, change):
    """The link ends, so that both ends forget how many messages were on it, and what is owed comes again."""
    reader, writer = world.client("reader", 2), world.client("writer", 0)
    world.subscribe(reader, "t", 1)
    received, left = LinkEnd.received, [1]

    def torn(end, wire, data):
        if left and end.is_up and end.peer != MASTER:
            frames = FrameReader().feed(data)
            if garbled(frames, change):
                left.pop()
                data = b"".join(map(encode, frames))
        received(end, wire, data)

    monkeypatch.setattr(LinkEnd, "received", torn)
    sent = [writer.publish("t", payload, 1) for payload in (b"one", b"two", b"three")]
    world.wait(1.0)
    world.settle()
    assert left == []
    assert all(one.acknowledged for one in sent)
    assert sorted(payloads(reader)) == [b"one", b"three", b"two"]
    assert not world.nodes[0].node.debts.under_way


def test_bytes_that_are_no_frame_end_a_link_and_nothing_else(world, monkeypatch):
    reader, writer = world.client("reader", 2), world.client("writer", 0)
    world.subscribe(reader, "t", 1)
    received, left = LinkEnd.received, [1]

    def torn(end, wire, data):
        if left and end.is_up and end.peer != MASTER and garbled(FrameReader().feed(data), bytes):
            left.pop()
            data = data[:4] + b"\xff" + data[5:]
        received(end, wire, data)

    monkeypatch.setattr(LinkEnd, "received", torn)
    writer.publish("t", b"one", 1)
    world.wait(1.0)
    world.settle()
    assert left == []
    assert payloads(reader) == [b"one"]


def test_what_status_says_of_a_node_is_of_the_process_that_runs(world):
    """A full disk is a problem while it lasts, and a node that was killed has no clients and no rates."""
    reader, writer = world.client("reader", 1, clean=False), world.client("writer", 1)
    world.subscribe(reader, "t", 1)
    disk = world.nodes[1].disk
    disk.capacity = disk.used
    writer.publish("t", b"too much", 1)
    world.wait(3.0)
    full = "The disk of n1 is full: it refuses publications of QoS 1 and 2 until there is room."
    status = world.direction.master.status()
    assert full in status["problems"]
    assert status["clients"] >= 1
    disk.capacity = None
    world.wait(3.0)
    assert world.direction.master.status()["problems"] == []
    world.nodes[1].crash()
    died = world.agenda.now
    world.wait(10.0)
    status = world.direction.master.status()
    (node,) = [one for one in status["nodes"] if one["name"] == "n1"]
    assert (node["clients"], node["publications_a_second"], status["publications_a_second"]) == (0, 0, 0)
    (problem,) = [one for one in status["problems"] if "n1" in one]
    assert problem == f"n1 is down since {node['down_since']}."
    since = world.direction.master.network.roster.named("n1").down_since
    assert died <= since < died + 10.0
    world.nodes[1].start()
    world.settle()
    assert world.direction.master.status()["problems"] == []


def test_a_node_starts_with_whatever_is_left_of_its_records():
    """Whatever `weft salvage` leaves: any may be missing, of sessions that move, of debts and of what is owed."""
    world = Cluster(4, seed=11)
    world.start()
    clients = [world.client(f"c{place}", place % 4, clean=False) for place in range(8)]
    for client in clients:
        world.subscribe(client, "t/#", 2)
    for turn in range(30):
        clients[turn % 8].publish(f"t/{turn % 3}", b"%d" % turn, 1 + turn % 2, retain=turn % 5 == 0)
        if turn % 4 == 0:
            clients[(turn + 3) % 8].vanish()
            world.connect(clients[(turn + 3) % 8], turn // 4 % 3)
        if turn == 20:
            world.nodes[3].crash()
        world.wait(0.3)
    for process in world.nodes:
        records, now = salvaged(process.disk).records, world.agenda.now
        assert len(records) > 20
        identity = Identity(process.name, "c", process.incarnation, node=process.number)
        for seed in range(40):
            random, recovery = Random(seed), Recovery(process.incarnation)
            recovery.replay(record for record in records if random.random() < seed / 40)
            node = Node(identity, process._parameters, now, durable=True, position=len(records))
            node.restore(recovery, now)
            node.check_invariants()
