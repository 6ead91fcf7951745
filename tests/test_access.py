"""Access: filters beside filters, rights, passwords, tokens and limits, each against its definition."""

import hmac
import json
from base64 import encodebytes, urlsafe_b64encode
from itertools import product
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import dsa, ec, rsa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from jwt.algorithms import RSAAlgorithm

from weft.access.badge import Badge
from weft.access.filter import covers, overlaps
from weft.access.limit import Callers, Limits, is_loopback
from weft.access.name import is_client, is_user, node_problem, parted, session_name
from weft.access.password import Recent, keep, read_kept
from weft.access.revocation import Revocations, read_revocations, write_revocations
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
SAID = b"secret:" + SECRET + b"\n"  # as the file has it
NOW = 1_000.0


def claims(**more: object) -> dict[str, object]:
    return {"sub": "alice", "exp": NOW + 60, **more}


def test_a_token_says_who_and_until_when() -> None:
    key = read_token_key(SAID)
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
        (claims(exp=float("inf")), SECRET, "HS256"),
        (claims(exp="inf"), SECRET, "HS256"),
        (claims(exp=10**400), SECRET, "HS256"),
        (claims(sub="#"), SECRET, "HS256"),
        (claims(sub="$SYS"), SECRET, "HS256"),
        (claims(), SECRET[::-1], "HS256"),
        (claims(aud="others"), SECRET, "HS256"),
        (claims(), "", "none"),
    ],
)
def test_a_token_that_says_less_is_refused(said: dict[str, object], secret: bytes, algorithm: str) -> None:
    key = read_token_key(SAID, audience="us" if "aud" in said else "")
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
        read_token_key(b"secret:short")
    with pytest.raises(WeftError, match="PEM"):
        read_token_key(b"-----BEGIN PUBLIC KEY-----\nx\n-----END PUBLIC KEY-----\n")
    curve = ec.generate_private_key(ec.SECP256R1()).public_key()
    assert "ES256" in read_token_key(curve.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)).algorithms


@pytest.mark.parametrize("marked", [False, True], ids=["", "secret:"])
@pytest.mark.parametrize("form", ["base64", "base64 of one line", "DER", "SSH", "JWK", "JWKS", "PEM"])
def test_a_public_key_is_taken_for_no_secret_in_whatever_form_it_comes(form: str, marked: bool) -> None:
    """Whoever knows it could sign with it, and everybody may know it."""
    public = rsa.generate_private_key(public_exponent=65537, key_size=2048).public_key()
    der = public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    jwk = json.loads(RSAAlgorithm.to_jwk(public))
    forms = {
        "base64": encodebytes(der),  # as Keycloak and others show it
        "base64 of one line": urlsafe_b64encode(der).rstrip(b"="),
        "DER": der,
        "SSH": public.public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH),
        "JWK": json.dumps(jwk).encode(),
        "JWKS": json.dumps({"keys": [jwk]}).encode(),
        "PEM": public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo),
    }
    if form == "PEM" and not marked:
        assert "RS256" in read_token_key(forms[form]).algorithms
        return
    with pytest.raises(WeftError, match="give a public key in PEM"):
        read_token_key(b"secret:" * marked + forms[form])


def test_a_secret_says_that_it_is_one() -> None:
    with pytest.raises(WeftError, match="put secret: in front"):
        read_token_key(SECRET)
    assert read_token_key(SAID).key == SECRET


def test_a_key_that_can_verify_nothing_is_refused() -> None:
    weak: list[Any] = [ec.generate_private_key(ec.SECP224R1()), dsa.generate_private_key(2048)]
    weak.append(rsa.generate_private_key(public_exponent=65537, key_size=1024))
    for one in weak:
        pem = one.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
        with pytest.raises(WeftError, match="give RSA of 2,048 bits or more, EC "):
            read_token_key(pem)


@pytest.mark.parametrize(
    ("curve", "algorithm"), [(ec.SECP256R1, "ES256"), (ec.SECP384R1, "ES384"), (ec.SECP521R1, "ES512")]
)
def test_every_curve_that_is_taken_verifies(curve: type[ec.EllipticCurve], algorithm: str) -> None:
    private = ec.generate_private_key(curve())
    key = read_token_key(private.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    assert key.algorithms == (algorithm,)
    assert key.verify(jwt.encode(claims(), private, algorithm).encode(), NOW)[0] == "alice"


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


# Revocations


def test_of_a_revoked_name_nothing_is_taken_that_was_issued_until_then() -> None:
    known = read_revocations("100 evil\n0A0B\n50 evil\n7 good\n300")
    assert [known.holds(Badge("evil", issued=at)) for at in (99.0, 100.0, 101.0)] == [True, True, False]
    assert not known.holds(Badge("good", issued=8.0))
    assert known.holds(Badge("other", serial="0A0B", issued=500.0))
    assert known.holds(Badge("evil")), "a certificate that does not say when it was issued"


def test_revocations_are_written_as_they_are_read_and_forgotten_when_nothing_is_left_to_refuse() -> None:
    known = Revocations({"a b": 100.0, "c": 5.0})
    assert read_revocations(write_revocations(known)) == known
    assert known.along_with([("a b", 50.0), ("d", 90.0)], 60.0).until == {"a b": 100.0, "d": 90.0}
