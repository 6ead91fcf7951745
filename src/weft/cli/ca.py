"""weft ca"""

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from weft.cli.line import say

if TYPE_CHECKING:
    from weft.access.badge import Role
    from weft.live.authority import AuthorityFolder

app = typer.Typer(help="Certificates of a cluster: who may join it, and who may change it.", no_args_is_help=True)

Folder = Annotated[Path, typer.Option("--ca", metavar="DIR", help="Folder of the authority.")]
Name = Annotated[str, typer.Argument(metavar="NAME", help="Who it is for.")]
Hosts = Annotated[
    list[str] | None,
    typer.Option("--host", metavar="HOST", help="By which others reach it; may be given more than once."),
]
Out = Annotated[
    Path | None, typer.Option(metavar="DIR", help="Folder to write.", show_default="NAME in the authority's")
]
DEFAULT = Path("ca")


@app.command(epilog="Example:  weft ca init")
def init(
    ca: Folder = DEFAULT, name: Annotated[str, typer.Option(help="Of the authority.")] = "weft", host: Hosts = None
) -> None:
    """Make an authority, and credentials for the master and an operator. Keep the folder to yourself."""
    _folder(ca).create(name, tuple(host or ()))
    say(
        f"{ca} has the authority. Start the master with --ca {ca}; let nodes in with `weft ca token NAME`; and for "
        f"commands like `weft status`:",
        f"    export WEFT_CREDENTIALS={ca / 'operator'}",
    )


@app.command(epilog="Example:  weft ca token berlin")
def token(
    name: Name,
    ca: Folder = DEFAULT,
    host: Hosts = None,
    hours: Annotated[float, typer.Option(min=0.01, help="For which it can be used.")] = 1.0,
) -> None:
    """Print the word with which one node can join, once: `weft node --join`."""
    say(str(_folder(ca).invite(name, tuple(host or ()), hours)))


@app.command(epilog="Example:  weft ca node berlin --host 10.0.0.2 --out berlin")
def node(name: Name, ca: Folder = DEFAULT, host: Hosts = None, out: Out = None) -> None:
    """Make the credentials of a node, to be copied to it: `weft node --credentials`."""
    from weft.access.badge import Role

    _issue(Role.NODE, name, tuple(host or ()), ca, out)


@app.command(epilog="Example:  weft ca operator carol --read-only")
def operator(
    name: Name,
    ca: Folder = DEFAULT,
    out: Out = None,
    read_only: Annotated[bool, typer.Option("--read-only", help="It may look and not change.")] = False,
) -> None:
    """Make the credentials of an operator, for WEFT_CREDENTIALS."""
    from weft.access.badge import Role

    _issue(Role.READER if read_only else Role.OPERATOR, name, (), ca, out)


@app.command(epilog="Example:  weft ca client alice")
def client(name: Name, ca: Folder = DEFAULT, out: Out = None) -> None:
    """Make a certificate for an MQTT client, which is then the user NAME: `weft node --client-authority`."""
    from weft.access.badge import Role

    _issue(Role.CLIENT, name, (), ca, out)


@app.command(epilog="Example:  weft ca revoke berlin")
def revoke(name: Name, ca: Folder = DEFAULT) -> None:
    """Take nothing of NAME any more that was made until now, tokens included. The master tells all nodes."""
    count = _folder(ca).revoke(name)
    say(f"Revoked {count} certificate{'s' * (count != 1)} of {name}.")


@app.command("list", epilog="Example:  weft ca list")
def list_(ca: Folder = DEFAULT) -> None:
    """Print all certificates: who, in which role, since when, until when."""
    import time

    from weft.live.authority import end_by

    folder, now = _folder(ca), time.time()
    revoked = folder.revoked_serials()
    for serial, role, at, name in folder.issued():
        end = end_by(at)
        until = f"{'expired' if end <= now else 'until'} {datetime.fromtimestamp(end, UTC):%Y-%m-%d}"
        state = "revoked" if serial in revoked else serial[:16]
        say(f"{name:<24} {role:<9} {at}  {state:<16}  {until}")


def _issue(role: "Role", name: str, hosts: tuple[str, ...], ca: Path, out: Path | None) -> None:
    folder = out if out is not None else ca / name
    _folder(ca).issue(role, name, hosts, folder)
    say(f"{folder} has the credentials of {name}.")


def _folder(ca: Path) -> "AuthorityFolder":
    from weft.live.authority import AuthorityFolder

    return AuthorityFolder(ca)
