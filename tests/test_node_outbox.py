"""What an event leads to, in order: connections held for several reasons, and what waits behind gates."""

from weft.broker.effect import Close, Hold, Note, Resume, Send, Unsay
from weft.node.effect import Tell
from weft.node.outbox import Outbox
from weft.wire.frame import Ping


def send(connection: int, data: bytes) -> Send:
    return Send(connection, data)


def test_effects_are_in_order_and_told_once():
    outbox = Outbox()
    outbox.tell(3, Ping(1))
    outbox.note("event", "client", "detail")
    outbox.add(Resume(5))
    outbox.send(send(1, b"x"))
    assert outbox.flush() == [Tell(3, Ping(1)), Note("event", 0, "client", "detail"), Resume(5), send(1, b"x")]
    assert outbox.flush() == []


def test_what_waits_behind_gates_can_be_taken_back():
    outbox = Outbox()
    first, second = outbox.shut(1), outbox.shut(1)
    outbox.send(send(1, b"x"))
    outbox.unsay(Unsay(1))
    outbox.send(send(1, b"goodbye"))
    outbox.send(Close(1))
    outbox.open(1, first)
    outbox.open(1, second)
    assert outbox.flush() == [Unsay(1), send(1, b"goodbye"), Close(1)]


def test_a_connection_is_held_from_the_first_reason_to_the_last():
    outbox = Outbox()
    for reason in ("a", "b", "a"):
        outbox.hold(1, reason)
    outbox.hold(2, "b")
    assert outbox.flush() == [Hold(1), Hold(2)]
    outbox.resume(1, "c")
    outbox.resume(9, "a")
    outbox.resume(1, "a")
    assert outbox.flush() == []
    outbox.release("b")
    assert outbox.flush() == [Resume(1), Resume(2)]
    outbox.hold(1, "a")
    assert outbox.flush() == [Hold(1)]
    outbox.drop(1)
    outbox.resume(1, "a")
    assert outbox.flush() == []


def test_what_is_sent_waits_for_its_gate_and_those_before_it():
    outbox = Outbox()
    first = outbox.shut(1)
    outbox.send(send(1, b"behind the first"))
    outbox.send(send(2, b"another"))
    second = outbox.shut(1)
    outbox.send(Close(1))
    assert outbox.flush() == [send(2, b"another")]
    outbox.open(1, second)
    assert outbox.flush() == []
    outbox.open(1, first)
    assert outbox.flush() == [send(1, b"behind the first"), Close(1)]
    assert outbox.gates == {}
    outbox.shut(1)
    outbox.drop(1)
    outbox.send(send(1, b"x"))
    assert outbox.flush() == [send(1, b"x")]
