"""Fleets from what their brokers write down: configurations, monitoring output, lists of clients."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal

import pyarrow as pa

from weft.errors import WeftError
from weft.fleet.bridge import Bridge
from weft.fleet.broker import read_brokers
from weft.fleet.client import CLIENTS, checked_clients, read_clients, resolved
from weft.fleet.emqx import read_emqx
from weft.fleet.fleet import Fleet
from weft.fleet.mosquitto import bridge_clients, read_configurations
from weft.fleet.mosquitto_log import read_logs
from weft.fleet.nats import Subscription, is_wild_subject, read_nats, subject_finder
from weft.fleet.publishing import published_topics, read_publishing
from weft.model.topic import is_name
from weft.model.wildcard import finder, named_topics
from weft.raw.topic import read_topics

Kind = Literal["mosquitto", "nats", "emqx", "csv"]


def read_running(
    kind: Kind,
    paths: Sequence[Path],
    *,
    brokers: Path | None = None,
    clients: Path | None = None,
    logs: Sequence[str] = (),
    publishers: Path | None = None,
    topics: Path | None = None,
) -> Fleet:
    """A running fleet of that kind. Mosquitto and CSV need `brokers`; `topics` are names beside those subscribed to.

    `logs` are those of Mosquitto, each NAME.log or NAME=FILE, with what the clients of broker NAME subscribe to.
    """
    if logs and kind != "mosquitto":
        raise WeftError(f"`log` is of Mosquitto, and not of {kind}: leave it out.", "log")
    fleet = _read(kind, paths, brokers, clients, _names(kind, publishers, topics), logs)
    return fleet if publishers is None else fleet.with_publishers(read_publishing(publishers, fleet))


def _names(kind: Kind, publishers: Path | None, topics: Path | None) -> list[str]:
    listed = [] if topics is None else read_topics(str(topics))
    return listed if publishers is None else [*listed, *published_topics(publishers, kind)]


def _read(
    kind: Kind,
    paths: Sequence[Path],
    brokers: Path | None,
    clients: Path | None,
    names: list[str],
    logs: Sequence[str],
) -> Fleet:
    if kind in ("nats", "emqx"):
        if brokers is not None or clients is not None:
            raise WeftError(
                f"`brokers` and `clients` are in the output of {kind}: leave them out.", "brokers", "clients"
            )
        return _cluster(kind, paths, names)
    if brokers is None:
        raise WeftError("Where are the brokers? Give `brokers`, a CSV file of name,host,port.", "brokers")
    if kind == "csv":
        if clients is not None or len(paths) != 1:
            raise WeftError("CSV is one file of client, broker and filter.")
        return _fleet(kind, brokers, [], paths[0], names)
    found = read_configurations(paths, read_brokers(brokers), str(brokers))
    return _fleet(kind, brokers, found, clients, names, bridge_clients(paths), logs)


def _fleet(
    kind: Kind,
    brokers: Path,
    bridges: list[Bridge],
    clients: Path | None,
    names: list[str],
    own: tuple[set[str], tuple[str, ...]] = (set(), ()),
    logs: Sequence[str] = (),
) -> Fleet:
    """A fleet, without what bridges subscribe to by their own client ids."""
    known = read_brokers(brokers)
    table = CLIENTS.empty_table() if clients is None else read_clients(clients, known, str(brokers))
    if logs:
        table = pa.concat_tables([table, read_logs(logs, known, str(brokers))])
    others = [not (name in own[0] or name.endswith(own[1])) for name in table["client"].to_pylist()]
    table = table.filter(pa.array(others, pa.bool_()))
    held = table["filter"].unique().to_pylist()
    lines = [f"{line.local}{line.pattern}" for bridge in bridges for line in bridge.lines if not line.renames]
    topics = _sorted({*names, *named_topics(held), *named_topics(filter(is_name, lines))})
    return Fleet(kind, tuple(known), topics, tuple(bridges), table, resolved(held, finder(topics)))


def _cluster(kind: Kind, paths: Sequence[Path], names: list[str]) -> Fleet:
    brokers, bridges, found = read_nats(paths) if kind == "nats" else read_emqx(paths)
    table = _table(found)
    held = table["filter"].unique().to_pylist()
    if kind == "nats":
        topics = _sorted({*names, *(subject for subject in held if not is_wild_subject(subject))})
        filters = resolved(held, subject_finder(topics))
    else:
        checked_clients(table, brokers, "Subscription", "the cluster", first=1)
        topics = _sorted({*names, *named_topics(held)})
        filters = resolved(held, finder(topics))
    return Fleet(kind, tuple(brokers), topics, tuple(bridges), table, filters, forwards=False)


def _table(rows: Sequence[Subscription]) -> pa.Table:
    columns = zip(*rows, strict=True) if rows else ([], [], [])
    return pa.table([pa.array(list(column), pa.string()) for column in columns], schema=CLIENTS)


def _sorted(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(names, key=str.encode))
