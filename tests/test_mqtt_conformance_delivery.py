"""MQTT, sections 4.1 to 4.6: sessions, delivery with each QoS, sending again, order."""

import itertools

import pytest

from mqtt_broker import Broker
from mqtt_peer import V5, V311, Kind, Peer, answer, lasting, publish, unique
from mqtt_table import both, v5, v311


def back(broker: Broker, peer: Peer) -> Peer:
    """The same client on a new connection, after the old one broke."""
    peer.drop()
    again = broker.join(peer.version, peer.client_id, **lasting(peer.version))
    assert again.connack.session_present
    return again


@both
@v311("4.1.0-1", "4.1.0-2")
@v5("4.1.0-1")
def test_session_state_lasts_as_long_as_the_connection(broker: Broker, version: int) -> None:
    reader, writer, topic = broker.join(version), broker.join(version), unique()
    reader.subscribe((topic, 2))
    writer.send(publish(version, topic, b"x", qos=2, packet_id=9))
    writer.acknowledged(Kind.PUBREC, 9)
    for _ in range(3):
        writer.silent()
    writer.send(publish(version, topic, b"x", qos=2, packet_id=9, dup=True), answer(Kind.PUBREL, 9))
    writer.acknowledged(Kind.PUBCOMP, 9)
    assert [m.payload for m in reader.drain(writer)] == [b"x"]


# -- QoS 1


@both
@v311("4.3.2-2")
@v5("4.3.2-5")
def test_an_acknowledged_id_is_a_new_publication_the_next_time(broker: Broker, version: int) -> None:
    reader, writer, topic = broker.join(version), broker.join(version), unique()
    reader.subscribe((topic, 1))
    for turn, dup in enumerate((False, False, True)):
        writer.send(publish(version, topic, b"%d" % turn, qos=1, packet_id=5, dup=dup))
        writer.acknowledged(Kind.PUBACK, 5)
    assert [(m.payload, m.dup) for m in reader.drain(writer)] == [(b"0", False), (b"1", False), (b"2", False)]


@both
@v311("4.3.2-1", "4.4.0-1", "2.3.1-3", "4.6.0-1", "4.6.0-6")
@v5("4.3.2-1", "4.3.2-2", "4.3.2-3", "4.4.0-1", "3.3.1-1")
def test_unacknowledged_publications_come_again_in_order(broker: Broker, version: int) -> None:
    reader, writer, topic = broker.join(version, **lasting(version)), broker.join(version), unique()
    reader.subscribe((topic, 1))
    for turn in range(6):
        writer.publish(topic, b"%d" % turn, 1)
    first = [reader.next() for _ in range(6)]
    assert [(m.payload, m.dup) for m in first] == [(b"%d" % turn, False) for turn in range(6)]
    for turn in (1, 4):
        reader.send(answer(Kind.PUBACK, first[turn].packet_id))
    reader.silent()  # the broker has seen the acknowledgements, and sends nothing again on this connection
    again = back(broker, reader)
    repeated = [again.next() for _ in range(4)]
    expected = [(m.payload, m.packet_id, True) for turn, m in enumerate(first) if turn not in (1, 4)]
    assert [(m.payload, m.packet_id, m.dup) for m in repeated] == expected
    for m in repeated:
        again.send(answer(Kind.PUBACK, m.packet_id))
    again.silent()
    back(broker, again).silent()


@both
@v311("4.4.0-1", "4.6.0-6")
@v5("4.4.0-1", "4.6.0-5")
def test_what_is_sent_again_comes_before_what_is_new(broker: Broker, version: int) -> None:
    reader, writer, topic = broker.join(version, **lasting(version)), broker.join(version), unique()
    reader.subscribe((topic, 1))
    writer.publish(topic, b"0", 1)
    assert reader.next().payload == b"0"
    reader.drop()
    writer.publish(topic, b"1", 1)
    writer.publish(topic, b"2", 1)
    again = back(broker, reader)
    assert [m.payload for m in again.messages(3)] == [b"0", b"1", b"2"]


@both
@pytest.mark.parametrize("qos", [1, 2])
@v311("4.4.0-1")
@v5("4.4.0-1")
def test_nothing_is_sent_again_to_a_clean_start(broker: Broker, version: int, qos: int) -> None:
    reader, writer, topic = broker.join(version, **lasting(version)), broker.join(version), unique()
    reader.subscribe((topic, qos))
    writer.publish(topic, b"x", qos)
    assert reader.next().kind is Kind.PUBLISH
    reader.drop()
    broker.join(version, reader.client_id, clean=True).silent()


@v5("4.4.0-2")
@pytest.mark.parametrize("qos", [1, 2])
def test_a_refused_publication_is_not_sent_again(broker: Broker, qos: int) -> None:
    reader, writer, topic = broker.join(V5, **lasting(V5)), broker.join(V5), unique()
    reader.subscribe((topic, qos))
    writer.publish(topic, b"x", qos)
    got = reader.next()
    reader.send(answer(Kind.PUBACK if qos == 1 else Kind.PUBREC, got.packet_id, 0x97))
    reader.silent()
    back(broker, reader).silent()


# -- QoS 2, the broker receiving. The connection breaks, or does not, between any two packets.

BREAKS = list(itertools.product([False, True], repeat=3))


@both
@pytest.mark.parametrize("breaks", BREAKS, ids=lambda breaks: "".join("x" if each else "-" for each in breaks))
@v311("4.3.3-2", "4.4.0-1", "3.1.2-4")
@v5("4.3.3-8", "4.3.3-10", "4.3.3-11", "4.4.0-1", "3.1.2-5")
def test_a_publication_with_qos_2_is_taken_once(broker: Broker, version: int, breaks: tuple[bool, bool, bool]) -> None:
    reader, writer, topic = broker.join(version), broker.join(version, **lasting(version)), unique()
    reader.subscribe((topic, 2))
    writer.send(publish(version, topic, b"x", qos=2, packet_id=6))
    writer.acknowledged(Kind.PUBREC, 6)
    if breaks[0]:  # as if the PUBREC had been lost
        writer = back(broker, writer)
    writer.send(publish(version, topic, b"x", qos=2, packet_id=6, dup=True))
    writer.acknowledged(Kind.PUBREC, 6)
    if breaks[1]:
        writer = back(broker, writer)
    writer.send(answer(Kind.PUBREL, 6))
    writer.acknowledged(Kind.PUBCOMP, 6)
    if breaks[2]:  # as if the PUBCOMP had been lost
        writer = back(broker, writer)
    writer.send(answer(Kind.PUBREL, 6))
    assert writer.take(Kind.PUBCOMP).packet_id == 6
    writer.send(publish(version, topic, b"y", qos=2, packet_id=6))  # the id is free again
    writer.acknowledged(Kind.PUBREC, 6)
    writer.send(answer(Kind.PUBREL, 6))
    writer.acknowledged(Kind.PUBCOMP, 6)
    assert [m.payload for m in reader.drain(writer)] == [b"x", b"y"]


@both
@v311("4.3.3-2")
@v5("4.3.3-12")
def test_after_pubcomp_an_id_is_new_even_with_dup(broker: Broker, version: int) -> None:
    reader, writer, topic = broker.join(version), broker.join(version), unique()
    reader.subscribe((topic, 2))
    for dup in (False, True):
        writer.send(publish(version, topic, b"x", qos=2, packet_id=6, dup=dup))
        writer.acknowledged(Kind.PUBREC, 6)
        writer.send(answer(Kind.PUBREL, 6))
        writer.acknowledged(Kind.PUBCOMP, 6)
    assert len(reader.drain(writer)) == 2


@both
@v311("4.3.3-2", "3.1.2-6")
@v5("4.3.3-10", "3.1.2-4")
def test_a_clean_start_forgets_half_a_handshake(broker: Broker, version: int) -> None:
    reader, writer, topic = broker.join(version), broker.join(version, **lasting(version)), unique()
    reader.subscribe((topic, 2))
    writer.send(publish(version, topic, b"old", qos=2, packet_id=6))
    writer.acknowledged(Kind.PUBREC, 6)
    writer.drop()
    writer = broker.join(version, writer.client_id, clean=True)
    writer.send(publish(version, topic, b"new", qos=2, packet_id=6), answer(Kind.PUBREL, 6))
    writer.acknowledged(Kind.PUBCOMP, 6)
    got = [m.payload for m in reader.drain(writer)]
    assert got in ([b"new"], [b"old", b"new"])  # a broker may pass a publication on before or after the PUBREL


# -- QoS 2, the broker sending


@both
@pytest.mark.parametrize("breaks", BREAKS, ids=lambda breaks: "".join("x" if each else "-" for each in breaks))
@v311("4.3.3-1", "4.4.0-1", "3.1.2-4")
@v5("4.3.3-1", "4.3.3-2", "4.3.3-3", "4.3.3-4", "4.3.3-5", "4.3.3-6", "4.4.0-1", "3.6.2-1")
def test_a_publication_with_qos_2_is_delivered_once(
    broker: Broker, version: int, breaks: tuple[bool, bool, bool]
) -> None:
    reader, writer, topic = broker.join(version, **lasting(version)), broker.join(version), unique()
    reader.subscribe((topic, 2))
    writer.publish(topic, b"x", 2)
    first = reader.next()
    assert (first.kind, first.qos, first.dup) == (Kind.PUBLISH, 2, False)
    if breaks[0]:  # as if the PUBLISH, or the answer to it, had been lost
        reader = back(broker, reader)
        again = reader.next()
        assert (again.packet_id, again.dup, again.payload) == (first.packet_id, True, b"x")
    reader.send(answer(Kind.PUBREC, first.packet_id))
    released = reader.next()
    assert (released.kind, released.packet_id) == (Kind.PUBREL, first.packet_id)
    if breaks[1]:  # as if the PUBREL, or the answer to it, had been lost: it comes again, the PUBLISH does not
        reader = back(broker, reader)
        released = reader.next()
        assert (released.kind, released.packet_id) == (Kind.PUBREL, first.packet_id)
    reader.send(answer(Kind.PUBCOMP, first.packet_id))
    reader.silent()
    if breaks[2]:
        reader = back(broker, reader)
    reader.silent()
    writer.publish(topic, b"y", 2)
    assert [m.payload for m in reader.drain(writer)] == [b"y"]


@both
@v311("4.3.3-1", "4.6.0-6", "4.4.0-1")
@v5("4.3.3-3", "4.3.3-5", "4.4.0-1")
def test_many_handshakes_are_resumed_where_each_was(broker: Broker, version: int) -> None:
    reader, writer, topic = broker.join(version, **lasting(version)), broker.join(version), unique()
    reader.subscribe((topic, 2))
    for turn in range(6):
        writer.publish(topic, b"%d" % turn, 2)
    sent = [reader.next() for _ in range(6)]
    for m in sent[:4]:
        reader.send(answer(Kind.PUBREC, m.packet_id))
        assert reader.next().packet_id == m.packet_id
    for m in sent[:2]:
        reader.send(answer(Kind.PUBCOMP, m.packet_id))
    reader.silent()
    again = back(broker, reader)
    repeated = [again.next() for _ in range(4)]
    assert {(m.kind, m.packet_id) for m in repeated} == {
        (Kind.PUBREL, sent[2].packet_id),
        (Kind.PUBREL, sent[3].packet_id),
        (Kind.PUBLISH, sent[4].packet_id),
        (Kind.PUBLISH, sent[5].packet_id),
    }
    assert [m.payload for m in repeated if m.kind is Kind.PUBLISH] == [b"4", b"5"]
    assert [m.packet_id for m in repeated if m.kind is Kind.PUBREL] == [sent[2].packet_id, sent[3].packet_id]
    again.silent()


@both
@v311("4.3.2-1", "4.3.3-1")
@v5("4.3.2-3", "4.3.3-3", "4.4.0-1")
def test_nothing_is_sent_again_while_the_connection_lasts(broker: Broker, version: int) -> None:
    reader, writer, topic = broker.join(version), broker.join(version), unique()
    reader.subscribe((topic, 2))
    writer.publish(topic, b"1", 1)
    writer.publish(topic, b"2", 2)
    assert [m.payload for m in reader.ping()] == [b"1", b"2"]
    for _ in range(3):
        reader.silent()


# -- Order


@both
@pytest.mark.parametrize("qos", [0, 1, 2])
@v311("4.6.0-5", "4.6.0-6")
@v5("4.6.0-5", "4.6.0-6")
def test_publications_of_one_client_arrive_in_their_order(broker: Broker, version: int, qos: int) -> None:
    readers, writer, topic = [broker.join(version) for _ in range(3)], broker.join(version), unique()
    for reader, wanted in zip(readers, (qos, qos, 0), strict=True):
        reader.subscribe((topic, wanted))
    payloads = [b"%d" % turn for turn in range(200)]
    window = 20
    for start in range(0, 200, window):
        turns = range(start, start + window)
        writer.send(*(publish(version, topic, payloads[t], qos=qos, packet_id=t + 1) for t in turns))
        if qos == 2:
            for turn in turns:
                writer.acknowledged(Kind.PUBREC, turn + 1)
            writer.send(*(answer(Kind.PUBREL, turn + 1) for turn in turns))
        for turn in turns if qos else ():
            writer.acknowledged(Kind.PUBACK if qos == 1 else Kind.PUBCOMP, turn + 1)
    for reader in readers:
        assert [m.payload for m in reader.drain(writer)] == payloads


@both
@pytest.mark.parametrize("qos", [1, 2])
@v311("4.6.0-6")
@v5("4.6.0-5")
def test_acknowledgements_come_in_the_order_of_the_publications(broker: Broker, version: int, qos: int) -> None:
    peer, topic = broker.join(version), unique()
    ids = [7, 3, 19, 1, 12, 65535, 2]
    peer.send(*(publish(version, topic, b"x", qos=qos, packet_id=packet_id) for packet_id in ids))
    kind = Kind.PUBACK if qos == 1 else Kind.PUBREC
    assert [peer.take(kind).packet_id for _ in ids] == ids
    if qos == 2:
        peer.send(*(answer(Kind.PUBREL, packet_id) for packet_id in ids))
        assert [peer.take(Kind.PUBCOMP).packet_id for _ in ids] == ids


@both
@v311("4.6.0-6", "3.1.2-5")
@v5("4.6.0-5", "4.5.0-1")
def test_queued_publications_keep_their_order(broker: Broker, version: int) -> None:
    reader, writer, name = broker.join(version, **lasting(version)), broker.join(version), unique()
    reader.subscribe((f"{name}/#", 2))
    reader.leave()
    order = [(f"{name}/{turn % 3}", b"%d" % turn, 1 + turn % 2) for turn in range(60)]
    for topic, payload, qos in order:
        writer.publish(topic, payload, qos)
    got = back(broker, reader).messages(60)
    for topic, qos in {(topic, qos) for topic, _, qos in order}:
        expected = [each[1] for each in order if (each[0], each[2]) == (topic, qos)]
        assert [m.payload for m in got if (m.topic, m.qos) == (topic, qos)] == expected


@v311("4.5.0-1", "4.6.0-6")
@v5("4.5.0-1", "4.6.0-6")
def test_every_matching_session_gets_its_copy(broker: Broker) -> None:
    writer, name = broker.join(V5), unique()
    readers = [broker.join(V311 + turn % 2) for turn in range(20)]
    for turn, reader in enumerate(readers):
        reader.subscribe(((f"{name}/a", f"{name}/+", f"{name}/#")[turn % 3], turn % 2 + 1))
    writer.publish(f"{name}/a", b"x", 2)
    assert [[(m.payload, m.qos) for m in reader.drain(writer)] for reader in readers] == [
        [(b"x", turn % 2 + 1)] for turn in range(20)
    ]
