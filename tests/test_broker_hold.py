"""Why clients are not heard: for several reasons at a time, and until the last is gone."""

from weft.broker.connection import Connection
from weft.broker.hold import Holds


def made(*numbers: int) -> tuple[dict[int, Connection], list[int], Holds]:
    connections = {number: Connection(number, 0.0) for number in numbers}
    freed: list[int] = []
    return connections, freed, Holds(connections, lambda one: freed.append(one.number))


def test_a_connection_is_held_from_the_first_reason_to_the_last() -> None:
    connections, freed, holds = made(1, 2)
    for reason in ("a", "b", "a"):
        holds.hold(1, reason)
    holds.hold(2, "b")
    assert [one.holds for one in connections.values()] == [2, 1]
    for number, reason in ((1, "c"), (9, "a"), (1, "a"), (1, "a")):
        holds.free(number, reason)
    assert freed == []
    holds.release("b")
    assert freed == [1, 2]
    holds.hold(1, "a")
    holds.drop(connections[1])
    assert not connections[1].holds
    holds.release("a")
    assert freed == [1, 2, 1]
    assert not holds._held


def test_who_has_gone_is_not_held() -> None:
    connections, freed, holds = made(1)
    holds.hold(2, "a")
    connections[1].closing = True
    holds.hold(1, "a")
    holds.release("a")
    assert freed == []
