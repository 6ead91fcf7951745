"""MQTT, sections 3.3 to 3.7: PUBLISH and its acknowledgements."""

from typing import Any

import pytest

from mqtt_broker import Broker
from mqtt_peer import V5, ClosedError, Kind, P, answer, lasting, publish, subscribe, unique, unsubscribe
from mqtt_table import both, v5, v311

MALFORMED, PROTOCOL_ERROR, TOPIC_INVALID, TOO_MANY, ALIAS_INVALID = 0x81, 0x82, 0x90, 0x93, 0x94
NO_LOCAL, AS_PUBLISHED = 0x04, 0x08


def retain_handling(value: int) -> int:
    return value << 4


# -- Flags


@both
@pytest.mark.parametrize("qos", [1, 2])
@v311("3.3.1-1", "3.3.1-3", "2.3.1-3")
@v5("3.3.1-1", "3.3.1-3")
def test_dup_is_set_when_the_broker_sends_again_and_only_then(broker: Broker, version: int, qos: int) -> None:
    reader, writer, topic = broker.join(version, **lasting(version)), broker.join(version), unique()
    reader.subscribe((topic, qos))
    writer.publish(topic, b"x", qos, dup=True)  # for all that the broker knows, the first attempt was lost
    first = reader.next()
    assert (first.kind, first.dup) == (Kind.PUBLISH, False)
    reader.drop()
    again = broker.join(version, reader.client_id, **lasting(version)).next()
    assert (again.dup, again.packet_id, again.payload) == (True, first.packet_id, b"x")


@both
@v311("3.3.1-2", "4.3.1-1")
@v5("3.3.1-2", "4.3.1-1")
def test_dup_is_never_passed_on_with_qos_0(broker: Broker, version: int) -> None:
    reader, writer, topic = broker.join(version), broker.join(version), unique()
    reader.subscribe(topic)
    writer.publish(topic, b"old", 1, dup=True)
    writer.send(publish(version, topic, b"bad", dup=True))  # the broker may close for this, or ignore the flag
    got = [(each.payload, each.dup) for each in reader.drain(broker.join(version))]
    assert got in ([(b"old", False)], [(b"old", False), (b"bad", False)])


@both
@v311("3.3.1-4")
@v5("3.3.1-4")
def test_qos_3_closes_the_connection(broker: Broker, version: int) -> None:
    reader, writer, topic = broker.join(version), broker.join(version), unique()
    reader.subscribe(topic)
    writer.send(publish(version, topic, b"x", qos=3, packet_id=1))
    writer.refused(MALFORMED)
    assert reader.drain(broker.join(version)) == []


# -- Retained messages


@both
@pytest.mark.parametrize("qos", [0, 1, 2])
@v311("3.3.1-5", "3.3.1-6", "3.3.1-8")
@v5("3.3.1-5", "3.3.1-9")
def test_the_last_retained_message_is_sent_to_new_subscribers(broker: Broker, version: int, qos: int) -> None:
    reader, writer, topic = broker.join(version), broker.join(version), unique()
    writer.publish(topic, b"first", 2, retain=True)
    writer.publish(topic, b"last", qos, retain=True)
    reader.subscribe(topic)
    assert [(m.payload, m.qos, m.retain) for m in reader.drain(writer)] == [(b"last", qos, True)]


@both
@v311("3.3.1-6", "3.3.1-8", "3.8.4-6")
@v5("3.3.1-9", "3.8.4-8")
def test_retained_messages_of_all_matching_topics_are_sent(broker: Broker, version: int) -> None:
    reader, writer, name = broker.join(version), broker.join(version), unique()
    for topic in ("a", "b/c", "b", "d/e/f"):
        writer.publish(f"{name}/{topic}", topic.encode(), 2, retain=True)
    reader.subscribe((f"{name}/+", 1))
    assert sorted((m.payload, m.qos, m.retain) for m in reader.drain(writer)) == [(b"a", 1, True), (b"b", 1, True)]
    reader.subscribe((f"{name}/#", 0))
    assert sorted((m.payload, m.qos) for m in reader.drain(writer)) == [(p, 0) for p in (b"a", b"b", b"b/c", b"d/e/f")]


@both
@v311("3.3.1-7")
@v5("3.3.1-5")
def test_a_retained_message_with_qos_0_replaces_one_with_more(broker: Broker, version: int) -> None:
    reader, writer, topic = broker.join(version), broker.join(version), unique()
    writer.publish(topic, b"old", 1, retain=True)
    writer.publish(topic, b"new", 0, retain=True)
    reader.subscribe(topic)
    assert [m.payload for m in reader.drain(writer)] == [b"new"]


@both
@v311("3.3.1-9", "3.8.4-3")
@v5("3.3.1-12")
def test_retain_is_not_set_for_a_subscription_that_was_there(broker: Broker, version: int) -> None:
    reader, writer, topic = broker.join(version), broker.join(version), unique()
    reader.subscribe(topic)
    writer.publish(topic, b"kept", 1, retain=True)
    writer.publish(topic, b"not", 1)
    assert [(m.payload, m.retain) for m in reader.drain(writer)] == [(b"kept", False), (b"not", False)]


@both
@pytest.mark.parametrize("qos", [0, 1, 2])
@v311("3.3.1-10", "3.3.1-11")
@v5("3.3.1-6", "3.3.1-7")
def test_an_empty_retained_message_removes_and_is_passed_on(broker: Broker, version: int, qos: int) -> None:
    reader, writer, topic = broker.join(version), broker.join(version), unique()
    reader.subscribe(topic)
    writer.publish(topic, b"kept", 1, retain=True)
    early, late = broker.join(version), broker.join(version)
    early.subscribe(topic)
    assert early.message().payload == b"kept"
    writer.publish(topic, b"", qos, retain=True)
    assert [(m.payload, m.retain) for m in reader.drain(writer)] == [(b"kept", False), (b"", False)]
    late.subscribe(topic)
    assert late.drain(writer) == []


@both
@v311("3.3.1-12")
@v5("3.3.1-8")
def test_a_message_without_retain_changes_nothing_that_is_retained(broker: Broker, version: int) -> None:
    reader, writer, topic, other = broker.join(version), broker.join(version), unique(), unique()
    writer.publish(topic, b"kept", 1, retain=True)
    writer.publish(topic, b"passing", 1)
    writer.publish(topic, b"", 1)
    writer.publish(other, b"passing", 1)
    reader.subscribe(topic, other)
    assert [m.payload for m in reader.drain(writer)] == [b"kept"]


@v5("3.3.1-9", "3.3.1-10", "3.3.1-11", "3.8.4-4")
@pytest.mark.parametrize(("handling", "first", "second"), [(0, 1, 1), (1, 1, 0), (2, 0, 0)])
def test_retain_handling_says_when_retained_messages_come(
    broker: Broker, handling: int, first: int, second: int
) -> None:
    reader, writer, topic = broker.join(V5), broker.join(V5), unique()
    writer.publish(topic, b"kept", 1, retain=True)
    for expected in (first, second):
        reader.subscribe((topic, 1 | retain_handling(handling)))
        assert [m.retain for m in reader.drain(writer)] == [True] * expected
    reader.unsubscribe(topic)
    reader.subscribe((topic, 1 | retain_handling(handling)))
    assert len(reader.drain(writer)) == first


@v5("3.3.1-10", "3.1.2-5")
def test_a_subscription_of_a_resumed_session_existed_before(broker: Broker) -> None:
    reader, writer, topic = broker.join(V5, **lasting(V5)), broker.join(V5), unique()
    reader.subscribe((topic, 1))
    reader.leave()
    writer.publish(topic, b"kept", 0, retain=True)
    again = broker.join(V5, reader.client_id, **lasting(V5))
    assert again.connack.session_present
    again.drain(writer)  # the broker may have queued it: that is its choice with QoS 0
    again.subscribe((topic, 1 | retain_handling(1)))
    assert again.drain(writer) == []


@v5("3.3.1-12", "3.3.1-13")
@pytest.mark.parametrize("option", [0, AS_PUBLISHED])
@pytest.mark.parametrize("retain", [False, True])
def test_retain_as_published_keeps_the_flag(broker: Broker, option: int, retain: bool) -> None:
    reader, writer, topic = broker.join(V5), broker.join(V5), unique()
    reader.subscribe((topic, 1 | option))
    writer.publish(topic, b"x", 1, retain=retain)
    assert reader.message().retain == (retain and bool(option))


@v5("3.3.1-9", "3.3.1-13")
def test_a_message_sent_because_of_a_new_subscription_has_retain_set(broker: Broker) -> None:
    writer, topic = broker.join(V5), unique()
    writer.publish(topic, b"kept", 1, retain=True)
    for option in (0, AS_PUBLISHED):
        reader = broker.join(V5)
        reader.subscribe((topic, 1 | option))
        assert reader.message().retain


@v5("3.3.1-5", "3.3.2-4", "3.3.2-15", "3.3.2-16", "3.3.2-17", "3.3.2-18", "3.3.2-20", "3.3.4-3")
def test_a_retained_message_keeps_its_properties(broker: Broker) -> None:
    reader, writer, topic = broker.join(V5), broker.join(V5), unique()
    writer.publish(topic, b"kept", 1, retain=True, pairs=PAIRS)
    reader.subscribe(topic, pairs=[(P.SUBSCRIPTION_ID, 7)])
    got = reader.message()
    assert sorted(map(str, got.pairs)) == sorted(map(str, [*PAIRS, (P.SUBSCRIPTION_ID, 7)]))
    assert got.all(P.USER) == [value for key, value in PAIRS if key == P.USER]


# -- Topic names and properties


@both
@pytest.mark.parametrize("topic", ["+", "#", "a/+/b", "a/#", "a+", "#a"])
@v311("3.3.2-2", "4.7.1-1")
@v5("3.3.2-2", "4.7.0-1")
def test_a_wildcard_in_a_topic_name_closes_the_connection(broker: Broker, version: int, topic: str) -> None:
    peer = broker.join(version)
    peer.send(publish(version, topic, b"x", qos=1, packet_id=1))
    peer.refused(TOPIC_INVALID, MALFORMED, PROTOCOL_ERROR)


@both
@v311("4.7.3-1", "3.3.2-1")
@v5("4.7.3-1", "3.3.2-1")
def test_an_empty_topic_name_closes_the_connection(broker: Broker, version: int) -> None:
    peer = broker.join(version)
    peer.send(publish(version, "", b"x"))
    peer.refused(TOPIC_INVALID, MALFORMED, PROTOCOL_ERROR)


PAIRS = [
    (P.PAYLOAD_FORMAT, 1),
    (P.CONTENT_TYPE, "application/json; 🧵"),
    (P.RESPONSE_TOPIC, "answers/to/me"),
    (P.CORRELATION_DATA, bytes(range(256))),
    *((P.USER, pair) for pair in (("z", "1"), ("a", "2"), ("z", "1"), ("", ""), ("k", "é" * 200))),
]


@v5("3.3.2-4", "3.3.2-15", "3.3.2-16", "3.3.2-17", "3.3.2-18", "3.3.2-20")
@pytest.mark.parametrize("qos", [0, 1, 2])
def test_the_properties_of_a_publication_are_passed_on_as_they_are(broker: Broker, qos: int) -> None:
    readers, writer, topic = [broker.join(V5) for _ in range(2)], broker.join(V5), unique()
    for reader in readers:
        reader.subscribe((topic, qos))
    writer.publish(topic, b"text", qos, pairs=PAIRS)
    for reader in readers:
        got = reader.message()
        assert sorted(map(str, got.pairs)) == sorted(map(str, PAIRS))
        assert got.all(P.USER) == [value for key, value in PAIRS if key == P.USER]


@v5("3.3.2-4", "3.3.2-16")
@pytest.mark.parametrize("pairs", [[(P.PAYLOAD_FORMAT, 0)], [(P.CORRELATION_DATA, b"")], [(P.CONTENT_TYPE, "")], []])
def test_properties_that_say_little_are_passed_on_too(broker: Broker, pairs: list[tuple[int, Any]]) -> None:
    peer, topic = broker.join(V5), unique()
    peer.subscribe(topic)
    peer.publish(topic, b"x", 1, pairs=pairs)
    got = peer.message().pairs
    assert got == pairs or (pairs == [(P.PAYLOAD_FORMAT, 0)] and got == [])  # absent means the same as 0


@both
@v311("3.3.2-3", "7.0.0-2")
@v5("3.3.2-3", "3.3.2-17")
def test_clients_of_both_versions_hear_each_other(broker: Broker, version: int) -> None:
    reader, writer, topic = broker.join(version), broker.join(9 - version), unique()
    reader.subscribe(topic)
    writer.publish(topic, b"x", 2, pairs=PAIRS)
    got = reader.message()
    assert (got.topic, got.payload, got.qos, got.pairs) == (topic, b"x", 2, [])


@v5("3.3.2-14")
@pytest.mark.parametrize("topic", ["+", "a/#"])
def test_a_wildcard_in_a_response_topic_closes_the_connection(broker: Broker, topic: str) -> None:
    peer = broker.join(V5)
    peer.send(publish(V5, unique(), b"x", pairs=[(P.RESPONSE_TOPIC, topic)]))
    peer.refused(PROTOCOL_ERROR, MALFORMED, TOPIC_INVALID)


@v5("3.3.4-6")
@pytest.mark.parametrize("qos", [0, 1])
def test_a_subscription_id_from_a_client_closes_the_connection(broker: Broker, qos: int) -> None:
    peer = broker.join(V5)
    peer.send(publish(V5, unique(), b"x", qos=qos, packet_id=1, pairs=[(P.SUBSCRIPTION_ID, 1)]))
    peer.refused(PROTOCOL_ERROR, MALFORMED)


# -- Topic aliases from the client


@v5("3.3.2-12")
@pytest.mark.parametrize("which", ["lowest", "highest"])
def test_aliases_stand_for_topics(broker: Broker, which: str) -> None:
    reader, writer, name = broker.join(V5), broker.join(V5), unique()
    highest = writer.connack.get(P.ALIAS_MAXIMUM)
    alias = [(P.ALIAS, 1 if which == "lowest" else highest)]
    reader.subscribe(f"{name}/#")
    writer.publish(f"{name}/a", b"1", 0, pairs=alias)
    writer.publish("", b"2", 1, pairs=alias)
    writer.publish(f"{name}/b", b"3", 2, pairs=alias)  # from now on it stands for another topic
    writer.publish("", b"4", 0, pairs=alias)
    writer.publish(f"{name}/a", b"5", 0)
    writer.publish("", b"6", 1, pairs=alias)
    got = [(m.topic.rpartition("/")[2], m.payload, m.get(P.ALIAS)) for m in reader.drain(writer)]
    assert got == [(t, p, None) for t, p in zip("aabbab", (b"1", b"2", b"3", b"4", b"5", b"6"), strict=True)]


@v5("3.3.2-12")
def test_every_alias_up_to_the_maximum_is_accepted(broker: Broker) -> None:
    reader, writer, name = broker.join(V5), broker.join(V5), unique()
    highest = min(writer.connack.get(P.ALIAS_MAXIMUM), 100)
    reader.subscribe(f"{name}/+")
    for alias in range(1, highest + 1):
        writer.publish(f"{name}/{alias}", b"", pairs=[(P.ALIAS, alias)])
    for alias in range(highest, 0, -1):
        writer.publish("", b"", pairs=[(P.ALIAS, alias)])
    order = [*range(1, highest + 1), *range(highest, 0, -1)]
    assert [m.topic for m in reader.drain(writer)] == [f"{name}/{alias}" for alias in order]


@v5("3.3.2-8", "3.3.2-9", "3.2.2-17", "3.2.2-18")
@pytest.mark.parametrize("which", ["zero", "above the maximum"])
def test_an_alias_out_of_range_closes_the_connection(broker: Broker, which: str) -> None:
    peer = broker.join(V5)
    above = peer.connack.get(P.ALIAS_MAXIMUM, 0) + 1
    if above == 65536:
        pytest.skip("the broker takes all aliases")
    peer.send(publish(V5, unique(), b"x", pairs=[(P.ALIAS, 0 if which == "zero" else above)]))
    peer.refused(ALIAS_INVALID, MALFORMED, PROTOCOL_ERROR)


@v5("3.3.2-7")
def test_an_alias_ends_with_its_connection(broker: Broker) -> None:
    peer, topic = broker.join(V5, **lasting(V5)), unique()
    peer.publish(topic, b"x", 1, pairs=[(P.ALIAS, 1)])
    peer.leave()
    again = broker.join(V5, peer.client_id, **lasting(V5))
    again.send(publish(V5, "", b"x", qos=1, packet_id=9, pairs=[(P.ALIAS, 1)]))
    again.refused(PROTOCOL_ERROR, ALIAS_INVALID, MALFORMED, TOPIC_INVALID)


@v5("3.3.2-7", "3.3.2-1")
def test_an_alias_without_a_topic_closes_the_connection(broker: Broker) -> None:
    peer = broker.join(V5)
    peer.send(publish(V5, "", b"x", pairs=[(P.ALIAS, 1)]))
    peer.refused(PROTOCOL_ERROR, ALIAS_INVALID, MALFORMED, TOPIC_INVALID)


# -- Topic aliases and sizes that the client allows the broker


@v5("3.1.2-26", "3.1.2-27", "3.3.2-11")
@pytest.mark.parametrize("maximum", [0, 1, 3])
def test_the_broker_keeps_to_the_aliases_that_a_client_takes(broker: Broker, maximum: int) -> None:
    # The peer refuses aliases above the maximum, and aliases that come before their topic.
    reader = broker.join(V5, pairs=[(P.ALIAS_MAXIMUM, maximum)] if maximum else [])
    writer, name = broker.join(V5), unique()
    reader.subscribe(f"{name}/+")
    order = [1, 2, 1, 3, 4, 5, 1, 2, 5, 5, 1, 4]
    for turn in order:
        writer.publish(f"{name}/{turn}", b"", turn % 3)
    assert sorted(m.topic for m in reader.drain(writer)) == sorted(f"{name}/{turn}" for turn in order)


@v5("3.1.2-24", "3.1.2-25")
@pytest.mark.parametrize("qos", [0, 1, 2])
def test_what_is_too_large_for_a_client_is_left_out(broker: Broker, qos: int) -> None:
    reader = broker.join(V5, pairs=[(P.MAXIMUM_PACKET, 100), (P.RECEIVE_MAXIMUM, 1)])
    other, writer, topic = broker.join(V5), broker.join(V5), unique()
    reader.subscribe((topic, qos))
    other.subscribe((topic, qos))
    payloads = [b"small", b"x" * 200, b"x" * 101, b"also small", b"y" * 90000, b"last"]
    for payload in payloads:
        writer.publish(topic, payload, qos)
    assert [m.payload for m in other.drain(writer)] == payloads
    assert [m.payload for m in reader.messages(3)] == [b"small", b"also small", b"last"]


@v5("3.1.2-24")
def test_a_packet_of_just_the_maximum_size_is_sent(broker: Broker) -> None:
    topic = unique()
    size = len(publish(V5, topic, b"x" * 50))
    reader, writer = broker.join(V5, pairs=[(P.MAXIMUM_PACKET, size)]), broker.join(V5)
    reader.subscribe((topic, 0))
    writer.publish(topic, b"x" * 51)
    writer.publish(topic, b"y" * 50)
    assert reader.message().payload == b"y" * 50


@v5("3.1.2-24", "3.1.2-25", "3.3.1-9")
def test_a_retained_message_that_is_too_large_is_left_out(broker: Broker) -> None:
    reader, writer, name = broker.join(V5, pairs=[(P.MAXIMUM_PACKET, 120)]), broker.join(V5), unique()
    writer.publish(f"{name}/a", b"x" * 200, 1, retain=True)
    writer.publish(f"{name}/b", b"kept", 1, retain=True)
    reader.subscribe(f"{name}/+")
    assert reader.message().payload == b"kept"


@v5("3.4.2-2", "3.4.2-3", "3.5.2-2", "3.5.2-3", "3.6.2-2", "3.6.2-3", "3.7.2-2", "3.7.2-3")
@v5("3.9.2-1", "3.9.2-2", "3.11.2-1", "3.11.2-2", "3.14.2-3", "3.14.2-4")
def test_no_answer_is_larger_than_the_client_takes(broker: Broker) -> None:
    # The peer checks sizes. Answers without words have at most 6 bytes; a topic of 3 bytes fits a PUBLISH of 20.
    peer = broker.join(V5, pairs=[(P.MAXIMUM_PACKET, 24)])
    assert peer.subscribe("a/b").codes == [2]
    peer.unsubscribe(unique())
    for qos in (1, 2):
        peer.publish(unique("nobody/listens/"), b"", qos)
    peer.send(answer(Kind.PUBREL, 999))
    assert peer.take(Kind.PUBCOMP).packet_id == 999
    peer.send(answer(Kind.PUBREC, 998))
    assert [each.packet_id for each in peer.ping() if each.kind is Kind.PUBREL] in ([], [998])
    peer.send(publish(V5, "+", b"x"))
    peer.refused(TOPIC_INVALID, MALFORMED, PROTOCOL_ERROR)


@v5("3.1.2-29")
def test_no_words_for_a_client_that_wants_none(broker: Broker) -> None:
    peer = broker.join(V5, pairs=[(P.REQUEST_PROBLEM, 0)])
    peer.send(answer(Kind.PUBREL, 999), answer(Kind.PUBREC, 998))
    peer.send(publish(V5, unique(), b"", qos=1, packet_id=1), publish(V5, unique(), b"", qos=2, packet_id=2))
    peer.send(subscribe(V5, 3, [("a/#/b", 0), (unique(), 0)]), unsubscribe(V5, 4, [unique()]))
    try:
        heard = peer.ping()
    except ClosedError:  # for the filter
        return
    talkative = [each for each in heard if each.get(P.REASON_STRING) or each.get(P.USER)]
    assert talkative == []


# -- What a PUBLISH is answered with


@both
@pytest.mark.parametrize(("qos", "kinds"), [(0, []), (1, [Kind.PUBACK]), (2, [Kind.PUBREC])])
@v311("3.3.4-1", "4.3.2-2", "4.3.3-2")
@v5("3.3.4-1", "3.4.2-1", "3.5.2-1", "4.3.2-4", "4.3.3-8")
def test_a_publish_is_answered_by_its_qos(broker: Broker, version: int, qos: int, kinds: list[Kind]) -> None:
    peer = broker.join(version)
    peer.send(publish(version, unique(), b"x", qos=qos, packet_id=77))
    got = peer.ping()
    assert [(each.kind, each.packet_id) for each in got] == [(kind, 77) for kind in kinds]
    assert all(each.code in (0x00, 0x10) for each in got)  # 0x10: nobody listens


@v5("3.4.2-1", "3.5.2-1")
@pytest.mark.parametrize(("qos", "kind"), [(1, Kind.PUBACK), (2, Kind.PUBREC)])
def test_nobody_listens_is_not_said_where_somebody_does(broker: Broker, qos: int, kind: Kind) -> None:
    reader, writer, name = broker.join(V5), broker.join(V5), unique()
    for packet_id, pattern in enumerate((f"{name}/a", f"{name}/+", f"$share/g/{name}/#"), 1):
        reader.subscribe((pattern, 0))
        writer.send(publish(V5, f"{name}/a", b"x", qos=qos, packet_id=packet_id))
        assert writer.take(kind).code == 0
        reader.unsubscribe(pattern)


@both
@v311("4.3.3-2", "3.3.4-1")
@v5("3.6.2-1", "3.7.2-1", "4.3.3-11")
def test_a_pubrel_is_always_answered(broker: Broker, version: int) -> None:
    peer = broker.join(version)
    peer.send(answer(Kind.PUBREL, 4711))
    got = peer.next()
    assert (got.kind, got.packet_id) == (Kind.PUBCOMP, 4711)
    assert got.code in (0x00, 0x92)  # 0x92: packet identifier not found


@v5("3.6.2-1", "4.4.0-2")
def test_a_pubrec_for_nothing_does_not_end_the_connection(broker: Broker) -> None:
    peer = broker.join(V5)
    peer.send(answer(Kind.PUBREC, 4711))
    got = peer.ping()
    assert [(each.kind, each.packet_id) for each in got] in ([], [(Kind.PUBREL, 4711)])


@both
@pytest.mark.parametrize("kind", [Kind.PUBACK, Kind.PUBCOMP])
@v311("4.3.2-1", "4.3.3-1")
@v5("4.3.2-3", "4.3.3-5")
def test_an_answer_to_nothing_breaks_nothing(broker: Broker, version: int, kind: Kind) -> None:
    # A broker may close for it (nobody says it must), but it may not take another publication for acknowledged.
    reader, writer, topic = broker.join(version), broker.join(version), unique()
    reader.subscribe((topic, 2))
    writer.publish(topic, b"x", 2)
    got = reader.next()
    try:
        reader.send(answer(kind, got.packet_id + 1))
        reader.send(answer(Kind.PUBREC, got.packet_id))
        assert reader.next().kind is Kind.PUBREL
    except ClosedError:
        return


# -- Overlapping subscriptions and their identifiers


@both
@v311("3.3.5-1", "4.3.3-1")
@v5("3.3.4-2")
def test_overlapping_subscriptions_deliver_with_the_highest_qos(broker: Broker, version: int) -> None:
    reader, writer, name = broker.join(version), broker.join(version), unique()
    reader.subscribe((f"{name}/a", 0), (f"{name}/+", 2), (f"{name}/#", 1))
    writer.publish(f"{name}/a", b"x", 2)
    got = sorted(m.qos for m in reader.drain(writer))
    assert got in ([2], [0, 1, 2])  # one copy, or one for each subscription


@v5("3.3.4-3", "3.3.4-4", "3.3.4-5")
def test_overlapping_subscriptions_deliver_all_their_identifiers(broker: Broker) -> None:
    reader, writer, name = broker.join(V5), broker.join(V5), unique()
    reader.subscribe((f"{name}/a", 0), pairs=[(P.SUBSCRIPTION_ID, 1)])
    reader.subscribe((f"{name}/+", 2), pairs=[(P.SUBSCRIPTION_ID, 268435455)])
    reader.subscribe((f"{name}/#", 1))  # without an identifier
    reader.subscribe((f"{name}/b", 1), pairs=[(P.SUBSCRIPTION_ID, 3)])
    writer.publish(f"{name}/a", b"x", 2)
    got = reader.drain(writer)
    ids = [m.all(P.SUBSCRIPTION_ID) for m in got]
    if len(got) == 1:
        assert sorted(ids[0]) == [1, 268435455]
    else:
        assert sorted((m.qos, m.all(P.SUBSCRIPTION_ID)) for m in got) == [(0, [1]), (1, []), (2, [268435455])]


@v5("3.3.4-3", "3.8.4-3")
def test_one_identifier_may_serve_several_subscriptions(broker: Broker) -> None:
    reader, writer, name = broker.join(V5), broker.join(V5), unique()
    reader.subscribe((f"{name}/a", 1), (f"{name}/+", 1), pairs=[(P.SUBSCRIPTION_ID, 200)])
    writer.publish(f"{name}/a", b"x", 1)
    ids = [value for m in reader.drain(writer) for value in m.all(P.SUBSCRIPTION_ID)]
    assert ids in ([200], [200, 200])


@v5("3.3.4-3", "3.8.4-3")
def test_a_new_subscription_brings_its_own_identifier_or_none(broker: Broker) -> None:
    reader, writer, topic = broker.join(V5), broker.join(V5), unique()
    for given, ids in (([(P.SUBSCRIPTION_ID, 5)], [5]), ([(P.SUBSCRIPTION_ID, 6)], [6]), ([], [])):
        reader.subscribe((topic, 1), pairs=given)
        writer.publish(topic, b"x", 1)
        assert reader.message().all(P.SUBSCRIPTION_ID) == ids


@v5("3.3.4-3", "3.1.2-23")
def test_identifiers_are_part_of_a_lasting_session(broker: Broker) -> None:
    reader, writer, topic = broker.join(V5, **lasting(V5)), broker.join(V5), unique()
    reader.subscribe((topic, 1), pairs=[(P.SUBSCRIPTION_ID, 77)])
    reader.leave()
    writer.publish(topic, b"queued", 1)
    again = broker.join(V5, reader.client_id, **lasting(V5))
    writer.publish(topic, b"direct", 1)
    assert [(m.payload, m.all(P.SUBSCRIPTION_ID)) for m in again.messages(2)] == [(b"queued", [77]), (b"direct", [77])]


# -- Flow control


@v5("3.3.4-9", "3.3.4-10", "4.9.0-1", "4.9.0-2", "4.9.0-3")
@pytest.mark.parametrize("qos", [1, 2])
@pytest.mark.parametrize("window", [1, 3])
def test_the_broker_keeps_to_the_receive_maximum(broker: Broker, qos: int, window: int) -> None:
    reader, writer, topic = broker.join(V5, pairs=[(P.RECEIVE_MAXIMUM, window)]), broker.join(V5), unique()
    reader.subscribe((topic, qos))
    for turn in range(8):
        writer.publish(topic, b"%d" % turn, qos)
    writer.publish(unique(), b"", 1)
    held = reader.ping()  # the window is full, and the answer to a PINGREQ still comes
    assert [m.payload for m in held] == [b"%d" % turn for turn in range(window)]
    assert reader.subscribe(unique()).kind is Kind.SUBACK
    reader.silent()
    seen: list[bytes] = []
    while len(seen) < 8:
        oldest = held.pop(0) if held else reader.next()
        seen.append(oldest.payload)
        if qos == 2:
            reader.send(answer(Kind.PUBREC, oldest.packet_id))
            released = reader.next()
            assert (released.kind, released.packet_id) == (Kind.PUBREL, oldest.packet_id)
            reader.silent()  # not before the PUBCOMP
        reader.send(answer(Kind.PUBACK if qos == 1 else Kind.PUBCOMP, oldest.packet_id))
        held += reader.ping()
        assert len(held) <= window
    assert seen == [b"%d" % turn for turn in range(8)]


@v5("3.3.4-9", "4.4.0-2", "4.9.0-2")
@pytest.mark.parametrize("qos", [1, 2])
def test_a_refused_publication_makes_room_for_the_next(broker: Broker, qos: int) -> None:
    reader, writer, topic = broker.join(V5, pairs=[(P.RECEIVE_MAXIMUM, 1)]), broker.join(V5), unique()
    reader.subscribe((topic, qos))
    for turn in range(3):
        writer.publish(topic, b"%d" % turn, qos)
    for turn in range(3):
        got = reader.next()
        assert (got.kind, got.payload, got.dup) == (Kind.PUBLISH, b"%d" % turn, False)  # no PUBREL, no second attempt
        reader.send(answer(Kind.PUBACK if qos == 1 else Kind.PUBREC, got.packet_id, 0x83))
    reader.silent()


@v5("4.9.0-2", "3.3.4-9")
def test_the_receive_maximum_holds_for_what_is_sent_again(broker: Broker) -> None:
    reader, writer, topic = broker.join(V5, **lasting(V5, (P.RECEIVE_MAXIMUM, 4))), broker.join(V5), unique()
    reader.subscribe((topic, 1))
    for turn in range(6):
        writer.publish(topic, b"%d" % turn, 1)
    assert len(reader.ping()) == 4
    reader.drop()
    again = broker.join(V5, reader.client_id, **lasting(V5, (P.RECEIVE_MAXIMUM, 2)))
    assert len(again.ping()) <= 2
    third = broker.join(V5, reader.client_id, **lasting(V5, (P.RECEIVE_MAXIMUM, 2)))
    assert [m.payload for m in third.messages(6)] == [b"%d" % turn for turn in range(6)]


@v5("3.3.4-7", "4.13.1-1")
def test_more_than_the_receive_maximum_of_the_broker_closes_the_connection(broker: Broker) -> None:
    peer, topic = broker.join(V5), unique()
    window = peer.connack.get(P.RECEIVE_MAXIMUM, 65535)
    if window > 5000:
        pytest.skip(f"the broker takes {window} publications at once")
    for packet_id in range(1, window + 2):
        peer.send(publish(V5, topic, b"x", qos=2, packet_id=packet_id))
    peer.refused(TOO_MANY)


@v5("4.9.0-3")
def test_the_window_of_the_broker_opens_again(broker: Broker) -> None:
    peer, topic = broker.join(V5), unique()
    window = min(peer.connack.get(P.RECEIVE_MAXIMUM, 65535), 200)
    for turn in range(3):
        ids = range(turn * window + 1, turn * window + window + 1)
        peer.send(*(publish(V5, topic, b"x", qos=2, packet_id=packet_id) for packet_id in ids))
        assert [peer.take(Kind.PUBREC).packet_id for _ in ids] == list(ids)
        peer.send(*(answer(Kind.PUBREL, packet_id) for packet_id in ids))
        assert [peer.take(Kind.PUBCOMP).packet_id for _ in ids] == list(ids)
