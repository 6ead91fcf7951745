"""What operators ask of a master, and what it answers."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

from weft.errors import WeftError
from weft.master.answer import explained, overlay_for, snapshot_value, status, traced
from weft.master.designing import Designing
from weft.master.membership import Membership
from weft.master.network import Network
from weft.master.record import Record
from weft.master.snapshot import snapshot_of
from weft.master.turn import Turn
from weft.wire import frame as w
from weft.wire.mqtt.topic import is_name

TRACING = 1.0  # seconds that a traced publication has to arrive everywhere
TRACES = 100  # publications that are traced at a time
STEPS = 10  # of one, a node of the network in the mean
SNAPSHOTS = 100  # that are remembered, the latest: a plan is applied by the snapshot that it was made for

TEXT_BYTES = 65_535  # of a topic or a filter: MQTT writes its length in two bytes

Options = dict[str, Any]


@dataclass
class Trace:
    """A publication that is being followed."""

    ticket: int
    node: int
    topic: str
    until: float
    steps: list[tuple[int, w.Traced]] = field(default_factory=list)


class Operating:
    def __init__(self, network: Network, turn: Turn, membership: Membership, designing: Designing) -> None:
        self.snapshots: dict[str, list[str]] = {}  # by fingerprint, the names of the nodes
        self._network = network
        self._turn = turn
        self._membership = membership
        self._designing = designing
        self._traces: dict[int, Trace] = {}
        self._tokens = 0

    def ask(self, ticket: int, request: str, options: Options) -> None:
        try:
            self._REQUESTS[request](self, ticket, options)
        except WeftError as error:
            self._turn.answer(ticket, {"error": str(error)})

    def deadlines(self) -> list[float]:
        return [trace.until for trace in self._traces.values()]

    def go_on(self) -> None:
        for token in [token for token, trace in self._traces.items() if trace.until <= self._turn.now]:
            trace = self._traces.pop(token)
            self._turn.answer(trace.ticket, traced(self._network, trace.node, trace.topic, trace.steps))

    def follow(self, node: int, frame: w.Traced) -> None:
        trace = self._traces.get(frame.token)
        if trace is not None and len(trace.steps) < STEPS * len(self._network.woven):
            trace.steps.append((node, frame))

    def _status(self, ticket: int, options: Options) -> None:
        self._turn.answer(ticket, status(self._network, self._membership, self._designing, self._turn.now))

    def _explain(self, ticket: int, options: Options) -> None:
        self._turn.answer(ticket, explained(self._network, _given(options, "topic")))

    def _trace(self, ticket: int, options: Options) -> None:
        member, topic = self._network.roster.named(_given(options, "node")), _given(options, "topic")
        if member.number not in self._membership.connection_of:
            raise WeftError(f"{member.name} is not connected: trace from another node.")
        if not is_name(topic):
            raise WeftError(f"{topic!r} is no topic to publish on: give one without `+` and `#`.")
        if len(self._traces) >= TRACES:
            raise WeftError(f"{TRACES} publications are being traced: trace again in a second.")
        self._tokens += 1
        self._traces[self._tokens] = Trace(ticket, member.number, topic, self._turn.now + TRACING)
        self._network.changes.tell(member.number, w.Trace(self._tokens, topic))

    def _redesign(self, ticket: int, options: Options) -> None:
        """A forecast, or what one was of."""
        if options.get("proposal") is None:
            self._designing.want(ticket)
        else:
            self._turn.answer(ticket, self._designing.accept(options["proposal"]))

    def _apply(self, ticket: int, options: Options) -> None:
        """A forecast of a plan that was made elsewhere: trees are woven over it here."""
        self._designing.want(ticket, overlay_for(self._network, options, self.snapshots))

    def _snapshot(self, ticket: int, options: Options) -> None:
        network = self._network
        members = [network.roster[number] for number in sorted(network.woven)]
        value = snapshot_of(members, network.directory, network.traffic)
        names = [member.name for member in sorted(members, key=lambda member: member.name)]
        self.snapshots.pop(value.instance.fingerprint, None)
        self.snapshots[value.instance.fingerprint] = names
        self._turn.keep(Record("snapshot", value.instance.fingerprint, names))
        while len(self.snapshots) > SNAPSHOTS:
            oldest = next(iter(self.snapshots))
            del self.snapshots[oldest]
            self._turn.keep(Record("snapshot", oldest, None))
        self._turn.answer(ticket, snapshot_value(value))

    def _leave(self, ticket: int, options: Options) -> None:
        member, forget = self._network.roster.named(_given(options, "node")), bool(options.get("forget", False))
        owed = self._membership.dismiss(member, forget)
        self._turn.answer(ticket, {"node": member.name, "forgotten": forget, "filters_owed": owed})

    _REQUESTS: ClassVar[dict[str, Callable[["Operating", int, Options], None]]] = {
        "status": _status,
        "explain": _explain,
        "trace": _trace,
        "redesign": _redesign,
        "apply": _apply,
        "snapshot": _snapshot,
        "leave": _leave,
    }
    requests = tuple(_REQUESTS)


def _given(options: Options, name: str) -> str:
    value = options.get(name)
    if not isinstance(value, str) or not value:
        raise WeftError(f"The request has no {name}: give one.")
    length = len(value.encode(errors="surrogatepass"))
    if length > TEXT_BYTES:
        raise WeftError(f"The {name} of the request has {length:,} bytes: give one of at most {TEXT_BYTES:,}.")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise WeftError(f"The {name} {value!r} is no UTF-8: give one that is.") from error
    return value
