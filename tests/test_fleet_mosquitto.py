"""Plans on real Mosquittos: every message once at every subscriber, no loops, and changes that lose nothing."""

from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

import weft
from mosquitto_fleet import Clients, Mosquittos, needs_mosquitto
from ports import free_ports
from weft.fleet.bridge import Bridge, Line
from weft.fleet.broker import Broker
from weft.fleet.client import CLIENTS, resolved
from weft.fleet.export import read_kept, write_mosquitto
from weft.fleet.fleet import Fleet
from weft.fleet.mosquitto import configuration, read_configurations
from weft.fleet.plan import Plan, plan_of
from weft.fleet.score import edges_of_fleet, everything, score
from weft.model.wildcard import finder

pytestmark = needs_mosquitto

NAMES = [f"b{node}" for node in range(8)]
TOPICS = [f"site{site}/{kind}" for site in range(4) for kind in ("temperature", "humidity", "door/open")]
INTEREST = {
    name: [topic for place, topic in enumerate(TOPICS) if (place * 5 + node * 3) % 7 < 3 or place // 3 == node % 4]
    for node, name in enumerate(NAMES)
}

LATER = {**INTEREST, "b3": [*INTEREST["b3"][2:], next(topic for topic in TOPICS if topic not in INTEREST["b3"])]}


def instance_of(interest: dict[str, list[str]]) -> weft.Instance:
    rows = [(name, topic) for name, topics in interest.items() for topic in topics]
    return weft.Instance.from_pandas(pd.DataFrame(rows, columns=["broker", "topic"]), "broker", "topic")


def planned(interest: dict[str, list[str]], seed: int = 1) -> Plan:
    instance = instance_of(interest)
    overlay = weft.design(instance, "swico-even", seed=seed)
    return plan_of(instance, overlay, weft.weave(instance, overlay))


@pytest.fixture
def ports() -> dict[str, int]:
    return dict(zip(NAMES, free_ports(len(NAMES)), strict=True))


@pytest.fixture
def brokers(ports: dict[str, int]) -> dict[str, Broker]:
    return {name: Broker(name, "127.0.0.1", port) for name, port in ports.items()}


@pytest.fixture
def mosquittos(tmp_path: Path, ports: dict[str, int]) -> Iterator[Mosquittos]:
    running = Mosquittos(tmp_path / "brokers", ports)
    yield running
    running.kill()


def ways(interest: dict[str, list[str]]) -> list[tuple[str, str, str]]:
    """Every issuer, topic and subscriber."""
    return [(issuer, topic, name) for issuer in NAMES for name, topics in interest.items() for topic in topics]


def say(clients: Clients, interest: dict[str, list[str]], word: str) -> None:
    """Publish on every topic at every broker, and wait until it has come to everybody."""
    subscribed = {topic for topics in interest.values() for topic in topics}
    for issuer in NAMES:
        for topic in sorted(subscribed):
            clients.publish(issuer, topic, f"{word} {issuer}".encode())
    clients.await_all((name, topic, f"{word} {issuer}".encode()) for issuer, topic, name in ways(interest))


def copies(clients: Clients, word: str) -> list[int]:
    return [count for (_, _, payload), count in clients.came.items() if payload.startswith(word.encode())]


def test_every_message_comes_once_to_every_subscriber_of_eight_brokers(
    tmp_path: Path, mosquittos: Mosquittos, brokers: dict[str, Broker], ports: dict[str, int]
) -> None:
    plan = planned(INTEREST)
    assert any(line.pattern.endswith("/#") for bridge in plan.bridges for line in bridge.lines)
    write_mosquitto(plan, brokers, tmp_path / "plan")
    mosquittos.start(NAMES, tmp_path / "plan")
    clients = Clients(INTEREST, ports)
    clients.await_bridges(ways(INTEREST))
    say(clients, INTEREST, "first")
    say(clients, INTEREST, "after")  # what came again of the first has come before these, on the same links
    clients.close()
    assert copies(clients, "first") == [1] * len(ways(INTEREST))
    assert read_configurations([tmp_path / "plan"], brokers, "brokers.csv") == list(plan.bridges)


def test_names_that_nobody_planned_for_do_not_loop(
    tmp_path: Path, mosquittos: Mosquittos, brokers: dict[str, Broker], ports: dict[str, int]
) -> None:
    """New names below the wildcards of a plan, heard at all brokers."""
    plan = planned(INTEREST)
    write_mosquitto(plan, brokers, tmp_path / "plan")
    mosquittos.start(NAMES, tmp_path / "plan")
    clients = Clients({name: [*INTEREST[name], "site0/new", "site1/door/new", "site2/door"] for name in NAMES}, ports)
    clients.await_bridges(ways(INTEREST))
    for issuer in NAMES:
        for topic in ("site0/new", "site1/door/new", "site2/door"):
            clients.publish(issuer, topic, f"new {issuer}".encode())
    say(clients, INTEREST, "after")
    clients.close()
    assert set(copies(clients, "new")) == {1}


def test_a_full_mesh_of_bridges_doubles_messages(
    tmp_path: Path, mosquittos: Mosquittos, brokers: dict[str, Broker], ports: dict[str, int]
) -> None:
    mesh = [
        Bridge(one, other, (Line("#", "both", 0),)) for place, one in enumerate(NAMES) for other in NAMES[place + 1 :]
    ]
    (tmp_path / "mesh").mkdir()
    for name in NAMES:
        (tmp_path / "mesh" / f"{name}.conf").write_text(configuration(name, mesh, brokers))
    mosquittos.start(NAMES, tmp_path / "mesh")
    clients = Clients({"b7": ["site0/door/open"]}, ports, qos=0)
    again = False
    for attempt in range(100):  # until enough bridges are up
        clients.publish("b0", "site0/door/open", f"once {attempt}".encode())
        if again := clients.await_that(lambda came: max(came.values(), default=0) > 1, 0.3):
            break
    mosquittos.kill()
    clients.close()
    assert again
    found = scored(mesh)
    assert found["looping_topics"] == len(TOPICS)


def scored(bridges: list[Bridge]) -> dict[str, object]:
    """The score of these bridges for the interests of the test."""
    clients = CLIENTS.empty_table()
    fleet = Fleet(
        "mosquitto",
        tuple(NAMES),
        tuple(sorted(TOPICS)),
        tuple(bridges),
        clients,
        resolved([], finder(TOPICS)),
        given=instance_of(INTEREST),
    )
    return score(fleet.instance, edges_of_fleet(fleet), everything(fleet.instance)).figures(fleet.instance)


def test_a_changed_plan_loses_nothing_and_leaves_no_loop(
    tmp_path: Path, mosquittos: Mosquittos, brokers: dict[str, Broker], ports: dict[str, int]
) -> None:
    """Brokers are restarted as the export says, while clients publish."""
    write_mosquitto(planned(INTEREST), brokers, tmp_path / "old")
    change = write_mosquitto(amended(tmp_path / "old"), brokers, tmp_path / "new", old=tmp_path / "old")
    assert change is not None
    assert not change.moved
    assert 0 < len(change.alone) < len(NAMES)
    mosquittos.start(NAMES, tmp_path / "old")
    clients = Clients({**INTEREST, "b3": [*INTEREST["b3"], *LATER["b3"]]}, ports)
    clients.await_bridges(ways(INTEREST))
    in_both = [way for way in ways(LATER) if way in ways(INTEREST)]
    for name in change.alone:
        mosquittos.stop([name])
        for issuer, topic in sorted({(issuer, topic) for issuer, topic, _ in in_both}):
            clients.publish(issuer, topic, f"without-{name} {issuer}".encode())
        mosquittos.start([name], tmp_path / "new")
    clients.await_bridges(ways(LATER), "anew")
    clients.await_all(
        (at, topic, f"without-{name} {who}".encode()) for name in change.alone for who, topic, at in in_both
    )
    assert_once(clients, LATER)


def test_a_new_plan_is_taken_by_brokers_that_stop_and_start_together(
    tmp_path: Path, mosquittos: Mosquittos, brokers: dict[str, Broker], ports: dict[str, int]
) -> None:
    write_mosquitto(planned(INTEREST), brokers, tmp_path / "old")
    change = write_mosquitto(planned(LATER, seed=2), brokers, tmp_path / "new", old=tmp_path / "old")
    assert change is not None
    assert change.moved
    assert change.groups
    mosquittos.start(NAMES, tmp_path / "old")
    clients = Clients({**INTEREST, "b3": [*INTEREST["b3"], *LATER["b3"]]}, ports)
    clients.await_bridges(ways(INTEREST))
    for together in [*((name,) for name in change.alone), *change.groups]:
        mosquittos.stop(together)
        mosquittos.start(together, tmp_path / "new")
    clients.await_bridges(ways(LATER), "anew")
    assert_once(clients, LATER)


def amended(old: Path) -> Plan:
    """The plan for later interests that keeps the trees of the old one."""
    instance, earlier = instance_of(LATER), instance_of(INTEREST)
    overlay = weft.design(earlier, "swico-even", seed=1)
    return plan_of(instance, overlay, weft.weave(instance, overlay), kept=read_kept(old, NAMES))


def assert_once(clients: Clients, interest: dict[str, list[str]]) -> None:
    say(clients, interest, "first")
    say(clients, interest, "after")
    clients.close()
    heard = {key: count for key, count in clients.came.items() if key[2].startswith(b"first")}
    assert expected(interest, "first") <= heard.keys()
    assert set(heard.values()) == {1}


def expected(interest: dict[str, list[str]], word: str) -> set[tuple[str, str, bytes]]:
    return {(name, topic, f"{word} {issuer}".encode()) for issuer, topic, name in ways(interest)}
