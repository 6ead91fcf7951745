"""Links of nodes over real sockets: whoever is first, both ends hear of a link once, and of its end once."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass

import pytest

from weft.broker.effect import Event
from weft.live.address import Address
from weft.live.clock import Clock
from weft.live.defect import Defects
from weft.live.log import Log
from weft.live.peering import EARLY_BYTES, SAID, Bond, Peering
from weft.node.effect import MASTER, Heard, Linked, Unlinked
from weft.node.identity import Identity
from weft.wire import frame as w
from weft.wire.frame_codec import FrameReader, encode


@dataclass
class Someone:
    identity: Identity


class End:
    """A node's links, and what they told it."""

    def __init__(self, number: int, cluster: str = "c") -> None:
        self.number = number
        self.events: list[Event] = []
        self.changed = asyncio.Event()
        clock = Clock()
        log = Log(clock, quiet=True)
        node = Someone(Identity(f"n{number}", cluster, 1, node=number))
        self.peering = Peering(node, clock, log, Defects(log), self.hear, self.pass_on)
        self.passed: list[tuple[int, bytes]] = []  # by peer
        self.passes = True  # what comes alone

    def pass_on(self, peer: int, data: bytes, now: float) -> bool:
        assert abs(now - Clock().now()) < 60
        if self.passes:
            self.passed.append((peer, data))
            self.changed.set()
        return self.passes

    def hear(self, event: Event) -> None:
        self.events.append(event)
        self.changed.set()

    async def listen(self) -> None:
        self.address = await self.peering.listen(Address("127.0.0.1", 0))

    def want(self, other: "End", opens: bool) -> None:
        self.peering.link(w.Peer(other.number, f"n{other.number}", str(other.address), 0, True, opens))

    async def until(self, kind: type[Event], count: int = 1) -> Event:
        async with asyncio.timeout(20):
            while len(found := [event for event in self.events if isinstance(event, kind)]) < count:
                self.changed.clear()
                await self.changed.wait()
        return found[-1]


def test_what_was_said_once_is_not_remembered_without_bound() -> None:
    async def main() -> None:
        end = End(1)
        for number in range(3 * SAID):
            end.peering.say_once("stranger", f"{number}")
        assert len(end.peering._said) <= SAID

    asyncio.run(main())


async def two() -> tuple[End, End]:
    one, other = End(1), End(2)
    await one.listen()
    await other.listen()
    return one, other


def test_a_peer_that_calls_before_the_master_has_told_us_waits() -> None:
    async def main() -> None:
        one, other = await two()
        one.want(other, opens=True)
        await asyncio.sleep(0.05)
        assert one.events == other.events == []
        other.want(one, opens=False)
        linked = await one.until(Linked)
        assert isinstance(linked, Linked)
        assert linked.peer == 2
        assert 0 < linked.round_trip < 1000
        assert await other.until(Linked) == Linked(1, 0.0)

    asyncio.run(main())


def test_frames_go_both_ways_and_the_end_is_told_once() -> None:
    async def main() -> None:
        one, other = await two()
        other.want(one, opens=False)
        one.want(other, opens=True)
        await one.until(Linked)
        await other.until(Linked)
        one.peering.tell(2, w.RetainedDigest((1,)))
        one.peering.tell(2, w.RetainedDigest((2,)))
        one.peering.flush()
        assert await other.until(Heard) == Heard(1, (w.RetainedDigest((1,)), w.RetainedDigest((2,))))
        other.peering.tell(1, w.RetainedDigest((3,)))
        other.peering.flush()
        assert await one.until(Heard) == Heard(2, (w.RetainedDigest((3,)),))
        one.peering.unlink(2)
        assert await one.until(Unlinked) == Unlinked(2)
        assert await other.until(Unlinked) == Unlinked(1)
        one.peering.tell(2, w.RetainedDigest((4,)))  # to nobody
        one.peering.flush()
        await asyncio.sleep(0.05)
        assert len([event for event in one.events if isinstance(event, Unlinked)]) == 1

    asyncio.run(main())


def test_a_message_that_comes_alone_is_passed_on_as_its_bytes_or_heard_as_a_frame() -> None:
    async def main() -> None:
        one, other = await two()
        other.want(one, opens=False)
        one.want(other, opens=True)
        await one.until(Linked)
        await other.until(Linked)
        frame = w.Passing(1, False, bytes(40))
        one.peering.spread([2, 3], encode(frame), later=False)
        async with asyncio.timeout(20):
            while not other.passed:
                other.changed.clear()
                await other.changed.wait()
        assert other.passed == [(1, encode(frame))]
        other.passes = False
        one.peering.spread([2], encode(frame), later=True)
        await asyncio.sleep(0.05)
        assert not any(isinstance(event, Heard) for event in other.events)
        one.peering.flush()
        assert await other.until(Heard) == Heard(1, (frame,))
        other.passes = True
        one.peering.tell(2, w.Ungrafted(7))
        one.peering.spread([2], encode(frame), later=True)
        one.peering.flush()
        assert await other.until(Heard, 2) == Heard(1, (w.Ungrafted(7), frame))
        assert len(other.passed) == 1

    asyncio.run(main())


def test_a_link_is_ended_with_a_reason_and_made_again() -> None:
    """Whoever hears what cannot be read ends it, at the end that opened it or the other."""

    async def main() -> None:
        one, other = await two()
        other.want(one, opens=False)
        one.want(other, opens=True)
        for count, (ends, peer) in enumerate(((one, other), (other, one)), 1):
            await one.until(Linked, count)
            await other.until(Linked, count)
            ends.peering.break_off(peer.number, "It cannot be read.")
            assert await ends.until(Unlinked, count) == Unlinked(peer.number)
            assert await peer.until(Unlinked, count) == Unlinked(ends.number)
            assert Heard(ends.number, (w.Refused("It cannot be read."),)) in peer.events
        await one.until(Linked, 3)
        one.peering.break_off(7, "Nobody.")
        one.peering.tell(2, w.RetainedDigest((1,)))
        one.peering.flush()
        assert (await other.until(Heard, 2)) == Heard(1, (w.RetainedDigest((1,)),))

    asyncio.run(main())


def test_a_link_that_breaks_is_opened_again() -> None:
    async def main() -> None:
        one, other = await two()
        other.want(one, opens=False)
        one.want(other, opens=True)
        await one.until(Linked)
        await other.until(Linked)
        other.peering._bonds[1].abort("for the test")
        await one.until(Unlinked)
        await one.until(Linked, 2)
        await other.until(Linked, 2)

    asyncio.run(main())


def test_a_node_of_another_cluster_gets_no_link() -> None:
    async def main() -> None:
        one, other = End(1, "mine"), End(2, "yours")
        await one.listen()
        await other.listen()
        other.want(one, opens=False)
        one.want(other, opens=True)
        await asyncio.sleep(0.3)
        assert one.events == other.events == []

    asyncio.run(main())


def test_another_node_at_the_address_of_a_peer_is_no_peer() -> None:
    async def main() -> None:
        one, other = await two()
        other.want(one, opens=False)
        one.peering.link(w.Peer(9, "n9", str(other.address), 0, True, True))
        await asyncio.sleep(0.3)
        assert [event for event in one.events if isinstance(event, Linked)] == []

    asyncio.run(main())


def test_what_the_master_tells_at_a_time_is_heard_together_whatever_reads_make_of_it() -> None:
    async def main() -> None:
        async def lead(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read(1000)
            writer.write(encode(w.Hello(w.VERSION, "c", w.Role.MASTER)))
            data = b"".join(map(encode, (*turn, w.EndOfTurn())))
            for part in (data[:25], data[25:]):  # behind the first frame
                writer.write(part)
                await writer.drain()
                await asyncio.sleep(0.1)
            writer.write(encode(turn[0]) + encode(w.Refused("Go.")))
            await writer.drain()

        turn = (w.InPlace(1), w.InPlace(2), w.InPlace(3))
        one = End(1)
        server = await asyncio.start_server(lead, "127.0.0.1", 0)
        one.peering.dial_master(Address(*server.sockets[0].getsockname()))
        assert await one.until(Heard) == Heard(MASTER, turn)
        assert await one.until(Heard, 2) == Heard(MASTER, (w.Refused("Go."),))
        one.peering.close()
        server.close()

    asyncio.run(main())


@pytest.mark.parametrize("number", [MASTER, w.NOBODY])
def test_who_is_no_node_has_no_link_and_is_not_taken_for_the_master(number: int) -> None:
    async def main() -> None:
        one = End(1)
        await one.listen()
        one.peering.dial_master(one.address)  # so that there is one whom it could be taken for
        reader, writer = await asyncio.open_connection(one.address.host, one.address.port)
        writer.write(encode(w.Hello(w.VERSION, "c", w.Role.NODE, "x", number)) + encode(w.Tables(1, (), True)))
        async with asyncio.timeout(20):
            frames = FrameReader().feed(await reader.read())
        assert all(isinstance(frame, w.Refused) for frame in frames)
        assert [event for event in one.events if isinstance(event, Heard)] == []
        one.peering.close()

    asyncio.run(main())


class Caller:
    """Somebody who says to a node what it likes, over a plain connection."""

    @classmethod
    async def to(cls, end: End, *frames: w.Frame) -> "Caller":
        self = cls()
        self.reader, self.writer = await asyncio.open_connection(end.address.host, end.address.port)
        self.writer.write(b"".join(map(encode, frames)))
        return self

    async def is_closed(self) -> bool:
        """Whether the node has ended the connection; what it says before does not matter."""
        async with asyncio.timeout(20):
            with suppress(ConnectionError):
                while await self.reader.read(65_536):
                    pass
        return True


def hello(number: int, name: str = "") -> w.Hello:
    return w.Hello(w.VERSION, "c", w.Role.NODE, name or f"n{number}", number, 1, "")


def test_nobody_is_read_from_beyond_hello_before_the_link_counts() -> None:
    """What is sent waits at who sends it, and all of it is heard in order where the link is wanted in the end."""

    async def main() -> None:
        other = End(2)
        await other.listen()
        caller = await Caller.to(other, hello(1))
        async with asyncio.timeout(20):
            while "n1" not in other.peering._waiting:
                await asyncio.sleep(0.01)
        (bond,) = other.peering._waiting.values()
        frame = w.Carry((w.Message(w.Form.WOVEN, 1, 1, 1, 1, 1, bytes(1 << 20)),))
        data, sent = encode(frame), 64
        flood = asyncio.ensure_future(send(caller, data, sent))
        await asyncio.sleep(0.2)
        assert not flood.done()
        assert bond.early == []
        assert bond.unlinked_bytes < 1 << 20
        other.peering.link(w.Peer(1, "n1", "127.0.0.1:1", 0, True, False))
        async with asyncio.timeout(20):
            await flood
            while sum(len(event.frames) for event in other.events if isinstance(event, Heard)) < sent:
                other.changed.clear()
                await other.changed.wait()
        caller.writer.close()
        other.peering.close()

    async def send(caller: Caller, data: bytes, times: int) -> None:
        for _ in range(times):
            caller.writer.write(data)
            await caller.writer.drain()

    asyncio.run(main())


def test_a_name_has_one_connection_that_waits() -> None:
    """Numbers do not matter: else each would be another connection to keep, and the end of another's."""

    async def main() -> None:
        other = End(2)
        await other.listen()
        honest = await Caller.to(other, hello(1))
        callers = [await Caller.to(other, hello(number, "evil")) for number in (1, 7, 8)]
        for caller in callers[:-1]:
            assert await caller.is_closed()
        assert sorted(other.peering._waiting) == ["evil", "n1"]
        other.peering.link(w.Peer(1, "n1", "127.0.0.1:1", 0, True, False))
        assert await other.until(Linked) == Linked(1, 0.0)
        for caller in (honest, callers[-1]):
            caller.writer.close()
        other.peering.close()

    asyncio.run(main())


def test_a_peer_that_says_much_and_does_not_answer_is_parted_with(monkeypatch: pytest.MonkeyPatch) -> None:
    """The end that opens a link reads on, for the answer by which it is measured: not without end."""
    begin = Bond.connection_made

    async def main() -> None:
        one = End(1)
        closed = asyncio.Event()

        async def flood(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(encode(hello(2)))
            with suppress(ConnectionError):
                while True:
                    writer.write(encode(w.Routed(1, 1, 2, 1, 1, bytes(1 << 19))))
                    await writer.drain()
            closed.set()

        made: list[Bond] = []
        monkeypatch.setattr(Bond, "connection_made", lambda bond, to: (made.append(bond), begin(bond, to)))
        server = await asyncio.start_server(flood, "127.0.0.1", 0)
        one.peering.link(w.Peer(2, "n2", str(Address(*server.sockets[0].getsockname())), 0, True, True))
        async with asyncio.timeout(20):
            await closed.wait()
        assert not any(isinstance(event, Linked) for event in one.events)
        assert all(bond.unlinked_bytes < 2 * EARLY_BYTES for bond in made)
        one.peering.close()
        server.close()

    asyncio.run(main())


def test_an_address_that_is_none_harms_nobody() -> None:
    """A node tells the master where it is reached, and may tell anything."""

    async def main() -> None:
        one = End(1)
        one.peering.link(w.Peer(2, "n2", "http://x:1", 0, True, True))
        assert one.peering._dialers == {}

    asyncio.run(main())


def test_who_calls_and_does_not_say_hello_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        other = End(2)
        await other.listen()
        caller = await Caller.to(other, w.Ping(1))
        pinging = asyncio.ensure_future(ping(caller))
        assert await caller.is_closed()
        pinging.cancel()
        other.peering.close()

    async def ping(caller: Caller) -> None:
        while True:
            caller.writer.write(encode(w.Ping(1)))
            await asyncio.sleep(0.05)

    monkeypatch.setattr("weft.live.peering.HANDSHAKE", 0.3)
    asyncio.run(main())
