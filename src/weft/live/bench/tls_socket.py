"""A socket with TLS that does as a plain one does: it blocks or says so, and a read takes all that has come.

What the system says of a socket is about bytes that are not decrypted: whoever waits for it must have read everything.
"""

import socket
import ssl
from pathlib import Path

from weft.errors import WeftError


class TlsSocket:
    def __init__(self, inner: ssl.SSLSocket) -> None:
        self._inner = inner

    def fileno(self) -> int:
        return self._inner.fileno()

    def setblocking(self, blocking: bool) -> None:
        self._inner.setblocking(blocking)

    def sendall(self, data: bytes) -> None:
        self._inner.sendall(data)

    def send(self, data: bytes | memoryview) -> int:
        try:
            return self._inner.send(data)
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            raise BlockingIOError from None

    def recv(self, size: int) -> bytes:
        """All that has come, about so many bytes of it; nothing at the end of the connection."""
        pieces = []
        try:
            while data := self._inner.recv(size):
                pieces.append(data)
                size -= len(data)
                if not self._inner.pending():
                    break
                size = max(size, self._inner.pending())
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            if not pieces:
                raise BlockingIOError from None
        return b"".join(pieces)

    def close(self) -> None:
        self._inner.close()


def secured(one: socket.socket, host: str, authority: str | None) -> TlsSocket:
    """The connection with TLS, to a broker with a certificate of an authority, or of one that the system trusts."""
    if authority is not None and not Path(authority).is_file():
        raise WeftError(f"`authority` {authority} is no file: give certificates in PEM.", "authority")
    try:
        context = ssl.create_default_context(cafile=authority)
    except ssl.SSLError as error:
        raise WeftError(f"`authority` {authority} cannot be read: give certificates in PEM.", "authority") from error
    return TlsSocket(context.wrap_socket(one, server_hostname=host))
