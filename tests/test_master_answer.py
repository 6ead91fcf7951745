"""What operators are answered, whole answers of small networks."""

import pytest

from master_world import MasterWorld
from weft.errors import WeftError
from weft.master.answer import overlay_for
from weft.master.effect import Asked
from weft.master.parameters import Parameters
from weft.wire import frame as w


def line_of_three() -> MasterWorld:
    """Nodes a, b and c, of which a and b hold x; c publishes on it twice a second in the mean of ten seconds."""
    world = MasterWorld(Parameters(automatic=False))
    for name in ("node-10", "node-9", "node-b"):
        world.join(name)
    for name in ("node-10", "node-9"):
        world.subscribe(world.nodes[name], "x")
    return world


def test_status_of_a_network_where_all_is_well() -> None:
    world = line_of_three()
    counters = [("connected", 2), ("delivered", 8), ("relayed", 2)], [("connected", 1), ("delivered", 2)]
    for name, own in zip(("node-10", "node-9"), counters, strict=True):
        world.say(world.nodes[name], w.Measured((), (), tuple(own)))
    world.say(world.nodes["node-9"], w.SessionOwned(w.Owned("client", 60, 4)))
    status = world.ask("status")
    assert status.pop("version") == world.master.network.version
    assert [node.pop("name") for node in status["nodes"]] == ["node-9", "node-10", "node-b"]
    assert status.pop("nodes") == [
        {
            "number": number,
            "state": "up",
            "down_since": None,
            "address": f"{name}:7000",
            "mqtt": ["m:1883"],
            "links": 2,
            "links_wanted": 2,
            "filters": filters,
            "clients": clients,
            "publications_a_second": 0,
            "filters_owed": 0,
            "counters": own,
        }
        for name, number, filters, clients, own in (
            ("node-9", 1, 1, 1, {"connected": 1, "delivered": 2}),
            ("node-10", 0, 1, 2, {"connected": 2, "delivered": 8, "relayed": 2}),
            ("node-b", 2, 0, 0, {}),
        )
    ]
    assert status == {
        "certificate_days": None,
        "cluster": "test",
        "links": 3,
        "links_up": 3,
        "links_bound": 6,
        "links_over_bound": {},
        "clients": 3,
        "sessions": 1,
        "topics": 1,
        "publications_a_second": 0,
        "relays_a_delivery": 0.0,
        "relays_a_delivery_measured": 0.2,
        "relays_a_delivery_designed": None,
        "hops": 0.0,
        "hops_designed": None,
        "busiest_node": None,
        "busiest_times_mean": 0.0,
        "busiest_times_mean_designed": None,
        "parted_topics": [],
        "redesign": "none",
        "counters": {"connected": 3, "delivered": 10, "relayed": 2},
        "problems": [],
    }


def test_status_tells_how_often_is_published_and_who_is_busiest() -> None:
    world = line_of_three()
    assert world.ask("status")["relays_a_delivery_measured"] is None
    world.subscribe(world.nodes["node-b"], "x")
    world.say(world.nodes["node-b"], w.Measured((("x", 9, 90), ("y", 3, 30))))
    status = world.ask("status")
    of_the_node = status["nodes"][2]["publications_a_second"]
    assert of_the_node > 1.0
    assert status["publications_a_second"] == pytest.approx(of_the_node)
    assert status["busiest_node"] in {"node-9", "node-10", "node-b"}
    assert status["busiest_times_mean"] == 3.0, "one of three sends all"


def test_a_tree_is_told_from_its_middle_on() -> None:
    world = MasterWorld()
    nodes = [world.join(f"n{number}") for number in range(4)]
    for node in nodes[:3]:
        world.subscribe(node, "x")
    tables = {node.name: node.tables[w.topic_of("x")] for node in nodes[:3]}
    middle = next(name for name, peers in tables.items() if len(peers) == 2)
    others = sorted(tables.keys() - {middle})
    assert world.ask("explain", topic="x") == {
        "topic": "x",
        "trees": [
            {
                "filter": "x",
                "subscribers": 3,
                "root": None,
                "relays": 0,
                "parted": False,
                "members": [
                    {"node": middle, "hops": 0, "from": None, "relay": False},
                    *({"node": name, "hops": 1, "from": middle, "relay": False} for name in others),
                ],
            }
        ],
        "shared": [],
    }
    assert world.ask("explain", topic="y") == {"topic": "y", "trees": [], "shared": []}


@pytest.mark.parametrize(
    ("asked", "trees", "shared"),
    [
        ("news/today", ["#", "news/+", "news/today"], ["$share/g/news/#"]),
        ("news", ["#"], ["$share/g/news/#"]),
        ("#", ["#"], []),
        ("news/+", ["news/+"], []),
        ("news/#", [], ["$share/g/news/#"]),
        ("other/#", [], []),
        ("$share/g/news/#", [], ["$share/g/news/#"]),
    ],
)
def test_a_filter_is_explained_by_itself_and_a_topic_by_all_that_match(
    asked: str, trees: list[str], shared: list[str]
) -> None:
    world = MasterWorld()
    world.join("n0", "#", "news/+", "news/today", "$share/g/news/#")
    told = world.ask("explain", topic=asked)
    assert [one["filter"] for one in told["trees"]] == trees
    assert [one["filter"] for one in told["shared"]] == shared


def test_the_steps_of_a_trace_are_told_in_the_order_of_hops_and_times() -> None:
    world = MasterWorld()
    one, two, three = (world.join(f"n{number}") for number in range(3))
    world.handle(Asked(99, "trace", {"node": "n0", "topic": "x"}))
    token = one.told[-1].token
    world.say(three, w.Traced(token, one.number, 1, 10.003, 0))
    world.say(two, w.Traced(token, one.number, 1, 10.002, 3))
    world.say(one, w.Traced(token, w.NOBODY, 0, 10.0, 1))
    world.say(two, w.Traced(token + 1, one.number, 1, 10.002, 3))  # of no trace
    world.run(0.9)
    assert 99 not in world.answers, "it may arrive somewhere else"
    world.run(0.2)
    assert world.answers[99] == {
        "topic": "x",
        "from": "n0",
        "steps": [
            {"node": "n0", "from": None, "hops": 0, "milliseconds": 0.0, "clients": 1},
            {"node": "n1", "from": "n0", "hops": 1, "milliseconds": 2.0, "clients": 3},
            {"node": "n2", "from": "n0", "hops": 1, "milliseconds": 3.0, "clients": 0},
        ],
        "nodes_with_receivers": 2,
    }
    world.fail(two)
    world.run(2.0)
    assert world.ask("trace", node="n1", topic="x") == {"error": "n1 is not connected: trace from another node."}


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"topic": "é" * 32_767 + "xy"}, "The topic of the request has 65,536 bytes: give one of at most 65,535."),
        ({"topic": "caf\udce9"}, r"The topic 'caf\udce9' is no UTF-8: give one that is."),
        ({"node": "\udcff"}, r"The node '\udcff' is no UTF-8: give one that is."),
        ({"topic": "x/#"}, "'x/#' is no topic to publish on: give one without `+` and `#`."),
        ({"topic": ""}, "The request has no topic: give one."),
        ({"topic": 5}, "The request has no topic: give one."),
    ],
)
def test_what_no_frame_could_carry_is_not_traced(given: dict[str, object], sentence: str) -> None:
    world = MasterWorld()
    node = world.join("n0")
    told = len(node.told)
    assert world.ask("trace", **{"node": "n0", "topic": "x"} | given) == {"error": sentence}
    assert len(node.told) == told


def test_the_longest_name_is_traced() -> None:
    world = MasterWorld()
    node = world.join("n0")
    assert world.ask("trace", node="n0", topic="é" * 32_767 + "x")["steps"] == []
    assert isinstance(node.told[-1], w.Trace)


@pytest.mark.parametrize("topic", ["x" * 65_536, "caf\udce9"])
def test_what_nobody_could_subscribe_to_is_not_explained(topic: str) -> None:
    assert MasterWorld().ask("explain", topic=topic)["error"].startswith("The topic ")


def test_two_traces_are_not_taken_for_each_other() -> None:
    world = MasterWorld()
    node = world.join("n0")
    for ticket in (1, 2):
        world.handle(Asked(ticket, "trace", {"node": "n0", "topic": f"t{ticket}"}))
    world.say(node, w.Traced(node.told[-1].token, w.NOBODY, 0, 10.0, 1))
    world.run(2.0)
    assert [len(world.answers[ticket]["steps"]) for ticket in (1, 2)] == [0, 1]
    assert [world.answers[ticket]["topic"] for ticket in (1, 2)] == ["t1", "t2"]


def test_a_snapshot_has_who_holds_and_publishes_what_and_how_far_nodes_are_apart() -> None:
    world = line_of_three()
    world.subscribe(world.nodes["node-9"], "a")
    world.say(world.nodes["node-b"], w.Measured((("x", 9, 90), ("nobody's", 3, 30))))
    rate = world.master.network.traffic.rates[world.nodes["node-b"].number]["x"]
    snapshot = world.ask("snapshot")
    assert snapshot == {
        "nodes": ["node-10", "node-9", "node-b"],
        "topics": ["a", "x"],
        "interest": [[1], [0, 1], []],
        "publishers": [[2], [1], [rate]],
        "round_trips": [[0.0, 1.5, 1.5], [1.5, 0.0, 1.5], [1.5, 1.5, 0.0]],
    }


def options(**other: object) -> dict[str, object]:
    """An overlay of nodes n1 and n0, in this order: a finger each."""
    return {"ring_ids": [0, 2], "ring_size": 4, "sources": [0, 1], "targets": [1, 0], "names": ["n1", "n0"]} | other


def test_an_overlay_from_elsewhere_is_that_of_the_nodes_with_its_names() -> None:
    world = MasterWorld()
    for number in range(2):
        world.join(f"n{number}")
    made = overlay_for(world.master.network, options(sources=[0], targets=[1]), {})
    assert made.ring_ids.tolist() == [2, 0]
    assert (made.sources.tolist(), made.targets.tolist(), made.phases.tolist()) == ([1], [0], [1])
    by_instance = options(names=None, instance="known")
    assert overlay_for(world.master.network, by_instance, {"known": ["n1", "n0"]}).fingerprint == (
        overlay_for(world.master.network, options(), {}).fingerprint
    )


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"names": ["n0"]}, "The overlay has 2 nodes and the instance 1."),
        ({"names": 5}, "The names of the request are no list of names: give one of each node, or none."),
        ({"names": ["n0", 5]}, "The names of the request are no list of names: give one of each node, or none."),
        ({"targets": [1, -1]}, "The overlay names nodes that it does not have: it has 2."),
        ({"targets": [1, 2]}, "The overlay names nodes that it does not have: it has 2."),
        ({"ring_size": "x"}, "The overlay names nodes that it does not have: it has 2."),
        ({"targets": [1]}, "The overlay has links with one end only: give as many sources as targets."),
        ({"targets": [1, "x"]}, "The request has no overlay: give ring_ids, sources and targets, lists of numbers."),
    ],
)
def test_an_overlay_that_makes_no_sense_is_refused(wrong: dict[str, object], sentence: str) -> None:
    world = MasterWorld()
    for number in range(2):
        world.join(f"n{number}")
    with pytest.raises(WeftError) as error:
        overlay_for(world.master.network, options(**wrong), {})
    assert str(error.value) == sentence


def test_status_of_a_node_that_is_down_has_no_clients_and_no_rates() -> None:
    """What it had said last is of a process that is gone."""
    world = line_of_three()
    world.subscribe(world.nodes["node-9"], "kept", persistent=True)
    for _ in range(5):
        world.now += 1.0
        world.say(world.nodes["node-9"], w.Measured((("x", 30, 300),), (), (("connected", 4),)))
    assert world.ask("status")["clients"] == 4
    assert world.ask("status")["publications_a_second"] > 0
    world.fail(world.nodes["node-9"])
    world.run(3.0)
    status = world.ask("status")
    (node,) = [one for one in status["nodes"] if one["name"] == "node-9"]
    assert (node["state"], node["clients"], node["publications_a_second"]) == ("down", 0, 0)
    assert (status["clients"], status["publications_a_second"]) == (0, 0)
    since = node["down_since"]
    assert since.startswith("2027-01-15 08:00:0")
    assert status["problems"] == [f"node-9 is down since {since}."]
    world.restart()
    world.run(30.0)
    (node,) = [one for one in world.ask("status")["nodes"] if one["name"] == "node-9"]
    assert node["down_since"] == since, "the master's own restart is no reason"


def test_status_names_nodes_whose_disk_is_full() -> None:
    world = line_of_three()
    world.say(world.nodes["node-9"], w.Measured((), (), (("disk_full", 1),)))
    problem = "The disk of node-9 is full: it refuses publications of QoS 1 and 2 until there is room."
    assert world.ask("status")["problems"] == [problem]
    world.say(world.nodes["node-9"], w.Measured((), (), (("disk_full", 0),)))
    assert world.ask("status")["problems"] == []
