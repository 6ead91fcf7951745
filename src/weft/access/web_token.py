"""JSON web tokens in the place of a password (RFC 7519): who somebody is, until when, signed by an issuer we trust.

Only signatures of the key's own kind are taken, so that nobody can sign with a public key as if it were a secret
(RFC 8725, 3.1): a secret says that it is one, and a public key in any form is none. A token must say who (`sub`) and
until when (`exp`). Time is an argument, so `exp` and `nbf` are read here and not by PyJWT.
"""

import json
from base64 import b64decode
from dataclasses import dataclass
from math import inf
from typing import Any

import jwt
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey
from cryptography.hazmat.primitives.asymmetric.ed448 import Ed448PublicKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.serialization import load_der_public_key, load_pem_public_key

from weft.access.name import is_user
from weft.errors import WeftError
from weft.wire.mqtt.reason import PacketError, Reason

PEM = "a key in PEM"
SECRET = b"secret:"  # in front of one
SECRET_BYTES = 32  # at least
RSA_BITS = 2048  # at least (RFC 7518, 3.3)
RSA_ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512")
CURVES = {"secp256r1": "ES256", "secp384r1": "ES384", "secp521r1": "ES512"}


@dataclass(frozen=True, slots=True)
class TokenKey:
    key: Any
    algorithms: tuple[str, ...]
    audience: str = ""  # who a token must be for; any where none is given

    def is_like(self, password: bytes) -> bool:
        """Whether a password begins as a token does: with a header in JSON. It may still be a password."""
        try:
            return password.count(b".") == 2 and "alg" in jwt.get_unverified_header(password)
        except jwt.PyJWTError:
            return False

    def verify(self, token: bytes, now: float) -> tuple[str, float]:
        """User, and when the token ends."""
        options: Any = {"verify_exp": False, "verify_nbf": False, "verify_iat": False, "require": ["sub", "exp"]}
        options["verify_aud"] = bool(self.audience)
        try:
            claims = jwt.decode(token, self.key, list(self.algorithms), options=options, audience=self.audience or None)
            user, until, begin = claims["sub"], float(claims["exp"]), float(claims.get("nbf", 0))
        except (jwt.PyJWTError, ValueError, TypeError, OverflowError) as error:
            raise _refusal(f"The token is not taken: {error}.") from error
        if not begin <= now < until < inf:  # also where one is no number
            raise _refusal("The token is not valid at this time.")
        if not is_user(user):
            raise _refusal("The token names nobody who could be a user.")
        return user, until


def _refusal(text: str) -> PacketError:
    return PacketError(Reason.BAD_USER_NAME_OR_PASSWORD, text)


def read_token_key(raw: bytes, audience: str = "", where: str = "The key of tokens") -> TokenKey:
    """Key out of a file: a public key in PEM, or a secret that says that it is one."""
    is_secret, raw = raw.startswith(SECRET), raw.removeprefix(SECRET).strip()
    form = _public_form(raw)
    if form and (is_secret or form != PEM):
        raise WeftError(f"{where} is {form}, which is no secret: give a public key in PEM as it is.")
    return _secret(raw, audience, where) if is_secret else _public(raw, audience, where)


def _secret(secret: bytes, audience: str, where: str) -> TokenKey:
    if len(secret) < SECRET_BYTES:
        raise WeftError(f"{where} is a secret of {len(secret)} bytes: give {SECRET_BYTES} or more, by chance.")
    fitting = [f"HS{8 * size}" for size in (32, 48, 64) if len(secret) >= size]  # RFC 7518, 3.2
    return TokenKey(secret, tuple(fitting), audience)


def _public(raw: bytes, audience: str, where: str) -> TokenKey:
    if _public_form(raw) != PEM:
        raise WeftError(f"{where} is no public key in PEM: give one, or put secret: in front of a secret.")
    try:
        key = load_pem_public_key(raw)
    except (ValueError, UnsupportedAlgorithm) as error:
        raise WeftError(f"{where} cannot be read: give a public key in PEM, or a secret.") from error
    algorithms = _algorithms(key)
    if not algorithms:
        raise WeftError(
            f"{where} is of a kind that signs no tokens: give RSA of {RSA_BITS:,} bits or more, EC P-256, P-384 or "
            "P-521, or Ed25519."
        )
    return TokenKey(key, algorithms, audience)


def _algorithms(key: object) -> tuple[str, ...]:
    """What can be verified with a key; nothing where it is too short, or of no kind that tokens are signed with."""
    if isinstance(key, RSAPublicKey):
        return RSA_ALGORITHMS if key.key_size >= RSA_BITS else ()
    if isinstance(key, EllipticCurvePublicKey):
        return (CURVES[key.curve.name],) if key.curve.name in CURVES else ()
    return ("EdDSA",) if isinstance(key, Ed25519PublicKey | Ed448PublicKey) else ()


def _public_form(raw: bytes) -> str:
    """The form in which some bytes are a public key, or a set of them; nothing where they are none."""
    if b"-----BEGIN" in raw:
        return PEM
    if raw.startswith((b"ssh-", b"ecdsa-", b"sk-")):
        return "a key of SSH"
    if raw.startswith((b"{", b"[")):
        return "a JWK" if _is_json(raw) else ""
    return "a key in DER" if _is_der(raw) or _is_der(_unpacked(raw)) else ""


def _is_json(raw: bytes) -> bool:
    try:
        json.loads(raw)
    except (ValueError, RecursionError):
        return False
    return True


def _is_der(raw: bytes) -> bool:
    try:
        load_der_public_key(raw)
    except UnsupportedAlgorithm:
        return True
    except ValueError:
        return False
    return True


def _unpacked(raw: bytes) -> bytes:
    """The bytes that base64 of any kind stands for."""
    text = b"".join(raw.split()).translate(bytes.maketrans(b"-_", b"+/")).rstrip(b"=")
    try:
        return b64decode(text + b"=" * (-len(text) % 4), validate=True)
    except ValueError:
        return b""
