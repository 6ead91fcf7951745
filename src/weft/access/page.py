"""Web pages are strangers: any page that somebody on this machine looks at can have the browser call us.

What a page cannot choose is what the browser says of it. `Origin` is where it comes from: one that is not the host that
is called is another's page. `Host` is the name that was called: a page whose own name was made to point at us
(DNS rebinding) calls us by that name, which is none of ours. Addresses are not names; on the loopback only those of the
loopback are taken. A POST has to say `application/json`, which a browser does not send for a page without asking first.

Programs that are no browsers say no Origin, and Host as they called us, or none.
"""

from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import urlsplit

from weft.access.limit import is_loopback

JSON = "application/json"
ANY = "*"


@dataclass(frozen=True, slots=True)
class Pages:
    """What a port lets pages do."""

    listening: str = "127.0.0.1"  # the host that it listens on
    names: tuple[str, ...] = ()  # by which it may be called, besides
    origins: tuple[str, ...] = ()  # of pages that may open WebSockets

    def refusal(self, method: str, host: str | None, origin: str | None, kind: str) -> str:
        """Say what speaks against a request; nothing, where nothing does."""
        problem = self._host_problem(host) or _origin_problem(host, origin)
        if not problem and method == "POST" and kind.partition(";")[0].strip().lower() != JSON:
            return f"A POST needs Content-Type: {JSON}."
        return problem

    def websocket_refusal(self, host: str | None, origin: str | None) -> str:
        """Say what speaks against a WebSocket: a page may open one if it is named, or ours."""
        if origin is None or ANY in self.origins or origin.lower() in map(str.lower, self.origins):
            return ""
        return self._host_problem(host) or _origin_problem(host, origin)

    def _host_problem(self, host: str | None) -> str:
        if host is None:
            return ""
        name = _name(host)
        if name in ("localhost", self.listening.lower(), *map(str.lower, self.names)):
            return ""
        if _is_address(name) and (is_loopback(name) or not is_loopback(self.listening)):
            return ""
        return f"{host!r} is no name of this host: its option http-host gives it more."


def _origin_problem(host: str | None, origin: str | None) -> str:
    if origin is None or (host is not None and _netloc(origin) == host.lower()):
        return ""
    return f"The page of {origin!r} is a stranger here."


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


def _netloc(origin: str) -> str:
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return ""


def _name(host: str) -> str:
    """The host without its port and without brackets."""
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    return host.partition(":")[0].lower() if host.count(":") == 1 else host.lower()
