"""Readings of who may send where on the ring: what the papers leave open of Po, Pal, Pie, Scribe and iScribe.

As printed (BeaConvey, Protocol 4) `send` takes the best of a node's own fingers by the clockwise distance. But the
overlay is defined as an undirected graph (section 3.2), and the distance may as well be the absolute one, the minimum
of both directions (footnote 1 of BeaConvey and of NSMF).

Over a node's own fingers alone the absolute distance does not route: all of them lead clockwise, so what has passed its
target never comes back, and on most overlays it circles for ever. With links both ways a node is joined with its
successor and its predecessor, one of which is nearer to any target than the node itself: each hop comes nearer.
"""

from dataclasses import asdict, dataclass
from typing import Literal, get_args

from weft.errors import WeftError

Ends = Literal["own", "both"]
Distance = Literal["clockwise", "absolute"]
Pivots = Literal["own", "neighbours"]


@dataclass(frozen=True, slots=True)
class Forwarding:
    """A reading of the papers' routing; the default is what they print."""

    links: Ends = "own"  # a message is sent over own fingers, or over fingers from both of their ends
    distance: Distance = "clockwise"  # or the least of both directions, which needs links from both ends
    pivots: Pivots = "own"  # next hops and pivots are own fingers, or also the nodes that have a finger to this one

    def __post_init__(self) -> None:
        for option, kind in (("links", Ends), ("distance", Distance), ("pivots", Pivots)):
            value, choices = getattr(self, option), get_args(kind)
            if value not in choices:
                raise WeftError(f"`{option}` {value} is unknown: choose {' or '.join(choices)}.", option)
        if self.links == "own" and self.distance == "absolute":
            raise WeftError(
                "`distance` absolute needs `links` both: own fingers lead clockwise only, so a message that has passed "
                "its target would circle for ever.",
                "distance",
                "links",
            )

    @property
    def columns(self) -> dict[str, str]:
        """Options and their values, as results have them."""
        return asdict(self)


AS_PRINTED = Forwarding()
