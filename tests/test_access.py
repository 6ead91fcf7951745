"""Access: filters beside filters, rights, passwords, tokens and limits, each against its definition."""

import hmac
import json
from base64 import urlsafe_b64encode
from itertools import product

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from weft.access.filter import covers, overlaps
from weft.access.limit import Callers, Limits, is_loopback
from weft.access.name import is_client, is_user, node_problem, parted, session_name
from weft.access.password import Recent, keep, read_kept
from weft.access.rights import read_rights
from weft.access.user import read_users, write_users
from weft.access.web_token import read_token_key
from weft.errors import WeftError
from weft.wire.mqtt.reason import PacketError
from weft.wire.mqtt.topic import is_filter, matches

LEVELS = ("a", "b", "$", "+", "#")
FILTERS = ["/".join(one) for size in (1, 2, 3) for one in product(LEVELS, repeat=size) if is_filter("/".join(one))]
# one level more than filters have, and a word that no filter has: enough to tell any two apart
NAMES = ["/".join(one) for size in (1, 2, 3, 4) for one in product(("a", "b", "$", "c"), repeat=size)]
MATCHED = {pattern: frozenset(name for name in NAMES if matches(pattern, name)) for pattern in FILTERS}


def test_a_filter_covers_what_its_names_say() -> None:
    same = {("+/#", "#")}  # the pair that filter.py names
    for wide, narrow in product(FILTERS, repeat=2):
        assert covers(wide, narrow) is (MATCHED[narrow] <= MATCHED[wide] and (wide, narrow) not in same), (wide, narrow)


def test_filters_overlap_where_a_name_matches_both() -> None:
    for one, other in product(FILTERS, repeat=2):
        assert overlaps(one, other) is bool(MATCHED[one] & MATCHED[other]), (one, other)


RIGHTS = read_rights(
    """
# what clients without a name may
topic read news/#

user alice
topic readwrite home/#
topic deny home/safe/#
topic write log
topic read $SYS/broker/uptime
pattern readwrite devices/%u/%c/#
pattern read all/+
"""
)


@pytest.mark.parametrize(
    ("user", "client", "pattern", "may"),
    [
        ("", "x", "news/today", True),
        ("", "x", "news/#", True),
        ("", "x", "$share/g/news/#", True),
        ("", "x", "#", False),
        ("", "x", "home/door", False),
        ("", "x", "devices//x/t", False),  # no user, so nothing of a pattern with one
        ("alice", "x", "home/+/door", False),  # of which home/safe/door is one
        ("alice", "x", "home/garden/#", True),
        ("alice", "x", "home/#", False),
        ("alice", "x", "+/garden", False),
        ("alice", "x", "$share/g/home/#", False),
        ("alice", "x", "$share/home/garden", False),  # the group `home` of the filter `garden`
        ("alice", "x", "log", False),
        ("alice", "x", "$SYS/broker/uptime", True),
        ("alice", "x", "$SYS/#", False),
        ("alice", "x", "devices/alice/x/temperature", True),
        ("alice", "x", "devices/alice/y/temperature", False),
        ("alice", "x", "devices/+/x/#", False),
        ("alice", "+", "devices/alice/+/#", False),
        ("alice", "#", "devices/alice/#", False),
        ("alice", "x/y", "devices/alice/x/y/t", False),
        ("bob", "x", "devices/alice/x/t", False),
        ("bob", "x", "all/+", True),
        ("bob", "x", "news/today", False),  # what is before the first user is of those without a name
    ],
)
def test_what_may_be_read(user: str, client: str, pattern: str, may: bool) -> None:
    assert RIGHTS.of(user, client).may_read(pattern) is may


@pytest.mark.parametrize(
    ("user", "name", "may"),
    [
        ("", "news/today", False),
        ("alice", "home/door", True),
        ("alice", "home/safe/key", False),
        ("alice", "home/safe", False),
        ("alice", "log", True),
        ("alice", "log/x", False),
        ("alice", "devices/alice/x/t", True),
        ("alice", "devices/bob/x/t", False),
        ("alice", "all/x", False),
        ("alice", "$SYS/broker/uptime", False),
        ("bob", "home/door", False),
    ],
)
def test_what_may_be_written(user: str, name: str, may: bool) -> None:
    assert RIGHTS.of(user, "x").may_write(name) is may


@pytest.mark.parametrize("client", ["$SYS", "$share"])
def test_a_client_id_makes_no_pattern_of_reserved_names(client: str) -> None:
    rights = read_rights("pattern read %c/#")
    assert not rights.of("alice", client).may_read(f"{client}/#")
    assert rights.of("alice", "x").may_read("x/#")


@pytest.mark.parametrize(
    "line",
    [
        "topics read a",
        "user",
        "user a/b",
        "user $SYS",
        "topic read a/#/b",
        "pattern read x%u/a",
        "topic",
        "topic $share/a/b",
    ],
)
def test_a_line_that_says_nothing_is_an_error_with_its_number(line: str) -> None:
    with pytest.raises(WeftError, match="line 2"):
        read_rights(f"user alice\n{line}\n")


def test_names_of_sessions_tell_users_apart() -> None:
    assert parted(session_name("alice", "phone")) == ("alice", "phone")
    assert parted(session_name("", "phone")) == ("", "phone")
    assert not is_client("alice\x1fphone", "")
    assert not is_client("x" * 65_535, "alice")
    assert [name for name in ("a", "a b", "a/b", "+", "#", "$SYS", "", "a:b", "a\x1fb", "é") if is_user(name)] == [
        "a",
        "a b",
        "é",
    ]


CHEAP = {"log_n": 4, "blocks": 1, "times": 1}


def test_passwords_are_kept_as_scrypt() -> None:
    kept = keep(b"secret", b"salt of 16 bytes", **CHEAP)
    again = read_users(write_users({"alice": kept}))["alice"]
    assert again == kept
    assert again.matches(b"secret")
    assert not again.matches(b"Secret")
    assert "secret" not in str(kept)


def test_scrypt_is_that_of_the_rfc() -> None:
    """RFC 7914, section 12, the second vector, of which we keep the first half."""
    kept = keep(b"password", b"NaCl", log_n=10, blocks=8, times=16)
    assert kept.hash.hex() == "fdbabe1c9d3472007856e7190d01e9fe7c6ad7cbc8237830e77376634b373162"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "secret",
        "$scrypt$ln=4,r=1,p=1$c2FsdA",
        "$scrypt$ln=30,r=8,p=1$c2FsdA$c2FsdA",
        "$md5$ln=4,r=1,p=1$c2FsdA$c2FsdA",
    ],
)
def test_a_password_that_is_kept_otherwise_is_an_error(text: str) -> None:
    with pytest.raises(WeftError):
        read_kept(text)


def test_a_password_is_remembered_until_it_changes() -> None:
    recent, old = Recent(b"key", most=2), keep(b"a", b"salt", **CHEAP)
    recent.note("alice", old, b"a")
    assert recent.knows("alice", old, b"a")
    assert not recent.knows("alice", old, b"b")
    assert not recent.knows("bob", old, b"a")
    assert not recent.knows("alice", keep(b"b", b"salt", **CHEAP), b"a")
    recent.note("bob", old, b"a")
    recent.note("carol", old, b"a")
    assert not recent.knows("alice", old, b"a")


SECRET = b"0123456789abcdef0123456789abcdef"
NOW = 1_000.0


def claims(**more: object) -> dict[str, object]:
    return {"sub": "alice", "exp": NOW + 60, **more}


def test_a_token_says_who_and_until_when() -> None:
    key = read_token_key(SECRET)
    assert key.verify(jwt.encode(claims(), SECRET, "HS256").encode(), NOW) == ("alice", NOW + 60)


@pytest.mark.parametrize(
    ("said", "secret", "algorithm"),
    [
        (claims(exp=NOW), SECRET, "HS256"),
        (claims(nbf=NOW + 1), SECRET, "HS256"),
        ({"sub": "alice"}, SECRET, "HS256"),
        ({"exp": NOW + 60}, SECRET, "HS256"),
        (claims(exp="soon"), SECRET, "HS256"),
        (claims(exp=float("nan")), SECRET, "HS256"),
        (claims(sub="#"), SECRET, "HS256"),
        (claims(sub="$SYS"), SECRET, "HS256"),
        (claims(), SECRET[::-1], "HS256"),
        (claims(aud="others"), SECRET, "HS256"),
        (claims(), "", "none"),
    ],
)
def test_a_token_that_says_less_is_refused(said: dict[str, object], secret: bytes, algorithm: str) -> None:
    key = read_token_key(SECRET, audience="us" if "aud" in said else "")
    with pytest.raises(PacketError):
        key.verify(jwt.encode(said, secret, algorithm).encode(), NOW)


def test_a_public_key_is_no_secret_to_sign_with() -> None:
    private = Ed25519PrivateKey.generate()
    public = private.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    key = read_token_key(public)
    pem = private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    assert key.verify(jwt.encode(claims(), pem, "EdDSA").encode(), NOW)[0] == "alice"
    head, body = (urlsafe_b64encode(json.dumps(one).encode()).rstrip(b"=") for one in ({"alg": "HS256"}, claims()))
    forged = urlsafe_b64encode(hmac.digest(public, head + b"." + body, "sha256")).rstrip(b"=")
    with pytest.raises(PacketError):
        key.verify(head + b"." + body + b"." + forged, NOW)


def test_keys_of_tokens_are_public_or_long() -> None:
    with pytest.raises(WeftError, match="32"):
        read_token_key(b"short")
    with pytest.raises(WeftError, match="PEM"):
        read_token_key(b"-----BEGIN PUBLIC KEY-----\nx\n-----END PUBLIC KEY-----\n")
    curve = ec.generate_private_key(ec.SECP256R1()).public_key()
    assert "ES256" in read_token_key(curve.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)).algorithms


def test_attempts_are_let_through_at_their_rate() -> None:
    callers = Callers(Limits(connect_rate=2, connect_burst=3))
    assert [callers.attempt("192.0.2.1", 0.0) for _ in range(4)] == [True, True, True, False]
    assert callers.attempt("192.0.2.2", 0.0)
    assert [callers.attempt("192.0.2.1", 0.5) for _ in range(2)] == [True, False]
    assert all(callers.attempt("127.0.0.1", 0.0) for _ in range(10))


def test_connections_may_be_twice_as_many_as_attempts() -> None:
    callers = Callers(Limits(connect_rate=1, connect_burst=2))
    assert [callers.open("192.0.2.1", 0.0) for _ in range(5)] == [True] * 4 + [False]
    assert [callers.open("192.0.2.1", 1.0) for _ in range(3)] == [True, True, False]


def test_an_address_of_ipv6_is_its_network() -> None:
    callers = Callers(Limits(connect_rate=1, connect_burst=1))
    assert callers.attempt("2001:db8::1", 0.0)
    assert not callers.attempt("2001:db8::2", 0.0)
    assert callers.attempt("2001:db8:0:1::1", 0.0)
    assert callers.attempt("::ffff:192.0.2.1", 0.0)
    assert not callers.attempt("192.0.2.1", 0.0)


def test_failed_log_ins_make_an_address_wait_longer_and_longer() -> None:
    callers, now, waits = Callers(Limits(failures=2, longest_pause=1.0)), 0.0, []
    for _ in range(6):
        callers.fail("192.0.2.1", now)
        begun = now
        while callers.must_wait("192.0.2.1", now):
            now += 0.125
        waits.append(now - begun)
    assert waits == [0.0, 0.0, 0.25, 0.5, 1.0, 1.0]
    assert not callers.must_wait("192.0.2.2", now)
    callers.succeed("192.0.2.1")
    callers.fail("192.0.2.1", now)
    assert not callers.must_wait("192.0.2.1", now)


def test_connections_of_an_address_are_counted() -> None:
    callers = Callers(Limits(address_connections=2))
    assert [callers.open("192.0.2.1", 0.0) for _ in range(3)] == [True, True, False]
    callers.close("192.0.2.1")
    callers.close("192.0.2.1")
    assert callers.open("192.0.2.1", 0.0)


def test_only_this_machine_is_the_loopback() -> None:
    hosts = ["127.0.0.1", "127.8.8.8", "::1", "localhost", "0.0.0.0", "::", "10.0.0.1", "localhost.example"]
    assert [host for host in hosts if is_loopback(host)] == hosts[:4]


@pytest.mark.parametrize("kept", ["", "secret", "$scrypt$", "$argon2$ln=1,r=1,p=1$AA$AA", "$scrypt$ln=14,r=8,p=5$?$?"])
def test_a_password_that_cannot_be_read_is_told_with_its_line(kept: str) -> None:
    good = f"alice:{keep(b'x', b'salt', 4, 1, 1)}"
    with pytest.raises(WeftError, match=r"^users, line 3, user bob: A password is ") as told:
        read_users(f"# who may come\n{good}\nbob:{kept}\n", "users")
    assert kept == "" or kept not in str(told.value)


@pytest.mark.parametrize("name", ["a/b", "+", "a#", "$a", "a\\b", " a", "a\t", "a b/#", "", "x" * 256, "a\nb"])
def test_a_name_that_would_be_another_thing_elsewhere_is_no_name_of_a_node(name: str) -> None:
    assert node_problem(name).startswith("give ")


@pytest.mark.parametrize("name", ["berlin", "node 1", "n_1.example.org:1883", "Zürich", "x" * 255])
def test_what_people_call_nodes_is_taken(name: str) -> None:
    assert node_problem(name) == ""
