"""Turns: all that the master tells a node at a time, whatever reads make of it.

What the master finishes at a time, of one event or a slice of many, is one turn for each node that is told, and ends
with EndOfTurn; Hello comes before all turns. A node takes a turn as a whole: by half a turn it might know of a filter
and not of its tree, and confirm a version of which it has only a part. Refused ends the connection, and whatever has
begun on it.
"""

from collections.abc import Iterable

from weft.wire.frame import EndOfTurn, Frame, Refused


class TurnReader:
    """Takes the frames of one connection with the master as they come, and gives those of turns that are complete."""

    def __init__(self) -> None:
        self._begun: list[Frame] = []

    def take(self, frames: Iterable[Frame]) -> list[Frame]:
        whole: list[Frame] = []
        for frame in frames:
            if type(frame) is EndOfTurn:
                whole += self._begun
                self._begun = []
            elif type(frame) is Refused:
                whole.append(frame)
                self._begun = []
            else:
                self._begun.append(frame)
        return whole
