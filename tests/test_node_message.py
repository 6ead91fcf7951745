"""Messages between nodes: what each is for, and which are the same to a client."""

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from weft.broker.publication import Publication
from weft.node.message import (
    DIRECT,
    SESSION,
    content_of,
    for_group,
    for_node,
    is_for_all,
    is_for_another,
    is_for_group,
    is_for_many,
    key_of,
    message_for,
    on_tree,
    origin_of,
    publication_of,
)
from weft.wire import content
from weft.wire.frame import EVERYBODY, Form, Message

SHARED = "$share/g/a"


def message(**fields: object) -> Message:
    return Message(
        Form.WOVEN, 7, 1, 2, 3, 4, b"content", **{"kept": True, "attempt": 5, "floor": 6, "token": 9} | fields
    )


def kinds(one: Message) -> tuple[bool, bool, bool]:
    return is_for_many(one), is_for_group(one), is_for_all(one)


def test_what_messages_are_for() -> None:
    assert kinds(message()) == (True, False, False)
    assert kinds(message(group=DIRECT)) == (True, False, False)
    assert kinds(message(group=SHARED)) == (False, True, False)
    assert kinds(message(group=SESSION + "client")) == (False, False, False)
    assert kinds(on_tree(message(), EVERYBODY)) == (True, False, True)
    assert kinds(for_node(message(), 5, 100, DIRECT)) == (True, False, False)


def test_what_one_node_is_owed_is_not_for_another() -> None:
    assert is_for_another(message(group=f"{DIRECT}12"), 1)
    assert not is_for_another(message(group=f"{DIRECT}12"), 12)
    assert not is_for_another(message(group=SHARED), 12)
    assert not is_for_another(message(), 12)


def test_on_another_tree_a_message_is_the_same_but_for_its_topic() -> None:
    same = on_tree(message(), 8)
    assert same.topic == 8
    same.topic = 7
    assert same == message()


def test_a_message_for_one_node_goes_to_its_place_on_the_ring() -> None:
    for ring_id, after in ((5, 6), (99, 0)):
        one = for_node(message(), ring_id, 100, DIRECT)
        assert (one.form, one.low, one.high, one.group, one.topic) == (Form.RANGED, ring_id, after, DIRECT, EVERYBODY)
    part = for_group(message(), SHARED, 3)
    assert for_node(part, 5, 100, SHARED).topic == part.topic == 3


def test_copies_that_are_not_the_same_to_a_client_have_other_numbers() -> None:
    parts = [
        message(),
        on_tree(message(), EVERYBODY),
        for_group(message(), SHARED, 3),
        for_group(message(), "$share/h/a", 3),
        message(group=SESSION + "client"),
    ]
    assert all(origin_of(one) != origin_of(other) for one, other in combinations(parts, 2))
    assert origin_of(message()) == origin_of(for_node(message(), 5, 100, DIRECT)) == (1, 2, 3)
    assert origin_of(parts[2])[2] == 3
    assert origin_of(for_group(message(), SHARED, 11))[2] == 11, "the count of what it is part of"


def test_attempts_have_keys_of_their_own() -> None:
    assert key_of(message()) == (1, 2, 3, 5)


@given(st.none() | st.integers(0, 50), st.booleans(), st.integers(0, 2))
def test_a_publication_is_the_same_when_it_comes(life: int | None, retain: bool, qos: int) -> None:
    one = Publication(b"a", b"x", qos, retain, {}, None if life is None else 100.0 + life, "publisher")
    one.issued, one.origin = 90.0, (4, 5, 6)
    sent = message_for(one, (1, 2), 100.0)
    assert (sent.issuer, sent.incarnation, sent.count, sent.hops, sent.topic) == (4, 5, 6, 0, 0)
    came = publication_of(content.decode(sent.content), (4, 5, 6), 300.0)
    assert came.expires == (None if life is None else 300.0 + life)
    came.expires = one.expires
    assert came == one
    assert content_of(one, not retain, 100.0).retain != retain


def test_what_has_no_number_is_issued_by_this_node() -> None:
    sent = message_for(Publication(b"a", b"x"), (8, 9), 0.0)
    assert (sent.issuer, sent.incarnation, sent.count) == (8, 9, 0)
