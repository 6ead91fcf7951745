"""Running fleets, read from what their brokers write down; what is wrong is told in a sentence with its place."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from weft.errors import WeftError
from weft.fleet.bridge import Bridge, Line
from weft.fleet.broker import Broker, read_brokers
from weft.fleet.fleet import Fleet
from weft.fleet.mosquitto import configuration, read_configurations
from weft.fleet.reading import read_running
from weft.model.wildcard import plain_filter

BROKERS = "name,host,port\na,10.0.0.1,1883\nb,10.0.0.2,1884\nc,10.0.0.3,\n"
CLIENTS = "client,broker,filter\nx,a,plant/+/temperature\ny,b,plant/1/temperature\nz,c,$share/g/plant/#\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write({"brokers.csv": BROKERS, "clients.csv": CLIENTS, "topics.txt": "plant/2/temperature\n\nplant/2/door\n"})
    return tmp_path


def write(files: Mapping[str, str]) -> None:
    for name, text in files.items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(text)


def mosquitto(**files: str) -> Fleet:
    write({f"conf/{name.replace('__', '/')}.conf": text for name, text in files.items()})
    given = {"brokers": Path("brokers.csv"), "clients": Path("clients.csv"), "topics": Path("topics.txt")}
    return read_running("mosquitto", [Path("conf")], **given)


def interest_of(fleet: Fleet) -> dict[str, list[str]]:
    instance = fleet.instance
    return {
        name: [instance.topic_name(topic) for topic in instance.interest[node].tolist()]
        for node, name in enumerate(fleet.brokers)
    }


def test_configurations_and_clients_are_a_fleet() -> None:
    fleet = mosquitto(
        a="""# comment
listener 1883
connection first
address 10.0.0.2:1884 10.0.0.3
topic plant/# both 1
  topic x out
connection second
addresses 10.0.0.3
topic "" in 0 local/one remote/one
connection without-topics
address 10.0.0.3
listener 9001
topic not/of/a/bridge
""",
        b__mosquitto="persistence true\n",
        b__conf__bridges="connection c\naddress 10.0.0.3:1883\ntopic # in 2\n",
    )
    assert fleet.bridges == (
        Bridge("a", "b", (Line("plant/#", "both", 1), Line("x", "out", 0))),
        Bridge("a", "c", (Line("", "in", 0, "local/one", "remote/one"),)),
        Bridge("b", "c", (Line("#", "in", 2),)),
    )
    assert fleet.topics == ("plant/1/temperature", "plant/2/door", "plant/2/temperature", "x")
    assert interest_of(fleet) == {
        "a": ["plant/1/temperature", "plant/2/temperature"],
        "b": ["plant/1/temperature"],
        "c": ["plant/1/temperature", "plant/2/door", "plant/2/temperature"],
    }
    assert fleet.renaming == 1
    assert fleet.overlay.links == 3


def test_filters_without_a_known_topic_are_told() -> None:
    write({"clients.csv": f"{CLIENTS}w,a,nobody/+\n"})
    fleet = mosquitto(a="")
    assert fleet.unresolved == ["nobody/+"]
    assert fleet.counts["clients"] == 4


def test_what_is_a_brokers_own_is_no_topic() -> None:
    write({"clients.csv": f"{CLIENTS}w,a,$SYS/broker/uptime\nw,a,$SYS/#\n", "topics.txt": "$SYS/broker/version\n"})
    fleet = mosquitto(a=f"{BRIDGE}topic $SYS/broker/load out\n")
    assert fleet.topics == ("plant/1/temperature",)
    assert fleet.unresolved == []


def test_what_was_written_is_read_again() -> None:
    brokers = {
        "a": Broker("a", "ha", 1, username="u", password_env="SECRET_A", cafile="/ca.pem"),
        "b": Broker("b", "hb", 2, certfile="/b.pem", keyfile="/b.key"),
    }
    bridges = [Bridge("b", "a", (Line("", "in", 0, "p", "q"), Line("x/#", "both", 2, "p/", ""), Line("y", "out", 1)))]
    text = configuration("b", bridges, brokers, [("a", "old/name")])
    write({"conf/b.conf": text})
    assert read_configurations([Path("conf")], brokers, "brokers.csv") == bridges
    lines = text.splitlines()
    for line in ("remote_username u", "remote_password ${SECRET_A}", "bridge_cafile /ca.pem", "bridge_keyfile /b.key"):
        assert line in lines
    assert 'topic old/name out 0 $weft/unsubscribed/ ""' in lines
    assert "connection" not in configuration("a", bridges, brokers)


def test_what_bridges_subscribe_to_is_no_interest() -> None:
    """Bridges are known by the client id of a configuration, or the one that Mosquitto makes of host and bridge."""
    write({"clients.csv": f"{CLIENTS}given,b,#\nhost7.made,b,#\nhost7.mine,b,only/mine\n"})
    bridge = "connection made\naddress 10.0.0.2:1884\ntopic # in\nconnection other\nremote_clientid given\n"
    fleet = mosquitto(a=bridge)
    assert sorted(set(fleet.clients["client"].to_pylist())) == ["host7.mine", "x", "y", "z"]
    assert interest_of(fleet)["b"] == ["only/mine", "plant/1/temperature"]


def test_publishers_are_known_by_broker_and_topic() -> None:
    write({"publishers.csv": "broker,topic,rate\na,plant/#,6\nb,plant/2/door,\n"})
    write({"conf/a.conf": ""})
    given = {name: Path(f"{name}.csv") for name in ("brokers", "clients", "publishers")}
    fleet = read_running("mosquitto", [Path("conf")], **given, topics=Path("topics.txt"))
    found = fleet.instance.publishers
    assert found is not None
    rows = zip(found.nodes.tolist(), [fleet.topics[topic] for topic in found.topics], found.rates.tolist(), strict=True)
    assert sorted(rows) == [
        (0, "plant/1/temperature", 2.0),
        (0, "plant/2/door", 2.0),
        (0, "plant/2/temperature", 2.0),
        (1, "plant/2/door", 1.0),
    ]


def test_csv_alone_is_a_fleet_without_bridges() -> None:
    fleet = read_running("csv", [Path("clients.csv")], brokers=Path("brokers.csv"))
    assert fleet.bridges == ()
    assert interest_of(fleet)["b"] == ["plant/1/temperature"]


ROUTEZ = {
    "server_id": "ID1",
    "server_name": "one",
    "routes": [
        {"rid": 7, "remote_id": "ID2", "remote_name": "two", "did_solicit": True},
        {"rid": 8, "remote_id": "ID3"},
        {"rid": 9, "remote_id": "ID2", "remote_name": "two"},
    ],
}
CONNZ = {
    "server_id": "ID1",
    "connections": [
        {"cid": 21, "name": "lamp", "subscriptions_list": ["orders.*", "_INBOX.x", "jobs.>"]},
        {"cid": 22, "subscriptions_list_detail": [{"subject": "jobs", "cid": 22}]},
    ],
}
SUBSZ = {
    "server_id": "ID2",
    "subscriptions_list": [{"subject": "orders.new", "cid": 5}, {"subject": "jobs.1.a", "cid": 6}],
}
SUBSZ_ONE = {"server_id": "ID1", "subscriptions_list": [{"subject": "of.others", "cid": 7}]}


def test_a_cluster_of_nats_is_read_from_its_monitoring() -> None:
    for place, answer in enumerate((ROUTEZ, CONNZ, SUBSZ, SUBSZ_ONE)):
        write({f"nats/{place}.json": json.dumps(answer)})
    fleet = read_running("nats", [Path("nats")])
    assert fleet.brokers == ("ID3", "one", "two")
    assert fleet.bridges == (Bridge("ID3", "one", ()), Bridge("one", "two", ()))
    assert not fleet.forwards
    assert fleet.topics == ("jobs", "jobs.1.a", "orders.new")
    assert interest_of(fleet) == {
        "ID3": [],
        "one": ["jobs", "jobs.1.a", "orders.new"],
        "two": ["jobs.1.a", "orders.new"],
    }
    resolved = fleet.filters.to_pylist()
    assert [row["topic"] for row in resolved if row["filter"] == "jobs.>"] == [1]  # not jobs itself


def test_publishers_of_a_cluster_of_nats_are_by_subject() -> None:
    write({"routez.json": json.dumps(ROUTEZ), "connz.json": json.dumps(CONNZ)})
    write({"publishers.csv": "broker,topic,rate\none,jobs.>,4\none,orders.new,1\ntwo,jobs.2,1\n"})
    fleet = read_running("nats", [Path("routez.json"), Path("connz.json")], publishers=Path("publishers.csv"))
    assert fleet.topics == ("jobs", "jobs.2", "orders.new")
    found = fleet.instance.publishers
    assert found is not None
    assert sorted(zip(found.nodes.tolist(), found.topics.tolist(), found.rates.tolist(), strict=True)) == [
        (1, 1, 4.0),
        (1, 2, 1.0),
        (2, 1, 1.0),
    ]


def test_a_cluster_of_emqx_is_read_from_its_subscriptions() -> None:
    rows = [
        {"clientid": "c1", "node": "emqx@1", "topic": "t/1", "qos": 1},
        {"clientid": "c2", "node": "emqx@2", "topic": "$queue/t/+", "qos": 0},
        {"clientid": "c3", "node": "emqx@3", "topic": "$share/g/t/1", "qos": 0},
    ]
    write({"page1.json": json.dumps({"data": rows[:2], "meta": {"page": 1}}), "page2.json": json.dumps(rows[2:])})
    fleet = read_running("emqx", [Path("page1.json"), Path("page2.json")])
    assert fleet.brokers == ("emqx@1", "emqx@2", "emqx@3")
    assert len(fleet.bridges) == 3
    assert interest_of(fleet) == {name: ["t/1"] for name in fleet.brokers}


@pytest.mark.parametrize(
    ("text", "plain"),
    [("a/b", "a/b"), ("$share/g/a/+", "a/+"), ("$queue/a", "a"), ("$share/g", ""), ("$SYS/x", "$SYS/x")],
)
def test_a_shared_subscription_is_to_the_filter_behind_it(text: str, plain: str) -> None:
    assert plain_filter(text) == plain


@pytest.mark.parametrize("mark", [";", "\t", "|"])
def test_files_of_a_fleet_are_read_whatever_their_case_and_separator(mark: str) -> None:
    """The same rule for brokers, clients and publishers as for all CSV."""
    plain = mosquitto(a="")
    files = {"brokers.csv": BROKERS, "clients.csv": CLIENTS, "publishers.csv": "broker,topic,rate\na,t,2\n"}
    for name, text in files.items():
        head, _, rows = text.partition("\n")
        write({name: f"\ufeff{head.title()}\n{rows}".replace(",", mark)})
    given = {name: Path(f"{name}.csv") for name in ("brokers", "clients", "publishers")}
    again = read_running("mosquitto", [Path("conf")], topics=Path("topics.txt"), **given)
    assert (again.brokers, again.clients) == (plain.brokers, plain.clients)
    assert again.instance.publishers is not None


BRIDGE = "connection x\naddress 10.0.0.2:1884\n"
WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "two at one address": ({"brokers.csv": BROKERS + "d,10.0.0.1,1883\n"}, "line 5: 'd' and 'a' are both at 10.0.0.1"),
    "two of one name": ({"brokers.csv": BROKERS + "a,10.0.0.9,1\n"}, "line 5: broker 'a' is there twice"),
    "no port": ({"brokers.csv": "name,host,port\na,h,x\n"}, "port is 'x', not a number"),
    "port out of range": ({"brokers.csv": "name,host,port\na,h,70000\n"}, "port 70000 is out of range"),
    "a name with a slash": ({"brokers.csv": "name,host\na/b,h\n"}, "'a/b' cannot name a broker"),
    "no host": ({"brokers.csv": "name,host\na,\n"}, "'' is no host"),
    "no column": ({"brokers.csv": "name,port\na,1\n"}, "has no column 'host'"),
    "a column twice": ({"brokers.csv": "name,host,Host\na,h,i\n"}, "brokers.csv has the column 'host' twice"),
    "a column of clients twice": ({"clients.csv": "client,broker,filter,filter\n"}, "has the column 'filter' twice"),
    "a misspelt column": ({"brokers.csv": "name,host,pasword_env\na,h,X\n"}, "has a column 'pasword_env'"),
    "a password": ({"brokers.csv": "name,host,password_env\na,h,s3cret!\n"}, "the name of an environment variable"),
    "half a certificate": ({"brokers.csv": "name,host,certfile\na,h,/x\n"}, "certfile and keyfile go together"),
    "no brokers": ({"brokers.csv": "name,host\n"}, "has no brokers"),
    "another number of fields": ({"brokers.csv": "name,host\na,h,1\n"}, "another number of fields"),
    "an unknown configuration": ({"conf/d.conf": ""}, "is of broker 'd', which is not in brokers.csv"),
    "a bridge to nowhere": (
        {"conf/a.conf": "connection x\naddress 10.7.7.7\ntopic # both\n"},
        r"a.conf, line 2: the bridge leads to 10.7.7.7:1883, where brokers.csv has no broker",
    ),
    "a bridge to itself": ({"conf/a.conf": "connection x\naddress 10.0.0.1\ntopic #\n"}, "leads from 'a' to itself"),
    "a bridge without address": ({"conf/a.conf": "connection x\ntopic # both\n"}, "has topics and no address"),
    "a wrong direction": ({"conf/a.conf": f"{BRIDGE}topic a b/c both\n"}, "line 3: 'b/c' is no direction"),
    "a wrong QoS": ({"conf/a.conf": f"{BRIDGE}topic a out 3\n"}, "line 3: '3' is no QoS"),
    "a wrong filter": ({"conf/a.conf": f"{BRIDGE}topic a/#/b out\n"}, "'a/#/b' is no topic filter"),
    "an unknown broker": ({"clients.csv": f"{CLIENTS}w,d,a\n"}, "line 5: broker 'd' is not in brokers.csv"),
    "a client's wrong filter": ({"clients.csv": f"{CLIENTS}w,a,b+\n"}, r"line 5: 'b\+' is no topic filter"),
    "no filter": ({"clients.csv": f"{CLIENTS}w,a,\n"}, "line 5: the filter is missing"),
    "no column of clients": (
        {"clients.csv": "client,node,filter\n"},
        "as CSV with client,broker,filter",
    ),
    "a filter among topics": ({"topics.txt": "a\nb/#\n"}, "line 2: 'b/#' is a filter, not a topic"),
}


@pytest.mark.parametrize("case", WRONG)
def test_bad_input_is_told_in_a_sentence(case: str) -> None:
    files, words = WRONG[case]
    write({"conf/a.conf": "", **files})
    with pytest.raises(WeftError, match=words):
        mosquitto()


@pytest.mark.parametrize(
    ("kind", "content", "words"),
    [
        ("nats", "[]", "no answer of a NATS server"),
        ("nats", "{", "is not JSON"),
        ("emqx", '{"code": 1}', "no answer of EMQX"),
        ("emqx", '{"data": [{"node": "n"}]}', "row 1: a subscription has clientid, node and topic"),
        ("emqx", '{"data": [{"node": "n", "clientid": "c", "topic": "#/a"}]}', "Subscription 1: '#/a' is no topic"),
    ],
)
def test_output_that_is_something_else_is_refused(kind: Any, content: str, words: str) -> None:
    write({"x.json": content})
    with pytest.raises(WeftError, match=words):
        read_running(kind, [Path("x.json")])


@pytest.mark.parametrize(
    ("kind", "given", "words"),
    [
        ("nats", {"brokers": Path("brokers.csv")}, "leave them out"),
        ("mosquitto", {}, "Where are the brokers"),
        ("csv", {"brokers": Path("brokers.csv"), "clients": Path("clients.csv")}, "one file of client"),
        ("csv", {"brokers": Path("absent.csv")}, "does not exist"),
    ],
)
def test_what_does_not_go_together_is_told(kind: Any, given: dict[str, Path], words: str) -> None:
    with pytest.raises(WeftError, match=words):
        read_running(kind, [Path("clients.csv")], **given)


@pytest.mark.parametrize(
    ("row", "words"),
    [("d,t,1", "broker 'd' is not in the fleet"), ("a,t,fast", "'fast', not a number"), ("a,#/x,1", "neither a topic")],
)
def test_bad_publishers_are_told(row: str, words: str) -> None:
    write({"publishers.csv": f"broker,topic,rate\n{row}\n"})
    with pytest.raises(WeftError, match=words):
        read_running("csv", [Path("clients.csv")], brokers=Path("brokers.csv"), publishers=Path("publishers.csv"))


def test_brokers_have_ports_of_their_own_or_the_usual_one() -> None:
    assert read_brokers("brokers.csv")["c"].address == "10.0.0.3:1883"
