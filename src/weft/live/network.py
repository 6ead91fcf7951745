"""Drives a node of a network: as a broker is driven, and besides its links, its number and the journal's positions."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from socket import gethostname

from weft.access.guard import Guard
from weft.broker.effect import Effect, Received
from weft.live.address import Address
from weft.live.clock import Clock
from weft.live.defect import fatal
from weft.live.driver import Driver
from weft.live.identity import read_identity, write_identity
from weft.live.journal import Journal, open_journal
from weft.live.listener import share_of
from weft.live.log import Log
from weft.live.network_metrics import network_metrics
from weft.live.peering import Peering
from weft.live.settings import Settings
from weft.live.tls import Credentials
from weft.node.effect import Break, Left, Link, Named, Revoked, Synced, Tell, Turned, Unlink
from weft.node.lane import Passed
from weft.node.node import Node
from weft.node.parameters import Parameters as NodeParameters
from weft.node.recovery import Recovery
from weft.wire.frame import NOBODY

ALONE = 5.0  # seconds that a node which was in the network waits for the master before it serves without


class NodeDriver(Driver):
    def __init__(
        self,
        node: Node,
        clock: Clock,
        log: Log,
        journal: Journal | None,
        data: Path | None,
        credentials: Credentials | None = None,
    ) -> None:
        super().__init__(node, clock, log, journal)
        self.node = node
        if credentials is not None:
            self.certificates.add(credentials.certificate)
        self.peering = Peering(node, clock, log, self.defects, self.handle, self.pass_on, credentials)
        self.turned = asyncio.Event()  # the master refuses this node
        self._left = asyncio.Event()  # nothing is left to be said
        self.reason = ""
        self.ends += [self.turned, self.peering.dismissed]
        self._data = data
        self._effects: dict[type[Effect], Callable[[Effect], None]] = {
            Link: self._link,
            Unlink: self._unlink,
            Break: self._break,
            Named: self._name,
            Turned: self._turn,
            Revoked: self._revoke,
            Left: lambda _: self._left.set(),
        }

    @property
    def patience(self) -> float | None:
        """Seconds to wait for the master before clients are served without it; a node without a number needs it."""
        return ALONE if self.node.number != NOBODY else None

    async def join(self, settings: Settings, listeners: list[Address]) -> None:
        """Call the master, and tell it where this node is."""
        assert settings.master is not None
        place = settings.link or replace(listeners[0], port=0, scheme="mqtt")
        link = await self.peering.listen(place, share_of(settings.descriptors, settings.ports))
        told = (
            link
            if settings.advertise is None
            else replace(settings.advertise, port=settings.advertise.port or link.port)
        )
        self.peering.announce(told, listeners)
        self.peering.dial_master(settings.master)

    def metrics(self) -> str:
        return super().metrics() + network_metrics(self.node)

    async def part(self) -> None:
        await self._left.wait()  # bounded by `leaving`

    async def stop(self) -> None:
        await super().stop()
        self.peering.close()
        await asyncio.sleep(0.02)  # for the last words

    @fatal
    def read(self, connection: int, data: bytes) -> None:
        """Hand over what a client has sent: to the lane first."""
        if self.is_ending:
            return
        if self._busy:
            self.handle(Received(connection, data))
            return
        now = self._clock.now()
        passed = self.node.publish(connection, data, now)
        if passed is None:
            self.work(self.node.handle_fully(Received(connection, data), now))
        else:
            self._spread(passed)

    @fatal
    def pass_on(self, peer: int, data: bytes, now: float) -> bool:
        """Hand a message of a peer to the lane; whether it takes it."""
        passed = None if self._busy else self.node.pass_on(peer, data, now)
        if passed is not None:
            self._spread(passed)
        return passed is not None

    def _spread(self, passed: Passed) -> None:
        """Carry out what the lane has found: peers first. Nothing of it has a deadline."""
        tells, sends = passed
        self._busy = True
        try:
            for peers, frame in tells:
                self.peering.spread(peers, frame, self.gathering)
            synced = self._journal.synced if self._journal is not None else 0
            for number, data in sends:
                client = self._clients.get(number)
                if client is not None:
                    client.send(data, 0, synced)
        finally:
            self._busy = False
        if self._events:
            self.work([])

    def _carry_out(self, effects: list[Effect]) -> None:
        """Peers first: they pass it on to others, while this node's own clients get it."""
        rest = []
        for effect in effects:
            if type(effect) is Tell:
                self.peering.tell(effect.peer, effect.frame)
            else:
                rest.append(effect)
        if not self.gathering:
            self.peering.flush()
        super()._carry_out(rest)

    def flush(self) -> None:
        self.peering.flush()

    def _carry_out_one(self, effect: Effect) -> None:
        carry_out = self._effects.get(type(effect))
        if carry_out is None:
            super()._carry_out_one(effect)
        else:
            carry_out(effect)

    def _release(self) -> None:
        super()._release()
        assert self._journal is not None
        self.handle(Synced(self._journal.synced))

    def _link(self, effect: Effect) -> None:
        assert isinstance(effect, Link)
        self.peering.link(effect.peer)

    def _unlink(self, effect: Effect) -> None:
        assert isinstance(effect, Unlink)
        self.peering.unlink(effect.node)

    def _break(self, effect: Effect) -> None:
        assert isinstance(effect, Break)
        self.peering.break_off(effect.peer, effect.reason)

    def _name(self, effect: Effect) -> None:
        assert isinstance(effect, Named)
        self.node.identity = replace(self.node.identity, node=effect.node)
        if self._data is not None:
            write_identity(self._data, self.node.identity)

    def _revoke(self, effect: Effect) -> None:
        assert isinstance(effect, Revoked)
        self.peering.revoke(effect.names)

    def _turn(self, effect: Effect) -> None:
        """End where this node was never in the network; else go on without the master."""
        assert isinstance(effect, Turned)
        if self.peering.joined.is_set():
            self.peering.say_once("refused_by_master", effect.reason)
        else:
            self.reason = effect.reason
            self.turned.set()


def start_member(settings: Settings, clock: Clock, log: Log, seed: int, version: str, guard: Guard) -> NodeDriver:
    """A node that knows who it is and what its journal had; it joins when it listens."""
    identity = read_identity(settings.data, name_of(settings))
    recovery = Recovery(identity.incarnation)
    journal = None
    if settings.data is not None:
        journal = open_journal(settings.data, recovery.replay, sync=settings.sync)
        write_identity(settings.data, identity)
    node = Node(
        identity,
        replace(settings.parameters, linked=True),
        clock.now(),
        NodeParameters(acknowledge=settings.acknowledge, leaving=settings.leaving),
        seed=seed,
        durable=journal is not None,
        position=journal.position if journal is not None else 0,
        version=version,
        guard=guard,
    )
    driver = NodeDriver(node, clock, log, journal, settings.data, settings.cluster_credentials)
    driver.start()
    driver.work(node.restore(recovery, clock.now()))
    return driver


def name_of(settings: Settings) -> str:
    """Name in the network; by host and port where none is given."""
    return settings.name or f"{gethostname()}-{settings.listen[0].port}"
