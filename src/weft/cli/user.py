"""weft user"""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from weft.cli.line import say

if TYPE_CHECKING:
    from weft.access.user import Users

app = typer.Typer(help="Users of a node, and their passwords, in a file.", no_args_is_help=True)

UserFile = Annotated[Path, typer.Option("--users", metavar="FILE", help="The file, as `weft node --users` reads it.")]
Name = Annotated[str, typer.Argument(metavar="NAME", help="The user.")]
DEFAULT = Path("users")


@app.command(epilog="Example:  weft user add alice --users users")
def add(name: Name, users: UserFile = DEFAULT) -> None:
    """Add a user, or give it another password, which is asked for, or read from standard input."""
    from weft.access.password import SALT_BYTES, keep
    from weft.access.user import require_user
    from weft.errors import WeftError

    require_user(name)
    known = _read(users)
    word = "Changed" if name in known else "Added"
    password = _password()
    if not password:
        raise WeftError("The password is empty: give one.")
    known[name] = keep(password.encode(), os.urandom(SALT_BYTES))
    _write(users, known)
    say(f"{word} {name} in {users}.")


@app.command(epilog="Example:  weft user remove alice --users users")
def remove(name: Name, users: UserFile = DEFAULT) -> None:
    """Remove a user; a node that reads the file ends its connections."""
    known = _read(users)
    _require_there(name, known, users)
    del known[name]
    _write(users, known)
    say(f"Removed {name} from {users}.")


@app.command("list", epilog="Example:  weft user list --users users")
def list_(users: UserFile = DEFAULT) -> None:
    """Print the names of all users."""
    for name in sorted(_read(users)):
        say(name)


def _read(path: Path) -> "Users":
    from weft.live.access_file import read_user_file

    return read_user_file(path) if path.exists() else {}


def _require_there(name: str, known: "Users", path: Path) -> None:
    from weft.errors import WeftError

    if name not in known:
        raise WeftError(f"There is no user {name} in {path}: `weft user list` has all.")


def _write(path: Path, users: "Users") -> None:
    from weft.access.user import write_users
    from weft.live.secret_file import write_secret

    write_secret(path, write_users(users).encode())


def _password() -> str:
    if not sys.stdin.isatty():
        return sys.stdin.readline().rstrip("\n")
    password: str = typer.prompt("Password", hide_input=True, confirmation_prompt=True)
    return password
