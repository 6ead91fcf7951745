"""Rights: who may publish and subscribe where, in the words of Mosquitto's `acl_file`.

    # a comment
    topic read news/#                   before any `user`: clients without a name
    user alice
    topic readwrite home/#              read, write, readwrite (also where nothing is said) or deny
    topic deny home/safe
    pattern readwrite devices/%u/%c/#   of every user; %u is the user, %c the client id, each a whole level

What is not granted is denied, and `deny` wins over any grant. A name is written where a grant matches it.

A filter is subscribed to where one grant covers all of it and no `deny` touches it, so that what may not be read is
refused when it is asked for. Mosquitto grants such a subscription and leaves out what may not be read at delivery. That
costs a look for each publication and receiver; and what is retained, shared or comes later would each need its own.

A user or client id with `/`, `+`, `#` or a `$` in front could make a pattern cover more than was meant
(CVE-2017-7650 of Mosquitto). Users with such a name are not made, and clients with such an id are refused where a
pattern has %c.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import IntFlag

from weft.access.filter import covers, overlaps
from weft.access.name import is_level, is_user
from weft.errors import WeftError
from weft.wire.mqtt.topic import is_filter, is_shared, matches, split_shared


class Access(IntFlag):
    DENY = 0
    READ = 1
    WRITE = 2
    READWRITE = 3


@dataclass(frozen=True, slots=True)
class Grant:
    access: Access
    filter: str

    def filled(self, user: str, client: str) -> "Grant":
        level = {"%u": user, "%c": client}
        return Grant(self.access, "/".join(level.get(one, one) for one in self.filter.split("/")))


@dataclass(frozen=True, slots=True)
class Granted:
    """What holds for one client."""

    allowed: tuple[Grant, ...] = ()
    denied: tuple[str, ...] = ()

    def may_write(self, name: str) -> bool:
        if any(matches(one, name) for one in self.denied):
            return False
        return any(one.access & Access.WRITE and matches(one.filter, name) for one in self.allowed)

    def may_read(self, pattern: str) -> bool:
        """Whether all that a filter, shared or not, or a name stands for may be read."""
        parts = split_shared(pattern) if is_shared(pattern) else None
        inner = pattern if parts is None else parts[1]
        if any(overlaps(one, inner) for one in self.denied):
            return False
        return any(one.access & Access.READ and covers(one.filter, inner) for one in self.allowed)


@dataclass(frozen=True, slots=True)
class Rights:
    users: dict[str, tuple[Grant, ...]] = field(default_factory=dict)  # "" has no name
    patterns: tuple[Grant, ...] = ()

    @property
    def names_clients(self) -> bool:
        """Whether a client id gives rights."""
        return any("%c" in one.filter.split("/") for one in self.patterns)

    def of(self, user: str, client: str) -> Granted:
        every = [*self.users.get(user, ()), *self._filled(user, client)]
        denied = tuple(one.filter for one in every if not one.access)
        return Granted(tuple(one for one in every if one.access), denied)

    def _filled(self, user: str, client: str) -> Iterable[Grant]:
        for one in self.patterns:
            levels = one.filter.split("/")
            if ("%u" not in levels or user) and ("%c" not in levels or is_level(client)):
                yield one.filled(user, client)


def read_rights(text: str, where: str = "The rights") -> Rights:
    users: dict[str, list[Grant]] = {}
    patterns: list[Grant] = []
    user = ""
    for number, line in enumerate(text.splitlines(), 1):
        keyword, _, rest = line.strip().partition(" ")
        rest = rest.strip()
        if not keyword or keyword.startswith("#"):
            continue
        if keyword == "user" and is_user(rest):
            user = rest
            users.setdefault(user, [])
        elif keyword == "topic":
            users.setdefault(user, []).append(_grant(rest, f"{where}, line {number}", filled=False))
        elif keyword == "pattern":
            patterns.append(_grant(rest, f"{where}, line {number}", filled=True))
        else:
            raise WeftError(
                f"{where}, line {number}, is {line.strip()!r}: give one that begins with user, topic or pattern."
            )
    return Rights({name: tuple(grants) for name, grants in users.items()}, tuple(patterns))


def _grant(text: str, where: str, filled: bool) -> Grant:
    word, _, rest = text.partition(" ")
    known = word.upper() in Access.__members__ and word.islower() and bool(rest)
    access, pattern = (Access[word.upper()], rest.strip()) if known else (Access.READWRITE, text)
    if not is_filter(pattern) or is_shared(pattern):
        raise WeftError(f"{where}, has {pattern!r} for a filter: give one like home/# or home/+/door.")
    for level in pattern.split("/") if filled else ():
        if level not in ("%u", "%c") and ("%u" in level or "%c" in level):
            raise WeftError(f"{where}, has {level!r} for a level: %u and %c stand for whole levels only.")
    return Grant(access, pattern)
