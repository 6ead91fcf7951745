"""Attempts of clients at what they may not. None succeeds, each is told by its reason code and is logged once."""

from dataclasses import replace

import jwt
import pytest

from broker_client import QUIET, V3, V5, Client, House
from weft.access.guard import Access, Guard, Question, Visitor
from weft.access.limit import Limits
from weft.access.password import keep
from weft.access.rights import Rights, read_rights
from weft.access.user import Users
from weft.access.web_token import TokenKey, read_token_key
from weft.broker import effect as e
from weft.broker.parameters import Parameters
from weft.sim.cluster.cluster import START
from weft.wire.mqtt import packet as p
from weft.wire.mqtt.property import Property
from weft.wire.mqtt.reason import PacketError, Reason
from weft.wire.mqtt.writer import encode

RIGHTS = """
topic read public/#
user alice
topic readwrite home/#
topic deny home/safe/#
topic readwrite jobs
user bob
topic readwrite bob/#
topic read home/garden
topic readwrite jobs
pattern readwrite devices/%u/%c/#
"""
SECRET = b"0123456789abcdef0123456789abcdef"
FAR = Visitor("192.0.2.1", anonymous=False)


def cheap(password: str) -> Users:
    kept = keep(password.encode(), b"salt", log_n=4, blocks=1, times=1)
    return {"alice": kept, "bob": kept}


ACCESS = Access(cheap("secret"), read_rights(RIGHTS), read_token_key(b"secret:" + SECRET))


def house(limits: Limits | None = None, parameters: Parameters = QUIET) -> House:
    return House(parameters, guard=Guard(ACCESS, limits, b"key"))


def enter(
    one: House,
    user: str | None = "alice",
    password: bytes | None = b"secret",
    client: str = "c",
    visitor: Visitor = FAR,
    version: p.Version = V5,
    **more: object,
) -> tuple[Client, p.Connack]:
    made = one.open(version, visitor)
    heard = made.say(p.Connect(client, version, username=user, password=password, **more))  # type: ignore[arg-type]
    assert isinstance(heard[0], p.Connack)
    return made, heard[0]


def entered(one: House, user: str = "alice", **more: object) -> Client:
    made, answer = enter(one, user, **more)  # type: ignore[arg-type]
    assert answer.code == 0
    return made


def subscribed(one: Client, pattern: str, qos: int = 0) -> int:
    heard = one.say(p.Subscribe(1, (p.Request(pattern, qos),)))
    (answer,) = [packet for packet in heard if isinstance(packet, p.Suback)]
    return answer.codes[0]


def notes(one: House, event: str) -> list[e.Note]:
    return [effect for effect in one.effects if isinstance(effect, e.Note) and effect.event == event]


def topics(heard: list[p.Packet]) -> list[str]:
    return [one.topic for one in heard if isinstance(one, p.Publish)]


def token(**more: object) -> bytes:
    return jwt.encode({"sub": "alice", "exp": int(START) + 60, **more}, SECRET, "HS256").encode()


# Coming in


@pytest.mark.parametrize(
    ("attempt", "reason", "before5"),
    [
        ({"password": b"wrong"}, Reason.BAD_USER_NAME_OR_PASSWORD, 4),
        ({"password": b""}, Reason.BAD_USER_NAME_OR_PASSWORD, 4),
        ({"user": "nobody"}, Reason.BAD_USER_NAME_OR_PASSWORD, 4),
        ({"password": None}, Reason.BAD_USER_NAME_OR_PASSWORD, 4),
        ({"user": None, "password": None}, Reason.NOT_AUTHORIZED, 5),
        ({"password": token(exp=int(START) - 1)}, Reason.BAD_USER_NAME_OR_PASSWORD, 4),
        ({"user": "bob", "password": token()}, Reason.BAD_USER_NAME_OR_PASSWORD, 4),
        ({"visitor": Visitor("192.0.2.1", "bob")}, Reason.BAD_USER_NAME_OR_PASSWORD, 4),
        ({"visitor": Visitor("192.0.2.1", "#"), "user": None, "password": None}, Reason.BAD_USER_NAME_OR_PASSWORD, 4),
        ({"client": "alice\x1fc"}, Reason.CLIENT_IDENTIFIER_NOT_VALID, 2),
        ({"client": "+"}, Reason.CLIENT_IDENTIFIER_NOT_VALID, 2),
        ({"client": "a/b"}, Reason.CLIENT_IDENTIFIER_NOT_VALID, 2),
        ({"client": "$SYS"}, Reason.CLIENT_IDENTIFIER_NOT_VALID, 2),
        ({"will": p.Will("home/safe/key", b"")}, Reason.NOT_AUTHORIZED, 5),
        ({"will": p.Will("bob/x", b"", retain=True)}, Reason.NOT_AUTHORIZED, 5),
    ],
)
def test_who_does_not_prove_who_it_is_stays_out(attempt: dict[str, object], reason: Reason, before5: int) -> None:
    one = house()
    bystander = entered(one, "bob", client="bystander")
    assert enter(one, **attempt)[1].code == reason  # type: ignore[arg-type]
    assert enter(one, version=V3, **attempt)[1].code == before5  # type: ignore[arg-type]
    assert len(notes(one, "refused")) == 2
    assert not bystander.closed
    assert bystander.say(p.Pingreq()) == [p.Pingresp()]


@pytest.mark.parametrize(
    "proof",
    [
        {},
        {"user": None, "password": token()},
        {"password": token()},
        {"visitor": Visitor("192.0.2.1", "alice"), "user": None, "password": None},
        {"visitor": Visitor("192.0.2.1", "alice")},
    ],
)
def test_password_token_and_certificate_each_say_who_it_is(proof: dict[str, object]) -> None:
    made, answer = enter(house(), **proof)  # type: ignore[arg-type]
    assert answer.code == 0
    assert subscribed(made, "devices/alice/c/#") == 0
    assert subscribed(made, "bob/#") == Reason.NOT_AUTHORIZED


def test_clients_without_a_name_have_their_own_rights() -> None:
    made, answer = enter(house(), None, None, visitor=Visitor("127.0.0.1"))
    assert answer.code == 0
    assert subscribed(made, "public/#") == 0
    assert subscribed(made, "home/#") == Reason.NOT_AUTHORIZED
    assert subscribed(made, "#") == Reason.NOT_AUTHORIZED


def test_what_follows_connect_waits_for_the_password() -> None:
    one = house()
    made = one.open(V5, FAR)
    connect = p.Connect("c", V5, username="alice", password=b"secret")
    heard = made.say(connect, p.Subscribe(1, (p.Request("home/door"),)), p.Publish("home/door", b"x"))
    assert [type(packet) for packet in heard] == [p.Connack, p.Suback, p.Publish]


def test_a_client_that_goes_while_its_password_is_checked_leaves_nothing() -> None:
    one = house(Limits(password_checks=1))
    for _ in range(3):
        made = one.open(V5, FAR)
        broker = one.broker
        data = p.Connect("c", V5, username="alice", password=b"wrong")
        asked = broker.handle(e.Received(made.number, encode(data, V5)), one.now)
        assert [type(effect) for effect in asked] == [e.CheckPassword]
        made.vanish()
        broker.handle(e.PasswordChecked(made.number, False), one.now)
    assert enter(one)[1].code == 0


def test_a_token_lets_in_for_its_time_only() -> None:
    one = house()
    made = entered(one, password=token())
    one.wait(59)
    assert not made.closed
    one.wait(1)
    assert made.take() == [
        p.Disconnect(Reason.MAXIMUM_CONNECT_TIME, {Property.REASON_STRING: "The token has expired."})
    ]
    assert made.closed


# Client ids


def test_a_client_id_of_another_user_is_another_session() -> None:
    one = house()
    hers = entered(one, client="phone", clean=False, properties={Property.SESSION_EXPIRY_INTERVAL: 1000})
    subscribed(hers, "home/door", 1)
    his, answer = enter(one, "bob", client="phone", clean=False)
    assert (answer.code, answer.session_present) == (0, False)
    assert not hers.closed
    hers.vanish()
    entered(one, client="other").say(p.Publish("home/door", b"secret", 1, packet_id=1))
    assert topics(his.take()) == []
    again = one.open(V5, FAR)
    heard = again.say(p.Connect("phone", V5, False, username="alice", password=b"secret"))
    assert heard[0] == replace(heard[0], session_present=True)  # type: ignore[type-var]
    assert topics(heard) == ["home/door"]


def test_a_session_is_its_users_also_after_a_restart() -> None:
    one = house()
    hers = entered(one, client="phone", clean=False, properties={Property.SESSION_EXPIRY_INTERVAL: 1000})
    subscribed(hers, "home/door", 1)
    one.restart()
    assert not enter(one, "bob", client="phone", clean=False)[1].session_present
    assert enter(one, None, None, "phone", Visitor(), clean=False)[1].session_present is False
    assert enter(one, client="phone", clean=False)[1].session_present


def test_a_client_without_an_id_is_told_one_without_its_user() -> None:
    _, answer = enter(house(), client="")
    assigned = answer.properties[Property.ASSIGNED_CLIENT_IDENTIFIER]
    assert assigned.startswith("auto-")
    assert "\x1f" not in assigned


# Publishing


@pytest.mark.parametrize(
    "name", ["bob/x", "home/safe/key", "home/safe", "$SYS/broker/uptime", "devices/bob/c/x", "home"]
)
@pytest.mark.parametrize("retain", [False, True])
def test_what_may_not_be_published_reaches_nobody(name: str, retain: bool) -> None:
    one = House(Parameters(sys_interval=0), guard=Guard(ACCESS, None, b"key"))
    everything = replace(ACCESS, rights=read_rights("user bob\ntopic read #\ntopic read $SYS/#"))
    bob = entered(one, "bob")
    one.tell(e.AccessChanged(everything))
    subscribed(bob, "#", 2)
    subscribed(bob, "$SYS/#", 2)
    one.tell(e.AccessChanged(replace(everything, rights=Rights({**everything.rights.users, **RIGHTS_OF_ALICE}))))
    alice = entered(one)
    assert alice.say(p.Publish(name, b"x", 0, retain)) == []
    heard = alice.say(p.Publish(name, b"x", 1, retain, packet_id=1), p.Publish(name, b"x", 2, retain, packet_id=2))
    if name == "home":  # home/# is all of home, home itself included
        assert topics(bob.take()) == [name] * 3
        return
    assert heard == [p.Puback(1, Reason.NOT_AUTHORIZED), p.Pubrec(2, Reason.NOT_AUTHORIZED)]
    old = entered(one, client="old", version=V3)
    assert old.say(p.Publish(name, b"x", 1, retain, packet_id=1)) == [p.Puback(1)]
    assert topics(bob.take()) == []
    assert len(notes(one, "not_authorized")) == 2  # once for each connection
    assert not alice.closed


RIGHTS_OF_ALICE = {"alice": read_rights(RIGHTS).users["alice"]}


@pytest.mark.parametrize("qos", [0, 1])
def test_lanes_pass_on_only_what_may_be_published(qos: int) -> None:
    """The first publication makes the route known to the lanes, the others would go through them."""
    one = house()
    alice, bob = entered(one), entered(one, "bob", client="b")
    assert subscribed(alice, "home/garden", qos) == qos
    for _ in range(3):
        alice.say(p.Publish("home/garden", b"mine", qos, packet_id=7 * qos))
        bob.say(p.Publish("home/garden", b"forged", qos, packet_id=8 * qos))
    heard = [packet.payload for packet in alice.take() if isinstance(packet, p.Publish)]
    assert b"forged" not in heard


def test_a_client_cannot_speak_for_the_broker_through_a_lane() -> None:
    one = House(Parameters(sys_interval=10))
    reader, forger = one.greeted("r"), one.greeted("f")
    reader.say(p.Subscribe(1, (p.Request("$SYS/#"),)))
    one.wait(20)  # the routes of $SYS are known
    reader.take()
    forger.say(*[p.Publish("$SYS/broker/version", b"forged")] * 3)
    assert reader.take() == []


def test_an_alias_hides_no_name() -> None:
    one = house()
    alice = entered(one)
    alice.say(p.Publish("home/door", b"", properties={Property.TOPIC_ALIAS: 1}))
    alice.say(p.Publish("home/safe/key", b"", 1, packet_id=1, properties={Property.TOPIC_ALIAS: 1}))
    heard = alice.say(p.Publish("", b"", 1, packet_id=2, properties={Property.TOPIC_ALIAS: 1}))
    assert heard == [p.Puback(2, Reason.NOT_AUTHORIZED)]


def test_a_will_is_not_sent_when_its_right_is_gone() -> None:
    one = house()
    reader = entered(one, "bob")
    subscribed(reader, "home/garden")
    alice = entered(one, will=p.Will("home/garden", b"gone"))
    text = RIGHTS.replace("topic readwrite home/#", "topic read home/#")
    one.tell(e.AccessChanged(replace(ACCESS, rights=read_rights(text))))
    alice.vanish()
    assert topics(reader.take()) == []
    assert [note.detail for note in notes(one, "not_authorized")] == ["will on home/garden"]


# Subscribing


WIDE = ["#", "+/#", "+/+", "home/#", "home/+/key", "home/safe/key", "devices/+/c/#", "devices/alice/+/#"]
SHARED = ["$share/g/#", "$share/g/home/#", "$share/home/#"]
OTHERS = ["$SYS/#", "$SYS/broker/uptime", "bob/x", "/home/door", "home/door/../safe"]


@pytest.mark.parametrize("pattern", [*WIDE, *SHARED, *OTHERS])
def test_what_may_not_be_read_is_not_subscribed_to(pattern: str) -> None:
    one = house()
    entered(one, "bob", client="b").say(p.Publish("bob/x", b"retained", 0, True))
    alice = entered(one)
    heard = alice.say(p.Subscribe(1, (p.Request(pattern, 2),)))
    if pattern == "home/door/../safe":  # dots mean nothing in MQTT: it is a topic below home/door
        assert heard == [p.Suback(1, (2,))]
        return
    assert heard == [p.Suback(1, (Reason.NOT_AUTHORIZED,))]
    assert entered(one, client="old", version=V3).say(p.Subscribe(1, (p.Request(pattern),))) == [p.Suback(1, (0x80,))]
    assert len(notes(one, "not_authorized")) == 2


def test_of_many_filters_the_allowed_are_granted() -> None:
    wanted = tuple(p.Request(one, 1) for one in ("home/door", "bob/x", "jobs"))
    assert entered(house()).say(p.Subscribe(1, wanted)) == [p.Suback(1, (1, Reason.NOT_AUTHORIZED, 1))]


# Rights that change


def test_a_right_that_is_taken_away_ends_the_subscription() -> None:
    one = house()
    alice, bob = entered(one, clean=False, properties={Property.SESSION_EXPIRY_INTERVAL: 1000}), entered(one, "bob")
    subscribed(alice, "home/door", 1)
    subscribed(alice, "jobs", 1)
    subscribed(bob, "jobs", 1)
    less = replace(ACCESS, rights=read_rights(RIGHTS.replace("topic readwrite home/#", "topic write home/#")))
    one.tell(e.AccessChanged(less))
    (told,) = alice.take()
    assert isinstance(told, p.Disconnect)
    assert told.reason == Reason.NOT_AUTHORIZED
    assert "home/door" in told.properties[Property.REASON_STRING]
    assert alice.closed
    assert not bob.closed
    one.restart()
    again, answer = enter(one, clean=False)
    assert answer.session_present
    again.say(p.Publish("home/door", b"x"), p.Publish("jobs", b"y", 1, packet_id=1))
    assert topics(again.take()) == []  # said before: both came with what was heard then
    assert len(notes(one, "unsubscribed")) == 1


@pytest.mark.parametrize("qos", [0, 1])
def test_a_right_to_publish_that_is_taken_away_is_gone_at_once(qos: int) -> None:
    one = house()
    alice, reader = entered(one), entered(one, "bob")
    subscribed(reader, "home/garden", qos)
    for _ in range(2):  # the second time through the lane
        alice.say(p.Publish("home/garden", b"before", qos, packet_id=7 * qos))
    assert len(topics(reader.take())) == 2
    text = RIGHTS.replace("topic readwrite home/#", "topic read home/#")
    one.tell(e.AccessChanged(replace(ACCESS, rights=read_rights(text))))
    alice.say(p.Publish("home/garden", b"after", qos, packet_id=8 * qos))
    assert topics(reader.take()) == []
    assert not alice.closed


def test_what_waits_goes_with_the_right_to_read_it() -> None:
    one = house()
    alice = entered(one, clean=False, properties={Property.SESSION_EXPIRY_INTERVAL: 1000})
    subscribed(alice, "home/door", 1)
    subscribed(alice, "jobs", 1)
    publisher = entered(one, client="p")
    publisher.say(p.Publish("home/door", b"unread", 1, packet_id=1))
    alice.vanish()
    publisher.say(p.Publish("home/door", b"waiting", 1, packet_id=2), p.Publish("jobs", b"fine", 1, packet_id=3))
    one.tell(e.AccessChanged(replace(ACCESS, rights=read_rights("user alice\ntopic readwrite jobs"))))
    for _ in range(2):
        again = one.open(V5, FAR)
        stay = {Property.SESSION_EXPIRY_INTERVAL: 1000}
        heard = again.say(p.Connect("c", V5, False, username="alice", password=b"secret", properties=stay))
        assert topics(heard) == ["jobs"]
        again.vanish()
        one.restart()


def test_rights_are_looked_at_when_a_node_starts_too() -> None:
    one = house()
    alice = entered(one, clean=False, properties={Property.SESSION_EXPIRY_INTERVAL: 1000})
    subscribed(alice, "home/door", 1)
    one.guard = Guard(replace(ACCESS, rights=read_rights("user alice\ntopic readwrite jobs")), None, b"key")
    one.restart()
    session = one.broker.session("alice\x1fc")
    assert session is not None
    assert not session.subscriptions


def test_shared_work_goes_to_who_may_still_read_it() -> None:
    one = house()
    keep_it = {Property.SESSION_EXPIRY_INTERVAL: 1000}
    alice, bob = entered(one, clean=False, properties=keep_it), entered(one, "bob")
    subscribed(alice, "$share/g/jobs", 1)
    alice.vanish()
    entered(one, client="p").say(p.Publish("jobs", b"work", 1, packet_id=1))
    subscribed(bob, "$share/g/jobs", 1)
    one.tell(e.AccessChanged(replace(ACCESS, rights=read_rights("user bob\ntopic readwrite jobs"))))
    assert topics(bob.take()) == ["jobs"]


def test_shared_work_does_not_go_to_who_loses_the_right_to_it_at_the_same_time() -> None:
    one = house()
    keep_it = {Property.SESSION_EXPIRY_INTERVAL: 1000}
    alice, bob = entered(one, clean=False, properties=keep_it), entered(one, "bob")
    subscribed(alice, "$share/g/jobs", 1)
    alice.vanish()
    entered(one, client="p").say(p.Publish("jobs", b"work", 1, packet_id=1))
    subscribed(bob, "$share/g/jobs", 1)
    one.tell(e.AccessChanged(replace(ACCESS, rights=read_rights("topic readwrite other"))))
    assert topics(bob.take()) == []


def test_what_waits_of_a_subscription_that_is_gone_goes_with_the_right_too() -> None:
    one = house()
    stay = {"clean": False, "properties": {Property.SESSION_EXPIRY_INTERVAL: 1000, Property.RECEIVE_MAXIMUM: 1}}
    alice = entered(one, **stay)
    subscribed(alice, "home/door", 1)
    publisher = entered(one, client="p")
    for number in (1, 2):
        publisher.say(p.Publish("home/door", b"x", 1, packet_id=number))
    alice.say(p.Unsubscribe(2, ("home/door",)))
    alice.vanish()
    one.tell(e.AccessChanged(replace(ACCESS, rights=read_rights("user alice\ntopic readwrite jobs"))))
    again = one.open(V5, FAR)
    assert topics(again.say(p.Connect("c", V5, username="alice", password=b"secret", **stay))) == []  # type: ignore[arg-type]
    again.vanish()
    one.restart()
    again = one.open(V5, FAR)
    assert topics(again.say(p.Connect("c", V5, username="alice", password=b"secret", **stay))) == []  # type: ignore[arg-type]


def test_what_waits_for_the_disk_does_not_leave_when_the_right_is_gone() -> None:
    one = House(lazy=True, guard=Guard(ACCESS, None, b"key"))
    stay = {"clean": False, "properties": {Property.SESSION_EXPIRY_INTERVAL: 1000}}
    alice = one.open(V5, FAR)
    alice.say(p.Connect("c", V5, username="alice", password=b"secret", **stay))  # type: ignore[arg-type]
    alice.say(p.Subscribe(1, (p.Request("home/door", 2),)))
    one.sync()
    publisher = entered(one, client="p")
    alice.take()
    publisher.say(p.Publish("home/door", b"secret", 2, packet_id=1))
    assert alice.take() == []  # QoS 2: its identifier is not on the disk yet
    one.tell(e.AccessChanged(replace(ACCESS, rights=read_rights("user alice\ntopic readwrite jobs"))))
    one.sync()
    assert [type(packet) for packet in alice.take()] == [p.Disconnect]
    assert alice.closed


# What was retained (CVE-2018-12546 of Mosquitto)


@pytest.mark.parametrize("restarted", [False, True], ids=["", "after a restart"])
def test_what_is_retained_goes_with_the_right_to_publish_it(restarted: bool) -> None:
    one = house()
    entered(one).say(p.Publish("home/garden", b"hers", retain=True), p.Publish("jobs", b"hers", retain=True))
    entered(one, "bob").say(p.Publish("jobs", b"his", retain=True))
    less = RIGHTS.replace("topic readwrite home/#", "topic read home/#").replace("topic readwrite jobs", "", 1)
    one.tell(e.AccessChanged(replace(ACCESS, rights=read_rights(less))))
    if restarted:
        one.guard = Guard(replace(ACCESS, rights=read_rights(less)), None, b"key")
        one.restart()
    heard = entered(one, "bob").say(p.Subscribe(1, (p.Request("home/garden"), p.Request("jobs"))))
    assert [(got.topic, got.payload) for got in heard if isinstance(got, p.Publish)] == [("jobs", b"his")]


def test_what_is_retained_comes_back_with_the_right() -> None:
    one = house()
    entered(one).say(p.Publish("home/garden", b"x", retain=True))
    less = replace(ACCESS, rights=read_rights(RIGHTS.replace("topic readwrite home/#", "topic read home/#")))
    for access, found in ((less, []), (ACCESS, ["home/garden"])):
        one.tell(e.AccessChanged(access))
        assert topics(entered(one, "bob").say(p.Subscribe(1, (p.Request("home/garden"),)))) == found


def test_what_the_broker_says_of_itself_is_nobodys_to_lose() -> None:
    one = house(parameters=Parameters())
    one.tell(e.AccessChanged(replace(ACCESS, rights=read_rights("user bob\ntopic read $SYS/#"))))
    one.wait(1)
    assert topics(entered(one, "bob").say(p.Subscribe(1, (p.Request("$SYS/broker/version"),)))) == [
        "$SYS/broker/version"
    ]


def test_a_user_that_is_gone_or_has_another_password_is_disconnected() -> None:
    one = house()
    alice, bob = entered(one), entered(one, "bob")
    users = {"alice": keep(b"other", b"salt", log_n=4, blocks=1, times=1), "bob": cheap("secret")["bob"]}
    one.tell(e.AccessChanged(replace(ACCESS, users=users)))
    assert [type(packet) for packet in alice.take()] == [p.Disconnect]
    assert (alice.closed, bob.closed) == (True, False)
    assert enter(one)[1].code == Reason.BAD_USER_NAME_OR_PASSWORD
    assert enter(one, password=b"other")[1].code == 0


def test_a_password_may_look_like_a_token() -> None:
    words = ["a.b.c-long-password", token(exp=999_999).decode(), "eyJhbGciOiJub25lIn0.e30.", "eyJ.eyJ.eyJ", ".."]
    for word in words:
        kept = keep(word.encode(), b"salt", log_n=4, blocks=1, times=1)
        one = House(guard=Guard(replace(ACCESS, users={"alice": kept}), None, b"key"))
        assert enter(one, password=word.encode())[1].code == 0, word
        assert enter(one, password=word.encode() + b"x")[1].code == Reason.BAD_USER_NAME_OR_PASSWORD, word


def test_where_there_are_only_tokens_the_log_says_what_is_wrong_with_one() -> None:
    one = House(guard=Guard(replace(ACCESS, users=None), None, b"key"))
    assert enter(one, password=token(exp=999_999))[1].code == Reason.BAD_USER_NAME_OR_PASSWORD
    assert [note.detail for note in notes(one, "refused")] == ["The token is not valid at this time."]


# Proofs that are gone


def test_another_key_of_tokens_ends_what_the_old_one_had_proved() -> None:
    one = house()
    by_token, by_password = entered(one, password=token()), entered(one, client="d")
    by_certificate = entered(one, "bob", password=None, visitor=Visitor("192.0.2.1", "bob"))
    one.tell(e.AccessChanged(replace(ACCESS, rights=read_rights(RIGHTS))))
    assert not by_token.closed  # the key is the same
    one.tell(e.AccessChanged(replace(ACCESS, tokens=read_token_key(b"secret:" + SECRET[::-1]))))
    (told,) = by_token.take()
    assert isinstance(told, p.Disconnect)
    assert (told.reason, by_token.closed) == (Reason.NOT_AUTHORIZED, True)
    assert (by_password.closed, by_certificate.closed) == (False, False)
    assert enter(one, password=token())[1].code == Reason.BAD_USER_NAME_OR_PASSWORD


@pytest.mark.parametrize("tokens", [None, read_token_key(b"secret:" + SECRET, "an audience")])
def test_so_does_another_audience_or_no_key_at_all(tokens: TokenKey | None) -> None:
    one = house()
    by_token = entered(one, password=token())
    one.tell(e.AccessChanged(replace(ACCESS, tokens=tokens)))
    assert by_token.closed


def test_a_password_that_changed_while_it_was_checked_lets_nobody_in() -> None:
    one = house()
    guard = one.guard
    assert guard is not None
    packet = p.Connect("c", V5, username="alice", password=b"secret")
    question = guard.identify(FAR, packet, one.now)
    assert isinstance(question, Question)
    guard.renew(replace(ACCESS, users={"alice": keep(b"other", b"salt", log_n=4, blocks=1, times=1)}))
    with pytest.raises(PacketError):
        guard.answer(question, True, FAR, one.now)


def test_who_waits_for_the_network_is_sent_away_when_its_proof_is_gone() -> None:
    one = House(replace(QUIET, linked=True), guard=Guard(ACCESS, None, b"key"))
    for proof in (token(), b"secret"):
        one.tell(e.AccessChanged(ACCESS))
        made = one.open(V5, FAR)
        assert made.say(p.Connect("c", V5, username="alice", password=proof)) == []
        one.tell(e.AccessChanged(replace(ACCESS, users={}, tokens=None)))
        assert made.closed
        one.tell(e.Admitted(made.number))
        assert made.take() == []


# Floods


def test_an_address_that_comes_too_often_is_told_so() -> None:
    one = house(Limits(connect_rate=1, connect_burst=3))
    codes = [enter(one, client=f"c{number}")[1].code for number in range(5)]
    assert codes == [0, 0, 0, Reason.CONNECTION_RATE_EXCEEDED, Reason.CONNECTION_RATE_EXCEEDED]
    assert enter(one, visitor=replace(FAR, host="192.0.2.2"), client="other")[1].code == 0
    one.wait(1)
    assert enter(one, client="later")[1].code == 0


def test_guessing_is_slowed_and_who_has_been_in_is_not() -> None:
    one = house(Limits(failures=3))
    assert enter(one, "bob")[1].code == 0
    guesses = [enter(one, password=b"%d" % number)[1].code for number in range(6)]
    assert guesses == [Reason.BAD_USER_NAME_OR_PASSWORD] * 4 + [Reason.CONNECTION_RATE_EXCEEDED] * 2
    assert enter(one)[1].code == Reason.CONNECTION_RATE_EXCEEDED  # also where the guess is right
    assert enter(one, "bob")[1].code == 0
    assert enter(one, visitor=replace(FAR, host="192.0.2.2"))[1].code == 0
    one.wait(0.25)
    assert enter(one, client="again")[1].code == 0


def test_connections_of_one_address_are_bounded() -> None:
    one = house(Limits(address_connections=2))
    made = [one.open(V5, FAR) for _ in range(3)]
    assert [each.closed for each in made] == [False, False, True]
    made[0].vanish()
    assert not one.open(V5, FAR).closed


def test_passwords_that_wait_are_bounded() -> None:
    one = house(Limits(password_checks=1))
    first, second = one.open(V5, FAR), one.open(V5, FAR)
    connect = encode(p.Connect("c", V5, username="alice", password=b"secret"), V5)
    one.broker.handle(e.Received(first.number, connect), one.now)
    (answer,) = second.say_bytes(connect)
    assert isinstance(answer, p.Connack)
    assert answer.code == Reason.SERVER_BUSY


def test_nobody_is_listened_to_for_long_before_connect() -> None:
    one = house(parameters=Parameters(sys_interval=0, connect_timeout=5.0))
    loud, slow = one.open(V3, FAR), one.open(V3, FAR)
    loud.say_bytes(b"\x10\xff\xff\x7f")  # CONNECT of 2 MiB
    assert loud.closed
    slow.say_bytes(b"\x10")
    one.wait(4)
    slow.say_bytes(b"\x20")
    assert not slow.closed
    one.wait(1)
    assert slow.closed


def test_a_packet_that_never_ends_ends_with_the_keep_alive() -> None:
    one = house()
    slow, other = entered(one, client="slow", keep_alive=10), entered(one, client="other")
    slow.say_bytes(b"\x30\x7f")
    for _ in range(16):
        one.wait(1)
        slow.say_bytes(b"x")
    assert slow.closed
    assert not other.closed


@pytest.mark.parametrize("version", [V3, V5])
def test_oversized_everything_ends_the_one_who_sends_it(version: p.Version) -> None:
    one = house(parameters=Parameters(sys_interval=0, packet_bytes=1000, topic_levels=4, subscriptions=2))
    big = entered(one, client="big", version=version)
    assert big.say(p.Subscribe(1, (p.Request("home/1/2/3/4/5"),))) == [p.Suback(1, (0x8F if version is V5 else 0x80,))]
    codes = [subscribed(big, f"home/{number}") for number in range(3)]
    assert codes == [0, 0, 0x97 if version is V5 else 0x80]
    big.say_bytes(b"\x30\xff\x7f")
    assert big.closed
    assert enter(one, client="next")[1].code == 0


def test_properties_said_again_and_again_are_bounded_by_their_packet() -> None:
    """MQTT compresses nothing: what many properties cost is what their bytes cost, and WebSockets may not deflate."""
    one = house(parameters=Parameters(sys_interval=0, packet_bytes=10_000))
    reader, writer = entered(one, "bob"), entered(one)
    subscribed(reader, "home/garden")
    many = {Property.USER_PROPERTY: (("a", "b"),) * 1000}
    writer.say(p.Publish("home/garden", b"", properties=many))
    (heard,) = reader.take()
    assert isinstance(heard, p.Publish)
    assert len(heard.properties[Property.USER_PROPERTY]) == 1000
    writer.say(p.Publish("home/garden", b"", properties={Property.USER_PROPERTY: (("a", "b" * 20),) * 1000}))
    assert writer.closed
    assert not reader.closed


def test_long_names_are_not_remembered() -> None:
    one = house()
    alice = entered(one)
    for number in range(5):
        alice.say(p.Publish(f"home/{number}/{'x' * 2000}", b""))
    assert not [name for name in one.broker._subscriptions.routes.by_name if len(name) > 1024]


@pytest.mark.parametrize("name", ["uptime", "connection/state", "connection/a/b/state", "connection/a/stated"])
@pytest.mark.parametrize(("version", "code"), [(V3, 5), (V5, Reason.NOT_AUTHORIZED)])
def test_nobody_has_a_will_that_says_what_only_the_broker_says(version: p.Version, code: int, name: str) -> None:
    one = House()
    heard = one.open(version).say(p.Connect("forger", version, will=p.Will(f"$SYS/broker/{name}", b"1", retain=True)))
    assert [packet.code for packet in heard if isinstance(packet, p.Connack)] == [code]
    assert one.broker.retained() == {}


@pytest.mark.parametrize("version", [V3, V5])
def test_the_will_that_bridges_of_mosquitto_have_is_taken_and_not_passed_on(version: p.Version) -> None:
    one, state = House(), p.Will("$SYS/broker/connection/site.up/state", b"0", 1, True)
    reader = one.greeted("reader")
    reader.say(p.Subscribe(1, (p.Request("$SYS/#"),)))
    one.greeted("site.up", version, will=state).vanish()
    assert reader.take() == []
    assert one.broker.retained() == {}
    assert enter(house(), version=version, will=state)[1].code == 0


def test_wills_keep_to_the_limit_of_retained_messages_as_publications_do() -> None:
    one = House(Parameters(sys_interval=0, retained_messages=2))
    reader = one.greeted("reader")
    reader.say(p.Subscribe(1, (p.Request("#"),)))
    for number in range(5):
        one.greeted(f"c{number}", will=p.Will(f"w/{number}", b"x", retain=True)).vanish()
    assert sorted(one.broker.retained()) == ["w/0", "w/1"]
    assert [packet.topic for packet in reader.take()] == ["w/0", "w/1"]
    assert [note.detail for note in notes(one, "no_room")] == ["will on w/2", "will on w/3", "will on w/4"]
    one.greeted("again", will=p.Will("w/1", b"y", retain=True)).vanish()
    assert one.broker.retained()["w/1"].payload == b"y"


@pytest.mark.parametrize("qos", [0, 1, 2])
def test_wills_wait_for_room_in_the_journal_no_more_than_publications_do(qos: int) -> None:
    one = House()
    reader = one.greeted("reader")
    reader.say(p.Subscribe(1, (p.Request("#", 2),)))
    client = one.greeted("c", will=p.Will("w", b"x", qos))
    one.tell(e.JournalFilled())
    client.vanish()
    assert len(reader.take()) == (qos == 0)


def kept(house: House, client: str, version: p.Version = V5, **more: object) -> Client:
    properties = {Property.SESSION_EXPIRY_INTERVAL: 60} if version is V5 else {}
    return house.connect(client, version, version is V5, properties=properties, **more)


def code(client: Client) -> int:
    (connack,) = (one for one in client.take() if isinstance(one, p.Connack))
    return int(connack.code)


@pytest.mark.parametrize(("version", "refused"), [(V3, 3), (V5, Reason.QUOTA_EXCEEDED)])
def test_a_node_keeps_so_many_sessions_and_no_more(version: p.Version, refused: int) -> None:
    one = House(Parameters(sys_interval=0, sessions=3))
    for name in "abc":
        assert code(kept(one, name, version)) == 0
        one.clients[max(one.clients)].vanish()
    late = kept(one, "d", version)
    assert code(late) == refused
    assert late.closed
    assert code(one.connect("d", version)) == 0, "one that is not kept"
    assert code(kept(one, "a", version)) == 0, "one that is kept already"
    one.restart()
    assert code(kept(one, "d", version)) == refused
    assert code(one.connect("b", version)) == 0, "which ends the kept one"
    assert code(kept(one, "d", version)) == 0
    assert code(kept(one, "e", version)) == refused


def test_a_session_that_has_ended_makes_room_for_another() -> None:
    one = House(Parameters(sys_interval=0, sessions=1))
    first = kept(one, "a")
    first.vanish()
    one.wait(59.0)
    assert code(kept(one, "b")) == Reason.QUOTA_EXCEEDED
    one.wait(2.0)
    second = kept(one, "b")
    assert code(second) == 0
    second.say(p.Disconnect(properties={Property.SESSION_EXPIRY_INTERVAL: 0}))
    assert code(kept(one, "c")) == 0


def test_a_user_has_so_many_sessions_kept_and_no_more() -> None:
    one = house(parameters=Parameters(sys_interval=0, user_sessions=2, sessions=4))
    alice = {"username": "alice", "password": b"secret"}
    bob = {"username": "bob", "password": b"secret"}
    assert [code(kept(one, name, **alice)) for name in "abc"] == [0, 0, Reason.QUOTA_EXCEEDED]
    assert [code(kept(one, name, **bob)) for name in "abc"] == [0, 0, Reason.QUOTA_EXCEEDED]


def test_clients_without_a_user_are_no_user() -> None:
    one = House(Parameters(sys_interval=0, user_sessions=1))
    assert [code(kept(one, name)) for name in "ab"] == [0, 0]


def test_a_will_takes_of_the_bytes_that_a_session_may_keep() -> None:
    one = House(Parameters(sys_interval=0, queue_bytes=1000))
    assert code(kept(one, "a", will=p.Will("w", b"x" * 1000))) == Reason.QUOTA_EXCEEDED
    long = {Property.USER_PROPERTY: (("name", "x" * 1000),)}
    assert code(kept(one, "a", will=p.Will("w", b"", properties=long))) == Reason.QUOTA_EXCEEDED
    away = kept(one, "a", will=p.Will("w", b"x" * 700, properties={Property.WILL_DELAY_INTERVAL: 50}))
    assert code(away) == 0
    away.say(p.Subscribe(1, (p.Request("t", 1),)))
    away.vanish()
    other = one.greeted("other")
    for number in range(5):
        other.say(p.Publish("t", b"x" * 99, 1, packet_id=number + 1))
    assert one.broker.figures.waiting == 2, "of 100 bytes each, beside a will of about 700"
    one.wait(51.0)
    for number in range(20):
        other.say(p.Publish("t", b"x" * 99, 1, packet_id=number + 1))
    assert one.broker.figures.waiting == 10


def test_what_waits_is_counted_with_its_properties() -> None:
    one = House(Parameters(sys_interval=0, queue_bytes=1000))
    away = kept(one, "a")
    away.say(p.Subscribe(1, (p.Request("t", 1),)))
    away.vanish()
    other = one.greeted("other", V5)
    for number in range(9):
        other.say(
            p.Publish("t", b"", 1, packet_id=number + 1, properties={Property.USER_PROPERTY: (("n", "x" * 400),)})
        )
    assert one.broker.figures.waiting == 2
