"""The folder of a cluster's authority, and folders of those that it has signed for.

authority.pem  authority.key      the authority
master/  operator/                certificate.pem, key.pem, authority.pem of each
issued                            a line a certificate: serial, role, name, time
revoked                           names, and until when nothing that was issued for them is taken (revocation.py)
tokens/                           invitations that are open, by the digest of their secret

Who signs or revokes has the folder alone: what is signed is of before a revocation, or its signer knows of that.
"""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from math import inf
from pathlib import Path

from weft.access.authority import (
    LIFE,
    Authority,
    end_of,
    fingerprint,
    has_little_left,
    hosts_of,
    is_due,
    new_authority,
    new_key,
    request,
    require_name,
    sign,
)
from weft.access.badge import Badge, Role
from weft.access.join_token import (
    HOUR,
    SECRET_BYTES,
    Invitation,
    JoinToken,
    digest,
    read_invitation,
    refusal,
    write_invitation,
)
from weft.access.revocation import Revocations, read_revocations, revocation_line
from weft.errors import WeftError
from weft.live.secret_file import make_secret_folder, write_secret

DAY = 86_400.0


class AuthorityFolder:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.revoked = folder / "revoked"

    @property
    def certificate(self) -> bytes:
        return self._read("authority.pem")

    def create(self, name: str, hosts: tuple[str, ...]) -> None:
        """An authority, and the credentials of master and first operator."""
        if (self.folder / "authority.pem").exists():
            raise WeftError(f"{self.folder} has an authority already: give another folder.")
        make_secret_folder(self.folder)
        made = new_authority(name, time.time())
        write_secret(self.folder / "authority.key", made.key)
        write_secret(self.folder / "authority.pem", made.certificate)
        self.issue(Role.MASTER, "master", hosts, self.folder / "master")
        self.issue(Role.OPERATOR, "operator", (), self.folder / "operator")

    def issue(self, role: Role, name: str, hosts: tuple[str, ...], out: Path) -> None:
        """Key and certificate for somebody, in a folder."""
        require_name(name)
        key = new_key()
        write_credentials(out, key, self.sign(request(key, name), role, name, hosts), self.certificate)

    def sign(self, asked: bytes, role: Role, name: str, hosts: tuple[str, ...]) -> bytes:
        with self._alone():
            return self._sign(asked, role, name, hosts)

    def renew(self, asked: bytes, badge: Badge) -> bytes:
        """Another certificate for who shows one: when it is time, and one a day."""
        with self._alone():
            if self.revocations().holds(badge):
                raise WeftError(f"The certificate of {badge.name} was revoked: it needs another token.")
            now = time.time()
            if not has_little_left(badge.ends, now):
                raise WeftError(f"It is not time yet to renew the certificate of {badge.name}.")
            since = max(now - DAY, badge.issued)
            if any(name == badge.name and _seconds(at) > since for _, _, at, name in self.issued()):
                raise WeftError(f"{badge.name} has got another certificate within a day: it must use that.")
            return self._sign(asked, Role.NODE, badge.name, badge.hosts)

    def _sign(self, asked: bytes, role: Role, name: str, hosts: tuple[str, ...]) -> bytes:
        """A certificate of now, but after the name was last revoked: certificates know whole seconds."""
        authority = Authority(self.certificate, self._read("authority.key"))
        now = max(time.time(), self.revocations().until.get(name, 0.0) + 1.0)
        made = sign(authority, asked, role, name, hosts, now)
        at = datetime.fromtimestamp(now, UTC).isoformat(timespec="seconds")
        self._append("issued", f"{made.serial} {role.value} {at} {name}\n")
        return made.certificate

    def renew_master(self) -> bool:
        """Give the master another certificate if it is time. Whether it was."""
        own = self.folder / "master"
        certificate = own / "certificate.pem"
        if not is_due(certificate.read_bytes(), time.time()):
            return False
        asked = request((own / "key.pem").read_bytes(), "master")
        write_secret(certificate, self.sign(asked, Role.MASTER, "master", hosts_of(certificate.read_bytes())))
        return True

    def invite(self, name: str, hosts: tuple[str, ...], hours: float) -> JoinToken:
        require_name(name)
        token = JoinToken(os.urandom(SECRET_BYTES), fingerprint(self.certificate))
        tokens = self.folder / "tokens"
        make_secret_folder(tokens)
        kept = Invitation(name, time.time() + hours * HOUR, hosts)
        write_secret(tokens / digest(token.secret), write_invitation(kept))
        return token

    def accept(self, secret: bytes, name: str, asked: bytes, host: str) -> bytes:
        """Certificate for a node that was invited. The token is used up by whoever takes its file away first."""
        with self._alone():
            path = self.folder / "tokens" / digest(secret)
            invitation = None
            with suppress(FileNotFoundError):
                kept = path.read_bytes()
                path.unlink()
                invitation = read_invitation(kept)
            problem = refusal(invitation, name, time.time())
            if problem or invitation is None:
                raise WeftError(problem)
            return self._sign(asked, Role.NODE, name, invitation.hosts or (host,))

    def revoke(self, name: str) -> int:
        """Take nothing of a name any more that was issued until now, tokens included. How many certificates."""
        require_name(name)
        if name == "master":
            raise WeftError("The master's certificate cannot be revoked: make another authority with `weft ca init`.")
        with self._alone():
            gone = self.revoked_serials()
            self._append("revoked", revocation_line(name, int(time.time())))
            for path in (self.folder / "tokens").glob("*"):
                if _is_for(path, name):
                    path.unlink()
            return len(self.revoked_serials() - gone)

    def revocations(self) -> Revocations:
        """All of them; where an older file has numbers of certificates, by the names and times of these."""
        try:
            known = read_revocations(self.revoked.read_text())
        except FileNotFoundError:
            return Revocations()
        if not known.serials:
            return known
        rows = ((name, _seconds(at)) for serial, _, at, name in self.issued() if serial in known.serials)
        return known.along_with(rows, -inf)

    def revoked_serials(self) -> frozenset[str]:
        """Numbers of all certificates that were revoked."""
        known = self.revocations()
        badges = (Badge(name, serial=serial, issued=_seconds(at)) for serial, _, at, name in self.issued())
        return frozenset(badge.serial for badge in badges if known.holds(badge))

    def issued(self) -> list[tuple[str, str, str, str]]:
        """Serial, role, time and name of every certificate."""
        lines = self._read("issued").decode().splitlines()
        rows = [line.split(" ", 3) for line in lines]
        return [(serial, role, at, name) for serial, role, at, name in rows]

    def ends(self) -> dict[str, float]:
        """When certificates expire, in seconds since 1970: the authority's, the master's, and the newest of nodes."""
        ends = {"the authority": end_of(self.certificate), "the master": end_of(self._read("master/certificate.pem"))}
        revoked = self.revocations()
        for serial, role, at, name in self.issued():
            if role == Role.NODE and not revoked.holds(Badge(name, Role.NODE, serial, issued=_seconds(at))):
                ends[name] = end_by(at)
        return ends

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Have the folder alone, of all threads and processes. Who may only read the file can lock it too."""
        try:
            file = (self.folder / "authority.pem").open("rb")
        except OSError as error:
            raise _unreadable(self.folder / "authority.pem", error) from error
        with file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def _append(self, name: str, text: str) -> None:
        with (self.folder / name).open("a") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())

    def _read(self, name: str) -> bytes:
        try:
            return (self.folder / name).read_bytes()
        except OSError as error:
            raise _unreadable(self.folder / name, error) from error


def _unreadable(path: Path, error: OSError) -> WeftError:
    return WeftError(f"{path} cannot be read ({error.strerror}): make an authority with `weft ca init`.")


def _is_for(path: Path, name: str) -> bool:
    """Whether an invitation is for a name; one that cannot be read is for nobody."""
    with suppress(WeftError, ValueError, OSError):
        return read_invitation(path.read_bytes()).name == name
    return False


def _seconds(at: str) -> float:
    return datetime.fromisoformat(at).timestamp()


def end_by(at: str) -> float:
    """When a certificate expires that was issued at a time."""
    return (datetime.fromisoformat(at) + LIFE).timestamp()


def write_credentials(folder: Path, key: bytes, certificate: bytes, authority: bytes) -> None:
    make_secret_folder(folder)
    write_secret(folder / "key.pem", key)
    write_secret(folder / "authority.pem", authority)
    write_secret(folder / "certificate.pem", certificate)
