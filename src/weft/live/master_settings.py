"""What can be set of a master: on the command line, or under the same names in a TOML file. The command line wins."""

from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from weft.access.limit import is_loopback
from weft.errors import WeftError
from weft.live.address import Address, read_address
from weft.live.settings import options_of, read_texts, require_kind, require_level, require_node_name, taken
from weft.master.parameters import Parameters

DEFAULT = Address("127.0.0.1", 7883)
KINDS: dict[str, type] = {
    "seed": int,
    "spark_above": int,
    "json_logs": bool,
    "quiet": bool,
    "allow_plaintext": bool,
}  # all others are text
NAMES = frozenset(one.name for one in fields(Parameters))


@dataclass(frozen=True, slots=True, kw_only=True)
class MasterSettings:
    listen: Address = DEFAULT  # nodes and operators
    data: Path | None = None  # folder of the store; none keeps nothing beyond the process
    http_host: tuple[str, ...] = ()  # names that web pages and others may call this host by, besides its addresses
    ca: Path | None = None  # folder of the cluster's authority
    allow_plaintext: bool = False  # also where other machines connect
    cluster: str = ""  # its name; by chance where none is given
    seed: int = 1  # of designs
    spark_above: int = 20_000  # nodes from which designs are made on Spark
    spark_master: str = "local[*]"
    json_logs: bool = False
    log_level: str = "info"
    quiet: bool = False
    parameters: Parameters = field(default_factory=Parameters)

    @property
    def authority(self) -> Path | None:
        """Folder of the cluster's authority, which may be in that of the data."""
        if self.ca is not None or self.data is None:
            return self.ca
        return self.data / "ca" if (self.data / "ca").exists() else None


def read_master_settings(path: Path | None, given: dict[str, Any]) -> MasterSettings:
    known = {one.name: one for one in fields(MasterSettings) if one.name != "parameters"}
    merged = options_of(path, given, known.keys() | NAMES)
    parameters = Parameters(**taken(merged, NAMES, Parameters))
    read = {name: _read(name, value) for name, value in merged.items()}
    return _checked(MasterSettings(**read, parameters=parameters))


def _checked(settings: MasterSettings) -> MasterSettings:
    if settings.authority is None and not settings.allow_plaintext and not is_loopback(settings.listen.host):
        raise WeftError(
            f"{settings.listen} takes nodes and operators of other machines without certificates: give `ca`, or "
            "`allow_plaintext` where everybody who can reach it is trusted.",
            "ca",
            "allow_plaintext",
        )
    return settings


def _read(name: str, value: Any) -> Any:
    if name == "http_host":
        return read_texts(name, value)
    require_kind(name, value, KINDS.get(name, str))
    if name == "listen":
        return read_address(value)
    if name == "log_level":
        require_level(value)
    if name == "cluster":
        require_node_name(name, value)
    return Path(value) if name in ("data", "ca") else value
