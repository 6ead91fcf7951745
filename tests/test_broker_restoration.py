"""Sessions that come from elsewhere: out of the journal as they were, and from another node beside what is here."""

import random
from collections.abc import Iterable
from dataclasses import replace

import pytest

from broker_client import QUIET, V3, V5, House
from weft.broker import effect as e
from weft.broker.broker import Broker
from weft.broker.parameters import Parameters
from weft.broker.publication import Publication
from weft.broker.recovery import Recovery
from weft.broker.subscription import Subscription
from weft.wire.mqtt import packet as p
from weft.wire.mqtt.property import Property
from weft.wire.mqtt.reason import Reason

VERSIONS = {"old": V3, "new": V5, "ever": V5}
EXPIRY = {"new": 60, "ever": 2**32 - 1}
TOPICS = ["a/b", "a/c", "d", "shared"]
FILTERS = ["a/b", "a/c", "d", "a/+", "a/#", "$share/g/shared", "$share/h/+"]


def state(broker: Broker) -> object:
    """All that a broker owes to clients, and what it counts of it."""
    figures = broker.figures
    counts = figures.sessions, figures.subscriptions, figures.shared_subscriptions, figures.retained, figures.waiting
    sessions = {
        one.client: (
            (one.version, one.expiry, one.left, one.last, one.will),
            one.subscriptions,
            [(number, owed(delivery)) for number, delivery in one.inflight.items()],
            [owed(delivery) for delivery in one.queue],
            sorted(one.received),
            one.queue.size,
        )
        for one in broker.sessions()
        if one.persistent
    }
    retained = {name: replace(one, number=0) for name, one in broker.retained().items()}
    return counts, sessions, retained


def restored(house: House, records: Iterable[bytes]) -> Broker:
    recovery = Recovery()
    recovery.replay(records)
    broker = Broker(house.parameters, house.now, durable=True)
    broker.restore(recovery, house.now)
    return broker


def owed(delivery) -> tuple[object, ...]:
    return (
        delivery.publication,
        delivery.qos,
        delivery.retain,
        delivery.identifiers,
        delivery.packet_id,
        delivery.released,
    )


class Life:
    """What clients do to a broker that has a journal, drawn from a seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.house = House(Parameters(sys_interval=0, inflight=4))
        self.lines = {}
        for name in VERSIONS:
            self.enter(name)

    def live(self, steps: int) -> None:
        deeds = (self.publish, self.publish, self.publish, self.answer, self.answer, self.subscribe, self.unsubscribe)
        for _ in range(steps):
            self.house.wait(self.random.choice((0.0, 0.5)))
            if self.random.random() < 0.1 or not self.lines:
                name = self.random.choice(list(VERSIONS))
                (self.leave if name in self.lines else self.enter)(name)
            else:
                self.random.choice(deeds)(self.lines[self.random.choice(sorted(self.lines))])

    def enter(self, name: str) -> None:
        properties = {Property.SESSION_EXPIRY_INTERVAL: EXPIRY[name]} if name in EXPIRY else {}
        delay = {Property.WILL_DELAY_INTERVAL: 5} if name in EXPIRY else {}
        will = p.Will("d", b"will", self.random.randrange(3), False, delay) if self.random.random() < 0.5 else None
        clean = VERSIONS[name] is V5 and self.random.random() < 0.1
        self.lines[name] = self.house.greeted(name, VERSIONS[name], clean, will=will, properties=properties)

    def leave(self, name: str) -> None:
        line = self.lines.pop(name)
        if self.random.random() < 0.5:
            line.say(p.Disconnect())
        else:
            line.vanish()

    def publish(self, line) -> None:
        qos, topic = self.random.randrange(3), self.random.choice(TOPICS)
        payload = self.random.randbytes(self.random.randrange(3))
        retain, packet_id = self.random.random() < 0.3, self.random.randrange(1, 9)
        properties = {Property.CONTENT_TYPE: "x"} if line.version is V5 and self.random.random() < 0.3 else {}
        line.heard = line.say(p.Publish(topic, payload, qos, retain, False, packet_id if qos else 0, properties))

    def answer(self, line) -> None:
        """What a client answers to some of what it has heard."""
        heard = line.take()
        count = self.random.randrange(len(heard) + 1)
        line.heard = heard[count:]
        for packet in heard[:count]:
            if (reply := answer_to(packet)) is not None:
                line.heard = line.say(reply)

    def subscribe(self, line) -> None:
        options = (self.random.random() < 0.5, self.random.randrange(3)) if line.version is V5 else ()
        request = p.Request(self.random.choice(FILTERS), self.random.randrange(3), False, *options)
        ids = {Property.SUBSCRIPTION_IDENTIFIER: (7,)} if line.version is V5 and self.random.random() < 0.5 else {}
        line.heard = line.say(p.Subscribe(1, (request,), ids))

    def unsubscribe(self, line) -> None:
        line.heard = line.say(p.Unsubscribe(1, (self.random.choice(FILTERS),)))


def answer_to(packet: p.Packet) -> p.Packet | None:
    match packet:
        case p.Publish(qos=1):
            return p.Puback(packet.packet_id)
        case p.Publish(qos=2):
            return p.Pubrec(packet.packet_id)
        case p.Pubrec():
            return p.Pubrel(packet.packet_id)
        case p.Pubrel():
            return p.Pubcomp(packet.packet_id)
    return None


@pytest.mark.parametrize("seed", range(8))
def test_what_the_journal_has_is_what_the_broker_was(seed: int) -> None:
    life = Life(seed)
    for _ in range(6):
        life.live(40)
        for name in sorted(life.lines):
            life.lines.pop(name).vanish()
        broker, records = life.house.broker, life.house.records
        assert state(restored(life.house, records)) == state(broker)
        assert state(restored(life.house, broker.records())) == state(broker)


def test_who_was_connected_has_been_away_since_the_start() -> None:
    house = House()
    house.greeted("a", V5, properties={Property.SESSION_EXPIRY_INTERVAL: 60})
    house.greeted("b", V3, clean=True)
    house.now += 1000
    house.restart()
    (session,) = house.broker.sessions()
    assert (session.client, session.left, session.expires(), session.unsure) == ("a", house.now, house.now + 60, True)
    house.restart()
    assert house.broker.session("a").left == house.now  # it is in the journal now
    house.wait(59)
    assert house.broker.figures.sessions == 1
    house.wait(2)
    assert house.broker.figures.sessions == 0


# A session of another node, where the client has one here

LINKED = Parameters(sys_interval=0, linked=True)
KEEP = {Property.SESSION_EXPIRY_INTERVAL: 600}


def enter(house: House, name: str = "c", version: p.Version = V5):
    one = house.connect(name, version, False, properties=KEEP if version is V5 else {})
    house.tell(e.Admitted(one.number))
    assert isinstance(one.take()[0], p.Connack)
    return one


def issued(count: int, qos: int = 1, topic: bytes = b"t") -> Publication:
    """A publication of another node's client."""
    return Publication(topic, b"%d" % count, qos, publisher="far", origin=(9, 1, count), issued=1.0)


def node(*subscriptions: str | p.Request):
    """A node with the client, which has subscribed."""
    house = House(LINKED)
    one = enter(house)
    for each in subscriptions:
        one.say(p.Subscribe(1, (each if isinstance(each, p.Request) else p.Request(each, 2),)))
    house.effects.clear()
    return house, one


def arrive(house: House, *publications: Publication) -> None:
    for each in publications:
        house.tell(e.Arrived(each))


def told(house: House):
    """What the network is told of subscriptions."""
    return [(one.filter, one.subscription) for one in house.effects if type(one) is e.SessionSubscribed]


def payloads(packets) -> list[tuple[str, int, bool]]:
    return [(one.payload.decode(), one.qos, one.dup) for one in packets if isinstance(one, p.Publish)]


def test_a_subscription_is_told_to_the_network() -> None:
    house, one = node()
    one.say(p.Subscribe(1, (p.Request("t", 1),)))
    one.say(p.Unsubscribe(2, ("t",)))
    assert told(house) == [("t", Subscription("t", 1)), ("t", None)]
    assert [each for each in house.effects if type(each) is not e.SessionSubscribed] == [
        e.FilterHeld("t", 1, True),
        e.FilterAsked(1, "t", True),
        e.Granted(1),
        e.FilterHeld("t", 0, False),
    ]


def test_subscriptions_of_the_records_are_right() -> None:
    there, _ = node("both", p.Request("other", 1), "there")
    house, one = node("both", p.Request("other", 2), "here")
    house.tell(e.SessionArrived(there.broker.export("c")))
    session = house.broker.session("c")
    wanted = {"both": Subscription("both", 2), "other": Subscription("other", 1), "there": Subscription("there", 2)}
    assert session.subscriptions == wanted
    assert told(house) == [("here", None), ("other", wanted["other"]), ("there", wanted["there"])]
    assert state(house.restored())[1]["c"][1] == wanted
    arrive(house, issued(1, topic=b"here"), issued(2, topic=b"there"), issued(3, topic=b"other"))
    assert payloads(one.take()) == [("2", 1, False), ("3", 1, False)]
    assert house.broker.figures.subscriptions == 3


def test_what_the_client_did_here_counts() -> None:
    there, _ = node("both", "given up", "there")
    house, _ = node(p.Request("both", 1), "here")
    house.tell(e.SessionArrived(there.broker.export("c"), known=frozenset({"given up"})))
    session = house.broker.session("c")
    assert {pattern: one.qos for pattern, one in session.subscriptions.items()} == {"both": 1, "here": 2, "there": 2}
    assert told(house) == [("there", Subscription("there", 2))]


def test_a_client_that_began_anew_here_has_what_it_asked_for_here() -> None:
    there, _ = node("there")
    house, _ = node("here")
    house.tell(e.SessionArrived(there.broker.export("c"), known=frozenset({e.ALL})))
    assert list(house.broker.session("c").subscriptions) == ["here"]
    assert told(house) == []


def test_what_it_was_given_there_is_not_given_again() -> None:
    there, _ = node("t")
    house, one = node("t")
    arrive(house, issued(1), issued(2, qos=2), issued(3, qos=2))
    assert payloads(one.take()) == [("1", 1, False), ("2", 2, False), ("3", 2, False)]
    one.vanish()
    arrive(house, issued(4), issued(5))
    had = frozenset({issued(number).origin for number in (1, 2, 4, 6)})
    house.tell(e.SessionArrived(there.broker.export("c"), had=had))
    arrive(house, issued(6), issued(7))
    for each in (house.broker, house.restored()):
        session = each.session("c")
        owed = [(one.publication.payload, one.released) for one in session.inflight.values()]
        assert owed == [(b"2", True), (b"3", False)]  # it may know the second by its identifier
        assert [one.publication.payload for one in session.queue] == [b"5", b"7"]
        each.check_invariants()
    back = enter_again(house)
    assert payloads(back) == [("3", 2, True), ("5", 1, False), ("7", 1, False)]
    assert p.Pubrel(2) in back


def enter_again(house: House, name: str = "c") -> list[p.Packet]:
    """What a client hears that comes back."""
    one = house.connect(name, V5, False, properties=KEEP)
    house.tell(e.Admitted(one.number))
    return one.take()[1:]


def test_what_it_had_there_comes_before_what_waits_here() -> None:
    there, gone = node("t")
    arrive(there, issued(1), issued(2, qos=2))
    gone.vanish()
    arrive(there, issued(3))
    house, one = node("t")
    one.vanish()
    arrive(house, issued(4))
    house.tell(e.SessionArrived(there.broker.export("c"), had=frozenset({issued(3).origin})))
    session = house.broker.session("c")
    assert session.last == max(one.publication.number for one in session.queue)
    assert house.broker.figures.waiting == len(session.queue) == 2
    again = enter_again(house)
    assert payloads(again) == [("1", 1, True), ("2", 2, True), ("3", 1, False), ("4", 1, False)]
    assert len({one.packet_id for one in again}) == 4


def test_what_it_was_sent_at_both_nodes_is_sent_once() -> None:
    there, gone = node("t")
    arrive(there, issued(1), issued(2, qos=2), issued(3))
    gone.vanish()
    house, one = node("t")
    arrive(house, issued(1), issued(2, qos=2))
    one.say(p.Puback(1), p.Pubrec(2), p.Pubcomp(2))
    house.tell(e.SessionArrived(there.broker.export("c"), known=frozenset()))
    heard = one.take()
    assert payloads(heard) == [("3", 1, True)]
    assert p.Pubrel(2) in heard  # it has the second, and knows it by the identifier of there
    assert sorted(house.broker.session("c").inflight) == [2, 3]


def test_an_identifier_that_is_taken_here_is_not_used_for_another() -> None:
    there, gone = node("t")
    arrive(there, issued(1))
    gone.vanish()
    house, one = node("t")
    arrive(house, issued(2))
    assert [each.packet_id for each in one.take()] == [1]
    house.tell(e.SessionArrived(there.broker.export("c"), known=frozenset()))
    (packet,) = one.take()
    assert (packet.payload, packet.packet_id, packet.dup) == (b"1", 2, False)


@pytest.mark.parametrize("pattern", ["t", "$share/g/t", "+"])
def test_only_what_it_still_wants_is_given(pattern: str) -> None:
    there, gone = node(pattern)
    gone.vanish()
    event = e.ArrivedForGroup(issued(1), pattern) if pattern.startswith("$") else e.Arrived(issued(1))
    there.tell(event)
    value = there.broker.export("c")
    house, one = node()
    house.tell(e.SessionArrived(value, known=frozenset({pattern})))
    assert one.take() == []
    assert house.broker.figures.waiting == 0
    other, two = node()
    other.tell(e.SessionArrived(value, known=frozenset()))
    assert payloads(two.take()) == [("1", 1, False)]


def test_nothing_is_sent_before_all_of_it_is_there() -> None:
    there, gone = node("t")
    gone.vanish()
    arrive(there, issued(1))
    house, one = node("t")
    house.tell(e.SessionArrived(there.broker.export("c"), partial=True))
    arrive(house, issued(2))
    assert one.take() == []
    house.tell(e.SessionArrived(there.broker.export("c"), had=frozenset({issued(2).origin})))
    assert one.take() == []
    house.tell(e.SessionGathered("c"))
    house.tell(e.SessionGathered("c"))
    assert payloads(one.take())[0] == ("1", 1, False)


def test_a_session_with_nothing_on_its_way_begins_with_other_identifiers() -> None:
    """Some of the first numbers may be in use at the node that it comes from, which does not tell of them."""
    there, gone = node("t")
    gone.vanish()
    house = House(LINKED)
    house.tell(e.SessionArrived(there.broker.export("c")))
    arrive(house, issued(1))
    (packet,) = enter_again(house)
    assert packet.packet_id > 100
    assert house.broker.session("c").unsure is False


def test_two_nodes_begin_with_other_identifiers() -> None:
    """A client takes what comes under one that it knows, and that nobody has released, for the same again."""
    there, gone = node("t")
    gone.vanish()
    begun = set()
    for incarnation in range(5):
        house = House(LINKED)
        house.broker._issuer.incarnation = incarnation
        house.tell(e.SessionArrived(there.broker.export("c")))
        arrive(house, issued(1))
        begun |= {packet.packet_id for packet in enter_again(house)}
    assert len(begun) == 5


def test_receipts_of_both_nodes_are_kept() -> None:
    there, gone = node()
    gone.say(p.Publish("u", b"x", 2, packet_id=5))
    house, one = node()
    one.say(p.Publish("u", b"y", 2, packet_id=6))
    house.tell(e.SessionArrived(there.broker.export("c")))
    assert sorted(house.broker.session("c").received) == [5, 6]
    assert sorted(house.restored().session("c").received) == [5, 6]


# What comes for one session or group of this node


def test_a_publication_for_one_client_reaches_no_other() -> None:
    house, one = node("t")
    other = enter(house, "other")
    other.say(p.Subscribe(1, (p.Request("t", 1),)))
    house.tell(e.ArrivedForSession(issued(1), "c"))
    house.tell(e.ArrivedForSession(issued(1), "c"))  # it has it
    house.tell(e.ArrivedForSession(issued(2, qos=0), "c"))  # it is owed nothing of QoS 0
    house.tell(e.ArrivedForSession(issued(3, topic=b"u"), "c"))  # it does not want it
    assert payloads(one.take()) == [("1", 1, False)]
    assert other.take() == []
    house.tell(e.ArrivedAgain(issued(4), {"other"}))
    house.tell(e.ArrivedAgain(issued(5, qos=0), {"other"}))
    assert one.take() == []
    assert payloads(other.take()) == [("4", 1, False)]


def test_groups_of_a_node() -> None:
    house, one = node("$share/g/t/+", "t/x", "$share/h/#")
    assert sorted(house.broker.groups("t/x")) == ["$share/g/t/+", "$share/h/#"]
    assert house.broker.groups("t") == ["$share/h/#"]
    assert house.broker.has_taker("$share/g/t/+", b"t/x", 0)
    assert not house.broker.has_taker("$share/g/t/+", b"t", 0)
    one.vanish()
    assert not house.broker.has_taker("$share/g/t/+", b"t/x", 0)
    assert house.broker.has_taker("$share/g/t/+", b"t/x", 1)
    figures = house.broker.figures
    assert (figures.subscriptions, figures.shared_subscriptions) == (3, 2)


def test_shared_subscriptions_are_counted() -> None:
    house = House(QUIET)
    one = house.greeted("one", V5)
    one.say(p.Subscribe(1, (p.Request("$share/g/t", 0), p.Request("t", 0), p.Request("u", 0))))
    one.say(p.Unsubscribe(2, ("t",)))
    figures = house.broker.figures
    assert (figures.subscriptions, figures.shared_subscriptions) == (2, 1)
    one.say(p.Unsubscribe(2, ("$share/g/t",)))
    assert (figures.subscriptions, figures.shared_subscriptions) == (1, 0)


SAID = 5, Publication(b"t", b"said").content()


def said_elsewhere(payload: bytes = b"said") -> tuple[bytes, ...]:
    """A session whose client has published with QoS 2, and has not released it."""
    there, far = node()
    far.say(p.Publish("t", payload, 2, packet_id=5))
    return there.broker.export("c")


@pytest.mark.parametrize(
    ("name", "payload", "dup"), [("t", "said", False), ("t", "other", True), ("t/u", "said", True), ("t", "said", True)]
)
@pytest.mark.parametrize("moved", [False, True])
def test_an_identifier_that_comes_after_the_client_is_of_what_is_said_again(
    name: str, payload: str, dup: bool, moved: bool
) -> None:
    """The client may have released it here; under the same one it says something else then, wherever it is."""
    house, one = node("t/#")
    house.tell(e.SessionArrived(said_elsewhere(), known=frozenset()))
    if moved:
        records = house.broker.export("c")
        house, one = node("t/#")
        house.tell(e.SessionArrived(records))
    is_known = (name, payload, dup) == ("t", "said", True)
    heard = one.say(p.Publish(name, payload.encode(), 2, False, dup, 5))
    assert [each.packet_id for each in heard if isinstance(each, p.Pubrec)] == [5]
    assert payloads(heard) == ([] if is_known else [(payload, 2, False)])
    assert payloads(one.say(p.Publish(name, payload.encode(), 2, False, False, 5))) == [], "it is not released"


@pytest.mark.parametrize("way", ["here", "restarted", "moved"])
@pytest.mark.parametrize("said", [b"said", b"other"])
def test_an_identifier_that_comes_from_two_nodes_is_of_what_either_has(said: bytes, way: str) -> None:
    """Nobody knows which of the two the client has released."""
    house, one = node("t")
    for payload in (b"said", b"other"):
        house.tell(e.SessionArrived(said_elsewhere(payload), known=frozenset()))
    if way == "restarted":
        house.restart()
        one = enter(house)
    elif way == "moved":
        records = house.broker.export("c")
        house, one = node("t")
        house.tell(e.SessionArrived(records))
    assert payloads(one.say(p.Publish("t", said, 2, False, True, 5))) == []
    [known] = [(each.content, each.others) for each in house.restored().session("c").received.values()]
    assert known == (Publication(b"t", said).content(), frozenset())
    assert one.say(p.Pubrel(5)) == [p.Pubcomp(5)]
    assert house.restored().session("c").received == {}


@pytest.mark.parametrize("said", [b"said", b"other"])
def test_an_identifier_that_is_to_come_is_of_what_another_node_has_too(said: bytes) -> None:
    house, one = node("t")
    house.tell(e.SessionArrived(said_elsewhere(b"other"), known=frozenset()))
    house.tell(e.SessionComing("c", (SAID,), late=True))
    assert payloads(one.say(p.Publish("t", said, 2, False, True, 5))) == []


def test_an_identifier_that_is_known_to_be_in_doubt_is_not_noted_again() -> None:
    house, _ = node("t")
    house.tell(e.SessionComing("c", (SAID,), late=True))
    records = len(house.records)
    house.tell(e.SessionComing("c", (SAID,), late=True))
    assert len(house.records) == records


def test_an_identifier_that_comes_after_the_client_is_of_what_has_come_under_it_here() -> None:
    house, one = node("t")
    one.say(p.Publish("t", b"5", 2, False, False, 5))
    house.tell(e.SessionArrived(said_elsewhere(), known=frozenset()))
    assert payloads(one.say(p.Publish("t", b"5", 2, False, False, 5))) == []


@pytest.mark.parametrize(
    ("event", "left"),
    [
        (lambda: e.SessionArrived(said_elsewhere(), known=None), [5]),
        (lambda: e.SessionArrived(said_elsewhere(), known=frozenset()), []),
        (lambda: e.SessionComing("c", (SAID,)), [5]),
        (lambda: e.SessionComing("c", (SAID,), late=True), []),
    ],
)
@pytest.mark.parametrize("said", ["nothing", "again", "other"])
def test_an_identifier_that_came_before_the_client_is_forgotten_when_it_leaves(
    event, left: list[int], said: str
) -> None:
    """The client begins with what it has not released: what it has not said again by then it has released."""
    house, one = node()
    house.tell(event())
    say_other(one)
    one.vanish()
    assert list(house.broker.session("c").received) == [5], "it may have said it after it was at this connection"
    one = enter(house)
    if said == "again":
        one.say(p.Publish("t", b"said", 2, False, True, 5))
    elif said == "other":
        say_other(one)
    one.vanish()
    left = left if said == "other" else [5]
    assert list(house.broker.session("c").received) == left
    assert list(house.restored().session("c").received) == left
    one = enter(house)
    heard = one.say(p.Publish("t", b"said", 2, False, True, 5))
    assert [type(each) for each in heard] == [p.Pubrec]


def say_other(client) -> None:
    client.say(p.Publish("t", b"other", 2, packet_id=6))
    client.say(p.Pubrel(6))


def test_an_identifier_that_a_client_may_have_released_does_not_count_as_open() -> None:
    house = House(replace(LINKED, receive_maximum=1))
    one = enter(house)
    house.tell(e.SessionComing("c", (SAID,), late=True))
    assert [type(each) for each in one.say(p.Publish("t", b"other", 2, packet_id=6))] == [p.Pubrec]
    assert [each.reason for each in one.say(p.Publish("t", b"more", 2, packet_id=7))] == [
        Reason.RECEIVE_MAXIMUM_EXCEEDED
    ]


def test_what_a_client_has_said_where_its_session_is_to_come_from_is_no_news() -> None:
    house, one = node("t")
    house.tell(e.SessionComing("c", (SAID,)))
    house.tell(e.SessionComing("stranger", (SAID,)))
    assert list(house.restored().session("c").received) == [5]
    heard = one.say(p.Publish("t", b"said", 2, False, True, 5))
    assert [type(each) for each in heard] == [p.Pubrec]
    assert one.say(p.Pubrel(5)) == [p.Pubcomp(5)]
    assert payloads(one.say(p.Publish("t", b"5", 2, False, False, 5))) == [("5", 2, False)]


def test_what_a_client_was_sent_where_its_session_is_to_come_from_is_not_sent_here() -> None:
    """Nor does it wait here; when the session has come, it goes on as it was there."""
    there, far = node("t")
    arrive(there, issued(1, 2), issued(2, 2))
    assert payloads(far.take()) == [("1", 2, False), ("2", 2, False)]
    far.say(p.Pubrec(1))
    far.say(p.Pubcomp(1))
    given = frozenset({issued(1).origin, issued(2).origin})
    house, one = node("t")
    one.vanish()
    arrive(house, issued(1, 2), issued(3, 2))
    house.tell(e.SessionComing("c", (), given=given))
    arrive(house, issued(2, 2))
    assert [each.publication.payload for each in house.restored().session("c").queue] == [b"3"]
    one = enter(house)
    assert [each.publication.payload for each in house.broker.session("c").inflight.values()] == [b"3"]
    house.tell(e.SessionArrived(there.broker.export("c"), had=given, known=frozenset()))
    assert payloads(one.take()) == [("2", 2, True)]
    assert not house.broker.session("c").coming


def test_a_client_waits_for_the_network_where_its_session_was_before_a_restart() -> None:
    """Another node may have it by now."""
    house, _ = node("t")
    house.restart()
    house.effects.clear()
    back = house.connect("c", V5, False, properties=KEEP)
    assert [each.client for each in house.effects if type(each) is e.Connecting] == ["c"]
    assert back.take() == []
    house.tell(e.Admitted(back.number))
    assert back.take()[0].session_present


@pytest.mark.parametrize("snapshot", [False, True])
@pytest.mark.parametrize("said", [b"said", b"other"])
def test_after_a_crash_an_identifier_is_of_what_is_said_again(said: bytes, snapshot: bool) -> None:
    """The client may have released it elsewhere; what comes under it then may be something else."""
    house, one = node("t")
    one.say(p.Publish("t", b"said", 2, packet_id=5))
    house.restart(snapshot)
    one = enter(house)
    assert payloads(one.say(p.Publish("t", said, 2, False, True, 5))) == (
        [] if said == b"said" else [("other", 2, False)]
    )


@pytest.mark.parametrize("restarted", [False, True])
def test_an_identifier_is_free_where_another_node_has_had_the_session_since(restarted: bool) -> None:
    """Released there, it is used for something else; said again, it is known."""
    house, one = node("t")
    for packet_id in (5, 6):
        one.say(p.Publish("t", b"old", 2, packet_id=packet_id))
    one.vanish()
    house.tell(e.SessionOutdated("c"))
    house.tell(e.SessionOutdated("stranger"))
    if restarted:
        house.restart()
    one = enter(house)
    assert payloads(one.say(p.Publish("t", b"new", 2, packet_id=5))) == [("new", 2, False)]
    assert payloads(one.say(p.Publish("t", b"old", 2, False, True, 6))) == []


@pytest.mark.parametrize("waits", [False, True])
def test_what_is_under_way_here_and_done_elsewhere_is_not_sent_again(waits: bool) -> None:
    """The client was there, and not here; what waits there has not come to it, and goes on here."""
    there, far = node("t")
    arrive(there, issued(1, 2))
    if not waits:
        far.say(p.Pubrec(1))
        far.say(p.Pubcomp(1))
    house, one = node("t")
    arrive(house, issued(1, 2))
    one.take()
    had = frozenset({issued(1).origin})
    house.tell(e.SessionArrived(there.broker.export("c"), had=had, known=frozenset({"t"})))
    open_here = house.broker.session("c").inflight.values()
    assert [(each.publication.payload, each.released) for each in open_here] == [(b"1", not waits)]


@pytest.mark.parametrize("alone", [False, True])
def test_qos_0_counts_as_given_unless_more_may_wait_elsewhere(alone: bool) -> None:
    house, one = node(p.Request("t", 0))
    session = house.broker.session("c")
    session.alone = alone
    arrive(house, issued(1, 1))
    assert payloads(one.take()) == [("1", 0, False)]
    assert session.knows(issued(1).origin) is not alone


@pytest.mark.parametrize("got", [False, True])
def test_what_waits_there_and_was_sent_here_is_not_sent_again_as_another(got: bool) -> None:
    """The client is not in yet. It goes on where it was here, under the identifier that it knows."""
    there, far = node("t")
    far.vanish()
    arrive(there, issued(1, 2))
    house, one = node("t")
    arrive(house, issued(1, 2))
    packet_id = one.take()[0].packet_id
    if got:
        one.say(p.Pubrec(packet_id))
    one.vanish()
    house.tell(e.SessionArrived(there.broker.export("c"), had=frozenset({issued(1).origin})))
    again = enter_again(house)
    assert again == [p.Pubrel(packet_id)] if got else payloads(again) == [("1", 2, True)]
    assert [each.packet_id for each in again] == [packet_id]


def test_a_retained_message_for_a_new_subscription_is_not_what_waits_elsewhere() -> None:
    """The client has had that here, and gets the retained message besides."""
    there, far = node("t")
    far.vanish()
    arrive(there, replace(issued(1, 2), retain=True))
    house, one = node("t")
    arrive(house, replace(issued(1, 2), retain=True))
    packet_id = one.take()[0].packet_id
    one.say(p.Pubrec(packet_id), p.Pubcomp(packet_id))
    house.broker.session("c").gathering = True
    one.say(p.Subscribe(2, (p.Request("+", 2),)))
    house.tell(e.SessionArrived(there.broker.export("c"), had=frozenset({issued(1).origin}), known=frozenset({"t"})))
    house.tell(e.SessionGathered("c"))
    assert [each.retain for each in one.take() if isinstance(each, p.Publish)] == [True]
