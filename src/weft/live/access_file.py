"""Users, rights and the key of tokens, as files have them."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from weft.access.guard import Access
from weft.access.rights import read_rights
from weft.access.user import Users, read_users
from weft.errors import WeftError


@dataclass(frozen=True, slots=True)
class AccessFiles:
    users: Path | None = None
    rights: Path | None = None
    token_key: Path | None = None
    token_audience: str = ""

    @property
    def paths(self) -> tuple[Path, ...]:
        return tuple(one for one in (self.users, self.rights, self.token_key) if one is not None)

    def read(self) -> Access:
        tokens = None
        if self.token_key is not None:
            from weft.access.web_token import read_token_key

            tokens = read_token_key(_read(self.token_key), self.token_audience, str(self.token_key))
        rights = None if self.rights is None else read_rights(_text(self.rights), str(self.rights))
        return Access(None if self.users is None else read_user_file(self.users), rights, tokens)

    def read_again(self, take: Callable[[Access], None], write: Callable[..., None]) -> None:
        """Hand over what the files say now; where they cannot be read, what they said before holds."""
        try:
            access = self.read()
        except WeftError as error:
            write("access_not_read", detail=str(error))
        else:
            take(access)
            write("access_read", detail=", ".join(map(str, self.paths)))


def read_user_file(path: Path) -> Users:
    return read_users(_text(path), str(path))


def _text(path: Path) -> str:
    try:
        return _read(path).decode()
    except UnicodeDecodeError as error:
        raise WeftError(f"{path} is no text in UTF-8: give another file.") from error


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise WeftError(f"{path} cannot be read ({error.strerror}): give a file that can.") from error
