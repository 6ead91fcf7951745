"""Subscriptions of clients from Mosquitto's log, with `log_type subscribe`; `unsubscribe` too, where it is there.

    1700000000: CLIENT QOS FILTER
    1700000000: CLIENT FILTER            of an unsubscription

Client ids and filters may have blanks, so that a line may be read in several ways. Ids of which the log says that they
connected decide; else the shortest id does whose filter is one.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import pyarrow as pa

from weft.errors import WeftError
from weft.fleet.broker import Brokers
from weft.fleet.client import CLIENTS
from weft.model.text import chunks_of_lines
from weft.model.topic import is_filter
from weft.model.wildcard import plain_filter

_SYSLOG = re.compile(r"^\S.{0,80}? mosquitto(\[\d+\])?: ")
_STAMP = re.compile(r"^(\d+|\d{4}-\d\d-\d\d[T ][\d:.,+Z-]+): ")
_CONNECTED = re.compile(r"^New client connected from \S+ as (.+) \([^()]*\)\.$")
_QOS = re.compile(r" (?=[012] )")
_NO_SUBSCRIPTION = re.compile(  # how lines of other kinds begin
    r"(New (client|connection)|Client|Sending|Received|Opening|Bridge|Connecting|Socket|Saving|Restored|Config|Error"
    r"|Warning|Notice|mosquitto version|Log) "
)


def read_logs(given: Sequence[str], brokers: Brokers, where: str) -> pa.Table:
    """client, broker and filter of logs: NAME.log of broker NAME, or NAME=FILE."""
    rows = []
    for broker, file in map(_named, given):
        if broker not in brokers:
            raise WeftError(
                f"{file} is of broker {broker!r}, which is not in {where}: say whose it is with `log` NAME=FILE.", "log"
            )
        found = sorted(subscriptions(_lines(file)))
        if not found:
            raise WeftError(f"{file} has no subscription: the broker writes them with `log_type subscribe`.")
        rows += [(client, broker, text) for client, text in found]
    columns = zip(*rows, strict=True) if rows else ([], [], [])
    return pa.table([pa.array(list(column), pa.string()) for column in columns], schema=CLIENTS)


def _named(text: str) -> tuple[str, Path]:
    name, sign, file = text.partition("=")
    path = Path(file) if sign and not Path(text).exists() else Path(text)
    if not path.is_file():
        raise WeftError(f"{path} {'is a folder' if path.is_dir() else 'does not exist'}: give a log of Mosquitto.")
    return (name if path != Path(text) else path.name.removesuffix(".gz").removesuffix(".log")), path


def _lines(file: Path) -> Iterator[str]:
    for chunk in chunks_of_lines(str(file)):
        yield from (line.decode(errors="replace") for line in chunk)


def subscriptions(lines: Iterable[str]) -> set[tuple[str, str]]:
    """Client and filter of all that are subscribed to in the end."""
    connected: set[str] = set()
    held: dict[str, tuple[str, str]] = {}  # by the line that ends it
    for line in lines:
        said = _STAMP.sub("", _SYSLOG.sub("", line), count=1)
        if (known := _CONNECTED.match(said)) is not None:
            connected.add(known[1])
        elif said in held:
            del held[said]
        elif (found := _subscription(said, connected)) is not None:
            held[" ".join(found)] = found
    return set(held.values())


def _subscription(said: str, connected: set[str]) -> tuple[str, str] | None:
    ways = [(said[: at.start()], said[at.end() + 2 :]) for at in _QOS.finditer(said)]
    read = [(client, text) for client, text in ways if client and is_filter(plain_filter(text))]
    known = [way for way in read if way[0] in connected]
    if known:
        return known[0]
    return read[0] if read and not _NO_SUBSCRIPTION.match(said) else None
