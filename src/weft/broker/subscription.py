"""What a session wants of a name: one subscription, or all that match taken together.

Where filters of a session overlap, it gets one copy, with the highest QoS of them and all their identifiers, which
both standards allow. A publication of its own is judged without the subscriptions that are "no local".
"""

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from weft.broker.session import Session


@dataclass(frozen=True, slots=True)
class Subscription:
    filter: str  # as the client wrote it, $share/ included
    qos: int = 0
    no_local: bool = False
    retain_as_published: bool = False
    retain_handling: int = 0
    identifier: int = 0  # 0 is none
    kind: int | str = field(init=False, compare=False)  # beside one of its kind it changes nothing

    def __post_init__(self) -> None:
        options = self.qos | self.no_local << 2 | self.retain_as_published << 3
        object.__setattr__(self, "kind", self.filter if self.identifier else options)

    @property
    def options(self) -> int:
        """The byte of SUBSCRIBE."""
        return self.qos | self.no_local << 2 | self.retain_as_published << 3 | self.retain_handling << 4

    @classmethod
    def of(cls, pattern: str, options: int, identifier: int) -> "Subscription":
        return cls(pattern, options & 3, bool(options & 4), bool(options & 8), options >> 4, identifier)


class Target:
    """A session that gets what is published on a name, and how."""

    __slots__ = ("_foreign", "has_no_local", "identifiers", "qos", "retain_as_published", "session")

    def __init__(self, session: "Session", held: Collection[Subscription]) -> None:
        self.session = session
        self.qos = max((one.qos for one in held), default=0)
        self.retain_as_published = any(one.retain_as_published for one in held)
        self.identifiers = tuple(one.identifier for one in held if one.identifier)
        self.has_no_local = any(one.no_local for one in held)  # its own publications are another matter
        foreign = [one for one in held if not one.no_local] if self.has_no_local else []
        self._foreign = Target(session, foreign) if foreign else None

    @property
    def own(self) -> "Target | None":
        """Target of its own publications; not kept where it is the same, for only a collector frees a circle."""
        return self._foreign if self.has_no_local else self

    def key(self) -> tuple[object, ...]:
        """Equal for targets that get the same in the same way."""
        foreign = None if self._foreign is None else self._foreign.key()
        connection = self.session.connection
        number = connection.number if connection is not None else 0
        return (
            *(self.session.serial, number, self.qos, self.retain_as_published, self.identifiers),
            *(self.has_no_local, foreign),
        )
