"""Operators and the master's HTTP port: what answers is looked at before it is believed, and a defect is an answer."""

import asyncio
import io
import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

from live_network import Master, Node, running, weft
from master_world import MasterWorld
from weft.access.page import Pages
from weft.errors import SurroundingsError, WeftError
from weft.live.address import Address, read_address
from weft.live.clock import Clock
from weft.live.defect import Defects
from weft.live.http import Call as HttpRequest
from weft.live.http import HttpCall, Response
from weft.live.log import Log
from weft.live.master import MasterDriver, listen
from weft.live.master_settings import MasterSettings
from weft.live.operator import ask
from weft.master.engine import design_here
from weft.model.instance import instance_from_pairs
from weft.model.overlay import overlay_from_links


def test_a_defect_of_the_master_is_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    async def answer() -> bytes:
        settings, clock = MasterSettings(listen=Address("127.0.0.1", 0)), Clock()
        driver = MasterDriver(settings, clock, Log(clock, out=io.StringIO()), None, design_here)
        monkeypatch.setattr("weft.live.master_http.metrics", broken)
        server, address = await listen(driver, settings.listen, None, Log(clock, out=io.StringIO()))
        reader, writer = await asyncio.open_connection(address.host, address.port)
        writer.write(b"GET /metrics HTTP/1.1\r\n\r\n")
        async with asyncio.timeout(20):
            said = await reader.read()
        writer.close()
        server.close()
        await driver.stop()
        assert driver._answers == {}
        return said

    def broken(*_: object) -> None:
        raise defect

    defect = ZeroDivisionError("a defect")
    codes: list[int] = []
    monkeypatch.setattr("weft.live.defect.os._exit", codes.append)
    said = asyncio.run(answer())
    assert said.startswith(b"HTTP/1.1 500 Internal Server Error\r\n")
    assert said.endswith(b"The request has met a defect of Weft: see the log.\n")
    assert codes == [70]


LEAVE = json.dumps({"request": "leave", "options": {"node": "a", "forget": True}}).encode()
KIND = "Content-Type: application/json"


@pytest.mark.parametrize(
    ("headers", "problem"),
    [
        ("Host: localhost\r\nContent-Type: text/plain", "A POST needs Content-Type: application/json."),
        ("Host: localhost", "A POST needs Content-Type: application/json."),
        (
            f"Host: localhost\r\n{KIND}\r\nOrigin: https://evil.example",
            "The page of 'https://evil.example' is a stranger",
        ),
        (f"Host: localhost\r\n{KIND}\r\nOrigin: null", "The page of 'null' is a stranger here."),
        (f"Host: evil.example\r\n{KIND}\r\nOrigin: http://evil.example", "'evil.example' is no name of this host"),
    ],
)
def test_a_page_of_others_changes_nothing(headers: str, problem: str) -> None:
    director = Master()
    with running(director), running(Node(director, "a")):
        status, body = asked(director.address.port, headers)
        assert status == "HTTP/1.1 403 Forbidden"
        assert problem in json.loads(body)["error"]
        assert [one["name"] for one in director.ask("status")["nodes"]] == ["a"]


Call = Callable[[set[HttpCall]], "Asking"]


@pytest.fixture
def call() -> Iterator[Call]:
    """A request whose connection remembers what is done to it."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)

    async def answer(_: HttpRequest) -> Response:
        return Response("200 OK", "x" * 1000)

    yield lambda calls: Asking(loop, HttpCall(answer, Defects(Log(Clock())), Pages(), None, calls))
    loop.close()


class Asking:
    def __init__(self, loop: asyncio.AbstractEventLoop, asking: HttpCall) -> None:
        self._loop, self.protocol = loop, asking
        self.written, self.is_closing, self.is_aborted = b"", False, False
        self.transport = SimpleNamespace(
            write=self._write,
            close=self._close,
            abort=self._abort,
            is_closing=lambda: self.is_closing,
            get_extra_info=lambda *_: None,
        )

        async def begin() -> None:
            asking.connection_made(self.transport)  # type: ignore[arg-type]

        loop.run_until_complete(begin())

    def say(self, data: bytes, seconds: float = 0.0) -> str:
        async def feed() -> None:
            self.protocol.data_received(data)
            await asyncio.sleep(seconds)
            await asyncio.sleep(0)

        self._loop.run_until_complete(feed())
        return self.written[:16].decode()

    def _write(self, data: bytes) -> None:
        self.written += data

    def _close(self) -> None:
        self.is_closing = True

    def _abort(self) -> None:
        self.is_aborted = True


def test_what_a_page_sends_is_refused_before_its_body_is_there(call: Call) -> None:
    one = call(set())
    head = b"POST /ask HTTP/1.1\r\nHost: localhost\r\nContent-Length: 60000000\r\n\r\n"
    assert one.say(head) == "HTTP/1.1 403 For"
    kept = len(one.protocol._reader._data)
    one.say(bytes(100_000))
    assert len(one.protocol._reader._data) == kept


def test_an_answer_that_nobody_reads_is_given_up(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weft.live.http.TAKING", 0.01)
    one = call(set())
    assert one.say(b"GET /status HTTP/1.1\r\n\r\n", 0.1) == "HTTP/1.1 200 OK\r"
    assert one.is_aborted


def test_so_many_requests_are_answered_at_a_time(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """Requests whose answers are not read count too."""
    monkeypatch.setattr("weft.live.http.CALLS", 3)
    calls: set[HttpCall] = set()
    asked = [call(calls) for _ in range(4)]
    told = [one.say(b"GET /status HTTP/1.1\r\n\r\n") for one in asked]
    assert told == ["HTTP/1.1 200 OK\r"] * 3 + ["HTTP/1.1 503 Bus"]
    asked[0].protocol.connection_lost(None)
    assert call(calls).say(b"GET /status HTTP/1.1\r\n\r\n") == "HTTP/1.1 200 OK\r"


def asked(port: int, headers: str) -> tuple[str, str]:
    with socket.create_connection(("127.0.0.1", port), 20) as one:
        one.sendall(f"POST /ask HTTP/1.1\r\n{headers}\r\nContent-Length: {len(LEAVE)}\r\n\r\n".encode() + LEAVE)
        told = b"".join(iter(lambda: one.recv(65536), b"")).decode()
    return told.partition("\r\n")[0], told.partition("\r\n\r\n")[2]


def test_weft_calls_a_master_by_its_address_whatever_its_name_is(monkeypatch: pytest.MonkeyPatch) -> None:
    found = socket.getaddrinfo
    monkeypatch.setattr(socket, "getaddrinfo", lambda _, *rest: found("127.0.0.1", *rest))
    director = Master()
    with running(director):
        assert ask(Address("weft.example", director.address.port), "status")["nodes"] == []


# What answers an operator


@contextmanager
def service(answer: bytes | None) -> Iterator[Address]:
    """Whatever is asked, the same is answered; None is silence."""
    stop = threading.Event()

    def serve() -> None:
        while not stop.is_set():
            try:
                connection, _ = listener.accept()
            except TimeoutError:
                continue
            held.append(connection)
            if answer is not None:
                connection.settimeout(5)
                connection.sendall(answer)
                connection.shutdown(socket.SHUT_WR)
                while connection.recv(65_536):  # to the end of the request: a close before it resets the connection
                    pass
                connection.close()

    held: list[socket.socket] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(0.05)
        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield Address(*listener.getsockname())
        finally:
            stop.set()
            thread.join()
            for one in held:
                one.close()


def http_answer(status: str, body: str) -> bytes:
    return f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode()


REQUESTS = ["status", "explain", "trace", "redesign", "apply", "snapshot", "leave"]


@pytest.mark.parametrize(
    "answer",
    [
        *(http_answer("200 OK", body) for body in ("[]", "5", "null", '"x"', "{}", '{"status": "up"}', "<html>", "")),
        http_answer("200 OK", "[" * 100_000),
        http_answer("404 Not Found", '{"status": 404, "message": "no"}'),
        http_answer("404 Not Found", '{"error": "no such page"}'),
        http_answer("409 Conflict", '{"error": {"code": 409}}'),
        b"\x1b]0;title\x07\x1b[2J not HTTP\r\n\r\n",
    ],
)
@pytest.mark.parametrize("request_", REQUESTS)
def test_another_service_is_not_taken_for_a_master(request_: str, answer: bytes) -> None:
    with service(answer) as address, pytest.raises(SurroundingsError) as told:
        ask(address, request_, {})
    assert str(told.value) == (
        f"What answers at {address} is no master of Weft's, or one that wants certificates: give another `master`, or "
        "set WEFT_CREDENTIALS."
    )


def test_a_refusal_of_the_master_is_its_sentence() -> None:
    with service(http_answer("409 Conflict", '{"error": "No."}')) as address, pytest.raises(WeftError) as told:
        ask(address, "leave", {"node": "n"})
    assert (str(told.value), told.value.exit_code) == ("No.", 2)


def test_a_defect_of_the_master_is_told_with_where_to_look() -> None:
    with service(http_answer("500 Internal Server Error", "?")) as address, pytest.raises(WeftError) as told:
        ask(address, "status")
    assert str(told.value) == f"What answers at {address} has met a defect of its own (HTTP 500): see its log."


@pytest.mark.parametrize("patient", [False, True])
def test_who_accepts_and_stays_silent_is_given_up(patient: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weft.live.operator.PATIENCE", 0.1)
    with service(None) as address, pytest.raises(SurroundingsError, match=r"No master answers at .* \(timed out\)"):
        ask(address, "redesign", patient=patient)


def test_an_answer_that_breaks_off_is_none() -> None:
    answer = http_answer("200 OK", "{}").replace(b"Length: 2", b"Length: 9")
    with service(answer) as address, pytest.raises(SurroundingsError, match="No master answers"):
        ask(address, "status")


@pytest.mark.parametrize(
    "text", ["a b:1", "a\tb:1", "a\nb:1", "\udcff:1", "a..b:1", "x" * 64 + ":1", "a:65536", "a:" + "9" * 5000]
)
def test_an_address_that_nobody_can_look_up_is_refused(text: str) -> None:
    with pytest.raises(WeftError, match="is no address: give HOST:PORT"):
        read_address(text)


@pytest.mark.parametrize("text", ["localhost:1", "[::1]:65535", "exämple.org:80", "0.0.0.0:0"])
def test_an_address_by_name_or_number_is_taken(text: str) -> None:
    assert str(read_address(text)) == text


def test_an_overlay_is_applied_with_the_instance_that_it_was_made_for(tmp_path: Path) -> None:
    made_for, other = (instance_from_pairs([0, 1, last], [0, 0, 1]) for last in (1, 0))
    overlay_from_links(2, [0], [1]).with_meta(instance=made_for.fingerprint).write(tmp_path / "overlay")
    made_for.write(tmp_path / "made_for")
    other.write(tmp_path / "other")
    with service(http_answer("200 OK", "{}")) as address:
        told = {
            name: weft("apply", str(tmp_path / "overlay"), "--instance", str(tmp_path / name), "--master", str(address))
            for name in ("made_for", "other")
        }
    assert told["other"] == (
        2,
        "",
        "weft: The overlay was made for another instance: design one for this instance.\n",
    )
    assert "is no master of Weft's" in told["made_for"][2], "it was asked"


# What people are shown


def test_what_is_not_known_is_not_shown_as_0() -> None:
    world = MasterWorld()
    world.join("n0")
    forecast = {
        "links": 0,
        "links_to_open": 0,
        "links_to_close": 0,
        "applied": False,
        "proposal": 1,
        **{name: {"now": 0.0, "then": 2.0} for name in ("relays_a_delivery", "hops", "busiest_node")},
    }
    with service(http_answer("200 OK", json.dumps(world.ask("status")))) as one:
        rows = weft("status", "--master", str(one))[1].splitlines()
        assert json.loads(weft("status", "--json", "--master", str(one))[1])["hops"] == 0.0
    shown = {" ".join(words[:-1]): words[-1] for row in rows if (words := row.split())}
    assert "-" not in shown.values()
    assert shown.keys().isdisjoint(("hops", "busiest node", "busiest times mean", "relays a delivery designed"))
    assert shown["clients"] == "0"
    with service(http_answer("200 OK", json.dumps(world.ask("status") | forecast))) as one:
        said = weft("redesign", "--dry-run", "--master", str(one))[1].splitlines()
    assert said[1:] == [
        "relays a delivery   0.0000 now, 2.0000 then",
        "hops                - now, 2.00 then",
        "busiest node sends  - times the mean now, 2.0 then",
    ]
    forecast |= {name: {"now": 0.0, "then": 0.0} for name in ("relays_a_delivery", "hops", "busiest_node")}
    with service(http_answer("200 OK", json.dumps(world.ask("status") | forecast))) as one:
        said = weft("redesign", "--dry-run", "--master", str(one))[1].splitlines()
    assert said[1:] == ["relays a delivery   0.0000 now, 0.0000 then"]


@pytest.mark.parametrize(
    ("topic", "sentence"),
    [("news/#", "No client holds the filter news/#.\n"), ("news", "Nobody subscribes to news.\n")],
)
def test_what_nobody_wants_is_told_plainly(topic: str, sentence: str) -> None:
    with service(http_answer("200 OK", json.dumps(MasterWorld().ask("explain", topic=topic)))) as one:
        assert weft("explain", topic, "--master", str(one)) == (0, sentence, "")


@pytest.mark.parametrize("command", ["redesign", "apply"])
def test_nobody_is_asked_about_links_that_are_there(command: str, tmp_path: Path) -> None:
    overlay_from_links(2, [0], [1]).write(tmp_path / "overlay")
    overlay = [str(tmp_path / "overlay")] if command == "apply" else []
    figures = {name: {"now": 0.5, "then": 0.5} for name in ("relays_a_delivery", "hops", "busiest_node")}
    forecast = {"links": 3, "links_to_open": 0, "links_to_close": 0, "applied": False, "proposal": 1, **figures}
    world = MasterWorld()
    world.join("n0")
    forecast = world.ask("status") | forecast
    with service(http_answer("200 OK", json.dumps(forecast))) as one:
        code, said, _ = weft(command, *overlay, "--master", str(one))
    assert (code, said.splitlines()[-1]) == (0, "There is nothing to put in place.")
    with service(http_answer("200 OK", json.dumps(forecast | {"links_to_open": 1}))) as one:
        code, _, said = weft(command, *overlay, "--master", str(one))
    assert code == 2
    assert "weft: Nobody says whether to put it in place: give --yes or --dry-run." in said


def test_status_tells_since_when_a_node_is_down() -> None:
    world = MasterWorld()
    for name in ("n0", "n1"):
        world.join(name)
    world.subscribe(world.nodes["n1"], "a", persistent=True)
    world.fail(world.nodes["n1"])
    world.run(3.0)
    with service(http_answer("200 OK", json.dumps(world.ask("status")))) as one:
        rows = weft("status", "--master", str(one))[1].splitlines()
    assert any("n1    down since 2027-01-15 08:00:0" in row for row in rows)
