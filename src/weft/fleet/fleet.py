"""A fleet as it runs: brokers, the bridges between them, their clients, and how brokers pass messages on.

As a folder it has what other commands take, `instance/` (brokers, and the topics of their clients) and `overlay/` (the
links), beside what only a fleet has:

    bridges.parquet   owner, remote, pattern, direction, qos, local, prefix: a row a line of a bridge
    clients.parquet   client, broker, filter
    filters.parquet   filter, topic: the known topics that each filter stands for
    meta.json         fleet (where it comes from), forwards, counts
"""

from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from weft.errors import WeftError
from weft.fleet.bridge import Bridge, Line
from weft.fleet.client import CLIENTS, FILTERS, interests
from weft.fleet.nats import subject_finder
from weft.model.address import local_path
from weft.model.instance import Instance, instance_from_pairs, read_instance
from weft.model.overlay import Overlay, overlay_from_links
from weft.model.publisher import Publishers
from weft.model.storage import new_folder, read_columns, read_meta, write_columns, write_meta
from weft.model.wildcard import Find, finder

BRIDGES = pa.schema(
    {
        "owner": pa.string(),
        "remote": pa.string(),
        "pattern": pa.string(),
        "direction": pa.string(),
        "qos": pa.int64(),
        "local": pa.string(),
        "prefix": pa.string(),
    }
)


@dataclass(frozen=True, eq=False)
class Fleet:
    kind: str  # mosquitto, nats, emqx or csv
    brokers: tuple[str, ...]
    topics: tuple[str, ...]  # that are known
    bridges: tuple[Bridge, ...]
    clients: pa.Table
    filters: pa.Table
    forwards: bool = True  # whether brokers pass on to others what comes by a bridge
    given: Instance | None = field(default=None, repr=False)  # with publishers, where they are known

    @cached_property
    def instance(self) -> Instance:
        if self.given is not None:
            return self.given
        nodes, topics = interests(self.clients, self.filters, self.brokers)
        return instance_from_pairs(
            nodes,
            topics,
            node_count=len(self.brokers),
            topic_count=len(self.topics),
            node_names=np.array(self.brokers, object),
            topic_names=np.array(self.topics, object),
            source=f"a fleet of {self.kind}",
        )

    @cached_property
    def overlay(self) -> Overlay:
        """Links as bridges have them."""
        number = {name: node for node, name in enumerate(self.brokers)}
        pairs = sorted({(number[bridge.owner], number[bridge.remote]) for bridge in self.bridges})
        sources, targets = np.array(pairs, np.int64).reshape(-1, 2).T
        return overlay_from_links(
            len(self.brokers), sources, targets, algorithm=f"{self.kind} as it is", instance=self.instance.fingerprint
        )

    def with_publishers(self, publishers: Publishers) -> "Fleet":
        return replace(self, given=replace(self.instance, given_publishers=publishers))

    @cached_property
    def find(self) -> Find:
        return subject_finder(self.topics) if self.kind == "nats" else finder(self.topics)

    @property
    def renaming(self) -> int:
        """Lines that give topics other names behind a bridge, which are not followed."""
        return sum(line.renames for bridge in self.bridges for line in bridge.lines)

    @property
    def has_known_links(self) -> bool:
        """A list of clients says nothing of links, so that what does not come to whom is not known either."""
        return self.kind != "csv"

    @property
    def unresolved(self) -> list[str]:
        """Filters that stand for no known topic."""
        held = self.clients["filter"].unique()
        held = held.filter(pc.invert(pc.starts_with(held, "$SYS")))
        return sorted(held.filter(pc.invert(pc.is_in(held, self.filters["filter"].unique()))).to_pylist())

    @property
    def counts(self) -> dict[str, Any]:
        return {
            "brokers": len(self.brokers),
            "bridges": len(self.bridges),
            "clients": self.clients.select(["client", "broker"]).group_by(["client", "broker"]).aggregate([]).num_rows,
            "topics": len(self.topics),
            "filters_of_no_known_topic": len(self.unresolved),
            "renaming_lines": self.renaming,
        }

    def write(self, path: str | Path, *, force: bool = False) -> None:
        with new_folder(path, force=force) as folder:
            self.instance.write(folder / "instance")
            self.overlay.write(folder / "overlay", names=self.instance.node_names)
            rows = [_row(bridge, line) for bridge in self.bridges for line in bridge.lines or (None,)]
            table = pa.Table.from_pylist(rows, BRIDGES)
            for name, each in (("bridges", table), ("clients", self.clients), ("filters", self.filters)):
                write_columns(folder / f"{name}.parquet", {column: each[column] for column in each.column_names})
            write_meta(folder, {"fleet": self.kind, "forwards": self.forwards, **self.counts})

    @staticmethod
    def read(path: str | Path) -> "Fleet":
        return read_fleet(path)


def _row(bridge: Bridge, line: Line | None) -> dict[str, Any]:
    ends = {"owner": bridge.owner, "remote": bridge.remote}
    if line is None:
        return ends
    about = {"pattern": line.pattern, "direction": line.direction, "qos": line.qos}
    return {**ends, **about, "local": line.local, "prefix": line.remote}


def is_fleet(path: str | Path) -> bool:
    folder = local_path(path)
    return (folder / "meta.json").is_file() and "fleet" in read_meta(folder, "a fleet")


def read_fleet(path: str | Path) -> Fleet:
    folder = local_path(path)
    meta = read_meta(folder, "a fleet")
    if "fleet" not in meta:
        raise WeftError(f"{folder} is not a fleet: make one with `weft import`.")
    instance = read_instance(folder / "instance")
    if instance.node_names is None or instance.topic_names is None:
        raise WeftError(f"{folder}/instance has no names: import the fleet again.")
    empty = ("pattern", "direction", "qos", "local", "prefix")
    return Fleet(
        str(meta["fleet"]),
        tuple(instance.node_names.tolist()),
        tuple(instance.topic_names.tolist()),
        _bridges(read_columns(folder / "bridges.parquet", dict(_fields(BRIDGES)), nullable=empty)),
        read_columns(folder / "clients.parquet", dict(_fields(CLIENTS))),
        read_columns(folder / "filters.parquet", dict(_fields(FILTERS))),
        bool(meta.get("forwards", True)),
        instance,
    )


def _fields(schema: pa.Schema) -> list[tuple[str, pa.DataType]]:
    return [(each.name, each.type) for each in schema]


def _bridges(table: pa.Table) -> tuple[Bridge, ...]:
    found: dict[tuple[str, str], list[Line]] = {}
    for row in table.to_pylist():
        lines = found.setdefault((row["owner"], row["remote"]), [])
        if row["pattern"] is not None:
            lines.append(Line(row["pattern"], row["direction"], row["qos"], row["local"], row["prefix"]))
    return tuple(Bridge(*ends, tuple(lines)) for ends, lines in found.items())
