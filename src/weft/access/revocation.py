"""Revocations: by name and time. Of a name that is revoked nothing is taken that was issued until then.

Not by certificate: who holds one might have got another for it meanwhile, which nobody has seen. Whatever is issued
later was asked for by who keeps the authority: with a certificate that is taken no more, nobody gets another.

    1763560000 evil     a line of a file: seconds since 1970, name
    0A1B2C              the number of one certificate, as older files have it
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Any

from weft.access.badge import Badge


@dataclass(frozen=True, slots=True)
class Revocations:
    until: Mapping[str, float] = field(default_factory=dict)  # by name, when it was last revoked
    serials: frozenset[str] = frozenset()

    def holds(self, badge: Badge) -> bool:
        """Whether a certificate was revoked."""
        return badge.serial in self.serials or badge.issued <= self.until.get(badge.name, -inf)

    def along_with(self, more: Iterable[tuple[str, float]], since: float) -> "Revocations":
        """These and others, without those before a time: what they were of has expired."""
        until = dict(self.until)
        for name, at in more:
            until[name] = max(at, until.get(name, at))
        return Revocations({name: at for name, at in until.items() if at > since}, self.serials)


def revocation_line(name: str, at: float) -> str:
    return f"{at:.0f} {name}\n"


def write_revocations(revocations: Revocations) -> str:
    return "".join(revocation_line(name, at) for name, at in sorted(revocations.until.items()))


def read_revocations(text: str) -> Revocations:
    """What a file says. A line that is torn is none: who writes says that it is done when all of it is there."""
    rows: list[Any] = [line.split(" ", 1) for line in text.splitlines()]
    named = [(row[1], float(row[0])) for row in rows if len(row) == 2 and row[0].isdecimal() and row[1]]
    return Revocations({}, frozenset(row[0] for row in rows if len(row) == 1)).along_with(named, -inf)
