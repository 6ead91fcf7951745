"""Passwords as they are kept: scrypt (RFC 7914) with a salt, in one line of text.

    $scrypt$ln=14,r=8,p=5$SALT$HASH        base64 without padding; ln is the logarithm of N

N = 2^14, r = 8, p = 5 needs 16 MiB and about a quarter of a second: one of the settings that OWASP's cheat sheet names.
The check is therefore not for the thread that serves clients; and it is not made again for somebody who has just shown
the same password (`Recent`).
"""

import hmac
from base64 import b64decode, b64encode
from binascii import Error
from collections import OrderedDict
from dataclasses import dataclass
from hashlib import scrypt, sha256

from weft.errors import WeftError

LOG_N, BLOCKS, TIMES, HASH_BYTES, SALT_BYTES = 14, 8, 5, 32, 16
MOST_MEMORY = 64 << 20  # bytes that a line of the file may ask for
RECENT = 100_000  # users that have logged in


@dataclass(frozen=True, slots=True)
class Kept:
    """A password as it is kept."""

    log_n: int
    blocks: int
    times: int
    salt: bytes
    hash: bytes

    def matches(self, password: bytes) -> bool:
        return hmac.compare_digest(_hashed(password, self.salt, self.log_n, self.blocks, self.times), self.hash)

    def __str__(self) -> str:
        return f"$scrypt$ln={self.log_n},r={self.blocks},p={self.times}${_text(self.salt)}${_text(self.hash)}"


# Who asks for a user that is not there waits as long as others, so that nobody learns who is there.
NOBODY = Kept(LOG_N, BLOCKS, TIMES, b"\0" * SALT_BYTES, b"\0" * HASH_BYTES)


def keep(password: bytes, salt: bytes, log_n: int = LOG_N, blocks: int = BLOCKS, times: int = TIMES) -> Kept:
    return Kept(log_n, blocks, times, salt, _hashed(password, salt, log_n, blocks, times))


def read_kept(text: str) -> Kept:
    try:
        _, kind, settings, salt, hashed = text.split("$")
        names = [one.partition("=")[0] for one in settings.split(",")]
        log_n, blocks, times = (int(one.partition("=")[2]) for one in settings.split(","))
        kept = Kept(log_n, blocks, times, _bytes(salt), _bytes(hashed))
    except (ValueError, Error) as error:
        raise WeftError("A password is not as `weft user add` writes it: set it again.") from error
    sane = 1 <= kept.log_n <= 20 and 1 <= kept.blocks <= 32 and 1 <= kept.times <= 16
    if kind != "scrypt" or names != ["ln", "r", "p"] or not sane or 128 * kept.blocks << kept.log_n > MOST_MEMORY:
        raise WeftError("A password is kept in a way that is not known here: set it again with `weft user add`.")
    return kept


class Recent:
    """Remembers who has shown which password, as a digest that only this process can make."""

    def __init__(self, secret: bytes, most: int = RECENT) -> None:
        self._secret = secret
        self._most = most
        self._shown: OrderedDict[str, tuple[Kept, bytes]] = OrderedDict()

    def knows(self, user: str, kept: Kept, password: bytes) -> bool:
        known = self._shown.get(user)
        return known is not None and known[0] == kept and hmac.compare_digest(known[1], self._digest(user, password))

    def note(self, user: str, kept: Kept, password: bytes) -> None:
        self._shown[user] = kept, self._digest(user, password)
        self._shown.move_to_end(user)
        if len(self._shown) > self._most:
            self._shown.popitem(last=False)

    def _digest(self, user: str, password: bytes) -> bytes:
        return hmac.digest(self._secret, user.encode() + b"\0" + password, sha256)


def _hashed(password: bytes, salt: bytes, log_n: int, blocks: int, times: int) -> bytes:
    return scrypt(password, salt=salt, n=1 << log_n, r=blocks, p=times, maxmem=2 * MOST_MEMORY, dklen=HASH_BYTES)


def _text(raw: bytes) -> str:
    return b64encode(raw).decode().rstrip("=")


def _bytes(text: str) -> bytes:
    return b64decode(text + "=" * (-len(text) % 4), validate=True)
