"""Defects that other MQTT brokers had, tried on ours: the table in docs/security.md, and tests of what has no other."""

import asyncio
import gc
import re
import resource
import stat
from pathlib import Path

import pytest

from broker_client import QUIET, V3, V5, Client, House
from weft.access import password as kept_passwords
from weft.access.guard import Access, Guard
from weft.access.limit import Limits
from weft.access.password import NOBODY, keep
from weft.access.rights import read_rights
from weft.broker.connection import Connection
from weft.broker.parameters import Parameters
from weft.live.access_file import AccessFiles
from weft.live.journal import open_journal
from weft.wire import frame
from weft.wire.frame_codec import FrameReader
from weft.wire.frame_codec import encode as encode_frame
from weft.wire.mqtt import packet as p
from weft.wire.mqtt.field import string, u16, varint
from weft.wire.mqtt.parser import Parser
from weft.wire.mqtt.property import Property
from weft.wire.mqtt.reason import PacketError

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "security.md").read_text()
ROW = re.compile(r"^\| (CVE-\d{4}-\d{4,}(?:, CVE-\d{4}-\d{4,})*) \|(.*)\|$", re.M)
NAMED = re.compile(r"`(test_\w+)::(test_\w+|TestMachine)`")


# The table


def test_every_row_of_the_table_has_four_cells_and_a_test_or_a_reason() -> None:
    rows = ROW.findall(PAGE)
    assert len(rows) > 30
    for identifiers, rest in rows:
        cells = [cell.strip() for cell in rest.split(" | ")]
        assert len(cells) == 3, identifiers
        assert NAMED.search(cells[2]) or cells[1].startswith("no: "), identifiers


def test_every_test_that_the_table_names_is_there() -> None:
    missing = set()
    for file, name in NAMED.findall(PAGE):
        path = ROOT / "tests" / f"{file}.py"
        text = path.read_text() if path.exists() else ""
        if not re.search(rf"^(?:async )?def {name}\(|^{name} = ", text, re.M):
            missing.add(f"{file}::{name}")
    assert missing == set()


def test_no_defect_is_told_twice() -> None:
    identifiers = re.findall(r"CVE-\d{4}-\d+", "".join(row for row, _ in ROW.findall(PAGE)))
    assert len(identifiers) == len(set(identifiers))


# Packets


@pytest.mark.parametrize("version", [V3, V5])
def test_a_name_of_nothing_but_slashes_ends_nobody_else(version: p.Version) -> None:
    """Mosquitto ran out of stack (CVE-2019-11779)."""
    house, slashes = House(), "/" * 65_535
    other = house.greeted("other")
    house.greeted("subscriber", version).say(p.Subscribe(1, (p.Request(slashes),)))
    house.greeted("publisher", version).say(p.Publish(slashes, b"", retain=True))
    house.open(version).say(p.Connect("will", version, will=p.Will(slashes, b"")))
    assert other.say(p.Pingreq()) == [p.Pingresp()]


@pytest.mark.parametrize("name", ["$test/test", "$", "$/x", "$shared/x", "$SYSTEM"])
def test_names_with_a_dollar_are_names(name: str) -> None:
    """Mosquitto ended by an assertion (CVE-2018-12543)."""
    house = House()
    reader, writer = house.greeted("reader"), house.greeted("writer")
    reader.say(p.Subscribe(1, (p.Request(name), p.Request("#"))))
    writer.say(p.Publish(name, b"x", retain=True))
    assert [one.payload for one in reader.take() if isinstance(one, p.Publish)] == [b"x"]


@pytest.mark.parametrize(
    "bad",
    [
        b"\x80\x80\x80\x80\x01",  # five bytes
        b"\xff\xff\xff\x7f",  # 256 MiB that do not come
        b"\x80",
    ],
)
@pytest.mark.parametrize("place", ["CONNECT", "PUBLISH"])
def test_a_length_of_properties_that_is_none_is_an_error(place: str, bad: bytes) -> None:
    """NanoMQ read on behind its buffer (CVE-2026-21888)."""
    head = {"CONNECT": (b"\x10", string("MQTT") + b"\x05\x02" + u16(0)), "PUBLISH": (b"\x30", string("t"))}[place]
    body = head[1] + bad
    parser = Parser(version=V5)
    with pytest.raises(PacketError):
        list(parser.feed(head[0] + varint(len(body)) + body))
        list(parser.feed(b"\xc0\0"))


@pytest.mark.parametrize("codes", [b"", b"\x05"])
def test_an_answer_without_codes_is_no_answer(codes: bytes) -> None:
    """A client's parser read what was not there (CVE-2024-10525); that of `weft bench` is this one."""
    with pytest.raises(PacketError):
        list(Parser(version=V3).feed(b"\x90" + varint(2 + len(codes)) + u16(1) + codes))


# What is left


def connections() -> int:
    gc.collect()
    return sum(isinstance(one, Connection) for one in gc.get_objects())


def refused(house: House, number: int) -> Client:
    """A client whose CONNECT has something in it for which it is refused behind all that is read before."""
    one = house.open(V5)
    topic = string("w")
    will = varint(3) + b"\x11\0\0" if number % 2 else varint(7) + b"\x26" + string("k") + string("")[:1]
    body = string("MQTT") + b"\x05\x06" + u16(0) + b"\0" + string(f"c{number}") + will + topic + u16(0)
    one.say_bytes(b"\x10" + varint(len(body)) + body)
    return one


def test_a_connect_that_is_refused_leaves_nothing() -> None:
    """Mosquitto kept memory for crafted ones (CVE-2017-7654, CVE-2021-34431, CVE-2023-3592)."""
    house = House()
    before = connections()
    for number in range(100):
        one = refused(house, number)
        assert one.closed
        one.vanish()
    del one
    house.wait(60)
    assert connections() == before
    assert house.greeted("next").say(p.Pingreq()) == [p.Pingresp()]


def test_one_identifier_again_and_again_is_one_publication() -> None:
    """Mosquitto kept every copy where PUBREC was never answered (CVE-2023-28366)."""
    house = House()
    reader, writer = house.greeted("reader"), house.greeted("writer", V5)
    reader.say(p.Subscribe(1, (p.Request("t", 2),)))
    for _ in range(2000):
        (answer,) = writer.say(p.Publish("t", bytes(100), 2, packet_id=7))
        assert isinstance(answer, p.Pubrec)
    assert len([one for one in reader.take() if isinstance(one, p.Publish)]) == 1
    assert not writer.closed


def test_who_is_not_let_in_ends_no_session() -> None:
    """NanoMQ looked at Clean Start before it looked at the password (its issue 2333)."""
    kept = keep(b"secret", b"salt", log_n=4, blocks=1, times=1)
    house = House(
        guard=Guard(Access({"alice": kept}, read_rights("user alice\ntopic readwrite #\n")), Limits(), b"key")
    )
    for_ever = {Property.SESSION_EXPIRY_INTERVAL: 0xFFFFFFFF}

    def come(password: bytes, clean: bool) -> p.Connack:
        one = house.open(V5)
        (answer,) = one.say(p.Connect("c", V5, clean, username="alice", password=password, properties=for_ever))
        assert isinstance(answer, p.Connack)
        one.vanish()
        return answer

    assert come(b"secret", clean=False).code == 0
    assert come(b"wrong", clean=True).code != 0
    assert come(b"secret", clean=False).session_present


def test_nodes_tell_each_other_any_filter_as_it_is() -> None:
    """NATS passed on line ends of a filter as commands (CVE-2026-58213)."""
    said = [frame.FindWay(one) for one in ("a\r\nPUB x 1\r\n", "a\u2028b", "\x7f\x1b[31m", " ", "a\tb")]
    assert list(FrameReader().feed(b"".join(map(encode_frame, said)))) == said


# Rights, passwords, files


def test_rights_that_say_nothing_allow_nothing() -> None:
    """Mosquitto took an empty file for none (CVE-2018-12550)."""
    for text in ("", "\n\n", "# nothing\n", "user alice\n"):
        granted = read_rights(text).of("alice", "c")
        assert not granted.may_read("t")
        assert not granted.may_write("t")


def test_files_that_cannot_be_opened_change_nothing(tmp_path: Path) -> None:
    """Mosquitto went back to its defaults on SIGHUP where no descriptor was left (CVE-2017-7652)."""
    (tmp_path / "users").write_text(f"alice:{keep(b'x', b'salt', log_n=4, blocks=1, times=1)}\n")
    (tmp_path / "rights").write_text("user alice\ntopic read t\n")
    files = AccessFiles(tmp_path / "users", tmp_path / "rights")
    taken: list[Access] = []
    told: list[str] = []
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, limits[1]))
    try:
        files.read_again(taken.append, lambda event, **_: told.append(event))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert (taken, told) == ([], ["access_not_read"])
    files.read_again(taken.append, lambda event, **_: told.append(event))
    assert len(taken) == 1


def test_a_name_that_nobody_has_costs_what_a_wrong_password_costs(monkeypatch: pytest.MonkeyPatch) -> None:
    """EMQX's dashboard told which users there were (CVE-2021-46434)."""
    house = House(guard=Guard(Access({"alice": NOBODY}, read_rights("")), Limits(), b"key"))
    asked: list[tuple[int, int, int]] = []

    def scrypt(_: bytes, *, n: int, r: int, p: int, **__: object) -> bytes:
        asked.append((n, r, p))
        return b""

    monkeypatch.setattr(kept_passwords, "scrypt", scrypt)
    answers = []
    for name in ("alice", "nobody", ""):
        one = house.open(V5)
        answers.append(one.say(p.Connect("c", V5, username=name, password=b"wrong")))
    assert answers[0] == answers[1] == answers[2]
    assert len(asked) == 3
    assert len(set(asked)) == 1


def test_what_a_node_keeps_is_for_its_user_alone(tmp_path: Path) -> None:
    """Mosquitto's file of sessions could be read by everybody (CVE-2017-9868)."""

    async def kept() -> None:
        journal = open_journal(tmp_path / "data", lambda _: None)
        journal.start(lambda _: None, lambda: iter(()))
        journal.append([b"secret"])
        await journal.close()

    asyncio.run(kept())
    modes = {stat.S_IMODE(path.stat().st_mode) & 0o077 for path in (tmp_path / "data", *(tmp_path / "data").iterdir())}
    assert modes == {0}


def test_a_session_that_expires_before_its_will_is_due_has_said_it() -> None:
    """Mosquitto used a session that was gone (CVE-2019-11778)."""
    house = House(Parameters(sys_interval=0))
    reader = house.greeted("reader")
    reader.say(p.Subscribe(1, (p.Request("w"),)))
    delay, expiry = {Property.WILL_DELAY_INTERVAL: 100}, {Property.SESSION_EXPIRY_INTERVAL: 10}
    gone = house.greeted("gone", V5, will=p.Will("w", b"x", properties=delay), properties=expiry)
    gone.vanish()
    house.wait(11)
    assert [one.payload for one in reader.take() if isinstance(one, p.Publish)] == [b"x"]
    house.wait(200)
    assert reader.take() == []


def test_whatever_follows_goodbye_is_nothing() -> None:
    """Mosquitto used what it had freed after such sequences (CVE-2024-8376)."""
    house = House(QUIET)
    reader = house.greeted("reader")
    reader.say(p.Subscribe(1, (p.Request("#"),)))
    one = house.greeted("one", V5)
    again = (p.Subscribe(1, (p.Request("t"),)), p.Publish("t", b"x", retain=True), p.Unsubscribe(2, ("t",)))
    assert one.say(p.Disconnect(), p.Connect("one", V5), *again, p.Disconnect()) == []
    assert one.closed
    assert reader.take() == []
    assert house.greeted("next").say(p.Subscribe(1, (p.Request("#"),))) == [p.Suback(1, (0,))]
