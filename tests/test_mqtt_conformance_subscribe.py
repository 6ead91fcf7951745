"""MQTT, sections 3.8 to 3.15: subscribing, PINGREQ, DISCONNECT and AUTH."""

import pytest

from mqtt_broker import Broker
from mqtt_peer import (
    PINGREQ,
    V5,
    V311,
    ClosedError,
    Kind,
    P,
    Will,
    answer,
    disconnect,
    lasting,
    packet,
    publish,
    subscribe,
    unique,
    unsubscribe,
)
from mqtt_table import both, v5, v311

MALFORMED, PROTOCOL_ERROR, FILTER_INVALID = 0x81, 0x82, 0x8F
NO_LOCAL, AS_PUBLISHED = 0x04, 0x08


# -- SUBSCRIBE


@both
@v311("3.8.3-3")
@v5("3.8.3-2")
def test_a_subscribe_without_filters_closes_the_connection(broker: Broker, version: int) -> None:
    peer = broker.join(version)
    peer.send(subscribe(version, 1, []))
    peer.refused(PROTOCOL_ERROR, MALFORMED)


@both
@pytest.mark.parametrize("options", [0x03, 0x40, 0x80, 0xC1])
@v311("3.8.3-4")
@v5("3.8.3-5")
def test_reserved_options_close_the_connection(broker: Broker, version: int, options: int) -> None:
    peer = broker.join(version)
    peer.send(subscribe(version, 1, [(unique(), options)]))
    peer.refused(MALFORMED, PROTOCOL_ERROR)


@pytest.mark.parametrize("options", [0x04, 0x08, 0x10, 0x20])
@v311("3.8.3-4")
def test_options_of_mqtt_5_close_the_connection_of_an_old_client(broker: Broker, options: int) -> None:
    peer = broker.join(V311)
    peer.send(subscribe(V311, 1, [(unique(), options)]))
    peer.refused()


@v5("3.8.3-5", "4.13.1-1")
def test_retain_handling_3_closes_the_connection(broker: Broker) -> None:
    peer = broker.join(V5)
    peer.send(subscribe(V5, 1, [(unique(), 0x30)]))
    peer.refused(PROTOCOL_ERROR, MALFORMED)


@v5("3.8.3-4")
def test_no_local_in_a_shared_subscription_closes_the_connection(broker: Broker) -> None:
    peer = broker.join(V5)
    peer.send(subscribe(V5, 1, [(f"$share/group/{unique()}", NO_LOCAL)]))
    peer.refused(PROTOCOL_ERROR)


@v5("4.13.1-1")
@pytest.mark.parametrize(
    "pairs",
    [
        pytest.param([(P.SUBSCRIPTION_ID, 0)], id="identifier 0"),
        pytest.param([(P.SUBSCRIPTION_ID, 1), (P.SUBSCRIPTION_ID, 2)], id="two identifiers"),
        pytest.param([(P.MESSAGE_EXPIRY, 1)], id="property of a PUBLISH"),
    ],
)
def test_wrong_properties_of_a_subscribe_close_the_connection(broker: Broker, pairs: list[tuple[int, int]]) -> None:
    peer = broker.join(V5)
    peer.send(subscribe(V5, 1, [(unique(), 1)], pairs=pairs))
    peer.refused(PROTOCOL_ERROR, MALFORMED)


@v5("3.8.3-3")
@pytest.mark.parametrize("qos", [0, 1, 2])
def test_no_local_keeps_a_client_from_hearing_itself(broker: Broker, qos: int) -> None:
    peer, other, topic = broker.join(V5), broker.join(V5), unique()
    peer.subscribe((topic, qos | NO_LOCAL))
    other.subscribe((topic, qos))
    peer.publish(topic, b"mine", qos)
    other.publish(topic, b"yours", qos)
    assert [m.payload for m in peer.drain(other)] == [b"yours"]
    assert sorted(m.payload for m in other.drain(other)) == [b"mine", b"yours"]


@v5("3.8.3-3", "3.8.4-3")
def test_no_local_goes_by_the_client_id(broker: Broker) -> None:
    peer, topic = broker.join(V5, **lasting(V5)), unique()
    peer.subscribe((topic, 1 | NO_LOCAL))
    peer.publish(topic, b"before", 1)
    again = broker.join(V5, peer.client_id, **lasting(V5))
    assert again.connack.session_present
    again.publish(topic, b"after", 1)
    assert again.drain(again) == []
    again.subscribe((topic, 1))  # a new subscription without the option
    again.publish(topic, b"heard", 1)
    assert again.message().payload == b"heard"


@both
@pytest.mark.parametrize("granted", [0, 1, 2])
@pytest.mark.parametrize("qos", [0, 1, 2])
@v311("3.8.4-6", "3.8.4-5")
@v5("3.8.4-7", "3.8.4-8", "3.2.2-10")
def test_a_publication_arrives_with_the_lower_qos(broker: Broker, version: int, granted: int, qos: int) -> None:
    reader, writer, topic = broker.join(version), broker.join(version), unique()
    assert reader.subscribe((topic, granted)).codes == [granted]
    writer.publish(topic, b"x", qos)
    assert reader.message().qos == min(granted, qos)


@both
@v311("3.8.4-3")
@v5("3.8.4-3")
def test_the_same_filter_again_replaces_the_subscription(broker: Broker, version: int) -> None:
    reader, writer, name = broker.join(version), broker.join(version), unique()
    for qos in (2, 0, 1):
        reader.subscribe((f"{name}/+", qos))
        writer.publish(f"{name}/a", b"%d" % qos, 2)
        assert [(m.payload, m.qos) for m in reader.drain(writer)] == [(b"%d" % qos, qos)]
    reader.unsubscribe(f"{name}/+")
    writer.publish(f"{name}/a", b"x", 2)
    assert reader.drain(writer) == []


@v5("3.8.4-3", "3.3.1-12", "3.3.1-13")
def test_all_options_of_a_subscription_are_replaced(broker: Broker) -> None:
    peer, topic = broker.join(V5), unique()
    for options, retain in ((1, False), (1 | AS_PUBLISHED, True), (1, False)):
        peer.subscribe((topic, options | 0x20))
        peer.publish(topic, b"x", 1, retain=True)
        assert peer.message().retain is retain


@both
@v311("3.8.4-3")
@v5("3.8.4-4")
def test_the_same_filter_again_brings_retained_messages_again(broker: Broker, version: int) -> None:
    reader, writer, topic = broker.join(version), broker.join(version), unique()
    writer.publish(topic, b"kept", 1, retain=True)
    for _ in range(2):
        reader.subscribe((topic, 1))
        assert [(m.payload, m.retain) for m in reader.drain(writer)] == [(b"kept", True)]


@both
@v311("3.8.4-3")
@v5("3.8.4-4")
def test_no_publication_is_lost_while_a_subscription_is_replaced(broker: Broker, version: int) -> None:
    reader, writer, topic = broker.join(version), broker.join(version), unique()
    reader.subscribe((topic, 1))
    for turn in range(50):
        writer.send(publish(version, topic, b"%d" % turn, qos=1, packet_id=turn + 1))
        reader.send(subscribe(version, 1000 + turn, [(topic, 1)]))
    for _ in range(50):
        reader.take(Kind.SUBACK)
        writer.take(Kind.PUBACK)
    assert [m.payload for m in reader.drain(writer)] == [b"%d" % turn for turn in range(50)]


@both
@v311("3.8.4-4", "3.8.4-5", "3.9.3-1", "3.9.3-2")
@v5("3.8.4-5", "3.8.4-6", "3.9.3-1", "3.9.3-2")
def test_many_filters_are_answered_in_their_order(broker: Broker, version: int) -> None:
    reader, writer, name = broker.join(version), broker.join(version), unique()
    wanted = [(f"{name}/{turn}", turn * 7 % 3) for turn in range(40)]
    assert reader.subscribe(*wanted).codes == [qos for _, qos in wanted]
    for topic, _ in wanted:
        writer.publish(topic, b"x", 2)
    assert sorted((m.topic, m.qos) for m in reader.drain(writer)) == sorted(wanted)


@both
@v311("3.8.4-4")
@v5("3.8.4-5")
def test_filters_of_one_subscribe_take_effect_one_after_the_other(broker: Broker, version: int) -> None:
    reader, writer, topic = broker.join(version), broker.join(version), unique()
    assert reader.subscribe((topic, 2), (topic, 0), (topic, 1)).codes == [2, 0, 1]
    writer.publish(topic, b"x", 2)
    assert [m.qos for m in reader.drain(writer)] == [1]


BAD_FILTERS = ["a/#/b", "a#", "#/a", "a/b#", "a+", "+a/b", "a/+b/c", "++", "##", ""]


@both
@pytest.mark.parametrize("bad", BAD_FILTERS)
@v311("4.7.1-2", "4.7.1-3", "4.7.3-1", "3.9.3-2")
@v5("4.7.1-1", "4.7.1-2", "4.7.3-1", "3.9.3-2")
def test_a_filter_that_is_none_is_refused(broker: Broker, version: int, bad: str) -> None:
    peer = broker.join(version)
    peer.send(subscribe(version, 5, [(bad, 1)]))
    try:
        suback = peer.next()
    except ClosedError:
        return
    if suback.kind is Kind.SUBACK:
        assert suback.codes == ([FILTER_INVALID] if version == V5 else [0x80])
        peer.silent()
    else:
        assert (suback.kind, suback.code) in [
            (Kind.DISCONNECT, code) for code in (FILTER_INVALID, MALFORMED, PROTOCOL_ERROR)
        ]
        assert peer.end() == []


@both
@v311("3.8.4-5")
@v5("3.8.4-6")
def test_a_bad_filter_among_good_ones_does_not_spoil_them(broker: Broker, version: int) -> None:
    peer, name = broker.join(version), unique()
    peer.send(subscribe(version, 5, [(f"{name}/a", 1), ("a/#/b", 1), (f"{name}/b", 2)]))
    try:
        suback = peer.next()
    except ClosedError:
        return
    if suback.kind is Kind.SUBACK:
        assert suback.codes == [1, FILTER_INVALID if version == V5 else 0x80, 2]
        peer.publish(f"{name}/b", b"x", 1)
        assert peer.message().payload == b"x"


@both
@v311("3.8.3-2", "4.7.1-1")
@v5("4.7.0-1")
def test_wildcards_are_served(broker: Broker, version: int) -> None:
    peer, name = broker.join(version), unique()
    assert peer.subscribe((f"{name}/+/c/#", 1), ("+/" + name, 0)).codes == [1, 0]
    peer.publish(f"{name}/b/c/d", b"x", 1)
    assert peer.message().topic == f"{name}/b/c/d"


# -- UNSUBSCRIBE


@both
@v311("3.10.3-2")
@v5("3.10.3-2")
def test_an_unsubscribe_without_filters_closes_the_connection(broker: Broker, version: int) -> None:
    peer = broker.join(version)
    peer.send(unsubscribe(version, 1, []))
    peer.refused(PROTOCOL_ERROR, MALFORMED)


@both
@v311("3.10.4-1", "3.10.4-2", "3.10.4-5")
@v5("3.10.4-1", "3.10.4-2", "3.10.4-4", "3.10.4-5")
def test_only_the_very_same_filter_is_unsubscribed(broker: Broker, version: int) -> None:
    reader, writer, name = broker.join(version), broker.join(version), unique()
    reader.subscribe((f"{name}/+", 1))
    reader.unsubscribe(f"{name}/a", f"{name}/#", f"{name}/+/", name.upper() + "/+", f"{name}/+/#", "+/+")
    writer.publish(f"{name}/a", b"1", 1)
    assert [m.payload for m in reader.drain(writer)] == [b"1"]
    reader.unsubscribe(f"{name}/+")
    writer.publish(f"{name}/a", b"2", 1)
    assert reader.drain(writer) == []


@both
@v311("3.10.4-4", "3.10.4-5")
@v5("3.10.4-4", "3.10.4-5", "3.11.3-2")
def test_an_unsubscribe_of_nothing_is_answered(broker: Broker, version: int) -> None:
    peer = broker.join(version)
    assert peer.unsubscribe(unique()).codes == ([0x11] if version == V5 else [])


@both
@v311("3.10.4-6")
@v5("3.10.4-6", "3.11.3-1", "3.11.3-2")
def test_many_filters_are_unsubscribed_with_one_answer(broker: Broker, version: int) -> None:
    reader, writer, name = broker.join(version), broker.join(version), unique()
    reader.subscribe(*(f"{name}/{each}" for each in "abcd"))
    codes = reader.unsubscribe(*(f"{name}/{each}" for each in "axcaz")).codes
    assert codes == ([0x00, 0x11, 0x00, 0x11, 0x11] if version == V5 else [])
    for each in "abcd":
        writer.publish(f"{name}/{each}", each.encode(), 1)
    assert [m.payload for m in reader.drain(writer)] == [b"b", b"d"]


@both
@pytest.mark.parametrize("qos", [1, 2])
@v311("3.10.4-3")
@v5("3.10.4-3")
def test_a_delivery_under_way_is_completed_after_an_unsubscribe(broker: Broker, version: int, qos: int) -> None:
    reader, writer, topic = broker.join(version, **lasting(version)), broker.join(version), unique()
    reader.subscribe((topic, qos))
    writer.publish(topic, b"x", qos)
    first = reader.next()
    assert first.kind is Kind.PUBLISH
    reader.unsubscribe(topic)
    reader.drop()
    again = broker.join(version, reader.client_id, **lasting(version))
    repeated = again.next()
    assert (repeated.payload, repeated.packet_id, repeated.dup) == (b"x", first.packet_id, True)
    again.send(answer(Kind.PUBACK if qos == 1 else Kind.PUBREC, first.packet_id))
    if qos == 2:
        assert again.next().kind is Kind.PUBREL
        again.send(answer(Kind.PUBCOMP, first.packet_id))
    assert again.drain(writer) == []


# -- PINGREQ, DISCONNECT


@both
@v311("3.12.4-1")
@v5("3.12.4-1")
def test_each_pingreq_is_answered(broker: Broker, version: int) -> None:
    peer = broker.join(version)
    peer.send(PINGREQ * 5)
    assert [peer.next().kind for _ in range(5)] == [Kind.PINGRESP] * 5
    peer.silent()


@both
@v311("4.8.0-1")
@v5("4.13.1-1")
def test_a_pingreq_with_a_body_closes_the_connection(broker: Broker, version: int) -> None:
    peer = broker.join(version)
    peer.send(packet(Kind.PINGREQ, 0, b"x"))
    peer.refused(MALFORMED, PROTOCOL_ERROR)


@both
@v311("3.14.4-1", "3.14.4-2")
@v5("3.14.4-1", "3.14.4-2")
def test_nothing_is_served_behind_a_disconnect(broker: Broker, version: int) -> None:
    reader, writer, topic = broker.join(version), broker.join(version), unique()
    reader.subscribe(topic)
    writer.send(disconnect(version) + publish(version, topic, b"late", qos=1, packet_id=1))
    assert writer.end() == []
    assert reader.drain(broker.join(version)) == []


@v5("3.14.4-1", "3.14.4-2", "4.13.2-1")
def test_a_disconnect_of_the_broker_is_its_last_word(broker: Broker) -> None:
    peer, topic = broker.join(V5), unique()
    peer.subscribe(topic)
    peer.send(publish(V5, "a/#", b"bad") + PINGREQ + publish(V5, topic, b"x"))
    assert [each.kind for each in peer.end()] in ([], [Kind.DISCONNECT])


@v5("3.14.1-1", "4.13.1-1")
@pytest.mark.parametrize(
    "bad",
    [
        pytest.param(disconnect(V5, 0, [(P.SESSION_EXPIRY, 1)] * 2), id="session expiry twice"),
        pytest.param(disconnect(V5, 0, [(P.RECEIVE_MAXIMUM, 1)]), id="property of a CONNECT"),
        pytest.param(packet(Kind.DISCONNECT, 0, b"\x00\x05\x11"), id="properties cut short"),
    ],
)
def test_a_disconnect_that_breaks_the_rules_leaves_the_will(broker: Broker, bad: bytes) -> None:
    watcher, topic = broker.join(V5), unique()
    watcher.subscribe(topic)
    peer = broker.join(V5, will=Will(topic, b"bye", 1))
    peer.send(bad)
    peer.refused(MALFORMED, PROTOCOL_ERROR)
    assert watcher.message().payload == b"bye"


@v5("3.14.2-2", "4.13.1-1")
def test_a_session_that_was_to_end_cannot_be_kept_by_a_disconnect(broker: Broker) -> None:
    peer = broker.join(V5, clean=True)
    peer.send(disconnect(V5, 0, [(P.SESSION_EXPIRY, 600)]))
    peer.refused(PROTOCOL_ERROR)
    assert not broker.join(V5, peer.client_id, clean=False).connack.session_present


@v5("3.14.2-2", "4.1.0-2")
def test_a_disconnect_can_end_a_session_that_was_to_be_kept(broker: Broker) -> None:
    peer = broker.join(V5, clean=False, pairs=[(P.SESSION_EXPIRY, 600)])
    peer.leave(0, [(P.SESSION_EXPIRY, 0)])
    assert not broker.join(V5, peer.client_id, clean=False).connack.session_present


@v5("3.1.2-23", "3.14.2-2")
def test_a_disconnect_can_keep_a_session_longer(broker: Broker) -> None:
    peer = broker.join(V5, clean=False, pairs=[(P.SESSION_EXPIRY, 1)])
    peer.leave(0, [(P.SESSION_EXPIRY, 0xFFFFFFFF)])
    assert broker.join(V5, peer.client_id, clean=False).connack.session_present
