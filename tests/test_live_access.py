"""Attempts over real TLS on the loopback: at a node's listener, at the master's port, and between nodes.

None succeeds, each is logged once, and who comes in order is served as before.
"""

import asyncio
import io
import json
import os
import ssl
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from live_network import Master, Process, running
from live_node import Paho, until
from weft.access import authority as issuing
from weft.access.badge import Badge, Role, badge_of
from weft.access.guard import Guard
from weft.access.join_token import digest
from weft.access.page import Pages
from weft.access.password import keep
from weft.access.user import write_users
from weft.broker.broker import Broker
from weft.broker.effect import Event
from weft.broker.parameters import Parameters
from weft.errors import WeftError
from weft.live.address import Address
from weft.live.authority import AuthorityFolder, write_credentials
from weft.live.clock import Clock
from weft.live.defect import Defects
from weft.live.driver import Driver
from weft.live.joining import obtain_credentials, renew_credentials
from weft.live.log import Log
from weft.live.master import MasterDriver, listen
from weft.live.master_settings import MasterSettings
from weft.live.node import Listeners
from weft.live.operator import ask
from weft.live.peering import Peering
from weft.live.settings import Settings
from weft.live.tls import client_context, credentials_in, server_context
from weft.live.watch import Watch
from weft.live.websocket import WebSocketClient
from weft.master.engine import design_here
from weft.node.effect import Linked, Unlinked
from weft.node.identity import Identity
from weft.wire import frame as w
from weft.wire.frame_codec import FrameReader
from weft.wire.frame_codec import encode as encode_frame
from weft.wire.mqtt import packet as p
from weft.wire.mqtt.parser import Parser
from weft.wire.mqtt.reason import Reason
from weft.wire.mqtt.writer import encode

LONG_AGO = 1_000_000_000.0
PATIENCE = 20.0


@pytest.fixture(scope="module")
def ca(tmp_path_factory: pytest.TempPathFactory) -> AuthorityFolder:
    """An authority, and folders of all who try something."""
    folder = AuthorityFolder(tmp_path_factory.mktemp("ca") / "ca")
    folder.create("weft", ("127.0.0.1",))
    for role, name in ((Role.NODE, "berlin"), (Role.NODE, "paris"), (Role.READER, "reader"), (Role.CLIENT, "alice")):
        folder.issue(role, name, ("127.0.0.1",), folder.folder / name)
    other = AuthorityFolder(folder.folder / "other")
    other.create("weft", ())
    other.issue(Role.NODE, "berlin", (), other.folder / "berlin")
    other.issue(Role.CLIENT, "alice", (), other.folder / "alice")
    for role, name in ((Role.NODE, "berlin"), (Role.CLIENT, "alice"), (Role.OPERATOR, "operator")):
        _expired(folder, role, name)
    return folder


def _expired(folder: AuthorityFolder, role: Role, name: str) -> None:
    made = issuing.Authority(folder.certificate, (folder.folder / "authority.key").read_bytes())
    key = issuing.new_key()
    signed = issuing.sign(made, issuing.request(key, name), role, name, (), LONG_AGO)
    write_credentials(folder.folder / "expired" / name, key, signed.certificate, folder.certificate)


def context_of(ca: AuthorityFolder, who: str | None) -> ssl.SSLContext:
    """Context of somebody who trusts the authority and shows a certificate, whose ever it is."""
    if who is not None:
        context = client_context(credentials_in(ca.folder / who))
    else:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
    context.load_verify_locations(ca.folder / "authority.pem")
    return context


class House:
    """A node's listener with TLS, and its log."""

    def __init__(self, ca: AuthorityFolder, rights: Path, **more: Any) -> None:
        clock, self.log = Clock(), io.StringIO()
        log = Log(clock, out=self.log)
        own = ca.folder / "berlin"
        settings = Settings(
            listen=(Address("127.0.0.1", 0, "mqtts"),),
            certificate=more.get("certificate", own / "certificate.pem"),
            key=more.get("key", own / "key.pem"),
            client_authority=ca.folder / "authority.pem",
            rights=rights,
            parameters=Parameters(sys_interval=0, connect_timeout=2.0),
        )
        guard = Guard(settings.access.read(), settings.limits, b"key")
        driver = Driver(Broker(settings.parameters, clock.now(), guard=guard), clock, log, None)
        self.watch = Watch()
        self.watch.add(settings.access.paths, lambda: settings.access.read_again(driver.renew_access, log.write))
        self.listeners = Listeners(driver, log, self.watch, settings)

    async def open(self) -> None:
        self.port = (await self.listeners.open())[0].port

    def logged(self, event: str) -> int:
        return sum(f" {event} " in f"{line} " for line in self.log.getvalue().splitlines())


@pytest.fixture
def rights(tmp_path: Path) -> Path:
    path = tmp_path / "rights"
    path.write_text("topic read public/#\nuser alice\ntopic readwrite home/#\n")
    return path


@asynccontextmanager
async def house(ca: AuthorityFolder, rights: Path, **more: Any) -> AsyncIterator[House]:
    one = House(ca, rights, **more)
    await one.open()
    try:
        yield one
    finally:
        one.watch.stop()
        one.listeners.close()


async def said(port: int, context: ssl.SSLContext | None, data: bytes) -> bytes:
    """All that a listener answers until it closes, or one read of it."""
    async with asyncio.timeout(PATIENCE):
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context)
            writer.write(data)
            heard = await reader.read(65_536)
            writer.close()
        except (ssl.SSLError, ConnectionError):
            return b""
    return heard


async def connack(port: int, context: ssl.SSLContext, user: str | None = None) -> int | None:
    connect = encode(p.Connect("c", p.Version.V5, username=user), p.Version.V5)
    heard = list(Parser(version=p.Version.V5).feed(await said(port, context, connect)))
    return heard[0].code if heard and isinstance(heard[0], p.Connack) else None


def old_tls(ca: AuthorityFolder) -> ssl.SSLContext:
    context = context_of(ca, None)
    context.set_ciphers("ALL:@SECLEVEL=0")
    with pytest.warns(DeprecationWarning, match="TLSv1_1"):
        context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_1
    return context


@pytest.mark.parametrize(
    ("who", "code"),
    [
        ("alice", 0),
        (None, 0),  # anonymous, on the loopback
        ("expired/alice", None),
        ("other/alice", None),
        ("paris", Reason.BAD_USER_NAME_OR_PASSWORD),  # a node is no client
        ("operator", Reason.BAD_USER_NAME_OR_PASSWORD),
    ],
)
def test_certificates_of_clients(ca: AuthorityFolder, rights: Path, who: str | None, code: int | None) -> None:
    async def main() -> None:
        async with house(ca, rights) as one:
            assert await connack(one.port, context_of(ca, who)) == code
            assert one.logged("tls_refused") == (code is None)
            assert one.logged("refused") == bool(code)
            assert await connack(one.port, context_of(ca, "alice")) == 0

    asyncio.run(main())


def test_tls_is_not_talked_down(ca: AuthorityFolder, rights: Path) -> None:
    async def main() -> None:
        async with house(ca, rights) as one:
            assert await connack(one.port, old_tls(ca)) is None
            assert one.logged("tls_refused") == 1
            for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
                context = context_of(ca, "alice")
                context.minimum_version = context.maximum_version = version
                assert await connack(one.port, context) == 0

    asyncio.run(main())


def test_plain_text_is_no_tls(ca: AuthorityFolder, rights: Path) -> None:
    async def main() -> None:
        async with house(ca, rights) as one:
            heard = await said(one.port, None, encode(p.Connect("c"), p.Version.V311))
            assert heard[:1] in (b"", b"\x15")  # nothing, or an alert of TLS
            assert one.logged("tls_refused") == 1
            assert "tls_refused peer=127.0.0.1:" in one.log.getvalue()

    asyncio.run(main())


def test_who_does_not_finish_a_handshake_is_closed(ca: AuthorityFolder, rights: Path) -> None:
    async def main() -> None:
        async with house(ca, rights) as one:
            reader, writer = await asyncio.open_connection("127.0.0.1", one.port)
            writer.write(b"\x16\x03\x01")  # the beginning of a handshake, and nothing more
            assert await connack(one.port, context_of(ca, "alice")) == 0
            async with asyncio.timeout(PATIENCE):
                assert await reader.read() == b""

    asyncio.run(main())


def test_a_certificate_is_replaced_while_it_is_used(ca: AuthorityFolder, rights: Path, tmp_path: Path) -> None:
    certificate, key = tmp_path / "certificate.pem", tmp_path / "key.pem"

    def put(name: str) -> None:
        for one in (certificate, key):
            one.write_bytes((ca.folder / name / one.name).read_bytes())

    async def name_shown(port: int) -> str:
        _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context_of(ca, None))
        subject = dict(part[0] for part in writer.get_extra_info("peercert")["subject"])
        writer.close()
        return str(subject["commonName"])

    async def main() -> None:
        put("berlin")
        async with house(ca, rights, certificate=certificate, key=key) as one:
            assert await name_shown(one.port) == "berlin"
            certificate.write_bytes((ca.folder / "paris" / "certificate.pem").read_bytes())  # and not its key
            one.watch.look()
            assert one.logged("certificate_not_read") == 1
            assert await name_shown(one.port) == "berlin"
            put("paris")
            one.watch.look()
            assert await name_shown(one.port) == "paris"

    asyncio.run(main())


def test_rights_that_change_are_seen(ca: AuthorityFolder, rights: Path) -> None:
    async def main() -> None:
        async with house(ca, rights) as one:
            reader, writer = await asyncio.open_connection("127.0.0.1", one.port, ssl=context_of(ca, "alice"))
            parser, version = Parser(version=p.Version.V5), p.Version.V5
            writer.write(encode(p.Connect("c", version), version))
            writer.write(encode(p.Subscribe(1, (p.Request("home/#", 1),)), version))
            heard: list[p.Packet] = []
            async with asyncio.timeout(PATIENCE):
                while len(heard) < 2:
                    heard += parser.feed(await reader.read(65_536))
                rights.write_text("user\n")  # a mistake changes nothing
                one.watch.look()
                assert one.logged("access_not_read") == 1
                rights.write_text("user alice\ntopic write home/#\n")
                one.watch.look()
                (told,) = parser.feed(await reader.read())
            assert isinstance(told, p.Disconnect)
            assert told.reason == Reason.NOT_AUTHORIZED
            writer.close()

    asyncio.run(main())


def test_a_websocket_compresses_nothing() -> None:
    """Some bytes could stand for very many."""
    wanted = ["GET / HTTP/1.1", "Host: x", "Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13"]
    wanted += ["Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==", "Sec-WebSocket-Protocol: mqtt"]
    head = "\r\n".join([*wanted, "Sec-WebSocket-Extensions: permessage-deflate", "", ""])
    sent: list[bytes] = []
    client = WebSocketClient(Someone(), 1000, Pages())  # type: ignore[arg-type]
    client.transport = Line(sent)  # type: ignore[assignment]
    client.data_received(head.encode())
    answer = b"".join(sent).decode()
    assert answer.startswith("HTTP/1.1 101")
    assert "Extensions" not in answer


@pytest.mark.parametrize(
    ("origin", "pages", "status"),
    [
        ("", Pages(), 101),
        ("Origin: http://127.0.0.1:8080", Pages(), 101),
        ("Origin: https://evil.example", Pages(), 403),
        ("Origin: null", Pages(), 403),
        ("Origin: https://app.example", Pages(origins=("https://app.example",)), 101),
        ("Origin: https://evil.example", Pages(origins=("https://app.example",)), 403),
        ("Origin: https://evil.example", Pages(origins=("*",)), 101),
    ],
)
def test_a_page_of_others_is_no_client(origin: str, pages: Pages, status: int) -> None:
    wanted = ["GET /mqtt HTTP/1.1", "Host: 127.0.0.1:8080", "Upgrade: websocket", "Connection: Upgrade"]
    wanted += ["Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==", "Sec-WebSocket-Protocol: mqtt"]
    wanted += ["Sec-WebSocket-Version: 13", *([origin] if origin else [])]
    sent: list[bytes] = []
    client = WebSocketClient(Someone(), 1000, pages)  # type: ignore[arg-type]
    client.transport = Line(sent)  # type: ignore[assignment]
    client.data_received("\r\n".join([*wanted, "", ""]).encode())
    assert int(b"".join(sent).split()[1]) == status


class Someone:
    def handle(self, event: Event) -> None: ...


class Line:
    """A transport that keeps what it is given."""

    def __init__(self, sent: list[bytes]) -> None:
        self.write = sent.append

    def close(self) -> None: ...

    def is_closing(self) -> bool:
        return False

    def get_write_buffer_size(self) -> int:
        return 0


# The master's port


class MasterHouse:
    def __init__(self, ca: AuthorityFolder) -> None:
        clock, self.log = Clock(), io.StringIO()
        log = Log(clock, out=self.log)
        self.settings = MasterSettings(listen=Address("127.0.0.1", 0), ca=ca.folder)
        self.driver = MasterDriver(self.settings, clock, log, None, design_here)
        self.watch = Watch()

    async def open(self) -> None:
        log = Log(Clock(), out=self.log)
        self.server, self.address = await listen(
            self.driver, self.settings.listen, self.driver.context(self.watch), log
        )

    def logged(self, event: str) -> int:
        return sum(f" {event} " in f"{line} " for line in self.log.getvalue().splitlines())


@asynccontextmanager
async def master_house(ca: AuthorityFolder) -> AsyncIterator[MasterHouse]:
    one = MasterHouse(ca)
    await one.open()
    try:
        yield one
    finally:
        one.server.close()
        await one.driver.stop()


async def answered(one: MasterHouse, context: ssl.SSLContext | None, frame: w.Frame) -> list[w.Frame]:
    return FrameReader().feed(await said(one.address.port, context, encode_frame(frame)))


def hello(name: str) -> w.Hello:
    return w.Hello(w.VERSION, "", w.Role.NODE, name)


@pytest.mark.parametrize(
    ("who", "name", "words", "event"),
    [
        ("berlin", "berlin", None, None),
        ("berlin", "paris", "certificate of berlin", "refused"),
        (None, "berlin", "no certificate of a node", "stranger"),
        ("reader", "berlin", "no certificate of a node", "stranger"),
        ("alice", "alice", "no certificate of a node", "stranger"),
        ("expired/berlin", "berlin", "", "tls_refused"),
        ("other/berlin", "berlin", "", "tls_refused"),
    ],
)
def test_who_can_speak_with_the_master(
    ca: AuthorityFolder, who: str | None, name: str, words: str | None, event: str | None
) -> None:
    async def main() -> None:
        async with master_house(ca) as one:
            heard = await answered(one, context_of(ca, who), hello(name))
            if words is None:
                assert isinstance(heard[0], w.Hello)
            elif not words:
                assert heard == []
            else:
                assert isinstance(heard[0], w.Refused)
                assert words in heard[0].reason
            assert event is None or one.logged(event) == 1
            assert isinstance((await answered(one, context_of(ca, "paris"), hello("paris")))[0], w.Hello)

    asyncio.run(main())


def test_nobody_speaks_with_the_master_in_plain_text(ca: AuthorityFolder) -> None:
    async def main() -> None:
        async with master_house(ca) as one:
            heard = await said(one.address.port, None, encode_frame(hello("berlin")))
            assert heard[:1] in (b"", b"\x15")

    asyncio.run(main())


def test_a_revoked_certificate_is_taken_no_more(ca: AuthorityFolder, tmp_path: Path) -> None:
    ca.issue(Role.NODE, "stolen", (), ca.folder / "stolen")

    async def main() -> None:
        async with master_house(ca) as one:
            context = context_of(ca, "stolen")
            reader, writer = await asyncio.open_connection("127.0.0.1", one.address.port, ssl=context)
            writer.write(encode_frame(hello("stolen")))
            frames = FrameReader()
            async with asyncio.timeout(PATIENCE):
                assert isinstance(frames.feed(await reader.read(65_536))[0], w.Hello)
                assert ca.revoke("stolen") == 1
                one.watch.look()
                assert frames.feed(await reader.read()) == [w.Refused("The certificate was revoked.")]
            (again,) = await answered(one, context, hello("stolen"))
            assert isinstance(again, w.Refused)
            assert one.logged("revoked") == 1

    asyncio.run(main())


async def http(one: MasterHouse, context: ssl.SSLContext, method: str, path: str, body: object = None) -> str:
    text = json.dumps(body)
    head = f"{method} {path} HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: {len(text)}\r\n\r\n"
    return (await said(one.address.port, context, (head + text).encode())).decode()


@pytest.mark.parametrize(
    ("who", "request_", "status"),
    [
        (None, "status", 403),
        ("berlin", "status", 403),
        ("alice", "status", 403),
        ("reader", "status", 200),
        ("reader", "leave", 403),
        ("reader", "redesign", 403),
        ("reader", "apply", 403),
        ("operator", "status", 200),
        ("operator", "leave", 409),  # there is no such node
    ],
)
def test_who_may_ask_the_master(ca: AuthorityFolder, who: str | None, request_: str, status: int) -> None:
    async def main() -> None:
        async with master_house(ca) as one:
            asked = {"request": request_, "options": {"node": "nobody"}}
            assert (await http(one, context_of(ca, who), "POST", "/ask", asked)).split()[1] == str(status)
            assert one.logged("not_authorized") == (status == 403)

    asyncio.run(main())


@pytest.mark.parametrize(
    ("who", "length", "status"),
    [
        (None, 70_000, 413),
        ("berlin", 70_000, 413),
        ("alice", 70_000, 413),
        ("reader", 70_000, 413),
        ("operator", 70_000, 200),
        ("operator", 65 << 20, 413),
    ],
)
def test_only_what_an_operator_sends_may_be_long(
    ca: AuthorityFolder, who: str | None, length: int, status: int
) -> None:
    """A body is kept until all of it has come, on any number of connections."""
    body = json.dumps({"request": "status"}).encode().ljust(70_000)
    head = f"POST /ask HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n".encode()

    async def main() -> None:
        async with master_house(ca) as one:
            told = await said(one.address.port, context_of(ca, who), head + body)
            assert told.startswith(f"HTTP/1.1 {status} ".encode())

    asyncio.run(main())


def test_strangers_see_that_it_lives_and_no_more(ca: AuthorityFolder) -> None:
    async def main() -> None:
        async with master_house(ca) as one:
            stranger = context_of(ca, None)
            assert (await http(one, stranger, "GET", "/health")).split()[1] == "200"
            for path in ("/metrics", "/status", "/"):
                assert (await http(one, stranger, "GET", path)).split()[1] == "403"
            large = f"POST /join HTTP/1.1\r\nContent-Length: {1 << 20}\r\n\r\n".encode()
            assert b" 413 " in await said(one.address.port, stranger, large)

    asyncio.run(main())


def test_commands_speak_with_a_master_of_the_cluster_only(ca: AuthorityFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        async with master_house(ca) as one, house(ca, Path(os.devnull)) as node:
            monkeypatch.setenv("WEFT_CREDENTIALS", str(ca.folder / "operator"))
            assert (await asyncio.to_thread(ask, one.address, "status"))["nodes"] == []
            with pytest.raises(WeftError, match="no certificate of a master"):
                await asyncio.to_thread(ask, Address("127.0.0.1", node.port), "status")
            monkeypatch.setenv("WEFT_CREDENTIALS", str(ca.folder / "other" / "operator"))
            with pytest.raises(WeftError, match="No master answers"):
                await asyncio.to_thread(ask, one.address, "status")

    asyncio.run(main())


# Joining


def test_a_token_lets_one_node_in_once(ca: AuthorityFolder, tmp_path: Path) -> None:
    async def main() -> None:
        async with master_house(ca) as one:
            token = str(ca.invite("rome", (), 1.0))
            await asyncio.to_thread(obtain_credentials, tmp_path / "rome", one.address, "rome", token)
            context = client_context(credentials_in(tmp_path / "rome"))
            assert isinstance((await answered(one, context, hello("rome")))[0], w.Hello)
            assert oct((tmp_path / "rome" / "key.pem").stat().st_mode)[-3:] == "600"
            with pytest.raises(WeftError, match="used before"):
                await asyncio.to_thread(obtain_credentials, tmp_path / "again", one.address, "rome", token)
            assert not (tmp_path / "again").exists()
            assert one.logged("join_refused") == 1

    asyncio.run(main())


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (b"HTTP/1.1 200 OK\r\n\r\n[]", "is no master of Weft's"),
        (b'HTTP/1.1 200 OK\r\n\r\n{"authority": 5}', "is no master of Weft's"),
        (b'HTTP/1.1 404 Not Found\r\n\r\n{"error": {"code": 404}}', "is no master of Weft's"),
        (b"\x1b[2J not HTTP\r\n\r\n", r"does not answer as one that nodes can join \(no answer\)"),
    ],
)
def test_a_node_does_not_join_another_service(
    ca: AuthorityFolder, tmp_path: Path, answer: bytes, sentence: str
) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        writer.close()

    async def main() -> None:
        context = server_context(credentials_in(ca.folder / "berlin"))
        async with await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context) as server:
            address, token = Address(*server.sockets[0].getsockname()), str(ca.invite("rome", (), 1.0))
            with pytest.raises(WeftError, match=sentence):
                await asyncio.to_thread(obtain_credentials, tmp_path / "rome", address, "rome", token)

    asyncio.run(main())


def test_a_certificate_is_renewed_when_a_third_of_its_life_is_left(
    ca: AuthorityFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(issuing, "LIFE", issuing.timedelta(days=900))
    ca.issue(Role.NODE, "oslo", ("192.0.2.7",), tmp_path / "oslo")
    first = (tmp_path / "oslo" / "certificate.pem").read_bytes()

    async def main() -> None:
        async with master_house(ca) as one:
            assert not await asyncio.to_thread(renew_credentials, tmp_path / "oslo", one.address)
            monkeypatch.setattr(issuing, "LIFE", issuing.timedelta(days=3000))  # of which it has less than a third
            assert await asyncio.to_thread(renew_credentials, tmp_path / "oslo", one.address)
            second = (tmp_path / "oslo" / "certificate.pem").read_bytes()
            assert issuing.hosts_of(second) == issuing.hosts_of(first) == ("192.0.2.7",)
            assert not issuing.is_due(second, time.time())
            context = client_context(credentials_in(tmp_path / "oslo"))
            assert isinstance((await answered(one, context, hello("oslo")))[0], w.Hello)
            assert one.logged("certificate_renewed") == 1
            asked = {"request": issuing.request(issuing.new_key(), "x").decode()}
            for who in (None, "reader", "alice"):
                assert "no certificate of a node" in await http(one, context_of(ca, who), "POST", "/renew", asked)
            assert one.driver.renew()
            assert not one.driver.renew()

    asyncio.run(main())


@pytest.fixture
def all_due(monkeypatch: pytest.MonkeyPatch) -> None:
    """Certificates have less than a third of their life before them."""
    monkeypatch.setattr(issuing, "LIFE", issuing.timedelta(days=900))

    def always(ends: float, now: float) -> bool:
        return True

    monkeypatch.setattr("weft.live.authority.has_little_left", always)


def renewal() -> dict[str, str]:
    return {"request": issuing.request(issuing.new_key(), "x").decode()}


def test_a_certificate_is_not_renewed_before_it_is_time(ca: AuthorityFolder, tmp_path: Path) -> None:
    """Each renewal is a signature in the master's event loop, a sync of its disk and a line for ever."""
    ca.issue(Role.NODE, "early", (), ca.folder / "early")

    async def main() -> None:
        async with master_house(ca) as one:
            assert "not time yet" in await http(one, context_of(ca, "early"), "POST", "/renew", renewal())

    asyncio.run(main())
    assert sum(name == "early" for _, _, _, name in ca.issued()) == 1


@pytest.mark.usefixtures("all_due")
def test_a_name_gets_one_certificate_a_day(ca: AuthorityFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    ca.issue(Role.NODE, "often", (), ca.folder / "often")
    now = time.time()
    monkeypatch.setattr("weft.live.authority.time.time", lambda: now + 100)

    async def main() -> None:
        async with master_house(ca) as one:
            context = context_of(ca, "often")
            assert "BEGIN CERTIFICATE" in await http(one, context, "POST", "/renew", renewal())
            for _ in range(3):
                assert "within a day" in await http(one, context, "POST", "/renew", renewal())
            monkeypatch.setattr("weft.live.authority.time.time", lambda: now + 90_000)
            assert "BEGIN CERTIFICATE" in await http(one, context, "POST", "/renew", renewal())

    asyncio.run(main())


@pytest.mark.usefixtures("all_due")
def test_a_revoked_certificate_buys_no_other_one(ca: AuthorityFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither while it is being revoked nor by one that it had got before, nor by a token that was made before."""
    ca.issue(Role.NODE, "thief", (), ca.folder / "thief")
    token = ca.invite("thief", (), 1.0)
    now = time.time()
    monkeypatch.setattr("weft.live.authority.time.time", lambda: now + 100)

    async def main() -> None:
        async with master_house(ca) as one:
            key = issuing.new_key()
            reply = await http(
                one, context_of(ca, "thief"), "POST", "/renew", {"request": issuing.request(key, "x").decode()}
            )
            bought = json.loads(reply.partition("\r\n\r\n")[2])["certificate"].encode()
            write_credentials(ca.folder / "bought", key, bought, ca.certificate)
            assert isinstance((await answered(one, context_of(ca, "bought"), hello("thief")))[0], w.Hello)
            assert ca.revoke("thief") == 2
            for who in ("thief", "bought"):
                assert "thief was revoked" in await http(one, context_of(ca, who), "POST", "/renew", renewal())
                assert isinstance((await answered(one, context_of(ca, who), hello("thief")))[0], w.Refused)
            with pytest.raises(WeftError, match="not known"):
                ca.accept(token.secret, "thief", issuing.request(key, "thief"), "x")
            new = ca.invite("thief", (), 1.0)
            again = ca.accept(new.secret, "thief", issuing.request(key, "thief"), "x")
            write_credentials(ca.folder / "again", key, again, ca.certificate)
            assert isinstance((await answered(one, context_of(ca, "again"), hello("thief")))[0], w.Hello)
            assert isinstance((await answered(one, context_of(ca, "bought"), hello("thief")))[0], w.Refused)

    asyncio.run(main())


@pytest.mark.usefixtures("all_due")
def test_who_was_revoked_between_the_question_and_the_signature_gets_none(ca: AuthorityFolder) -> None:
    """The folder is asked when it is signed, whatever the master knew when the connection was made."""
    ca.issue(Role.NODE, "racer", (), ca.folder / "racer")
    badge = badge_in(ca.folder / "racer")
    assert ca.revoke("racer") == 1
    with pytest.raises(WeftError, match="was revoked"):
        ca.renew(issuing.request(issuing.new_key(), "x"), badge)


def badge_in(folder: Path) -> Badge:
    """What others read of a certificate."""
    decoded = ssl._ssl._test_decode_cert(str(folder / "certificate.pem"))  # type: ignore[attr-defined]
    return badge_of(decoded)


def test_a_file_of_numbers_is_read_by_their_names_and_times(ca: AuthorityFolder) -> None:
    """Older versions have written it so. What was issued later is taken."""
    ca.issue(Role.NODE, "vienna", (), ca.folder / "vienna")
    badge = badge_in(ca.folder / "vienna")
    with ca.revoked.open("a") as file:
        file.write(f"{badge.serial}\n")
    assert ca.revocations().until["vienna"] == badge.issued
    ca.issue(Role.NODE, "vienna", (), ca.folder / "vienna-2")
    assert not ca.revocations().holds(badge_in(ca.folder / "vienna-2"))


def test_the_masters_certificate_is_not_revoked(ca: AuthorityFolder) -> None:
    with pytest.raises(WeftError, match="another authority"):
        ca.revoke("master")


@pytest.fixture
def invited(ca: AuthorityFolder) -> dict[str, str]:
    other = AuthorityFolder(ca.folder / "other")
    return {
        "for another": str(ca.invite("oslo", (), 1.0)),
        "too old": str(ca.invite("rome", (), -1.0)),
        "of another": str(other.invite("rome", (), 1.0)),
        "made up": f"AAAAAAAAAAAAAAAAAAAAAA.{str(ca.invite('rome', (), 1.0)).partition('.')[2]}",
        "no token": "secret",
        "half a token": "AAAA.AAAA",
    }


@pytest.mark.parametrize(
    ("which", "words"),
    [
        ("for another", "for oslo, not for rome"),
        ("too old", "too old"),
        ("of another", "not the master of the token"),
        ("made up", "not known"),
        ("no token", "not a whole token"),
        ("half a token", "not a whole token"),
    ],
)
def test_a_token_that_does_not_fit(
    ca: AuthorityFolder, tmp_path: Path, invited: dict[str, str], which: str, words: str
) -> None:
    async def main() -> None:
        async with master_house(ca) as one:
            with pytest.raises(WeftError, match=words):
                await asyncio.to_thread(obtain_credentials, tmp_path / "rome", one.address, "rome", invited[which])
            assert not (tmp_path / "rome").exists()

    asyncio.run(main())


def test_a_secret_is_kept_nowhere(ca: AuthorityFolder) -> None:
    token = ca.invite("rome", (), 1.0)
    (path,) = [one for one in (ca.folder / "tokens").iterdir() if one.name == digest(token.secret)]
    assert str(token).partition(".")[0] not in path.read_text()
    assert time.time() < json.loads(path.read_text())["until"]


def test_an_authority_is_not_made_over_another(ca: AuthorityFolder) -> None:
    with pytest.raises(WeftError, match="already"):
        ca.create("weft", ())


# Links


class End:
    """A node's links under a certificate."""

    def __init__(self, ca: AuthorityFolder, who: str, number: int, name: str = "") -> None:
        self.number, self.name = number, name or who.rpartition("/")[2]
        self.events: list[Event] = []
        self.changed = asyncio.Event()
        clock, self.log = Clock(), io.StringIO()
        node = type("Someone", (), {"identity": Identity(self.name, "c", 1, node=number)})()
        credentials = credentials_in(ca.folder / who)
        log = Log(clock, out=self.log)
        self.peering = Peering(node, clock, log, Defects(log), self.hear, lambda *_: False, credentials)

    def hear(self, event: Event) -> None:
        self.events.append(event)
        self.changed.set()

    async def listen(self) -> None:
        self.address = await self.peering.listen(Address("127.0.0.1", 0))

    def want(self, other: "End", name: str, opens: bool) -> None:
        self.peering.link(w.Peer(other.number, name, str(other.address), 0, True, opens))

    async def linked(self) -> None:
        async with asyncio.timeout(PATIENCE):
            while not any(isinstance(event, Linked) for event in self.events):
                self.changed.clear()
                await self.changed.wait()

    async def logs(self, word: str) -> None:
        async with asyncio.timeout(PATIENCE):
            while word not in self.log.getvalue():
                await asyncio.sleep(0.01)


def test_nodes_link_with_their_certificates(ca: AuthorityFolder) -> None:
    async def main() -> None:
        one, other = End(ca, "berlin", 1), End(ca, "paris", 2)
        await one.listen()
        await other.listen()
        other.want(one, "berlin", opens=False)
        one.want(other, "paris", opens=True)
        await one.linked()
        await other.linked()
        one.peering.close()
        other.peering.close()

    asyncio.run(main())


@pytest.mark.parametrize(
    ("who", "called", "word"),
    [
        ("paris", "rome", "stranger"),  # the certificate of paris where rome should be
        ("other/berlin", "berlin", "unreachable"),
        ("expired/berlin", "berlin", "unreachable"),
        ("reader", "reader", "unreachable"),  # its certificate is not for who is called
    ],
)
def test_a_node_does_not_speak_with_who_is_not_its_peer(ca: AuthorityFolder, who: str, called: str, word: str) -> None:
    """The one that calls finds somebody else at the address of its peer."""

    async def main() -> None:
        one, other = End(ca, "paris", 1), End(ca, who, 2, called)
        await one.listen()
        await other.listen()
        other.want(one, "paris", opens=False)
        one.want(other, called, opens=True)
        await one.logs(word)
        assert one.events == other.events == []
        one.peering.close()
        other.peering.close()

    asyncio.run(main())


@pytest.mark.parametrize(
    ("who", "name"),
    [
        (None, "berlin"),
        ("paris", "rome"),
        ("other/berlin", "berlin"),
        ("expired/berlin", "berlin"),
        ("reader", "reader"),
    ],
)
def test_a_node_does_not_take_links_of_who_is_not_its_peer(ca: AuthorityFolder, who: str | None, name: str) -> None:
    """The one that is called hears from somebody who says that it is its peer."""

    async def main() -> None:
        one = End(ca, "paris", 1)
        await one.listen()
        one.peering.link(w.Peer(2, name, "127.0.0.1:1", 0, True, False))
        forged = w.Hello(w.VERSION, "c", w.Role.NODE, name, 2, 1)
        heard = FrameReader().feed(await said(one.address.port, context_of(ca, who), encode_frame(forged)))
        assert not any(isinstance(frame, w.Hello) for frame in heard)
        assert one.events == []
        assert one.log.getvalue().count("\n") == 1
        one.peering.close()

    asyncio.run(main())


def test_a_link_of_a_revoked_certificate_ends_and_no_other_is_taken(ca: AuthorityFolder) -> None:
    """No other after a restart either, when the master is not there to say it again."""
    for name in ("rogue", "madrid"):
        ca.issue(Role.NODE, name, (), ca.folder / name)

    async def main() -> None:
        one, other = End(ca, "madrid", 1), End(ca, "rogue", 2)
        await one.listen()
        await other.listen()
        one.want(other, "rogue", opens=False)
        other.want(one, "madrid", opens=True)
        await one.linked()
        await other.linked()
        one.peering.revoke([("rogue", time.time())])
        assert isinstance(one.events[-1], Unlinked)
        await one.logs("The certificate of rogue was revoked.")  # it calls again
        one.peering.close()
        again = End(ca, "madrid", 1)
        await again.listen()
        again.want(other, "rogue", opens=False)
        forged = w.Hello(w.VERSION, "c", w.Role.NODE, "rogue", 2, 1)
        assert await said(again.address.port, context_of(ca, "rogue"), encode_frame(forged)) == b""
        assert again.events == []
        other.peering.close()
        again.peering.close()

    asyncio.run(main())


# The walk of docs/network.md, as processes


def test_a_cluster_with_certificates_carries_what_users_may_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ca, rights = AuthorityFolder(tmp_path / "ca"), tmp_path / "rights"
    ca.create("weft", ())
    rights.write_text("user alice\ntopic readwrite news/#\n")
    (tmp_path / "users").write_text(write_users({"alice": keep(b"secret", b"salt", log_n=4, blocks=1, times=1)}))
    access = ("--users", str(tmp_path / "users"), "--rights", str(rights))
    monkeypatch.setenv("WEFT_CREDENTIALS", str(ca.folder / "operator"))
    master = Master("--ca", str(ca.folder))
    with running(master):
        nodes = [_joined(master, ca, tmp_path, name, *access) for name in ("berlin", "paris")]
        with running(*nodes):
            ports = [node.port() for node in nodes]
            master.await_up("berlin", "paris")
            with _user(ca, ports[0], "alice") as one, _user(ca, ports[1], "alice") as other:
                one.subscribe("news/#", 1)
                other.publish("news/today", "hi", 1)
                until(lambda: one.payloads() == ["hi"], "the delivery")
            master.ask("leave", node="berlin")
            assert nodes[0].wait()[0] == 0


def _joined(master: Master, ca: AuthorityFolder, folder: Path, name: str, *options: str) -> Process:
    token = str(ca.invite(name, ("127.0.0.1",), 1.0))
    listen = ("--listen", "mqtts://127.0.0.1:0", "--data", str(folder / name))
    return Process("node", "--master", str(master.address), "--name", name, "--join", token, *listen, *options)


def _user(ca: AuthorityFolder, port: int, name: str) -> Paho:
    one = Paho(port, f"{name}-{port}", 5)
    one.client.username_pw_set(name, "secret")
    one.client.tls_set(str(ca.folder / "authority.pem"))
    return one
