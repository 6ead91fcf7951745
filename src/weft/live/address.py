"""Addresses that a node listens on: [mqtt|mqtts|ws|wss://]HOST:PORT, HOST in brackets for IPv6."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from weft.errors import SurroundingsError, WeftError

SCHEMES = ("mqtt", "mqtts", "ws", "wss")


@dataclass(frozen=True, slots=True)
class Address:
    host: str
    port: int
    scheme: str = "mqtt"

    @property
    def secure(self) -> bool:
        return self.scheme in ("mqtts", "wss")

    @property
    def websocket(self) -> bool:
        return self.scheme in ("ws", "wss")

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}" if self.scheme == "mqtt" else f"{self.scheme}://{host}:{self.port}"


def read_address(text: str) -> Address:
    scheme, found, rest = text.rpartition("://")
    host, colon, port = rest.rpartition(":")
    scheme = scheme if found else "mqtt"
    if scheme not in SCHEMES:
        raise WeftError(f"{text!r} begins with {scheme}://: give one of {', '.join(SCHEMES)}, or none.")
    if not colon or not port.isdecimal() or len(port) > 5 or int(port) > 65_535 or not _is_host(host):
        raise WeftError(f"{text!r} is no address: give HOST:PORT, for example 127.0.0.1:1883.")
    return Address(host.strip("[]") or "0.0.0.0", int(port), scheme)


def _is_host(text: str) -> bool:
    """Whether a name can be looked up: without spaces and control characters, in parts of up to 63 bytes."""
    try:
        text.encode("idna")
    except UnicodeError:
        return False
    return text.isprintable() and " " not in text


@contextmanager
def listening(address: Address) -> Iterator[None]:
    """Tell in one sentence that an address cannot be listened on. What asyncio adds to the reason says it again."""
    try:
        yield
    except OSError as error:
        number = error.errno or 0
        reason = os.strerror(number) if number > 0 else error.strerror or str(error)
        raise SurroundingsError(f"{address} cannot be listened on ({reason}): give another address.") from error
