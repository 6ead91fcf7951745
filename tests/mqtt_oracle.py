"""What MQTT promises, and nothing of how a broker keeps it: who may get which publication, and who must.

A publication may reach who subscribes when it is said, and must reach them once its publisher was told so, unless
their session ends before. QoS 1 may come again. QoS 2 must not, nor QoS 0, unless the broker crashed before it had
promised anything and the publisher said it again. Publications of one client on one topic with one QoS come in order;
one that is said again may come after later ones, to who subscribed in between.
"""

from collections import Counter, defaultdict
from dataclasses import dataclass, field

from weft.wire.mqtt.topic import matches


@dataclass
class Said:
    number: int
    publisher: str
    topic: str
    qos: int
    retain: bool = False
    attempts: int = 1  # with crashes of the broker in between


@dataclass(eq=False)
class Memory:
    """What a session of a client was owed and has got."""

    client: str
    filters: dict[str, int] = field(default_factory=dict)  # QoS by filter
    may: Counter[int] = field(default_factory=Counter)  # publication -> how often
    again: set[int] = field(default_factory=set)  # that may come more often than that
    must: set[int] = field(default_factory=set)
    got: Counter[int] = field(default_factory=Counter)
    latest: dict[tuple[str, str, int, int], int] = field(default_factory=lambda: defaultdict(int))

    def wants(self, topic: str) -> int | None:
        """The QoS of its subscriptions to a topic."""
        return max((qos for pattern, qos in self.filters.items() if matches(pattern, topic)), default=None)


class Oracle:
    def __init__(self) -> None:
        self.said: dict[int, Said] = {}
        self.sessions: dict[str, Memory] = {}
        self.retained: dict[str, int] = {}

    def begin(self, client: str, resumed: bool) -> None:
        if not resumed:
            self.sessions[client] = Memory(client)

    def end(self, client: str) -> None:
        del self.sessions[client]

    def publish(self, said: Said, empty: bool = False) -> dict[str, int]:
        """Clients that may get it, with which QoS."""
        self.said[said.number] = said
        if said.retain:
            self.retained.pop(said.topic, None)
            if not empty:
                self.retained[said.topic] = said.number
        receivers = {}
        for client, memory in self.sessions.items():
            wanted = memory.wants(said.topic)
            if wanted is not None:
                receivers[client] = min(wanted, said.qos)
                self._owe(memory, said, receivers[client])
        return receivers

    def acknowledge(self, number: int, receivers: dict[str, int], sessions: dict[str, Memory]) -> None:
        """The publisher was told: from now on its receivers must get it, if they are still who they were."""
        for client, qos in receivers.items():
            if qos and self.sessions.get(client) is sessions.get(client):
                self.sessions[client].must.add(number)

    def subscribe(self, client: str, pattern: str, qos: int) -> None:
        memory = self.sessions[client]
        memory.filters[pattern] = qos
        for topic, number in self.retained.items():
            if matches(pattern, topic):
                said = self.said[number]
                self._owe(memory, said, min(qos, said.qos))
                if min(qos, said.qos):
                    memory.must.add(number)

    def hear(self, client: str, number: int, topic: str, qos: int, retain: bool) -> None:
        """A client has got a publication (QoS 2: for the first time under its identifier)."""
        memory, said = self.sessions[client], self.said[number]
        assert topic == said.topic
        assert memory.may[number], f"{client} has no claim to publication {number}"
        memory.got[number] += 1
        if qos != 1 and number not in memory.again:
            assert memory.got[number] <= memory.may[number], f"{client} got publication {number} too often"
        if memory.got[number] == 1 and not retain:
            line = said.publisher, topic, qos, said.attempts  # those said again are in order among themselves
            assert number > memory.latest[line], f"{client} got publication {number} out of order"
            memory.latest[line] = number

    def check(self) -> None:
        """Nothing more will come."""
        for memory in self.sessions.values():
            missing = memory.must - set(memory.got)
            assert not missing, f"{memory.client} has not got {sorted(missing)}"

    def _owe(self, memory: Memory, said: Said, qos: int) -> None:
        memory.may[said.number] += 1
        if qos == 1 or (said.attempts > 1 and qos == 0):
            memory.again.add(said.number)
