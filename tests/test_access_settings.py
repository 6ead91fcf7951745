"""Options and commands of access: what is refused without protection, users in a file, certificates in folders."""

import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from weft import cli
from weft.errors import WeftError
from weft.live.access_file import read_user_file
from weft.live.address import Address
from weft.live.master_settings import read_master_settings
from weft.live.settings import read_settings
from weft.master.parameters import Parameters as MasterParameters

FAR, NEAR = "192.0.2.1:1883", "127.0.0.1:1883"
TLS = {"certificate": "server.pem"}
USERS = {"users": "users", "rights": "rights"}


@pytest.mark.parametrize(
    "given",
    [
        {"listen": [NEAR]},
        {"listen": ["localhost:1883", "ws://[::1]:80"]},
        {"listen": [f"mqtts://{FAR}"], **TLS, **USERS},
        {"listen": [f"wss://{FAR}"], **TLS, "token_key": "key", "rights": "rights"},
        {"listen": [f"mqtts://{FAR}"], **TLS, "client_authority": "ca.pem", "rights": "rights"},
        {"listen": [f"mqtts://{FAR}"], **TLS, "allow_anonymous": True},
        {"listen": [FAR], **USERS, "allow_plaintext": True},
        {"listen": [FAR], "allow_plaintext": True, "allow_anonymous": True},
        {"listen": [NEAR], "master": "192.0.2.1:7883", "credentials": "node"},
        {"listen": [NEAR], "master": "192.0.2.1:7883", "link": "192.0.2.2:7884", "join": "token", "data": "data"},
        {"listen": [NEAR], "master": "192.0.2.1:7883", "allow_plaintext": True},
    ],
)
def test_what_is_protected_or_said_to_be_open_is_taken(given: dict[str, Any]) -> None:
    settings = read_settings(None, given)
    open_ = bool(given.get("allow_plaintext") or given.get("allow_anonymous"))
    assert bool(settings.warnings()) is open_


@pytest.mark.parametrize("name", ["\udcff", "a\nb", "  ", "n" * 256])
def test_names_that_no_table_can_show_are_refused(name: str) -> None:
    rest = "give up to 255 characters that can be seen, without a space at either end."
    with pytest.raises(WeftError) as told:
        read_settings(None, {"name": name})
    assert (str(told.value), told.value.options) == (f"`name` is {name[:255]!r}: {rest}", ("name",))
    with pytest.raises(WeftError) as told:
        read_master_settings(None, {"cluster": name})
    assert (str(told.value), told.value.options) == (f"`cluster` is {name[:255]!r}: {rest}", ("cluster",))


@pytest.mark.parametrize(
    ("given", "option"),
    [
        ({"listen": [FAR]}, "allow_plaintext"),
        ({"listen": ["0.0.0.0:1883"], **USERS}, "allow_plaintext"),
        ({"listen": [":1883"], **USERS}, "allow_plaintext"),
        ({"listen": ["localhost.example:1883"], **USERS}, "allow_plaintext"),
        ({"listen": [NEAR, f"ws://{FAR}"], **USERS}, "allow_plaintext"),
        ({"listen": [f"mqtts://{FAR}"], **TLS}, "anonymous"),
        ({"listen": [FAR], "allow_plaintext": True}, "anonymous"),
        ({"listen": [NEAR], "users": "users"}, "rights"),
        ({"listen": [NEAR], "client_authority": "ca.pem"}, "rights"),
        ({"listen": [f"mqtts://{NEAR}"]}, "certificate"),
        ({"listen": [NEAR], "http": "192.0.2.1:9001"}, "allow_plaintext"),
        ({"listen": [NEAR], "master": "192.0.2.1:7883"}, "credentials"),
        ({"listen": [NEAR], "master": "127.0.0.1:7883", "link": "192.0.2.1:1"}, "credentials"),
        ({"listen": [NEAR], "master": "192.0.2.1:7883", "join": "token"}, "data"),
    ],
)
def test_what_is_open_needs_a_word(given: dict[str, Any], option: str) -> None:
    with pytest.raises(WeftError) as raised:
        read_settings(None, given)
    assert option in raised.value.options


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("listen = 5", "listen is 5: give text."),
        ('listen = ["127.0.0.1:1", 5]', "listen is 5: give text."),
        ("listen = []", "listen is []: give one address or more."),
        ("data = 5", "data is 5: give text."),
        ("http = 9001", "http is 9001: give text."),
        ("name = 5", "name is 5: give text."),
        ('allow-anonymous = "false"', "allow-anonymous is 'false': give true or false."),
        ("inflight = true", "inflight is True: give a whole number."),
        ("inflight = 1.5", "inflight is 1.5: give a whole number."),
        ('patience = "long"', "patience is 'long': give a number."),
        ('connect-rate = "much"', "connect-rate is 'much': give a number."),
        ("connect-timeout = nan", "connect-timeout is nan: give a finite number."),
        ("sys-interval = inf", "sys-interval is inf: give a finite number."),
        ("connect-rate = -inf", "connect-rate is -inf: give a finite number."),
        ("inflight = nan", "inflight is nan: give a finite number."),
        ("queue-messages = 0", "`queue_messages` is 0: give 1 or more."),
        ("linked = true", "there is no option linked: "),
    ],
)
def test_a_file_with_a_value_of_another_kind_is_refused_in_one_sentence(
    line: str, sentence: str, tmp_path: Path
) -> None:
    file = tmp_path / "node.toml"
    file.write_text(line)
    with pytest.raises(WeftError, match=re.escape(sentence)):
        read_settings(file, {})


def test_a_file_of_a_master_with_a_value_of_another_kind_is_refused_too(tmp_path: Path) -> None:
    file = tmp_path / "master.toml"
    for line, sentence in (
        ('automatic = "no"', "automatic is 'no': give true or false."),
        ("automatic = 1", "automatic is 1: give true or false."),
        ("grace = true", "grace is True: give a number."),
        ("fan-out = 2.5", "fan-out is 2.5: give a whole number."),
        ("listen = 7883", "listen is 7883: give text."),
        ("rest = inf", "rest is inf: give a finite number."),
        ("uneven = nan", "uneven is nan: give a finite number."),
    ):
        file.write_text(line)
        with pytest.raises(WeftError, match=re.escape(sentence)):
            read_master_settings(file, {})
    file.write_text("automatic = false\ngrace = 2")
    assert read_master_settings(file, {}).parameters == MasterParameters(automatic=False, grace=2)


def test_anonymous_clients_are_of_the_loopback_unless_said() -> None:
    settings = read_settings(None, {"listen": [NEAR, f"mqtts://{FAR}"], **TLS, **USERS})
    assert [settings.takes_anonymous(one) for one in settings.listen] == [True, False]
    said = read_settings(None, {"listen": [f"mqtts://{FAR}"], **TLS, **USERS, "allow_anonymous": True})
    assert said.takes_anonymous(said.listen[0])


@pytest.mark.parametrize(("word", "near", "far"), [("never", 0, 0), ("loopback", 1, 0), ("anywhere", 1, 1)])
def test_a_word_says_where_clients_may_be_anonymous(word: str, near: bool, far: bool) -> None:
    given = {"listen": [NEAR, f"mqtts://{FAR}"], **TLS, **USERS, "anonymous": word}
    settings = read_settings(None, given)
    assert [settings.takes_anonymous(one) for one in settings.listen] == [near, far]


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"anonymous": "sometimes"}, "anonymous is 'sometimes': give never, loopback, anywhere."),
        ({"anonymous": "never"}, "`anonymous` is never and there are no users, so nobody could connect: give "),
        (
            {**USERS, "anonymous": "never", "allow_anonymous": True},
            "`allow_anonymous` is `anonymous` anywhere, and never was given: give one of them.",
        ),
    ],
)
def test_a_word_that_lets_nobody_in_or_is_none_is_refused(given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(WeftError, match=re.escape(sentence)):
        read_settings(None, given)


def test_names_and_pages_may_be_given_once_or_more(tmp_path: Path) -> None:
    file = tmp_path / "node.toml"
    file.write_text('http-host = "weft.example"\nwebsocket-origin = ["https://a.example", "https://b.example"]')
    pages = read_settings(file, {}).pages(Address("127.0.0.1", 8080, "ws"))
    assert (pages.names, pages.origins) == (("weft.example",), ("https://a.example", "https://b.example"))
    given = {"http_host": ["one.example", "two.example"]}
    assert (
        read_settings(file, given).http_host == read_master_settings(None, given).http_host == tuple(given["http_host"])
    )


def test_a_master_beyond_the_loopback_needs_an_authority(tmp_path: Path) -> None:
    far = {"listen": "192.0.2.1:7883"}
    with pytest.raises(WeftError, match="without certificates"):
        read_master_settings(None, {**far, "data": tmp_path})
    assert read_master_settings(None, {**far, "ca": "ca"}).authority == Path("ca")
    assert read_master_settings(None, {**far, "allow_plaintext": True}).authority is None
    (tmp_path / "ca").mkdir()
    assert read_master_settings(None, {**far, "data": tmp_path}).authority == tmp_path / "ca"
    assert read_master_settings(None, {}).listen == Address("127.0.0.1", 7883)


def run(*words: str, said: str | None = None) -> str:
    done = CliRunner().invoke(cli.app, list(words), input=said)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.output


def test_users_are_added_changed_listed_and_removed(tmp_path: Path) -> None:
    users = str(tmp_path / "users")
    assert run("user", "add", "alice", "--users", users, said="secret\n").startswith("Added alice")
    assert run("user", "add", "bob", "--users", users, said="word\n").startswith("Added bob")
    assert run("user", "add", "bob", "--users", users, said="other\n").startswith("Changed bob")
    assert run("user", "list", "--users", users) == "alice\nbob\n"
    kept = read_user_file(tmp_path / "users")
    assert kept["bob"].matches(b"other")
    assert (tmp_path / "users").stat().st_mode & 0o777 == 0o600
    assert run("user", "remove", "alice", "--users", users).startswith("Removed alice")
    assert run("user", "list", "--users", users) == "bob\n"
    with pytest.raises(WeftError, match="no user alice"):
        run("user", "remove", "alice", "--users", users)
    with pytest.raises(WeftError, match="without /"):
        run("user", "add", "a/b", "--users", users, said="x\n")
    with pytest.raises(WeftError, match="empty"):
        run("user", "add", "carol", "--users", users, said="\n")


def test_certificates_are_made_listed_and_revoked(tmp_path: Path) -> None:
    ca = ("--ca", str(tmp_path / "ca"))
    assert "WEFT_CREDENTIALS" in run("ca", "init", *ca)
    run("ca", "node", "berlin", *ca, "--host", "192.0.2.1", "--out", str(tmp_path / "berlin"))
    run("ca", "operator", "carol", "--read-only", *ca)
    run("ca", "client", "alice", *ca)
    assert sorted(one.name for one in (tmp_path / "berlin").iterdir()) == [
        "authority.pem",
        "certificate.pem",
        "key.pem",
    ]
    assert len(run("ca", "token", "paris", *ca).strip()) == 66
    assert run("ca", "revoke", "berlin", *ca) == "Revoked 1 certificate of berlin.\n"
    rows = [line.split() for line in run("ca", "list", *ca).splitlines()]
    assert [(row[0], row[1], row[3] == "revoked") for row in rows] == [
        ("master", "master", False),
        ("operator", "operator", False),
        ("berlin", "node", True),
        ("carol", "reader", False),
        ("alice", "client", False),
    ]
    with pytest.raises(WeftError, match="no name"):
        run("ca", "node", "a b", *ca)
    with pytest.raises(WeftError, match="weft ca init"):
        run("ca", "token", "paris", "--ca", str(tmp_path / "nothing"))
