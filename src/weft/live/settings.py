"""What can be set of a node: on the command line, or under the same names in a TOML file. The command line wins."""

import tomllib
from collections.abc import Set
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from weft.broker.parameters import NAMES, Parameters
from weft.errors import WeftError
from weft.journal.parameters import Sync
from weft.live.address import Address, read_address


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    listen: tuple[Address, ...] = (Address("127.0.0.1", 1883),)
    data: Path | None = None  # folder of the journal; none keeps nothing beyond the process
    sync: Sync = Sync.DISK
    acknowledge: str = "disk"  # in a network: when a publisher hears, by node/parameters.py
    http: Address | None = None  # metrics and health
    master: Address | None = None  # of the network that the node is part of; none is a broker alone
    name: str = ""  # in the network; by host and port where none is given
    link: Address | None = None  # where other nodes connect; any port of the first listener's host where none is given
    advertise: Address | None = None  # what others are told instead of `link`, where that is not what they reach
    certificate: Path | None = None  # PEM, for mqtts and wss
    key: Path | None = None
    json_logs: bool = False
    quiet: bool = False
    parameters: Parameters = field(default_factory=Parameters)


def read_settings(path: Path | None, given: dict[str, Any]) -> Settings:
    """Settings out of a file and of options; options that are None were not given."""
    known = {one.name for one in fields(Settings)} - {"parameters"}
    merged = options_of(path, given, known | set(NAMES))
    limits = {name: merged.pop(name) for name in list(merged) if name in NAMES}
    return _checked(Settings(**{name: _read(name, merged[name]) for name in merged}, parameters=_parameters(limits)))


def options_of(path: Path | None, given: dict[str, Any], known: Set[str]) -> dict[str, Any]:
    """Options of a file, and those that were given, which win."""
    merged = _from_file(path) if path is not None else {}
    for name in merged:
        if name not in known:
            names = ", ".join(sorted(known)).replace("_", "-")
            raise WeftError(f"{path}: there is no option {name.replace('_', '-')}: the options are {names}.")
    return merged | {name: value for name, value in given.items() if value not in (None, (), [])}


def _from_file(path: Path) -> dict[str, Any]:
    try:
        read = tomllib.loads(path.read_text())
    except OSError as error:
        raise WeftError(f"{path} cannot be read ({error.strerror}): give a TOML file.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise WeftError(f"{path} is no TOML: {error}.") from error
    return {name.replace("-", "_"): value for name, value in read.items()}


def _parameters(limits: dict[str, Any]) -> Parameters:
    for name, value in limits.items():
        if not isinstance(value, int | float):
            raise WeftError(f"{name.replace('_', '-')} is {value!r}: give a number.")
    return Parameters(**limits)


def _read(name: str, value: Any) -> Any:
    if name == "listen":
        many = [value] if isinstance(value, str) else list(value)
        return tuple(read_address(one) for one in many)
    if name in ("http", "master", "link", "advertise"):
        return read_address(value)
    if name == "name" and not isinstance(value, str):
        raise WeftError(f"name is {value!r}: give text.")
    if name == "acknowledge" and value not in ("disk", "tree"):
        raise WeftError(f"acknowledge is {value!r}: give disk, tree.")
    if name == "sync":
        if value not in list(Sync):
            raise WeftError(f"sync is {value!r}: give {', '.join(Sync)}.")
        return Sync(value)
    return Path(value) if name in ("data", "certificate", "key") else value


def _checked(settings: Settings) -> Settings:
    if any(one.secure for one in settings.listen) and settings.certificate is None:
        raise WeftError(
            "A listener with TLS needs `certificate`, and `key` unless the key is in it.", "certificate", "key"
        )
    return settings
