"""Limits by address: connections at a time, attempts to log in a second, and a pause after failed ones.

Attempts are counted by a bucket that fills at `connect_rate` a second up to `connect_burst`, and so are connections, of
which there may be twice as many: who is too fast is told so, and who goes on is closed without a word.

After `failures` log-ins that failed, the address has to wait: a quarter of a second at first, twice as long after each
further one, up to `longest_pause`; who comes earlier is refused without a look at the password. A log-in that succeeds
ends it, as does a quarter of an hour without a failure. A password that is being checked, or waits for it, counts as
failed until it is known to be right: else any number could be tried at once.

An address is one of IPv4, or 64 bits of IPv6, which is what one customer gets. The loopback is not limited. What is
remembered is bounded: the address that was heard of longest ago is forgotten.
"""

from collections import OrderedDict
from dataclasses import dataclass, fields
from functools import lru_cache
from ipaddress import IPv6Address, ip_address

from weft.errors import WeftError

FORGIVEN = 900.0  # seconds without a failure
FIRST_PAUSE = 0.25  # seconds
REMEMBERED = 50_000  # addresses


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    address_connections: int = 10_000  # open at a time from one address, at least 1
    connect_rate: float = 100.0  # attempts to log in a second from one address, above 0
    connect_burst: int = 1_000  # of them at once, at least 1
    failures: int = 5  # log-ins of one address that may fail without a pause, at least 0
    longest_pause: float = 60.0  # seconds, at least 0
    password_checks: int = 256  # that wait for a thread at a time, at least 1

    def __post_init__(self) -> None:
        for name in ("address_connections", "connect_burst", "password_checks"):
            if getattr(self, name) < 1:
                raise WeftError(f"`{name}` is {getattr(self, name)}: give 1 or more.", name)
        for name in ("failures", "longest_pause"):
            if getattr(self, name) < 0:
                raise WeftError(f"`{name}` is {getattr(self, name)}: give 0 or more.", name)
        if self.connect_rate <= 0:
            raise WeftError(f"`connect_rate` is {self.connect_rate}: give a number above 0.", "connect_rate")


NAMES = frozenset(one.name for one in fields(Limits))


@dataclass(slots=True)
class Bucket:
    seen: float  # when it was looked at
    left: float  # that may be taken

    def take(self, rate: float, most: float, now: float) -> bool:
        """Take one, if there is one."""
        self.left, self.seen = min(self.left + (now - self.seen) * rate, most), now
        if self.left < 1:
            return False
        self.left -= 1
        return True


@dataclass(slots=True)
class Caller:
    """What is known of an address."""

    attempts: Bucket
    connections: Bucket
    open: int = 0
    checking: int = 0  # passwords of which it is not known yet
    failed: int = 0  # with those
    failed_at: float = 0.0


class Callers:
    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._by_address: OrderedDict[str, Caller] = OrderedDict()

    def open(self, host: str, now: float) -> bool:
        """Whether one more connection is fine. It is to be closed either way."""
        caller = self._caller(host, now)
        if caller is None:
            return True
        caller.open += 1
        in_time = caller.connections.take(2 * self._limits.connect_rate, 2 * self._limits.connect_burst, now)
        return in_time and caller.open <= self._limits.address_connections

    def close(self, host: str) -> None:
        caller = self._by_address.get(network_of(host))
        if caller is not None:
            caller.open = max(0, caller.open - 1)

    def attempt(self, host: str, now: float) -> bool:
        """Whether one more attempt to log in is fine."""
        caller = self._caller(host, now)
        return caller is None or caller.attempts.take(self._limits.connect_rate, self._limits.connect_burst, now)

    def must_wait(self, host: str, now: float) -> bool:
        """Whether too many log-ins have failed of late."""
        caller = self._by_address.get(network_of(host))
        return caller is not None and now < caller.failed_at + self._pause(caller)

    def fail(self, host: str, now: float) -> None:
        caller = self._caller(host, now)
        if caller is not None:
            before = caller.failed if now - caller.failed_at < FORGIVEN else caller.checking
            caller.failed, caller.failed_at = before + 1, now

    def succeed(self, host: str, was_checked: bool = False) -> None:
        caller = self._by_address.get(network_of(host))
        if caller is not None:
            caller.checking = max(0, caller.checking - was_checked)
            caller.failed = caller.checking

    def suspect(self, host: str, now: float) -> None:
        """A password is to be checked: it counts as failed until it is known."""
        self.fail(host, now)
        caller = self._by_address.get(network_of(host))
        if caller is not None:
            caller.checking += 1

    def confirm_failure(self, host: str, now: float) -> None:
        """A password that was suspected is wrong."""
        caller = self._by_address.get(network_of(host))
        if caller is not None:
            caller.checking, caller.failed_at = max(0, caller.checking - 1), now

    def withdraw(self, host: str) -> None:
        """A password that was suspected is not checked, or nobody waits for the answer."""
        caller = self._by_address.get(network_of(host))
        if caller is not None:
            caller.checking, caller.failed = max(0, caller.checking - 1), max(0, caller.failed - 1)

    def _pause(self, caller: Caller) -> float:
        beyond = caller.failed - self._limits.failures
        return min(FIRST_PAUSE * 2.0 ** min(beyond - 1, 32), self._limits.longest_pause) if beyond > 0 else 0.0

    def _caller(self, host: str, now: float) -> Caller | None:
        network = network_of(host)
        if not network:
            return None
        caller = self._by_address.get(network)
        if caller is None:
            burst = self._limits.connect_burst
            caller = self._by_address[network] = Caller(Bucket(now, burst), Bucket(now, 2 * burst))
            if len(self._by_address) > REMEMBERED:
                self._forget_one()
        self._by_address.move_to_end(network)
        return caller

    def _forget_one(self) -> None:
        """Forget whoever was heard of longest ago and has no connections; those that have are bounded by them."""
        for network, caller in self._by_address.items():
            if not caller.open:
                del self._by_address[network]
                return


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches an address; a name but localhost is looked up by others, and is not."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


@lru_cache(4096)  # it is asked several times of each that connects, and thousands may in a second
def network_of(host: str) -> str:
    """What limits are counted by; empty for those that have none."""
    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:
        return ""
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        address = address.ipv4_mapped
    if address.is_loopback:
        return ""
    return str(address) if address.version == 4 else address.packed[:8].hex()
