"""The folder of a cluster's authority, and folders of those that it has signed for.

authority.pem  authority.key      the authority
master/  operator/                certificate.pem, key.pem, authority.pem of each
issued                            a line a certificate: serial, role, name, time
revoked                           serials that are taken no more
tokens/                           invitations that are open, by the digest of their secret
"""

import os
import time
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from weft.access.authority import (
    LIFE,
    Authority,
    end_of,
    fingerprint,
    hosts_of,
    is_due,
    new_authority,
    new_key,
    request,
    require_name,
    sign,
)
from weft.access.badge import Role
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
from weft.errors import WeftError
from weft.live.secret_file import make_secret_folder, write_secret


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
        authority = Authority(self.certificate, self._read("authority.key"))
        now = time.time()
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
        path = self.folder / "tokens" / digest(secret)
        invitation = None
        with suppress(FileNotFoundError):
            kept = path.read_bytes()
            path.unlink()
            invitation = read_invitation(kept)
        problem = refusal(invitation, name, time.time())
        if problem or invitation is None:
            raise WeftError(problem)
        return self.sign(asked, Role.NODE, name, invitation.hosts or (host,))

    def revoke(self, name: str) -> int:
        """Take no certificate of a name any more that was issued until now. How many there are."""
        serials = [serial for serial, _, _, named in self.issued() if named == name]
        known = self.revoked_serials()
        new = [serial for serial in serials if serial not in known]
        self._append("revoked", "".join(f"{serial}\n" for serial in new))
        return len(new)

    def revoked_serials(self) -> frozenset[str]:
        try:
            return frozenset(self.revoked.read_text().split())
        except FileNotFoundError:
            return frozenset()

    def issued(self) -> list[tuple[str, str, str, str]]:
        """Serial, role, time and name of every certificate."""
        lines = self._read("issued").decode().splitlines()
        rows = [line.split(" ", 3) for line in lines]
        return [(serial, role, at, name) for serial, role, at, name in rows]

    def ends(self) -> dict[str, float]:
        """When certificates expire, in seconds since 1970: the authority's, the master's, and the newest of nodes."""
        ends = {"the authority": end_of(self.certificate), "the master": end_of(self._read("master/certificate.pem"))}
        revoked = self.revoked_serials()
        for serial, role, at, name in self.issued():
            if role == Role.NODE and serial not in revoked:
                ends[name] = end_by(at)
        return ends

    def _append(self, name: str, text: str) -> None:
        with (self.folder / name).open("a") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())

    def _read(self, name: str) -> bytes:
        try:
            return (self.folder / name).read_bytes()
        except OSError as error:
            raise WeftError(
                f"{self.folder / name} cannot be read ({error.strerror}): make an authority with `weft ca init`."
            ) from error


def end_by(at: str) -> float:
    """When a certificate expires that was issued at a time."""
    return (datetime.fromisoformat(at) + LIFE).timestamp()


def write_credentials(folder: Path, key: bytes, certificate: bytes, authority: bytes) -> None:
    make_secret_folder(folder)
    write_secret(folder / "key.pem", key)
    write_secret(folder / "authority.pem", authority)
    write_secret(folder / "certificate.pem", certificate)
