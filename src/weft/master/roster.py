"""Nodes that belong to the network: a node is known by its name, and has its number for as long as the name is known.

A number is never given to another name, also when its node is removed: publications are numbered by their issuers.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import Any

from weft.errors import WeftError
from weft.master.belief import NUMBERS
from weft.master.record import Record


class State(StrEnum):
    JOINING = "joining"  # it has said so, and waits for its place
    UP = "up"
    DOWN = "down"  # it has failed or been stopped, and is owed what its persistent sessions subscribe to


@dataclass(frozen=True, slots=True)
class Member:
    name: str
    number: int
    incarnation: int
    address: str  # where other nodes reach it
    mqtt: tuple[str, ...]  # where clients do
    state: State
    ring_id: int | None = None
    down_since: float | None = None  # seconds since 1970; None where it is not down, or went while no master was there

    def record(self) -> Record:
        return Record("node", self.name, {**asdict(self), "state": str(self.state)})


def member_of(value: dict[str, Any]) -> Member:
    """The member of a record, which is down until it is heard of."""
    return Member(**{**value, "mqtt": tuple(value["mqtt"]), "state": State.DOWN})


class Roster:
    def __init__(self) -> None:
        self.next_number = 0
        self._by_name: dict[str, Member] = {}
        self._by_number: dict[int, Member] = {}

    def __iter__(self) -> Iterator[Member]:
        """Members in the order of their numbers."""
        return iter(sorted(self._by_name.values(), key=lambda member: member.number))

    def __contains__(self, number: int) -> bool:
        return number in self._by_number

    def __getitem__(self, number: int) -> Member:
        return self._by_number[number]

    def called(self, name: str) -> Member | None:
        return self._by_name.get(name)

    def named(self, name: str) -> Member:
        member = self.called(name)
        if member is None:
            known = ", ".join(sorted(self._by_name)[:10]) or "none yet"
            raise WeftError(f"There is no node {name!r}: there are {known}.")
        return member

    def keep(self, member: Member) -> None:
        """A member as it is from now on."""
        self._by_name[member.name] = self._by_number[member.number] = member
        self.next_number = max(self.next_number, member.number + 1)

    def change(self, number: int, **changes: Any) -> Member:
        member = replace(self._by_number[number], **changes)
        self.keep(member)
        return member

    def number_for(self, name: str, known: int) -> int:
        """The number of a name; `known` is what the node has in its folder, or -1.

        A master that has lost its store takes the numbers that nodes know, where nobody else has them.
        """
        member = self.called(name)
        if member is not None:
            return member.number
        if 0 <= known < NUMBERS and known not in self._by_number:
            self.next_number = max(self.next_number, known + 1)
            return known
        self.next_number += 1
        return self.next_number - 1

    def remove(self, number: int) -> Member:
        member = self._by_number.pop(number)
        del self._by_name[member.name]
        return member
