"""What an event leads to, in order, and what waits behind gates."""

from weft.broker.effect import Close, Note, Resume, Send, Unsay
from weft.node.effect import Tell
from weft.node.outbox import HIGH, Outbox
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


def test_no_more_waits_behind_gates_than_a_driver_would_keep():
    outbox = Outbox()
    gate = outbox.shut(1)
    outbox.send(send(1, bytes(HIGH)))
    assert outbox.congestion() == ([], [])
    outbox.send(send(1, b"x"))
    assert outbox.congestion() == ([1], [])
    assert outbox.congestion() == ([], [])
    outbox.open(1, gate)
    assert outbox.congestion() == ([], [1])
    outbox.shut(2)
    outbox.send(send(2, bytes(HIGH + 1)))
    assert outbox.congestion() == ([2], [])
    outbox.drop(2)
    assert outbox.congestion() == ([], [])
