"""All of it: places that crash and restart, wires that are cut, clients, one clock, one seed."""

from collections.abc import Callable, Iterable
from random import Random

from weft.broker.effect import Note
from weft.broker.parameters import Parameters as BrokerParameters
from weft.master.parameters import Parameters as MasterParameters
from weft.node.parameters import Parameters
from weft.sim.cluster.agenda import Agenda
from weft.sim.cluster.client import Client
from weft.sim.cluster.direction import Direction
from weft.sim.cluster.process import NodeProcess
from weft.sim.cluster.stranger import Stranger
from weft.sim.cluster.wire import End, Weather, Wire, Wires
from weft.wire import frame as w
from weft.wire.mqtt.packet import Version

START = 1_800_000_000.0  # seconds since 1970, about today: where a float is coarse
BROKER = BrokerParameters(sys_interval=0, linked=True)
MASTER = MasterParameters(automatic=False)
NETWORK = Parameters()
WEATHER = Weather()
STEP = 0.05  # seconds between looks at what is awaited


class Cluster:
    name = "weft"

    def __init__(
        self,
        nodes: int,
        seed: int,
        durable: bool = True,
        broker: BrokerParameters = BROKER,
        network: Parameters = NETWORK,
        master: MasterParameters = MASTER,
        weather: Weather = WEATHER,
        sync_seconds: float = 0.001,
    ) -> None:
        self.random = Random(seed)
        self.agenda = Agenda(START)
        self.wires = Wires(self.agenda, self.random, Random(f"parts of {seed}"), weather)
        self.direction = Direction(self, master)
        self.nodes: list[NodeProcess] = []
        self.strangers: dict[str, Stranger] = {}
        self.clients: list[Client] = []
        self.defects: list[str] = []  # errors over frames, which nodes and master outlive
        self.story: list[tuple[float, str, str]] = []  # when, who, what
        self.silences: list[
            tuple[str, str, float]
        ] = []  # node, client that it closed, seconds since that said something
        self.tracer: Callable[[NodeProcess, int, list[w.Frame]], None] | None = None
        self._settings = broker, network, sync_seconds, durable
        for _ in range(nodes):
            self.add()

    def add(self) -> NodeProcess:
        """One more node, not started."""
        name = f"n{len(self.nodes)}"
        made = NodeProcess(self, name, Random(self.random.getrandbits(64)), *self._settings)
        self.nodes.append(made)
        return made

    def start(self) -> None:
        """All, and wait until they are one network."""
        self.direction.start()
        for node in self.nodes:
            node.start()
        self.settle()

    def settle(self, most: float = 30.0) -> None:
        """Wait until every node that runs is in the network, and nothing is under way."""
        self.wait_until(self.is_settled, most)

    def is_settled(self) -> bool:
        running = [one for one in self.nodes if one.is_running]
        master = self.direction.master
        if master is None or len(master.network.woven) != len(running) or master.network.waiting:
            return False
        return all(self._is_in(one) for one in running)

    def wait(self, seconds: float) -> None:
        self.agenda.run(self.agenda.now + seconds)

    def wait_until(self, ready: Callable[[], bool], most: float = 10.0) -> None:
        end = self.agenda.now + most
        while not ready():
            if self.agenda.now >= end:
                raise TimeoutError(f"It has not come to be within {most} s.")
            self.wait(STEP)

    def process(self, name: str) -> NodeProcess:
        return self.nodes[int(name[1:])]

    def link_taker(self, name: str) -> Callable[[Wire], End | None]:
        """What takes links at a node."""
        return self.strangers[name].take_link if name in self.strangers else self.process(name).take_link

    def invite(self, boasts: bool, random: Random) -> Stranger:
        """A node that does not do as others do, from now on."""
        made = Stranger(self, f"x{len(self.strangers)}", boasts, random)
        self.strangers[made.name] = made
        made.start()
        return made

    # Clients

    def client(
        self,
        name: str,
        node: int | None = None,
        version: Version = Version.V311,
        clean: bool = True,
        expiry: int | None = None,
        keep_alive: int = 0,
    ) -> Client:
        """A client, connected if a node is named."""
        made = Client(name, version, clean, expiry)
        made.keep_alive = keep_alive
        self.clients.append(made)
        if node is not None:
            self.connect(made, node)
        return made

    def connect(self, client: Client, node: int) -> None:
        client.connect(self.nodes[node])
        self.wait_until(lambda: client.is_connected)

    def subscribe(self, client: Client, filter_: str, qos: int = 0, **options: object) -> None:
        held = client.subscribe(filter_, qos, **options)
        self.wait_until(lambda: held.granted is not None)

    # Faults

    def part(self, *sides: Iterable[str]) -> Callable[[], None]:
        """Cut all ways between places of different sides; what is returned mends them."""
        groups = [list(side) for side in sides]
        ways = [
            (here, there) for one in groups for other in groups if one is not other for here in one for there in other
        ]
        for way in ways:
            self.wires.cut(*way)

        def mend() -> None:
            for way in ways:
                self.wires.mend(*way)

        return mend

    # What others tell

    def noted(self, process: NodeProcess, note: Note) -> None:
        if note.event in ("connected", "taken_over"):
            for client in self.clients:
                if client.name == note.client and client.process is process:
                    (client.be_let_in if note.event == "connected" else client.be_taken_over)()
        if note.event == "defect":
            self.defects.append(f"{process.name}: {note.detail}")
        self.story.append((self.agenda.now, process.name, f"{note.event} {note.client} {note.detail}".strip()))

    def leave_alone(self, wire: Wire) -> None:
        for client in self.clients:
            client.leave_alone(wire)

    def carried(self, process: NodeProcess, peer: int, frames: list[w.Frame]) -> None:
        if self.tracer is not None:
            self.tracer(process, peer, frames)

    def check_invariants(self) -> None:
        assert not self.defects, self.defects
        for one in self.nodes:
            if one.node is not None:
                one.node.check_invariants()

    def _is_in(self, process: NodeProcess) -> bool:
        """Whether the node has what the master wants it to have."""
        node, master = process.node, self.direction.master
        if node is None or master is None or node.number not in master.network.woven:
            return False
        return node.atlas.peers.keys() <= node.atlas.up and node.is_drained()
