"""Passwords that wait to be checked.

A check keeps a processor busy for an eighth of a second, so only some are made at a time, and the others wait.
Addresses take turns, however many checks each waits for; on the loopback, where all may come through one proxy, users
do. One thread is always left to others.

Where no more may wait, the newest check of whoever waits for most is refused, so that nobody who waits for few is shut
out by others. A check whose connection has gone is not begun.
"""

from dataclasses import dataclass

from weft.access.guard import Guard, Question
from weft.broker.connection import Connection
from weft.broker.effect import CheckPassword
from weft.broker.outbox import Outbox

AT_ONCE = 2  # checks that are made at a time: threads that a driver has for them, of 16 MiB each


@dataclass(frozen=True, slots=True)
class Check:
    connection: Connection
    question: Question


class Checks:
    def __init__(self, outbox: Outbox, guard: Guard) -> None:
        self._outbox = outbox
        self._guard = guard
        self._waiting: dict[str, dict[int, Check]] = {}  # by who takes turns, the next first; then by connection
        self._begun: dict[int, Check] = {}  # by connection

    def add(self, connection: Connection, question: Question) -> Check | None:
        """Have a password checked. The check that has to go for it, which may be this one."""
        self._waiting.setdefault(question.turn, {})[connection.number] = Check(connection, question)
        gone = self._crowd_out(question.turn) if self._number > self._guard.most_checks else None
        self._begin()
        return gone

    def leave(self, connection: Connection) -> None:
        """The connection has gone: its check is not begun, if it has not been."""
        question = connection.question
        if question is not None and connection.number in self._waiting.get(question.turn, ()):
            self._drop(self._take(question.turn, connection.number))

    def end(self, connection: int) -> Check:
        """A check has been made: the next is begun."""
        check = self._begun.pop(connection)
        self._begin()
        return check

    @property
    def _number(self) -> int:
        return len(self._begun) + sum(map(len, self._waiting.values()))

    def _crowd_out(self, turn: str) -> Check:
        """Take away the newest check of whoever waits for most; among equals, of who has just come."""
        most = max(self._waiting, key=lambda one: (len(self._waiting[one]), one == turn))
        check = self._take(most, next(reversed(self._waiting[most])))
        self._drop(check)
        return check

    def _begin(self) -> None:
        while len(self._begun) < AT_ONCE and (turn := self._next()) is not None:
            check = self._take(turn, next(iter(self._waiting[turn])))
            if turn in self._waiting:
                self._waiting[turn] = self._waiting.pop(turn)  # behind the others
            if check.connection.closing:
                self._drop(check)
                continue
            self._begun[check.connection.number] = check
            self._outbox.add(CheckPassword(check.connection.number, check.question.password, check.question.kept))

    def _next(self) -> str | None:
        """The next turn. Nobody has all threads, so that others who come need not wait for one."""
        under_way = {check.question.turn for check in self._begun.values()}
        most = len(self._begun) == AT_ONCE - 1 and len(under_way) == 1
        return next((turn for turn in self._waiting if not (most and turn in under_way)), None)

    def _take(self, turn: str, connection: int) -> Check:
        waiting = self._waiting[turn]
        check = waiting.pop(connection)
        if not waiting:
            del self._waiting[turn]
        return check

    def _drop(self, check: Check) -> None:
        self._guard.withdraw(check.connection.visitor)
