"""JSON web tokens in the place of a password (RFC 7519): who somebody is, until when, signed by an issuer we trust.

Only signatures of the key's own kind are taken, so that nobody can sign with a public key as if it were a secret
(RFC 8725, 3.1). A token must say who (`sub`) and until when (`exp`). Time is an argument, so `exp` and `nbf` are read
here and not by PyJWT.
"""

from dataclasses import dataclass
from typing import Any

import jwt
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey
from cryptography.hazmat.primitives.asymmetric.ed448 import Ed448PublicKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.serialization import load_pem_public_key

from weft.access.name import is_user
from weft.errors import WeftError
from weft.wire.mqtt.reason import PacketError, Reason

SECRET_BYTES = 32  # at least
ALGORITHMS: dict[type, list[str]] = {
    RSAPublicKey: ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"],
    EllipticCurvePublicKey: ["ES256", "ES384", "ES512"],
    Ed25519PublicKey: ["EdDSA"],
    Ed448PublicKey: ["EdDSA"],
}


@dataclass(frozen=True, slots=True)
class TokenKey:
    key: Any
    algorithms: tuple[str, ...]
    audience: str = ""  # who a token must be for; any where none is given

    def verify(self, token: bytes, now: float) -> tuple[str, float]:
        """User, and when the token ends."""
        options: Any = {"verify_exp": False, "verify_nbf": False, "verify_iat": False, "require": ["sub", "exp"]}
        options["verify_aud"] = bool(self.audience)
        try:
            claims = jwt.decode(token, self.key, list(self.algorithms), options=options, audience=self.audience or None)
            user, until, begin = claims["sub"], float(claims["exp"]), float(claims.get("nbf", 0))
        except (jwt.PyJWTError, ValueError, TypeError, OverflowError) as error:
            raise _refusal(f"The token is not taken: {error}.") from error
        if not begin <= now < until:  # also where one is no number
            raise _refusal("The token is not valid at this time.")
        if not is_user(user):
            raise _refusal("The token names nobody who could be a user.")
        return user, until


def _refusal(text: str) -> PacketError:
    return PacketError(Reason.BAD_USER_NAME_OR_PASSWORD, text)


def read_token_key(raw: bytes, audience: str = "", where: str = "The key of tokens") -> TokenKey:
    """Key out of a file: a public key in PEM, or a secret."""
    if b"-----BEGIN" not in raw:
        secret = raw.strip()
        if len(secret) < SECRET_BYTES:
            raise WeftError(f"{where} is a secret of {len(secret)} bytes: give {SECRET_BYTES} or more, by chance.")
        fitting = [f"HS{8 * size}" for size in (32, 48, 64) if len(secret) >= size]  # RFC 7518, 3.2
        return TokenKey(secret, tuple(fitting), audience)
    try:
        key = load_pem_public_key(raw)
    except (ValueError, UnsupportedAlgorithm) as error:
        raise WeftError(f"{where} cannot be read: give a public key in PEM, or a secret.") from error
    for kind, algorithms in ALGORITHMS.items():
        if isinstance(key, kind):
            return TokenKey(key, tuple(algorithms), audience)
    raise WeftError(f"{where} is of a kind that signs no tokens: give RSA, EC or Ed25519.")
