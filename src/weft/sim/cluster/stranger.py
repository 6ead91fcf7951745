"""A node that means no good, or is not itself any more: it joins as others do, is linked with those that the master
names, and then does what it likes. Everything that it sends can be read for what it is; nothing of it can be relied on.

A mute one answers and says nothing more: it applies nothing, and passes nothing on. A boasting one says all that nodes
may say, with numbers that nobody would have (`exaggerated`), to the master and to its peers; among them are those that
no frame may have.

It holds filters, and has sessions, of names that nobody else uses: what a stolen node can take from its own clients, or
can forge, is no promise that could be broken (docs/security.md).
"""

from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from math import inf, nan
from random import Random
from struct import error
from typing import TYPE_CHECKING, Any

from weft.sim.cluster.wire import End, Wire
from weft.wire import content
from weft.wire import frame as w
from weft.wire.frame_codec import FrameReader, encode, encode_body
from weft.wire.frame_field import FrameError
from weft.wire.turn import TurnReader

if TYPE_CHECKING:
    from weft.sim.cluster.cluster import Cluster

RETRY = 0.3  # seconds between attempts to connect
BOAST = 0.1  # seconds between two boasts
NAME = "$strange/x"  # of its own: no filter of others matches it
CLIENT = "strange"
NUMBERS = (0, 1, 2, 255, 2**16, 2**31 - 1, 2**31, 2**32 - 1, 2**48, 2**48 + 1, 2**62, 2**62 + 1, 2**63, 2**64 - 1)
REALS = (0.0, -1.0, 1e-300, 86_400_000.0, 1e15, 1e300, inf, nan)

CONTENT = content.encode(content.Content(NAME.encode(), b"boast"))
OWNED = w.Owned(CLIENT, 5, 4, (w.Subscribed(NAME, 1),))
TO_MASTER: list[w.Frame] = [
    w.Interest(1, (w.Held(NAME, 1, False),)),
    w.Interest(2, (w.Held(f"{NAME}/#", 1, False),)),
    w.Interest(3, (w.Held(f"$share/strange/{NAME}", 1, False),)),
    w.Applied(1),
    w.Confirm(1),
    w.SessionOwned(OWNED),
    w.SessionEnded(CLIENT, 1),
    w.FindWay(NAME),
    w.ForgetWays((NAME, "a")),
    w.FindSession(CLIENT, 1),
    w.SessionGathered(CLIENT, 1),
    w.LinkLost(0),
    w.LinkMade(0, 1.0),
    w.Measured(((NAME, 1, 1),), ((0, 1.0),), (("connected", 1),)),
    w.Traced(1, 0, 1, 1.0, 1),
]
TO_PEERS: list[w.Frame] = [
    w.Carry((w.Message(w.Form.WOVEN, w.topic_of(NAME), 9, 9, 1, 1, CONTENT),)),
    w.Carry((w.Message(w.Form.RANGED, 1, 9, 9, 2, 1, CONTENT, low=1, high=9),)),
    w.Acked(((2**40, 2**50),), (w.Trouble(2**41, (1,), True, True),)),
    w.Routed(0, 1, 9, 1, 1, encode_body(w.FetchSession(CLIENT, 1, 1, False, True))),
    w.Routed(0, 1, 9, 1, 1, encode_body(w.SessionComing(CLIENT, 1, ((1, 1),), True, ((1, 1, 1),)))),
    w.Routed(0, 1, 9, 1, 1, encode_body(w.SessionMoved(CLIENT, 1, 0, True, (), ((1, 1, 1),)))),
    w.RetainedDigest((1, 2)),
    w.RetainedSync((1, 2), (), True),
    w.Graft(w.topic_of(NAME), True),
    w.Grafted(w.topic_of(NAME), True),
    w.Ungrafted(w.topic_of(NAME)),
]


def exaggerated(value: Any, random: Random) -> Any:
    """A frame with another number in one place, or another value."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return random.choice(NUMBERS)
    if isinstance(value, float):
        return random.choice(REALS)
    if isinstance(value, tuple) and value:
        place = random.randrange(len(value))
        return (*value[:place], exaggerated(value[place], random), *value[place + 1 :])
    if is_dataclass(value) and not isinstance(value, type) and (names := [one.name for one in fields(value)]):
        name = random.choice(names)
        return replace(value, **{name: exaggerated(getattr(value, name), random)})
    return value


class Stranger:
    def __init__(self, cluster: "Cluster", name: str, boasts: bool, random: Random) -> None:
        self.name = name
        self.is_running = False
        self.said = 0  # boasts
        self._cluster = cluster
        self._boasts = boasts
        self._random = random
        self._number = w.NOBODY
        self._master: Connection | None = None
        self._peers: dict[int, Connection] = {}

    def start(self) -> None:
        self.is_running = True
        self._dial_master()
        if self._boasts:
            self._cluster.agenda.after(BOAST, self._boast)

    def stop(self) -> None:
        """Gone, as if its certificate had been revoked."""
        self.is_running = False
        self._cluster.wires.break_all(self.name, 0.0)

    def take_link(self, wire: Wire) -> End | None:
        return Connection(self, wire, self._hear_peer, self._lose_peer) if self.is_running else None

    def _dial_master(self) -> None:
        if self.is_running:
            self._master = Connection(self, None, self._hear_master, self._lose_master)
            self._master.open(self._cluster.direction.name, self._cluster.direction.take)
            self._master.say(self._hello())

    def _hello(self) -> w.Hello:
        return w.Hello(w.VERSION, self._cluster.name, w.Role.NODE, self.name, self._number, 1, f"{self.name}:1884")

    def _hear_master(self, end: "Connection", frames: list[w.Frame]) -> None:
        if any(isinstance(frame, w.Hello) for frame in frames):
            join = w.Join(self.name, 1, self._number, f"{self.name}:1884", (), 0, owned=(OWNED,) * self._boasts)
            self._try_to_say(end, exaggerated(join, self._random) if self._random.random() < 0.3 else join)
        for frame in end.turns.take([one for one in frames if not isinstance(one, w.Hello)]):
            if isinstance(frame, w.Welcome):
                self._number = frame.node
            elif isinstance(frame, w.Peers):
                for peer in frame.peers:
                    self._dial(peer)

    def _dial(self, peer: w.Peer) -> None:
        if peer.opens and peer.node not in self._peers:
            end = self._peers[peer.node] = Connection(self, None, self._hear_peer, self._lose_peer)
            end.open(peer.name, self._cluster.link_taker(peer.name))
            end.say(self._hello())

    def _hear_peer(self, end: "Connection", frames: list[w.Frame]) -> None:
        for frame in frames:
            if isinstance(frame, w.Hello):
                if end.is_taken:
                    end.say(self._hello())
                self._peers[frame.node] = end
                if self._master is not None:
                    self._try_to_say(self._master, w.LinkMade(frame.node, 1.0))  # the peer may be a boaster too

    def _lose_peer(self, end: "Connection") -> None:
        self._peers = {peer: one for peer, one in self._peers.items() if one is not end}

    def _lose_master(self, end: "Connection") -> None:
        self._cluster.agenda.after(RETRY, self._dial_master)

    def _boast(self) -> None:
        if not self.is_running:
            return
        self._cluster.agenda.after(BOAST, self._boast)
        ends = [(end, TO_PEERS) for _, end in sorted(self._peers.items())]
        if self._master is not None:
            ends.append((self._master, TO_MASTER))
        end, frames = self._random.choice(ends)
        self.said += self._try_to_say(end, exaggerated(self._random.choice(frames), self._random))

    def _try_to_say(self, end: "Connection", frame: w.Frame) -> bool:
        try:
            end.say(frame)
        except (error, ValueError):  # more than its bytes can say
            return False
        return True


class Connection:
    """An end of a stranger's; reads whatever there is."""

    def __init__(
        self,
        stranger: Stranger,
        wire: Wire | None,
        hear: Callable[["Connection", list[w.Frame]], None],
        lose: Callable[["Connection"], None],
    ) -> None:
        self.turns = TurnReader()
        self.is_taken = wire is not None
        self._stranger = stranger
        self._wire = wire
        self._hear = hear
        self._lose = lose
        self._reader = FrameReader()

    def open(self, place: str, taker: Callable[[Wire], End | None]) -> None:
        self._wire = self._stranger._cluster.wires.connect(self._stranger.name, place, self, taker)

    def say(self, frame: w.Frame) -> None:
        assert self._wire is not None
        self._wire.send(self, encode(frame))

    def received(self, wire: Wire, data: bytes) -> None:
        try:
            frames = self._reader.feed(data)
        except FrameError:  # of another stranger
            wire.lose(None, 0.0)
            return
        self._hear(self, frames)

    def broken(self, wire: Wire) -> None:
        self._lose(self)
