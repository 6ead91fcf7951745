"""Mosquitto's configuration: a plan as one file of bridges for every broker, and such files read again.

A file holds the bridges that its broker opens, and nothing else: it is included by the broker's own configuration
(`include_dir`), which has the listeners, the persistence and the users.

What is written, and why:

    remote_clientid             Mosquitto's own default is by host, and two brokers on a host would throw each other out
    cleansession false          what a bridge has to carry waits while it is down
    try_private true            the remote broker knows that it is a bridge: nothing comes back by it, `retain` stays
    notifications true          `$SYS/broker/connection/CLIENT/state` says whether the bridge is up
    restart_timeout 1 10        seconds to the next try, at least and at most

A remote broker keeps the subscriptions of a session that is not clean, so a topic that is taken off a bridge would keep
coming. Mosquitto unsubscribes from what goes `out` only. So such a topic is written as one that goes out under a local
name that nobody publishes on: the bridge unsubscribes from it, and carries nothing.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from weft.errors import WeftError
from weft.fleet.bridge import DIRECTIONS, Bridge, Direction, Line
from weft.fleet.broker import PORT, Brokers
from weft.model.topic import is_filter

NOBODY = "$weft/unsubscribed/"  # before a name: nobody publishes there
EMPTY = '""'

_HEAD = """# Bridges of broker {name}, by `weft export`. Include it in the broker's own configuration, and restart the
# broker: Mosquitto does not read bridges again on a signal.
"""


def configuration(name: str, bridges: Iterable[Bridge], brokers: Brokers, gone: Sequence[tuple[str, str]] = ()) -> str:
    """The file of one broker; `gone` are remote brokers and what was subscribed to there, and is no more."""
    own = [bridge for bridge in bridges if bridge.owner == name]
    unsubscribed = {remote: sorted(pattern for at, pattern in gone if at == remote) for remote, _ in gone}
    return _HEAD.format(name=name) + "".join(_section(each, brokers, unsubscribed.get(each.remote, [])) for each in own)


def client_id(owner: str, remote: str) -> str:
    return f"weft.{owner}.{remote}"


def _section(bridge: Bridge, brokers: Brokers, gone: list[str]) -> str:
    lines = [
        "",
        f"connection {client_id(bridge.owner, bridge.remote)}",
        f"address {brokers[bridge.remote].address}",
        f"remote_clientid {client_id(bridge.owner, bridge.remote)}",
        *_credentials(bridge, brokers),
        "cleansession false",
        "try_private true",
        "notifications true",
        "restart_timeout 1 10",
        *map(_topic, bridge.lines),
    ]
    if gone:
        lines += ["# no longer wanted from there", *(f'topic {name} out 0 {NOBODY} ""' for name in gone)]
    return "\n".join(lines) + "\n"


def _credentials(bridge: Bridge, brokers: Brokers) -> Iterator[str]:
    own, other = brokers[bridge.owner], brokers[bridge.remote]
    if other.username:
        yield f"remote_username {other.username}"
    if other.password_env:
        yield f"remote_password ${{{other.password_env}}}"
    if other.cafile:
        yield f"bridge_cafile {other.cafile}"
    if own.certfile and other.cafile:
        yield f"bridge_certfile {own.certfile}"
        yield f"bridge_keyfile {own.keyfile}"


def _topic(line: Line) -> str:
    plain = f"topic {line.pattern or EMPTY} {line.direction} {line.qos}"
    return f"{plain} {line.local or EMPTY} {line.remote or EMPTY}" if line.local or line.remote else plain


def read_configurations(paths: Iterable[Path], brokers: Brokers, where: str) -> list[Bridge]:
    """Bridges of configurations: NAME.conf is of broker NAME, and so is all *.conf in a folder NAME."""
    at = {broker.address: broker.name for broker in brokers.values()}
    found: dict[tuple[str, str], Bridge] = {}
    for name, file in _files(paths):
        if name not in brokers:
            raise WeftError(f"{file} is of broker {name!r}, which is not in {where}: add a row with its address.")
        for bridge in _bridges(name, file, at, where):
            before = found.get((bridge.owner, bridge.remote))
            lines = (*before.lines, *bridge.lines) if before else bridge.lines
            found[bridge.owner, bridge.remote] = Bridge(bridge.owner, bridge.remote, tuple(sorted(set(lines))))
    return sorted(found.values())


def bridge_clients(paths: Iterable[Path]) -> tuple[set[str], tuple[str, ...]]:
    """Client ids of bridges, and the ends of those that Mosquitto makes itself: host name, dot, name of the bridge."""
    given, ends = set(), set()
    for _, file in _files(paths):
        for _, words in _statements(file):
            if words[0] == "connection" and len(words) > 1:
                ends.add(f".{words[1]}")
            if words[0] in ("remote_clientid", "clientid") and len(words) > 1:
                given.add(words[1])
    return given, tuple(sorted(ends))


def _files(paths: Iterable[Path]) -> Iterator[tuple[str, Path]]:
    """Every configuration, with the name of its broker."""
    for path in paths:
        if not path.exists():
            raise WeftError(f"{path} does not exist.")
        inside = [path] if path.is_file() else sorted(path.glob("*.conf"))
        deeper = [] if path.is_file() else [each for each in sorted(path.iterdir()) if each.is_dir()]
        yield from ((file.stem, file) for file in inside)
        yield from ((folder.name, file) for folder in deeper for file in sorted(folder.rglob("*.conf")))


def _bridges(name: str, file: Path, at: dict[str, str], where: str) -> Iterator[Bridge]:
    """Bridges of a file; one without topics carries nothing, and is none."""
    remote, lines, opened = None, list[Line](), 0
    for number, words in _statements(file):
        if words[0] in ("connection", "listener", "port", "plugin", "auth_plugin"):
            yield from _closed(name, remote, lines, f"{file}, line {opened}")
            remote, lines, opened = None, [], number if words[0] == "connection" else 0
        elif opened and words[0] in ("address", "addresses") and len(words) > 1:
            remote = _remote(words[1], at, name, f"{file}, line {number}", where)
        elif opened and words[0] == "topic":
            lines.append(_line(words, f"{file}, line {number}"))
    yield from _closed(name, remote, lines, f"{file}, line {opened}")


def _closed(name: str, remote: str | None, lines: list[Line], where: str) -> Iterator[Bridge]:
    kept = tuple(sorted(line for line in lines if line.local != NOBODY))
    if kept and remote is None:
        raise WeftError(f"{where}: the bridge has topics and no address: say which broker it leads to.")
    if kept and remote is not None:
        yield Bridge(name, remote, kept)


def _statements(file: Path) -> Iterator[tuple[int, list[str]]]:
    try:
        text = file.read_text("utf-8-sig")
    except UnicodeDecodeError as error:
        raise WeftError(f"{file} is not UTF-8 text: give a configuration of Mosquitto.") from error
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip() and not line.startswith("#"):
            yield number, line.split()


def _remote(address: str, at: dict[str, str], name: str, place: str, where: str) -> str:
    full = address if re.search(r":\d+$", address) else f"{address}:{PORT}"
    if full not in at:
        raise WeftError(
            f"{place}: the bridge leads to {full}, where {where} has no broker: add it there, or remove the bridge."
        )
    if at[full] == name:
        raise WeftError(f"{place}: the bridge leads from {name!r} to itself: remove it, or mend its address.")
    return at[full]


def _line(words: list[str], place: str) -> Line:
    pattern, direction, qos, local, remote = (*words[1:6], *[None] * 5)[:5]
    if direction not in (None, *DIRECTIONS):
        raise WeftError(f"{place}: {direction!r} is no direction: a topic goes in, out or both ways.")
    if qos not in (None, "0", "1", "2"):
        raise WeftError(f"{place}: {qos!r} is no QoS: give 0, 1 or 2.")
    local, remote = ("" if prefix in (None, EMPTY) else prefix for prefix in (local, remote))
    pattern = "" if pattern in (None, EMPTY) else pattern
    if not is_filter(f"{local}{pattern}") or not is_filter(f"{remote}{pattern}"):
        raise WeftError(f"{place}: {pattern!r} is no topic filter: # stands last, and + alone between slashes.")
    known: Direction = next((each for each in DIRECTIONS if each == direction), "out")
    return Line(pattern, known, int(qos or 0), local, remote)
