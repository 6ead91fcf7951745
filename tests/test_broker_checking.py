"""Passwords that wait to be checked: nobody shuts others out, and nothing is checked for who has gone."""

from dataclasses import replace

import pytest

from broker_client import QUIET, V5, Client, House
from test_broker_access import ACCESS, FAR
from weft.access.guard import Guard, Visitor
from weft.access.limit import Limits
from weft.broker import effect as e
from weft.broker.checking import AT_ONCE
from weft.broker.effect import Effect
from weft.wire.mqtt import packet as p
from weft.wire.mqtt.reason import Reason

NEAR = Visitor("127.0.0.1", anonymous=False)
ENOUGH = Limits(failures=1000)


class SlowHouse(House):
    """Passwords are checked when `check` is called, one at a time."""

    def __init__(self, limits: Limits | None = None) -> None:
        self.asked: list[e.CheckPassword] = []
        super().__init__(QUIET, guard=Guard(ACCESS, limits, b"key"))

    def _carry_out(self, effects: list[Effect]) -> None:
        self.asked += [one for one in effects if isinstance(one, e.CheckPassword)]
        super()._carry_out([one for one in effects if not isinstance(one, e.CheckPassword)])

    def knock(self, visitor: Visitor = FAR, user: str = "nobody", password: bytes = b"guess") -> Client:
        made = self.open(V5, visitor)
        made.heard = made.say(p.Connect("", V5, username=user, password=password))
        return made

    def check(self) -> None:
        one = self.asked.pop(0)
        self.tell(e.PasswordChecked(one.connection, one.kept.matches(one.password)))

    def check_all(self) -> int:
        checks = 0
        while self.asked:
            self.check()
            checks += 1
        return checks


def address(number: int) -> Visitor:
    return replace(FAR, host=f"192.0.2.{number}")


def code(client: Client) -> int | None:
    """What CONNACK says, if it has come."""
    return next((one.code for one in client.heard if isinstance(one, p.Connack)), None)


def test_no_more_are_checked_at_a_time_than_there_are_threads() -> None:
    house = SlowHouse(ENOUGH)
    for number in range(5):
        house.knock(address(number))
    assert len(house.asked) == AT_ONCE
    assert house.check_all() == 5


def test_one_thread_is_left_to_others() -> None:
    """However many one address waits for, another is not behind a check that has begun."""
    house = SlowHouse(ENOUGH)
    for _ in range(5):
        house.knock()
    assert len(house.asked) == AT_ONCE - 1
    alice = house.knock(address(2), "alice", b"secret")
    assert house.asked[-1].connection == alice.number
    house.tell(e.PasswordChecked(house.asked.pop().connection, True))
    assert code(alice) == 0
    assert len(house.asked) == AT_ONCE - 1
    assert house.check_all() == 5


def test_who_guesses_a_lot_at_once_does_not_shut_others_out() -> None:
    """Three hundred connections of one address, and one of another."""
    house = SlowHouse()
    many = [house.knock() for _ in range(300)]
    assert len([one for one in many if code(one) == Reason.CONNECTION_RATE_EXCEEDED]) > 290
    alice = house.knock(address(2), "alice", b"secret")
    for _ in range(AT_ONCE + 2):
        house.check()
    assert code(alice) == 0


@pytest.mark.parametrize("visitor", [FAR, NEAR])
def test_whoever_waits_for_most_makes_room(visitor: Visitor) -> None:
    """Users take turns on the loopback, where all may come through one proxy."""
    house = SlowHouse(replace(ENOUGH, password_checks=10))
    many = [house.knock(visitor) for _ in range(12)]
    assert [code(one) for one in many] == [None] * 10 + [Reason.SERVER_BUSY] * 2
    alice = house.knock(visitor if visitor is NEAR else address(2), "alice", b"secret")
    assert code(alice) is None
    assert code(many[9]) == Reason.SERVER_BUSY
    assert many[9].closed
    for _ in range(AT_ONCE + 2):
        house.check()
    assert code(alice) == 0
    assert house.check_all() == 6


def test_addresses_take_turns() -> None:
    house = SlowHouse(ENOUGH)
    waiting = {house.knock(address(number)).number: number for number in (1, 1, 1, 1, 2, 2, 3)}
    order = []
    while house.asked:
        order.append(waiting[house.asked[0].connection])
        house.check()
    assert order == [1, 2, 1, 2, 3, 1, 1]


def test_nothing_is_checked_for_connections_that_are_gone() -> None:
    house = SlowHouse(ENOUGH)
    for one in [house.knock() for _ in range(200)]:
        one.vanish()
    alice = house.knock(FAR, "alice", b"secret")
    assert len(house.asked) == AT_ONCE - 1
    for _ in range(AT_ONCE):
        house.check()
    assert code(alice) == 0
    assert house.asked == []


def test_connections_that_are_gone_take_no_place_of_those_that_wait() -> None:
    house = SlowHouse(replace(ENOUGH, password_checks=10))
    for one in [house.knock() for _ in range(10)]:
        one.vanish()
    assert [code(house.knock()) for _ in range(9)] == [None] * 9


def test_nothing_is_checked_for_connections_that_are_being_closed() -> None:
    house = SlowHouse(ENOUGH)
    for _ in range(5):
        house.knock()
    house.tell(e.Stopping())
    assert house.check_all() == AT_ONCE - 1


def test_what_is_checked_counts_as_failed_until_it_is_right() -> None:
    house = SlowHouse(Limits(failures=3))
    clients = [house.knock(user="alice", password=b"secret") for _ in range(5)]
    assert [code(one) for one in clients] == [None] * 4 + [Reason.CONNECTION_RATE_EXCEEDED]
    assert house.check_all() == 4
    assert [code(one) for one in clients[:4]] == [0] * 4
    assert code(house.knock(user="bob", password=b"secret")) is None


def test_what_was_not_checked_after_all_is_no_failure() -> None:
    house = SlowHouse(Limits(failures=3))
    busy = [house.knock(address(2 + number)) for number in range(AT_ONCE)]
    assert len(house.asked) == len(busy)
    for _ in range(20):
        house.knock().vanish()
    assert code(house.knock()) is None


def test_a_failure_counts_though_its_connection_has_gone() -> None:
    """Else one would hang up before the answer."""
    house = SlowHouse(Limits(failures=3))
    for _ in range(4):
        house.knock().vanish()
        house.check_all()
    assert code(house.knock()) == Reason.CONNECTION_RATE_EXCEEDED


def test_others_of_an_address_under_way_still_count_when_one_is_right() -> None:
    house = SlowHouse(Limits(failures=3))
    house.knock(user="alice", password=b"secret")
    for _ in range(3):
        house.knock()
    house.check()
    assert code(house.knock()) is None
    assert code(house.knock()) == Reason.CONNECTION_RATE_EXCEEDED
