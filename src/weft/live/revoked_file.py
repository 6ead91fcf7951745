"""What a node knows of certificates that were revoked, beside its own: it outlives a restart without the master."""

from collections.abc import Iterable

from weft.access.revocation import Revocations, read_revocations, write_revocations
from weft.live.secret_file import write_secret
from weft.live.tls import Credentials

FILE = "revoked"
KEPT = 825 * 86_400.0  # seconds: certificates do not hold longer (access/authority.py)


class RevokedFile:
    def __init__(self, credentials: Credentials | None) -> None:
        self.path = None if credentials is None else credentials.certificate.with_name(FILE)
        self.known = Revocations()
        if self.path is not None and self.path.exists():
            self.known = read_revocations(self.path.read_text())

    def add(self, names: Iterable[tuple[str, float]], now: float) -> None:
        """Know more, and write it down if it is news."""
        known = self.known.along_with(names, now - KEPT)
        if known != self.known:
            self.known = known
            if self.path is not None:
                write_secret(self.path, write_revocations(known).encode())
