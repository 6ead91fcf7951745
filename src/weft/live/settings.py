"""What can be set of a node: on the command line, or under the same names in a TOML file. The command line wins."""

import tomllib
from collections.abc import Set
from dataclasses import dataclass, field, fields, replace
from math import isfinite
from pathlib import Path
from typing import Any

from weft.access.limit import NAMES as LIMITS
from weft.access.limit import Limits, is_loopback
from weft.access.name import NODE_CHARACTERS, node_problem
from weft.access.page import Pages
from weft.broker.parameters import NAMES, Parameters
from weft.errors import WeftError
from weft.journal.parameters import Sync
from weft.live.access_file import AccessFiles
from weft.live.address import Address, read_address
from weft.live.log import LEVELS
from weft.live.tls import Credentials, credentials_in
from weft.node.parameters import DEFAULT

LEAVING = DEFAULT.leaving
CREDENTIALS = "credentials"  # folder within that of the data
ANONYMOUS = ("never", "loopback", "anywhere")
SWITCHES = ("allow_plaintext", "json_logs", "quiet")
LISTS = ("listen", "http_host", "websocket_origin")
WORDS: dict[type, str] = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}
PATHS = ("data", "certificate", "key", "client_authority", "users", "rights", "token_key", "credentials")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    listen: tuple[Address, ...] = (Address("127.0.0.1", 1883),)
    data: Path | None = None  # folder of the journal; none keeps nothing beyond the process
    sync: Sync = Sync.DISK
    acknowledge: str = "disk"  # in a network: when a publisher hears, by node/parameters.py
    http: Address | None = None  # metrics and health
    http_host: tuple[str, ...] = ()  # names that web pages and others may call this host by, besides its addresses
    websocket_origin: tuple[str, ...] = ()  # of web pages that may be clients; `*` is any
    master: Address | None = None  # of the network that the node is part of; none is a broker alone
    name: str = ""  # in the network; by host and port where none is given
    link: Address | None = None  # where other nodes connect; any port of the first listener's host where none is given
    advertise: Address | None = None  # what others are told instead of `link`, where that is not what they reach
    certificate: Path | None = None  # PEM, for mqtts and wss; that of the credentials where none is given
    key: Path | None = None
    client_authority: Path | None = None  # PEM; who shows a certificate of it is the user that it names
    users: Path | None = None
    rights: Path | None = None
    token_key: Path | None = None
    token_audience: str = ""
    credentials: Path | None = None  # folder that proves to master and nodes which node this is
    join: str = ""  # token that gets them from the master
    anonymous: str = "loopback"  # which listeners take clients that do not say who they are: a word of ANONYMOUS
    allow_plaintext: bool = False  # also where other machines connect
    json_logs: bool = False
    log_level: str = "info"
    quiet: bool = False
    leaving: float = LEAVING  # in a network: seconds that a node which ends waits until others have what it owes them
    parameters: Parameters = field(default_factory=Parameters)
    limits: Limits = field(default_factory=Limits)
    descriptors: int = 65_536  # that the process may have; no option, but the system's

    @property
    def access(self) -> AccessFiles:
        return AccessFiles(self.users, self.rights, self.token_key, self.token_audience)

    @property
    def ports(self) -> int:
        """How many are listened on."""
        return len(self.listen) + (self.http is not None) + (self.master is not None)

    @property
    def knows_users(self) -> bool:
        """Whether a client can prove who it is."""
        return not (self.users is None and self.token_key is None and self.client_authority is None)

    @property
    def own(self) -> Path | None:
        """Folder of the credentials in the cluster, if it is in one that has them."""
        if self.credentials is not None or self.data is None:
            return self.credentials
        kept = self.data / CREDENTIALS
        return kept if self.join or kept.exists() else None

    @property
    def cluster_credentials(self) -> Credentials | None:
        return None if self.own is None else credentials_in(self.own)

    def tls(self) -> Credentials:
        """What listeners for clients show."""
        if self.certificate is not None:
            return Credentials(self.certificate, self.key, self.client_authority)
        assert self.own is not None
        return replace(credentials_in(self.own), authority=self.client_authority)

    def takes_anonymous(self, address: Address) -> bool:
        return self.anonymous == "anywhere" or (self.anonymous == "loopback" and is_loopback(address.host))

    def pages(self, address: Address) -> Pages:
        """What web pages may ask of a port."""
        return Pages(address.host, self.http_host, self.websocket_origin)

    def warnings(self) -> list[str]:
        """What is not protected by the operator's word."""
        far = [one for one in self.listen if not is_loopback(one.host)]
        plain = [str(one) for one in far if not one.secure] + _far_network(self)
        told = [f"{one}: anybody on the way reads and changes what is said there" for one in plain]
        if self.anonymous == "anywhere":
            what = "what the rights give to anybody" if self.rights is not None else "everything"
            told += [f"{one}: anybody may connect and do {what}" for one in map(str, far)]
        return told


def read_settings(path: Path | None, given: dict[str, Any]) -> Settings:
    """Settings out of a file and of options; options that are None were not given."""
    known = {one.name for one in fields(Settings)} - {"parameters", "limits", "descriptors"} | {"allow_anonymous"}
    merged = _with_anonymous(options_of(path, given, known | NAMES | LIMITS))
    parameters = Parameters(**taken(merged, NAMES, Parameters))
    limits = Limits(**taken(merged, LIMITS, Limits))
    read = {name: _read(name, value) for name, value in merged.items()}
    return _checked(Settings(**read, parameters=parameters, limits=limits))


def _with_anonymous(options: dict[str, Any]) -> dict[str, Any]:
    """Take the switch, which was there first, for the word that it stands for."""
    switch = options.pop("allow_anonymous", False)
    require_kind("allow_anonymous", switch, bool)
    if not switch:
        return options
    word = options.setdefault("anonymous", "anywhere")
    if word != "anywhere":
        raise WeftError(
            f"`allow_anonymous` is `anonymous` anywhere, and {word} was given: give one of them.",
            "allow_anonymous",
            "anonymous",
        )
    return options


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


def taken(options: dict[str, Any], names: Set[str], of: type) -> dict[str, Any]:
    """Take fields of a class out of the options, each of the kind of its default."""
    kinds = {one.name: type(one.default) for one in fields(of)}
    found = {name: options.pop(name) for name in list(options) if name in names}
    for name, value in found.items():
        require_kind(name, value, kinds[name])
    return found


def require_kind(name: str, value: Any, wanted: type) -> None:
    """Refuse a value of another kind; true and false are no numbers, a whole number is one, and a path is text."""
    if isinstance(value, float) and not isfinite(value):
        raise WeftError(f"{name.replace('_', '-')} is {value}: give a finite number.")
    if type(value) is wanted or (wanted is float and type(value) is int):
        return
    if wanted is not str or not isinstance(value, str | Path):
        raise WeftError(f"{name.replace('_', '-')} is {value!r}: give {WORDS[wanted]}.")


def read_texts(name: str, value: Any) -> tuple[str, ...]:
    """Texts of an option that may be given more than once, or once."""
    many = value if isinstance(value, list | tuple) else [value]
    for one in many:
        require_kind(name, one, str)
    return tuple(many)


def _read(name: str, value: Any) -> Any:
    if name in LISTS:
        many = read_texts(name, value)
        if name == "listen" and not many:
            raise WeftError("listen is []: give one address or more.")
        return tuple(map(read_address, many)) if name == "listen" else many
    require_kind(name, value, float if name == "leaving" else bool if name in SWITCHES else str)
    if name == "leaving" and value < 0:
        raise WeftError(f"leaving is {value}: give 0 or more.")
    if name == "log_level":
        require_level(value)
    if name in ("http", "master", "link", "advertise"):
        return read_address(value)
    for option, words in (("acknowledge", ("disk", "tree")), ("anonymous", ANONYMOUS)):
        if name == option and value not in words:
            raise WeftError(f"{name} is {value!r}: give {', '.join(words)}.")
    if name == "sync":
        if value not in list(Sync):
            raise WeftError(f"sync is {value!r}: give {', '.join(Sync)}.")
        return Sync(value)
    if name == "name":
        require_node_name(name, value)
    return Path(value) if name in PATHS else value


def require_level(value: str) -> None:
    if value not in LEVELS:
        raise WeftError(f"log-level is {value!r}: give {', '.join(LEVELS[:-1])} or {LEVELS[-1]}.")


def require_node_name(option: str, name: str) -> None:
    """Refuse what cannot be the name of a node, or of a cluster, by the same rule."""
    problem = node_problem(name) if name else ""
    if problem:
        raise WeftError(f"`{option}` is {name[:NODE_CHARACTERS]!r}: {problem}", option)


def _checked(settings: Settings) -> Settings:
    if any(one.secure for one in settings.listen) and settings.certificate is None and settings.own is None:
        raise WeftError(
            "A listener with TLS needs `certificate`, and `key` unless the key is in it.", "certificate", "key"
        )
    if settings.join and settings.own is None:
        raise WeftError(
            "`join` needs a folder to keep what it gets: give `data` or `credentials`.", "join", "data", "credentials"
        )
    if settings.knows_users and settings.rights is None:
        raise WeftError(
            "There are users and no `rights`, so nobody might do anything: give a file that says who may what.",
            "rights",
        )
    if settings.anonymous == "never" and not settings.knows_users:
        raise WeftError(
            "`anonymous` is never and there are no users, so nobody could connect: give `users`, `token_key` or "
            "`client_authority`.",
            "anonymous",
            "users",
            "token_key",
            "client_authority",
        )
    for address in settings.listen:
        if not is_loopback(address.host):
            _require_protection(settings, address)
    for one in [] if settings.allow_plaintext else _far_network(settings):
        raise WeftError(
            f"{one} is spoken with in plain text: give `credentials` or `join`, or `allow_plaintext` where everybody "
            "on the way is trusted.",
            "credentials",
            "join",
            "allow_plaintext",
        )
    return settings


def _require_protection(settings: Settings, address: Address) -> None:
    if not address.secure and not settings.allow_plaintext:
        raise WeftError(
            f"{address} takes clients of other machines in plain text: give it mqtts:// or wss:// in front, or "
            "`allow_plaintext` where everybody on the way is trusted.",
            "allow_plaintext",
        )
    if not settings.knows_users and settings.anonymous != "anywhere":
        raise WeftError(
            f"{address} takes clients of other machines, and there are no users: give `users`, `token_key` or "
            "`client_authority`, or `anonymous` anywhere where anybody may do what the rights let everybody do.",
            "users",
            "token_key",
            "client_authority",
            "anonymous",
        )


def _far_network(settings: Settings) -> list[str]:
    """Addresses beyond this machine that are spoken with in plain text, but for those of clients."""
    far = [] if settings.http is None or is_loopback(settings.http.host) else [f"http {settings.http}"]
    if settings.master is None or settings.own is not None:
        return far
    link = settings.link or settings.listen[0]
    return far + [
        f"{what} {one}" for what, one in (("master", settings.master), ("link", link)) if not is_loopback(one.host)
    ]
