"""Framed connections over real sockets, with a clock that the test sets."""

import asyncio
from collections.abc import Callable, Sequence

import pytest

from weft.live import link, peering
from weft.live.address import Address
from weft.live.link import Wire
from weft.node.effect import MASTER
from weft.wire import frame as w


@pytest.fixture(autouse=True)
def at_every_half_second(monkeypatch: pytest.MonkeyPatch) -> None:
    """The moments at which connections of this process are looked at."""
    monkeypatch.setattr(link, "SPREAD", 0.0)
    monkeypatch.setattr(link, "HOST", 0.0)


class SetClock:
    def __init__(self) -> None:
        self.time = 1000.0

    def now(self) -> float:
        return self.time


class Ear:
    """Remembers what happens on a connection."""

    def __init__(self) -> None:
        self.frames: list[w.Frame] = []
        self.reasons: list[str] = []
        self.times: list[float] = []
        self.trips: list[float] = []
        self.pressure: list[str] = []
        self.changed = asyncio.Event()

    def opened(self, wire: Wire) -> None:
        self.changed.set()

    def heard(self, wire: Wire, frames: Sequence[w.Frame]) -> None:
        self.frames += frames
        self.changed.set()

    def closed(self, wire: Wire, reason: str) -> None:
        self.reasons.append(reason)
        self.changed.set()

    def congested(self, wire: Wire) -> None:
        self.pressure.append("congested")
        self.changed.set()

    def drained(self, wire: Wire) -> None:
        self.pressure.append("drained")
        self.changed.set()

    def timed(self, wire: Wire, round_trip: float) -> None:
        self.trips.append(round_trip)
        self.changed.set()

    def clock_read(self, wire: Wire, time: float) -> None:
        self.times.append(time)
        self.changed.set()

    async def until(self, what) -> None:
        async with asyncio.timeout(20):
            while not what():
                self.changed.clear()
                await self.changed.wait()


async def pair():
    """Both ends of a connection, what they hear, and their clocks."""
    loop = asyncio.get_running_loop()
    ears, clocks = (Ear(), Ear()), (SetClock(), SetClock())
    made: list[Wire] = []

    def accept() -> Wire:
        made.append(Wire(ears[1], clocks[1]))
        return made[0]

    server = await loop.create_server(accept, "127.0.0.1", 0)
    _, one = await loop.create_connection(lambda: Wire(ears[0], clocks[0]), *server.sockets[0].getsockname())
    await ears[1].until(lambda: made and made[0].is_open)
    server.close()
    return (one, made[0]), ears, clocks


async def silence(one: Wire, here: Ear, clock: SetClock, seconds: float) -> None:
    """Nothing is heard for so long; not a look earlier is that a failure."""
    for _ in range(round(seconds / 0.5) - 1):
        clock.time += 0.5
        one._look()
    assert here.reasons == []
    clock.time += 0.5
    one._look()
    await here.until(lambda: here.reasons)
    assert here.reasons == [f"nothing was heard for {seconds:g} s"]


def test_frames_arrive_in_order_and_pings_are_answered_with_times() -> None:
    async def main() -> None:
        (one, _), (here, there), (clock, _) = await pair()
        for sequence in range(100):
            one.send(w.InPlace(sequence))
        one.ping()
        clock.time += 0.25
        await here.until(lambda: here.trips)
        assert there.frames == [w.InPlace(sequence) for sequence in range(100)]
        assert there.times == [1000.0]
        assert here.trips == [pytest.approx(250.0)]

    asyncio.run(main())


def test_silence_is_a_ping_and_then_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        (one, other), (here, there), (clock, _) = await pair()
        clock.time += 0.5
        one._look()
        await there.until(lambda: there.times)
        await here.until(lambda: here.trips)  # so it was heard, at 1000.5
        other.transport.pause_reading()
        await silence(one, here, clock, 2.5)

    asyncio.run(main())


def test_processes_with_one_number_on_two_hosts_look_at_different_moments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link, "HOST", 0.5)

    async def main() -> None:
        (one, _), _, _ = await pair()
        assert one._look_at == 1000.25

    asyncio.run(main())


def test_connections_of_a_process_are_looked_at_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link, "SPREAD", 0.25)
    monkeypatch.setattr(link.os, "getpid", lambda: 3)

    async def main() -> None:
        (one, other), _, (clock, later) = await pair()
        assert (one._look_at, other._look_at) == (1000.375, 1000.375)
        later.time = 1000.2
        other._look_later()
        assert other._look_at == 1000.375
        clock.time = 1000.3749  # the timer was early
        one._look()
        assert one._look_at == pytest.approx(1000.875)

    asyncio.run(main())


def test_a_connection_may_be_more_patient() -> None:
    async def main() -> None:
        (one, other), (here, _), (clock, _) = await pair()
        one.failure = 15.0
        other.transport.pause_reading()
        await silence(one, here, clock, 15.0)

    asyncio.run(main())


def test_a_node_is_more_patient_with_its_master_than_with_a_peer(monkeypatch: pytest.MonkeyPatch) -> None:
    dialled: list[Callable[[], Wire]] = []

    class Dialler:
        def __init__(self, _: Address, make: Callable[[], Wire], *more: object) -> None:
            dialled.append(make)

        def start(self) -> None:
            pass

    monkeypatch.setattr(peering, "Dialer", Dialler)
    one = peering.Peering(None, SetClock(), None, None, lambda _: None, lambda *_: False)  # type: ignore[arg-type]
    for number in (MASTER, 7):
        one._dial(number, Address("127.0.0.1", 1))
    assert [make().failure for make in dialled] == [15.0, 2.5]


def test_a_process_that_stood_still_does_not_blame_the_other() -> None:
    async def main() -> None:
        (one, other), (here, _), (clock, _) = await pair()
        other.transport.pause_reading()
        for _ in range(4):
            clock.time += 0.5
            one._look()
        clock.time += 60.0  # half a second of silence, the rest is our own
        one._look()
        await asyncio.sleep(0)
        assert here.reasons == []
        clock.time += 0.1
        one._look()
        await here.until(lambda: here.reasons)  # and now it had time to speak

    asyncio.run(main())


def test_what_is_no_frame_is_refused_with_a_sentence() -> None:
    async def main() -> None:
        (one, _), (here, there), _ = await pair()
        one.transport.write(b"\xff\xff\xff\xff what is this")
        await here.until(lambda: here.frames)
        assert isinstance(here.frames[0], w.Refused)
        assert "this is no connection of Weft's" in here.frames[0].reason
        await there.until(lambda: there.reasons)

    asyncio.run(main())


def test_a_peer_that_does_not_read_is_told_of_and_then_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link, "MOST", 32 << 20)

    async def main() -> None:
        (one, other), (here, _), _ = await pair()
        other.transport.pause_reading()
        carry = w.Carry((w.Message(w.Form.WOVEN, 1, 1, 1, 1, 1, bytes(1 << 20)),))
        for _ in range(16):
            one.send(carry)
            one.flush()
        await here.until(lambda: here.pressure)
        assert here.pressure == ["congested"]
        other.transport.resume_reading()
        await here.until(lambda: here.pressure == ["congested", "drained"])
        other.transport.pause_reading()
        for _ in range(60):
            one.send(carry)
            one.flush()
        await here.until(lambda: here.reasons)
        assert here.reasons == ["32 MiB wait for it"]

    asyncio.run(main())


def test_what_was_gathered_goes_out_behind_its_release_only() -> None:
    async def main() -> None:
        (one, _), (_, there), _ = await pair()
        one.gather(w.InPlace(1))
        one.send(w.InPlace(2))
        await there.until(lambda: there.frames)
        one.release()
        await there.until(lambda: len(there.frames) == 2)
        assert there.frames == [w.InPlace(2), w.InPlace(1)]

    asyncio.run(main())
