"""MQTT, sections 3.1 and 3.2: CONNECT and CONNACK."""

import string
from collections.abc import Callable
from typing import Any

import pytest

from mqtt_broker import Broker
from mqtt_peer import (
    PINGREQ,
    V5,
    V311,
    ClosedError,
    Kind,
    P,
    Peer,
    Will,
    answer,
    binary,
    connect,
    disconnect,
    lasting,
    packet,
    properties,
    publish,
    subscribe,
    unique,
    unsubscribe,
)
from mqtt_table import both, v5, v311

MALFORMED, PROTOCOL_ERROR, BAD_VERSION, TAKEN_OVER, BAD_METHOD = 0x81, 0x82, 0x84, 0x8E, 0x8C
FOREVER = [(P.SESSION_EXPIRY, 0xFFFFFFFF)]


def subscribe_many(count: int) -> bytes:
    return subscribe(V5, 1, [(unique(), 0) for _ in range(count)])


def unsubscribe_many(count: int) -> bytes:
    return unsubscribe(V5, 1, [unique() for _ in range(count)])


# -- The first packet


Make = Callable[[int], bytes]

FIRST: dict[str, Make] = {
    "PUBLISH": lambda version: publish(version, "a", b"x"),
    "PUBLISH QoS 1": lambda version: publish(version, "a", b"x", qos=1, packet_id=1),
    "SUBSCRIBE": lambda version: subscribe(version, 1, [("a", 0)]),
    "UNSUBSCRIBE": lambda version: unsubscribe(version, 1, ["a"]),
    "PUBREL": lambda version: answer(Kind.PUBREL, 1),
    "PINGREQ": lambda version: PINGREQ,
    "DISCONNECT": disconnect,
    "CONNACK": lambda version: b"\x20\x02\x00\x00",
    "text": lambda version: b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
}


@both
@pytest.mark.parametrize("first", FIRST.values(), ids=FIRST)
@v311("3.1.0-1")
@v5("3.1.0-1", "3.14.0-1")
def test_a_first_packet_that_is_no_connect_is_answered_by_closing(broker: Broker, version: int, first: Make) -> None:
    peer = broker.dial(version)
    peer.send(first(version))
    assert [each for each in peer.end() if each.kind is not Kind.CONNACK] == []


@v5("3.1.0-1", "3.14.0-1")
def test_an_auth_before_the_connect_closes_the_connection(broker: Broker) -> None:
    peer = broker.dial(V5)
    peer.send(packet(Kind.AUTH, 0, b"\x18" + properties([(P.AUTH_METHOD, "x")])))
    assert [each for each in peer.end() if each.kind is not Kind.CONNACK] == []


@both
@v311("3.1.0-2")
@v5("3.1.0-2", "3.2.0-2")
def test_a_second_connect_closes_the_connection(broker: Broker, version: int) -> None:
    peer = broker.join(version)
    peer.send(connect(version, peer.client_id))
    last = peer.refused(PROTOCOL_ERROR)
    assert last is None or last.kind is Kind.DISCONNECT


@both
@pytest.mark.parametrize("name", ["MQTTX", "mqtt", "MQT", "", "MQIsdp", b"MQT\xff"])
@v311("3.1.2-1")
@v5("3.1.2-1")
def test_another_protocol_name_is_not_served(broker: Broker, version: int, name: str | bytes) -> None:
    peer = broker.dial(V311)  # the answer, if there is one, may have the form of either version
    peer.send(connect(version, unique("c"), name=name))
    until_closed(peer, {0x01, BAD_VERSION})


@pytest.mark.parametrize("level", [0, 1, 2, 6, 127, 255])
@v311("3.1.2-2", "3.2.2-5")
@v5("3.1.2-2", "3.2.2-7")
def test_an_unknown_protocol_level_is_refused(broker: Broker, level: int) -> None:
    peer = broker.dial(V311)
    peer.send(connect(V311, unique("c"), level=level))
    until_closed(peer, {0x01, BAD_VERSION})


def until_closed(peer: Peer, codes: set[int]) -> None:
    """Reads to the end; at most a CONNACK with one of the codes, in the form of either version, comes first."""
    raw = b""
    while data := peer.socket.recv(100):
        raw += data
    assert raw == b"" or (raw[0] == 0x20 and raw[1] == len(raw) - 2 and raw[2] == 0 and raw[3] in codes), raw.hex(" ")


# -- A CONNECT that breaks the rules


def bad(name: str, old: list[str], new: list[str], **options: object) -> object:
    return pytest.param(options, id=name, marks=[v311(*old), v5(*new)])


BAD_CONNECTS = [
    bad("reserved flag", ["3.1.2-3"], ["3.1.2-3"], flags=0x03),
    bad("will qos without will", ["3.1.2-11", "3.1.2-13"], ["3.1.2-11"], flags=0x0A),
    bad("will retain without will", ["3.1.2-11", "3.1.2-15"], ["3.1.2-13"], flags=0x22),
    bad("will qos 3", ["3.1.2-14"], ["3.1.2-12"], will=Will("w"), flags=0x1E),
    bad("will flag without will", ["3.1.2-9"], ["3.1.2-9"], flags=0x06),
    bad("will without will flag", ["3.1.2-11"], ["3.1.2-9"], will=Will("w"), flags=0x02),
    bad("user name without flag", ["3.1.2-18"], ["3.1.2-16"], username="u", flags=0x02),
    bad("flag without user name", ["3.1.2-19"], ["3.1.2-17"], flags=0x82),
    bad("password without flag", ["3.1.2-20"], ["3.1.2-18"], username="u", password=b"p", flags=0x82),
    bad("flag without password", ["3.1.2-21"], ["3.1.2-19"], username="u", flags=0xC2),
    bad("no client id", ["3.1.3-3"], ["3.1.3-3"], client_id=None),
    bad("client id cut short", ["3.1.4-1"], ["3.1.4-1"], client_id=None, more=b"\x00\x05ab"),
    bad("bytes behind the end", ["3.1.4-1"], ["3.1.4-1"], more=b"\x00"),
]


@both
@pytest.mark.parametrize("options", BAD_CONNECTS)
@v311("3.1.4-1", "3.2.2-6")
@v5("3.1.4-1", "4.13.1-1", "3.14.0-1")
def test_a_connect_that_breaks_the_rules_is_refused(broker: Broker, version: int, options: dict[str, Any]) -> None:
    peer = broker.dial(version)
    peer.send(connect(version, **{"client_id": unique("c"), **options}))
    last = peer.refused(MALFORMED, PROTOCOL_ERROR)
    assert last is None or (version == V5 and last.kind is Kind.CONNACK)  # 3.1.1: closed without a CONNACK


@v311("3.1.2-22")
def test_a_password_without_a_user_name_is_refused_in_311(broker: Broker) -> None:
    peer = broker.dial(V311)
    peer.send(connect(V311, unique("c"), password=b"p"))
    assert peer.refused() is None


@v5("3.1.4-1", "4.13.1-1", "3.2.2-8")
@pytest.mark.parametrize(
    "pairs",
    [
        pytest.param([(P.RECEIVE_MAXIMUM, 0)], id="receive maximum 0"),
        pytest.param([(P.MAXIMUM_PACKET, 0)], id="maximum packet size 0"),
        pytest.param([(P.REQUEST_PROBLEM, 2)], id="request problem 2"),
        pytest.param([(P.REQUEST_RESPONSE, 2)], id="request response 2"),
        pytest.param([(P.AUTH_DATA, b"x")], id="authentication data alone"),
        pytest.param([(P.SESSION_EXPIRY, 1)] * 2, id="session expiry twice"),
        pytest.param([(P.RECEIVE_MAXIMUM, 1)] * 2, id="receive maximum twice"),
        pytest.param([(P.MAXIMUM_PACKET, 100)] * 2, id="maximum packet size twice"),
        pytest.param([(P.ALIAS_MAXIMUM, 1)] * 2, id="alias maximum twice"),
        pytest.param([(P.REQUEST_PROBLEM, 1)] * 2, id="request problem twice"),
        pytest.param([(P.REQUEST_RESPONSE, 0)] * 2, id="request response twice"),
        pytest.param([(P.ALIAS, 1)], id="property of a PUBLISH"),
        pytest.param([(P.SERVER_KEEP_ALIVE, 1)], id="property of a CONNACK"),
        pytest.param([(P.WILL_DELAY, 1)], id="property of a will"),
    ],
)
def test_wrong_properties_in_a_connect_are_refused(broker: Broker, pairs: list[tuple[int, Any]]) -> None:
    peer = broker.dial(V5)
    peer.send(connect(V5, unique("c"), pairs=pairs))
    peer.refused(MALFORMED, PROTOCOL_ERROR)


@v5("3.1.4-1", "3.3.2-14", "4.13.1-1")
@pytest.mark.parametrize(
    "pairs",
    [
        pytest.param([(P.WILL_DELAY, 1)] * 2, id="delay twice"),
        pytest.param([(P.PAYLOAD_FORMAT, 1)] * 2, id="payload format twice"),
        pytest.param([(P.MESSAGE_EXPIRY, 1)] * 2, id="expiry twice"),
        pytest.param([(P.CONTENT_TYPE, "x")] * 2, id="content type twice"),
        pytest.param([(P.RESPONSE_TOPIC, "x")] * 2, id="response topic twice"),
        pytest.param([(P.CORRELATION_DATA, b"x")] * 2, id="correlation data twice"),
        pytest.param([(P.SESSION_EXPIRY, 1)], id="property of a CONNECT"),
        pytest.param([(P.ALIAS, 1)], id="topic alias"),
        pytest.param([(P.SUBSCRIPTION_ID, 1)], id="subscription id"),
        pytest.param([(P.RESPONSE_TOPIC, "x/#")], id="wildcard in the response topic"),
    ],
)
def test_wrong_properties_of_a_will_are_refused(broker: Broker, pairs: list[tuple[int, Any]]) -> None:
    peer = broker.dial(V5)
    peer.send(connect(V5, unique("c"), will=Will("w", properties=pairs)))
    peer.refused(MALFORMED, PROTOCOL_ERROR, 0x90)


@both
@pytest.mark.parametrize("topic", ["w/+", "#", ""])
@v311("3.3.2-2", "4.7.1-1", "4.7.3-1")
@v5("3.3.2-2", "4.7.0-1", "4.7.3-1")
def test_a_will_topic_that_is_no_topic_name_is_refused(broker: Broker, version: int, topic: str) -> None:
    peer = broker.dial(version)
    peer.send(connect(version, unique("c"), will=Will(topic)))
    peer.refused(MALFORMED, PROTOCOL_ERROR, 0x90)


# -- Client identifiers


@both
@pytest.mark.parametrize("client_id", ["a", string.ascii_lowercase[:23], string.ascii_uppercase[3:26], "0123456789xyz"])
@v311("3.1.3-5", "3.1.4-4", "3.2.0-1")
@v5("3.1.3-5", "3.1.4-5", "3.2.0-1", "3.2.2-1", "3.2.2-8")
def test_client_ids_of_letters_and_digits_are_allowed(broker: Broker, version: int, client_id: str) -> None:
    connack = broker.dial(version).connect(client_id)
    assert (connack.code, connack.session_present) == (0, False)
    assert connack.get(P.ASSIGNED_CLIENT_ID) is None


@both
@v311("3.1.3-9")
@v5("3.1.3-8")
def test_a_client_id_of_65535_bytes_is_taken_or_refused_with_the_right_code(broker: Broker, version: int) -> None:
    peer = broker.dial(version)
    connack = peer.connect(unique("c").ljust(65535, "x"))
    if connack.code:
        assert connack.code == (0x85 if version == V5 else 0x02)
        assert peer.end() == []


@v311("3.1.3-6")
def test_clients_without_an_id_are_told_apart_in_311(broker: Broker) -> None:
    first, second = broker.join(V311, ""), broker.join(V311, "")
    topic = unique()
    first.subscribe(topic)
    second.silent()  # the second did not take over the first, nor did it inherit from it
    second.publish(topic, b"x", 1)
    assert first.message().payload == b"x"
    second.silent()


@v311("3.1.3-7", "3.1.3-8", "3.2.2-4", "3.2.2-5")
def test_no_client_id_and_no_clean_session_is_refused_in_311(broker: Broker) -> None:
    peer = broker.dial(V311)
    connack = peer.connect("", clean=False)
    assert (connack.code, connack.session_present) == (0x02, False)
    assert peer.end() == []


@v5("3.1.3-6", "3.1.3-7", "3.2.2-16")
@pytest.mark.parametrize("clean", [True, False])
def test_clients_without_an_id_get_one_of_their_own(broker: Broker, clean: bool) -> None:
    peers = [broker.join(V5, "", clean=clean, pairs=FOREVER) for _ in range(3)]
    assigned = [peer.connack.get(P.ASSIGNED_CLIENT_ID) for peer in peers]
    assert all(assigned)
    assert len(set(assigned)) == 3
    topic = unique()
    peers[0].subscribe(topic)
    peers[0].leave()
    again = broker.join(V5, assigned[0], clean=False, pairs=[(P.SESSION_EXPIRY, 0)])
    assert again.connack.session_present
    assert again.connack.get(P.ASSIGNED_CLIENT_ID) is None
    peers[1].publish(topic, b"x", 1)
    assert again.message().payload == b"x"


@both
@v311("3.1.3-2")
@v5("3.1.3-2")
def test_sessions_are_found_by_the_whole_client_id(broker: Broker, version: int) -> None:
    name = unique("c") + "zy"
    broker.join(version, name, **lasting(version)).leave()
    for other in (name + "x", name.upper(), name[:-1]):
        assert not broker.join(version, other, **lasting(version)).connack.session_present
    assert broker.join(version, name, **lasting(version)).connack.session_present


# -- Clean start and sessions


@both
@v311("3.1.2-4", "3.2.2-2", "3.2.2-3")
@v5("3.1.2-5", "3.1.2-6", "3.1.2-23", "3.2.2-3", "3.1.4-4")
def test_a_session_is_made_kept_and_resumed(broker: Broker, version: int) -> None:
    name, topic = unique("c"), unique()
    first = broker.join(version, name, **lasting(version))
    assert not first.connack.session_present
    first.subscribe((topic, 1))
    first.leave()
    again = broker.join(version, name, **lasting(version))
    assert again.connack.session_present
    again.publish(topic, b"x", 1)
    assert again.message().payload == b"x"


@both
@v311("3.1.2-6", "3.1.4-3", "3.2.2-1")
@v5("3.1.2-4", "3.1.4-4", "3.2.2-2")
def test_a_clean_start_throws_the_old_session_away(broker: Broker, version: int) -> None:
    name, topic, writer = unique("c"), unique(), broker.join(version)
    first = broker.join(version, name, **lasting(version))
    first.subscribe((topic, 1))
    first.leave()
    writer.publish(topic, b"queued", 1)
    clean = broker.join(version, name, clean=True)
    assert not clean.connack.session_present
    writer.publish(topic, b"later", 1)
    assert clean.drain(writer) == []
    clean.leave()
    assert not broker.join(version, name, **lasting(version)).connack.session_present


@both
@v311("3.1.2-6", "3.2.2-3")
@v5("3.1.2-23", "4.1.0-2", "3.2.2-3")
def test_a_session_that_is_not_kept_ends_with_its_connection(broker: Broker, version: int) -> None:
    name, topic = unique("c"), unique()
    first = broker.join(version, name, clean=version == V311)
    first.subscribe(topic)
    first.leave()
    again = broker.join(version, name, clean=False)
    assert not again.connack.session_present
    again.publish(topic, b"x", 1)
    assert again.drain(again) == []


@both
@pytest.mark.parametrize("qos", [1, 2])
@v311("3.1.2-5", "4.5.0-1", "4.1.0-1", "3.2.0-1")
@v5("3.1.2-23", "4.5.0-1", "3.2.0-1")
def test_a_lasting_session_collects_what_is_published_meanwhile(broker: Broker, version: int, qos: int) -> None:
    name, topic, writer = unique("c"), unique(), broker.join(version)
    first = broker.join(version, name, **lasting(version))
    first.subscribe((topic, qos))
    first.leave()
    for turn in range(20):
        writer.publish(topic, b"%d" % turn, qos)
    again = broker.join(version, name, **lasting(version))  # join demands that the CONNACK comes first
    got = again.messages(20)
    assert [each.payload for each in got] == [b"%d" % turn for turn in range(20)]
    assert {each.qos for each in got} == {qos}
    assert not any(each.dup for each in got)
    assert again.drain(writer) == []


@v311("3.1.2-7")
def test_retained_messages_outlive_the_session_of_their_publisher(broker: Broker) -> None:
    topic, writer = unique(), broker.join(V311)
    writer.publish(topic, b"kept", 1, retain=True)
    writer.leave()
    reader = broker.join(V311)
    reader.subscribe(topic)
    assert reader.message().payload == b"kept"


@both
@v311("3.1.4-2", "3.1.3-2")
@v5("3.1.4-3", "3.1.3-2")
def test_a_second_connection_takes_the_session_over(broker: Broker, version: int) -> None:
    name, topic = unique("c"), unique()
    old = broker.join(version, name, **lasting(version))
    old.subscribe((topic, 1))
    new = broker.join(version, name, **lasting(version))
    assert new.connack.session_present
    rest = old.end()
    assert [each.code for each in rest] == ([TAKEN_OVER] if version == V5 else [])
    new.publish(topic, b"x", 1)
    assert new.message().payload == b"x"


@both
@v311("3.1.4-2", "4.4.0-1")
@v5("3.1.4-3", "4.4.0-1")
def test_a_handshake_goes_on_where_the_session_was_taken_over(broker: Broker, version: int) -> None:
    old, writer, topic = broker.join(version, **lasting(version)), broker.join(version), unique()
    old.subscribe((topic, 2))
    writer.publish(topic, b"x", 2)
    first = old.next()
    new = broker.join(version, old.client_id, **lasting(version))
    again = new.message()
    assert (again.packet_id, again.payload, again.dup) == (first.packet_id, b"x", True)
    assert new.next().kind is Kind.PUBREL
    old.end()


@v5("3.1.2-23", "4.1.0-2")
def test_the_last_connect_says_how_long_a_session_is_kept(broker: Broker) -> None:
    first = broker.join(V5, **lasting(V5))
    first.leave()
    second = broker.join(V5, first.client_id, clean=False)  # no session expiry: it ends with the connection
    assert second.connack.session_present
    second.leave()
    assert not broker.join(V5, first.client_id, clean=False).connack.session_present


@both
@v311("3.1.4-2")
@v5("3.1.4-3", "3.1.2-4")
def test_a_second_connection_may_start_clean(broker: Broker, version: int) -> None:
    name, topic = unique("c"), unique()
    old = broker.join(version, name, **lasting(version))
    old.subscribe((topic, 1))
    new = broker.join(version, name, clean=True)
    assert not new.connack.session_present
    old.end()
    new.publish(topic, b"x", 1)
    assert new.drain(new) == []


@both
@v311("3.1.4-2")
@v5("3.1.4-3")
def test_ten_connections_with_one_id_leave_the_last(broker: Broker, version: int) -> None:
    name = unique("c")
    peers = [broker.join(version, name) for _ in range(10)]
    for old in peers[:-1]:
        old.end()
    peers[-1].silent()


# -- Wills


def left_behind(broker: Broker, version: int, will: Will, how: str = "drop") -> tuple[bytes, int, bool]:
    """Payload, QoS and RETAIN of the will that a watcher gets when a client goes."""
    watcher = broker.join(version)
    watcher.subscribe(str(will.topic))
    client = broker.join(version, will=will)
    if how == "drop":
        client.drop()
    elif how == "malformed":
        client.send(packet(Kind.PUBLISH, 6, binary("a") + b"\x00\x01"))
        client.refused()
    else:
        client.leave(int(how, 16))
    got = watcher.message()
    return got.payload, got.qos, got.retain


@both
@pytest.mark.parametrize("how", ["drop", "malformed"])
@v311("3.1.2-8")
@v5("3.1.2-7", "3.1.2-8")
def test_a_will_is_published_when_the_client_goes_without_a_word(broker: Broker, version: int, how: str) -> None:
    assert left_behind(broker, version, Will(unique(), b"bye", 1), how) == (b"bye", 1, False)


@both
@v311("3.1.2-8", "3.1.4-2")
@v5("3.1.2-8", "3.1.4-3")
def test_a_will_is_published_when_the_session_is_taken_over(broker: Broker, version: int) -> None:
    name, topic, watcher = unique("c"), unique(), broker.join(version)
    watcher.subscribe(topic)
    broker.join(version, name, will=Will(topic, b"bye", 1))
    broker.join(version, name)
    assert watcher.message().payload == b"bye"


@v5("3.1.2-8", "3.1.3-9", "3.1.4-3")
@pytest.mark.parametrize(("clean", "wills"), [(True, [b"bye"]), (False, [])])
def test_a_delayed_will_at_a_take_over_depends_on_the_session(broker: Broker, clean: bool, wills: list[bytes]) -> None:
    # A clean start ends the old session, and with it the delay; a resumed session takes the will back.
    name, topic, watcher = unique("c"), unique(), broker.join(V5)
    watcher.subscribe(topic)
    broker.join(V5, name, will=Will(topic, b"bye", 1, properties=[(P.WILL_DELAY, 600)]), **lasting(V5))
    again = broker.join(V5, name, clean=clean, pairs=[(P.SESSION_EXPIRY, 600)])
    again.silent()
    got = [watcher.message().payload] if wills else [m.payload for m in watcher.drain(broker.join(V5))]
    assert got == wills


@v5("3.1.2-8", "3.1.3-9")
def test_a_delayed_will_is_not_kept_beyond_a_session_that_ends(broker: Broker) -> None:
    topic, watcher = unique(), broker.join(V5)
    watcher.subscribe(topic)
    broker.join(V5, will=Will(topic, b"bye", 1, properties=[(P.WILL_DELAY, 600)])).drop()
    assert watcher.message().payload == b"bye"


@both
@v311("3.1.2-10", "3.14.4-3")
@v5("3.1.2-8", "3.1.2-10", "3.14.4-3")
def test_no_will_is_published_after_a_disconnect(broker: Broker, version: int) -> None:
    topic, watcher = unique(), broker.join(version)
    watcher.subscribe(topic)
    broker.join(version, will=Will(topic, b"bye", 1)).leave()
    assert watcher.drain(broker.join(version)) == []


@v5("3.1.2-8", "3.14.2-1")
@pytest.mark.parametrize("reason", ["04", "80", "81", "97"])
def test_a_will_is_published_after_a_disconnect_that_says_so(broker: Broker, reason: str) -> None:
    assert left_behind(broker, V5, Will(unique(), b"bye", 1), reason) == (b"bye", 1, False)


@both
@v311("3.1.2-10")
@v5("3.1.2-10")
def test_a_will_is_published_once(broker: Broker, version: int) -> None:
    name, topic, watcher = unique("c"), unique(), broker.join(version)
    watcher.subscribe(topic)
    broker.join(version, name, will=Will(topic, b"bye", 1), **lasting(version)).drop()
    assert watcher.message().payload == b"bye"
    broker.join(version, name, **lasting(version)).drop()
    again = broker.join(version, name, clean=True)
    again.leave()
    assert watcher.drain(broker.join(version)) == []


@both
@v311("3.1.2-12")
@v5("3.1.2-7")
def test_without_a_will_nothing_is_published(broker: Broker, version: int) -> None:
    name, topic, watcher = unique("c"), unique(), broker.join(version)
    watcher.subscribe(topic)
    broker.join(version, name, will=Will(topic, b"bye", 1)).leave()
    broker.join(version, name).drop()
    broker.join(version, name)
    assert watcher.drain(broker.join(version)) == []


@both
@pytest.mark.parametrize("qos", [0, 1, 2])
@v311("3.1.2-9", "3.1.2-14", "3.1.2-16")
@v5("3.1.2-9", "3.1.2-12", "3.1.2-14", "3.2.2-12")
def test_a_will_is_published_with_its_qos_and_not_retained(broker: Broker, version: int, qos: int) -> None:
    topic = unique()
    assert left_behind(broker, version, Will(topic, b"bye", qos)) == (b"bye", qos, False)
    late = broker.join(version)
    late.subscribe(topic)
    assert late.drain(late) == []


@both
@pytest.mark.parametrize("qos", [0, 1, 2])
@v311("3.1.2-17")
@v5("3.1.2-15", "3.2.2-13")
def test_a_will_with_retain_is_retained(broker: Broker, version: int, qos: int) -> None:
    topic = unique()
    assert left_behind(broker, version, Will(topic, b"bye", qos, retain=True)) == (b"bye", qos, False)
    late = broker.join(version)
    late.subscribe(topic)
    got = late.message()
    assert (got.payload, got.qos, got.retain) == (b"bye", qos, True)


@both
@v311("3.1.2-9")
@v5("3.1.2-9")
def test_a_will_may_be_empty(broker: Broker, version: int) -> None:
    assert left_behind(broker, version, Will(unique(), b"", 1)) == (b"", 1, False)


@v5("3.1.3-10", "3.3.2-4", "3.3.2-15", "3.3.2-16", "3.3.2-17", "3.3.2-18", "3.3.2-20")
def test_the_properties_of_a_will_are_passed_on(broker: Broker) -> None:
    pairs = [
        (P.PAYLOAD_FORMAT, 1),
        (P.CONTENT_TYPE, "text/plain"),
        (P.RESPONSE_TOPIC, "r/e/s"),
        (P.CORRELATION_DATA, b"\x00\xff"),
        *((P.USER, pair) for pair in (("b", "1"), ("a", "2"), ("b", "1"), ("", ""))),
    ]
    topic, watcher = unique(), broker.join(V5)
    watcher.subscribe(topic)
    broker.join(V5, will=Will(topic, properties=pairs)).drop()
    got = watcher.message().pairs
    assert [pair for pair in got if pair[0] == P.USER] == pairs[4:]
    assert sorted(map(str, got)) == sorted(map(str, pairs))


@both
@v311("3.1.2-18", "3.1.2-19", "3.1.2-20", "3.1.2-21", "3.1.3-1")
@v5("3.1.2-16", "3.1.2-17", "3.1.2-18", "3.1.2-19", "3.1.3-1")
@pytest.mark.parametrize("password", [None, b"", b"\x00\xff"])
def test_fields_of_the_payload_are_read_in_order(broker: Broker, version: int, password: bytes | None) -> None:
    # The broker may refuse the user. It may not mistake one field for another.
    topic, watcher = unique(), broker.join(version)
    watcher.subscribe(topic)
    client = broker.dial(version)
    connack = client.connect(will=Will(topic, b"bye", 1), username="user", password=password)
    client.drop()
    if connack.code:
        assert connack.code in ({0x86, 0x87} if version == V5 else {4, 5})
    else:
        got = watcher.message()
        assert (got.topic, got.payload) == (topic, b"bye")


# -- CONNACK


@both
@v311("3.1.4-5")
@v5("3.1.4-6")
def test_nothing_behind_a_refused_connect_is_served(broker: Broker, version: int) -> None:
    topic, watcher = unique(), broker.join(version)
    watcher.subscribe(topic)
    peer = broker.dial(version)
    bad = connect(V5, unique("c"), pairs=[(P.AUTH_METHOD, "none")]) if version == V5 else connect(4, "", clean=False)
    peer.send(bad + publish(version, topic, b"x", qos=1, packet_id=1) + publish(version, topic, b"y"))
    assert [each.kind for each in peer.end() if each.kind is not Kind.CONNACK] == []
    assert watcher.drain(broker.join(version)) == []


@both
@v311("3.2.0-1")
@v5("3.2.0-1", "3.2.0-2", "3.14.0-1")
def test_there_is_one_connack_and_it_comes_first(broker: Broker, version: int) -> None:
    peer, topic = broker.join(version), unique()
    peer.subscribe(topic)
    peer.publish(topic, b"x", 1)
    assert [each.kind for each in peer.ping()] == [Kind.PUBLISH]


@v5("3.2.2-9", "3.2.2-10", "3.2.2-12", "3.2.2-13")
def test_everything_optional_is_available(broker: Broker) -> None:
    connack = broker.join(V5).connack
    assert connack.get(P.MAXIMUM_QOS) is None  # absent means 2; the value 2 itself is a protocol error
    for feature in (P.RETAIN_AVAILABLE, P.WILDCARD_AVAILABLE, P.SUBSCRIPTION_ID_AVAILABLE, P.SHARED_AVAILABLE):
        assert connack.get(feature, 1) == 1, feature
    assert connack.get(P.ALIAS_MAXIMUM, 0) > 0
    assert connack.get(P.RECEIVE_MAXIMUM, 65535) > 0
    assert connack.get(P.MAXIMUM_PACKET, 1) > 0


@v5("3.1.2-28")
@pytest.mark.parametrize("pairs", [[], [(P.REQUEST_RESPONSE, 0)]])
def test_response_information_is_not_given_unasked(broker: Broker, pairs: list[tuple[int, int]]) -> None:
    assert broker.join(V5, pairs=pairs).connack.get(P.RESPONSE_INFORMATION) is None


@v5("3.2.2-8")
@pytest.mark.parametrize("seconds", [1, 0xFFFFFFFF])
def test_a_session_expiry_that_is_not_echoed_is_the_one_asked_for(broker: Broker, seconds: int) -> None:
    connack = broker.join(V5, pairs=[(P.SESSION_EXPIRY, seconds)]).connack
    assert connack.get(P.SESSION_EXPIRY, seconds) <= seconds


@v5("4.12.0-1", "4.12.0-4", "3.2.2-7", "3.2.2-6", "4.13.2-1", "3.1.4-2", "3.15.2-1")
@pytest.mark.parametrize("data", [[], [(P.AUTH_DATA, b"secret")]])
def test_an_unknown_authentication_method_is_refused(broker: Broker, data: list[tuple[int, bytes]]) -> None:
    peer = broker.dial(V5)
    connack = peer.connect(pairs=[(P.AUTH_METHOD, "SCRAM-SHA-4096"), *data])
    assert (connack.code, connack.session_present) == (BAD_METHOD, False)
    assert peer.end() == []


@v5("4.12.0-6")
def test_no_authentication_method_comes_unasked(broker: Broker) -> None:
    peer = broker.join(V5, username="u", password=b"p")
    assert peer.connack.get(P.AUTH_METHOD) is None
    peer.silent()


@v5("4.12.0-7", "4.12.1-2", "4.13.1-1")
@pytest.mark.parametrize("reason", [0x00, 0x18, 0x19])
def test_an_auth_without_a_method_in_the_connect_closes_the_connection(broker: Broker, reason: int) -> None:
    peer = broker.join(V5)
    peer.send(packet(Kind.AUTH, 0, bytes([reason]) + properties([(P.AUTH_METHOD, "x")])))
    peer.refused(PROTOCOL_ERROR, MALFORMED, BAD_METHOD)


@v5("3.2.2-19", "3.2.2-20")
def test_a_connack_fits_the_maximum_packet_size(broker: Broker) -> None:
    # The peer checks the size of all that it gets. 40 bytes hold all that a broker must say, and no long sentence.
    pairs = [(P.MAXIMUM_PACKET, 40)]
    assert broker.dial(V5).connect(pairs=pairs).code == 0
    assert broker.dial(V5).connect(pairs=[*pairs, (P.AUTH_METHOD, "x")]).code == BAD_METHOD


@v5("3.1.2-24", "3.2.2-19", "3.2.2-20")
@pytest.mark.parametrize("most", [1, 4, 5, 8, 12, 16, 24, 32, 64])
def test_no_connack_is_larger_than_the_client_takes(broker: Broker, most: int) -> None:
    peer = broker.dial(V5)
    peer.maximum_packet = most
    peer.send(connect(V5, "", pairs=[(P.MAXIMUM_PACKET, most)]))
    try:
        connack = peer.packet()
    except ClosedError:
        return
    assert connack.code in (0, 0x95)
    if connack.code:
        assert peer.end() == []
    else:
        peer.silent()


@v5("3.1.2-24")
@pytest.mark.parametrize("make", [subscribe_many, unsubscribe_many], ids=["SUBSCRIBE", "UNSUBSCRIBE"])
def test_an_answer_that_is_too_large_for_the_client_is_not_sent(broker: Broker, make: Callable[[int], bytes]) -> None:
    peer = broker.join(V5, pairs=[(P.MAXIMUM_PACKET, 60)])
    peer.send(make(100))
    peer.refused(0x95)


@v5("3.2.2-15", "3.4.2-1")
def test_a_packet_as_large_as_the_broker_takes_is_served(broker: Broker) -> None:
    peer, topic = broker.join(V5), unique()
    limit = peer.connack.get(P.MAXIMUM_PACKET)
    if limit is None or limit > 1 << 25:
        pytest.skip("the broker takes packets of almost any size")
    frame = len(publish(V5, topic, b"x" * limit, qos=1, packet_id=1)) - limit
    peer.send(publish(V5, topic, b"x" * (limit - frame), qos=1, packet_id=1))
    assert peer.next().kind is Kind.PUBACK


@v5("3.2.2-15", "4.13.1-1")
def test_a_packet_larger_than_the_broker_takes_closes_the_connection(broker: Broker) -> None:
    peer = broker.join(V5)
    limit = peer.connack.get(P.MAXIMUM_PACKET)
    if limit is None:
        pytest.skip("the broker takes packets of any size")
    peer.socket.settimeout(10)
    peer.send(publish(V5, unique(), b"x" * limit))
    peer.refused(0x95)
