"""Connections between nodes, and of nodes with their master: frames over one TCP connection a link.

Both ends say Hello first. Half a second of silence is a ping, and two and a half are a failure: four pings, so that a
node that is kept from the processor for two seconds is none. Time in which it was this process that stood still does
not count. A ping carries the time of its sender, so that clocks that are far apart are noticed.

All connections of a process are looked at together, at moments of its own: were they looked at by when they were made,
sixteen nodes that start together would all ping each other at the same moment, from both ends, and what is published
then would wait for all of that. So it is one end that pings, at its moment, and the other has heard something by then.

What is sent in one turn of the event loop is one write, at its end or when the owner says so. It goes to the kernel at
once; uvloop would keep it until the end of the turn. When more waits than is good the owner is told, and when far more
waits the connection is given up: nobody waits for ever for somebody who does not read.
"""

import asyncio
import os
import ssl
from collections.abc import Callable, Sequence
from contextlib import suppress
from socket import gethostname
from typing import Protocol, cast
from zlib import crc32

from weft.access.badge import Badge
from weft.live.address import Address
from weft.live.clock import Clock
from weft.live.defect import Defects
from weft.live.listener import nothing
from weft.live.tls import cause_of, peer_address
from weft.wire.frame import Frame, Ping, Pong, Refused
from weft.wire.frame_codec import FrameReader, TooLongError, encode
from weft.wire.frame_field import FrameError

SILENCE, FAILURE = 0.5, 2.5  # seconds
SPREAD = 0.618034  # of the silence that processes with consecutive numbers are apart: any few of them are far apart
HOST = crc32(gethostname().encode()) / 2**32  # of the silence; all containers' processes have the same number
ROUND_TRIP = 60.0  # seconds, at most: silence ends a connection before
LATE = 0.1  # seconds behind its time from which this process has stood still
HIGH, LOW, MOST = 4 << 20, 1 << 20, 256 << 20  # bytes that wait: more is congested, fewer is drained, a failure
LINGER = 2.0  # seconds that the other end has to take the last words
PULSES = (Ping, Pong)
RETRY, MOST_RETRY = 0.1, 1.0  # seconds between two attempts to connect


class Owner(Protocol):
    """Somebody who is told what happens on a connection."""

    defects: Defects

    def opened(self, wire: "Wire") -> None: ...
    def heard(self, wire: "Wire", frames: Sequence[Frame]) -> None: ...
    def closed(self, wire: "Wire", reason: str) -> None: ...
    def congested(self, wire: "Wire") -> None: ...
    def drained(self, wire: "Wire") -> None: ...
    def timed(self, wire: "Wire", round_trip: float) -> None: ...
    def clock_read(self, wire: "Wire", time: float) -> None: ...


class Wire(asyncio.Protocol):
    """A framed connection, from either end."""

    failure = FAILURE  # seconds of silence

    def __init__(
        self, owner: Owner, clock: Clock, kinds: frozenset[int] | None = None, badge: Badge | None = None
    ) -> None:
        """Frames of these kinds are taken. The badge is who the other end is; None where there are no certificates."""
        self.owner = owner
        self.clock = clock
        self.number = 0  # the owner's
        self.transport: asyncio.Transport | None = None
        self.badge = badge
        self.settled: Callable[[], None] = nothing  # tells the port that it is known who this is, or that it has gone
        self._descriptor = -1  # none where what is sent must be encrypted first
        self._reader = FrameReader(kinds=kinds)
        self._out: list[bytes] = []
        self._gathered: list[bytes] = []
        self._heard_at = 0.0
        self._look_at = 0.0  # the next look
        self._moment = 0.0  # seconds behind a multiple of SILENCE, when connections of this process are looked at
        self._timer: asyncio.TimerHandle | None = None
        self._reason = ""
        self._is_held = False
        self.unhandled = 0  # frames that have come and wait at the owner's

    @property
    def is_open(self) -> bool:
        return self.transport is not None and not self.transport.is_closing()

    @property
    def peer(self) -> str:
        return "" if self.transport is None else peer_address(self.transport)

    # asyncio

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self.transport.set_write_buffer_limits(HIGH, LOW)
        if self.transport.get_extra_info("ssl_object") is None:
            self._descriptor = self.transport.get_extra_info("socket").fileno()
        self._heard_at = self.clock.now()
        self._moment = (os.getpid() * SPREAD + HOST) % 1.0 * SILENCE
        self._look_later()
        self.owner.opened(self)

    def data_received(self, data: bytes) -> None:
        self._heard_at = self.clock.now()
        try:
            frames = self._reader.feed(data)
            if len(frames) != 1 or type(frames[0]) in PULSES:
                frames = [frame for frame in frames if not self._is_pulse(frame)]
        except FrameError as error:
            self.refuse(str(error))
            return
        except Exception as error:
            self.owner.defects.end_connection(error, self.transport)
            return
        if frames:
            self.owner.heard(self, frames)

    def pause_writing(self) -> None:
        self.owner.congested(self)

    def resume_writing(self) -> None:
        self.owner.drained(self)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self.transport = None
        self.settled()
        self.owner.closed(self, self._reason or ("the other end closed it" if exc is None else cause_of(exc)))

    # What the owner asks

    def send(self, frame: Frame) -> None:
        self.write(encode(frame))

    def write(self, data: bytes) -> None:
        """What is written in one turn of the event loop goes out at its end."""
        if not self._out:
            asyncio.get_running_loop().call_soon(self.flush)
        self._out.append(data)

    def add(self, data: bytes) -> None:
        """Keep bytes until `flush`."""
        self._out.append(data)

    def gather(self, frame: Frame) -> None:
        """Keep a frame until `release`. One that is too long costs the connection."""
        try:
            self._gathered.append(encode(frame))
        except TooLongError as error:
            self._gathered.clear()
            self.owner.defects.end_connection(error, self.transport)

    def release(self) -> None:
        """Send what was gathered."""
        self._out += self._gathered
        self._gathered.clear()
        self.flush()

    def give(self, data: bytes) -> None:
        """Send bytes now, behind what waits."""
        if self._out:
            self._out.append(data)
            self.flush()
        else:
            self._send(data)

    def flush(self) -> None:
        out, self._out = self._out, []
        if out:
            self._send(out[0] if len(out) == 1 else b"".join(out))

    def _send(self, data: bytes) -> None:
        if self.transport is None or self.transport.is_closing():
            return
        taken = 0 if self._descriptor < 0 or self.transport.get_write_buffer_size() else self._give(data)
        if taken == len(data):
            return
        with suppress(RuntimeError):  # uvloop's, where a broken transport is closed before it says so
            self.transport.write(data[taken:])
        if self.transport.get_write_buffer_size() > MOST:
            self.abort(f"{MOST >> 20} MiB wait for it")

    def _give(self, data: bytes) -> int:
        """How many bytes the kernel has taken."""
        try:
            return os.write(self._descriptor, data)
        except OSError:  # it has no room, or the other end is gone, as the transport will find too
            return 0

    def hold(self) -> None:
        """Read nothing until `go_on`: what the other end says meanwhile waits at its own end."""
        self._is_held = True
        if self.is_open:
            assert self.transport is not None
            self.transport.pause_reading()

    def go_on(self) -> None:
        if self._is_held:
            self._is_held, self._heard_at = False, self.clock.now()
            if self.is_open:
                assert self.transport is not None
                self.transport.resume_reading()

    def ping(self) -> None:
        self.give(encode(Ping(int(self.clock.now() * 1e6))))

    def refuse(self, reason: str) -> None:
        """Say why, and close."""
        self.send(Refused(reason))
        self.close(reason)

    def close(self, reason: str = "") -> None:
        """Close when everything is sent."""
        self._reason = self._reason or reason
        self.release()
        if self.transport is not None:
            self.transport.close()
            asyncio.get_running_loop().call_later(LINGER, self.abort, reason)

    def abort(self, reason: str) -> None:
        self._reason = self._reason or reason
        if self.transport is not None:
            self.transport.abort()

    # Pulse

    def _is_pulse(self, frame: Frame) -> bool:
        if isinstance(frame, Ping):
            self.owner.clock_read(self, frame.token / 1e6)
            self.give(encode(Pong(frame.token)))
            return True
        if isinstance(frame, Pong):
            seconds = self.clock.now() - frame.token / 1e6
            if not -1e-3 <= seconds <= ROUND_TRIP:
                raise FrameError("A Pong answers no Ping of this end.")
            self.owner.timed(self, max(0.0, seconds * 1e3))
            return True
        return False

    def _look_later(self, silent: float = 0.0) -> None:
        """Look again at the next moment, or when the other end has been silent for too long, whichever is first."""
        now = self.clock.now()
        wait = SILENCE - (now - self._moment) % SILENCE
        if wait < 0.1 * SILENCE:  # it is that moment, and a timer may be early
            wait += SILENCE
        wait = wait if self._is_held else min(wait, self.failure - silent)
        self._look_at = now + wait
        self._timer = asyncio.get_running_loop().call_later(wait, self._look)

    def _look(self) -> None:
        now = self.clock.now()
        late = max(0.0, now - self._look_at)  # it was us who stood still
        self._heard_at = min(now, self._heard_at + late)
        if late > LATE:  # what has come meanwhile is read first
            self._heard_at = max(self._heard_at, now - self.failure + LATE)
        silent = now - self._heard_at
        if silent > self.failure - 0.001 and not self._is_held:
            self.abort(f"nothing was heard for {self.failure:g} s")
            return
        if silent >= 0.9 * SILENCE:
            self.ping()
        self._look_later(silent)


class Dialer:
    """Opens a connection, and opens it again whenever it is lost, until it is stopped."""

    def __init__(
        self,
        address: Address,
        make: Callable[[], Wire],
        failed: Callable[[OSError], None],
        context: ssl.SSLContext | None = None,
    ) -> None:
        self.address = address
        self._context = context
        self._make = make
        self._failed = failed
        self._wait = RETRY
        self._task: asyncio.Task[None] | None = None
        self._lost = asyncio.Event()
        self._wire: Wire | None = None

    def start(self) -> None:
        self._task = asyncio.ensure_future(self._dial())

    def lost(self) -> None:
        """The connection is gone: open another."""
        self._lost.set()

    def succeeded(self) -> None:
        """The other end has said Hello."""
        self._wait = RETRY

    def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
        if self._wire is not None:
            self._wire.close("it is wanted no more")

    async def _dial(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            self._lost.clear()
            try:
                async with asyncio.timeout(FAILURE):
                    _, self._wire = await loop.create_connection(
                        self._make, self.address.host, self.address.port, ssl=self._context
                    )
                await self._lost.wait()
            except OSError as error:  # of which a time-out is one
                self._failed(error)
            await asyncio.sleep(self._wait)
            self._wait = min(self._wait * 2, MOST_RETRY)
