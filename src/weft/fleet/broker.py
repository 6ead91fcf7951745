"""The brokers of a fleet: names, addresses, and how others reach them, from a CSV file with a header.

    name,host,port,username,password_env,cafile,certfile,keyfile,capacity

Only name and host are required. A user name, a password and a CA's file are what the *others* need to connect to this
broker; certificate and key are what this broker shows when it connects. Secrets are by reference: the CSV names the
environment variable that holds a password and the files on the broker's machine, and has none of their content.
"""

import csv
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path

from weft.errors import WeftError
from weft.model.heading import delimiter_of, names_of
from weft.model.text import text_of

PORT = 1883

_NAME = re.compile(r"[^\s/\\#+$]+")  # goes into file names and client ids
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True)
class Broker:
    name: str
    host: str
    port: int = PORT
    username: str | None = None
    password_env: str | None = None  # the variable that holds the password
    cafile: str | None = None  # with which others check this broker's certificate
    certfile: str | None = None  # that this broker shows to others
    keyfile: str | None = None
    capacity: int | None = None  # clients, at most

    @property
    def address(self) -> str:
        return f"{self.host}:{self.port}"


Brokers = Mapping[str, Broker]  # by name

COLUMNS = tuple(each.name for each in fields(Broker))


def read_brokers(path: str | Path) -> dict[str, Broker]:
    """Brokers by name, in the order of the file."""
    found: dict[str, Broker] = {}
    at: dict[str, str] = {}
    for line, row in rows_of(Path(path), required=("name", "host"), known=COLUMNS):
        broker = _broker(row, f"{path}, line {line}")
        if broker.name in found:
            raise WeftError(f"{path}, line {line}: broker {broker.name!r} is there twice: give each a name of its own.")
        if broker.address in at:
            other = at[broker.address]
            raise WeftError(
                f"{path}, line {line}: {broker.name!r} and {other!r} are both at {broker.address}: two brokers cannot "
                "share an address."
            )
        found[broker.name], at[broker.address] = broker, broker.name
    if not found:
        raise WeftError(f"{path} has no brokers: give a row for each, under the header name,host,port.")
    return found


def rows_of(
    path: Path, required: tuple[str, ...], known: tuple[str, ...] | None = None
) -> Iterator[tuple[int, dict[str, str]]]:
    """Line and values of every row of a CSV file with a header; columns that are not known are refused."""
    if not path.is_file():
        raise WeftError(f"{path} {'is a folder' if path.is_dir() else 'does not exist'}: give a file of CSV.")
    try:
        lines = text_of(str(path)).splitlines(keepends=True)
        heading = next((line for line in lines if line.strip()), "")
        delimiter = delimiter_of(heading)
        names = [name.lower() for name in names_of(heading, delimiter, str(path))] if heading else []
        _require_columns(path, names, required, known)
        reader = csv.reader(lines, delimiter=delimiter, strict=True, skipinitialspace=True)
        rows = [(reader.line_num, row) for row in reader if any(map(str.strip, row))]
    except csv.Error as error:
        raise WeftError(f"{path} cannot be read as CSV: {error}.") from error
    for line, row in rows[1:]:
        if len(row) != len(names):
            raise WeftError(f"{path}, line {line}: it has another number of fields than the header.")
        yield line, dict(zip(names, map(str.strip, row), strict=True))


def _require_columns(path: Path, names: list[str], required: tuple[str, ...], known: tuple[str, ...] | None) -> None:
    for name in required:
        if name not in names:
            raise WeftError(f"{path} has no column {name!r}: its first line has to name {', '.join(required)}.")
    for name in names:
        if known is not None and name not in known:
            raise WeftError(f"{path} has a column {name!r}, which nobody reads: there are {', '.join(known)}.")


def _broker(row: Mapping[str, str], where: str) -> Broker:
    values = {name: value or None for name, value in row.items()}
    name, host = values["name"] or "", values["host"] or ""
    if not _NAME.fullmatch(name) or name.startswith("."):
        raise WeftError(f"{where}: {name!r} cannot name a broker: use no blanks and none of / \\ # + $.")
    if not host or re.search(r"\s", host):
        raise WeftError(f"{where}: {host!r} is no host.")
    if values.get("password_env") and not _VARIABLE.fullmatch(str(values["password_env"])):
        raise WeftError(
            f"{where}: password_env is the name of an environment variable that holds the password, not the password."
        )
    if bool(values.get("certfile")) != bool(values.get("keyfile")):
        raise WeftError(f"{where}: certfile and keyfile go together: give both, or none.")
    rest = {name: values.get(name) for name in ("username", "password_env", "cafile", "certfile", "keyfile")}
    port, capacity = _number(values.get("port"), "port", where), _number(values.get("capacity"), "capacity", where)
    if port is not None and not 0 < port < 2**16:
        raise WeftError(f"{where}: port {port} is out of range: give 1 to 65535.")
    return Broker(name, host, PORT if port is None else port, capacity=capacity, **rest)


def _number(text: str | None, column: str, where: str) -> int | None:
    if text is None:
        return None
    if not text.isdecimal():
        raise WeftError(f"{where}: {column} is {text!r}, not a number.")
    return int(text)


def require_brokers(names: list[str], brokers: Brokers, where: str) -> None:
    """Refuse nodes that are no broker of the file."""
    missing = [name for name in names if name not in brokers]
    if missing:
        others = f" ({len(missing)} such in all)" if len(missing) > 1 else ""
        raise WeftError(f"Broker {missing[0]!r} of the overlay is not in {where}{others}: add a row with its address.")
