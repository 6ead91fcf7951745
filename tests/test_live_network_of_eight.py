"""A network of eight nodes as processes, with the clients that people have: all that it promises, once."""

import os
import shutil
import signal
import socket
import subprocess
from pathlib import Path
from typing import Any

from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from paho.mqtt.subscribeoptions import SubscribeOptions

from live_network import Process, running, weft_json
from live_node import Paho, until
from ports import free_run
from weft.live.address import Address
from weft.live.operator import ask

NODES = 8


class Network:
    """`weft up`, and where everything is."""

    def __init__(self, data: Path) -> None:
        self.data = data
        self.port = free_run(NODES + 1)
        self.master = Address("127.0.0.1", self.port + NODES)
        options = ("--nodes", str(NODES), "--port", str(self.port), "--data", str(data), "--sync", "process")
        self.up = Process("up", *options)
        self.pids: dict[str, int] = {}
        while not (line := self.up.line()).startswith("ready"):
            assert line, self.up.stop()
            name, _, _, pid = line.split()
            self.pids[name] = int(pid)

    def mqtt(self, node: int) -> int:
        return self.port + node

    def client(self, node: int, name: str = "", version: int = 4, keep: bool = False) -> Paho:
        return Paho(self.mqtt(node), name, version, keep)

    def states(self) -> dict[str, str]:
        return {node["name"]: node["state"] for node in ask(self.master, "status")["nodes"]}

    def node(self, place: int, name: str, *options: str) -> Process:
        listen = ("--listen", f"127.0.0.1:{self.mqtt(place)}")
        return Process("node", "--master", str(self.master), "--name", name, *listen, *options)


def _is_open(port: int) -> bool:
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) == 0


def a_new_user_tries_it(network: Network) -> None:
    if shutil.which("mosquitto_pub") is None:
        return
    options = ["-t", "news/#", "-C", "2", "-v"]
    with network.client(0) as first:
        first.publish("news/first", "kept", 1, retain=True)
        heard = subprocess.Popen(
            ["mosquitto_sub", "-p", str(network.mqtt(0)), *options], stdout=subprocess.PIPE, text=True
        )
        assert heard.stdout is not None
        assert heard.stdout.readline() == "news/first kept\n"  # it has subscribed
        said = ["mosquitto_pub", "-p", str(network.mqtt(5)), "-t", "news/today", "-m", "hi"]
        subprocess.run(said, check=True, timeout=20)
        assert heard.communicate(timeout=20)[0] == "news/today hi\n"
        first.publish("news/first", "", 1, retain=True)


def every_qos_between_nodes(network: Network) -> None:
    for version in (4, 5):
        _every_qos(network, version)


def _every_qos(network: Network, version: int) -> None:
    with network.client(1, version=version) as receiver, network.client(6, version=version) as sender:
        receiver.subscribe(f"q{version}/+", 2)
        for qos in (0, 1, 2):
            sender.publish(f"q{version}/{qos}", f"{qos}", qos)
        until(lambda: len(receiver.heard) == 3, "delivery")
        assert sorted((message.qos, message.payload) for message in receiver.heard) == [(0, b"0"), (1, b"1"), (2, b"2")]


def overlapping_filters_give_one_copy_and_their_order_is_kept(network: Network) -> None:
    with network.client(2) as receiver, network.client(7) as sender:
        for pattern in ("o/a", "o/+", "o/#"):
            receiver.subscribe(pattern, 1)
        for n in range(50):
            sender.publish("o/a", str(n), 1)
        sender.publish("o/end", "end", 1)
        until(lambda: "end" in receiver.payloads(), "delivery")
        assert receiver.payloads() == [*map(str, range(50)), "end"]


def retained_messages_are_at_every_node(network: Network) -> None:
    with network.client(3) as sender:
        sender.publish("kept/here", "old", 1, retain=True)
        sender.publish("kept/here", "new", 1, retain=True)
    for node in range(NODES):
        _retained_at(network, node, ["new"])
    with network.client(4) as sender:
        sender.publish("kept/here", "", 1, retain=True)
    for node in range(NODES):
        _retained_at(network, node, [])


def _retained_at(network: Network, node: int, wanted: list[str]) -> None:
    """Wait until a new subscriber of a node gets this: retained messages spread while clients go on."""

    def found() -> bool:
        with network.client(node) as receiver:
            receiver.subscribe("kept/#", 1)
            receiver.subscribe(f"echo/{node}", 1)
            receiver.publish(f"echo/{node}", "echo", 1)  # comes behind what is retained
            until(lambda: "echo" in receiver.payloads(), "the echo")
            return receiver.payloads() == [*wanted, "echo"]

    until(found, f"{wanted} at node {node}")


def a_will_is_heard_at_another_node(network: Network) -> None:
    with network.client(0) as receiver:
        receiver.subscribe("gone/+", 1)
        dying = network.client(5)
        dying.client.will_set("gone/five", "bye", 1)
        with dying:
            dying.client.socket().close()  # type: ignore[union-attr]
            until(lambda: receiver.payloads() == ["bye"], "the will")


def a_shared_subscription_has_one_member_in_the_whole_network(network: Network) -> None:
    members = [network.client(node) for node in (1, 3, 3, 6)]
    with members[0], members[1], members[2], members[3], network.client(7) as sender, network.client(2) as all_:
        for member in members:
            member.subscribe("$share/crew/work/#", 1)
        all_.subscribe("work/#", 1)
        for n in range(40):
            sender.publish(f"work/{n % 4}", str(n), 1)
        until(lambda: len(all_.heard) == 40, "delivery to everybody")
        until(lambda: sum(len(member.heard) for member in members) == 40, "delivery to members")
        done = sorted(int(payload) for member in members for payload in member.payloads())
        assert done == list(range(40))
        assert sum(bool(member.heard) for member in members) > 1


def no_local_and_properties_between_nodes(network: Network) -> None:
    sent = Properties(PacketTypes.PUBLISH)
    sent.UserProperty = [("colour", "green"), ("colour", "blue")]
    sent.ContentType, sent.ResponseTopic, sent.CorrelationData = "text/plain", "answers", b"17"
    sent.MessageExpiryInterval = 100
    with network.client(4, version=5) as one, network.client(0, version=5) as two:
        for client in (one, two):
            client.client.subscribe("talk/#", options=SubscribeOptions(qos=1, noLocal=True))
            client.subscribe("sync", 1)  # its SUBACK comes behind
        one.publish("talk/x", "from one", 1, properties=sent)
        two.publish("talk/x", "from two", 1)
        until(lambda: bool(one.heard and two.heard), "delivery")
        one.publish("sync", "end", 1)
        until(lambda: "end" in one.payloads() and "end" in two.payloads(), "the end")
        assert one.payloads() == ["from two", "end"]
        assert two.payloads() == ["from one", "end"]
        got = two.heard[0].properties
        assert got is not None
        assert got.UserProperty == sent.UserProperty
        assert (got.ContentType, got.ResponseTopic, got.CorrelationData) == ("text/plain", "answers", b"17")
        assert 90 <= got.MessageExpiryInterval <= 100


def a_session_follows_its_client(network: Network) -> None:
    with network.client(1, "wanderer", keep=True) as here:
        here.subscribe("post/#", 1)
    with network.client(5) as sender:
        for n in range(5):
            sender.publish("post/x", str(n), 1)
        with network.client(6, "wanderer", keep=True) as there:
            until(lambda: len(there.heard) == 5, "what waited")
            sender.publish("post/y", "5", 1)
            until(lambda: len(there.heard) == 6, "delivery")
            assert there.payloads() == [str(n) for n in range(6)]
    with network.client(6, "wanderer"):
        pass  # which ends the session


def a_client_that_connects_elsewhere_is_taken_over(network: Network) -> None:
    with network.client(2, "twin", version=5) as first:
        gone: list[Any] = []
        first.client.on_disconnect = lambda *given: gone.append(given[3])
        with network.client(7, "twin", version=5) as second:
            until(lambda: bool(gone), "the end of the first")
            first.client.loop_stop()
            assert gone[0].value == 0x8E
            second.publish("twin/alive", "yes", 1)


def operators_see_it(network: Network) -> None:
    master = ("--master", str(network.master))
    with network.client(1) as one, network.client(4) as other:
        one.subscribe("seen/topic", 1)
        other.subscribe("seen/topic", 1)
        tree = weft_json("explain", "seen/topic", *master)["trees"][0]
        assert tree["subscribers"] == 2
        assert {member["node"] for member in tree["members"] if not member["relay"]} == {"node-1", "node-4"}
        steps = weft_json("trace", "node-1", "seen/topic", *master)["steps"]
        assert {step["node"] for step in steps} >= {"node-1", "node-4"}
        status = weft_json("status", *master)
    assert {node["name"]: node["state"] for node in status["nodes"]} == {f"node-{n}": "up" for n in range(NODES)}
    assert max(node["links"] for node in status["nodes"]) <= status["links_bound"]
    assert status["problems"] == []


def load_over_all_nodes_is_delivered_once_and_in_order(network: Network) -> None:
    targets = [f"127.0.0.1:{network.mqtt(n)}" for n in range(NODES)]
    shape = ("--publishers", "8", "--subscribers", "16", "--topics", "24", "--subscriptions", "6", "--qos", "1")
    found = weft_json("bench", *targets, *shape, "--rate", "200", "--seconds", "1", "--master", str(network.master))
    assert found["deliveries"] == found["expected_deliveries"] > 0
    assert (found["losses"], found["duplicates"], found["order_violations"], found["strays"]) == (0, 0, 0, 0)
    assert 0 <= found["relays_a_delivery"] < 1


def a_node_fails_and_returns_and_nothing_acknowledged_is_lost(network: Network) -> None:
    with network.client(3, "patient", keep=True) as away:
        away.subscribe("owed/#", 1)
    with network.client(0) as near, network.client(6) as sender:
        near.subscribe("owed/#", 1)
        sender.publish("owed/1", "before", 1)
        _kill(network.pids["node-3"])
        until(lambda: network.states()["node-3"] == "down", "noticing")
        sender.publish("owed/2", "while it was down", 1)
        until(lambda: near.payloads() == ["before", "while it was down"], "delivery to the others")
        back = network.node(3, "node-3", "--data", str(network.data / "node-3"))
        with running(back):
            assert back.line().startswith("ready")
            with network.client(3, "patient", keep=True) as patient:
                until(lambda: len(patient.heard) == 2, "what it is owed")
                assert sorted(patient.payloads()) == ["before", "while it was down"]
            assert back.stop()[0] == 0


def _kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)


def a_node_joins_and_leaves(network: Network) -> None:
    joined = Process("node", "--master", str(network.master), "--name", "guest", "--listen", "127.0.0.1:0")
    with running(joined):
        port = joined.port()
        with Paho(port) as guest, network.client(5) as other:
            guest.subscribe("guests/#", 1)
            other.publish("guests/hello", "hi", 1)
            until(lambda: guest.payloads() == ["hi"], "delivery to the new node")
        weft_json("leave", "guest", "--master", str(network.master))
        assert joined.wait()[0] == 0
    until(lambda: "guest" not in network.states(), "leaving")


def it_ends_as_one(network: Network) -> None:
    code, said = network.up.stop(signal.SIGINT)
    assert code == 0, said
    assert "Traceback" not in said
    until(lambda: not any(_is_open(network.mqtt(n)) for n in range(NODES)), "the end of all nodes")


STEPS = (
    a_new_user_tries_it,
    every_qos_between_nodes,
    overlapping_filters_give_one_copy_and_their_order_is_kept,
    retained_messages_are_at_every_node,
    a_will_is_heard_at_another_node,
    a_shared_subscription_has_one_member_in_the_whole_network,
    no_local_and_properties_between_nodes,
    a_session_follows_its_client,
    a_client_that_connects_elsewhere_is_taken_over,
    operators_see_it,
    load_over_all_nodes_is_delivered_once_and_in_order,
    a_node_fails_and_returns_and_nothing_acknowledged_is_lost,
    a_node_joins_and_leaves,
    it_ends_as_one,
)


def test_eight_nodes_do_all_that_they_promise(tmp_path: Path) -> None:
    """One test, since the network takes longest to start."""
    network = Network(tmp_path)
    with running(network.up):
        for step in STEPS:
            step(network)
