"""Users and their passwords, a line each: NAME:PASSWORD as password.py keeps it. # begins a comment."""

from weft.access.name import is_user
from weft.access.password import Kept, read_kept
from weft.errors import WeftError

Users = dict[str, Kept]


def read_users(text: str, where: str = "The users") -> Users:
    users: Users = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        name, _, kept = line.strip().partition(":")
        require_user(name, f"{where}, line {number}, has")
        if name in users:
            raise WeftError(f"{where}, line {number}, has {name} a second time: remove one.")
        try:
            users[name] = read_kept(kept)
        except WeftError as error:
            raise WeftError(f"{where}, line {number}, user {name}: {error}", *error.options) from error
    return users


def write_users(users: Users) -> str:
    return "".join(f"{name}:{kept}\n" for name, kept in sorted(users.items()))


def require_user(name: str, where: str = "There is") -> None:
    if not is_user(name):
        raise WeftError(f"{where} a user {name!r}: give 1 to 255 characters without / + # : and without $ in front.")
