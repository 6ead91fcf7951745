"""All links of one node: those that it opens, those that it takes, and the one with its master.

Of two nodes the one that the master names opens the link, again and again. The other takes it when the master has told
it to; a peer that is quicker than the master waits a moment, and is not read from meanwhile: one for each certificate,
or name where there are none. A link counts from when both ends have said Hello, and at the end that opened it from when
it is known how far the other is, which it asks with its Hello.
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial

from weft.access.badge import Role as Badges
from weft.access.badge import stranger
from weft.access.unproved import MOST
from weft.broker.effect import Event
from weft.errors import WeftError
from weft.live.address import Address, listening, read_address
from weft.live.clock import Clock
from weft.live.defect import Defects
from weft.live.link import Dialer, Wire
from weft.live.listener import Listener, Streams
from weft.live.log import Log
from weft.live.revoked_file import RevokedFile
from weft.live.tls import Credentials, Refusals, cause_of, client_context, peer_badge, reload, server_context
from weft.live.watch import Watch
from weft.node.effect import MASTER, Heard, LinkCongested, LinkDrained, Linked, Unlinked
from weft.node.identity import Identity
from weft.node.node import Node
from weft.wire.frame import VERSION, Frame, Hello, Leave, Peer, Refused, Role, Tables
from weft.wire.frame_codec import BETWEEN_NODES, FROM_MASTER, TooLongError, encode
from weft.wire.turn import TurnReader

HANDSHAKE = 10.0  # seconds that who calls has until it is linked
EARLY_BYTES = 1 << 20  # before a link counts: Hello, and what one read or two have brought with it
EARLY = 5.0  # seconds that a peer may wait until the master has told us of it
APART = 60.0  # seconds that clocks may differ without a word
SAID = 1000  # sentences of the log that are not said again; strangers may make any number of them
ANY = ("0.0.0.0", "::")
MASTER_FAILURE = 15.0  # seconds of silence: a master that weaves many trees is busy, and on nobody's way meanwhile


class Bond(Wire):
    """A connection with a peer, or with the master."""

    peer_number: int | None = None  # None until it has said Hello
    opens = False
    linked = False
    hello: Hello | None = None
    is_refused = False
    round_trip: float | None = None  # milliseconds, where it has been measured
    unlinked_bytes = 0  # that came before the link counts

    def __init__(self, peering: "Peering", clock: Clock, kinds: frozenset[int] = BETWEEN_NODES) -> None:
        super().__init__(peering, clock, kinds)
        self._pass_on = peering.pass_on
        self.early: list[Frame] = []  # what came with Hello before the link counts: of one read
        self.turns = TurnReader()  # of the master

    def data_received(self, data: bytes) -> None:
        """A message that comes alone goes on as the bytes that it is, if the node can do that: most do."""
        now, peer = self.clock.now(), self.peer_number
        if self.linked and peer is not None and self._reader.is_lone(data) and self._pass_on(peer, data, now):
            self._heard_at = now
        elif self.linked or self._is_brief(data):
            super().data_received(data)

    def _is_brief(self, data: bytes) -> bool:
        """Whether the other end says no more than it may before the link counts."""
        self.unlinked_bytes += len(data)
        if self.unlinked_bytes > EARLY_BYTES:
            self.abort("it says too much before the link counts")
        return self.unlinked_bytes <= EARLY_BYTES


class Peering:
    def __init__(
        self,
        node: Node,
        clock: Clock,
        log: Log,
        defects: Defects,
        handle: Callable[[Event], None],
        pass_on: Callable[[int, bytes, float], bool],
        credentials: Credentials | None = None,
    ) -> None:
        self._node = node
        self._clock = clock
        self._log = log
        self.defects = defects
        self._handle = handle
        self.pass_on = pass_on  # whether a message of a peer, as its bytes, is done with
        self._credentials = credentials
        self._calls = None if credentials is None else client_context(credentials)
        self._takes = None if credentials is None else server_context(credentials, required=True)
        self._wanted: dict[int, Peer] = {}
        self._dialers: dict[int, Dialer] = {}
        self._bonds: dict[int, Bond] = {}  # linked
        self._waiting: dict[str, Bond] = {}  # by name, peers that said Hello before the master told us of them
        self._revoked = RevokedFile(credentials)
        self._listener: Listener | None = None
        self._said: set[str] = set()  # what the log has said already
        self._told: dict[int, Bond] = {}  # since the last flush
        self._frame: Frame | None = None  # the last that was told: several peers may be told the same
        self._encoded = b""
        self.joined = asyncio.Event()  # the master has given this node its tables
        self.dismissed = asyncio.Event()  # the master wants it to leave

    def watch(self, watch: Watch) -> None:
        """Take another certificate when there is one."""
        for context in (self._calls, self._takes):
            if context is not None and self._credentials is not None:
                watch.add(self._credentials.paths, partial(reload, context, self._credentials, self._log.write))

    def revoke(self, names: Iterable[tuple[str, float]]) -> None:
        """Take none of these certificates any more, and end what was made with them."""
        try:
            self._revoked.add(names, self._clock.now())
        except OSError as error:
            self.say_once("revocations_not_kept", f"{self._revoked.path}: {error.strerror}")
        for bond in [*self._bonds.values(), *self._waiting.values()]:
            if bond.badge is not None and self._revoked.known.holds(bond.badge):
                self._lose(bond)
                bond.abort("its certificate was revoked")

    @property
    def identity(self) -> Identity:
        return self._node.identity

    def announce(self, address: Address, listeners: list[Address]) -> None:
        """Where other nodes reach this one, and where clients do."""
        told = tuple(map(str, listeners))
        self._node.identity = replace(self.identity, address=str(address), listeners=told)

    async def listen(self, address: Address, most: int = MOST) -> Address:
        """Where it listens, also where port 0 was given; at most so many peers may wait to be linked."""
        refusals = Refusals(self._log.write, self._clock.now)
        streams = Streams(lambda: Bond(self, self._clock), self._takes, HANDSHAKE, refusals.add)
        self._listener = Listener(streams.take, self._log.write, most, HANDSHAKE)
        with listening(address):
            port = await self._listener.open(address.host, address.port)
        return replace(address, port=port)

    def dial_master(self, address: Address) -> None:
        self._is_own_fault()
        self._dial(MASTER, address)

    def link(self, peer: Peer) -> None:
        """Make a link with a peer: dial it, or wait for it."""
        before = self._wanted.get(peer.node)
        self._wanted[peer.node] = peer
        if peer.opens:
            if peer.node in self._dialers and before is not None and before.address != peer.address:
                self._dialers.pop(peer.node).stop()
            if peer.node not in self._dialers:
                self._call(peer)
        elif peer.name in self._waiting and self._waiting[peer.name].peer_number == peer.node:
            self._take(self._waiting.pop(peer.name))

    def _call(self, peer: Peer) -> None:
        try:
            address = read_address(peer.address)
        except WeftError as error:  # it has told the master what it liked
            self.say_once("unreachable", f"{peer.name} cannot be reached: {error}")
            return
        self._dial(peer.node, address)

    def unlink(self, node: int) -> None:
        self._wanted.pop(node, None)
        dialer = self._dialers.pop(node, None)
        if dialer is not None:
            dialer.stop()
        bond = self._bonds.get(node)
        if bond is not None:
            self._lose(bond)
            bond.close("it is wanted no more")

    def break_off(self, peer: int, reason: str) -> None:
        """End a connection whose other end does not speak as agreed; it is made again if it is wanted."""
        bond = self._bonds.get(peer)
        if bond is not None:
            self._lose(bond)
            bond.refuse(reason)

    def tell(self, peer: int, frame: Frame) -> None:
        bond = self._bonds.get(peer)
        if bond is None:
            return
        if frame is not self._frame:
            try:
                self._frame, self._encoded = frame, encode(frame)
            except TooLongError as error:
                self.defects.end_connection(error, bond.transport)
                return
        bond.add(self._encoded)
        self._told[peer] = bond

    def spread(self, peers: Sequence[int], data: bytes, later: bool) -> None:
        """Send the same to several peers: at once, or with what is told them."""
        for peer in peers:
            bond = self._bonds.get(peer)
            if bond is None:
                continue
            if later:
                bond.add(data)
                self._told[peer] = bond
            else:
                bond.give(data)

    def flush(self) -> None:
        """Send what was told."""
        self._frame, self._encoded = None, b""
        told, self._told = self._told, {}
        for bond in told.values():
            bond.flush()

    def close(self) -> None:
        if self._listener is not None:
            self._listener.close()
        for dialer in self._dialers.values():
            dialer.stop()
        for bond in list(self._bonds.values()):
            bond.close("the node ends")

    # What happens on a connection

    def opened(self, wire: Wire) -> None:
        bond = _bond(wire)
        if self._is_stranger(bond):
            return
        if bond.opens:
            if bond.peer_number == MASTER:
                self._settle_address(bond)
            mine = self.identity
            bond.send(Hello(VERSION, mine.cluster, Role.NODE, mine.name, mine.node, mine.incarnation, mine.address))
            bond.ping()

    def heard(self, wire: Wire, frames: Sequence[Frame]) -> None:
        assert isinstance(wire, Bond)
        if wire.linked:
            self._hear(wire, frames)
        elif wire.is_open:
            self._hear_early(wire, frames)

    def _hear(self, bond: Bond, frames: Sequence[Frame]) -> None:
        number = bond.peer_number
        assert number is not None
        if number == MASTER:
            frames = bond.turns.take(frames)
            self._listen_in(frames)
        if frames:
            self._handle(Heard(number, tuple(frames)))

    def _hear_early(self, bond: Bond, frames: Sequence[Frame]) -> None:
        if bond.hello is None:
            self._greet(bond, frames[0])
            frames = frames[1:]
        if not bond.linked:
            bond.early += frames
        elif frames:
            self._hear(bond, frames)

    def closed(self, wire: Wire, reason: str) -> None:
        bond = _bond(wire)
        number = bond.peer_number
        if number is None:
            return
        self._waiting = {name: one for name, one in self._waiting.items() if one is not bond}
        if number == MASTER and bond.hello is None and not bond.is_refused and not self._is_own_fault():
            certificates = "with a certificate" if self._calls is not None else "without a certificate"
            there = self._dialers[MASTER].address
            self.say_once("unreachable", f"what is at {there} is no master, or takes no node {certificates} ({reason})")
        self._lose(bond)
        dialer = self._dialers.get(number)
        if bond.opens and dialer is not None:
            dialer.lost()

    def _is_own_fault(self) -> bool:
        """Whether this node's certificate is not valid now, which is logged."""
        if self._credentials is None:
            return False
        from weft.access.authority import span_problem

        file, problem = self._credentials.certificate, ""
        with suppress(OSError):  # which is told where the file is read again
            problem = span_problem(file.read_bytes(), self._clock.now())
        if problem:
            self.say_once("certificate_not_valid", f"{file}: {problem}")
        return bool(problem)

    def congested(self, wire: Wire) -> None:
        bond = _bond(wire)
        if bond.linked and bond.peer_number not in (None, MASTER):
            self._handle(LinkCongested(bond.peer_number or 0))

    def drained(self, wire: Wire) -> None:
        bond = _bond(wire)
        if bond.linked and bond.peer_number not in (None, MASTER):
            self._handle(LinkDrained(bond.peer_number or 0))

    def timed(self, wire: Wire, round_trip: float) -> None:
        bond = _bond(wire)
        if bond.hello is None:
            bond.round_trip = round_trip
        elif bond.opens and not bond.linked:
            self._link(bond, round_trip)

    def clock_read(self, wire: Wire, time: float) -> None:
        bond = _bond(wire)
        ahead = time - self._clock.now()
        if abs(ahead) > APART and bond.peer_number is not None:
            who = "the master" if bond.peer_number == MASTER else f"node {bond.peer_number}"
            self.say_once("clock_apart", f"the clock of {who} is {ahead:+,.0f} s from this one's")

    def _listen_in(self, frames: Sequence[Frame]) -> None:
        """What the master says that concerns the process."""
        if any(isinstance(frame, Leave) for frame in frames):
            self.dismissed.set()
        elif not self.joined.is_set() and any(isinstance(frame, Tables) for frame in frames):
            self.joined.set()

    # Hello

    def _greet(self, bond: Bond, frame: Frame) -> None:
        if isinstance(frame, Refused):
            self._refused(bond, frame)
        elif not isinstance(frame, Hello):
            bond.refuse("A connection begins with Hello.")
        elif frame.version != VERSION:
            bond.refuse(
                f"{self.identity.name} speaks version {VERSION} of the protocol and {frame.name} version "
                f"{frame.version}: run the same version of Weft everywhere."
            )
        elif self.identity.cluster and frame.cluster != self.identity.cluster:
            bond.refuse(f"{self.identity.name} is of the cluster {self.identity.cluster}, not of {frame.cluster}.")
        elif bond.opens:
            self._greet_back(bond, frame)
        elif frame.node < 0:
            bond.refuse(f"{frame.name} has no number of a node: it has links when the master has given it one.")
        else:
            self._welcome(bond, frame)

    def _greet_back(self, bond: Bond, hello: Hello) -> None:
        """The end that we called has answered."""
        bond.hello = hello
        if bond.peer_number == MASTER:
            self._node.identity = replace(self.identity, cluster=hello.cluster)
            bond.ping()  # so that the master can compare clocks: it knows now whose it is
            self._link(bond, 0.0)
        elif hello.node != bond.peer_number:
            bond.refuse(f"Node {hello.node} is at the address of node {bond.peer_number}.")
        elif bond.round_trip is not None:
            self._link(bond, bond.round_trip)

    def _welcome(self, bond: Bond, hello: Hello) -> None:
        """Another node calls."""
        bond.hello, bond.peer_number = hello, hello.node
        if hello.node in self._wanted:
            self._take(bond)
            return
        name = _name_of(bond)
        old = self._waiting.get(name)
        self._waiting[name] = bond
        if old is not None:
            old.abort("there is a newer one")
        bond.hold()
        asyncio.get_running_loop().call_later(EARLY, self._send_away, name, bond)

    def _is_stranger(self, bond: Bond) -> bool:
        """Whether the other end of a new connection is not who it should be. It is not spoken with then."""
        if self._calls is None or bond.transport is None:
            return False
        bond.badge = peer_badge(bond.transport)
        wanted = None
        if bond.opens and bond.peer_number in self._wanted:
            wanted = self._wanted[bond.peer_number].name
        problem = stranger(bond.badge, Badges.MASTER if bond.peer_number == MASTER else Badges.NODE, wanted)
        if self._revoked.known.holds(bond.badge):
            problem = f"The certificate of {bond.badge.name} was revoked."
        if problem:
            self._send_off(bond, problem)
        return bool(problem)

    def _send_off(self, bond: Bond, problem: str) -> None:
        self.say_once("stranger", f"{bond.peer or 'somebody'}: {problem}")
        bond.abort(problem)

    def _send_away(self, name: str, bond: Bond) -> None:
        if self._waiting.get(name) is bond:
            del self._waiting[name]
            bond.refuse(f"{self.identity.name} is to have no link with {name}.")

    def _take(self, bond: Bond) -> None:
        mine, number = self.identity, bond.peer_number
        if bond.badge is not None and number in self._wanted and bond.badge.name != self._wanted[number].name:
            self._send_off(bond, stranger(bond.badge, Badges.NODE, self._wanted[number].name))
            return
        bond.send(Hello(VERSION, mine.cluster, Role.NODE, mine.name, mine.node, mine.incarnation, mine.address))
        self._link(bond, 0.0)

    def _link(self, bond: Bond, round_trip: float) -> None:
        number = bond.peer_number
        assert number is not None
        old = self._bonds.get(number)
        if old is not None:
            self._lose(old)
            old.abort("there is a newer one")
        bond.linked = True
        bond.settled()
        self._bonds[number] = bond
        if number in self._dialers:
            self._dialers[number].succeeded()
        self._handle(Linked(number, round_trip))
        if bond.early:
            early, bond.early = bond.early, []
            self._hear(bond, early)
        bond.go_on()

    def _lose(self, bond: Bond) -> None:
        if bond.linked and bond.peer_number is not None and self._bonds.get(bond.peer_number) is bond:
            del self._bonds[bond.peer_number]
            bond.linked = False
            self._handle(Unlinked(bond.peer_number))

    def _refused(self, bond: Bond, frame: Refused) -> None:
        bond.is_refused = True
        if bond.peer_number == MASTER:
            self._handle(Heard(MASTER, (frame,)))
        else:
            self.say_once("link_refused", frame.reason)

    # Dialling

    def _dial(self, number: int, address: Address) -> None:
        def make() -> Bond:
            bond = Bond(self, self._clock, FROM_MASTER if number == MASTER else BETWEEN_NODES)
            bond.opens, bond.peer_number = True, number
            bond.failure = MASTER_FAILURE if number == MASTER else bond.failure
            return bond

        def failed(error: OSError) -> None:
            who = "the master" if number == MASTER else self._wanted[number].name if number in self._wanted else number
            reason = cause_of(error) or "no answer"
            self.say_once("unreachable", f"{who} at {address} cannot be reached ({reason})")

        self._dialers[number] = Dialer(address, make, failed, self._calls)
        self._dialers[number].start()

    def _settle_address(self, bond: Bond) -> None:
        """Where we listen everywhere, others reach us by the address from which we reach the master."""
        address = read_address(self.identity.address)
        if address.host in ANY and bond.transport is not None:
            host = bond.transport.get_extra_info("sockname")[0]
            self._node.identity = replace(self.identity, address=str(replace(address, host=host)))

    def say_once(self, event: str, detail: str) -> None:
        """Log what would be said again and again."""
        if detail not in self._said:
            if len(self._said) == SAID:
                self._said.clear()
            self._said.add(detail)
            self._log.write(event, detail=detail)


def _name_of(bond: Bond) -> str:
    """The name of who calls: by its certificate, or as it says where there are none."""
    return bond.badge.name if bond.badge is not None else bond.hello.name if bond.hello is not None else ""


def _bond(wire: Wire) -> Bond:
    assert isinstance(wire, Bond)
    return wire
