"""Maximum Packet Size of a client: no packet to it is larger, whatever it is [MQTT-3.1.2-24]."""

from collections.abc import Sequence

import pytest

from broker_client import V5, Client, House
from weft.wire.mqtt import packet as p
from weft.wire.mqtt.property import Properties, Property
from weft.wire.mqtt.reason import Reason
from weft.wire.mqtt.writer import encode

KEPT = {Property.SESSION_EXPIRY_INTERVAL: 600}


class Sized(Client):
    """A client that says how large packets may be, and does not forgive larger ones."""

    def __init__(self, house: House, most: int) -> None:
        super().__init__(house, 0, V5)
        self.most = most

    def hear(self, data: bytes) -> None:
        before = len(self.heard)
        super().hear(data)
        for one in self.heard[before:]:
            assert len(encode(one, V5)) <= self.most, one


def sized(house: House, most: int) -> Sized:
    opened, made = house.open(V5), Sized(house, most)
    made.number = opened.number
    house.clients[made.number] = made
    return made


def connect(most: int, client: str = "", properties: Properties | None = None, **more: object) -> p.Connect:
    wanted = {Property.MAXIMUM_PACKET_SIZE: most, **(properties or {})}
    return p.Connect(client, V5, properties=wanted, **more)  # type: ignore[arg-type]


def codes(heard: Sequence[p.Packet]) -> list[tuple[type, int]]:
    return [(type(one), one.code if isinstance(one, p.Connack) else one.reason) for one in heard]  # type: ignore[attr-defined]


@pytest.mark.parametrize("client", ["", "named"], ids=["nameless", "named"])
@pytest.mark.parametrize("properties", [{}, {Property.SESSION_EXPIRY_INTERVAL: 2**32 - 1}], ids=["", "kept"])
def test_who_cannot_take_connack_is_told_so_if_that_fits(client: str, properties: Properties) -> None:
    answers = []
    for most in range(1, 70):
        house = House()
        one = sized(house, most)
        answers.append(codes(one.say(connect(most, client, properties))))
        assert one.closed == (answers[-1] != [(p.Connack, 0)])
        assert house.broker.figures.sessions == (not one.closed)
    nothing, too_large, fine = answers.count([]), answers.count([(p.Connack, 0x95)]), answers.count([(p.Connack, 0)])
    assert answers == [[]] * nothing + [[(p.Connack, 0x95)]] * too_large + [[(p.Connack, 0)]] * fine
    assert nothing == 4  # a CONNACK has five bytes
    assert too_large
    assert fine


def test_who_cannot_take_connack_does_not_take_the_place_of_another() -> None:
    house = House()
    one = house.greeted("one", V5, properties=KEPT)
    sized(house, 9).say(connect(9, "one", clean=False))
    assert not one.closed
    assert one.say(p.Pingreq()) == [p.Pingresp()]


@pytest.mark.parametrize("most", range(1, 60))
def test_a_refusal_leaves_out_its_sentence_first_and_then_itself(most: int) -> None:
    one = sized(House(), most)
    heard = one.say(connect(most, "one", {Property.AUTHENTICATION_METHOD: "x"}))
    assert codes(heard) == ([(p.Connack, Reason.BAD_AUTHENTICATION_METHOD)] if most >= 5 else [])
    assert one.closed


@pytest.mark.parametrize("filters", [1, 14, 15, 16, 17, 200])
@pytest.mark.parametrize("what", ["SUBSCRIBE", "UNSUBSCRIBE"])
def test_an_answer_that_does_not_fit_ends_the_connection_and_nothing_is_done(what: str, filters: int) -> None:
    house, most = House(), 20
    one = sized(house, most)
    assert codes(one.say(connect(most, "one", KEPT))) == [(p.Connack, 0)]
    names = tuple(f"t/{n}" for n in range(filters))
    asked = p.Subscribe(1, tuple(map(p.Request, names))) if what == "SUBSCRIBE" else p.Unsubscribe(1, names)
    (got,) = one.say(asked)
    if 5 + filters <= most:  # two bytes of head, two of identifier, one of properties
        assert isinstance(got, p.Suback | p.Unsuback)
        return
    assert codes([got]) == [(p.Disconnect, 0x95)]
    assert one.closed
    session = house.broker.session("one")
    assert session is not None
    assert not session.subscriptions


def test_what_the_broker_says_at_the_end_fits_too() -> None:
    for most in range(16, 60):
        house = House()
        one = sized(house, most)
        if one.say(connect(most, "one"))[-1] == p.Connack(False, 0x95):
            continue
        (got,) = one.say(p.Publish("a", b"", properties={Property.TOPIC_ALIAS: 0}))
        assert codes([got]) == [(p.Disconnect, Reason.TOPIC_ALIAS_INVALID)]
