"""Ports: whoever connects and says nothing keeps nobody out, neither there nor at another port."""

import asyncio
import resource
import socket
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from live_node import Paho, node, until
from ports import free_port
from test_live_monitor import answer
from weft.access import unproved
from weft.access.badge import Role
from weft.live.address import Address
from weft.live.authority import AuthorityFolder
from weft.live.clock import Clock
from weft.live.defect import Defects
from weft.live.listener import LEAST, MOST, Guest, Listener, Streams, rest_of, share_of
from weft.live.log import Log
from weft.live.master import MasterDriver, listen
from weft.live.master_settings import MasterSettings
from weft.live.peering import Peering
from weft.live.tls import credentials_in, server_context
from weft.master.engine import design_here
from weft.node.identity import Identity
from weft.wire.frame import Pong
from weft.wire.frame_codec import encode

DESCRIPTORS = 200


def few_descriptors() -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, (DESCRIPTORS, DESCRIPTORS))


def test_a_port_that_is_filled_is_not_in_the_way_at_another() -> None:
    """More connections than the node has descriptors, each with half a request, to the port of metrics."""
    port = free_port()
    with node("--http", f"127.0.0.1:{port}", "--connections", "90000", before=few_descriptors) as one:
        silent = [socket.create_connection(("127.0.0.1", port)) for _ in range(DESCRIPTORS + 50)]
        for each in silent:
            each.sendall(b"GET /x")
        with Paho(one.port) as client:
            client.subscribe("t")
            client.publish("t", "there", 1)
            until(lambda: len(client.heard) == 1, "delivery")
        for each in silent:
            each.close()
        assert answer(port, b"GET /health HTTP/1.1\r\n\r\n")[0] == "HTTP/1.1 200 OK"
        code, log = one.stop()
    assert code == 0
    assert "not_accepted" not in log
    assert f'descriptors detail="{DESCRIPTORS} are enough for' in log


def test_the_limit_of_descriptors_is_raised() -> None:
    def soft() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (DESCRIPTORS, 400))

    with node(before=soft) as one:
        assert resource.prlimit(one.process.pid, resource.RLIMIT_NOFILE) == (400, 400)


@pytest.mark.parametrize("descriptors", [200, 1_024, 65_536, 1_048_576])
@pytest.mark.parametrize("ports", [1, 2, 5])
def test_all_that_there_may_be_fits_into_the_descriptors(descriptors: int, ports: int) -> None:
    share = share_of(descriptors, ports)
    assert LEAST <= share <= MOST
    assert ports * share + rest_of(descriptors, ports) < max(descriptors, ports * LEAST + 2)


class Port:
    """A listener in this process, and those that it has accepted."""

    def __init__(self, most: int = 4, patience: float | None = None) -> None:
        self.guests: list[Guest] = []
        self.open: list[socket.socket] = []
        self.changed = asyncio.Event()
        self.listener = Listener(self.take, lambda *_, **__: None, most, patience)

    def take(self, one: socket.socket, host: str, guest: Guest) -> None:
        assert host == "127.0.0.1"
        self.guests.append(guest)
        self.open.append(one)
        guest.abort = lambda: (self.open.remove(one), one.close(), self.changed.set())
        self.changed.set()

    async def until(self, true: Callable[[], bool]) -> None:
        async with asyncio.timeout(20):
            while not true():
                self.changed.clear()
                await self.changed.wait()


@pytest.fixture
def clients() -> Iterator[Callable[[int], list[socket.socket]]]:
    made: list[socket.socket] = []

    def connect(port: int, count: int = 1) -> list[socket.socket]:
        new = [socket.create_connection(("127.0.0.1", port)) for _ in range(count)]
        made.extend(new)
        return new

    yield connect  # type: ignore[misc]
    for one in made:
        one.close()


Connect = Callable[..., list[socket.socket]]


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unproved, "GIVEN", 0.05)


@pytest.mark.usefixtures("hurried")
def test_those_who_wait_make_room_for_newcomers(clients: Connect) -> None:
    async def main() -> None:
        port = Port()
        number = await port.listener.open("127.0.0.1", 0)
        clients(number, 10)
        await port.until(lambda: len(port.guests) == 10)
        assert len(port.open) == 4
        assert port.open == port.open[-4:]
        for guest in port.guests[-4:]:
            guest.settle()
        clients(number, 3)
        await port.until(lambda: len(port.guests) == 13)
        assert len(port.open) == 7
        port.listener.close()

    asyncio.run(main())


def test_who_is_not_settled_in_time_is_sent_away(clients: Connect) -> None:
    async def main() -> None:
        port = Port(patience=0.05)
        number = await port.listener.open("127.0.0.1", 0)
        clients(number, 2)
        await port.until(lambda: len(port.guests) == 2)
        port.guests[0].settle()
        await port.until(lambda: len(port.open) == 1)
        clients(number)
        await port.until(lambda: len(port.guests) == 3)
        await port.until(lambda: len(port.open) == 1)
        port.listener.close()

    asyncio.run(main())


class Nobody(asyncio.Protocol):
    settled: Callable[[], None]


@pytest.mark.usefixtures("hurried")
def test_a_handshake_that_is_not_made_takes_nobodys_place(clients: Connect, tmp_path: Path) -> None:
    """Each of these is closed, and the last is still in its handshake when the first three have gone."""
    ca = AuthorityFolder(tmp_path / "ca")
    ca.create("weft", ("127.0.0.1",))
    ca.issue(Role.NODE, "berlin", ("127.0.0.1",), ca.folder / "berlin")

    async def main() -> None:
        streams = Streams(Nobody, server_context(credentials_in(ca.folder / "berlin")), 20.0)
        listener = Listener(streams.take, lambda *_, **__: None, 1)
        number = await listener.open("127.0.0.1", 0)
        silent = clients(number, 4)
        for one in silent[:3]:
            one.settimeout(20)
            assert await asyncio.to_thread(one.recv, 1) == b""
        assert len(listener._unproved) == 1
        silent[3].close()
        async with asyncio.timeout(20):
            while len(listener._unproved):
                await asyncio.sleep(0.01)
        listener.close()

    asyncio.run(main())


async def link_port() -> tuple[int, Callable[[], None]]:
    clock = Clock()
    log = Log(clock, quiet=True)
    someone = SimpleNamespace(identity=Identity("n1", "c", 1, node=1))
    peering = Peering(
        *(someone, clock, log, Defects(log)),  # type: ignore[arg-type]
        *(lambda _: None, lambda *_: False),  # type: ignore[arg-type]
    )
    address = await peering.listen(Address("127.0.0.1", 0), 1)
    return address.port, peering.close


async def master_port() -> tuple[int, Callable[[], None]]:
    clock, settings = Clock(), MasterSettings(listen=Address("127.0.0.1", 0))
    log = Log(clock, quiet=True)
    driver = MasterDriver(settings, clock, log, None, design_here)
    listener, address = await listen(driver, settings.listen, None, log, 1)
    return address.port, listener.close


@pytest.mark.usefixtures("hurried")
@pytest.mark.parametrize("opened", [link_port, master_port])
@pytest.mark.parametrize("said", [b"", b"GET /", encode(Pong(1))])
def test_ports_of_nodes_and_operators_are_bounded_too(
    clients: Connect, opened: Callable[[], Awaitable[tuple[int, Callable[[], None]]]], said: bytes
) -> None:
    """Answers to pings, which were not asked for, prove nothing."""

    async def main() -> None:
        port, close = await opened()
        silent = clients(port, 3)
        for one in silent:
            one.sendall(said)
            one.settimeout(20)
        for one in silent[:2]:
            assert await asyncio.to_thread(lambda one=one: ended(one))
        close()

    asyncio.run(main())


def ended(one: socket.socket) -> bool:
    try:
        while one.recv(4096):
            pass
    except ConnectionResetError:
        return True
    return True
