"""Each trouble with a certificate or a clock is told by its cause, to whom it concerns, and before it is there."""

import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from typer.testing import CliRunner

from exposition import read_exposition
from live_network import Master, Process, running
from live_node import http, until
from live_node import node as lone_node
from ports import free_port
from weft import cli
from weft.access import authority as issuing
from weft.access.badge import Role
from weft.errors import WeftError
from weft.live.address import Address
from weft.live.authority import AuthorityFolder, end_by, write_credentials
from weft.live.joining import USED, join
from weft.live.operator import ask

DAY = 86_400.0
HOUR = 3600.0


@pytest.fixture
def ca(tmp_path: Path) -> AuthorityFolder:
    folder = AuthorityFolder(tmp_path / "ca")
    folder.create("weft", ("127.0.0.1",))
    return folder


@pytest.fixture
def master(ca: AuthorityFolder, monkeypatch: pytest.MonkeyPatch) -> Iterator[Master]:
    monkeypatch.setenv("WEFT_CREDENTIALS", str(ca.folder / "operator"))
    one = Master("--ca", str(ca.folder))
    with running(one):
        yield one


def issued_at(ca: AuthorityFolder, role: Role, name: str, at: float, out: Path) -> Path:
    """Credentials that were made at a time."""
    made = issuing.Authority(ca.certificate, (ca.folder / "authority.key").read_bytes())
    key = issuing.new_key()
    signed = issuing.sign(made, issuing.request(key, name), role, name, ("127.0.0.1",), at)
    write_credentials(out, key, signed.certificate, ca.certificate)
    with (ca.folder / "issued").open("a") as issued:
        made_at = datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds")
        issued.write(f"{signed.serial} {role.value} {made_at} {name}\n")
    return out


def member(master: Master, name: str, *options: str) -> Process:
    listen = ("--listen", "127.0.0.1:0", "--link", "127.0.0.1:0")
    return Process("node", "--master", str(master.address), "--name", name, *listen, *options)


def logged(one: Process, event: str) -> Callable[[], bool]:
    return lambda: f" {event} " in one.said()


def test_a_revoked_node_hears_that_it_was_revoked(master: Master, ca: AuthorityFolder, tmp_path: Path) -> None:
    ca.issue(Role.NODE, "berlin", ("127.0.0.1",), tmp_path / "berlin")
    ca.revoke("berlin")
    master.process.send_signal(1)  # look now
    until(lambda: ca.revoked_serials() != set(), "the revocation")
    code, said = member(master, "berlin", "--credentials", str(tmp_path / "berlin")).wait()
    assert code == 2
    assert "The certificate of berlin was revoked: get another for this node from `weft ca`." in said
    assert "shown no certificate" not in said


def test_a_revoked_operator_hears_so_too(
    master: Master, ca: AuthorityFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ca.issue(Role.OPERATOR, "carol", (), tmp_path / "carol")
    ca.revoke("carol")
    monkeypatch.setenv("WEFT_CREDENTIALS", str(tmp_path / "carol"))

    def told() -> str:
        try:
            ask(master.address, "status")
        except WeftError as error:
            return str(error)
        return ""

    until(lambda: told() != "", "the refusal")
    assert told() == "The certificate of carol was revoked: get another from `weft ca`."


@pytest.mark.parametrize(
    ("age", "words"),
    [
        (issuing.LIFE.total_seconds() + DAY, "certificate.pem: it expired on "),
        (-HOUR, "and the clock here says less: set the clock"),
    ],
    ids=["expired", "clock an hour behind"],
)
def test_a_node_says_that_its_own_certificate_is_not_valid(
    master: Master, ca: AuthorityFolder, tmp_path: Path, age: float, words: str
) -> None:
    folder = issued_at(ca, Role.NODE, "berlin", time.time() - age, tmp_path / "berlin")
    one = member(master, "berlin", "--credentials", str(folder))
    with running(one):
        until(logged(one, "certificate_not_valid"), "the cause")
        until(lambda: "tls_refused" in master.said(), "the master's refusal")
        assert words in one.said()
        assert "is no master" not in one.said()


@pytest.mark.parametrize(
    ("age", "words"),
    [
        (issuing.LIFE.total_seconds() + DAY, "its certificate has expired, by the clock here"),
        (-HOUR, "its certificate is not valid yet, by the clock here: see whether that is behind"),
    ],
    ids=["expired", "clock an hour behind"],
)
def test_who_calls_a_master_whose_certificate_is_not_valid_says_so(
    ca: AuthorityFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, age: float, words: str
) -> None:
    issued_at(ca, Role.MASTER, "master", time.time() - age, ca.folder / "master")
    monkeypatch.setenv("WEFT_CREDENTIALS", str(ca.folder / "operator"))
    ca.issue(Role.NODE, "berlin", ("127.0.0.1",), tmp_path / "berlin")
    token = str(ca.invite("rome", (), 1.0))
    (ca.folder / "authority.key").rename(tmp_path / "kept")  # or the master would renew its own
    one = Master("--ca", str(ca.folder))
    with running(one):
        with pytest.raises(WeftError, match=words):
            ask(one.address, "status")
        with pytest.raises(WeftError, match=words):
            join(tmp_path / "rome", one.address, "rome", token)
        node = member(one, "berlin", "--credentials", str(tmp_path / "berlin"))
        with running(node):
            until(logged(node, "unreachable"), "the cause")
            assert words in node.said()


# Tokens


def test_a_new_token_is_used_beside_old_credentials(master: Master, ca: AuthorityFolder, tmp_path: Path) -> None:
    own, used = tmp_path / "berlin", str(ca.invite("berlin", (), 1.0))
    assert join(own, master.address, "berlin", used) == ""
    first = (own / "certificate.pem").read_bytes()
    assert join(own, master.address, "berlin", used) == ""
    assert (own / "certificate.pem").read_bytes() == first, "the same token says nothing new"
    ca.revoke("berlin")
    assert join(own, master.address, "berlin", str(ca.invite("berlin", (), 1.0))) == ""
    assert (own / "certificate.pem").read_bytes() != first


def test_a_token_that_is_not_taken_is_told_and_the_old_credentials_are_used(
    master: Master, ca: AuthorityFolder, tmp_path: Path
) -> None:
    own = tmp_path / "berlin" / "credentials"
    ca.issue(Role.NODE, "berlin", ("127.0.0.1",), own)
    token = str(ca.invite("rome", (), 1.0))
    one = member(master, "berlin", "--data", str(tmp_path / "berlin"), "--join", token)
    with running(one):
        assert one.port()
        assert " not_joined " in one.said()
        assert "The token is for rome, not for berlin" in one.said()
        assert (own / USED).exists()


def test_a_node_starts_with_its_credentials_while_nobody_takes_its_token(ca: AuthorityFolder, tmp_path: Path) -> None:
    ca.issue(Role.NODE, "berlin", (), tmp_path / "berlin")
    nobody = Address("127.0.0.1", free_port())
    problem = join(tmp_path / "berlin", nobody, "berlin", str(ca.invite("berlin", (), 1.0)))
    assert problem.startswith(f"The master at {nobody} does not answer")
    assert problem.endswith("The credentials that are there are used.")


# Before it is too late


def test_the_list_of_certificates_has_their_ends(ca: AuthorityFolder, tmp_path: Path) -> None:
    old = time.time() - issuing.LIFE.total_seconds() - DAY
    issued_at(ca, Role.NODE, "old", old, tmp_path / "old")
    ca.issue(Role.NODE, "berlin", (), tmp_path / "berlin")
    ca.revoke("berlin")
    done = CliRunner().invoke(cli.app, ["ca", "list", "--ca", str(ca.folder)], catch_exceptions=False)
    rows = {line.split()[0]: line for line in done.stdout.splitlines()}
    for name in ("old", "berlin"):
        end = issuing.end_of((tmp_path / name / "certificate.pem").read_bytes())
        assert f"{datetime.fromtimestamp(end, UTC):%Y-%m-%d}" in rows[name]
        (at,) = [at for _, _, at, named in ca.issued() if named == name]
        assert abs(end_by(at) - end) < 2.0
    assert "  expired 20" in rows["old"]
    assert "  revoked " in rows["berlin"]


def test_a_certificate_that_ends_within_a_fortnight_is_a_problem(
    ca: AuthorityFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WEFT_CREDENTIALS", str(ca.folder / "operator"))
    soon = time.time() - issuing.LIFE.total_seconds()
    berlin = issued_at(ca, Role.NODE, "berlin", soon + 13.5 * DAY, tmp_path / "berlin")
    paris = issued_at(ca, Role.NODE, "paris", soon + 14.5 * DAY, tmp_path / "paris")
    issued_at(ca, Role.NODE, "stranger", soon + 5 * DAY, tmp_path / "stranger")
    (ca.folder / "authority.key").rename(tmp_path / "kept")  # so that nothing is renewed
    one = Master("--ca", str(ca.folder))
    with running(one):
        nodes = [
            member(one, name, "--credentials", str(folder)) for name, folder in (("berlin", berlin), ("paris", paris))
        ]
        with running(*nodes):
            one.await_up("berlin", "paris")
            status = one.ask("status")
            end = datetime.fromtimestamp(end_by_name(ca, "berlin"), UTC)
            problem = f"The certificate of berlin expires on {end:%Y-%m-%d %H:%M:%S} UTC: see in its log why it was not"
            assert status["problems"] == [f"{problem} renewed, or give it another from `weft ca`."]
            assert 13.0 < status["certificate_days"] < 13.6
            (tmp_path / "kept").rename(ca.folder / "authority.key")
            ca.issue(Role.NODE, "berlin", ("127.0.0.1",), tmp_path / "berlin")
            until(lambda: one.ask("status")["problems"] == [], "the master sees the new one")


def end_by_name(ca: AuthorityFolder, name: str) -> float:
    (at,) = [at for _, _, at, named in ca.issued() if named == name]
    return end_by(at)


def test_a_metric_has_the_days_that_are_left(ca: AuthorityFolder, tmp_path: Path) -> None:
    folder = issued_at(ca, Role.NODE, "berlin", time.time() - issuing.LIFE.total_seconds() + 9.5 * DAY, tmp_path / "b")
    port = free_port()
    files = ("--certificate", str(folder / "certificate.pem"), "--key", str(folder / "key.pem"))
    with lone_node("--listen", "mqtts://127.0.0.1:0", *files, "--http", f"127.0.0.1:{port}"):
        text = http(port, "/metrics").partition("\r\n\r\n")[2]
    assert 9.0 < read_exposition(text)["weft_certificate_days"].samples[""] < 9.6
