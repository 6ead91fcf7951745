"""Routers by name."""

from collections.abc import Callable

from weft.errors import WeftError
from weft.protocol.convey import Pal, Pie, Po
from weft.protocol.finger import FingerTable
from weft.protocol.router import Membership, Router
from weft.protocol.scribe import IScribe, Scribe
from weft.protocol.weave import Weave

CONVEY: dict[str, type[Po]] = {"po": Po, "pal": Pal, "pie": Pie}
RENDEZVOUS: dict[str, type[Scribe] | type[IScribe]] = {"scribe": Scribe, "iscribe": IScribe}
WEAVE = "weave"
ROUTERS = (*CONVEY, *RENDEZVOUS, WEAVE)


def require_router(name: str) -> None:
    if name not in ROUTERS:
        raise WeftError(f"There is no router {name!r}: choose one of {', '.join(ROUTERS)}.")


def make_router(
    name: str, node: int, fingers: FingerTable, membership: Membership, rendezvous: Callable[[int], int]
) -> Router:
    """A router on the ring. That of Weave has no tables yet."""
    require_router(name)
    if name == WEAVE:
        return Weave(node, membership, fingers)
    if name in CONVEY:
        return CONVEY[name](node, fingers, membership)
    return RENDEZVOUS[name](node, fingers, membership, rendezvous)
