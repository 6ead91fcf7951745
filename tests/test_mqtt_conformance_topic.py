"""MQTT, sections 4.7 and 4.8: topic names, filters and shared subscriptions."""

import pytest

from mqtt_broker import Broker
from mqtt_peer import V5, ClosedError, Kind, P, Peer, Will, answer, lasting, publish, subscribe, unique
from mqtt_table import both, v5, v311

# T stands for a name of the test's own.
MATCHING = {
    "T/a": ["T/a"],
    "T": ["T"],
    "T/": ["T/"],
    "/T": ["/T"],
    "T//a": ["T//a"],
    "T/a b": ["T/a b"],
    "T/+": ["T/a", "T/", "T/ ", "T/$a"],
    "T/+/c": ["T/b/c", "T//c"],
    "T/+/+": ["T/a/b", "T//", "T/a/"],
    "+/T": ["a/T", "/T"],
    "/+/T": ["/a/T", "//T"],
    "+/+/T/+": ["a/b/T/c", "//T/"],
    "T/#": ["T", "T/", "T/a", "T/a/b/c", "T//", "T/$a/b"],
    "T/a/#": ["T/a", "T/a/", "T/a/b"],
    "T/+/#": ["T/a", "T/", "T/a/b"],
    "+/T/#": ["a/T", "a/T/b", "/T"],
    "T/+/b/#": ["T/a/b", "T//b/c/d"],
}
NOT_MATCHING = {
    "T/a": ["T/A", "T/a/", "/T/a", "T/ab", "T", "T/a/b", "T//a"],
    "T": ["T/", "/T", "Ta"],
    "T/": ["T", "T//", "T/a"],
    "T/+": ["T", "T/a/b", "T/a/", "/T/a"],
    "T/+/c": ["T/c", "T/a/b/c", "T/b/c/"],
    "+/T": ["T", "a/b/T", "/a/T", "a/T/", "$a/T"],
    "T/#": ["Ta", "/T", "a/T", "Ta/b"],
    "T/a/#": ["T", "T/ab", "T/b", "T/"],
    "T/+/#": ["T"],
    "+/T/#": ["T", "T/a", "$a/T", "$a/T/b"],
}


def rows(table: dict[str, list[str]]) -> list[tuple[str, str]]:
    return [(pattern, topic) for pattern, topics in table.items() for topic in topics]


def receives(broker: Broker, version: int, pattern: str, topic: str) -> bool:
    """Whether a subscriber to a filter gets what is published on a topic, directly and as a retained message."""
    name = unique("T")
    pattern, topic = pattern.replace("T", name), topic.replace("T", name)
    reader, writer, late = (broker.join(version) for _ in range(3))
    reader.subscribe((pattern, 1))
    writer.publish(topic, b"x", 1, retain=True)
    direct = [m.topic for m in reader.drain(writer)]
    late.subscribe((pattern, 1))
    retained = [m.topic for m in late.drain(writer)]
    writer.publish(topic, b"", 0, retain=True)
    assert direct == retained
    assert direct in ([], [topic])
    return bool(direct)


@both
@pytest.mark.parametrize(("pattern", "topic"), rows(MATCHING))
@v311("4.7.1-2", "4.7.1-3", "4.7.3-4", "3.3.2-3")
@v5("4.7.1-1", "4.7.1-2", "4.7.3-4", "3.3.2-3")
def test_a_filter_matches(broker: Broker, version: int, pattern: str, topic: str) -> None:
    assert receives(broker, version, pattern, topic)


@both
@pytest.mark.parametrize(("pattern", "topic"), [row for row in rows(NOT_MATCHING) if not row[1].startswith("$")])
@v311("4.7.1-2", "4.7.1-3", "4.7.3-4", "3.3.2-3")
@v5("4.7.1-1", "4.7.1-2", "4.7.3-4", "3.3.2-3")
def test_a_filter_does_not_match(broker: Broker, version: int, pattern: str, topic: str) -> None:
    assert not receives(broker, version, pattern, topic)


@both
@pytest.mark.parametrize("pattern", ["#", "+/T", "+/T/#", "+/+", "+/#"])
@pytest.mark.parametrize("retain", [False, True])
@v311("4.7.2-1")
@v5("4.7.2-1")
def test_a_leading_wildcard_does_not_match_a_dollar(broker: Broker, version: int, pattern: str, retain: bool) -> None:
    reader, writer, name = broker.join(version), broker.join(version), unique()
    if not retain:
        reader.subscribe((pattern.replace("T", name), 0))
    # The broker may keep clients from publishing here, so that nothing is said about the answer.
    writer.send(publish(version, f"$conform/{name}", b"x", qos=1, packet_id=9, retain=retain))
    writer.send(publish(version, f"$conform/{name}/y", b"x", qos=0))
    if retain:
        reader.subscribe((pattern.replace("T", name), 0))
    assert not any(m.topic.startswith("$") for m in reader.drain(broker.join(version)))


@both
@v311("4.7.2-1")
@v5("4.7.2-1")
def test_the_broker_s_own_topics_are_not_for_a_leading_wildcard(broker: Broker, version: int) -> None:
    reader = broker.join(version)
    reader.subscribe(("$SYS/#", 0), ("$SYS/broker/+", 0))
    other = broker.join(version)
    other.subscribe(("#", 0), ("+/broker/#", 0))
    assert not any(m.topic.startswith("$") for m in other.drain(broker.join(version)))


@both
@pytest.mark.parametrize("size", [1000, 65535])
@v311("4.7.3-3")
@v5("4.7.3-3")
def test_topics_may_be_long(broker: Broker, version: int, size: int) -> None:
    peer, topic = broker.join(version), unique().ljust(size, "x")
    peer.subscribe((topic, 1))
    peer.publish(topic, b"x", 1)
    peer.publish(topic[:-1], b"shorter", 1)
    assert [m.topic for m in peer.drain(peer)] == [topic]


@both
@v311("4.7.3-3", "4.7.1-2")
@v5("4.7.3-3", "4.7.1-1")
def test_topics_may_have_many_levels(broker: Broker, version: int) -> None:
    peer, name = broker.join(version), unique()
    topic = name + "/a" * 60
    peer.subscribe((topic, 1), (name + "/+" * 59 + "/b", 1))
    peer.publish(topic, b"x", 1)
    peer.publish(topic + "/a", b"deeper", 1)
    assert [m.topic for m in peer.drain(peer)] == [topic]


# -- Shared subscriptions


def group(broker: Broker, count: int, pattern: str, qos: int = 1) -> list[Peer]:
    members = [broker.join(V5) for _ in range(count)]
    for member in members:
        member.subscribe((pattern, qos))
    return members


def drained(peers: list[Peer], writer: Peer) -> list[list[bytes]]:
    return [[m.payload for m in peer.drain(writer)] for peer in peers]


@v5("4.8.2-1", "4.8.2-2")
@pytest.mark.parametrize("qos", [0, 1, 2])
def test_each_publication_goes_to_one_member_of_a_group(broker: Broker, qos: int) -> None:
    writer, topic = broker.join(V5), unique()
    members = group(broker, 3, f"$share/g/{topic}", qos)
    others = group(broker, 2, f"$share/h/{topic}", qos)
    alone = broker.join(V5)
    alone.subscribe((topic, qos))
    payloads = [b"%d" % turn for turn in range(30)]
    for payload in payloads:
        writer.publish(topic, payload, qos)
    for peers in (members, others, [alone]):
        got = drained(peers, writer)
        assert sorted(payload for each in got for payload in each) == sorted(payloads)
        for each in got:  # a member's part keeps the order of the publisher
            assert each == sorted(each, key=int)


@v5("4.8.2-1")
def test_groups_are_told_apart_by_name_and_filter(broker: Broker) -> None:
    writer, name = broker.join(V5), unique()
    one, two, three = broker.join(V5), broker.join(V5), broker.join(V5)
    one.subscribe((f"$share/g/{name}/+", 1))
    two.subscribe((f"$share/g/{name}/a", 1))
    three.subscribe((f"$share/G/{name}/+", 1))
    writer.publish(f"{name}/a", b"x", 1)
    assert drained([one, two, three], writer) == [[b"x"]] * 3


@v5("4.8.2-1")
@pytest.mark.parametrize("pattern", ["T/+/#", "/T", "+/T"])
def test_a_shared_filter_matches_as_others_do(broker: Broker, pattern: str) -> None:
    writer, name = broker.join(V5), unique()
    (member,) = group(broker, 1, "$share/g/" + pattern.replace("T", name))
    topics = [f"{name}/a/b", f"/{name}", f"a/{name}", name]
    for topic in topics:
        writer.publish(topic, b"x", 1)
    expected = {"T/+/#": topics[:1], "/T": topics[1:2], "+/T": topics[1:3]}[pattern]
    assert [m.topic for m in member.drain(writer)] == expected


@v5("4.8.2-1", "4.8.2-2")
@pytest.mark.parametrize(
    "bad", ["$share//a", "$share/g", "$share/g/", "$share/+/a", "$share/#/a", "$share/g+/a", "$share/"]
)
def test_a_shared_filter_that_is_none_is_refused(broker: Broker, bad: str) -> None:
    peer = broker.join(V5)
    peer.send(subscribe(V5, 5, [(bad, 1)]))
    try:
        got = peer.next()
    except ClosedError:
        return
    assert got.code in (0x8F, 0x81, 0x82)
    if got.kind is Kind.DISCONNECT:
        assert peer.end() == []


@v5("4.8.2-3")
def test_each_member_gets_the_qos_that_it_was_granted(broker: Broker) -> None:
    writer, topic = broker.join(V5), unique()
    members = [group(broker, 1, f"$share/g/{topic}", qos)[0] for qos in range(3)]
    for turn in range(30):
        writer.publish(topic, b"%d" % turn, 2)
    got = [member.drain(writer) for member in members]
    assert sum(map(len, got)) == 30
    for qos, each in enumerate(got):
        assert {m.qos for m in each} <= {qos}


@v5("4.8.2-1", "3.10.4-1")
@pytest.mark.parametrize("how", ["unsubscribe", "leave", "drop"])
def test_those_who_stay_get_everything(broker: Broker, how: str) -> None:
    writer, topic = broker.join(V5), unique()
    members = group(broker, 3, f"$share/g/{topic}")
    if how == "unsubscribe":
        assert members[0].unsubscribe(f"$share/g/{topic}").codes == [0]
    elif how == "leave":
        members[0].leave()
    else:  # that the broker has noticed is shown by a will
        watcher, will = broker.join(V5), unique()
        watcher.subscribe(will)
        members[0].drop()

        gone = broker.join(V5, will=Will(will, qos=1))
        gone.drop()
        watcher.message()
    payloads = [b"%d" % turn for turn in range(12)]
    for payload in payloads:
        writer.publish(topic, payload, 1)
    got = drained(members[1:], writer)
    assert sorted(got[0] + got[1], key=int) == payloads
    if how == "unsubscribe":
        assert members[0].drain(writer) == []


@v5("4.8.2-1", "3.8.4-3")
def test_a_shared_and_an_ordinary_subscription_of_one_client_are_two(broker: Broker) -> None:
    peer, writer, topic = broker.join(V5), broker.join(V5), unique()
    peer.subscribe((topic, 1), pairs=[(P.SUBSCRIPTION_ID, 1)])
    peer.subscribe((f"$share/g/{topic}", 1), pairs=[(P.SUBSCRIPTION_ID, 2)])
    writer.publish(topic, b"x", 1)
    ids = sorted(value for m in peer.drain(writer) for value in m.all(P.SUBSCRIPTION_ID))
    assert ids == [1, 2]
    assert peer.unsubscribe(topic).codes == [0]
    writer.publish(topic, b"y", 1)
    assert [m.all(P.SUBSCRIPTION_ID) for m in peer.drain(writer)] == [[2]]


@v5("4.8.2-1", "3.3.1-9")
@pytest.mark.parametrize("handling", [0, 0x10, 0x20])
def test_retained_messages_are_not_sent_to_a_shared_subscription(broker: Broker, handling: int) -> None:
    writer, topic = broker.join(V5), unique()
    writer.publish(topic, b"kept", 1, retain=True)
    (member,) = group(broker, 1, f"$share/g/{topic}", 1 | handling)
    (alone,) = group(broker, 1, topic)
    assert drained([member, alone], writer) == [[], [b"kept"]]


def chosen(members: list[Peer]) -> tuple[Peer, Peer, int]:
    """Member that got the one publication, the other, and its packet identifier."""
    first = members[0].ping()
    member, other = members if first else members[::-1]
    (got,) = first or members[1].ping()
    assert (got.kind, got.qos) == (Kind.PUBLISH, 2)
    return member, other, got.packet_id


def pair(broker: Broker, topic: str) -> list[Peer]:
    members = [broker.join(V5, **lasting(V5)) for _ in range(2)]
    for member in members:
        member.subscribe((f"$share/g/{topic}", 2))
    return members


@v5("4.8.2-4")
def test_a_member_that_breaks_off_gets_the_rest_when_it_is_back(broker: Broker) -> None:
    writer, topic = broker.join(V5), unique()
    members = pair(broker, topic)
    writer.publish(topic, b"x", 2)
    member, other, packet_id = chosen(members)
    member.drop()
    again = broker.join(V5, member.client_id, **lasting(V5))
    got = again.next()
    assert (got.kind, got.packet_id, got.payload, got.dup) == (Kind.PUBLISH, packet_id, b"x", True)
    again.send(answer(Kind.PUBREC, packet_id))
    assert again.next().kind is Kind.PUBREL
    again.send(answer(Kind.PUBCOMP, packet_id))
    assert other.drain(writer) == []


@v5("4.8.2-5")
def test_what_a_member_had_begun_to_get_goes_to_nobody_else(broker: Broker) -> None:
    writer, topic = broker.join(V5), unique()
    members = pair(broker, topic)
    writer.publish(topic, b"x", 2)
    member, other, _ = chosen(members)
    member.drop()
    broker.join(V5, member.client_id, clean=True).silent()  # its session ends
    assert other.drain(writer) == []


@v5("4.8.2-6")
@pytest.mark.parametrize("kind", [Kind.PUBACK, Kind.PUBREC])
def test_what_a_member_refuses_goes_to_nobody_else(broker: Broker, kind: Kind) -> None:
    writer, topic = broker.join(V5), unique()
    members = group(broker, 2, f"$share/g/{topic}", 2)
    writer.publish(topic, b"x", 1 if kind is Kind.PUBACK else 2)
    got = [member.ping() for member in members]
    assert sorted(map(len, got)) == [0, 1]
    place = 0 if got[0] else 1
    members[place].send(answer(kind, got[place][0].packet_id, 0x83))
    members[place].silent()
    assert members[1 - place].drain(writer) == []
    members[place].silent()
